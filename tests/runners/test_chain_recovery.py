"""Two hundred simulated respondents through the CSEBench runner and Inspect: abilities and mastery come back. Takes minutes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("inspect_ai", reason="the extra [runners] is not installed")

from chain_designs import (
    N_ITEMS,
    abilities,
    learners_and_q,
    names_of,
    parameters,
    pivots,
    profiles_drawn,
    questions,
    right_by_draws,
    written,
)
from mock_models import INSPECT

import psychoedu as pe
from psychoedu.cdm.accuracy import classification_accuracy
from psychoedu.runners import run

pytestmark = [*INSPECT, pytest.mark.slow]
N = 200
STANDARD_ERRORS = 4.0
BIAS, COVERAGE = 0.2, (0.93, 0.97)


def collected(folder: Path, names: list[str], bank: Any, n_items: int, runs: int = 1) -> Any:
    models = [f"simulated/{name}" for name in names]
    settings = {"model_args": written(folder, bank, n_items)}
    return run(
        "csebench", models, ["zero_shot"], items=folder / "items.csv", out=folder / "out", repeats=runs, settings=settings,
        progress=False,
    )  # fmt: skip


def test_abilities_come_back_with_their_standard_errors(tmp_path: Path) -> None:
    """Monte Carlo errors with 200 respondents: 0.07 of the mean and 1.5 points of the coverage.

    Limits of 93 and 97% are so little more than one of these away that another choice of seeds would miss them one time in five;
    the seeds are the first 200 numbers. ``test_chain_directly`` asks 2,000 respondents, with errors a third as large.
    """
    thetas, bank = abilities(N), parameters()
    names = names_of(thetas)
    matrix = collected(tmp_path, names, bank, N_ITEMS).matrix()
    np.testing.assert_array_equal(matrix.to_frame(), right_by_draws(names, bank, questions()))
    for method in ("wle", "ml"):
        found = pivots(pe.score(bank, matrix, method=method), thetas)
        assert np.isfinite(found).all()
        assert abs(found.mean()) < BIAS
        assert COVERAGE[0] <= (np.abs(found) < 1.96).mean() <= COVERAGE[1]


def test_mastery_comes_back_as_the_classification_accuracy_says(tmp_path: Path) -> None:
    learners, q = learners_and_q()
    diagnosis = pe.diagnose(learners, q, model="DINA", structure="saturated", n_starts=1, standard_errors=None)
    profiles = profiles_drawn(diagnosis, N)
    names = [f"profile={profile},seed={seed}" for seed, profile in enumerate(profiles)]
    matrix = collected(tmp_path, names, diagnosis, len(q)).matrix()
    classified = pe.cdm.score(diagnosis, matrix).classification(method="map")[list(diagnosis.attribute_labels)].to_numpy()
    true = np.array([[int(digit) for digit in profile] for profile in profiles])
    promised = classification_accuracy(diagnosis).attributes["accuracy"].to_numpy()
    error = np.sqrt(promised * (1.0 - promised) * (1.0 / N + 1.0 / diagnosis.n_respondents))
    np.testing.assert_array_less(np.abs((classified == true).mean(axis=0) - promised), STANDARD_ERRORS * error)


def test_three_runs_agree_as_often_as_flips_let_them(tmp_path: Path) -> None:
    """With a flip in one of ten: (1 - 0.1)^3, and 0.1^3 / 9 for three flips to the same option."""
    flip, n = 0.1, 12
    table = collected(tmp_path, names_of(abilities(n), f",flip={flip}"), parameters(), N_ITEMS, runs=3).records.test_retest()
    chance = (1.0 - flip) ** 3 + flip**3 / 9.0
    error = np.sqrt(chance * (1.0 - chance) / (n * N_ITEMS))
    assert chance == pytest.approx(0.7291, abs=5e-5)
    assert table["same_answer"].mean() == pytest.approx(chance, abs=STANDARD_ERRORS * error)
