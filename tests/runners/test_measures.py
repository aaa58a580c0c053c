"""Tables of agreement between judges, runs and keys, and of what conditions have to do with scores."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychoedu.exceptions import DataError, LabelError
from psychoedu.runners import measures
from psychoedu.runners.measures import condition_variance, judge_agreement, key_sensitivity

EXACT = 1e-12


def judged() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "one": [0, 1, 2, 3, 3, 2],
            "two": [0, 1, 3, 3, 1, None],
            "human": [0, 2, 2, 3, None, 2],
        },
        index=[f"S{number}" for number in range(1, 7)],
    )


def test_pairs_of_judges_by_hand() -> None:
    pairs = judge_agreement(judged()).pairs
    assert list(pairs.index) == [("one", "two"), ("one", "human"), ("two", "human")]
    first = pairs.loc[("one", "two")]
    # differences 0 0 -1 0 2
    assert first["n"] == 5
    assert (first["exact"], first["within_one"]) == (0.6, 0.8)
    assert first["mean_difference"] == pytest.approx(0.2, rel=EXACT)
    # 3 of 5 alike; margins 1 1 1 2 and 1 2 0 2: (1 + 2 + 0 + 4) / 25
    assert first["kappa"] == pytest.approx((0.6 - 0.28) / 0.72, rel=EXACT)
    # mean squared difference 1; moments: var 1.36 and 1.44, means 1.8 and 1.6
    assert first["kappa_quadratic"] == pytest.approx(1 - 1.0 / (1.36 + 1.44 + 0.04), rel=EXACT)
    assert pairs.loc[("two", "human"), "n"] == 4


def test_judges_and_overall_agreement() -> None:
    found = judge_agreement(judged())
    assert found.judges.loc["human", "n"] == 5
    assert found.judges.loc["human", "mean"] == pytest.approx(1.8, rel=EXACT)
    assert found.judges.loc["two", [0.0, 1.0, 2.0, 3.0]].tolist() == [0.2, 0.4, 0.0, 0.4]
    overall = found.overall
    assert overall.loc["fleiss_kappa", "n"] == overall.loc["ICC(2,1)", "n"] == 4  # scored by all three
    assert overall.loc["alpha_ordinal", "n"] == 6  # scored by two at least
    # complete rows 000 112 232 333: agreeing pairs (3 + 1 + 1 + 3) of 12; shares of 0 1 2 3: 3 2 3 4 of 12
    expected = (9 + 4 + 9 + 16) / 144
    assert overall.loc["fleiss_kappa", "value"] == pytest.approx((8 / 12 - expected) / (1 - expected), rel=EXACT)
    assert overall.loc["ICC(3,k)", "low"] < overall.loc["ICC(3,k)", "value"] < overall.loc["ICC(3,k)", "high"]


def test_two_judges_who_agree_and_two_who_saw_nothing_together() -> None:
    same = judge_agreement(pd.DataFrame({"a": [0, 1, 2, 3], "b": [0, 1, 2, 3]}))
    assert same.pairs[["exact", "within_one", "kappa", "kappa_linear", "kappa_quadratic"]].to_numpy().tolist() == [[1.0] * 5]
    assert same.overall.drop("fleiss_kappa")["value"].to_numpy() == pytest.approx(1.0, abs=EXACT)
    apart = judge_agreement(pd.DataFrame({"a": [0.0, np.nan], "b": [np.nan, 1.0]}))
    assert apart.pairs["n"].tolist() == [0]
    assert apart.pairs.drop(columns="n").isna().all(axis=None)
    assert "ICC(2,1)" not in apart.overall.index


def test_judges_are_columns_with_scores_of_the_scale() -> None:
    with pytest.raises(DataError, match="at least 2 judges"):
        judge_agreement(pd.DataFrame({"a": [0, 1]}))
    with pytest.raises(DataError, match="Ratings outside the categories"):
        judge_agreement(pd.DataFrame({"a": [0, 1], "b": [0, 4]}))
    assert judge_agreement(pd.DataFrame({"a": [0, 10], "b": [10, 10]}), categories=None).pairs["exact"].tolist() == [0.5]


def runs(
    answers: dict[str, list[str | None]], model: str = "m", reasons: dict[tuple[str, int], str] | None = None
) -> pd.DataFrame:
    rows = []
    for item, own in answers.items():
        for epoch, answer in enumerate(own, start=1):
            reason = (reasons or {}).get((item, epoch), "answered" if answer else "unparsed")
            rows.append(
                {"model": model, "condition": "zero_shot", "item_id": item, "epoch": epoch, "parsed": answer, "reason": reason}
            )
    return pd.DataFrame(rows)


def test_agreement_of_runs_by_hand() -> None:
    frame = runs({"q1": ["A", "A", "A"], "q2": ["A", "B", "A"], "q3": ["A", "B", "C"], "q4": ["D", None, None]})
    row = measures.test_retest(frame).loc[("m", "zero_shot")]
    assert (row["n_items"], row["n_runs"], row["n_compared"]) == (4, 3, 12)
    assert row["same_answer"] == 0.25
    assert row["pairwise_agreement"] == pytest.approx((1 + 1 / 3 + 0 + 1 / 3) / 4, rel=EXACT)
    # shares of A B C D and none: 6 2 1 1 2 of 12
    expected = (36 + 4 + 1 + 1 + 4) / 144
    assert row["fleiss_kappa"] == pytest.approx((5 / 12 - expected) / (1 - expected), rel=EXACT)


def test_unparsed_runs_may_be_left_out_and_failed_calls_are() -> None:
    answers = {"q1": ["A", "A", None], "q2": ["A", "B", "A"], "q3": [None, None, None]}
    frame = runs(answers, reasons={("q2", 2): "api_error"})
    counted = measures.test_retest(frame).loc[("m", "zero_shot")]
    assert (counted["n_items"], counted["n_compared"]) == (3, 7)
    assert counted["same_answer"] == pytest.approx(2 / 3, rel=EXACT)  # q2 without its failed call, q3 never an answer
    assert math.isnan(counted["fleiss_kappa"])  # three runs and two
    dropped = measures.test_retest(frame, unparsed="drop").loc[("m", "zero_shot")]
    assert (dropped["n_items"], dropped["same_answer"]) == (2, 1.0)


def test_models_are_compared_with_themselves_alone() -> None:
    frame = pd.concat([runs({"q1": ["A", "A"]}, "one"), runs({"q1": ["B", "C"]}, "other"), runs({"q1": ["B"]}, "once")])
    table = measures.test_retest(frame)
    assert table["same_answer"].loc[[("one", "zero_shot"), ("other", "zero_shot")]].tolist() == [1.0, 0.0]
    assert table.loc[("once", "zero_shot"), ["n_items", "n_runs"]].tolist() == [0, 1]
    assert math.isnan(table.loc[("once", "zero_shot"), "same_answer"])
    assert list(measures.test_retest(frame, by=["model"]).index) == ["one", "other", "once"]
    with pytest.raises(DataError, match="3 runs recorded twice"):
        measures.test_retest(frame, by=[])
    with pytest.raises(LabelError, match="'epoch'"):
        measures.test_retest(frame.drop(columns="epoch"))


@given(
    st.lists(st.lists(st.sampled_from(["A", "B", None]), min_size=3, max_size=3), min_size=1, max_size=6),
    st.permutations(range(3)),
)
def test_agreement_knows_no_order_of_runs(answers: list[list[str | None]], order: list[int]) -> None:
    table = {f"q{number}": row for number, row in enumerate(answers)}
    turned = {item: [row[place] for place in order] for item, row in table.items()}
    pd.testing.assert_frame_equal(measures.test_retest(runs(table)), measures.test_retest(runs(turned)))


def test_scores_under_other_keys_by_hand() -> None:
    answers = pd.DataFrame(
        {
            "Q1": ["Correct", "Incorrect"],
            "Q2": ["Incorrect", "Incorrect"],
            "Q3": ["Incorrect", "Correct"],
            "Q4": [None, "Correct"],
        },
        index=["m1", "m2"],
    )
    key = {"Q1": True, "Q2": False, "Q3": False, "Q4": True}
    table = key_sensitivity(answers, key, {"re-keyed": {"Q3": True}, "without Q4": {"Q4": None}})
    assert list(table.index) == [
        ("m1", "key"),
        ("m1", "re-keyed"),
        ("m1", "without Q4"),
        ("m2", "key"),
        ("m2", "re-keyed"),
        ("m2", "without Q4"),
    ]
    assert table["score"].tolist() == pytest.approx([0.75, 0.5, 1.0, 0.5, 0.75, 1 / 3], rel=EXACT)
    assert table["difference"].tolist() == pytest.approx([0, -0.25, 0.25, 0, 0.25, 1 / 3 - 0.5], rel=EXACT)
    assert table["rank"].tolist() == [1, 2, 1, 2, 1, 2]
    assert table["rank_change"].tolist() == [0, 1, 0, 0, -1, 0]
    assert table["n_answers"].tolist() == [4, 4, 3, 4, 4, 3]
    assert table["n_changed"].tolist() == [0, 1, 1, 0, 1, 1]
    missing = key_sensitivity(answers, key, {"Q3": True}, invalid="missing")
    assert missing.loc[("m1", "key"), "score"] == 1.0  # three answered, all right
    assert missing.loc[("m1", "alternative"), "n_answers"] == 3


def test_keys_of_records_with_several_runs_and_failed_calls() -> None:
    frame = pd.concat(
        [
            runs({"q1": ["A", "B"], "q2": ["C", None]}, "one"),
            runs({"q1": ["A", None], "q2": ["C", "C"]}, "other", {("q1", 2): "api_error"}),
        ]
    )
    table = key_sensitivity(frame, {"q1": "A", "q2": "C"}, {"q1": "B"})["score"]
    assert table.loc[("one", "zero_shot")].tolist() == [0.5, 0.5]
    assert table.loc[("other", "zero_shot")].tolist() == pytest.approx([1.0, 2 / 3], rel=EXACT)


def test_the_same_key_changes_nothing() -> None:
    frame = runs({"q1": ["A", "B"], "q2": ["C", None]})
    table = key_sensitivity(frame, {"q1": "A", "q2": "C"}, {"same": {}, "again": {"q1": "A"}})
    assert table["difference"].tolist() == [0.0, 0.0, 0.0]
    assert table["n_changed"].tolist() == [0, 0, 0]


def test_keys_that_do_not_fit() -> None:
    frame = runs({"q1": ["A", "B"]})
    with pytest.raises(DataError, match="1 item without a key: 'q1'"):
        key_sensitivity(frame, {"q2": "A"}, {})
    with pytest.raises(DataError, match="'alternative' has keys for items that the key lacks: 'q9'"):
        key_sensitivity(frame, {"q1": "A"}, {"q9": "B"})
    with pytest.raises(DataError, match="An alternative is called 'key'"):
        key_sensitivity(frame, {"q1": "A"}, {"key": {"q1": "B"}})
    with pytest.raises(DataError, match="Expected records or a DataFrame"):
        key_sensitivity([1], {"q1": "A"}, {})


def balanced() -> pd.DataFrame:
    """Two models x three numbers of exemplars x two orders, two items; score = model + shots + order, and an item's own share."""
    rows = []
    for model, of_model in (("m1", -0.1), ("m2", 0.1)):
        for shots, of_shots in ((0, -0.2), (2, 0.0), (8, 0.2)):
            for order, of_order in (("fixed", -0.05), ("random", 0.05)):
                for item, of_item in (("q1", -0.15), ("q2", 0.15)):
                    score = 0.5 + of_model + of_shots + of_order + of_item
                    rows.append({"model": model, "shots": shots, "order": order, "item_id": item, "score": score})
    return pd.DataFrame(rows)


def test_shares_of_a_balanced_design_in_closed_form() -> None:
    table = condition_variance(balanced(), ["shots", "order"])
    squares = 24 * np.array([0.01, 0.08 / 3, 0.0025])  # N times the mean square of the effects
    assert table["sum_of_squares"].iloc[:3].to_numpy() == pytest.approx(squares, rel=1e-10)
    assert table.loc["residual", "sum_of_squares"] == pytest.approx(24 * 0.0225, rel=1e-10)
    assert table.loc["shared", "sum_of_squares"] == 0.0
    assert table["df"].to_dict() == {"model": 1, "shots": 2, "order": 1, "residual": 19, "shared": 0, "total": 23}
    assert table["share"].drop("total").sum() == pytest.approx(1.0, rel=1e-10)
    square = 24 * 0.0225 / 19
    assert table.loc["shots", "omega_squared"] == pytest.approx(
        (squares[1] - 2 * square) / (table.loc["total", "sum_of_squares"] + square)
    )


def unbalanced(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = balanced().drop(columns="item_id").sample(frac=3.0, replace=True, random_state=seed).reset_index(drop=True)
    frame["kind"] = rng.choice(["near", "far", "mixed"], len(frame))
    frame["score"] += rng.normal(scale=0.1, size=len(frame))
    return frame


@pytest.mark.parametrize("interactions", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_shares_of_an_unbalanced_design_are_those_of_statsmodels(interactions: bool, seed: int) -> None:
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    frame = unbalanced(seed)
    formula = "score ~ C(model) + C(shots) + C(kind)"
    if interactions:
        formula = "score ~ (C(model) + C(shots) + C(kind)) ** 2"
    reference = anova_lm(ols(formula, frame).fit(), typ=2)
    reference.index = reference.index.str.replace(r"C\((\w+)\)", r"\1", regex=True)
    table = condition_variance(frame, ["shots", "kind"], interactions=interactions)
    for term in reference.index.drop("Residual"):
        assert table.loc[term, "sum_of_squares"] == pytest.approx(reference.loc[term, "sum_sq"], rel=1e-8), term
        assert table.loc[term, "df"] == reference.loc[term, "df"]
        assert table.loc[term, "f"] == pytest.approx(reference.loc[term, "F"], rel=1e-8)
        assert table.loc[term, "p_value"] == pytest.approx(reference.loc[term, "PR(>F)"], rel=1e-6)
    assert table.loc["residual", "sum_of_squares"] == pytest.approx(reference.loc["Residual", "sum_sq"], rel=1e-8)
    assert table.loc["residual", "df"] == reference.loc["Residual", "df"]
    parts = table["sum_of_squares"].drop("total").sum()
    assert parts == pytest.approx(((frame["score"] - frame["score"].mean()) ** 2).sum(), rel=1e-10)


def test_a_field_that_moves_with_another_has_no_share_of_its_own() -> None:
    frame = balanced()
    frame["type"] = frame["shots"].map({0: "none", 2: "near", 8: "near"})
    table = condition_variance(frame, ["shots", "type"])
    assert table.loc["type", ["df", "sum_of_squares"]].tolist() == [0, 0.0]
    assert table.loc["shots", "df"] == 1
    assert table.loc["shared", "sum_of_squares"] > 0.0
    assert table.loc["shared", "df"] == 1


def test_an_exact_fit_leaves_no_residual() -> None:
    table = condition_variance(balanced().query("item_id == 'q1'"), ["shots", "order"])
    assert table.loc["residual", "sum_of_squares"] == 0.0
    assert np.isinf(table.loc["shots", "f"])
    saturated = condition_variance(balanced().query("item_id == 'q1' and order == 'fixed'"), ["shots"], interactions=True)
    assert saturated.loc["residual", "df"] == 0
    assert saturated.loc[["model", "shots"], "omega_squared"].isna().all()


def test_levels_that_are_missing_values_are_levels() -> None:
    frame = balanced().replace({"order": {"fixed": None}})
    pd.testing.assert_frame_equal(
        condition_variance(frame, ["shots", "order"]), condition_variance(balanced(), ["shots", "order"])
    )


def test_constant_scores_have_no_shares() -> None:
    table = condition_variance(balanced().assign(score=0.1), ["shots"])
    assert table["share"].isna().all()
    assert table.loc["total", "sum_of_squares"] == 0.0


def test_fields_have_to_be_columns_of_their_own() -> None:
    frame = balanced()
    assert list(condition_variance(frame, "shots", model=None).index) == ["shots", "residual", "shared", "total"]
    for wrong in ([], ["model"], ["shots", "shots"]):
        with pytest.raises(DataError, match="expected at least one column of conditions"):
            condition_variance(frame, wrong)
    with pytest.raises(LabelError, match="'temperature'"):
        condition_variance(frame, ["temperature"])
    with pytest.raises(DataError, match="0 rows with a score"):
        condition_variance(frame.assign(score=np.nan), ["shots"])
    with pytest.raises(DataError, match="infinite"):
        condition_variance(frame.assign(score=np.inf), ["shots"])
