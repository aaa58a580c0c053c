"""Figures of a diagnosis: what is drawn is what the tables say."""

from types import SimpleNamespace

import cdm_stand_in as stand_in
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from scipy.special import expit, logit

from psychoedu.cdm import plots
from psychoedu.cdm.q_validation import validate_q
from psychoedu.exceptions import DataError, LabelError
from psychoedu.plots import VERMILION

Q = [[1, 0], [0, 1], [1, 1], [1, 0], [0, 1]]
PROBABILITIES = [[0.2, 0.8], [0.1, 0.7], [0.2, 0.4, 0.5, 0.9], [0.3, 0.9], [0.25, 0.75]]
PRIOR = np.array([0.3, 0.2, 0.15, 0.35])


@pytest.fixture
def ax():
    return Figure(layout="constrained").add_subplot()


@pytest.fixture
def fit():
    diagnosis = stand_in.simulated(Q, PROBABILITIES, PRIOR, 400, 2)[0]
    diagnosis.structure_name = "higher-order"
    diagnosis.structure = pd.DataFrame({"slope": [1.5, 0.8], "intercept": [0.2, -0.4]}, index=["A1", "A2"])
    return diagnosis


@pytest.fixture
def mastery():
    return pd.DataFrame([[0.2, 0.97], [0.001, 0.5], [0.999, 0.51]], index=["m1", "m2", "m3"], columns=["A1", "A2"])


@pytest.fixture
def comparison():
    return pd.DataFrame({"aic": [110.0, 100.0], "bic": [120.0, 150.0], "n_parameters": [4, 9]}, index=["DINA", "G-DINA"])


DRAW = {
    "heat map": lambda fit, ax: plots.mastery_heatmap(fit.mastery.head(5), ax=ax),
    "prevalence": lambda fit, ax: plots.attribute_prevalence(fit, ax=ax),
    "item": lambda fit, ax: plots.item_responses(fit, "I03", ax=ax),
    "curves": lambda fit, ax: plots.higher_order_curves(fit, ax=ax),
    "models": lambda fit, ax: plots.model_comparison(
        pd.DataFrame({"aic": [2.0, 1.0], "bic": [1.0, 2.0]}, index=["a", "b"]), ax=ax
    ),
    "mesa": lambda fit, ax: plots.mesa(validate_q(fit), "I03", ax=ax),
}


@pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)
def test_draws_on_the_given_axes_and_opens_no_figure(draw, fit, ax):
    assert draw(fit, ax) is ax
    assert pyplot.get_fignums() == []
    ax.figure.canvas.draw()


@pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)
def test_makes_a_figure_of_a_journal_s_width(draw, fit):
    figure = draw(fit, None).get_figure()
    figure.canvas.draw()
    assert 2.9 <= figure.get_figwidth() <= 7.2


def cell_texts(ax):
    return [text.get_text() for text in ax.texts]


def test_heat_map_shows_numbers_in_place(mastery, ax):
    plots.mastery_heatmap(mastery, ax=ax)
    mesh = ax.collections[0]
    np.testing.assert_allclose(mesh.get_array().reshape(3, 2), mastery)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["m1", "m2", "m3"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["A1", "A2"]
    assert ax.get_ylim() == (3.0, 0.0)
    assert cell_texts(ax) == [".20", ".97", "<.01", ".50", ">.99", ".51"]
    bold = [text.get_fontweight() == "bold" for text in ax.texts]
    assert bold == [False, True, False, False, True, True]  # strictly above one half


def test_conditions_stand_side_by_side_in_one_order(mastery, ax):
    few = mastery.iloc[[2, 0]][["A2", "A1"]] / 2
    plots.mastery_heatmap({"zero": mastery, "few": few}, ax=ax)
    second = ax.collections[1].get_array().reshape(3, 2)
    np.testing.assert_allclose(second.filled(np.nan), few.reindex(["m1", "m2", "m3"])[["A1", "A2"]])
    assert {"zero", "few"} <= set(cell_texts(ax))
    assert len(ax.get_xticks()) == 4


def test_heat_map_takes_a_diagnosis_and_leaves_the_unknown_empty(mastery, ax):
    mastery.loc["m2", "A1"] = np.nan
    plots.mastery_heatmap(SimpleNamespace(mastery=mastery), ax=ax)
    assert len(ax.texts) == 5


def test_heat_map_refuses_what_it_cannot_show(mastery):
    with pytest.raises(DataError, match="61 respondents in one heat map"):
        plots.mastery_heatmap(pd.DataFrame(np.zeros((61, 1)), columns=["A"]))
    with pytest.raises(LabelError, match="1 labels stand for several rows: 'm1'"):
        plots.mastery_heatmap(pd.concat([mastery, mastery.head(1)]))
    with pytest.raises(LabelError, match="'few' has the attributes 'A1'"):
        plots.mastery_heatmap({"zero": mastery, "few": mastery[["A1"]]})
    with pytest.raises(DataError, match="no condition"):
        plots.mastery_heatmap({})


def test_prevalence_is_that_of_the_model_and_of_the_classified(fit, ax):
    plots.attribute_prevalence(fit, ax=ax)
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], [0.55, 0.5])
    share = (fit.posterior() @ fit.alpha > 0.5).mean(axis=0)
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), share)
    assert cell_texts(ax) == ["0.55", "0.50"]


def test_prevalence_by_group_without_responses(fit, ax):
    fit.prior = np.stack([PRIOR, PRIOR[::-1]])
    fit.group_labels, fit.source = ("junior", "college"), None
    plots.attribute_prevalence(fit, ax=ax)
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], [0.55, 0.5, 0.45, 0.5])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["model: junior", "model: college"]


def test_item_bars_have_logit_intervals(fit, ax):
    plots.item_responses(fit, "I03", ax=ax)
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], PROBABILITIES[2])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["00", "10", "01", "11"]
    assert ax.get_xlabel() == "Profile (A1, A2)"
    segments = np.array(ax.collections[0].get_segments())[:, :, 1]
    p = np.array(PROBABILITIES[2])
    half = 1.959963984540054 * np.sqrt(p * (1 - p) / 200) / (p * (1 - p))
    np.testing.assert_allclose(segments, np.stack([expit(logit(p) - half), expit(logit(p) + half)], axis=1))


def test_bars_without_a_standard_error_are_hatched(fit, ax):
    fit.items.loc[fit.items["item"] == "I03", "se"] = [np.nan, 0.0, 0.05, 0.02]
    plots.item_responses(fit, "I03", ax=ax)
    assert [bool(bar.get_hatch()) for bar in ax.patches] == [True, True, False, False]
    assert len(ax.collections[0].get_segments()) == 2


def test_curves_are_logistic(fit, ax):
    plots.higher_order_curves(fit, ax=ax)
    for line, slope, intercept in zip(ax.get_lines(), [1.5, 0.8], [0.2, -0.4], strict=True):
        theta, height = line.get_data()
        np.testing.assert_allclose(height, 1 / (1 + np.exp(-(slope * theta + intercept))))
    styles = {line.get_linestyle() for line in ax.get_lines()}
    assert len(styles) == 2
    fit.structure = pd.DataFrame({"probability": [0.5]})
    with pytest.raises(DataError, match="has no curves"):
        plots.higher_order_curves(fit)


def test_models_are_differences_from_the_least(comparison, ax):
    plots.model_comparison(comparison, ax=ax)
    np.testing.assert_allclose(ax.get_lines()[0].get_xdata(), [10.0, 0.0])
    np.testing.assert_allclose(ax.get_lines()[1].get_xdata(), [0.0, 30.0])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["AIC (least: G-DINA)", "BIC (least: DINA)"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["DINA  (4)", "G-DINA  (9)"]
    with pytest.raises(DataError, match="has no bic"):
        plots.model_comparison(comparison[["aic"]])


@pytest.mark.parametrize("which", ["best", "all"])
def test_mesa_rises_to_one_and_marks_the_given(fit, ax, which):
    validation = validate_q(fit)
    plots.mesa(validation, "I01", ax=ax, which=which)
    heights = ax.get_lines()[0].get_ydata()
    assert (np.diff(heights) >= 0).all()
    assert heights[-1] == pytest.approx(1.0)
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert len(labels) == (3 if which == "all" else len(validation.mesa_of("I01").query("best or given")))
    given = ax.get_lines()[2]
    assert to_hex(given.get_color()).upper() == VERMILION
    assert labels[int(given.get_xdata()[0])] == "10"
    expected = validation.mesa_of("I01").set_index("q_vector").loc["10", "pvaf"]
    assert given.get_ydata()[0] == pytest.approx(expected)
    cuts = [line.get_ydata()[0] for line in ax.get_lines()[3:]]
    np.testing.assert_allclose(cuts, list(validation.cuts.values()))


def test_mesa_of_a_flat_item(fit):
    fit.source.scored[:, 0] = 1
    with pytest.raises(DataError, match="'I01' does not tell profiles apart"):
        plots.mesa(validate_q(fit), "I01")
    with pytest.raises(LabelError, match="'I77' is not an item"):
        plots.item_responses(fit, "I77")


def test_labels_are_text_not_formulas(ax):
    label = "$x^2$"
    frame = pd.DataFrame([[0.3, 0.6]], index=[label], columns=["100$", r"\frac{"])
    plots.mastery_heatmap({label: frame, "b": frame}, ax=ax)
    ticks = [tick.get_text().replace(r"\$", "$") for tick in [*ax.get_yticklabels(), *ax.get_xticklabels()]]
    assert ticks == [label, "100$", r"\frac{", "100$", r"\frac{"]
    ax.figure.canvas.draw()
    other = Figure().add_subplot()
    plots.model_comparison(pd.DataFrame({"aic": [1.0], "bic": [2.0]}, index=[label]), ax=other)
    other.figure.canvas.draw()
