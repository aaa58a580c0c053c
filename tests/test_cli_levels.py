"""``psychoedu booklet``, ``bookmark`` and ``classify``: the chain of README, what is written, and what is refused."""

import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from html_outline import Outline
from level_designs import bank_of, placed, respond
from scipy.stats import norm

import psychoedu as pe
from psychoedu.cli import main

LEVELS = ["CSE-3", "CSE-4", "CSE-5", "CSE-6"]
DATA = Path("data")


def run(capsys, *words):
    status = main([str(word) for word in words])
    return (status, *capsys.readouterr())


def chain_of(root):
    """Return the words of the four commands that README shows."""
    text = (root / "README.md").read_text(encoding="utf-8")
    (block,) = [part for part in re.findall(r"```bash\n(.*?)```", text, re.DOTALL) if "psychoedu booklet" in part]
    return [shlex.split(line) for line in block.strip().splitlines()]


@pytest.fixture(scope="module")
def folder(root, tmp_path_factory):
    """A folder with the data, in which the chain of README was run."""
    where = tmp_path_factory.mktemp("levels")
    shutil.copytree(root / "data", where / "data")
    commands = chain_of(root)
    assert [words[:2] for words in commands] == [["psychoedu", name] for name in ("calibrate", "booklet", "bookmark", "classify")]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(where)
        for words in commands:
            assert main(words[1:]) == 0
    return where


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A bank of 20 items, a panel of six, and test takers of two groups."""
    where = tmp_path_factory.mktemp("small")
    bank = bank_of(20)
    bank.save(where / "bank.json")
    pages = {"CSE-3": [6, 7, 8, 7, 6, 7], "CSE-4": [11, 12, 13, 12, 11, 12]}
    first = {level: [page + 1 for page in own] for level, own in pages.items()}
    pd.concat([placed(first, round=1), placed(pages, round=2)]).to_csv(where / "panel.csv", index=False)
    answers = respond(bank, np.linspace(-2.0, 2.0, 40))
    answers.insert(0, "school", ["north", "south"] * 20)
    answers.insert(1, "year", [2020, 2021] * 20)
    answers.to_csv(where / "answers.csv", index_label="id")
    table = pd.DataFrame({"item": bank.labels[::-1], "text": [f"Text of {label} <mark>" for label in bank.labels[::-1]]})
    table.to_csv(where / "items.csv", index=False)
    assert main(["bookmark", f"{where}/bank.json", f"{where}/panel.csv", "--out", f"{where}/cuts.json"]) == 0
    return where


# the chain of README


def test_the_chain_writes_what_the_functions_give(here):
    responses = pe.datasets.load_cse_like()
    calibration = pe.load("bank.json")
    pages = pe.load("booklet.json")
    assert pages.labels.tolist() == pe.booklet(calibration).labels.tolist()
    cuts = pe.load("cuts.json")
    placements = pd.read_csv(DATA / "cse_like_panel.csv").query("round == 2")
    for level in LEVELS:  # two panellists: the median is the mean of the locations of their pages
        own = placements.loc[placements["level"] == level, "page"]
        assert cuts.cut_scores[level] == pytest.approx(pages.locations[own - 1].mean(), abs=1e-12)
    models = responses.select(respondents={"group": "model"})
    table = pe.level_table(calibration, models, cuts, separator="_")
    assert Path("levels.md").read_text(encoding="utf-8") == table.to_markdown()
    assert table.to_markdown().count("\n| M") == 12


def test_the_chain_writes_the_panels_pages(here):
    for name in ("form.html", "sheet.html"):
        text = Path(name).read_text(encoding="utf-8")
        data = json.loads(re.search(r'id="panel-data">(.*?)</script>', text, re.DOTALL)[1])
        assert data["levels"] == LEVELS
        assert data["booklet"] == pe.load("booklet.json").fingerprint
        assert not re.search(r"""(src|href)=["']?(https?:)?//""", text)


# booklet


def test_booklet_says_and_writes(capsys, small, tmp_path):
    out, pages = tmp_path / "b.json", tmp_path / "b.csv"
    words = ("--rp", "0.5", "--exclude", "q3", "q4", "--items", small / "items.csv", "--out", out, "--csv", pages)
    status, text, err = run(capsys, "booklet", small / "bank.json", *words)
    assert (status, err) == (0, "")
    assert text.startswith("Ordered item booklet: 18 pages by RP location, RP 0.5")
    assert "left out, excluded by name: 2 items ('q3', 'q4')" in text
    assert text.endswith(f"wrote {out}: the booklet (18 pages)\nwrote {pages}: the pages\n")
    frame = pd.read_csv(pages)
    bank = bank_of(20)
    difficulty = pd.Series(-bank.intercept / bank.discrimination, index=bank.labels).drop(["q3", "q4"]).sort_values()
    assert frame["item"].tolist() == difficulty.index.tolist()  # at RP 1/2 the location is the difficulty
    np.testing.assert_allclose(frame["rp_location"], difficulty, atol=1e-12)
    assert (frame["text"] == "Text of " + frame["item"] + " <mark>").all()
    assert pe.load(out).labels.tolist() == difficulty.index.tolist()


def test_booklet_by_difficulty(capsys, small, tmp_path):
    assert run(capsys, "booklet", small / "bank.json", "--order-by", "difficulty", "--out", tmp_path / "b.json")[0] == 0
    bank = pe.load(tmp_path / "b.json").bank
    assert (np.diff(-bank.intercept / bank.discrimination) > 0).all()


def test_the_form_has_its_title_rule_and_items(capsys, small, tmp_path):
    form = tmp_path / "form.html"
    words = ("--levels", "CSE-3", "CSE-4", "--form", form, "--items", small / "items.csv")
    words += ("--title", "Reading & <more>", "--rule", "first-not-mastered")
    status, text, _ = run(capsys, "booklet", small / "bank.json", *words)
    assert status == 0
    assert f"wrote {form}: the panellists' form" in text
    html = form.read_text(encoding="utf-8")
    outline = Outline(html)
    assert "Reading & <more>" in outline.words
    assert "mark" not in outline.tags
    assert "Text of q1 <mark>" in outline.text
    data = json.loads(re.search(r'id="panel-data">(.*?)</script>', html, re.DOTALL)[1])
    assert data["rule"] == "first-not-mastered"


def impact_of(path):
    return json.loads(re.search(r'id="panel-data">(.*?)</script>', path.read_text(encoding="utf-8"), re.DOTALL)[1])["impact"]


def test_the_sheet_has_the_impact_of_each_group(capsys, small, tmp_path):
    sheet = tmp_path / "sheet.html"
    words = ("--levels", "CSE-3", "CSE-4", "--facilitator", sheet, "--aggregate", "mean", "--responses", small / "answers.csv")
    status, _, err = run(capsys, "booklet", small / "bank.json", *words, "--groups", "school", "--respondent-columns", "year")
    assert (status, err) == (0, "")
    answers = pd.read_csv(small / "answers.csv", index_col="id")
    scores = pe.score(bank_of(20), answers.drop(columns=["school", "year"])).to_frame()
    impact = impact_of(sheet)
    assert [group["group"] for group in impact] == ["north", "south"]
    for group in impact:
        own = scores[answers["school"] == group["group"]]
        expected = norm.sf(np.array(group["theta"])[:, None], own["theta"], own["theta_se"]).mean(axis=1)
        np.testing.assert_allclose(group["share"], expected, atol=1e-12)
        assert group["n"] == 20
    words = ("--respondent-columns", "school", "year")
    base = ("--levels", "CSE-3", "--facilitator", sheet, "--responses", small / "answers.csv")
    assert run(capsys, "booklet", small / "bank.json", *base, *words)[0] == 0
    assert [(group["group"], group["n"]) for group in impact_of(sheet)] == [("everyone", 40)]


def test_groups_of_a_calibration_are_scored_with_their_own_population_and_others_left_out(capsys, here, tmp_path):
    sheet = tmp_path / "sheet.html"
    words = ("--levels", *LEVELS, "--facilitator", sheet, "--responses", DATA / "cse_like.csv", "--groups", "group")
    status, _, err = run(capsys, "booklet", "bank.json", *words)
    assert (status, err) == (0, "")
    impact = {group["group"]: group for group in impact_of(sheet)}
    assert {name: group["n"] for name, group in impact.items()} == {"junior": 1102, "college": 948}  # no models
    calibration, responses = pe.load("bank.json"), pe.datasets.load_cse_like()
    for name, group in impact.items():
        mean, sd = calibration.groups.loc[name, ["latent_mean", "latent_sd"]]
        own = pe.score(calibration, responses.select(respondents={"group": name}), prior_mean=mean, prior_sd=sd).to_frame()
        expected = norm.sf(np.array(group["theta"])[:, None], own["theta"], own["theta_se"]).mean(axis=1)
        np.testing.assert_allclose(group["share"], expected, atol=1e-12)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--form", "f.html"], "The panel's pages need the levels that get a bookmark: --levels CSE-3 CSE-4 ..."),
        (["--facilitator", "f.html"], "The panel's pages need the levels"),
        (
            ["--levels", "CSE-3", "--form", "f.html", "--responses", "x.csv"],
            "--responses is for the impact on the facilitator's sheet; name that with --facilitator FILE.",
        ),
        (
            ["--levels", "CSE3", "CSE-4", "--out", "b.json", "--form", "f.html"],
            "1 level not on the scale CSE: 'CSE3'.\nDid you mean 'CSE-3'?",
        ),
        (["--levels", "CSE-4", "CSE-3", "--form", "f.html"], "'CSE-4', 'CSE-3' are not in the order of the scale CSE."),
        (["--levels", "B2", "A1", "--facilitator", "f.html"], "'B2', 'A1' are not in the order of the scale CEFR."),
        (["--levels", "CSE-3", "CSE-3", "--form", "f.html"], "1 level given more than once: 'CSE-3'."),
        (["--levels", "CSE-3", " ", "--form", "f.html"], "1 level without a name: ' '"),
        (["--rp", "67"], "response_probability has to lie between 0 and 1, both excluded; got 67.0. Did you mean 0.67?"),
        (["--order-by", "length"], "order_by has to be one of 'rp_location', 'difficulty'; got 'length'."),
        (["--exclude", "q99"], "1 item not found: 'q99'."),
        (["--keep", "q1", "--exclude", "q1"], "exclude= and keep= both name 1 item: 'q1'."),
        (["--levels", "CSE-3", "--rule", "last", "--form", "f.html"], "rule has to be one of 'last-mastered'"),
        (["--levels", "CSE-3", "--aggregate", "mode", "--facilitator", "f.html"], "aggregate has to be one of 'median', 'mean'"),
        (["--out", "absent/b.json"], "The folder absent of b.json does not exist. Make it first: mkdir -p absent"),
        (["--form", "."], ". is a folder; expected the name of a file to write."),
        (["--items", "absent.csv"], "No such file or directory: absent.csv"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_booklet_refuses(capsys, small, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    status, out, err = run(capsys, "booklet", small / "bank.json", *words)
    assert status == 2
    assert err.startswith("error: ")
    assert message in err
    assert list(tmp_path.iterdir()) == []  # nothing is half done
    assert "wrote" not in out


def test_items_that_are_not_in_the_table(capsys, small, tmp_path):
    pd.read_csv(small / "items.csv").iloc[2:].to_csv(tmp_path / "some.csv", index=False)
    status, _, err = run(capsys, "booklet", small / "bank.json", "--items", tmp_path / "some.csv")
    assert status == 2
    assert re.search(r"items has no row for 2 items of the booklet: ('q19', 'q20'|'q20', 'q19')\.", err)
    (tmp_path / "empty.csv").write_text("")
    status, _, err = run(capsys, "booklet", small / "bank.json", "--items", tmp_path / "empty.csv")
    assert status == 2
    assert "empty.csv is not a CSV file of items" in err


@pytest.mark.parametrize("command", ["booklet", "bookmark", "classify"])
def test_files_that_are_no_banks(capsys, small, tmp_path, command):
    rest = {"booklet": [], "bookmark": [small / "panel.csv"], "classify": [small / "cuts.json", small / "answers.csv"]}[command]
    status, _, err = run(capsys, command, tmp_path / "absent.json", *rest)
    assert status == 2
    assert "absent.json" in err
    status, _, err = run(capsys, command, small / "panel.csv", *rest)
    assert status == 2
    assert "panel.csv" in err
    assert "Traceback" not in err


# bookmark


def test_bookmark_says_and_writes(capsys, small, tmp_path):
    out, table, report = tmp_path / "c.json", tmp_path / "c.csv", tmp_path / "a" / "report"
    words = ("--out", out, "--csv", table, "--report", report)
    status, text, err = run(capsys, "bookmark", small / "bank.json", small / "panel.csv", *words)
    assert (status, err) == (0, "")
    assert text.startswith("Cut scores by bookmark, 6 panellists, round 2, RP 0.67, last-mastered, median")
    for said in (
        "Bookmark panel: 6 panellists, 2 rounds",
        "Movement",
        f"wrote {out}: the cut scores\n",
        "index.html: the report",
    ):
        assert said in text
    cuts = pe.load(out)
    bank = bank_of(20)
    location = np.sort((np.log(0.67 / 0.33) - bank.intercept) / bank.discrimination)
    np.testing.assert_allclose(cuts.values, [location[6], location[11]], atol=1e-12)  # median pages 7 and 12
    frame = pd.read_csv(table, index_col="level")
    np.testing.assert_allclose(frame["cut_score"], cuts.values, rtol=1e-12)
    assert {"se", "se_panel", "se_items", "se_linking", "low", "high"} <= set(frame.columns)
    outline = Outline((report / "index.html").read_text(encoding="utf-8"))
    assert f"{location[6]:.3f}".replace("-", "\N{MINUS SIGN}") in outline.words


def test_bookmark_options_reach_the_function(capsys, small, tmp_path):
    out = tmp_path / "c.json"
    words = ("--rp", "0.5", "--rule", "first-not-mastered", "--aggregate", "mean", "--round", "1", "--scale", "cse")
    status, text, _ = run(capsys, "bookmark", small / "bank.json", small / "panel.csv", *words, "--out", out)
    assert status == 0
    assert text.startswith("Cut scores by bookmark, 6 panellists, round 1, RP 0.5, first-not-mastered, mean")
    bank = bank_of(20)
    location = np.sort(-bank.intercept / bank.discrimination)
    found = pe.load(out)
    expected = [location[[6, 7, 8, 7, 6, 7]].mean(), location[[11, 12, 13, 12, 11, 12]].mean()]  # pages 7 8 9 8 7 8, ...
    np.testing.assert_allclose(found.values, expected, atol=1e-12)
    assert found.scale.name == "CSE"


def test_files_of_several_panellists_and_missing_bookmarks(capsys, small, tmp_path):
    whole = pd.read_csv(small / "panel.csv").query("round == 2")
    files = []
    for name, own in whole.groupby("panellist"):
        own = own.iloc[:1] if name == "p6" else own
        own.to_csv(tmp_path / f"{name}.csv", index=False)
        files.append(tmp_path / f"{name}.csv")
    status, _, err = run(capsys, "bookmark", small / "bank.json", *files)
    assert status == 2
    assert "Round 2 lacks 1 bookmark: 'p6, CSE-4'." in err
    assert "(on the command line: --missing omit)" in err
    status, text, _ = run(capsys, "bookmark", small / "bank.json", *files, "--missing", "omit")
    assert status == 0
    assert "6 panellists, round 2" in text


def test_levels_in_an_order_of_their_own(capsys, small, tmp_path):
    frame = pd.read_csv(small / "panel.csv").replace({"CSE-3": "merit", "CSE-4": "distinction"}).sort_values("level")
    frame.to_csv(tmp_path / "p.csv", index=False)
    status, _, err = run(capsys, "bookmark", small / "bank.json", tmp_path / "p.csv")
    assert status == 2
    assert "Bookmarks cross 12 times" in err
    assert "(on the command line: --levels LEVEL ...)" in err
    out = tmp_path / "c.json"
    words = ("--levels", "merit", "distinction", "--out", out)
    assert run(capsys, "bookmark", small / "bank.json", tmp_path / "p.csv", *words)[0] == 0
    assert pe.load(out).levels == ("merit", "distinction")


@pytest.mark.parametrize(
    ("change", "words", "message"),
    [
        ({"page": 21}, [], "24 placements on no page of the booklet: 'p1, round 1, CSE-3: page 21'"),
        (
            {"page": 0},
            ["--rule", "first-not-mastered"],
            "Expected whole numbers from 1 to 21 (rule 'first-not-mastered', 20 pages).",
        ),
        ({"page": 2.5}, [], "24 placements on no page of the booklet"),
        ({"page": None}, [], "The placements lack 1 column: 'page'. They have 'panellist', 'level', 'round'."),
        ({"panellist": "p1"}, [], "4 bookmarks placed more than once: 'p1, round 1, CSE-3'"),
        ({"level": {"CSE-3": "CSE3"}}, [], "1 level not on the scale CSE: 'CSE3'.\nDid you mean 'CSE-3'?"),
        ({"booklet": "0123456789ab"}, [], "24 placements were made in another booklet ('0123456789ab')"),
        ({}, ["--round", "3"], "round 3 is not among the placements' rounds: 1, 2."),
        ({}, ["--scale", "CEFR"], "2 levels not on the scale CEFR: 'CSE-3', 'CSE-4'."),
        ({}, ["--levels", "CSE-3"], "1 level not among levels: 'CSE-4'."),
        ({}, ["--aggregate", "mode"], "aggregate has to be one of 'median', 'mean'; got 'mode'."),
        ({}, ["--rule", "middle"], "rule has to be one of 'last-mastered'"),
        ({}, ["--missing", "skip"], "missing has to be one of 'raise', 'omit'; got 'skip'."),
        ({}, ["--rp", "1"], "response_probability has to lie between 0 and 1"),
        ({}, ["--out", "absent/c.json"], "The folder absent of c.json does not exist."),
    ],
    ids=lambda value: repr(value) if isinstance(value, dict | list) else "",
)
def test_what_bookmark_refuses(capsys, small, tmp_path, monkeypatch, change, words, message):
    monkeypatch.chdir(tmp_path)
    frame = pd.read_csv(small / "panel.csv")
    for name, value in change.items():
        if isinstance(value, dict):
            frame = frame.replace({name: value})
        else:
            frame = frame.drop(columns=name) if value is None else frame.assign(**{name: value})
    frame.to_csv("placements.csv", index=False)
    status, out, err = run(capsys, "bookmark", small / "bank.json", "placements.csv", *words)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err


def test_a_booklet_keeps_its_response_probability(capsys, here):
    status, _, err = run(capsys, "bookmark", "booklet.json", DATA / "cse_like_panel.csv", "--rp", "0.5")
    assert status == 2
    assert "response_probability is 0.5, but the panel's booklet has 0.67." in err
    assert run(capsys, "bookmark", "booklet.json", DATA / "cse_like_panel.csv", "--rp", "0.67")[0] == 0


# classify


def test_classify_says_and_writes(capsys, small, tmp_path):
    out, stored, report = tmp_path / "l.csv", tmp_path / "l.json", tmp_path / "report"
    words = ("--respondent-columns", "school", "year", "--draws", "0", "--out", out, "--json", stored, "--report", report)
    status, text, err = run(capsys, "classify", small / "bank.json", small / "cuts.json", small / "answers.csv", *words)
    assert (status, err) == (0, "")
    assert text.startswith("Levels of 40 respondents. Cut scores by bookmark")
    assert f"wrote {out}: levels of 40 respondents" in text
    assert "In brackets" not in text  # no table was asked for
    answers = pd.read_csv(small / "answers.csv", index_col="id").drop(columns=["school", "year"])
    scores = pe.score(bank_of(20), answers).to_frame()
    cuts = pe.load(small / "cuts.json").values
    frame = pd.read_csv(out, index_col="respondent")
    np.testing.assert_allclose(frame["theta"], scores["theta"], atol=1e-12)
    below = norm.cdf(cuts[0], scores["theta"], scores["theta_se"])
    np.testing.assert_allclose(frame["p_below CSE-3"], below, atol=1e-12)
    codes = (scores["theta"].to_numpy()[:, None] >= cuts).sum(axis=1)
    assert frame["level"].tolist() == [["below CSE-3", "CSE-3", "CSE-4"][code] for code in codes]
    levels = pe.load(stored)
    assert levels.level_text.tolist() == frame["level_text"].tolist()
    html = (report / "index.html").read_text(encoding="utf-8")
    assert Outline(html).tags.count("h1") == 1
    assert "Levels and their probabilities" in html


@pytest.mark.parametrize(("ending", "start"), [(".md", "| model |"), (".tex", r"\begin{table}"), (".HTML", "<table")])
def test_tables_in_the_format_of_their_name(capsys, here, tmp_path, ending, start):
    target = tmp_path / f"levels{ending}"
    words = ("--select", "group=model", "--separator", "_", "--draws", "0", "--table", target)
    status, text, _ = run(capsys, "classify", "bank.json", "cuts.json", DATA / "cse_like.csv", *words)
    assert status == 0
    written = target.read_text(encoding="utf-8")
    assert written.startswith(start)
    assert "M12" in written
    assert f"wrote {target}: levels of 12 models" in text
    assert "(measurement error alone)" in text


def test_selected_respondents_alone(capsys, small, tmp_path):
    out = tmp_path / "l.csv"
    base = ("classify", small / "bank.json", small / "cuts.json", small / "answers.csv", "--draws", "0", "--out", out)
    assert run(capsys, *base, "--select", "school=north", "--respondent-columns", "year")[0] == 0
    assert pd.read_csv(out)["respondent"].tolist() == [f"r{number}" for number in range(1, 41, 2)]
    assert run(capsys, *base, "--select", "year=2021", "--respondent-columns", "school")[0] == 0  # a number, typed as text
    assert pd.read_csv(out)["respondent"].tolist() == [f"r{number}" for number in range(2, 41, 2)]
    assert run(capsys, *base, "--select", "school=north,south", "--respondent-columns", "year")[0] == 0
    assert len(pd.read_csv(out)) == 40


def test_models_and_conditions_from_columns(capsys, small, tmp_path):
    frame = pd.read_csv(small / "answers.csv").head(4).assign(school=["a", "a", "b", "b"], year=[2020, 2021, 2020, 2021])
    frame.to_csv(tmp_path / "m.csv", index=False)
    target = tmp_path / "t.md"
    words = ("--model-column", "school", "--condition-column", "year", "--draws", "0", "--table", target)
    status, text, _ = run(capsys, "classify", small / "bank.json", small / "cuts.json", tmp_path / "m.csv", *words)
    assert status == 0
    assert target.read_text(encoding="utf-8").startswith("| model | 2020 | 2021 |\n|---|---|---|\n| a |")
    assert "model  2020" in text


def test_draws_seed_method_and_population_reach_the_function(capsys, small, tmp_path):
    words = ("--respondent-columns", "school", "year", "--method", "map", "--prior-mean", "0.5", "--prior-sd", "0.8")
    base = ("classify", small / "bank.json", small / "cuts.json", small / "answers.csv", *words, "--draws", "20")
    frames = []
    for seed in (1, 1, 2):
        assert run(capsys, *base, "--seed", seed, "--out", tmp_path / "l.csv")[0] == 0
        frames.append(pd.read_csv(tmp_path / "l.csv", index_col="respondent"))
    pd.testing.assert_frame_equal(frames[0], frames[1])
    assert not frames[0].equals(frames[2])
    answers = pd.read_csv(small / "answers.csv", index_col="id").drop(columns=["school", "year"])
    expected = pe.score(bank_of(20), answers, method="map", prior_mean=0.5, prior_sd=0.8).to_frame()["theta"]
    np.testing.assert_allclose(frames[0]["theta"], expected, atol=1e-12)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--table", "t.txt"], "--table t.txt: expected a name that ends in .md, .tex, .html."),
        (["--select", "school"], "--select school is not COLUMN=VALUE, such as --select group=learner."),
        (["--select", "school=west"], "No respondent has 'west' in column 'school'; it holds 'north', 'south'."),
        (["--select", "city=x"], "respondent_columns names 1 column that the table lacks: 'city'."),
        (["--model-column", "name"], "respondent_columns names 1 column that the table lacks: 'name'."),
        (["--separator", "_"], "40 labels of 40 without a model and a condition around '_'"),
        (["--separator", "_", "--model-column", "school"], "give it, or model= and condition=, not both."),
        (["--model-column", "school"], "with several rows under one condition"),
        (["--method", "mean"], "method has to be one of 'eap', 'map', 'ml', 'wle'; got 'mean'."),
        (["--draws", "1"], "n_draws has to be at least 2; got 1."),
        (["--prior-sd", "0"], "prior_sd has to"),
        (["--json", "absent/l.json"], "The folder absent of l.json does not exist."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_classify_refuses(capsys, small, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    described = ["--respondent-columns", "school", "year"]
    status, out, err = run(
        capsys, "classify", small / "bank.json", small / "cuts.json", small / "answers.csv", *described, *words
    )
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err
    assert list(tmp_path.iterdir()) == []


def test_a_bank_in_place_of_the_cuts(capsys, small):
    status, out, err = run(capsys, "classify", small / "bank.json", small / "bank.json", small / "answers.csv")
    assert (status, out) == (2, "")
    assert "bank.json holds no cut scores. Expected a file written by `psychoedu bookmark --out`." in err


def test_messages_about_models_name_the_options(capsys, small):
    words = ("--respondent-columns", "school", "year", "--separator", "_")
    _, _, err = run(capsys, "classify", small / "bank.json", small / "cuts.json", small / "answers.csv", *words)
    (last,) = [line for line in err.splitlines() if line.startswith("(on the command line")]
    for option in ("--separator TEXT", "--model-column COLUMN", "--condition-column COLUMN"):
        assert option in last
