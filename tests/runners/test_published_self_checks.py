"""What follows from the published figures of CSEBench, AlignED and TeachArena alone, by the rules that the runners use.

Printed figures are rounded. What is computed from whole numbers has to round to the printed figure, halves up; what is computed
from printed figures is held to what their rounding allows, and to no less.
"""

from __future__ import annotations

import json
import math
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

from psychoedu import datasets
from psychoedu.runners.rules.judgements import rubric_score
from psychoedu.runners.rules.rewards import LEARNER_WEIGHTS, R1_WEIGHTS, R2_WEIGHTS, REVELATION, UNCOMPLETED, balanced_mean
from psychoedu.runners.rules.statements import iteration_percents

CSEBENCH = ["cohesion", "phonology", "vocabulary", "syntax"]
N_PAIRS, N_TRIALS, N_WORKS, N_TASKS = 79, 3, 204, 68
N_CDPK, N_SEND = 920, 223
HALF_UNIT = 0.05
"""Percentages are printed with one decimal."""


def half_up(value: Fraction, decimals: int = 1) -> float:
    """Round an exact number to a number of decimals, halves away from 0."""
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    return float(exact.quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP))


def numerators(percent: float, denominator: int) -> list[int]:
    """List the whole numbers k for which k / denominator prints as this percentage."""
    return [k for k in range(denominator + 1) if half_up(Fraction(100 * k, denominator)) == percent]


# CSEBench


def test_the_csebench_tables_are_those_of_the_reference(root: Path) -> None:
    printed = json.loads((root / "tests" / "reference" / "csebench_published.json").read_text(encoding="utf-8"))
    fit = datasets.load_csebench_fit()
    assert [{"model": model, **row} for model, row in fit[["aic", "bic", "minus_2ll"]].to_dict("index").items()] == printed[
        "table2"
    ]
    mastery = datasets.load_csebench_mastery()
    assert len(mastery) == len(printed["table3"]) == 24


def test_numbers_of_parameters() -> None:
    fit = datasets.load_csebench_fit()
    implied = (fit["aic"] - fit["minus_2ll"]) / 2
    assert implied.to_numpy() == pytest.approx([130, 130, 152, 152, 192], abs=0.005)
    assert fit["n_parameters_implied"].tolist() == [130, 130, 152, 152, 192]
    n_items = 39 + 35 - 13
    assert n_items == 61
    # a higher-order 2PL on four attributes has 8: DINA 2 J, ACDM J + sum K_j, G-DINA sum 2^K_j besides
    assert 2 * n_items + 8 == 130
    assert 152 - 8 - n_items == 83
    assert 192 - 8 == 184
    solutions = [
        (n1, n2, n3, n4)
        for n4 in range(12)
        for n3 in range(24)
        for n2 in range(62)
        if (n1 := n_items - n2 - n3 - n4) >= 0
        and n1 + 2 * n2 + 3 * n3 + 4 * n4 == 83
        and 2 * n1 + 4 * n2 + 8 * n3 + 16 * n4 == 184
    ]
    assert solutions == [(48, 4, 9, 0), (46, 9, 5, 1), (44, 14, 1, 2)]


def test_the_sample_size_in_bic_is_that_of_learners_and_model_runs() -> None:
    fit = datasets.load_csebench_fit()
    limits = {
        model: [math.exp((row["bic"] - row["minus_2ll"] + shift) / row["n_parameters_implied"]) for shift in (-0.01, 0.01)]
        for model, row in fit.iterrows()
    }
    assert limits["HO-GDINA"] == pytest.approx([2073.90, 2074.12], abs=0.005)
    assert all(low < 2074 < high for low, high in limits.values())
    assert not any(low < 2050 < high for low, high in limits.values())
    assert 2074 - (1102 + 948) == 12 * 2 == len(datasets.load_csebench_mastery())


def test_best_models_by_each_criterion() -> None:
    fit = datasets.load_csebench_fit()
    assert fit[["aic", "bic", "minus_2ll"]].idxmin().tolist() == ["HO-GDINA", "HO-RRUM", "HO-GDINA"]
    assert (fit["minus_2ll"].drop("HO-GDINA") > fit.loc["HO-GDINA", "minus_2ll"]).all()  # the others are nested in it


def test_mastery_as_the_text_tells_it_and_where_it_does_not() -> None:
    table = datasets.load_csebench_mastery()
    mastered = table[CSEBENCH] > 0.5
    qwen = mastered.loc["Qwen2.5-7B-Instruct"]
    assert qwen["phonology"].tolist() == [False, False]
    assert qwen.drop(columns="phonology").all(axis=None)
    others = mastered.loc[["RWKV-v6-7b", "Meta-Llama-3-8B-Instruct", "Mistral-7B-Instruct-v0.3"]]
    # "do not reach mastery on any attribute", but for one cell
    assert [(*label, name) for label, row in others.iterrows() for name in CSEBENCH if row[name]] == [
        ("Meta-Llama-3-8B-Instruct", "few_shot", "cohesion")
    ]
    for one, other in [("Qwen2.5-Instruct-Cross-Attn", "Qwen2.5-Instruct-Cross-Attn-syntax"), ("Claude4", "Deepseek-R1")]:
        pd.testing.assert_frame_equal(table.loc[one], table.loc[other])


def test_levels_rise_with_ability() -> None:
    levels = datasets.load_csebench_levels()
    ability = datasets.load_csebench_mastery()["ability"].unstack()[["zero_shot", "few_shot"]]
    assert sorted(levels.index) == sorted(ability.index)
    assert set(levels.to_numpy().ravel()) == {3, 4, 5, 6}
    pairs = levels.melt(ignore_index=False, value_name="level").set_index("variable", append=True)
    pairs["ability"] = ability.melt(ignore_index=False).set_index("condition", append=True)["value"].loc[pairs.index].to_numpy()
    spans = pairs.groupby("level")["ability"].agg(["min", "max"])
    assert (spans["min"].iloc[1:].to_numpy() > spans["max"].iloc[:-1].to_numpy()).all()


# AlignED


def test_designs_add_up() -> None:
    assert 30 * 12 == 356 + 4 == 360
    assert N_PAIRS * N_TRIALS == 237
    assert N_CDPK + N_SEND == 1143
    assert 15 + 17 == 32
    assert N_TASKS * 3 == N_WORKS
    assert [len(getattr(datasets, f"load_aligned_{name}")()) for name in ("neuromyths", "scenarios", "pedagogy")] == [31, 30, 23]
    assert [len(getattr(datasets, f"load_aligned_{name}")()) for name in ("comparative", "grading")] == [12, 7]


def test_neuromyth_percentages_are_counts_rounded_half_up() -> None:
    table = datasets.load_aligned_neuromyths()
    for model, row in table.iterrows():
        key = [True] * row["total_items"]
        answers = ["Correct"] * row["correct"] + ["Incorrect"] * (row["total_items"] - row["correct"])
        assert iteration_percents([answers], key)[0] == pytest.approx(row["score_pct"], abs=HALF_UNIT + 1e-9), model
        assert half_up(Fraction(100 * row["correct"], row["total_items"])) == row["score_pct"], model
    # 81.25 is printed 81.3: halves go up, which round() does not do
    assert table.loc["GPT-5 Mini", ["correct", "total_items", "score_pct"]].tolist() == [26, 32, 81.3]
    assert round(100 * 26 / 32, 1) == 81.2


def test_most_models_did_not_see_32_statements() -> None:
    assert datasets.load_aligned_neuromyths()["total_items"].value_counts().to_dict() == {28: 22, 32: 6, 29: 2, 23: 1}


def test_scenario_percentages_are_of_36() -> None:
    table = datasets.load_aligned_scenarios()
    assert (table["max_score"] == 12 * 3).all()
    for model, row in table.iterrows():
        full, rest = divmod(row["raw_score"], 3)
        scores = ([3] * full + [rest] + [0] * 12)[:12]
        found = rubric_score(scores)
        assert (found.raw, found.maximum) == (row["raw_score"], row["max_score"])
        assert half_up(Fraction(100 * row["raw_score"], 36)) == row["score_pct"], model


def test_the_certification_total_is_the_share_of_all_items() -> None:
    for model, row in datasets.load_aligned_pedagogy().iterrows():
        totals = {
            half_up(Fraction(100 * (cdpk + send), N_CDPK + N_SEND))
            for cdpk in numerators(row["pedagogy_cdpk_pct"], N_CDPK)
            for send in numerators(row["pedagogy_send_pct"], N_SEND)
        }
        assert row["pedagogy_total_pct"] in totals, model
    best = datasets.load_aligned_pedagogy().loc["Gemini 2.5 Pro"]
    assert (best["pedagogy_total_pct"], best["pedagogy_cdpk_pct"]) == (88.5, 89.3)  # 88.5 is not "pedagogical knowledge"


def test_comparative_accuracy_counts_evaluations_and_not_both_orders() -> None:
    table = datasets.load_aligned_comparative()
    counts = {column: [numerators(value, 237) for value in table[column]] for column in ("accuracy", "reliability")}
    assert all(len(found) == 1 for column in counts.values() for found in column)
    right, consistent = ([found[0] for found in counts[column]] for column in ("accuracy", "reliability"))
    # right in both orders would be consistent as well, so that it could not be more often
    assert sum(a > c for a, c in zip(right, consistent, strict=True)) == 5
    gemini = table.index.get_loc("Gemini 2.5 Pro")
    assert (right[gemini], consistent[gemini]) == (205, 201)


def test_an_odd_number_of_calls_would_mostly_not_print_like_one_of_evaluations() -> None:
    """The check above says something: of the odd k / 474, less than a quarter print as some k / 237 does."""
    evaluations = {half_up(Fraction(100 * k, 237)) for k in range(238)}
    odd = [half_up(Fraction(100 * k, 474)) for k in range(1, 474, 2)]
    assert sum(value in evaluations for value in odd) / len(odd) < 0.25


def test_grading_kappa_is_a_line_in_accuracy() -> None:
    table = datasets.load_aligned_grading()
    implied = (table["overall_accuracy"] / 100 - 1 / 3) / (2 / 3)
    allowed = HALF_UNIT / 100 * 1.5 + 0.0005
    assert ((implied - table["kappa"]).abs() <= allowed + 1e-9).all()
    assert implied.loc["Claude 4.5 Sonnet"] == pytest.approx(0.301, abs=5e-4)
    assert round((0.501 - 1 / 3) / (2 / 3), 3) == 0.252


LEVEL_COLUMNS = ["above_sat_accuracy", "sat_accuracy", "below_sat_accuracy"]


def test_accuracies_by_level_are_of_68_but_for_one_model() -> None:
    table = datasets.load_aligned_grading()
    whole = {model: all(numerators(row[name], N_TASKS) for name in LEVEL_COLUMNS) for model, row in table.iterrows()}
    assert [model for model, fits in whole.items() if not fits] == ["Gemini 3 Flash"]
    for model, row in table.drop("Gemini 3 Flash").iterrows():
        right = sum(numerators(row[name], N_TASKS)[0] for name in LEVEL_COLUMNS)
        assert half_up(Fraction(100 * right, N_WORKS)) == row["overall_accuracy"], model


def test_the_published_averages_are_pooled_over_readable_classifications() -> None:
    """5.5, 72.6, 72.3 and 50.1 are no means of the seven models; with 14 of 65, 63 of 66 and 34 of 65 they are pooled."""
    table = datasets.load_aligned_grading()
    means = table[[*LEVEL_COLUMNS, "overall_accuracy"]].mean().round(1).tolist()
    assert means != [5.5, 72.6, 72.3, 50.1]
    flash = {"above_sat_accuracy": (14, 65), "sat_accuracy": (63, 66), "below_sat_accuracy": (34, 65)}
    assert all(half_up(Fraction(100 * k, n)) == table.loc["Gemini 3 Flash", name] for name, (k, n) in flash.items())
    others = table.drop("Gemini 3 Flash")
    right = {name: flash[name][0] + sum(numerators(value, N_TASKS)[0] for value in others[name]) for name in LEVEL_COLUMNS}
    seen = {name: flash[name][1] + N_TASKS * len(others) for name in LEVEL_COLUMNS}
    assert [half_up(Fraction(100 * right[name], seen[name])) for name in LEVEL_COLUMNS] == [5.5, 72.6, 72.3]
    assert half_up(Fraction(100 * sum(right.values()), sum(seen.values()))) == 50.1
    assert half_up(Fraction(100 * (14 + 63 + 34), 65 + 66 + 65)) == table.loc["Gemini 3 Flash", "overall_accuracy"]


MYTHS = "Q02 Q04 Q05 Q07 Q09 Q12 Q15 Q19 Q21 Q22 Q24 Q25 Q28 Q30 Q32".split()
PROBED = "Q05 Q07 Q09 Q15 Q21 Q22 Q25 Q30".split()
FALSE_ASSERTIONS = ["Q10", "Q11"]


@pytest.mark.shared
def test_the_neuromyth_items_and_their_prevalence(shared: Path) -> None:
    items = pd.read_csv(shared / "examples" / "aligned_neuromyth_items.csv", index_col="item_id")
    assert len(items) == 32
    assert items.index[items["item_type_aligned"] == "neuromyth"].tolist() == MYTHS
    assert sorted(items.index[~items["key_aligned"]]) == sorted(MYTHS + FALSE_ASSERTIONS)
    assert items["key_aligned"].value_counts().to_dict() == {False: 17, True: 15}
    assert items.index[items["confidence_probe"] == 1].tolist() == PROBED
    # Dekker et al. (2012), table 1: 15 rows and two countries, 13 of them myths here as well
    believed = items[["dekker_incorrect_uk", "dekker_incorrect_nl"]].dropna()
    assert believed.to_numpy().mean() == pytest.approx(48.8, abs=1e-9)
    assert sorted(believed.index.difference(MYTHS)) == ["Q26", "Q27"]


# TeachArena


def test_weights_of_the_rewards() -> None:
    assert Fraction("0.35") + Fraction("0.16") + Fraction("0.24") + Fraction("0.25") == 1
    assert list(R2_WEIGHTS.values()) == [0.35, 0.16, 0.24, 0.25]
    assert list(R1_WEIGHTS.values()) == [0.55, 0.45]
    assert list(LEARNER_WEIGHTS.values()) == [0.50, 0.25, 0.25]
    assert (UNCOMPLETED, REVELATION["complete"], REVELATION["partial"]) == (0.92, 0.20, 0.70)
    assert 117 + 100 + 137 == 354
    assert 26 + 22 + 17 + 52 == 100 + 17 == 117


def test_the_overall_score_is_the_balanced_mean_of_the_stages() -> None:
    table = datasets.load_teacharena_stages()
    ours = pd.Series({model: balanced_mean(row["stage_1"], row["stage_2"], row["stage_3"]) for model, row in table.iterrows()})
    assert ((ours - table["overall"]).abs() <= 0.001 + 1e-9).all()
    apart = ours.index[ours.round(3) != table["overall"].loc[ours.index]]
    assert ours[apart].round(4).to_dict() == {"Claude Opus 4.8": 0.8023, "Claude Opus 4.6": 0.7903, "DeepSeek-V4-Pro": 0.7317}
