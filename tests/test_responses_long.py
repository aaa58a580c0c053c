"""The response matrix from long tables: one row per respondent, item and run, with reasons, answers and repeats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from psychoedu.exceptions import DataError, LabelError, RepeatsError, ResponseCodeError
from psychoedu.responses import Reason, ResponseMatrix

COLUMNS: dict[str, Any] = {"respondent": "model", "item": "item", "score": "score"}


@pytest.fixture
def twice() -> pd.DataFrame:
    """Model a saw item q twice, model b once."""
    return pd.DataFrame({"model": ["a", "a", "b"], "item": ["q", "q", "q"], "score": [1, 0, 1]})


def runs_of(answers: list[str | None], scores: list[float], stored: bool = True, **options: Any) -> ResponseMatrix:
    """Return one model's runs of one item as a matrix."""
    rows = pd.DataFrame({"model": "m", "item": "q", "run": range(1, len(scores) + 1), "answer": answers, "score": scores})
    return ResponseMatrix.from_long(rows, **COLUMNS, repeat="run", answer="answer" if stored else None, **options)


def test_long_table_by_hand() -> None:
    rows = pd.DataFrame({"model": list("bab"), "item": ["q2", "q1", "q1"], "score": [1.0, 0.0, np.nan]})
    before = rows.copy()
    matrix = ResponseMatrix.from_long(rows, **COLUMNS)
    assert matrix.respondent_labels.tolist() == ["b", "a"], "in the order in which they first occur"
    assert matrix.item_labels.tolist() == ["q2", "q1"]
    assert matrix.scored().tolist() == [[1, -1], [-1, 0]]
    pd.testing.assert_frame_equal(rows, before)


def test_wide_and_long_agree() -> None:
    rng = np.random.default_rng(3)
    wide = pd.DataFrame(rng.integers(0, 2, (30, 7)).astype(float), columns=[f"q{j}" for j in range(7)])
    wide = wide.mask(pd.DataFrame(rng.random(wide.shape) < 0.2))
    wide.index = pd.Index([f"p{i}" for i in range(30)], name="model")
    rows = wide.reset_index().melt(id_vars="model", var_name="item", value_name="score")
    shuffled = ResponseMatrix.from_long(rows.sample(frac=1.0, random_state=1), **COLUMNS).to_frame()
    expected = ResponseMatrix.from_wide(wide).to_frame()
    pd.testing.assert_frame_equal(shuffled.loc[expected.index, expected.columns], expected)


# ---- repeats ----------------------------------------------------------------------------------------------------------


def test_i22_same_pair_twice(twice: pd.DataFrame) -> None:
    with pytest.raises(RepeatsError, match=r"1 pair of respondent and item .*\('a', 'q'\)") as error:
        ResponseMatrix.from_long(twice, **COLUMNS)
    for choice in ("'majority'", "'mean'", "'first'", "repeat="):
        assert choice in str(error.value)
    assert ResponseMatrix.from_long(twice, **COLUMNS, repeats="first").scored().tolist() == [[1], [1]]
    mean = ResponseMatrix.from_long(twice, **COLUMNS, repeats="mean")
    assert mean.to_frame()["q"].tolist() == [0.5, 1.0]


def test_i22_order_of_rows_is_the_order_of_runs() -> None:
    rng = np.random.default_rng(22)
    rows = pd.DataFrame({"model": rng.integers(0, 200, 3000), "item": "q", "score": rng.integers(0, 2, 3000)})
    matrix = ResponseMatrix.from_long(rows, **COLUMNS, repeats="first")
    expected = rows.drop_duplicates("model").set_index("model")["score"]
    np.testing.assert_array_equal(matrix.to_frame()["q"], expected.loc[matrix.respondent_labels])


def test_i22_repeats_are_kept_as_a_third_axis(twice: pd.DataFrame) -> None:
    matrix = ResponseMatrix.from_long(twice.assign(run=[2, 1, 1]), **COLUMNS, repeat="run")
    assert matrix.repeat_codes.tolist() == [[[0, 1]], [[1, -1]]]
    assert matrix.repeat_labels is not None
    assert matrix.repeat_labels.tolist() == [1, 2]
    assert repr(matrix).startswith("ResponseMatrix(2 respondents x 1 item x 2 runs")
    for refused in (lambda: matrix.scored(), lambda: matrix.codes, lambda: matrix.to_frame(), lambda: matrix.reasons):
        with pytest.raises(RepeatsError, match="1 cell of 2 with more than one run") as error:
            refused()
        for choice in ("'majority'", "'mean'", "'first'"):
            assert choice in str(error.value)
    assert matrix.reduce("first").scored().tolist() == [[0], [1]], "run 1, though its row stands second"


def test_r5_same_run_twice_is_refused(twice: pd.DataFrame) -> None:
    for repeats in (None, "first"):
        with pytest.raises(RepeatsError, match=r"in one run \(column 'run'\): \('a', 'q'\)"):
            ResponseMatrix.from_long(twice.assign(run=1), **COLUMNS, repeat="run", repeats=repeats)


def test_a_run_each_is_no_repeat(twice: pd.DataFrame) -> None:
    rows = twice.iloc[1:].assign(run=[5, 7])
    matrix = ResponseMatrix.from_long(rows, **COLUMNS, repeat="run")
    assert matrix.n_repeats == 1
    assert matrix.scored().tolist() == [[0], [1]]
    assert matrix.reduce("mean") is matrix
    assert not matrix.is_fractional


@pytest.mark.parametrize(
    ("answers", "scores", "expected"),
    [
        (["B", "A", "A"], [0, 1, 1], 1),
        (["A", "B", "B"], [1, 0, 0], 0),
        (["B", "C", "A"], [0, 0, 1], 0),  # three different answers: the first run, although two runs were wrong
        (["A", "B", "C"], [1, 0, 0], 1),  # of the scores alone the majority would be wrong
        (["A", "B", "B", "A"], [1, 0, 0, 1], 1),
        (["B", "A", "A", "B"], [0, 1, 1, 0], 0),
        (["C", "A", "A", "B", "B"], [0, 1, 1, 0, 0], 1),  # among the tied answers, the one that came first
        ([None, "A", "A"], [0, 1, 1], 1),
        ([None, "A", "B"], [0, 1, 0], Reason.UNPARSED),  # a tie, and run 1 gave no answer
        ([None, None, "A"], [0, 0, 1], Reason.UNPARSED),
        ([" ", "", "A"], [0, 0, 1], Reason.UNPARSED),
    ],
)
def test_majority_of_answers(answers: list[str | None], scores: list[float], expected: int) -> None:
    matrix = runs_of(answers, scores).reduce("majority")
    assert matrix.codes.tolist() == [[expected]]
    assert matrix.reduction == "majority"
    assert runs_of(answers, scores, repeats="majority").codes.tolist() == [[expected]]


@pytest.mark.parametrize(
    ("answers", "scores", "expected"),
    [([None, None, "A"], [0, 0, 1], 1), ([None, "A", "B"], [0, 1, 0], 1), ([None, None, None], [0, 0, 0], Reason.UNPARSED)],
)
def test_majority_without_unparsed_votes(answers: list[str | None], scores: list[float], expected: int) -> None:
    assert runs_of(answers, scores).reduce("majority", unparsed="drop").codes.tolist() == [[expected]]


def test_majority_of_scores_where_no_answers_are_stored() -> None:
    matrix = runs_of(["A", "B", "C"], [1, 0, 0], stored=False).reduce("majority")
    assert matrix.scored().tolist() == [[0]]
    assert matrix.reduction == "majority_of_scores"
    assert "majority_of_scores" in repr(matrix)
    assert runs_of(["A", "B"], [1, 0], stored=False).reduce("majority").scored().tolist() == [[1]], "a tie goes to the first run"


def test_failed_runs_do_not_vote() -> None:
    rows = pd.DataFrame(
        {
            "model": "m",
            "item": ["p"] * 3 + ["q"] * 3 + ["r"] * 2,
            "run": [1, 2, 3, 1, 2, 3, 1, 2],
            "score": [0, 0, 1, 0, 0, 0, 0, 0],
            "why": ["api_error", "api_error", "", "api error", "refused", "", "API-error", "API error"],
        }
    )
    matrix = ResponseMatrix.from_long(rows, **COLUMNS, repeat="run", reason="why", repeats="majority")
    assert matrix.codes.tolist() == [[1, Reason.REFUSED, Reason.API_ERROR]]
    assert matrix.scored("wrong").tolist() == [[1, 0, -1]]
    first = ResponseMatrix.from_long(rows, **COLUMNS, repeat="run", reason="why", repeats="first")
    assert first.codes.tolist() == [[Reason.API_ERROR] * 3]


def test_mean_gives_fractions_that_are_no_scores() -> None:
    rows = pd.DataFrame(
        {
            "model": "m",
            "item": ["p"] * 3 + ["q"] * 2,
            "run": [1, 2, 3, 1, 2],
            "score": [1, 0, 0, 0, 0],
            "why": ["", "", "refused", "api_error", "api_error"],
        }
    )
    kept = ResponseMatrix.from_long(rows, **COLUMNS, repeat="run", reason="why")
    mean = kept.reduce("mean")
    assert mean.is_fractional
    assert not kept.is_fractional
    np.testing.assert_allclose(mean.to_frame().iloc[0], [1 / 3, np.nan], rtol=1e-12)
    np.testing.assert_allclose(mean.with_invalid("missing").to_frame().iloc[0], [1 / 2, np.nan], rtol=1e-12)
    np.testing.assert_allclose(kept.fractions(), mean.fractions(), rtol=0)
    for refused in (lambda: mean.scored(), lambda: mean.codes, lambda: mean.reduce("first")):
        with pytest.raises(RepeatsError, match="fractions"):
            refused()


def test_one_answer_with_two_scores_is_refused() -> None:
    with pytest.raises(RepeatsError, match="respondent 'm', item 'q'"):
        runs_of(["A", "A", "B"], [0, 1, 0]).reduce("majority")


def test_large_vote_meets_a_plain_count() -> None:
    """The vectorised vote against the sentence that defines it, spelled out cell by cell."""
    rng = np.random.default_rng(11)
    n, j, r = 40, 6, 5
    answers = rng.integers(-1, 4, (n, j, r))  # -1: no answer; answer 0 is right
    index = np.indices((n, j, r)).reshape(3, -1)
    rows = pd.DataFrame({"model": index[0], "item": index[1], "run": index[2], "answer": answers.ravel()})
    rows["score"] = (rows["answer"] == 0).astype(int)
    rows["answer"] = rows["answer"].map({-1: "", 0: "A", 1: "B", 2: "C", 3: "D"})
    matrix = ResponseMatrix.from_long(rows, **COLUMNS, repeat="run", answer="answer", repeats="majority")
    expected = np.empty((n, j), dtype=int)
    for i, k in np.ndindex(n, j):
        votes = answers[i, k].tolist()
        winner = max(dict.fromkeys(votes), key=votes.count)  # max takes the first of equals
        expected[i, k] = Reason.UNPARSED if winner == -1 else int(winner == 0)
    np.testing.assert_array_equal(matrix.codes, expected)


@pytest.mark.parametrize(
    ("runs", "order"),
    [
        ([10, 9, 2], [2, 9, 10]),
        (["run10", "run2", "run1"], ["run1", "run2", "run10"]),
        (pd.Categorical(["late", "early", "mid"], categories=["early", "mid", "late", "never"]), ["early", "mid", "late"]),
    ],
)
def test_order_of_runs(runs: Any, order: list[Any]) -> None:
    rows = pd.DataFrame({"model": "m", "item": "q", "score": [1, 0, 0], "run": runs})
    matrix = ResponseMatrix.from_long(rows, **COLUMNS, repeat="run")
    assert matrix.repeat_labels is not None
    assert matrix.repeat_labels.tolist() == order
    assert matrix.repeat_codes[0, 0].tolist() == [0, 0, 1], "the right run, which stands first in the table, is the last run"


def test_select_keeps_runs_and_answers() -> None:
    rows = pd.DataFrame(
        {"model": ["m", "m", "n", "n"], "item": "q", "run": [1, 2, 1, 2], "answer": ["A", "B", "B", "A"], "score": [1, 0, 0, 1]}
    )
    kept = ResponseMatrix.from_long(rows, **COLUMNS, repeat="run", answer="answer").select(["n"])
    assert kept.repeat_codes.tolist() == [[[0, 1]]]
    assert kept.reduce("majority").reduction == "majority"


# ---- reasons, answers, keys -------------------------------------------------------------------------------------------


def test_reasons_and_scores() -> None:
    rows = pd.DataFrame(
        {
            "model": ["a", "a", "a", "b", "b", "b"],
            "item": ["q1", "q2", "q3"] * 2,
            "score": [1, 0, 0, np.nan, np.nan, 0],
            "why": ["answered", "refused", "", "API error", "not-reached", None],
        }
    )
    matrix = ResponseMatrix.from_long(rows, **COLUMNS, reason="why")
    assert matrix.codes.tolist() == [[1, Reason.REFUSED, 0], [Reason.API_ERROR, Reason.NOT_REACHED, 0]]
    assert matrix.scored().tolist() == [[1, 0, 0], [-1, -1, 0]]
    assert matrix.scored("missing").tolist() == [[1, -1, 0], [-1, -1, 0]]


def test_valid_column() -> None:
    rows = pd.DataFrame({"model": "a", "item": ["q1", "q2", "q3"], "score": [1, 0, 0], "valid": [True, False, True]})
    assert ResponseMatrix.from_long(rows, **COLUMNS, valid="valid").codes.tolist() == [[1, Reason.UNPARSED, 0]]


@pytest.mark.parametrize(
    ("changes", "options", "said"),
    [
        ({"why": "refused"}, {"reason": "why"}, "scored right, yet with a reason"),
        ({"why": "lost"}, {"reason": "why"}, "'lost' is not a reason"),
        ({"why": "answered", "score": np.nan}, {"reason": "why"}, "without a score"),
        ({"valid": False}, {"valid": "valid"}, "scored right, yet with a reason"),
        ({"answer": ""}, {"answer": "answer"}, "scored right without an answer"),
        ({"answer": "A", "score": np.nan}, {"answer": "answer"}, "neither a score nor a reason"),
        ({"score": 2}, {}, "respondent 'a', item 'q1': 2"),
        ({"score": 0.5}, {}, "partial credit"),
        ({"score": "1"}, {}, "recode="),
    ],
)
def test_contradictions_are_refused(changes: dict[str, Any], options: dict[str, Any], said: str) -> None:
    rows = pd.DataFrame({"model": ["a"], "item": ["q1"], "score": [1]}).assign(**changes)
    with pytest.raises(ResponseCodeError, match=said) as error:
        ResponseMatrix.from_long(rows, **COLUMNS, **options)
    assert "'a'" in str(error.value) or "reason" in said


@pytest.mark.parametrize("as_mapping", [True, False])
def test_answers_scored_with_a_key(as_mapping: bool) -> None:
    rows = pd.DataFrame({"model": list("aab"), "item": ["q1", "q2", "q2"], "answer": ["A", "C", None], "key": ["A", "B", "B"]})
    key: Any = {"q1": "A", "q2": "B"} if as_mapping else "key"
    matrix = ResponseMatrix.from_long(rows, respondent="model", item="item", answer="answer", key=key)
    assert matrix.codes.tolist() == [[1, 0], [Reason.NOT_ADMINISTERED, Reason.UNPARSED]]


def test_keys_that_cannot_serve() -> None:
    rows = pd.DataFrame({"model": list("ab"), "item": ["q1", "q2"], "answer": ["1", "2"]})
    with pytest.raises(ResponseCodeError, match="'q2'"):
        ResponseMatrix.from_long(rows, respondent="model", item="item", answer="answer", key={"q1": "1"})
    with pytest.raises(ResponseCodeError, match="type alone"):
        ResponseMatrix.from_long(rows, respondent="model", item="item", answer="answer", key={"q1": 1, "q2": 3})
    with pytest.raises(DataError, match="score="):
        ResponseMatrix.from_long(rows, respondent="model", item="item", answer="answer")


# ---- labels and attributes --------------------------------------------------------------------------------------------


def test_several_columns_make_a_respondent(twice: pd.DataFrame) -> None:
    rows = twice.assign(condition=["zero", "few", "zero"], provider=["x", "x", "y"])
    matrix = ResponseMatrix.from_long(
        rows, respondent=["model", "condition"], item="item", score="score", respondent_columns=["provider"]
    )
    assert matrix.respondent_labels.tolist() == ["a / zero", "a / few", "b / zero"]
    assert matrix.respondents["condition"].tolist() == ["zero", "few", "zero"]
    assert matrix.respondents["provider"].tolist() == ["x", "x", "y"]


def test_attributes_of_items_and_respondents() -> None:
    rows = pd.DataFrame(
        {
            "model": list("aabb"),
            "item": ["q1", "q2", "q1", "q2"],
            "score": 1,
            "level": [3, 4, 3, 4],
            "group": [None, "x", "y", "y"],
        }
    )
    matrix = ResponseMatrix.from_long(rows, **COLUMNS, item_columns="level", respondent_columns=["group"])
    assert matrix.items["level"].tolist() == [3, 4]
    assert matrix.respondents["group"].tolist() == ["x", "y"]
    with pytest.raises(LabelError, match="'level' has more than one value for 2 respondents: 'a', 'b'"):
        ResponseMatrix.from_long(rows, **COLUMNS, respondent_columns=["level"])


@pytest.mark.parametrize(
    ("changes", "options", "said"),
    [
        ({"model": ["a", None, "b"]}, {}, "1 row without a respondent in column 'model', at rows 1"),
        ({"item": ["q", "q", np.nan]}, {}, "1 row without an item in column 'item', at rows 2"),
        ({"run": [1, None, 1]}, {"repeat": "run"}, "1 row without a run"),
        ({}, {"repeat": "epoch"}, "'epoch'"),
    ],
)
def test_rows_without_labels(twice: pd.DataFrame, changes: dict[str, Any], options: dict[str, Any], said: str) -> None:
    with pytest.raises(LabelError, match=said):
        ResponseMatrix.from_long(twice.assign(**changes), **COLUMNS, **options)


def test_arguments_of_from_long(twice: pd.DataFrame) -> None:
    with pytest.raises(DataError, match="0 rows"):
        ResponseMatrix.from_long(twice.iloc[:0], **COLUMNS)
    with pytest.raises(DataError, match="repeats has to be one of"):
        ResponseMatrix.from_long(twice, **COLUMNS, repeats="median")
    with pytest.raises(DataError, match="unparsed has to be one of"):
        ResponseMatrix.from_long(twice, **COLUMNS, repeats="majority", unparsed="ignore")
    with pytest.raises(DataError, match="got dict"):
        ResponseMatrix.from_long({"model": ["a"]}, **COLUMNS)  # type: ignore[arg-type]
