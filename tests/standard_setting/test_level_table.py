"""The table of models and conditions: its numbers, its legend, and labels in every format."""

import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from html_outline import Outline
from level_designs import bank_of, changed, placed, respond
from scipy.integrate import quad
from scipy.special import log_expit
from scipy.stats import norm

import psychoedu as pe
from psychoedu.exceptions import DataError, DuplicateLabelError, LabelError
from psychoedu.standard_setting.booklet import booklet
from psychoedu.standard_setting.bookmark import bookmark
from psychoedu.standard_setting.cut_scores import CutScores
from psychoedu.standard_setting.level_table import LevelTable, level_table

EXACT = 1e-12
INTEGRAL = 1e-5
CUTS = {"CSE-3": -0.6, "CSE-4": 0.4, "CSE-5": 1.1}
NAMES = ["below CSE-3", *CUTS]
LABELS = ["alpha_p1", "alpha_p2", "b_x_p1", "b_x_p2", "gamma_p1"]
THETA = np.array([-2.0, 0.9, -0.2, 0.7, 1.4])
HOSTILE = "a&b%_c|<i>x</i>"


def answers(n_items=20, labels=LABELS):
    bank = bank_of(n_items)
    return bank, respond(bank, THETA[: len(labels)]).set_axis(labels)


def table_of(cuts=None, separator="_", n_draws=0, **options):
    bank, frame = answers()
    return level_table(bank, frame, cuts or CutScores.from_values(CUTS), separator=separator, n_draws=n_draws, **options)


# numbers


def test_without_draws_the_cells_are_normal_probabilities_of_the_scores():
    bank, frame = answers()
    cells = table_of().cells
    scores = pe.score(bank, frame).to_frame()
    assert cells["respondent"].tolist() == LABELS
    edges = [-np.inf, *CUTS.values(), np.inf]
    for cell in cells.itertuples():
        theta, error = scores.loc[cell.respondent, ["theta", "theta_se"]]
        p = np.diff(norm.cdf(edges, theta, error))
        own = int(np.searchsorted(list(CUTS.values()), theta, side="right"))
        rest = np.where(np.arange(4) == own, -1.0, p)
        assert (cell.level, cell.next_level) == (NAMES[own], NAMES[int(rest.argmax())])
        found = [cell.theta, cell.theta_se, cell.p_level, cell.p_next, cell.p_at_least]
        np.testing.assert_allclose(found, [theta, error, p[own], rest.max(), p[own:].sum()], atol=EXACT)
    assert cells["level"].nunique() > 2  # not one and the same branch


@pytest.mark.parametrize(("method", "mean", "sd"), [("eap", 0.0, 1.0), ("map", -0.4, 0.8), ("wle", 0.5, 0.7)])
def test_with_nothing_unknown_but_ability_the_draws_give_the_posterior_itself(method, mean, sd):
    bank, frame = answers()
    known = changed(bank, covariance=np.zeros((40, 40)))
    table = level_table(known, frame, CutScores.from_values(CUTS, 0.0), n_draws=10, method=method, prior_mean=mean, prior_sd=sd)
    edges = [-8.0, *CUTS.values(), 8.0]
    for cell, row in zip(table.cells.itertuples(), frame.to_numpy(), strict=True):

        def height(x, row=row):
            eta = bank.discrimination * x + bank.intercept
            return norm.pdf(x, mean, sd) * np.exp(np.where(row == 1, log_expit(eta), log_expit(-eta)).sum() + 8.0)

        areas = np.array(
            [quad(height, low, high, points=[np.clip(cell.theta, low, high)], epsrel=1e-9)[0] for low, high in pairwise(edges)]
        )
        expected = (areas / areas.sum())[NAMES.index(cell.level)]
        assert cell.p_level == pytest.approx(expected, abs=INTEGRAL)


def test_draws_count_the_error_of_the_cuts_and_come_from_the_seed():
    wide = CutScores.from_values(CUTS, 0.6)
    sharp, blurred = table_of(n_draws=400), table_of(wide, n_draws=400)
    assert blurred.cells["p_level"].iloc[0] < sharp.cells["p_level"].iloc[0] - 0.01
    again = table_of(wide, n_draws=400)
    pd.testing.assert_frame_equal(again.cells, blurred.cells)
    assert not table_of(wide, n_draws=400, rng=1).cells.equals(blurred.cells)


def test_method_and_population_reach_the_scores():
    bank, frame = answers()
    for options in ({"method": "wle"}, {"prior_mean": 0.5, "prior_sd": 0.7}):
        expected = pe.score(bank, frame, **options).to_frame()["theta"]
        for n_draws in (0, 20):
            np.testing.assert_allclose(table_of(n_draws=n_draws, **options).cells["theta"], expected, rtol=EXACT)


# layout


def test_models_down_and_conditions_across_with_a_dash_where_there_is_no_cell():
    table = table_of()
    assert (table.models, table.conditions) == (("alpha", "b_x", "gamma"), ("p1", "p2"))
    wide = table.to_frame()
    assert wide.index.tolist() == ["alpha", "b_x", "gamma"]
    assert wide.columns.tolist() == ["p1", "p2"]
    assert wide.loc["alpha", "p1"] == "below CSE-3"
    assert pd.isna(wide.loc["gamma", "p2"])
    for cell in table.cells.itertuples():
        assert table.probabilities().loc[cell.model, cell.condition] == cell.p_level
    assert table.summary().splitlines()[3].split()[-1] == "-"
    assert "| gamma | CSE-5 or above" in table.to_markdown()
    assert re.search(r"^\| gamma \| .* \| - \|$", table.to_markdown(), re.MULTILINE)
    assert re.search(r"^gamma & .* & -- \\\\$", table.to_latex(), re.MULTILINE)
    assert '<td class="text">&ndash;</td>' in table.to_html()
    assert repr(table) == "LevelTable(3 models x 2 conditions)"


def test_rows_and_columns_stand_as_first_met():
    bank, frame = answers()
    turned = level_table(bank, frame.iloc[::-1], CutScores.from_values(CUTS), separator="_", n_draws=0)
    assert (turned.models, turned.conditions) == (("gamma", "b_x", "alpha"), ("p1", "p2"))
    ours, theirs = turned.to_frame(), table_of().to_frame()
    pd.testing.assert_frame_equal(ours.loc[theirs.index, theirs.columns], theirs)


def test_without_conditions_each_respondent_is_a_model():
    table = table_of(separator=None)
    assert (table.models, table.conditions) == (tuple(LABELS), ("",))
    assert table.to_frame().shape == (5, 1)
    assert table.summary().splitlines()[0].split() == ["model", "level"]
    assert table.to_markdown().startswith("| model | level |\n|---|---|\n")
    assert r"\begin{tabular}{ll}" in table.to_latex()
    assert repr(table) == "LevelTable(5 models)"


def test_one_respondent():
    bank, frame = answers()
    table = level_table(bank, frame.iloc[[0]], CutScores.from_values(CUTS), separator="_", n_draws=0)
    assert table.to_frame().to_dict() == {"p1": {"alpha": "below CSE-3"}}
    assert repr(table) == "LevelTable(1 model)"


def test_models_and_conditions_from_columns_or_values():
    bank, frame = answers()
    parts = [label.rpartition("_") for label in LABELS]
    model, condition = [part[0] for part in parts], [part[2] for part in parts]
    matrix = pe.ResponseMatrix.from_wide(frame.assign(name=model, prompt=condition), respondent_columns=["name", "prompt"])
    expected = table_of()
    cuts = CutScores.from_values(CUTS)
    named = level_table(bank, matrix, cuts, model="name", condition="prompt", n_draws=0)
    given = level_table(bank, frame, cuts, model=model, condition=condition, n_draws=0)
    for table in (named, given):
        pd.testing.assert_frame_equal(table.cells, expected.cells)
    numbers = level_table(bank, frame, cuts, model=[1, 1, 2, 2, 3], condition=[0, 1, 0, 1, 0], n_draws=0)
    assert numbers.to_frame().loc[1, 0] == "below CSE-3"
    assert "| 3 | CSE-5 or above" in numbers.to_markdown()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"model": ["m", "m", "n", "o", "q"]}, DuplicateLabelError, "1 model with several rows under one condition: 'm'"),
        (
            {"model": list("mmnnn"), "condition": list("xyxyy")},
            DuplicateLabelError,
            "with several rows under one condition: 'n y'",
        ),
        ({"separator": "-"}, LabelError, r"5 labels of 5 without a model and a condition around '-': 'alpha_p1'"),
        ({"separator": "_", "model": list("abcde")}, DataError, "not both"),
        ({"model": "name"}, DataError, "name"),
        ({"model": list("abcd")}, DataError, r"model has to hold one value per respondent \(5\)"),
        ({"model": ["a", None, "c", "d", "e"]}, DataError, "model holds missing values"),
        ({"n_draws": 1}, DataError, "n_draws has to be at least 2"),
        ({"method": "mean"}, DataError, "method has to be one of"),
    ],
    ids=["twice", "twice in a condition", "separator", "both", "column", "short", "missing", "draws", "method"],
)
def test_tables_that_cannot_be_made(options, error, message):
    bank, frame = answers()
    with pytest.raises(error, match=message):
        level_table(bank, frame, CutScores.from_values(CUTS), **options)


def test_cuts_have_to_be_cut_scores():
    bank, frame = answers()
    with pytest.raises(DataError, match=r"make one of numbers with CutScores\.from_values"):
        level_table(bank, frame, CUTS)


# what stands in brackets


def test_brackets_hold_the_probability_and_a_likely_other_level():
    table = table_of()
    words = {cell.respondent: cell for cell in table.cells.itertuples()}
    rows = table.to_markdown().splitlines()[2:5]
    cells = [cell.strip() for row in rows for cell in row.strip("|").split("|")[1:]]
    shown = dict(zip([*LABELS, None], cells, strict=True))
    second = 0
    for label, cell in words.items():
        written = f"{cell.p_level:.2f}".lstrip("0") if 0.005 <= cell.p_level < 0.995 else ">.99"
        other = f"; {cell.next_level} .{round(100 * cell.p_next):02d}" if cell.p_next >= 0.1 else ""
        second += bool(other)
        assert shown[label] == f"{cell.level_text} ({written}{other})"
    assert 0 < second < 5


def test_a_probability_near_an_end_reads_as_a_bound():
    bank, frame = answers()
    far = level_table(bank, frame, CutScores.from_values({"pass": -6.0}), n_draws=0)
    assert "pass (>.99)" in far.summary()
    assert "1.00" not in far.summary()


def test_no_data_and_infinite_scores():
    bank, frame = answers()
    frame = frame.astype(float)
    frame.iloc[1] = np.nan
    frame.iloc[2] = 1.0
    for n_draws in (0, 20):
        table = level_table(bank, frame, CutScores.from_values(CUTS), separator="_", method="ml", n_draws=n_draws)
        cells = table.cells.set_index("respondent")
        assert cells.loc["alpha_p2", "level_text"] == "no level"
        assert cells.loc[["alpha_p2", "b_x_p1"], ["p_level", "p_next", "p_at_least"]].isna().all(axis=None)
        assert cells.loc["b_x_p1", "level_text"] == "CSE-5 or above"
        assert "CSE-5 or above (probability unknown)" in table.summary()
        assert "no level (" not in table.summary()
        assert re.search(r"\| no level \|$", table.to_markdown(), re.MULTILINE)


# the legend


def panel_table(panellists=6, error=0.1, n_draws=50, theta=THETA, **options):
    bank = bank_of(20, error=error)
    cuts = bookmark(
        booklet(bank), placed({"CSE-3": [6, 7, 8, 7, 6, 7][:panellists], "CSE-4": [11, 12, 13, 12, 11, 12][:panellists]})
    )
    frame = respond(bank, theta)
    return level_table(bank, frame, cuts, n_draws=n_draws, **options)


@pytest.mark.parametrize(
    ("panellists", "error", "n_draws", "said"),
    [
        (6, 0.1, 50, "(error of measurement, item parameters, linking, panel)"),
        (6, None, 50, "(error of measurement, linking, panel)"),
        (1, 0.1, 50, "(error of measurement, item parameters, linking)"),
        (1, None, 50, "(error of measurement, linking)"),
        (6, 0.1, 0, "(measurement error alone)"),
    ],
    ids=["all", "no item errors", "one panellist", "neither", "no draws"],
)
def test_the_legend_names_the_sources_that_were_counted_and_no_other(panellists, error, n_draws, said):
    first = panel_table(panellists, error, n_draws).legend()[0]
    assert first.startswith(f"In brackets: probability of the level {said}, and the likeliest other level")


def test_given_cuts_without_errors_count_no_panel():
    first = table_of(n_draws=20).legend()[0]
    assert "(error of measurement, item parameters)" in first
    assert (
        "(error of measurement, item parameters, linking, panel)"
        in table_of(CutScores.from_values(CUTS, 0.1), n_draws=20).legend()[0]
    )


def test_the_legend_says_what_the_scale_cannot_and_who_is_beyond_the_items():
    lines = panel_table(theta=np.array([-3.5, -3.5, 0.0, 0.5, 3.5])).legend()
    assert "no cut score for CSE-5 to CSE-9, so a score above the top cut is reported as CSE-4 or above" in lines[1]
    assert not [line for line in lines if "Too few panellists" in line]
    assert "Too few panellists: the cut scores' own error is hardly known." in panel_table(4).legend()
    (beyond,) = [line for line in lines if "outside_measured_range" in line]
    table = panel_table(theta=np.array([-3.5, -3.5, 0.0, 0.5, 3.5]))
    locations = table.levels.cut_scores.booklet.locations
    outside = int(((table.cells["theta"] < locations.min()) | (table.cells["theta"] > locations.max())).sum())
    assert outside > 1
    assert beyond.startswith(f"{outside} cells lie beyond the location of the easiest or hardest item")
    inside = panel_table(theta=np.zeros(3)).legend()
    assert not [line for line in inside if "outside_measured_range" in line]


def test_the_legend_counts_the_levels_that_hang_on_rp():
    table = panel_table()
    sensitivity = table.levels.cut_scores.rp_sensitivity
    moved = 0
    for theta in table.cells["theta"]:
        moved += len({int((theta >= np.sort(row)).sum()) for row in sensitivity.to_numpy()}) > 1
    assert 0 < moved < 5
    assert table.legend()[-1] == f"{moved} of 5 cells change level between response probabilities 0.5 and 0.8."
    assert not [line for line in table_of().legend() if "response probabilities" in line]  # given cuts have none


@pytest.mark.parametrize("written", ["summary", "to_markdown", "to_latex", "to_html"])
def test_every_format_ends_with_the_legend(written):
    table = panel_table(4)
    text = getattr(table, written)()
    for sentence in ("In brackets: probability of the level", "Too few panellists", "0.5 and 0.8"):
        assert sentence in text
    assert len(table.legend()) >= 4


# formats


def hostile():
    bank, frame = answers(labels=LABELS[:2])
    levels = {f"{HOSTILE} 1": -0.6, f"{HOSTILE} 2": 0.4}
    return level_table(
        bank, frame, CutScores.from_values(levels), model=[f"{HOSTILE}\n# m"] * 2, condition=["p<u>&1", "~^{2}$\\"], n_draws=0
    )


def test_latex_escapes_labels_captions_and_legend():
    text = hostile().to_latex("50% of a_b & c", "tab:levels")
    assert r"\caption{50\% of a\_b \& c}" in text
    assert r"\label{tab:levels}" in text
    assert r"a\&b\%\_c\textbar{}$<$i$>$x$<$/i$>$ \# m & below " in text
    assert r"model & p$<$u$>$\&1 & \textasciitilde{}\textasciicircum{}\{2\}\$\textbackslash{} \\" in text
    bare = re.sub(r"\\[&%_#]|\\text\w+\{\}|\$<\$|\$>\$|\$-\$", "", text)
    assert not set("%_#<>|") & set(bare)
    rows = [line for line in bare.splitlines() if line.endswith(r"\\")]
    assert [row.count("&") for row in rows] == [2, 2]
    assert (text.count(r"\begin{"), text.count(r"\end{")) == (2, 2)
    plain = hostile().to_latex()
    assert r"\caption" not in plain
    assert r"\label" not in plain


def test_markdown_escapes_labels_and_keeps_rows_on_one_line():
    text = hostile().to_markdown()
    assert r"| a&b%\_c\|\<i\>x\</i\> \# m | below a&b%\_c\|\<i\>x\</i\> 1" in text
    rows = text.split("\n\n")[0].splitlines()
    assert len(rows) == 3
    assert [len(re.findall(r"(?<!\\)\|", row)) for row in rows] == [4, 4, 4]
    assert not re.search(r"(?<!\\)[<>_]", text)


def test_html_escapes_labels_and_captions():
    table = hostile()
    text = table.to_html(caption=HOSTILE)
    outline = Outline(text)
    assert not {"i", "u"} & set(outline.tags)
    assert HOSTILE in outline.words  # the caption
    assert f"{HOSTILE}\n# m" in outline.words
    assert "p<u>&1" in outline.words
    assert outline.tags.count("tr") == 2
    assert outline.tags.count("p") == 1
    assert "p" not in Outline(table.to_html(legend=False)).tags
    assert "caption" not in Outline(table.to_html()).tags
    assert table._repr_html_() == table.to_html()
    assert [given["scope"] for tag, given in outline.attributes if tag == "th"] == ["col"] * 3 + ["row"]


def test_a_table_is_a_result():
    table = table_of()
    assert isinstance(table, LevelTable)
    assert table.levels.n_respondents == 5
    assert pe.level_table is level_table
