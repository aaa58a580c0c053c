"""Attributes that the design cannot tell apart are never given as separate certainties, whichever way they are asked for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import psychoedu as pe
from psychoedu import exceptions as ex

Q = pd.DataFrame([[1, 0], [1, 1]] * 4, columns=["a", "b"], index=[f"q{j}" for j in range(8)])
"""CASES D3: b is never required alone, so DINA cannot tell 00 from 01."""


@pytest.fixture(scope="module")
def diagnosis():
    rng = np.random.default_rng(5)
    mastered = rng.random((300, 2)) < 0.5
    ready = np.column_stack([mastered[:, 0], mastered.all(axis=1)] * 4)
    data = pd.DataFrame((rng.random(ready.shape) < np.where(ready, 0.85, 0.15)).astype(int), columns=Q.index)
    with pytest.warns(ex.PsychoeduWarning) as caught:
        fit = pe.diagnose(data, Q, model="DINA", structure="saturated", standard_errors=None, n_starts=1)
    texts = [str(one.message) for one in caught if one.category is ex.IdentificationWarning]
    assert any("00" in text and "01" in text for text in texts)
    return fit


def test_d3_withheld_in_every_answer(diagnosis):
    assert diagnosis.withheld == ("b",)
    assert diagnosis.mastery["b"].isna().all()
    assert diagnosis.mastered()["b"].isna().all()  # not False: nothing is known
    assert diagnosis.mastery["a"].between(0, 1).all()
    for method in ("eap", "map", "ml"):
        table = diagnosis.classification(method)
        assert table["b"].isna().all()
        assert set(table["profile"]) <= {"0?", "1?"}


def test_d3_class_sums(diagnosis):
    """The sum over 00 and 01 is what the responses say: one less the mastery of a."""
    sums = diagnosis.profile_classes
    assert list(sums.columns) == ["00|01", "10", "11"]
    np.testing.assert_allclose(sums.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(sums["00|01"], 1.0 - diagnosis.mastery["a"], atol=1e-12)


def test_identified_profiles_are_classes_of_their_own():
    matrix, q = pe.datasets.load_cse_like(), pe.datasets.load_cse_like_q()
    fit = pe.diagnose(matrix, q, n_starts=1, standard_errors=None)
    pd.testing.assert_frame_equal(fit.profile_classes[fit.profile_labels], fit.profiles, rtol=1e-12)
    assert fit.classification()["profile"].str.fullmatch("[01]{4}").all()
    assert fit.mastered().dtypes.eq(bool).all()
