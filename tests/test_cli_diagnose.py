"""``psychoedu diagnose``: it prints and writes what the functions give, and its errors name the options."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import psychoedu as pe
from psychoedu import datasets
from psychoedu.cli import main
from psychoedu.cli_diagnose import mastery_frame
from psychoedu.report.diagnosis import comparison_text

LEARNERS = {"group": ["junior", "college"]}
QUICK = ("--starts", "1", "--standard-errors", "none")


def run(capsys, *words):
    status = main([str(word) for word in words])
    return (status, *capsys.readouterr())


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The simulated design as a user would have it, with a column that describes respondents and one that describes items."""
    folder = tmp_path_factory.mktemp("data")
    matrix = datasets.load_cse_like()
    frame = matrix.to_frame()
    frame.insert(0, "group", matrix.respondents["group"])
    frame.astype(dict.fromkeys(matrix.item_labels, "Int8")).to_csv(folder / "responses.csv")
    frame[frame["group"] == "model"].drop(columns="group").to_csv(folder / "models.csv")
    q = datasets.load_cse_like_q()
    q.to_csv(folder / "q.csv")
    q.assign(form="one").iloc[::-1].to_csv(folder / "q_more.csv")
    return folder


@pytest.fixture(scope="module")
def expected():
    return pe.diagnose(datasets.load_cse_like(), datasets.load_cse_like_q(), fit_to=LEARNERS, n_starts=1, standard_errors=None)


def test_prints_and_writes_what_the_function_gives(capsys, files, expected, tmp_path):
    out, mastery, items, profiles = (tmp_path / name for name in ("d.json", "m.csv", "i.csv", "p.csv"))
    words = ("--fit-to", "group=junior,college", *QUICK, "--out", out, "--mastery-csv", mastery, "--items-csv", items)
    status, text, err = run(capsys, "diagnose", files / "responses.csv", files / "q.csv", *words, "--profiles-csv", profiles)
    assert (status, err) == (0, "")
    assert text.startswith(expected.summary())
    assert f"wrote {out}: the diagnosis (61 items)" in text
    stored = pe.load(out)
    np.testing.assert_array_equal(stored.success, expected.success)
    found = pd.read_csv(mastery, index_col="respondent", dtype={"profile": str})
    assert found.columns.tolist() == [*expected.attribute_labels, "theta", "theta_se", "profile", "n_answered"]
    np.testing.assert_allclose(found[list(expected.attribute_labels)], expected.mastery, rtol=1e-12)
    np.testing.assert_allclose(found["theta_se"], expected.theta_se, rtol=1e-12)
    assert found["profile"].tolist() == expected.classification("map")["profile"].tolist()
    assert found.loc[["J0001", "M01_p1"], "n_answered"].tolist() == [39, 61]
    np.testing.assert_allclose(pd.read_csv(items)["probability"], expected.items["probability"], rtol=1e-12)
    np.testing.assert_allclose(pd.read_csv(profiles, index_col=0), expected.profiles, rtol=1e-9)


def test_models_structures_and_the_q_matrix_s_columns(capsys, files, tmp_path):
    out = tmp_path / "d.json"
    words = ("--fit-to", "group=junior", "--model", "dina", "--structure", "saturated", "--hierarchy", "syntax before cohesion")
    frame = datasets.load_cse_like().select(respondents={"group": "junior"}).to_frame().dropna(axis=1, how="all")
    frame.insert(0, "group", "junior")
    frame.to_csv(tmp_path / "junior.csv")
    attributes = ("--attributes", "cohesion", "syntax", "vocabulary", "phonology")
    q = pd.read_csv(files / "q_more.csv").set_index("item").loc[frame.columns[1:]]
    q.to_csv(tmp_path / "q.csv")
    status, _, err = run(
        capsys, "diagnose", tmp_path / "junior.csv", tmp_path / "q.csv", *words, *attributes, *QUICK, "--out", out
    )
    assert (status, err) == (0, "")
    found = pe.load(out)
    assert (found.model, found.structure_name) == ("DINA", "saturated")
    assert list(found.attribute_labels) == list(attributes[1:])
    lacking = [label for label in found.profile_labels if label[0] == "1" and label[1] == "0"]
    assert (found.structure.loc[lacking, "probability"] == 0).all()
    assert found.n_structural_parameters == 16 - len(lacking) - 1


def test_compare_comes_first_and_marks_the_best(capsys, files):
    words = ("--fit-to", "group=junior,college", "--compare", *QUICK)
    status, text, err = run(capsys, "diagnose", files / "responses.csv", files / "q.csv", *words)
    assert (status, err) == (0, "")
    table = pe.cdm.compare(datasets.load_cse_like(), datasets.load_cse_like_q(), fit_to=LEARNERS, n_starts=1)
    assert text.startswith(comparison_text(table) + "\n\nG-DINA with")
    line = {row.split()[0]: row for row in text.splitlines()[2:9] if row.strip()}
    assert line["G-DINA"].count("*") == line["RRUM"].count("*") == 1
    assert "78,087.33*" in line["G-DINA"]
    assert "79,005.28*" in line["RRUM"]


def test_table_of_models_in_three_formats_and_on_the_page(capsys, files, expected, tmp_path):
    table = pe.cdm.mastery_table(expected, separator="_")
    common = (
        "diagnose",
        files / "responses.csv",
        files / "q.csv",
        "--fit-to",
        "group=junior,college",
        *QUICK,
        "--separator",
        "_",
    )
    for name, text in (("t.md", table.to_markdown()), ("t.tex", table.to_latex()), ("t.html", table.to_html())):
        status, out, err = run(capsys, *common, "--table", tmp_path / name)
        assert (status, err) == (0, "")
        assert (tmp_path / name).read_text(encoding="utf-8") == text
        assert out.endswith(f"wrote {tmp_path / name}: mastery of 12 models\n")
    status, out, err = run(capsys, *common, "--report", tmp_path / "new" / "page")
    assert (status, err) == (0, "")
    assert table.summary() in out
    page = (tmp_path / "new" / "page" / "index.html").read_text(encoding="utf-8")
    assert "Diagnosis of responses.csv" in page
    assert table.to_html(legend=False) in page


def test_table_without_learners_names_the_respondents(capsys, tmp_path, files):
    frame = pd.read_csv(files / "responses.csv", index_col=0).drop(columns="group")
    frame.iloc[-60:].to_csv(tmp_path / "r.csv")
    status, out, _ = run(capsys, "diagnose", tmp_path / "r.csv", files / "q.csv", *QUICK, "--table", tmp_path / "t.md")
    assert status == 0
    assert f"wrote {tmp_path / 't.md'}: mastery of 60 respondents; name the learners with --fit-to" in out


def test_score_of_irt_names_the_one_of_diagnoses(expected):
    with pytest.raises(pe.exceptions.DataError, match=r"psychoedu\.cdm\.score\(diagnosis, responses\)"):
        pe.score(expected, datasets.load_cse_like())


def test_models_and_conditions_from_columns(capsys, files, tmp_path):
    frame = pd.read_csv(files / "responses.csv", index_col=0)
    labels = frame.index.to_series()
    frame.insert(1, "name", labels.where(frame["group"] == "model", "learner").str[:3])
    frame.insert(2, "prompt", labels.str[-2:].where(frame["group"] == "model", labels))
    frame.to_csv(tmp_path / "r.csv")
    words = ("--fit-to", "group=junior,college", "--model-column", "name", "--condition-column", "prompt", *QUICK)
    status, out, err = run(capsys, "diagnose", tmp_path / "r.csv", files / "q.csv", *words)
    assert (status, err) == (0, "")
    assert "M03    p2         -0.4" in out


def test_withheld_attributes_stay_empty_and_there_is_no_profile(expected):
    frame = mastery_frame(replace(expected, withheld=("syntax",)))
    assert "profile" not in frame
    assert frame["syntax"].isna().all()
    assert frame["cohesion"].notna().all()


def test_score_reads_a_stored_diagnosis(capsys, files, expected, tmp_path):
    stored = expected.save(tmp_path / "d.json")
    status, out, err = run(capsys, "score", stored, files / "models.csv")
    assert (status, err) == (0, "")
    models = datasets.load_cse_like().select(respondents={"group": "model"})
    assert out == mastery_frame(pe.cdm.score(expected, models)).to_csv()
    status, out, _ = run(capsys, "score", stored, files / "models.csv", "--out", tmp_path / "s.csv")
    assert (status, out) == (0, f"wrote {tmp_path / 's.csv'}: 24 respondents, mastery\n")
    assert pd.read_csv(tmp_path / "s.csv")["respondent"].tolist() == list(models.respondent_labels)
    status, _, err = run(capsys, "score", stored, files / "models.csv", "--method", "map")
    assert status == 2
    assert "a diagnosis has its own population" in err


ERRORS = {
    "no responses": ("{folder}/absent.csv {q}", "No such file or directory"),
    "no Q-matrix": ("{responses} {folder}/absent.csv --fit-to group=junior", "No such file or directory"),
    "text column": ("{responses} {q}", "--respondent-columns COLUMN"),
    "column of the Q-matrix": ("{responses} {q_more} --fit-to group=model", "--attributes COLUMN"),
    "model": ("{responses} {q} --fit-to group=model --model 3pl", "'RRUM' or 'LLM'; got '3pl'"),
    "structure": ("{responses} {q} --fit-to group=model --structure higher", "structure has to be one of 'higher-order'"),
    "hierarchy": ("{responses} {q} --fit-to group=model --hierarchy cohesion", "--hierarchy 'A before B'"),
    "fit-to": ("{responses} {q} --fit-to group", "not COLUMN=VALUE"),
    "fit-to value": ("{responses} {q} --fit-to group=teacher", "'teacher' in column 'group'"),
    "memory": ("{responses} {q} --fit-to group=model --memory-limit 0.00001", "raise the limit"),
    "compare with groups": ("{responses} {q} --groups group --compare", "leave out --groups"),
    "kind of table": ("{responses} {q} --table t.doc", "ends in .md, .tex, .html"),
    "folder of the table": ("{responses} {q} --table {folder}/nowhere/t.md", "does not exist. Make it first"),
    "separator": ("{responses} {q} --fit-to group=junior,college --starts 1 --separator /", "--separator TEXT"),
}


@pytest.mark.parametrize(("words", "message"), ERRORS.values(), ids=ERRORS)
def test_errors_are_one_message_that_names_the_option(words, message, capsys, files, tmp_path):
    places = {"folder": tmp_path, **{name: files / f"{name}.csv" for name in ("responses", "q", "q_more")}}
    status, _, err = run(capsys, "diagnose", *(word.format(**places) for word in words.split(" ")))
    assert status == 2
    assert err.count("error: ") == 1
    assert "Traceback" not in err
    assert message in err


def test_warnings_are_plain_lines(capsys, files):
    words = ("--fit-to", "group=junior,college", "--max-iter", "1", *QUICK)
    status, out, err = run(capsys, "diagnose", files / "responses.csv", files / "q.csv", *words)
    assert status == 0
    assert out.startswith("NOT CONVERGED")
    assert err.startswith("warning: Estimation stopped after 1 iteration")
    assert "--max-iter N" in err
    assert ".py:" not in err


def test_numbers_in_a_column_can_be_named(tmp_path, capsys):
    """A column of years holds numbers; what is typed is text."""
    import numpy as np
    import pandas as pd

    from psychoedu.cli import main

    rng = np.random.default_rng(3)
    mastered = rng.random((240, 3)) < 0.5
    q = pd.DataFrame(np.vstack([np.eye(3, dtype=int)] * 4), columns=["a", "b", "c"], index=[f"q{j}" for j in range(12)])
    right = (rng.random((240, 12)) < np.where(mastered @ q.to_numpy().T.astype(bool), 0.85, 0.2)).astype(int)
    frame = pd.DataFrame(right, columns=q.index)
    frame.insert(0, "year", np.repeat([2020, 2021], 120))
    frame.insert(0, "id", [f"r{i}" for i in range(240)])
    frame.to_csv(tmp_path / "r.csv", index=False)
    q.to_csv(tmp_path / "q.csv", index_label="item")
    words = ["diagnose", str(tmp_path / "r.csv"), str(tmp_path / "q.csv"), "--fit-to", "year=2021", "--model", "DINA"]
    assert main(words) == 0
    assert "120 (and 120 that are only diagnosed)" in capsys.readouterr().out
