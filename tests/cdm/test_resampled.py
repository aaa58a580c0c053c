"""Mastery with its task-sampling error: the parameters stay fixed, items have weights."""

from __future__ import annotations

import numpy as np
import pytest

import psychoedu as pe
from psychoedu.bootstrap.item_weights import draw_item_weights, item_layout
from psychoedu.bootstrap.streams import seed_of
from psychoedu.exceptions import DataError

RTOL = 1e-9


@pytest.fixture(scope="module")
def diagnosis():
    learners = pe.datasets.load_cse_like().select(respondents={"group": ["junior", "college"]})
    return pe.diagnose(learners, pe.datasets.load_cse_like_q(), n_starts=1, standard_errors=None)


@pytest.fixture(scope="module")
def models():
    return pe.datasets.load_cse_like().select(respondents={"group": "model"})


def test_mastery_is_the_diagnosis_s(diagnosis, models) -> None:
    found = pe.cdm.mastery_sampling_error(diagnosis, models, n_resamples=100, rng=1)
    expected = pe.cdm.score(diagnosis, models).mastery
    wide = found.table["mastery"].unstack()[list(diagnosis.attribute_labels)].loc[expected.index]
    np.testing.assert_allclose(wide, expected, rtol=RTOL, atol=1e-12)
    assert (found.table["mastered"] == (found.table["mastery"] > 0.5)).all()
    assert found.table["mastered_share"].between(0, 1).all()
    assert found.resamples.shape == (100, 24, 4)
    assert "24 respondents" in found.summary()


def test_a_resample_is_the_posterior_with_items_repeated(diagnosis, models) -> None:
    """An item of weight w counts as w copies, written out on the diagnosis's own success probabilities."""
    found = pe.cdm.mastery_sampling_error(diagnosis, models, n_resamples=4, rng=9)
    labels = models.item_labels
    layout, task = item_layout(labels, None, None, None)
    weight = draw_item_weights(layout, task, seed_of(9), 4, "bootstrap")[2].astype(int)
    places = np.repeat(np.arange(len(labels)), weight)
    x = models.scored()[0, places]
    success = diagnosis.success[diagnosis.item_labels.get_indexer(labels)][places]
    likelihood = np.where((x == 1)[:, None], success, np.where((x == 0)[:, None], 1 - success, 1.0)).prod(axis=0)
    posterior = likelihood * np.exp(diagnosis.log_prior[0])
    expected = posterior @ diagnosis.alpha / posterior.sum()
    np.testing.assert_allclose(found.resamples[2, 0], expected, rtol=1e-6, atol=1e-12)


def test_kinds_and_refusals(diagnosis, models) -> None:
    halves = pe.cdm.mastery_sampling_error(diagnosis, models, n_resamples=50, kind="jackknife", rng=1)
    assert halves.table["sampling_se"].gt(0).any()
    assert "deleted by halves" in halves.summary()
    with pytest.raises(DataError, match="needs a Diagnosis first"):
        pe.cdm.mastery_sampling_error(models, models)
    with pytest.raises(DataError, match="its factor built in"):
        pe.cdm.mastery_sampling_error(diagnosis, models, kind="jackknife", correction="rao-wu")
