import json
import os
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
from psychoedu import datasets
from psychoedu._version import __version__
from psychoedu.cli import main
from psychoedu.irt.calibrate import calibrate
from psychoedu.irt.score import score
from psychoedu.persistence import load


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


def test_tables_and_report_are_written_where_told(capsys, grouped, tmp_path):
    items, scores, report = tmp_path / "items.csv", tmp_path / "scores.csv", tmp_path / "new" / "report"
    words = ("--respondent-columns", "group", "--items-csv", items, "--scores-csv", scores, "--report", report)
    status, out, err = run(capsys, "calibrate", grouped, *words)
    assert (status, err) == (0, "")
    assert len(pd.read_csv(items)) == 6
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
    "folder as responses": ("calibrate {folder}", "directory"),
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


def test_demo_may_be_run_again_but_spares_other_folders(demo, capsys, tmp_path, monkeypatch):
    folder = tmp_path / "again"
    shutil.copytree(demo[1], folder)  # the other tests read the first one
    monkeypatch.setattr("psychoedu.demo._save", lambda *_: None)
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
