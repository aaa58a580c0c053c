"""What a Calibration shows and keeps: tables, intervals, text, and JSON that comes back to the bit."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from designs import simulate

import psychoedu as pe
from psychoedu import exceptions as ex

COLUMNS = [
    "discrimination",
    "discrimination_se",
    "difficulty",
    "difficulty_se",
    "intercept",
    "intercept_se",
    "p_value",
    "point_biserial",
    "n",
    "flags",
]


@pytest.fixture(scope="module")
def calibration():
    data = pd.DataFrame(simulate(600, np.linspace(0.7, 1.5, 8), np.linspace(-1, 1, 8), seed=3)).add_prefix("q")
    data.iloc[:50, 2] = None
    return pe.calibrate(data, groups=np.repeat(["a", "b"], 300))


def test_items_has_the_promised_columns(calibration):
    items = calibration.items
    assert list(items.columns) == COLUMNS
    assert items.index.name == "item"
    assert items["n"].tolist() == [600, 600, 550] + [600] * 5
    observed = calibration.source.responses.to_frame()
    np.testing.assert_allclose(items["p_value"], observed.mean(), rtol=1e-12)
    np.testing.assert_allclose(items["intercept"], -items["discrimination"] * items["difficulty"], rtol=1e-12)


def test_tables_are_copies_and_arrays_read_only(calibration):
    items = calibration.items
    items.loc["q0", "discrimination"] = 99.0
    assert calibration.items.loc["q0", "discrimination"] < 5
    with pytest.raises(ValueError, match="read-only"):
        calibration.discrimination[0] = 1.0
    with pytest.raises(AttributeError):
        calibration.model = "rasch"


def test_groups(calibration):
    groups = calibration.groups
    assert list(groups.columns) == ["latent_mean", "latent_mean_se", "latent_sd", "latent_sd_se", "n"]
    assert groups["n"].tolist() == [300, 300]
    assert groups.loc["a", ["latent_mean_se", "latent_sd_se"]].isna().all()
    assert (groups.loc["b", ["latent_mean_se", "latent_sd_se"]] > 0.02).all()


def test_covariance_is_labelled_symmetric_and_gives_the_standard_errors(calibration):
    covariance = calibration.covariance
    assert covariance.shape == (18, 18) == (calibration.n_parameters,) * 2
    np.testing.assert_allclose(covariance, covariance.T, rtol=1e-10)
    roots = pd.Series(np.sqrt(np.diag(covariance)), index=covariance.index)
    for item, row in calibration.items.iterrows():
        assert roots[item, "discrimination"] == pytest.approx(row["discrimination_se"], rel=1e-12)
        assert roots[item, "intercept"] == pytest.approx(row["intercept_se"], rel=1e-12)
    assert roots["b", "latent_sd"] == pytest.approx(calibration.groups.loc["b", "latent_sd_se"], rel=1e-12)


def test_covariance_of_the_common_slope_model():
    calibration = pe.calibrate(simulate(400, 1.0, np.linspace(-1, 1, 5), seed=4), model="1pl")
    names = calibration.parameter_names
    assert names[0] == ("all", "discrimination")
    assert [name for _, name in names[1:]] == ["intercept"] * 5
    bank = calibration.bank
    # one slope: all the banks' slope covariances are its variance
    np.testing.assert_allclose(bank.covariance[0::2, 0::2], calibration.covariance.iloc[0, 0], rtol=1e-12)


def test_conf_int(calibration):
    intervals, items = calibration.conf_int(0.9), calibration.items
    half = 1.6448536269514722 * items["difficulty_se"]
    np.testing.assert_allclose(intervals["difficulty_high"] - items["difficulty"], half, rtol=1e-9)
    np.testing.assert_allclose(items["difficulty"] - intervals["difficulty_low"], half, rtol=1e-9)
    with pytest.raises(ex.DataError, match="confidence_level"):
        calibration.conf_int(95)


def test_item_analysis_and_reliability(calibration):
    table = calibration.item_analysis()
    assert {"discrimination_index", "alpha_if_deleted", "point_biserial", "p_value"} <= set(table.columns)
    assert set(calibration.reliability) == {"alpha", "marginal", "empirical"}
    assert all(0.2 < value < 0.9 for value in calibration.reliability.values())


def test_information_is_the_sum_over_items(calibration):
    theta = np.array([[-1.0, 0.0], [0.5, 2.0]])
    a, d = calibration.discrimination, calibration.intercept
    p = 1 / (1 + np.exp(-(theta[..., None] * a + d)))
    np.testing.assert_allclose(calibration.information(theta), (a**2 * p * (1 - p)).sum(axis=-1), rtol=1e-12)
    assert calibration.information(0.0).shape == ()


def test_scores_use_each_groups_own_population(calibration):
    responses = calibration.source.responses
    scores = calibration.scores()
    group = calibration.groups.loc["b"]
    alone = pe.score(calibration, responses, prior_mean=group["latent_mean"], prior_sd=group["latent_sd"])
    np.testing.assert_array_equal(scores.theta.iloc[300:], alone.theta.iloc[300:])
    np.testing.assert_array_equal(scores.theta.iloc[:300], pe.score(calibration, responses).theta.iloc[:300])


def test_summary_states_what_a_reader_needs(calibration):
    text = calibration.summary()
    for part in ("2PL", "logit metric", "log-likelihood", "reference group", "observed information", "quadrature", "61 points"):
        assert part in text
    assert max(map(len, text.splitlines())) < 140
    html = calibration._repr_html_()
    assert "<table" in html


def test_labels_are_escaped_in_html():
    data = pd.DataFrame(simulate(300, 1.0, [-1, 0, 1], seed=5), columns=["<script>alert(1)</script>", "b", "c"])
    assert "<script>" not in pe.calibrate(data)._repr_html_()


@pytest.mark.parametrize("options", [{}, {"model": "1pl"}, {"model": "rasch"}, {"standard_errors": None}, {"priors": True}])
def test_saved_and_loaded_is_equal_to_the_bit(tmp_path, options):
    data = pd.DataFrame(simulate(300, 1.0, np.linspace(-1, 1, 5), seed=6)).add_prefix("q")
    calibration = pe.calibrate(data, groups=np.repeat(["x", "y"], 150), **options)
    path = calibration.save(tmp_path / "bank.json")
    loaded = pe.load(path)
    assert loaded.to_dict() == calibration.to_dict()
    pd.testing.assert_frame_equal(loaded.items, calibration.items, check_exact=True)
    pd.testing.assert_frame_equal(loaded.groups, calibration.groups, check_exact=True)
    assert loaded.summary() == calibration.summary()
    assert loaded.bic == calibration.bic
    if options.get("standard_errors", "oakes"):
        pd.testing.assert_frame_equal(loaded.covariance, calibration.covariance, check_exact=True)
    np.testing.assert_array_equal(pe.score(loaded, data).theta, pe.score(calibration, data).theta)
    assert not {"responses", "source", "respondents"} & set(json.loads(path.read_text()))  # parameters only
    assert json.loads(path.read_text())["kind"] == "calibration"


def test_a_loaded_calibration_says_that_it_has_no_responses(tmp_path, calibration):
    loaded = pe.load(calibration.save(tmp_path / "bank.json"))
    with pytest.raises(ex.MissingResponsesError, match=r"psychoedu\.score\(calibration, responses\)"):
        loaded.scores()


def test_non_finite_values_survive_json(tmp_path):
    with pytest.warns(ex.BoundaryEstimateWarning):
        calibration = pe.calibrate(np.repeat(np.tril(np.ones((6, 5), dtype=int), -1), 50, axis=0))
    loaded = pe.load(calibration.save(tmp_path / "bank.json"))
    np.testing.assert_array_equal(loaded.items["discrimination_se"], calibration.items["discrimination_se"])
    assert "NaN" not in (tmp_path / "bank.json").read_text()


def test_unknown_item_is_named(calibration):
    with pytest.raises(ex.LabelError, match="'q99'"):
        calibration.plot_icc("q99")


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("not json", "not a JSON file"),
        ("[1, 2]", "kind None"),
        ('{"kind": "pickle"}', "kind 'pickle'"),
        ('{"kind": "calibration", "format": 99}', "format 99"),
        ('{"kind": "calibration", "format": 1}', "missing or of the wrong type"),
    ],
)
def test_files_that_are_no_calibration(tmp_path, content, match):
    path = tmp_path / "file.json"
    path.write_text(content)
    with pytest.raises(ex.FileFormatError, match=match):
        pe.load(path)


def test_items_without_answers_together_are_named_by_their_labels():
    matrix = pe.datasets.load_cse_like().select(respondents={"group": ["junior", "college"]})
    text = pe.calibrate(matrix, max_iter=50, standard_errors=None).summary()
    assert "(first: items I14 and I40)" in text
    assert "columns" not in text
