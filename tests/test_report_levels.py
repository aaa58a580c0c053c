"""The page of cut scores and levels: whole, self-contained, escaped, and its numbers are those of the results."""

import re
from dataclasses import replace
from inspect import signature

import numpy as np
import pandas as pd
import pytest
from html_outline import Outline
from level_designs import bank_of, placed, respond

import psychoedu as pe
from psychoedu.report.levels import MOST_BARS, levels_page, levels_section
from psychoedu.standard_setting.booklet import booklet
from psychoedu.standard_setting.bookmark import bookmark
from psychoedu.standard_setting.cut_scores import CutScores
from psychoedu.standard_setting.impact import impact, impact_texts
from psychoedu.standard_setting.level_table import level_table

HOSTILE = "<script>alert(1)</script>"
PAGES = {"CSE-3": [6, 7, 8, 7, 6], "CSE-4": [11, 12, 13, 12, 11]}
HEADINGS = ["Cut scores", "The panel", "What hangs on the response probability"]


def made_of(before="", n=6, **options):
    """Return cut scores, a table of models and the impact, with a text before every label."""
    bank = bank_of(15)
    bank = type(bank).from_arrays(
        [before + label for label in bank.labels], bank.discrimination, bank.intercept, bank.guessing, bank.covariance
    )
    pages = {before + level: own for level, own in PAGES.items()}
    frame = pd.concat(
        [placed({level: [page + 1 for page in own] for level, own in pages.items()}, round=1), placed(pages, round=2)]
    )
    frame["panellist"] = [before + who for who in frame["panellist"]]
    cuts = bookmark(booklet(bank), frame, levels=list(pages), **options)
    answers = respond(bank, np.linspace(-2, 2, n))
    answers.index = [f"{before}m{i // 2}_p{i % 2}" for i in range(n)]
    table = level_table(bank, answers, cuts, separator="_", n_draws=20)
    shares = impact(pe.score(bank, answers), cuts, [before + "north", before + "south"] * (n // 2))
    return cuts, table, shares


@pytest.fixture(scope="module")
def parts():
    return made_of()


@pytest.fixture(scope="module")
def html(parts):
    cuts, table, shares = parts
    return levels_page(cuts, "Cuts & levels", ["Simulated & ours"], level_table=table, impact=shares)


def shown(value, digits=3):
    return f"{value:,.{digits}f}".replace("-", "\N{MINUS SIGN}")


def headings_of(outline_html):
    return re.findall(r"<h[123]>(.*?)</h[123]>", outline_html)


def test_page_has_its_parts(html):
    assert headings_of(html) == [
        "Cuts &amp; levels",
        *HEADINGS,
        "Impact",
        "Models: level and its probability",
        "Level probabilities",
    ]
    outline = Outline(html)
    assert "Simulated & ours" in outline.words
    assert "Cut scores by bookmark, 5 panellists, round 2, RP 0.67" in outline.text
    assert outline.tags.count("img") == 6


def test_page_fetches_nothing_and_runs_nothing(html):
    outline = Outline(html)
    assert not {"script", "link", "iframe", "object", "form"} & set(outline.tags)
    for tag, attributes in outline.attributes:
        assert not [name for name in attributes if name.startswith("on")]
        if tag == "img":
            assert attributes["src"].startswith("data:image/svg+xml;base64,")
    assert not re.search(r"url\(|@import", html)


def test_pictures_have_texts_that_say_the_cuts(parts, html):
    cuts = parts[0]
    texts = [given["alt"] for tag, given in Outline(html).attributes if tag == "img"]
    words = f"CSE-3 {cuts.values[0]:.2f}, CSE-4 {cuts.values[1]:.2f}"
    assert texts[0] == f"Wright map with the cut scores {words}."
    assert texts[1] == f"Test information and standard error with the cut scores {words}."
    assert texts[2] == f"Cuts of each panellist by round; final cuts {words}."
    assert texts[3:5] == ["Cut scores over the response probability.", "Share of each group at each level."]
    counts = parts[1].cells["level"].value_counts()
    said = ", ".join(f"{level} {counts.get(level, 0)}" for level in ("below CSE-3", "CSE-3", "CSE-4"))
    assert texts[5] == f"Level probabilities of 6 respondents; at each level: {said}."


def test_numbers_are_those_of_the_results(parts, html):
    cuts, table, shares = parts
    words = set(Outline(html).words)
    panel = cuts.panel
    for values in (
        cuts.values,
        cuts.standard_errors.to_numpy().ravel(),
        cuts.conf_int().to_numpy().ravel(),
        panel.agreement[["cut", "range", "sd", "mad", "pairwise_theta", "icc"]].to_numpy().ravel(),
        panel.movement["cut_change"],
        cuts.reading_bias().to_numpy().ravel(),
        cuts.rp_sensitivity.to_numpy().ravel(),
        table.levels.probabilities.to_numpy().ravel(),
        table.cells["theta"],
    ):
        for value in values:
            assert shown(value) in words
    for text in impact_texts(shares).to_numpy().ravel():
        assert text in words
    assert table.to_html(legend=False) in html
    assert html.count("In brackets: probability of the level") == 1
    for line in (*table.legend(), *(f"Note: {note}" for note in cuts.diagnostics)):
        assert line in words


def test_every_column_of_errors_is_explained(html):
    found = Outline(html).text
    for name in ("SE panel", "SE items", "SE linking", "low, high"):
        assert name in found
    assert "less the bias of reading" in found
    assert "Where the uncertainty comes from" in found


def test_labels_are_escaped_wherever_they_stand():
    cuts, table, shares = made_of(f"{HOSTILE} $x^1$ ", n=4)
    text = levels_page(cuts, HOSTILE, [HOSTILE], level_table=table, impact=shares)
    outline = Outline(text)
    assert "script" not in outline.tags
    assert "<script" not in text
    assert HOSTILE in outline.words
    for label in ("CSE-3", "m0", "north"):
        assert any(f"{HOSTILE} $x^1$ {label}" in words for words in outline.words)


def test_a_quote_cannot_end_an_attribute():
    cuts, table, shares = made_of('" onload="x ', n=4)
    text = levels_page(cuts, '" onload="x', level_table=table, impact=shares)
    assert not [given for _, given in Outline(text).attributes if "onload" in given]


def test_given_cuts_have_no_panel_and_no_figures():
    text = levels_page(CutScores.from_values({"pass": 0.25}))
    assert headings_of(text) == ["Cut scores and levels", "Cut scores"]
    outline = Outline(text)
    assert "img" not in outline.tags
    assert "0.250" in outline.words
    assert "nan" not in outline.text
    assert outline.words.count("\N{EN DASH}") == 6  # four errors and two limits that are not known
    assert "Note: the cut scores were given; their error is not known" in outline.words


def test_open_ends_are_infinite_not_missing():
    text = levels_page(CutScores.from_values({"a": -np.inf, "b": 0.5}, 0.1))
    outline = Outline(text)
    assert "\N{MINUS SIGN}\N{INFINITY}" in outline.words
    assert "open_ended" in outline.words


def test_one_round_has_no_movement_and_a_bank_without_errors_no_bias():
    bank = bank_of(15, error=None)
    text = levels_page(bookmark(booklet(bank), placed(PAGES)))
    assert "Movement between rounds" not in text
    assert "Bias of reading" not in text
    assert "nan" not in Outline(text).text
    both = levels_page(made_of(n=2)[0])
    assert "Movement between rounds" in both
    assert "Bias of reading" in both


def test_levels_alone(parts):
    cuts, table, _ = parts
    text = levels_page(cuts, levels=table.levels)
    assert headings_of(text)[-1] == "Level probabilities"
    assert "Models: level and its probability" not in text
    other = levels_page(cuts, levels=made_of(n=2)[1].levels, level_table=table)
    assert "Level probabilities of 2 respondents" in other  # levels go before those of the table


@pytest.mark.parametrize("n", [MOST_BARS, MOST_BARS + 1])
def test_many_respondents_are_not_drawn(n):
    scores = pd.DataFrame({"theta": np.linspace(-2, 2, n), "theta_se": 0.4})
    levels = pe.classify(scores, {"pass": 0.0})
    text = levels_section(levels.cut_scores, "", levels=levels)
    assert (f"Level probabilities of {n} respondents" in text) == (n == MOST_BARS)
    assert Outline(text).tags.count("tr") == 2 + 1 + n  # the cut's table and theirs


def test_who_has_no_level_is_told(parts):
    bank = bank_of(15)
    answers = respond(bank, np.zeros(3)).astype(float)
    answers.iloc[1] = np.nan
    table = level_table(bank, answers, parts[0], n_draws=20)
    outline = Outline(levels_page(parts[0], level_table=table))
    assert "no level" in outline.words
    assert any("answered no item: no level is given" in words for words in outline.words)
    assert "nan" not in outline.text


def test_a_section_has_its_heading_or_none(parts):
    cuts = parts[0]
    with_heading = levels_section(cuts, "A & B")
    assert with_heading.startswith("<h2>A &amp; B</h2>")
    assert levels_section(cuts, "") == with_heading.removeprefix("<h2>A &amp; B</h2>\n")
    assert set(signature(levels_page).parameters) - {"title"} == set(signature(levels_section).parameters) - {"heading"}


def test_the_calibration_puts_its_populations_on_the_map():
    matrix = pe.datasets.load_lsat7()
    calibration = pe.calibrate(matrix)
    cuts = bookmark(calibration, placed({"pass": [2, 3, 3]}))
    maps = [Outline(levels_section(cuts, "", calibration=given)).attributes for given in (None, calibration)]
    without, with_it = [next(given["src"] for tag, given in found if tag == "img") for found in maps]
    assert without != with_it


def test_page_is_the_same_twice(parts, html):
    cuts, table, shares = parts
    assert levels_page(cuts, "Cuts & levels", ["Simulated & ours"], level_table=table, impact=shares) == html
    noted = replace(cuts, diagnostics=("one & two",))
    assert '<p class="note">Note: one &amp; two</p>' in levels_page(noted)
