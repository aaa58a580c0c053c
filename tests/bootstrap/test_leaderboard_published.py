"""Figures of TeachArena that follow from its printed tables 6 and 11.

Every printed figure is rounded to three decimals, two for correlations. What is computed from printed scores is therefore held to
what that rounding allows, and to no less: the mean of three printed scores may differ from a printed mean by 0.0005 + 0.0005.
"""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import psychoedu as pe
from psychoedu import datasets

HALF_UNIT = 0.0005
"""Printed with three decimals."""
OF_MEANS = 2.0 * HALF_UNIT + 1e-9
"""A mean of printed figures beside a printed mean: half a unit each."""
OF_CORRELATIONS = 0.02
"""Printed ties need not be ties: breaking them moves Spearman's rho by up to 0.017 from the printed 0.24, 0.21 and 0.58."""
STAGES = ["stage_1", "stage_2", "stage_3"]
PRINTED_RHO = {("stage_1", "stage_2"): 0.24, ("stage_2", "stage_3"): 0.21, ("stage_1", "stage_3"): 0.58}
DISAGREE = {"Claude Opus 4.8": 0.803, "Claude Opus 4.6": 0.791, "DeepSeek-V4-Pro": 0.731}


@pytest.fixture(scope="module")
def scores() -> pd.DataFrame:
    return datasets.load_teacharena_stages()


@pytest.fixture(scope="module")
def board(scores: pd.DataFrame) -> pe.Leaderboard:
    return pe.leaderboard_from_scores(scores, STAGES)


@pytest.fixture(scope="module")
def strata() -> pd.DataFrame:
    return datasets.load_teacharena_strata()


def rho(board: pe.Leaderboard) -> dict[tuple[str, str], float]:
    estimates = board.rank_correlations()["estimate"].xs("spearman", level="coefficient")
    return {pair: float(estimates.loc[pair]) for pair in PRINTED_RHO}


def test_overall_is_the_mean_of_the_stages(scores: pd.DataFrame, board: pe.Leaderboard) -> None:
    ours = board.table["overall"]
    np.testing.assert_allclose(ours, scores["overall"].loc[ours.index], atol=OF_MEANS, rtol=0.0)
    # means of three three-digit figures end in 0, 3 or 7 in the fourth: none is near the edge of rounding
    agree = ours.round(3) == scores["overall"].loc[ours.index]
    assert agree.sum() == 14
    assert scores["overall"].loc[agree.index[~agree]].to_dict() == DISAGREE


def test_the_order_is_that_of_the_paper(scores: pd.DataFrame, board: pe.Leaderboard) -> None:
    assert list(board.models) == list(scores.index)
    assert board.table["rank"].tolist() == list(range(1, 18))


def test_rank_correlations_within_what_ties_allow(board: pe.Leaderboard) -> None:
    found = rho(board)
    for pair, printed in PRINTED_RHO.items():
        assert found[pair] == pytest.approx(printed, abs=OF_CORRELATIONS)
    # with mid-ranks, as the reference prints them to four decimals
    assert {pair: round(value, 4) for pair, value in found.items()} == {
        ("stage_1", "stage_2"): 0.2594,
        ("stage_2", "stage_3"): 0.2138,
        ("stage_1", "stage_3"): 0.5739,
    }


def test_one_way_to_break_the_printed_ties_gives_all_three_correlations(scores: pd.DataFrame) -> None:
    """Stage 1 ties at 0.916 twice and stage 2 at 0.763 three times: 2 x 6 orders, one of which gives the paper's figures."""
    pair = scores.index[scores["stage_1"] == 0.916]
    three = scores.index[scores["stage_2"] == 0.763]
    assert (len(pair), len(three)) == (2, 3)
    others = [scores[stage].drop(own) for stage, own in (("stage_1", pair), ("stage_2", three), ("stage_3", []))]
    assert all(own.is_unique for own in others)
    found = []
    for first in itertools.permutations(pair):
        for second in itertools.permutations(three):
            broken = scores[STAGES].copy()
            for stage, order in (("stage_1", first), ("stage_2", second)):
                broken.loc[list(order), stage] += 1e-5 * np.arange(len(order))
            found.append(rho(pe.leaderboard_from_scores(broken)))
    assert len(found) == 12
    exact = [values for values in found if all(round(values[pair], 2) == printed for pair, printed in PRINTED_RHO.items())]
    assert [{pair: round(value, 4) for pair, value in values.items()} for values in exact] == [
        {("stage_1", "stage_2"): 0.2426, ("stage_2", "stage_3"): 0.2083, ("stage_1", "stage_3"): 0.576}
    ]


def test_stage_1_in_the_text(scores: pd.DataFrame) -> None:
    assert scores["stage_1"].mean() == pytest.approx(0.893, abs=OF_MEANS)
    assert (scores["stage_1"].min(), scores["stage_1"].max()) == (0.799, 0.947)


def test_median_spread_of_ranks_is_seven(scores: pd.DataFrame, board: pe.Leaderboard) -> None:
    assert board.rank_spread.median() == 7.0
    least = scores[STAGES].rank(ascending=False, method="min")
    assert (least.max(axis=1) - least.min(axis=1)).median() == 7.0


def test_statements_about_single_models(scores: pd.DataFrame, board: pe.Leaderboard) -> None:
    ranks = board.stage_ranks
    assert list(ranks.index[(ranks <= 3.0).all(axis=1)]) == ["Claude Opus 4.8"]
    assert ranks.loc["GPT-5.5", ["stage_3", "stage_2"]].tolist() == [4.0, 16.0]
    assert ranks.loc["Gemini-2.5-pro", ["stage_2", "stage_3"]].tolist() == [2.0, 12.0]
    gemini = ranks[ranks.index.str.startswith("Gemini")]
    assert len(gemini) == 4
    assert (gemini["stage_3"] > gemini["stage_2"]).all()
    gap = scores.loc["Kimi K2.6"] - scores.loc["Qwen3-Max"]
    assert gap[["overall", "stage_2", "stage_3"]].round(3).tolist() == [0.009, 0.078, -0.054]


def test_counts(strata: pd.DataFrame) -> None:
    counts = strata["n_tasks"].groupby(level="kind").sum()
    assert counts.to_dict() == {"profile": 100, "family": 137}
    assert 117 + counts.sum() == 354
    assert len(strata.loc["profile"]) == 6
    assert len(strata.loc["family"]) == 10
    assert strata.loc[("profile", "Strategic surface learner"), "n_tasks"] == 18
    assert strata.loc[("family", "Long-chain workflows"), "n_tasks"] == 6


@pytest.mark.parametrize(("kind", "stage", "expected"), [("profile", "stage_2", 0.7466), ("family", "stage_3", 0.5486)])
def test_strata_average_to_their_stage(
    scores: pd.DataFrame, strata: pd.DataFrame, kind: str, stage: str, expected: float
) -> None:
    """Mean over tasks of table 11 beside the mean over models of table 6: the same cells, added up in two ways."""
    own = strata.loc[kind]
    mean = float(np.average(own["mean"], weights=own["n_tasks"]))
    assert round(mean, 4) == expected
    assert mean == pytest.approx(scores[stage].mean(), abs=OF_MEANS)


@pytest.mark.parametrize(
    ("kind", "focal", "focal_mean", "others", "gap"),
    [
        ("profile", "Strategic surface learner", 0.702, 0.757, 0.055),
        ("family", "Long-chain workflows", 0.321, 0.559, 0.238),
    ],
)
def test_gaps_of_the_paper(strata: pd.DataFrame, kind: str, focal: str, focal_mean: float, others: float, gap: float) -> None:
    """The contrast itself on rewards that equal each stratum's printed mean: others less focal, task-weighted."""
    own = strata.loc[kind]
    repeated = own.loc[own.index.repeat(own["n_tasks"])].reset_index()
    rewards = pd.DataFrame(
        {"task": range(len(repeated)), "stratum": repeated["stratum"], "model": "all", "reward": repeated["mean"]}
    )
    found = pe.contrast(rewards, stratum="stratum", focal=focal, n_resamples=100, rng=1)
    assert found.focal_mean == pytest.approx(focal_mean, abs=1e-12)
    assert found.comparison_mean == pytest.approx(others, abs=OF_MEANS)
    assert found.estimate == pytest.approx(gap, abs=OF_MEANS)
    assert own["mean"].idxmin() == focal
    if kind == "family":
        assert (round(found.comparison_mean, 3), round(found.estimate, 3)) == (others, gap)
    else:  # 0.7564 and 0.0544 here, 0.757 and 0.055 printed
        assert (round(found.comparison_mean, 4), round(found.estimate, 4)) == (0.7564, 0.0544)


def test_the_unweighted_mean_of_the_other_profiles_is_another_figure(strata: pd.DataFrame) -> None:
    assert round(strata.loc["profile", "mean"].drop("Strategic surface learner").mean(), 4) == 0.7562


def test_intervals_are_not_made_from_printed_scores(board: pe.Leaderboard) -> None:
    assert not board.has_intervals
    assert board.table[["low", "high", "rank_low", "rank_high"]].isna().to_numpy().all()
    assert board.rank_correlations()[["low", "high", "disattenuated"]].isna().to_numpy().all()
