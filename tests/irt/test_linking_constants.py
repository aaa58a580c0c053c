"""Constants of a linear link, and the error that theirs gives to what goes through."""

import json

import numpy as np
import pytest

from psychoedu.exceptions import DataError, FileFormatError
from psychoedu.irt.linking_constants import LinkingConstants

EXACT = 1e-12
COVARIANCE = np.array([[0.0016, -0.0004], [-0.0004, 0.0009]])
MONTE_CARLO = 4.0


def test_abilities_on_the_new_scale():
    link = LinkingConstants(1.2, -0.3)
    np.testing.assert_allclose(link.transform(np.array([-1.0, 0.0, 2.5])), [-1.5, -0.3, 2.7], rtol=EXACT)
    np.testing.assert_array_equal(link.transform(np.array([-np.inf, np.inf])), [-np.inf, np.inf])


def test_the_error_by_hand():
    link = LinkingConstants(1.2, -0.3, COVARIANCE)
    theta = np.array([-1.0, 0.0, 2.0])
    variances = [0.0016 + 2 * 0.0004 + 0.0009, 0.0009, 4 * 0.0016 - 4 * 0.0004 + 0.0009]
    np.testing.assert_allclose(link.standard_error(theta), np.sqrt(variances), rtol=EXACT)
    # Cov(A x + B, A y + B) = x y Var A + (x + y) Cov(A, B) + Var B
    assert link.transform_covariance(theta)[0, 2] == pytest.approx(-2 * 0.0016 + 1 * -0.0004 + 0.0009, rel=1e-9)


def test_the_error_by_simulation():
    link = LinkingConstants(1.2, -0.3, COVARIANCE)
    theta = np.array([-1.0, 0.5, 2.0])
    drawn = np.random.default_rng(1).multivariate_normal([1.2, -0.3], COVARIANCE, 20_000)
    moved = drawn[:, :1] * theta + drawn[:, 1:]
    variance = np.diag(link.transform_covariance(theta))
    assert (np.abs(moved.var(axis=0) - variance) < MONTE_CARLO * variance * np.sqrt(2 / 20_000)).all()


def test_an_unknown_error_is_nan_and_a_missing_ability_spoils_only_itself():
    assert np.isnan(LinkingConstants(1.0, 0.0).transform_covariance(np.array([0.0, 1.0]))).all()
    found = LinkingConstants(1.2, -0.3, COVARIANCE).standard_error(np.array([np.nan, 0.0]))
    assert np.isnan(found[0])
    assert found[1] == pytest.approx(0.03)


@pytest.mark.parametrize(
    ("slope", "intercept"), [(0.0, 0.0), (-1.0, 0.0), (np.nan, 0.0), ("1", 0.0), (1.0, np.inf), (1.0, None), (True, 0)]
)
def test_constants_that_are_none(slope, intercept):
    with pytest.raises(DataError, match=r"slope|intercept"):
        LinkingConstants(slope, intercept)


@pytest.mark.parametrize(
    "covariance",
    [
        [[1.0, 0.0]],
        [[-1.0, 0.0], [0.0, 1.0]],
        [[1.0, 2.0], [2.0, 1.0]],
        [[1.0, 0.5], [0.0, 1.0]],
        [[np.nan, 0.0], [0.0, 1.0]],
        0.1,
        "no",
        [[1.0], [1.0, 2.0]],
    ],
    ids=repr,
)
def test_covariances_that_are_none(covariance):
    with pytest.raises(DataError, match="covariance has to be the 2 x 2 covariance"):
        LinkingConstants(1.0, 0.0, covariance)


def test_a_covariance_of_rank_one_is_one():
    root = np.array([0.3, -0.7])
    link = LinkingConstants(1.0, 0.0, np.multiply.outer(root, root))
    assert link.standard_error(np.array([2.0]))[0] == pytest.approx(abs(2 * 0.3 - 0.7))
    with pytest.raises(ValueError, match="read-only"):
        link.covariance[0, 0] = 1.0


@pytest.mark.parametrize("covariance", [None, COVARIANCE], ids=["unknown", "known"])
def test_constants_as_numbers_and_back(covariance):
    link = LinkingConstants(0.1 + 0.2, -1 / 3, covariance)
    again = LinkingConstants.from_dict(json.loads(json.dumps(link.to_dict())))
    assert (again.slope, again.intercept) == (link.slope, link.intercept)
    np.testing.assert_array_equal(again.covariance, link.covariance)


@pytest.mark.parametrize("damage", [{"slope": 0.0}, {"slope": None}, {"intercept": "x"}, {"covariance": [[1.0]]}], ids=repr)
def test_damaged_constants(damage):
    with pytest.raises(FileFormatError, match=next(iter(damage))):
        LinkingConstants.from_dict({**LinkingConstants(1.0, 0.0, COVARIANCE).to_dict(), **damage})
