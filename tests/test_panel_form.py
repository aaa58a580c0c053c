"""The pages of a bookmark panel as text: whole, escaped, self-contained; and what the functions refuse."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from html_outline import Outline
from panel_booklet import DESCRIPTORS, LEVELS, grammar_booklet, item_table
from scipy.stats import norm

from psychoedu.exceptions import DataError, DuplicateLabelError, LabelError
from psychoedu.report.facilitator_page import facilitator_page
from psychoedu.report.panel_common import probability_words, script_json
from psychoedu.report.panel_form import panel_form, task_words
from psychoedu.standard_setting.impact import survival_curves

HOSTILE = "</script><img src=x onerror='alert(1)'>\u2028\"&amp;"
SCRIPTS = ("panel_common.js", "panel_form.js", "facilitator_page.js")


@pytest.fixture(scope="module")
def booklet():
    return grammar_booklet()


@pytest.fixture(scope="module")
def pages(booklet):
    grid = np.linspace(-3.0, 3.0, 7)
    impact = {"junior": (grid, np.linspace(1.0, 0.0, 7))}
    return {
        "form": panel_form(booklet, LEVELS, title="The panel", descriptors=DESCRIPTORS, notes=["Work alone."]),
        "sheet": facilitator_page(booklet, LEVELS, title="The panel", impact=impact, notes=["Work alone."]),
    }


@pytest.mark.parametrize("which", ["form", "sheet"])
def test_pages_are_whole_and_fetch_nothing(pages, which):
    html = pages[which]
    outline = Outline(html)
    assert outline.tags.count("script") == 2  # the data, and the one script
    assert outline.tags.count("h1") == outline.tags.count("main") == 1
    assert not {"link", "iframe", "object", "base", "form", "img"} & set(outline.tags)
    for tag, attributes in outline.attributes:
        assert not {"src", "href", "style", "srcset"} & set(attributes), (tag, attributes)
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
    assert re.findall(r"https?:(?!//www\.w3\.org/2000/svg)[^\s\"']*", html) == []
    assert "The panel" in outline.words
    assert "Work alone." in outline.words


@pytest.mark.parametrize("which", ["form", "sheet"])
def test_the_policy_names_the_script_and_the_style(pages, which):
    html = pages[which]
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for tag in ("script", "style"):
        content = re.search(f"<{tag}>(.*?)</{tag}>", html, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_strict_and_write_text_only(name):
    code = files("psychoedu.report").joinpath(name).read_text(encoding="utf-8")
    assert code.startswith('"use strict";')
    for forbidden in (
        "innerHTML",
        "outerHTML",
        "insertAdjacent",
        "document.write",
        "eval(",
        "</script",
        "<!--",
        "fetch(",
        "XMLHttp",
    ):
        assert forbidden not in code, forbidden


def test_items_stand_in_page_order(booklet, pages):
    frame = booklet.to_frame()
    words = Outline(pages["form"]).words
    at = [words.index(text) for text in frame["text"]]
    assert at == sorted(at)
    assert words[at[0] - 2 : at[0]] == ["Page 1", str(frame["item"].iloc[0])]
    first = words[at[0] : at[1]]
    for value in ("key", frame["key"].iloc[0], "subskill", frame["subskill"].iloc[0]):
        assert value in first
    location, gap = frame["rp_location"].iloc[0], frame["gap_to_next"].iloc[0]
    assert f"location {location:.2f} · step to the next page {gap:.2f}".replace("-", "−") in first
    assert f"location {frame['rp_location'].iloc[-1]:.2f}".replace("-", "−") in words  # the last page has no step


def test_what_is_not_known_is_left_out():
    table = item_table().drop(columns="text").iloc[:2].assign(key=[None, "B"], subskill=[np.nan, "tense"], p=[0.25, np.nan])
    words = Outline(panel_form(grammar_booklet(items=table), ["A"])).words
    assert words.count("key") == words.count("subskill") == words.count("p") == 1
    assert "0.25" in words
    assert not {"nan", "None"} & set(words)


@pytest.mark.parametrize(
    ("texts", "said"), [(None, 1), ([None, None], 1), ([np.nan, ""], 1), (["I ____ here.", None], 0), (["I ____ here.", "x"], 0)]
)
def test_a_booklet_without_item_texts_says_where_they_are(texts, said):
    table = item_table().drop(columns="text").iloc[:2]
    table = table if texts is None else table.assign(text=texts)
    words = Outline(panel_form(grammar_booklet(items=table), ["A"])).words
    assert sum("read each item in the test booklet itself" in text for text in words) == said


def announced(booklet, impact):
    """Return what the sheet says about its impact data before a file is opened, and what its script reads of the numbers."""
    html = facilitator_page(booklet, LEVELS, impact=impact)
    data = json.loads(re.search(r'id="panel-data">(.*?)</script>', html, re.DOTALL)[1])
    return [text for text in Outline(html).words if text.startswith("Impact data")], [group.get("n") for group in data["impact"]]


def test_the_sheet_announces_its_impact_data(booklet):
    curve = ([0, 1], [1, 0])
    both = {"junior": (*curve, 1102), "college": (*curve, np.int64(948))}
    numbered = "Impact data for: junior (1,102), college (948); in brackets, the number of test takers"
    assert announced(booklet, both) == ([numbered], [1102, 948])
    assert announced(booklet, {"junior": curve, 2: [*curve]}) == (["Impact data for: junior, 2"], [None, None])
    some = "Impact data for: junior, college (1); in brackets, the number of test takers"
    assert announced(booklet, {"junior": curve, "college": (*curve, 1)}) == ([some], [None, 1])
    assert announced(booklet, {}) == announced(booklet, None) == ([], [])


def test_survival_curves_are_normal_tails_and_count_the_known(booklet):
    scores = pd.DataFrame({"theta": [-1.0, 0.5, 1.5, np.nan], "theta_se": [0.3, 0.4, 0.5, 0.3]})
    curves = survival_curves(scores, ["junior", "junior", "college", "college"])
    assert {group: n for group, (_, _, n) in curves.items()} == {"junior": 2, "college": 1}
    grid, share, _ = curves["junior"]
    np.testing.assert_allclose(share, norm.sf(grid[:, None], [-1.0, 0.5], [0.3, 0.4]).mean(axis=1), rtol=1e-9, atol=1e-14)
    assert announced(booklet, curves)[1] == [2, 1]  # the sheet takes them as they are


@pytest.mark.parametrize("which", ["form", "sheet"])
def test_everything_from_data_is_escaped(which):
    table = item_table().iloc[:3].assign(text=HOSTILE, key=HOSTILE)
    table[HOSTILE] = "x"
    booklet = grammar_booklet(items=table)
    levels = [HOSTILE, "B"]
    if which == "form":
        html = panel_form(
            booklet, levels, title=HOSTILE, notes=[HOSTILE], panellist=HOSTILE, table=HOSTILE, descriptors={"B": HOSTILE}
        )
    else:
        html = facilitator_page(booklet, levels, title=HOSTILE, notes=[HOSTILE], impact={HOSTILE: ([0, 1], [1, 0])})
    outline = Outline(html)
    assert "img" not in outline.tags
    assert outline.tags.count("script") == 2
    assert HOSTILE in outline.words
    data = json.loads(re.search(r'id="panel-data">(.*?)</script>', html, re.DOTALL)[1])
    assert data["levels"] == levels


def test_json_comes_back_and_cannot_end_its_element():
    data = {"text": HOSTILE, "number": 0.1 + 0.2}
    text = script_json(data)
    assert json.loads(text) == data
    assert not set("<>&\u2028") & set(text)


def test_locations_reach_the_sheet_to_the_last_bit(booklet, pages):
    data = json.loads(re.search(r'id="panel-data">(.*?)</script>', pages["sheet"], re.DOTALL)[1])
    assert data["locations"] == booklet.locations.tolist()
    assert data["booklet"] == booklet.fingerprint


@pytest.mark.parametrize(
    ("probability", "words"),
    [(2 / 3, "two in three"), (0.67, "67 in 100"), (0.5, "one in two"), (0.8, "four in five"), (0.6667, "66.67 in 100")],
)
def test_the_response_probability_in_words(probability, words):
    assert probability_words(probability) == words
    assert words in task_words("last-mastered", grammar_booklet(probability))


@pytest.mark.parametrize(
    ("rule", "said", "ends"),
    [
        ("last-mastered", "on the last page that this candidate has mastered", ["page-0"]),
        ("first-not-mastered", "on the first page that this candidate has not mastered", ["page-35"]),
        ("midpoint", "halfway between the page you choose and the next one", ["page-0"]),
    ],
)
def test_the_task_depends_on_the_rule(booklet, rule, said, ends):
    html = panel_form(booklet, LEVELS, rule=rule)
    assert said in html
    cards = [attributes["id"] for tag, attributes in Outline(html).attributes if tag == "article"]
    assert sorted(set(cards) - {f"page-{number}" for number in range(1, 35)}) == ends


def test_whole_numbers_are_levels_as_well(booklet):
    assert '"levels": ["3", "4"]' in panel_form(booklet, [3, 4], descriptors={3: "three"})


WRONG = {
    "no levels": ({"levels": []}, DataError, "levels is empty; expected at least one"),
    "one text": ({"levels": "CSE-3"}, DataError, "Expected the levels from the lowest"),
    "no order": ({"levels": {"A", "B"}}, DataError, "Expected the levels from the lowest"),
    "repeated": ({"levels": ["A", "B", "A"]}, DuplicateLabelError, "1 level given more than once: 'A'"),
    "alike": ({"levels": [3, "3"]}, DuplicateLabelError, "given more than once: '3'"),
    "blank level": ({"levels": ["A", " "]}, DataError, "1 level without a name"),
    "missing level": ({"levels": ["A", None]}, DataError, "1 level without a name: None"),
    "padded level": ({"levels": ["A ", "B"]}, DataError, "space before or after"),
    "rule": ({"rule": "last mastered"}, DataError, "Did you mean 'last-mastered'"),
    "title": ({"title": ""}, DataError, "title is empty"),
    "one note": ({"notes": "Work alone."}, DataError, "Expected a sequence of texts"),
    "notes": ({"notes": [1]}, DataError, "each of notes has to be text"),
}
WRONG_FORM = {
    "round 0": ({"round": 0}, DataError, "round has to be at least 1"),
    "round 1.5": ({"round": 1.5}, DataError, "round has to be a whole number"),
    "round as text": ({"round": "2"}, DataError, "round has to be a whole number; got '2'"),
    "panellist": ({"panellist": 7}, DataError, "panellist has to be text"),
    "formula": ({"panellist": "=1+1"}, DataError, "spreadsheets take for a formula"),
    "table": ({"table": "@1"}, DataError, "spreadsheets take for a formula"),
    "unknown level": ({"descriptors": {"CSE-9": "x"}}, LabelError, "not found: 'CSE-9'"),
    "descriptors": ({"descriptors": ["x"]}, DataError, "mapping from level to text; got list"),
    "descriptor": ({"descriptors": {"CSE-3": 1}}, DataError, "the descriptor of CSE-3 has to be text"),
}
WRONG_SHEET = {
    "aggregate": ({"aggregate": "mode"}, DataError, "aggregate has to be one of 'median', 'mean'"),
    "impact": ({"impact": [1]}, DataError, "mapping from group"),
    "one row": ({"impact": {"g": [[0, 1]]}}, DataError, "(abilities, shares) or (abilities, shares, n); got list of 1"),
    "four": ({"impact": {"g": ([0, 1], [1, 0], 5, 6)}}, DataError, "(abilities, shares, n); got tuple of 4"),
    "frame": ({"impact": {"g": pd.DataFrame({"theta": [0, 1]})}}, DataError, "(abilities, shares, n); got DataFrame."),
    "no rows": ({"impact": {"g": [1.0, 2.0, 3]}}, DataError, "Expected two rows of one length"),
    "n of 0": ({"impact": {"g": ([0, 1], [1, 0], 0)}}, DataError, "the number of test takers, has to be at least 1; got 0"),
    "n no count": ({"impact": {"g": ([0, 1], [1, 0], 9.5)}}, DataError, "test takers, has to be a whole number; got 9.5"),
    "n missing": ({"impact": {"g": ([0, 1], [1, 0], None)}}, DataError, "impact['g'][2], the number of test takers, has to be"),
    "lengths": ({"impact": {"g": ([0, 1], [1, 0.5, 0])}}, DataError, "Expected two rows of one length"),
    "one point": ({"impact": {"g": ([0], [1])}}, DataError, "at least 2"),
    "words": ({"impact": {"g": (["a", "b"], [1, 0])}}, DataError, "has to hold numbers"),
    "nan": ({"impact": {"g": ([0, np.nan], [1, 0])}}, DataError, "missing or infinite"),
    "falling": ({"impact": {"g": ([1, 0], [1, 0])}}, DataError, "do not rise"),
    "percentages": ({"impact": {"g": ([0, 1], [100, 0])}}, DataError, "Divide by 100"),
    "shares below": ({"impact": {"g": ([0, 1], [0, 1])}}, DataError, "give 1 - share"),
    "alike": ({"impact": {1: ([0, 1], [1, 0]), "1": ([0, 1], [1, 0])}}, DuplicateLabelError, "written alike"),
}


def check_refusal(make, booklet, options, error, message):
    options = {"levels": LEVELS, **options}
    with pytest.raises(error, match=re.escape(message)) as caught:
        make(booklet, options.pop("levels"), **options)
    assert len(str(caught.value).splitlines()) <= 3


@pytest.mark.parametrize("make", [panel_form, facilitator_page])
@pytest.mark.parametrize(("options", "error", "message"), WRONG.values(), ids=WRONG)
def test_refusals(booklet, make, options, error, message):
    check_refusal(make, booklet, options, error, message)


@pytest.mark.parametrize(("options", "error", "message"), WRONG_FORM.values(), ids=WRONG_FORM)
def test_refusals_of_the_form(booklet, options, error, message):
    check_refusal(panel_form, booklet, options, error, message)


@pytest.mark.parametrize(("options", "error", "message"), WRONG_SHEET.values(), ids=WRONG_SHEET)
def test_refusals_of_the_sheet(booklet, options, error, message):
    check_refusal(facilitator_page, booklet, options, error, message)


@pytest.mark.parametrize("make", [panel_form, facilitator_page])
def test_a_table_is_no_booklet(make):
    with pytest.raises(DataError, match="booklet has to be an OrderedItemBooklet; got DataFrame"):
        make(pd.DataFrame(), LEVELS)


def test_the_booklet_writes_its_own_form(booklet):
    assert booklet.to_html(LEVELS, title="The panel") == panel_form(booklet, LEVELS, title="The panel")
