import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import psychoedu
import psychoedu as pe
from psychoedu import datasets
from psychoedu._version import __version__
from psychoedu.cli import main
from psychoedu.cli_values import value_named
from psychoedu.exceptions import LabelError
from psychoedu.irt.calibrate import calibrate
from psychoedu.irt.score import score
from psychoedu.stored import load


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(5)
    right = rng.random((400, 6)) < expit(1.2 * rng.standard_normal(400)[:, None] + np.linspace(-1, 1, 6))
    table = pd.DataFrame(right.astype(int), columns=[f"q{j}" for j in range(1, 7)])
    table.insert(0, "who", [f"r{row:03d}" for row in range(400)])
    table.insert(1, "group", np.where(np.arange(400) % 2, "x", "y"))
    return table


@pytest.fixture
def wide(frame, tmp_path):
    path = tmp_path / "responses.csv"
    frame.drop(columns="group").to_csv(path, index=False)
    return path


@pytest.fixture
def grouped(frame, tmp_path):
    path = tmp_path / "grouped.csv"
    frame.to_csv(path, index=False)
    return path


def run(capsys, *words):
    status = main([str(word) for word in words])
    return (status, *capsys.readouterr())


def test_calibrate_writes_what_the_function_gives(capsys, frame, wide, tmp_path):
    bank = tmp_path / "bank.json"
    status, out, err = run(capsys, "calibrate", wide, "--out", bank)
    assert (status, err) == (0, "")
    expected = calibrate(frame.set_index("who").drop(columns="group"))
    assert out.startswith(expected.summary())
    assert out.endswith(f"wrote {bank}: the calibration (6 items)\n")
    pd.testing.assert_frame_equal(load(bank).items, expected.items)


def test_score_prints_or_writes_what_the_function_gives(capsys, frame, wide, tmp_path):
    bank, models, scores = tmp_path / "bank.json", tmp_path / "models.csv", tmp_path / "scores.csv"
    main(["calibrate", str(wide), "--out", str(bank)])
    capsys.readouterr()
    new = frame.drop(columns="group").head(3)
    new.to_csv(models, index=False)
    options = ("--method", "map", "--prior-sd", "2", "--prior-mean", "0.5")
    status, out, err = run(capsys, "score", bank, models, *options)
    assert (status, err) == (0, "")
    expected = score(load(bank), new.set_index("who"), method="map", prior_mean=0.5, prior_sd=2.0).to_frame()
    assert out == expected.to_csv()
    status, out, _ = run(capsys, "score", bank, models, *options, "--out", scores)
    assert status == 0
    assert f"wrote {scores}: 3 respondents" in out
    np.testing.assert_allclose(pd.read_csv(scores)["theta"], expected["theta"], rtol=1e-12)


def test_groups_and_fit_to_name_columns_of_the_file(capsys, frame, grouped, tmp_path):
    bank = tmp_path / "bank.json"
    status, _, err = run(capsys, "calibrate", grouped, "--groups", "group", "--reference-group", "x", "--out", bank)
    assert (status, err) == (0, "")
    assert load(bank).groups.loc["x", "latent_mean"] == 0.0
    status, out, _ = run(capsys, "calibrate", grouped, "--fit-to", "group=x", "--out", bank)
    assert status == 0
    assert "200 that are only scored" in out
    expected = calibrate(frame[frame["group"] == "x"].set_index("who").drop(columns="group"))
    pd.testing.assert_frame_equal(load(bank).items, expected.items, rtol=1e-6)


def test_several_values_to_fit_to(capsys, frame, tmp_path):
    table = frame.assign(group=np.where(frame.index % 4 == 0, "z", frame["group"]))
    table.to_csv(tmp_path / "three.csv", index=False)
    bank = tmp_path / "bank.json"
    status, _, err = run(capsys, "calibrate", tmp_path / "three.csv", "--fit-to", "group=x,z", "--out", bank)
    assert (status, err) == (0, "")
    expected = calibrate(table[table["group"].isin(["x", "z"])].set_index("who").drop(columns="group"))
    pd.testing.assert_frame_equal(load(bank).items, expected.items, rtol=1e-6)


@pytest.fixture
def by_year(frame, tmp_path):
    """A file whose groups are coded as numbers, in one column without and in one with a blank."""
    table = frame.assign(group=np.where(frame["group"] == "x", 2021, 2020)).rename(columns={"group": "year"})
    blank = table.index == table.index[table["year"] == 2021][0]
    table.insert(2, "wave", np.where(blank, "", np.where(table["year"] == 2021, "2", "1")))
    path = tmp_path / "by_year.csv"
    table.to_csv(path, index=False)
    return path


def test_groups_coded_as_numbers_are_named_as_they_are_written(capsys, frame, by_year, tmp_path):
    bank = tmp_path / "bank.json"
    words = ("--respondent-columns", "wave", "--out", bank)
    status, _, err = run(capsys, "calibrate", by_year, "--groups", "year", "--reference-group", "2021", *words)
    assert (status, err) == (0, "")
    stored = load(bank)
    assert stored.reference_group == 2021
    assert sorted(stored.groups.index) == [2020, 2021]
    assert stored.groups.loc[2021, "latent_mean"] == 0.0
    expected = calibrate(frame[frame["group"] == "x"].set_index("who").drop(columns="group"))
    status, out, err = run(capsys, "calibrate", by_year, "--fit-to", "year=2021", *words)
    assert (status, err) == (0, "")
    assert "200 that are only scored" in out
    pd.testing.assert_frame_equal(load(bank).items, expected.items, rtol=1e-6)


def test_whole_numbers_beside_a_blank_are_named_as_they_are_written(capsys, frame, by_year):
    words = ("--fit-to", "wave=1", "--respondent-columns", "year")
    status, out, err = run(capsys, "calibrate", by_year, *words)
    assert (status, err) == (0, "")
    assert "respondents      200 (and 200 that are only scored)" in out


def test_a_number_that_is_no_group_is_named(capsys, by_year):
    words = ("--respondent-columns", "wave")
    status, _, err = run(capsys, "calibrate", by_year, "--groups", "year", "--reference-group", "2022", *words)
    assert status == 2
    assert "'2022' is none of the groups" in err
    assert "2020" in err
    status, _, err = run(capsys, "calibrate", by_year, "--fit-to", "year=2022", *words)
    assert status == 2
    assert "'2022'" in err
    assert "2020" in err


def test_text_and_number_of_one_face_are_ambiguous():
    column = pd.Series([1, "1", 2, None, 2.5, "x"], dtype=object, name="group")
    with pytest.raises(LabelError, match="'1' may mean 1 or '1' in column 'group'"):
        value_named(column, "1", "--reference-group")
    assert value_named(column, "2", "--reference-group") == 2
    assert value_named(column, "2.5", "--reference-group") == 2.5
    assert value_named(pd.Series([True, False]), "True", "--reference-group") is True
    assert value_named(column, "x", "--reference-group") == "x"
    assert value_named(column, "3", "--reference-group") == "3"
    assert value_named(pd.Series([2020.0, np.nan]), "2020", "--fit-to") == 2020.0
    assert value_named(pd.Series(["a", "b"], dtype="category"), "b", "--fit-to") == "b"


def test_tab_separated_files_as_a_shell_writes_it(capsys, frame, tmp_path):
    path = tmp_path / "responses.tsv"
    frame.drop(columns="group").to_csv(path, index=False, sep="\t")
    for sep in ("\\t", "\t"):
        status, out, err = run(capsys, "calibrate", path, "--sep", sep)
        assert (status, err) == (0, "")
        assert "items            6" in out


def test_item_labels_that_are_numbers_in_the_bank(capsys, frame, tmp_path):
    table = frame.set_index("who").drop(columns="group").set_axis([10, 2, 33, 4, 5, 6], axis=1)
    calibration = calibrate(table)
    bank, models = calibration.save(tmp_path / "bank.json"), tmp_path / "models.csv"
    part = table.head(5)[[33, 10, 6]]
    part.to_csv(models)
    expected = score(calibration, part).to_frame().to_csv()
    assert run(capsys, "score", bank, models) == (0, expected, "")
    part.melt(ignore_index=False, var_name="item", value_name="score").to_csv(tmp_path / "long.csv")
    words = ("--respondent", "who", "--item", "item")
    assert run(capsys, "score", bank, tmp_path / "long.csv", *words) == (0, expected, "")
    part.rename(columns={6: "6.0"}).to_csv(models)
    status, _, err = run(capsys, "score", bank, models)
    assert status == 2
    assert "'6.0'" in err
    assert "not in the bank" in err


def test_invalid_answers_keep_their_policy_where_labels_are_matched(capsys, frame, tmp_path):
    table = frame.set_index("who").drop(columns="group").set_axis([10, 2, 33, 4, 5, 6], axis=1)
    bank = calibrate(table).save(tmp_path / "bank.json")
    long = table.head(2).melt(ignore_index=False, var_name="item", value_name="score").reset_index()
    long.loc[0, "score"] = 9
    long.to_csv(tmp_path / "long.csv", index=False)
    words = ("--respondent", "who", "--item", "item", "--recode", "9=refused")
    for invalid, n in (("wrong", 6), ("missing", 5)):
        status, out, err = run(capsys, "score", bank, tmp_path / "long.csv", *words, "--invalid", invalid)
        assert (status, err) == (0, "")
        assert out.splitlines()[1].split(",")[3] == str(n)


def test_groups_that_name_the_column_of_labels_are_refused(capsys, frame, grouped, tmp_path):
    for words in (("--groups", "who"), ("--groups", "who", "--respondent", "who")):
        status, out, err = run(capsys, "calibrate", grouped, *words, "--respondent-columns", "group")
        assert (status, out) == (2, "")
        assert "--groups who names the column of the respondents' labels" in err
        assert "--respondent COLUMN" in err
    path = tmp_path / "long.csv"
    frame.drop(columns="group").melt(id_vars="who", var_name="item", value_name="score").to_csv(path, index=False)
    status, _, err = run(capsys, "calibrate", path, "--respondent", "who", "--item", "item", "--groups", "who")
    assert status == 2
    assert "--groups who names the column of the respondents' labels" in err


def test_tables_and_report_are_written_where_told(capsys, grouped, tmp_path):
    items, scores, report = tmp_path / "items.csv", tmp_path / "scores.csv", tmp_path / "new" / "report"
    words = ("--respondent-columns", "group", "--items-csv", items, "--scores-csv", scores, "--report", report)
    status, out, err = run(capsys, "calibrate", grouped, *words)
    assert (status, err) == (0, "")
    written = pd.read_csv(items)
    assert len(written) == 6
    further = ["intercept", "intercept_se", "difficulty_se", "discrimination_se", "discrimination_index", "alpha_if_deleted"]
    assert set(further) < set(written.columns)
    assert pd.read_csv(scores)["respondent"].tolist() == [f"r{row:03d}" for row in range(400)]
    assert (report / "index.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert str(report / "index.html") in out


def test_long_file_codes_and_missing_codes(capsys, frame, tmp_path):
    table = frame.drop(columns="group").set_index("who") + 1
    table.iloc[0, 0] = -9
    path = tmp_path / "long.csv"
    table.melt(ignore_index=False, var_name="task", value_name="mark").to_csv(path)
    bank = tmp_path / "bank.json"
    words = ("--respondent", "who", "--item", "task", "--score", "mark", "--recode", "1=0", "2=1", "--missing-codes", "-9")
    status, _, err = run(capsys, "calibrate", path, *words, "--out", bank)
    assert (status, err) == (0, "")
    assert load(bank).items["n"].tolist() == [399, 400, 400, 400, 400, 400]
    np.testing.assert_allclose(load(bank).items["p_value"].iloc[1:], (table.mean() - 1).iloc[1:], rtol=1e-12)


def test_file_without_labels(capsys, frame, tmp_path):
    path = tmp_path / "bare.csv"
    frame.drop(columns=["group", "who"]).to_csv(path, index=False)
    status, out, _ = run(capsys, "calibrate", path, "--no-labels", "--scores-csv", tmp_path / "scores.csv")
    assert status == 0
    assert "items            6" in out
    assert pd.read_csv(tmp_path / "scores.csv")["respondent"].tolist() == list(range(1, 401))


def test_parquet_is_read(capsys, frame, tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    path = tmp_path / "responses.parquet"
    frame.drop(columns="group").to_parquet(path)
    status, out, _ = run(capsys, "calibrate", path)
    assert status == 0
    assert "respondents      400" in out


ERRORS = {
    "no responses": ("calibrate {absent}", "No such file or directory"),
    "no bank": ("score {absent} {wide}", "No such file or directory"),
    "not a bank": ("score {wide} {wide}", "is not a JSON file"),
    "folder of the bank": ("calibrate {wide} --out {folder}/nowhere/bank.json", "does not exist. Make it first"),
    "bank is a folder": ("calibrate {wide} --out {folder}", "is a folder"),
    "folder as responses": ("calibrate {folder}", "is a folder"),
    "folder as bank": ("score {folder} {wide}", "is a folder"),
    "two characters as separator": ("calibrate {wide} --sep ab", "sep='ab' is not one character"),
    "label column as groups": ("calibrate {grouped} --groups who --respondent-columns group", "the respondents' labels"),
    "text column": ("calibrate {grouped}", "--respondent-columns COLUMN"),
    "model": ("calibrate {wide} --model 3pl", "model has to be one of '2pl', '1pl', 'rasch'"),
    "group column": ("calibrate {wide} --groups team", "team"),
    "fit-to": ("calibrate {wide} --fit-to group", "not COLUMN=VALUE"),
    "recode": ("calibrate {wide} --recode 1", "not FROM=TO"),
    "score without item": ("calibrate {wide} --score x", "belong to a long file"),
}


@pytest.mark.parametrize(("words", "expected"), ERRORS.values(), ids=ERRORS)
def test_errors_are_one_message_and_status_2(words, expected, capsys, wide, grouped, tmp_path):
    places = {"absent": tmp_path / "absent.csv", "wide": wide, "grouped": grouped, "folder": tmp_path}
    status, out, err = run(capsys, *(word.format(**places) for word in words.split()))
    assert status == 2
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("error: ") == 1
    assert len(err.splitlines()) <= 4
    assert "Traceback" not in err
    assert expected in err


def test_unknown_items_are_named(capsys, frame, wide, tmp_path):
    bank = tmp_path / "bank.json"
    main(["calibrate", str(wide), "--out", str(bank)])
    capsys.readouterr()
    frame.drop(columns="group").rename(columns={"q2": "q99"}).to_csv(tmp_path / "other.csv", index=False)
    status, _, err = run(capsys, "score", bank, tmp_path / "other.csv")
    assert status == 2
    assert "'q99'" in err


def test_warnings_are_plain_lines(capsys, wide):
    status, out, err = run(capsys, "calibrate", wide, "--max-iter", "1")
    assert status == 0
    assert out.startswith("NOT CONVERGED")
    assert err.startswith("warning: Estimation stopped after 1 iteration")
    assert "--max-iter N" in err
    assert ".py:" not in err


def test_few_respondents_with_priors(capsys, tmp_path):
    path = tmp_path / "few.csv"
    answers = (np.arange(9)[:, None] + np.arange(6)) % 3 > 0
    pd.DataFrame(answers.astype(int), columns=list("abcdef"), index=list("rstuvwxyz")).to_csv(path)
    status, _, err = run(capsys, "calibrate", path)
    assert status == 2
    assert "--priors" in err
    status, _, err = run(capsys, "calibrate", path, "--priors")
    assert status == 0
    assert err.startswith("warning: ")


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"psychoedu {__version__}\n"


def test_no_command_shows_the_usage(capsys):
    with pytest.raises(SystemExit) as stop:
        main([])
    assert stop.value.code == 2
    assert "usage: psychoedu" in capsys.readouterr().err


def test_reader_that_stops_early_is_no_error(wide):
    command = f"{sys.executable} -W error -m psychoedu.cli calibrate {wide} | head -n 1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("2PL")
    assert done.stderr == ""


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    start = time.perf_counter()
    where = {**os.environ, "PYTHONPATH": str(Path(psychoedu.__file__).parents[1])}
    command = [sys.executable, "-W", "error", "-m", "psychoedu.cli", "demo"]
    done = subprocess.run(command, cwd=folder, env=where, capture_output=True, text=True, check=False)
    return done, folder / "psychoedu-demo", time.perf_counter() - start


def test_demo_ends_with_the_page_to_open(demo):
    done, folder, seconds = demo
    assert (done.returncode, done.stderr) == (0, "")
    last = done.stdout.rstrip().splitlines()[-1]
    assert last == f"Open this page in a browser: {folder.resolve() / 'index.html'}"
    assert (folder / "index.html").is_file()
    assert seconds < 60


def test_demo_says_what_is_real_and_what_is_simulated(demo):
    done, folder, _ = demo
    for text in (done.stdout, (folder / "index.html").read_text(encoding="utf-8")):
        assert "Real data: 1,000 people" in text
        assert "Simulated data" in " ".join(text.split())
        assert "nobody answered these items" in " ".join(text.split())


def test_demo_reaches_the_reference(demo, shared):
    _, folder, _ = demo
    one = load(folder / "lsat7_calibration.json")
    two = load(folder / "two_forms_calibration.json")
    reference = shared / "reference"
    for ours, where in ((one, "irt_lsat7/fit_2pl.json"), (two, "cse_like_irt_mg/fit_twoforms.json")):
        theirs = json.loads((reference / where).read_text())
        assert ours.log_likelihood > theirs["logLik"] - 1e-3
        assert ours.n_parameters == theirs["npar"]
    polished = json.loads((reference / "cse_like_irt_mg" / "polished_twoforms.json").read_text())
    np.testing.assert_allclose(two.items["discrimination"], polished["a"], atol=2e-4)
    assert two.groups.loc["college", "latent_mean"] == pytest.approx(polished["mean"], abs=5e-4)


def test_demo_scores_the_24_model_rows(demo):
    done, folder, _ = demo
    scores = pd.read_csv(folder / "model_scores.csv", index_col="respondent")
    assert len(scores) == 24
    responses = datasets.load_cse_like()
    right = responses.to_frame().loc[scores.index].sum(axis=1)
    assert np.corrcoef(right, scores["theta"])[0, 1] > 0.95
    for label in ("M01_p1", "M12_p2"):
        assert f"{label}     {scores.loc[label, 'theta']:6.3f}" in done.stdout


def test_demo_writes_figures_for_print_and_screen(demo):
    _, folder, _ = demo
    for name in ("lsat7", "two_forms"):
        for kind in ("wright_map", "information", "curves", "groups"):
            assert (folder / f"{name}_{kind}.png").read_bytes().startswith(b"\x89PNG")
            assert (folder / f"{name}_{kind}.pdf").read_bytes().startswith(b"%PDF")


def test_demo_compares_the_five_models_on_the_learners(demo, shared):
    done, folder, _ = demo
    table = pd.read_csv(folder / "diagnosis_models.csv", index_col="model")
    assert table["n_parameters"].to_dict() == {"G-DINA": 192, "DINA": 130, "DINO": 130, "ACDM": 152, "RRUM": 152}
    np.testing.assert_allclose((table["bic"] - table["minus_2ll"]) / table["n_parameters"], np.log(2050), rtol=1e-12)
    assert (table["minus_2ll"] >= table.loc["G-DINA", "minus_2ll"]).all()
    for name, row in table.iterrows():
        assert f"{name}".ljust(6) in done.stdout
        assert f"{row['aic']:,.2f}" in done.stdout
    # R's GDINA, on learners and model rows together
    theirs = json.loads((shared / "reference" / "cse_like_cdm" / "gdina_ho.json").read_text())
    assert f"joint               2,074           192 {theirs['deviance']:,.2f}" in done.stdout


def test_demo_shows_mastery_of_the_24_model_rows_from_the_learners_parameters(demo):
    done, folder, _ = demo
    assert "Only the learners gave the parameters" in " ".join(done.stdout.split())
    diagnosis = load(folder / "diagnosis.json")
    assert diagnosis.n_respondents == 2050
    responses = datasets.load_cse_like()
    scored = psychoedu.cdm.score(diagnosis, responses.select(respondents={"group": "model"}))
    written = pd.read_csv(folder / "diagnosis_mastery.csv", index_col="respondent")
    np.testing.assert_allclose(written[list(scored.mastery.columns)], scored.mastery, rtol=1e-9)
    rows = [line for line in done.stdout.splitlines() if line.startswith("M") and "+" in line]
    assert len(rows) == 24
    assert all(line.count("; 12+") == 4 for line in rows)
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert "Which attributes are mastered (simulated data)" in page
    assert page.count(";<br>12+") == 96


def test_demo_draws_the_diagnosis(demo):
    _, folder, _ = demo
    for kind in ("models", "mastery", "prevalence", "structure", "item"):
        assert (folder / f"diagnosis_{kind}.png").read_bytes().startswith(b"\x89PNG")
        assert (folder / f"diagnosis_{kind}.pdf").read_bytes().startswith(b"%PDF")
    assert (folder / "diagnosis_mastery.tex").read_text(encoding="utf-8").startswith("\\begin{table}")


def test_demo_may_be_run_again_but_spares_other_folders(demo, capsys, tmp_path, monkeypatch):
    folder = tmp_path / "again"
    shutil.copytree(demo[1], folder)  # the other tests read the first one
    monkeypatch.setattr("psychoedu.demo._save", lambda *_: None)
    monkeypatch.setattr("psychoedu.demo.run_diagnosis", lambda *_: None)
    monkeypatch.setattr("psychoedu.demo.run_contrasts", lambda *_: None)
    monkeypatch.setattr("psychoedu.demo._page", lambda *_: "written again")
    status, _, err = run(capsys, "demo", "--out", folder)
    assert (status, err) == (0, "")
    assert (folder / "index.html").read_text() == "written again"
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "index.html").write_text("mine")
    status, out, err = run(capsys, "demo", "--out", tmp_path / "mine")
    assert status == 2
    assert "psychoedu demo did not write" in err
    assert out == ""
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["index.html"]
    assert (tmp_path / "mine" / "index.html").read_text() == "mine"
    status, _, err = run(capsys, "demo", "--out", tmp_path / "mine" / "index.html")
    assert status == 2
    assert "is a file" in err


def test_demo_writes_what_the_panel_and_the_levels_need(demo):
    _, folder, _ = demo
    pages, cuts = load(folder / "booklet.json"), load(folder / "cut_scores.json")
    placements = pd.read_csv(folder / "panel_placements.csv")
    pd.testing.assert_frame_equal(placements, datasets.load_cse_like_panel())
    final = placements[placements["round"] == 2]
    for level in cuts.levels:  # two panellists: the median is the mean of the locations of their pages
        own = final.loc[final["level"] == level, "page"]
        assert cuts.cut_scores[level] == pytest.approx(pages.locations[own - 1].mean(), abs=1e-12)
    frame = pd.read_csv(folder / "booklet.csv", index_col="page")
    np.testing.assert_allclose(frame["rp_location"], pages.locations, rtol=1e-12)
    np.testing.assert_allclose(pd.read_csv(folder / "cut_scores.csv", index_col="level")["cut_score"], cuts.values, rtol=1e-12)
    by_rp = pd.read_csv(folder / "cut_scores_by_rp.csv", index_col="response_probability")
    np.testing.assert_allclose(by_rp.loc[0.67], cuts.values, rtol=1e-12)
    assert (np.diff(by_rp.to_numpy(), axis=0) > 0).all()  # asked for more certainty, the same items lie higher
    for name in ("panel_form", "panel_facilitator"):
        html = (folder / f"{name}.html").read_text(encoding="utf-8")
        assert pages.fingerprint in html
        assert "(demonstration)" in html


def test_demo_places_24_model_rows_and_the_learners_on_the_levels(demo):
    done, folder, _ = demo
    cuts = load(folder / "cut_scores.json")
    cells = pd.read_csv(folder / "levels_models.csv")
    scores = pd.read_csv(folder / "model_scores.csv", index_col="respondent")["theta"]
    assert cells["respondent"].tolist() == scores.index.tolist()
    names = np.array(["below CSE-3", *cuts.levels])
    assert cells["level"].tolist() == names[np.searchsorted(cuts.values, scores, side="right")].tolist()
    assert cells["p_level"].between(0.0, 1.0).all()
    impact = pd.read_csv(folder / "levels_impact.csv", index_col=["group", "level"])
    assert impact["n"].groupby("group", sort=False).first().to_dict() == {"junior": 1102, "college": 948}
    np.testing.assert_allclose(impact["share"].groupby("group").sum(), 1.0, rtol=1e-9)
    for _, row in impact.iterrows():
        text = f"{row['share']:.1%} ({row['low']:.1%} to {row['high']:.1%})"
        assert text in done.stdout
        assert text in (folder / "index.html").read_text(encoding="utf-8")
    said = " ".join(done.stdout.split())
    assert "no panel met, and the levels say nothing about China's Standards of English or about any model" in said
    assert "Model rows under both prompts" in said
    assert re.search(r"M05_p2: \S.* \(theta", said)
    assert (folder / "levels_models.tex").read_text(encoding="utf-8").startswith("\\begin{table}")


def test_demo_draws_the_levels(demo):
    _, folder, _ = demo
    for kind in ("cuts", "cuts_information", "panel", "rp_sensitivity", "models", "impact"):
        assert (folder / f"levels_{kind}.png").read_bytes().startswith(b"\x89PNG")
        assert (folder / f"levels_{kind}.pdf").read_bytes().startswith(b"%PDF")


def test_demo_contrasts_prompts_attributes_and_models(demo):
    done, folder, _ = demo
    text = done.stdout[done.stdout.index("5. Contrasts") :]
    frame = pd.read_csv(folder / "contrasts_rewards.csv")
    assert frame.groupby(["model", "prompt"]).size().tolist() == [61] * 24
    means = frame.groupby("prompt")["reward"].mean()
    prompts = pe.load(folder / "contrasts_prompts.json")
    assert prompts.estimate == pytest.approx(means["p2"] - means["p1"])
    single = frame["attribute"] == "phonology"
    attribute = pe.load(folder / "contrasts_attribute.json")
    assert attribute.estimate == pytest.approx(frame.loc[~single, "reward"].mean() - frame.loc[single, "reward"].mean())
    assert attribute.few_clusters  # so that the recommended interval stands beside the other one
    assert text.count("recommended 95% interval") == 1
    assert "61 tasks" in text
    board = pe.load(folder / "contrasts_leaderboard.json")
    assert (
        list(board.table.index)
        == frame.groupby("model")["reward"].mean().sort_values(ascending=False, kind="stable").index.tolist()
    )
    html = (folder / "index.html").read_text(encoding="utf-8")
    assert prompts.methods_text() in html
    assert "Leaderboard, both prompts together" in html
    for name in ("prompts_forest", "attribute_forest", "resamples", "ranks"):
        assert (folder / f"contrasts_{name}.png").read_bytes()[:4] == b"\x89PNG"
        assert (folder / f"contrasts_{name}.pdf").read_bytes()[:5] == b"%PDF-"
