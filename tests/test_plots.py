import subprocess
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure
from scipy.special import expit

from psychoedu import datasets, plots
from psychoedu.exceptions import DataError, LabelError
from psychoedu.irt.bank import ItemBank
from psychoedu.irt.calibrate import calibrate
from psychoedu.stored import load


@pytest.fixture(scope="module")
def lsat7():
    return calibrate(datasets.load_lsat7())


@pytest.fixture(scope="module")
def two_forms():
    responses = datasets.load_cse_like()
    learner = (responses.respondents["group"] != "model").to_numpy()
    return calibrate(responses, groups="group", reference_group="junior", fit_to=learner)


@pytest.fixture
def ax():
    return Figure(layout="constrained").add_subplot()


def bank_of(**columns):
    frame = pd.DataFrame(columns)
    return ItemBank(frame.set_axis([f"q{j}" for j in range(1, len(frame) + 1)], axis=0))


def texts(ax):
    return [text.get_text() for text in ax.texts]


DRAW = {
    "wright map": plots.wright_map,
    "curve": lambda calibration, ax=None: plots.icc(calibration, calibration.bank.labels[0], ax=ax),
    "information": plots.information,
    "populations": plots.group_distributions,
}


@pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)
def test_draws_on_the_given_axes_and_opens_no_figure(draw, lsat7, ax):
    assert draw(lsat7, ax=ax) is ax
    ax.figure.canvas.draw()
    assert pyplot.get_fignums() == []
    assert ax.get_xlabel() or ax.get_xticklabels()
    assert ax.get_ylabel()


@pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)
def test_makes_a_figure_where_no_axes_are_given_and_never_shows_it(draw, lsat7, monkeypatch):
    monkeypatch.setattr(pyplot, "show", lambda *_, **__: pytest.fail("a plot was shown"))
    settings = dict(matplotlib.rcParams)
    ax = draw(lsat7)
    ax.figure.canvas.draw()
    assert len(pyplot.get_fignums()) == 1
    assert dict(matplotlib.rcParams) == settings


@pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)
def test_a_calibration_read_from_a_file_is_drawn_without_its_responses(draw, two_forms, tmp_path, ax):
    stored = load(two_forms.save(tmp_path / "calibration.json"))
    draw(stored, ax=ax).figure.canvas.draw()
    assert "EAP" not in " ".join(ax.get_legend_handles_labels()[1])


def test_matplotlib_is_imported_only_when_something_is_drawn():
    code = "import sys, psychoedu.plots, psychoedu.report.html, psychoedu.cli; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_curve_and_band_of_one_item(lsat7, ax):
    plots.icc(lsat7, "Item.3", ax=ax)
    theta, height = ax.get_lines()[0].get_data()
    # mirt's estimates of item 3 and their covariance (reference data: irt_lsat7, items_2pl.csv and vcov_Oakes.json)
    np.testing.assert_allclose(height, expit(1.7073 * theta + 1.8050), atol=2e-4)
    corners = ax.collections[0].get_paths()[0].vertices
    at_zero = corners[np.isclose(corners[:, 0], 0.0, atol=1e-9), 1]
    expected = expit(1.8050 + 1.959964 * np.sqrt(0.0419533314449148) * np.array([-1, 1]))
    np.testing.assert_allclose([at_zero.min(), at_zero.max()], expected, atol=2e-3)


def test_points_are_observed_proportions_of_everyone_who_was_fitted(two_forms, ax):
    observed = plots._observed(two_forms, two_forms.bank, [0, 60], 10)
    assert observed[0].n.sum() == 2050
    assert observed[1].n.sum() == 948
    frame = datasets.load_cse_like().to_frame()
    assert observed[1].proportion @ observed[1].n == pytest.approx(frame["I61"].iloc[1102:2050].sum())
    plots.icc(two_forms, "I61", ax=ax)
    drawn = ax.containers[0].lines[0].get_data()
    np.testing.assert_allclose(drawn, [observed[1].theta, observed[1].proportion])


def test_several_items_have_different_colours_and_line_styles(lsat7, ax):
    plots.icc(lsat7, list(lsat7.items.index), ax=ax)
    handles, labels = ax.get_legend_handles_labels()
    assert labels == ["Item.1", "Item.2", "Item.3", "Item.4", "Item.5"]
    assert len({handle.get_color() for handle in handles}) == 5
    assert len({str(handle._dash_pattern) for handle in handles}) == 5


@pytest.mark.parametrize(
    ("item", "error", "match"),
    [
        ("Item.9", LabelError, r"1 of 1 items are not in the bank: 'Item\.9'\. Did you mean Item"),
        (["Item.1", "zz"], LabelError, r"1 of 2 items .*'zz'.*Items are Item\.1"),
        ([], DataError, "0 items .* expected 1 to 7"),
        ([{}], LabelError, r"1 of 1 items are not in the bank: \{\}"),
        (["Item.1", ["Item.2"]], LabelError, r"1 of 2 items are not in the bank: \['Item\.2'\]"),
        ((["Item.1"],), LabelError, r"1 of 1 items are not in the bank: \['Item\.1'\]"),
        (None, LabelError, "1 of 1 items are not in the bank: None"),
    ],
    ids=["unknown", "one unknown", "none", "dict", "list in list", "list in tuple", "nothing"],
)
def test_items_that_cannot_be_drawn_are_named(lsat7, item, error, match):
    with pytest.raises(error, match=match):
        plots.icc(lsat7, item)
    assert pyplot.get_fignums() == []


def test_integer_labels_are_labels_not_positions(ax):
    bank = ItemBank(pd.DataFrame({"discrimination": [1.0, 2.0], "difficulty": [0.0, 1.0]}, index=[7, 3]))
    plots.icc(bank, 3, ax=ax)
    theta, height = ax.get_lines()[0].get_data()
    np.testing.assert_allclose(height, expit(2.0 * (theta - 1.0)), rtol=1e-12)


def test_guessing_lifts_the_curve(ax):
    plots.icc(bank_of(discrimination=[1.0], difficulty=[0.0], guessing=[0.25]), "q1", ax=ax)
    theta, height = ax.get_lines()[0].get_data()
    np.testing.assert_allclose(height, 0.25 + 0.75 * expit(theta), rtol=1e-12)


def test_information_agrees_with_the_reference_and_with_its_standard_error(lsat7, shared, ax):
    reference = pd.read_json(shared / "reference" / "irt_lsat7" / "testinfo.json")
    plots.information(lsat7, ax=ax)
    theta, total = ax.get_lines()[-1].get_data()
    np.testing.assert_allclose(np.interp(reference["theta"], theta, total), reference["info"], rtol=2e-3)
    second = next(other for other in ax.figure.axes if other is not ax)
    _, error = second.get_lines()[0].get_data()
    drawn = np.isfinite(error)
    np.testing.assert_allclose(error[drawn], 1 / np.sqrt(total[drawn]), rtol=1e-12)
    assert np.all(total[~drawn] < 1 / 1.5**2)


def test_wright_map_places_every_item_at_its_difficulty(two_forms, ax):
    plots.wright_map(two_forms, ax=ax)
    ax.figure.canvas.draw()
    placed = {text.get_text(): text.get_position()[1] for text in ax.texts}
    assert placed == pytest.approx(two_forms.items["difficulty"].to_dict())
    labels = ax.get_legend_handles_labels()[1]
    assert labels == ["Population junior", "Population college", "EAP scores (n = 2,050)"]


def test_wright_map_labels_do_not_overlap(two_forms):
    ax = plots.wright_map(two_forms)
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    overlaps = [(one, other) for one in range(61) for other in range(one) if boxes[one].overlaps(boxes[other])]
    assert overlaps == []


def test_wright_map_names_items_beyond_the_frame_and_marks_flagged_ones(ax):
    rng = np.random.default_rng(1)
    theta = rng.standard_normal(400)[:, None]
    slopes = np.array([1.2, 1.2, 1.2, 1.2, -1.0, 0.05])
    right = rng.random((400, 6)) < expit(slopes * theta + np.array([0, 0.5, -0.5, 1, 0, 2.0]))
    calibration = calibrate(right.astype(float))
    assert abs(calibration.items.loc["q6", "difficulty"]) > 6
    assert calibration.items.loc["q5", "flags"] == "negative_discrimination"
    plots.wright_map(calibration, ax=ax)
    assert any("beyond the frame: q6" in text for text in texts(ax))
    colours = {text.get_text(): text.get_color() for text in ax.texts}
    assert colours["q5"] == plots.VERMILION
    assert colours["q1"] == "black"


def test_more_items_than_labels_fit_are_a_histogram(ax):
    rng = np.random.default_rng(2)
    bank = bank_of(discrimination=np.ones(300), difficulty=rng.standard_normal(300))
    plots.wright_map(bank, ax=ax)
    assert texts(ax) == []
    heights = np.array([patch.get_width() for patch in ax.patches])
    counts = np.histogram(bank.difficulty, bins=np.arange(-3.5, 3.7, 0.2))[0]
    np.testing.assert_allclose(heights / heights.max(), counts[: len(heights)] / counts.max(), atol=1e-9)


@pytest.mark.parametrize("draw", [plots.wright_map, plots.information], ids=["wright map", "information"])
def test_a_bank_alone_is_drawn(draw, ax):
    draw(bank_of(discrimination=[1.0, 0.0, -0.5], intercept=[0.0, 1.0, 0.2]), ax=ax)
    ax.figure.canvas.draw()


def test_populations_of_a_bank_do_not_exist():
    with pytest.raises(DataError, match="item bank has no populations"):
        plots.group_distributions(bank_of(discrimination=[1.0], difficulty=[0.0]))


def test_populations_integrate_to_one_with_their_moments(two_forms, ax):
    plots.group_distributions(two_forms, ax=ax)
    for line, (_, row) in zip(ax.get_lines(), two_forms.groups.iterrows(), strict=True):
        theta, density = line.get_data()
        wide = np.trapezoid(density, theta)
        assert wide == pytest.approx(1.0, abs=2e-3)
        assert np.trapezoid(theta * density, theta) / wide == pytest.approx(row["latent_mean"], abs=1e-2)


@pytest.mark.parametrize(
    "label", ["$x^2$", "100$", r"\frac{", "<b>", "項目"], ids=["formula", "dollar", "broken", "html", "kanji"]
)
def test_labels_are_text_not_formulas(label, ax):
    frame = pd.DataFrame({"discrimination": [1.0, 1.2], "difficulty": [0.0, 0.3]}, index=[label, "other"])
    plots.wright_map(ItemBank(frame), ax=ax)
    plots.icc(ItemBank(frame), label, ax=Figure().add_subplot())
    shown = next(text for text in ax.texts if text.get_text() != "other")
    assert shown.get_text().replace(r"\$", "$") == label
    if label.isascii():  # a font without the glyph is the reader's, and warns
        ax.figure.canvas.draw()


@pytest.mark.parametrize(
    "labels", [[("a", 1), ("b", 2)], [True, False], [1, 2], [0.5, 1.5]], ids=["tuple", "bool", "int", "float"]
)
@pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)
def test_groups_of_any_label_are_drawn(draw, labels, ax):
    rng = np.random.default_rng(4)
    right = rng.random((240, 4)) < expit(rng.standard_normal(240)[:, None] + np.linspace(-1, 1, 4))
    groups = [labels[row % 2] for row in range(240)]
    calibration = calibrate(right.astype(float), groups=groups, reference_group=labels[1])
    assert draw(calibration, ax=ax) is ax
    where = ax.get_ylabel() if draw is plots.wright_map else ax.get_xlabel()
    assert f"{labels[1]}: mean 0, SD 1" in where
