"""Figures of standard setting: what is drawn is what the numbers say, and labels can be read."""

import subprocess
import sys
from itertools import combinations
from types import SimpleNamespace

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text

from psychoedu import datasets
from psychoedu.exceptions import DataError, LabelError
from psychoedu.irt.bank import ItemBank
from psychoedu.irt.calibrate import calibrate
from psychoedu.irt.linking_constants import LinkingConstants
from psychoedu.plots import BLUE, VERMILION
from psychoedu.standard_setting import plot_labels, plots
from psychoedu.standard_setting.bookmark import bookmark
from psychoedu.standard_setting.cut_scores import CutScores

DIFFICULTIES = np.array([-2.0, -1.2, -0.5, 0.0, 0.4, 1.1, 1.9])
CUTS = {"CSE-3": -1.0, "CSE-4": 0.25, "CSE-5": 1.5}


def bank_of(difficulties=DIFFICULTIES):
    frame = pd.DataFrame({"discrimination": 1.0, "difficulty": difficulties}, index=[f"q{j}" for j in range(len(difficulties))])
    return ItemBank(frame)


def placed(pages, levels=("CSE-3", "CSE-4", "CSE-5"), **more):
    """Cut scores of pages (rounds x panellists x levels) at RP 0.5 and discrimination 1, where locations are difficulties."""
    pages = np.asarray(pages)
    rows = [(f"p{p}", r + 1, levels[k], page) for (r, p, k), page in np.ndenumerate(pages)]
    frame = pd.DataFrame(rows, columns=["panellist", "round", "level", "page"])
    return bookmark(bank_of(), frame, response_probability=0.5, levels=levels, **more)


TWO_ROUNDS = [[[1, 3, 5], [2, 4, 6], [3, 5, 7]], [[2, 3, 6], [2, 4, 6], [2, 5, 7]]]


def levels_of(probabilities, point, labels=("below pass", "pass", "merit"), index=None):
    index = [f"r{n}" for n in range(len(point))] if index is None else index
    level = pd.Series(pd.Categorical(point, categories=list(labels), ordered=True), index=index)
    return SimpleNamespace(
        probabilities=pd.DataFrame(probabilities, index=index, columns=list(labels)), level=level, level_labels=labels
    )


def shares_of(groups=("junior", "college"), levels=("below pass", "pass")):
    index = pd.MultiIndex.from_product([groups, levels], names=["group", "level"])
    share = np.linspace(0.1, 0.8, len(index))
    return pd.DataFrame({"share": share, "low": share - 0.05, "high": share + 0.1}, index=index)


@pytest.fixture(scope="module")
def lsat7():
    return calibrate(datasets.load_lsat7())


def blank(**options):
    """Axes of a figure that pyplot does not know. Its canvas draws; the one that a Figure has by itself does nothing."""
    figure = Figure(layout="constrained", **options)
    FigureCanvasAgg(figure)
    return figure.add_subplot()


@pytest.fixture
def ax():
    return blank()


DRAW = {
    "wright map": lambda ax=None: plots.cuts_on_wright_map(CutScores.from_values(CUTS, 0.1, bank=bank_of()), ax=ax),
    "information": lambda ax=None: plots.cuts_on_information(CutScores.from_values(CUTS, 0.1, bank=bank_of()), ax=ax),
    "panel": lambda ax=None: plots.panel_rounds(placed(TWO_ROUNDS), ax=ax),
    "rp": lambda ax=None: plots.rp_sensitivity(placed(TWO_ROUNDS), ax=ax),
    "levels": lambda ax=None: plots.level_probabilities(levels_of([[0.2, 0.5, 0.3]], ["pass"]), ax=ax),
    "impact": lambda ax=None: plots.impact(shares_of(), ax=ax),
}


def horizontal(ax):
    """Heights of the lines that cross the whole frame."""
    return [
        line.get_ydata()[0] for line in ax.get_lines() if list(line.get_xdata()) == [0, 1] and len(set(line.get_ydata())) == 1
    ]


def vertical(ax):
    return [
        line.get_xdata()[0] for line in ax.get_lines() if list(line.get_ydata()) == [0, 1] and len(set(line.get_xdata())) == 1
    ]


def bars(ax):
    """Thick orange-red lines, by place: the panel's aggregates."""
    found = [line for line in ax.get_lines() if line.get_color() == VERMILION and len(line.get_xdata()) == 2]
    return {round(float(np.mean(line.get_xdata())), 9): line for line in found}


def margin(ax):
    """Annotations outside the axes, by text."""
    return {text.get_text(): text for text in ax.texts if isinstance(text, Annotation) and text.get_annotation_clip() is False}


def overlapping(ax, texts):
    ax.figure.canvas.draw()
    boxes = {text: Text.get_window_extent(text) for text in texts}  # without the line from a label to its place
    return [(a.get_text(), b.get_text()) for a, b in combinations(texts, 2) if boxes[a].overlaps(boxes[b])]


@pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)
def test_draws_on_the_given_axes_and_opens_no_figure(draw, ax):
    assert draw(ax=ax) is ax
    ax.figure.canvas.draw()
    assert pyplot.get_fignums() == []
    assert ax.get_xlabel() or ax.get_xticklabels()
    assert ax.get_ylabel() or ax.get_yticklabels()


@pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)
def test_makes_a_figure_where_no_axes_are_given_and_never_shows_it(draw, monkeypatch):
    monkeypatch.setattr(pyplot, "show", lambda *_, **__: pytest.fail("a plot was shown"))
    settings = dict(matplotlib.rcParams)
    draw().figure.canvas.draw()
    assert len(pyplot.get_fignums()) == 1
    assert dict(matplotlib.rcParams) == settings


def test_matplotlib_is_imported_only_when_something_is_drawn():
    code = "import sys, psychoedu.standard_setting.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_cuts_cross_the_map_with_their_intervals(lsat7, ax):
    cuts = CutScores.from_values(CUTS, 0.2)
    plots.cuts_on_wright_map(cuts, lsat7, ax=ax)
    assert horizontal(ax) == list(CUTS.values())
    bands = sorted(patch.get_y() for patch in ax.patches if patch.get_width() == 1.0 and patch.get_alpha() == 0.22)
    np.testing.assert_allclose(bands, np.array(list(CUTS.values())) - 1.959964 * 0.2, atol=1e-6)
    low, high = ax.get_ylim()
    at = {text: label.xy[1] for text, label in margin(ax).items()}
    middles = {"below CSE-3": (low - 1.0) / 2, "CSE-3": -0.375, "CSE-4": 0.875, "CSE-5 or above": (1.5 + high) / 2}
    assert at == pytest.approx(middles)
    placed_items = {text.get_text(): text.get_position()[1] for text in ax.texts}
    assert placed_items.items() >= lsat7.items["difficulty"].to_dict().items()


def test_bands_appear_only_where_the_error_is_known(ax):
    plots.cuts_on_wright_map(CutScores.from_values(CUTS, bank=bank_of()), ax=ax)
    assert [patch for patch in ax.patches if patch.get_alpha() == 0.22] == []
    assert horizontal(ax) == list(CUTS.values())


def test_infinite_cuts_and_cuts_beyond_the_frame_are_named_not_drawn(ax):
    levels = ["CSE-1", "informal", "CSE-3", "CSE-4"]
    cuts = CutScores.from_values([-np.inf, 0.0, 40.0, np.inf], levels=levels, bank=bank_of(), scale=levels)
    for draw, read in ((plots.cuts_on_wright_map, horizontal), (plots.cuts_on_information, vertical)):
        ax = blank()
        draw(cuts, ax=ax)
        ax.figure.canvas.draw()
        assert read(ax) == [0.0]
        assert list(margin(ax)) == ["CSE-1", "informal"]
        note = ax.get_xlabel().replace("\n", " ")
        assert note.endswith("not drawn: CSE-1 (open-ended, −∞), CSE-3 (40.00, beyond the frame), CSE-4 (open-ended, +∞)")


def test_a_map_without_any_finite_cut_is_drawn(ax):
    plots.cuts_on_wright_map(CutScores.from_values({"pass": np.inf}, bank=bank_of()), ax=ax)
    assert horizontal(ax) == []
    assert list(margin(ax)) == ["below pass"]


def test_the_frame_of_the_map_reaches_the_cuts(ax):
    plots.cuts_on_wright_map(CutScores.from_values({"a": -4.5, "b": 5.0}, bank=bank_of()), ax=ax)
    assert ax.get_ylim()[0] < -4.5
    assert ax.get_ylim()[1] > 5.0
    assert horizontal(ax) == [-4.5, 5.0]


def test_cuts_cross_the_information(lsat7, ax):
    plots.cuts_on_information(CutScores.from_values(CUTS), lsat7, ax=ax)
    assert vertical(ax) == list(CUTS.values())
    assert {"CSE-3", "CSE-4"} <= set(margin(ax))
    assert margin(ax)["CSE-4"].xy[0] == pytest.approx(0.875)
    theta, total = next(line for line in ax.get_lines() if line.get_color() == BLUE).get_data()
    np.testing.assert_allclose(total, lsat7.bank.information(theta), rtol=1e-12)


def test_items_behind_linked_cuts_are_drawn_on_the_scale_of_the_cuts(ax):
    cuts = placed(TWO_ROUNDS, linking=LinkingConstants(2.0, -0.5, np.zeros((2, 2))))
    plots.cuts_on_wright_map(cuts, ax=ax)
    np.testing.assert_allclose(horizontal(ax), 2.0 * np.array([-1.2, 0.0, 1.1]) - 0.5)
    drawn = {text.get_text(): text.get_position()[1] for text in ax.texts}
    assert drawn["q2"] == pytest.approx(2.0 * -0.5 - 0.5)
    other = blank()
    plots.cuts_on_information(cuts, ax=other)
    theta, total = next(line for line in other.get_lines() if line.get_color() == BLUE).get_data()
    np.testing.assert_allclose(total, bank_of().information((theta + 0.5) / 2.0) / 4.0, rtol=1e-12)


@pytest.mark.parametrize("draw", [plots.cuts_on_wright_map, plots.cuts_on_information], ids=["wright map", "information"])
def test_cuts_without_items_ask_for_a_calibration(draw):
    with pytest.raises(DataError, match=r"No items are known behind these cut scores \(method 'given'\)"):
        draw(CutScores.from_values(CUTS))
    assert pyplot.get_fignums() == []


CLOSE = {f"CSE-{k}": 0.05 * k for k in range(1, 10)}
LONG = {"independent user, lower range": 0.0, "independent user, upper range": 0.05}


@pytest.mark.parametrize("size", [(4.0, 3.0), (7.0, 7.0)], ids=["small", "large"])
@pytest.mark.parametrize("cuts", [CLOSE, LONG, {"pass": 3.4}], ids=["nine", "long", "one"])
@pytest.mark.parametrize("draw", [plots.cuts_on_wright_map, plots.cuts_on_information], ids=["wright map", "information"])
def test_level_names_overlap_neither_each_other_nor_their_order(draw, cuts, size):
    ax = blank(figsize=size)
    draw(CutScores.from_values(cuts, 0.1, bank=bank_of()), ax=ax)
    labels = list(margin(ax).values())
    assert len(labels) == len(cuts) + 1
    assert overlapping(ax, labels) == []
    along = 1 if draw is plots.cuts_on_wright_map else 0
    places = [label.get_position()[along] for label in labels]
    assert places == sorted(places)
    limits = ax.get_ylim() if along else ax.get_xlim()
    assert limits[0] <= places[0] < places[-1] <= limits[1]


def test_the_legend_stands_above_the_level_names():
    levels = ("independent user, lower range", "independent user, upper range", "proficient user")
    ax = plots.panel_rounds(placed(TWO_ROUNDS, levels=levels))
    ax.figure.canvas.draw()
    names = [text.get_window_extent() for text in margin(ax).values()]
    assert len(names) == 3  # so high that panellists are not named beside the frame
    assert ax.get_legend().get_window_extent().y0 >= max(box.y1 for box in names) - 1.0
    assert overlapping(ax, list(margin(ax).values())) == []


def test_labels_move_no_further_than_they_must():
    apart = plot_labels._apart(np.array([5.0, 0.0, 5.2, 9.9]), np.ones(4), (0.0, 10.0))
    np.testing.assert_allclose(apart, [4.6, 0.5, 5.6, 9.5])
    crowded = plot_labels._apart(np.full(5, 3.0), np.full(5, 4.0), (0.0, 10.0))
    np.testing.assert_allclose(crowded, [1.0, 3.0, 5.0, 7.0, 9.0])


def test_panellists_and_the_aggregate_of_each_round(ax):
    plots.panel_rounds(placed(TWO_ROUNDS), ax=ax)
    expected = DIFFICULTIES[np.array(TWO_ROUNDS) - 1]
    lines = [
        line for line in ax.get_lines() if line.get_color() == BLUE and line.get_linestyle() == "-" and len(line.get_xdata())
    ]
    drawn = np.array([line.get_ydata() for line in lines]).reshape(3, 3, 2).transpose(2, 1, 0)
    np.testing.assert_array_equal(drawn, expected)
    found = [float(line.get_ydata()[0]) for _, line in sorted(bars(ax).items())]
    assert found == [-1.2, -1.2, 0.0, 0.0, 1.1, 1.1]
    rows = [label.get_text() for label in ax.get_xticklabels()]
    assert rows == ["1", "2"] * 3
    assert list(margin(ax))[:3] == ["CSE-3", "CSE-4", "CSE-5"]
    named = {label: text.xy[1] for label, text in list(margin(ax).items())[3:]}
    assert named == {"p0": expected[1, 0, 2], "p1": expected[1, 1, 2], "p2": expected[1, 2, 2]}
    assert ax.get_legend_handles_labels()[1] == ["panellist (n = 3)", "median of the panel"]


def test_the_bars_of_linked_cuts_are_the_cuts(ax):
    cuts = placed(TWO_ROUNDS, aggregate="mean", linking=LinkingConstants(1.5, 0.2, np.zeros((2, 2))))
    plots.panel_rounds(cuts, ax=ax)
    last = [float(line.get_ydata()[0]) for _, line in sorted(bars(ax).items())][1::2]
    np.testing.assert_allclose(last, cuts.cut_scores, rtol=1e-12)


@pytest.mark.parametrize(("rounds", "panellists"), [(1, 1), (1, 30), (4, 30), (2, 2)])
def test_panels_of_any_size_are_drawn(rounds, panellists):
    pages = np.tile([2, 4, 6], (rounds, panellists, 1))
    ax = plots.panel_rounds(placed(pages))
    ax.figure.canvas.draw()
    points = [line for line in ax.get_lines() if line.get_color() == BLUE and line.get_marker() == "o" and len(line.get_xdata())]
    assert sum(len(line.get_xdata()) for line in points) == rounds * panellists * 3
    at = np.concatenate([line.get_xdata() for line in points])
    assert len(np.unique(at)) == len(at)  # equal bookmarks lie beside one another
    assert overlapping(ax, list(margin(ax).values())) == []


def test_open_ended_placements_stand_at_the_edge_with_a_note(ax):
    cuts = placed([[[0, 3, 5], [0, 4, 7], [2, 5, 7]]])
    plots.panel_rounds(cuts, ax=ax)
    down = [line for line in ax.get_lines() if line.get_marker() == "v" and len(line.get_xdata())]
    panellists, bar = (next(line for line in down if line.get_color() == colour) for colour in (BLUE, VERMILION))
    assert len(panellists.get_xdata()) == 2
    assert set(panellists.get_ydata()) == set(bar.get_ydata())
    low = ax.get_ylim()[0]
    assert low < bar.get_ydata()[0] < -1.2  # beneath every finite bookmark
    assert ax.get_xlabel().replace("\n", " ").endswith("2 open-ended placements at the edge of the frame (triangles)")
    ax.figure.canvas.draw()


def test_a_panel_that_left_everything_open_is_drawn(ax):
    cuts = placed([[[8], [8]]], levels=("CSE-9",), rule="first-not-mastered")
    plots.panel_rounds(cuts, ax=ax)
    ax.figure.canvas.draw()
    assert "2 open-ended placements" in ax.get_xlabel()


def test_missing_placements_leave_gaps(ax):
    frame = pd.DataFrame([("a", 1, "x", 2), ("a", 2, "x", 3), ("b", 2, "x", 5)], columns=["panellist", "round", "level", "page"])
    plots.panel_rounds(bookmark(bank_of(), frame, response_probability=0.5), ax=ax)
    points = next(line for line in ax.get_lines() if line.get_marker() == "o")
    assert sorted(points.get_ydata()) == [-1.2, -0.5, 0.4]


@pytest.mark.parametrize("draw", [plots.panel_rounds, plots.rp_sensitivity], ids=["panel", "rp"])
def test_cuts_of_another_method_have_no_panel(draw):
    with pytest.raises(DataError, match="their method is 'given'"):
        draw(CutScores.from_values(CUTS))
    assert pyplot.get_fignums() == []


def test_cuts_over_the_response_probability(ax):
    cuts = placed(TWO_ROUNDS)
    plots.rp_sensitivity(cuts, ax=ax)
    lines = [line for line in ax.get_lines() if line.get_marker() == "None" and len(line.get_xdata()) > 2]
    for line, difficulty in zip(lines, (-1.2, 0.0, 1.1), strict=True):
        probability, cut = line.get_data()
        np.testing.assert_allclose(cut, difficulty + np.log(probability / (1.0 - probability)), atol=1e-12)
    in_use = next(line for line in ax.get_lines() if line.get_markerfacecolor() == "white")
    np.testing.assert_allclose(in_use.get_xydata(), [[0.5, -1.2], [0.5, 0.0], [0.5, 1.1]], atol=1e-12)
    assert vertical(ax) == [0.5]
    assert {"CSE-3", "CSE-4", "CSE-5"} <= {text.get_text() for text in ax.texts}


def test_lines_that_end_together_have_labels_apart():
    names = tuple(f"CSE-{k}" for k in range(1, 10))
    frame = pd.DataFrame({"panellist": "a", "level": names, "page": range(1, 10)})
    ax = plots.rp_sensitivity(bookmark(bank_of(np.linspace(0.0, 0.4, 9)), frame, levels=names))
    assert overlapping(ax, [text for text in ax.texts if text.get_text() in names]) == []


def test_infinite_cuts_have_no_line_over_the_response_probability(ax):
    plots.rp_sensitivity(placed([[[0, 3], [0, 4]]], levels=("CSE-1", "CSE-2")), ax=ax)
    ax.figure.canvas.draw()
    assert "CSE-1 (open-ended, −∞)" in ax.get_xlabel().replace("\n", " ")
    assert "CSE-1" not in {text.get_text() for text in ax.texts}
    only = blank()
    plots.rp_sensitivity(placed([[[0], [0]]], levels=("CSE-1",)), ax=only)
    only.figure.canvas.draw()


def test_bars_are_the_probabilities_and_the_point_level_is_marked(ax):
    given = np.array([[0.5, 0.3, 0.2], [np.nan, np.nan, np.nan], [0.0, 0.1, 0.9], [0.2, 0.45, 0.35]])
    plots.level_probabilities(levels_of(given, ["below pass", None, "merit", "merit"]), ax=ax)
    drawn = np.full((4, 3), np.nan)
    for k, level in enumerate(ax.containers):
        for patch in level.patches:
            drawn[round(patch.get_y() + patch.get_height() / 2.0), k] = patch.get_width()
    np.testing.assert_allclose(drawn, given, rtol=1e-12)
    mark = next(line for line in ax.get_lines() if line.get_marker() == "D")
    np.testing.assert_allclose(mark.get_xydata(), [[0.25, 0], [0.55, 2], [0.825, 3]], rtol=1e-12)
    assert [(text.get_text(), text.get_position()[1]) for text in ax.texts] == [("unknown", 1)]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["r0", "r1", "r2", "r3"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first respondent is on top


@pytest.mark.parametrize("n_levels", [2, 5, 10])
def test_shades_darken_with_the_level_also_in_grey(n_levels, ax):
    labels = tuple(f"L{k}" for k in range(n_levels))
    plots.level_probabilities(levels_of(np.full((1, n_levels), 1.0 / n_levels), ["L0"], labels), ax=ax)
    grey = [np.dot([0.2126, 0.7152, 0.0722], to_rgb(level.patches[0].get_facecolor())) for level in ax.containers]
    assert np.diff(grey).max() < -0.02
    ax.figure.canvas.draw()
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sorted(shown) == sorted([*labels, "point level"])


def test_respondents_are_chosen_in_the_order_asked_for(ax):
    levels = levels_of(np.tile([0.2, 0.5, 0.3], (100, 1)), ["pass"] * 100)
    with pytest.raises(DataError, match=r"100 respondents in one figure; expected 1 to 60\. Choose some with respondents="):
        plots.level_probabilities(levels)
    plots.level_probabilities(levels, ax=ax, respondents=["r70", "r3"])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["r70", "r3"]
    one = plots.level_probabilities(levels, ax=blank(), respondents="r5")
    assert [label.get_text() for label in one.get_yticklabels()] == ["r5"]
    with pytest.raises(LabelError, match="1 respondent not found: 'nobody'"):
        plots.level_probabilities(levels, respondents=["nobody"])
    with pytest.raises(DataError, match="0 respondents in one figure"):
        plots.level_probabilities(levels, respondents=[])
    assert pyplot.get_fignums() == []


def test_sixty_respondents_have_labels_apart():
    ax = plots.level_probabilities(levels_of(np.tile([0.2, 0.5, 0.3], (60, 1)), ["pass"] * 60))
    assert overlapping(ax, ax.get_yticklabels()) == []


def test_shares_and_their_intervals(ax):
    shares = shares_of()
    shares.loc[("college", "pass"), ["low", "high"]] = np.nan
    plots.impact(shares, ax=ax)
    points = {line.get_label(): line.get_ydata() for line in ax.get_lines() if not line.get_label().startswith("_")}
    assert list(points) == ["junior", "college"]
    np.testing.assert_array_equal(np.concatenate(list(points.values())), shares["share"])
    ends = np.concatenate([[path.vertices[:, 1] for path in lines.get_paths()] for lines in ax.collections])
    np.testing.assert_array_equal(ends, shares[["low", "high"]])
    places = np.concatenate([line.get_xdata() for line in ax.get_lines() if line.get_label() in points])
    assert np.round(places).astype(int).tolist() == [0, 1, 0, 1]
    assert len(set(places)) == 4
    markers = {line.get_marker() for line in ax.get_lines() if line.get_label() in points}
    assert len(markers) == 2


def test_levels_of_a_categorical_index_stand_in_its_order(ax):
    level = pd.CategoricalIndex(["pass", "below pass"], categories=["below pass", "pass"], ordered=True)
    index = pd.MultiIndex.from_arrays([["all", "all"], level], names=["group", "level"])
    plots.impact(pd.DataFrame({"share": [0.7, 0.3], "low": [0.6, 0.2], "high": [0.8, 0.4]}, index=index), ax=ax)
    assert [label.get_text().replace("\n", " ") for label in ax.get_xticklabels()] == ["below pass", "pass"]
    line = next(line for line in ax.get_lines() if line.get_label() == "all")
    np.testing.assert_array_equal(line.get_xydata(), [[1.0, 0.7], [0.0, 0.3]])
    assert ax.get_legend() is None
    assert ax.get_ylabel() == "Share of respondents"


def test_nine_levels_of_seven_groups_have_labels_apart():
    names = ("below CSE-1", *(f"CSE-{k}" for k in range(1, 10)))
    ax = plots.impact(shares_of(tuple("abcdefg"), names))
    assert overlapping(ax, ax.get_xticklabels()) == []


@pytest.mark.parametrize(
    ("shares", "match"),
    [
        (shares_of().drop(columns=["low", "high"]), "has no high and no low. Expected columns share, low and high"),
        (shares_of().reset_index(drop=True), r"Expected .* by \(group, level\)"),
        (shares_of().iloc[:0], r"Expected .* by \(group, level\)"),
        (shares_of(tuple("abcdefgh")), "8 groups in one figure; expected 1 to 7"),
    ],
    ids=["columns", "index", "empty", "groups"],
)
def test_tables_of_shares_that_cannot_be_drawn(shares, match):
    with pytest.raises(DataError, match=match):
        plots.impact(shares)
    assert pyplot.get_fignums() == []


HOSTILE = ["$x^2$", "100$", "a_b^c", r"\frac{", "<b>", "w" * 60, "項目 等級"]


def shown_texts(ax):
    legend = [] if ax.get_legend() is None else ax.get_legend().get_texts()
    texts = [*ax.texts, *legend, *ax.get_xticklabels(), *ax.get_yticklabels(), ax.xaxis.label]
    return [text.get_text().replace(r"\$", "$").replace("\n", " ") for text in texts]


@pytest.mark.parametrize("label", HOSTILE)
def test_labels_are_text_not_formulas(label):
    levels = ["ok", label]
    cuts = CutScores.from_values([0.0, 1.0], 0.1, levels=levels, bank=bank_of())
    open_cuts = CutScores.from_values([0.0, np.inf], levels=levels, bank=bank_of())
    panel = placed([[[2, 4], [3, 5]]], levels=tuple(levels))
    frame = pd.DataFrame({"panellist": "a", "round": [label], "level": "ok", "page": [2]})
    table = levels_of([[0.4, 0.6]], [label], ("ok", label), index=[label])
    drawn = [
        plots.cuts_on_wright_map(cuts),
        plots.cuts_on_wright_map(open_cuts),
        plots.cuts_on_information(cuts),
        plots.panel_rounds(panel),
        plots.panel_rounds(bookmark(bank_of(), frame, response_probability=0.5)),
        plots.rp_sensitivity(panel),
        plots.level_probabilities(table),
        plots.impact(shares_of(("g", label), levels)),
    ]
    for ax in drawn:
        assert any(label in text for text in shown_texts(ax)), shown_texts(ax)
        if "$" in label or "\\" in label:  # what could be read as a formula is, when the figure is drawn
            ax.figure.canvas.draw()


@pytest.mark.parametrize("labels", [(1, 2), (0.5, 1.5), (True, False)], ids=["int", "float", "bool"])
def test_labels_of_any_type_are_drawn(labels, ax):
    plots.panel_rounds(placed([[[2, 4], [3, 5]]], levels=labels), ax=ax)
    assert list(margin(ax))[:2] == [str(label) for label in labels]
    other = blank()
    table = levels_of([[0.4, 0.6], [0.5, 0.5]], ["b", "a"], ("a", "b"), index=list(labels))
    plots.level_probabilities(table, ax=other, respondents=[labels[1]])
    assert [label.get_text() for label in other.get_yticklabels()] == [str(labels[1])]
