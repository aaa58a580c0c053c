"""The common response record: columns, reasons, the matrix, rates, joining, files."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import psychoedu as pe
from psychoedu.exceptions import RecordsError, RepeatsError, ResultsFormatError
from psychoedu.runners import records_files
from psychoedu.runners.records import INVALID, MISSING, RECORD_COLUMNS, Records, from_rows

SPEC_D = (
    "benchmark subset item_id model model_version provider condition temperature top_p max_tokens seed epoch prompt_hash "
    "raw_output parsed valid score max_score judge_model judge_fallback judge_explanation input_tokens output_tokens "
    "reasoning_tokens latency_s error created log_uri"
).split()


def table(**columns: object) -> pd.DataFrame:
    count = max(len(value) for value in columns.values() if isinstance(value, list))
    base = {"model": ["m"] * count, "item_id": [f"q{number}" for number in range(count)]}
    return pd.DataFrame({**base, **columns})


def runs(*answers: str | None, key: str = "A") -> Records:
    """One model, one item, one run an answer."""
    return Records(
        pd.DataFrame(
            {
                "model": "m",
                "item_id": "q",
                "epoch": range(1, len(answers) + 1),
                "parsed": answers,
                "score": [float(answer == key) for answer in answers],
                "reason": ["unparsed" if answer is None else "answered" for answer in answers],
            }
        )
    )


def test_columns_are_those_of_the_record_in_their_order() -> None:
    assert [name for name in RECORD_COLUMNS if name not in ("run_id", "reason")] == SPEC_D
    assert next(iter(RECORD_COLUMNS)) == "run_id"
    records = Records(table(score=[1, 0], level=[3, 4]))
    assert list(records.frame) == [*RECORD_COLUMNS, "level"]
    assert records.frame["level"].tolist() == [3, 4]
    assert records.frame["epoch"].tolist() == [1, 1]


def test_the_table_given_is_not_changed() -> None:
    given_table = table(score=[1, None], error=[None, "timeout"])
    before = given_table.copy(deep=True)
    Records(given_table)
    pd.testing.assert_frame_equal(given_table, before)


def test_reasons_are_those_of_the_library() -> None:
    assert set(INVALID) == {"refused", "unparsed", "empty"}
    assert set(MISSING) == {"api_error", "not_administered", "not_reached"}


@pytest.mark.parametrize(
    ("row", "reason", "score"),
    [
        ({"score": 1}, "answered", 1.0),
        ({"score": 0, "reason": "unparsed"}, "unparsed", 0.0),
        ({"score": None, "reason": "refused"}, "refused", 0.0),
        ({"score": None, "error": "timeout"}, "api_error", math.nan),
        ({"score": 0, "reason": "api_error"}, "api_error", math.nan),
        ({"score": 0, "valid": False, "raw_output": ""}, "empty", 0.0),
        ({"score": 0, "valid": False, "raw_output": "I think"}, "unparsed", 0.0),
        ({"score": None, "reason": pe.Reason.NOT_REACHED.label}, "not_reached", math.nan),
    ],
)
def test_reason_and_score_come_to_terms(row: dict[str, object], reason: str, score: float) -> None:
    frame = from_rows([{"model": "m", "item_id": "q", **row}]).frame
    assert frame["reason"].item() == reason
    np.testing.assert_equal(frame["score"].item(), score)
    assert frame["valid"].item() is np.bool_(reason == "answered") or frame["valid"].item() == (reason == "answered")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"score": None}, "with neither a score nor a reason"),
        ({"score": 1, "reason": "refused"}, "a score above 0, yet with a reason"),
        ({"score": None, "reason": "answered"}, "with the reason 'answered', but without a score"),
        ({"score": 3}, "with a score outside 0 and max_score.*\n.*max_score=3"),
        ({"score": -1}, "with a score outside 0 and max_score"),
        ({"score": math.inf}, "with a score outside 0 and max_score"),
        ({"score": 1, "max_score": 0}, "max_score that is not above 0"),
        ({"score": 1, "reason": "tired"}, "Column 'reason': 'tired' is not a reason"),
        ({"score": "one"}, "Column 'score' holds 1 value that are no float: 'one', at rows 0"),
        ({"score": 1, "epoch": 1.5}, "Column 'epoch' holds 1 value that are no integer"),
        ({"score": 1, "judge_fallback": "maybe"}, "Column 'judge_fallback'.*no boolean"),
        ({"score": 1, "parsed": ["A"]}, "Column 'parsed'.*no text"),
        ({"score": 1, "model": " "}, "1 record without a model"),
        ({"score": 1, "item_id": None}, "1 record without an item"),
    ],
)
def test_rows_that_contradict_themselves_are_named(row: dict[str, object], message: str) -> None:
    with pytest.raises(RecordsError, match=f"(?s){message}"):
        from_rows([{"model": "m", "item_id": "q", **row}])


def test_absent_columns_and_no_rows_are_refused() -> None:
    with pytest.raises(RecordsError, match=r"lack the columns 'model', 'item_id'.*has 'who'"):
        Records(pd.DataFrame({"who": ["m"]}))
    with pytest.raises(RecordsError, match="The log holds no responses"):
        from_rows([], source="The log")
    with pytest.raises(RecordsError, match="a name each, as text and used once; got 'model'"):
        Records(pd.DataFrame([["m", "m", "q"]], columns=["model", "model", "item_id"]))
    with pytest.raises(RecordsError, match="got list"):
        Records([1])  # type: ignore[arg-type]


def test_the_same_record_twice_is_an_error_that_names_it() -> None:
    twice = pd.DataFrame({"model": "m", "item_id": "q7", "score": [1, 0], "log_uri": ["a.eval", "b.eval"]})
    with pytest.raises(
        RecordsError, match=r"1 record found more than once: \(model 'm', item_id 'q7', epoch 1\) in a.eval and b.eval"
    ):
        Records(twice)


def test_case_r1_both_rates_are_reported_and_named() -> None:
    """8 items, 2 right, 4 wrong, 2 failed calls: a quarter as wrong, a third where they are left out."""
    records = Records(table(score=[1, 1, 0, 0, 0, 0, None, None], error=[None] * 6 + ["429", "timeout"]))
    rates = records.rates().iloc[0]
    assert rates[["n", "answered", "right", "wrong", "failed"]].tolist() == [8, 6, 2, 4, 2]
    assert rates["rate_failed_wrong"] == pytest.approx(2 / 8, rel=1e-12)
    assert rates["rate_invalid_missing"] == pytest.approx(2 / 6, rel=1e-12)
    assert rates["rate_invalid_wrong"] == pytest.approx(2 / 6, rel=1e-12)
    assert records.to_matrix().reasons.iloc[0].tolist() == ["answered"] * 6 + ["api_error"] * 2
    text = records.summary()
    assert "0.250" in text
    assert "0.333" in text
    assert "failed calls count as wrong" in text


def test_rates_agree_with_the_matrix() -> None:
    reasons = ["answered", "answered", "refused", "unparsed", "empty", "api_error", "answered"]
    records = Records(table(score=[1, 0, 0, 0, 0, None, 1], reason=reasons))
    rates = records.rates().iloc[0]
    theirs = records.to_matrix().rates().iloc[0]
    names = ["rate_invalid_wrong", "rate_invalid_missing", "rate_failed_wrong"]
    np.testing.assert_allclose(rates[names].astype(float), theirs[names].astype(float), rtol=1e-12)
    assert rates["rate_invalid_wrong"] == pytest.approx(2 / 6, rel=1e-12)


def test_rates_of_a_model_that_never_answered_are_missing_not_zero() -> None:
    rates = Records(table(score=[None, None], error=["x", "x"])).rates().iloc[0]
    assert math.isnan(rates["rate_invalid_missing"])
    assert math.isnan(rates["rate_invalid_wrong"])
    assert rates["rate_failed_wrong"] == 0.0


def test_majority_is_of_the_answers_and_a_tie_goes_to_the_first_run() -> None:
    assert runs("B", "A", "A").to_matrix().scored().tolist() == [[1]]
    assert runs("B", "A", "C").to_matrix().scored().tolist() == [[0]]  # scores 0, 1, 0; the answers tie, B came first
    assert runs("A", "B", "C").to_matrix().scored().tolist() == [[1]]  # the scores alone would say 0
    assert runs("A", "B", "C").to_matrix(votes="scores").scored().tolist() == [[0]]
    assert runs("A", "B", "B").to_matrix(repeats="first").scored().tolist() == [[1]]
    assert runs("A", "B", "B").to_matrix(repeats="mean").to_frame().iloc[0, 0] == pytest.approx(1 / 3, rel=1e-12)
    assert runs("A", "B", "B").to_matrix(repeats=None).n_repeats == 3


def test_invalid_runs_vote_or_not() -> None:
    records = runs(None, None, "A")
    assert records.to_matrix().reasons.iloc[0, 0] == "unparsed"
    assert records.to_matrix(unparsed="drop").scored().tolist() == [[1]]
    assert records.to_matrix(invalid="missing").scored().tolist() == [[-1]]


def test_scores_vote_only_where_answers_are_not_stored() -> None:
    stored = runs("A", "B", "B").to_matrix()
    assert stored.reduction == "majority"
    without = Records(runs("A", "B", "B").frame.drop(columns="parsed")).to_matrix()
    assert without.reduction == "majority_of_scores"


def test_case_r7_runs_that_differ_are_kept_and_their_agreement_is_reported() -> None:
    """Runs A, A, B of one item: one pair of three agrees, though the temperature was 0."""
    records = Records(runs("A", "A", "B").frame.assign(temperature=0.0))
    assert len(records) == 3
    agreement = records.test_retest().iloc[0]
    assert agreement["pairwise_agreement"] == pytest.approx(1 / 3, rel=1e-12)


def test_one_answer_scored_both_ways_is_refused() -> None:
    frame = runs("A", "A").frame.assign(score=[1.0, 0.0])
    with pytest.raises(RepeatsError, match="scored right in one run and wrong in another"):
        Records(frame).to_matrix()


def test_conditions_are_respondents_and_blank_ones_leave_no_trace() -> None:
    frame = pd.DataFrame(
        {"model": ["a", "a", "b"], "condition": ["zero_shot", "few_shot", None], "item_id": "q", "score": [1, 0, 1]}
    )
    matrix = Records(frame).to_matrix()
    assert matrix.respondent_labels.tolist() == ["a / zero_shot", "a / few_shot", "b"]
    assert matrix.respondents["model"].tolist() == ["a", "a", "b"]
    assert matrix.respondents["condition"].tolist() == ["zero_shot", "few_shot", ""]
    with pytest.raises(RecordsError, match=r"They differ in 'condition', which respondent=\('model',\) leaves out"):
        Records(frame).to_matrix(respondent="model")


def test_labels_that_only_look_alike_when_joined_are_refused() -> None:
    frame = pd.DataFrame({"model": ["a", "a / b"], "condition": ["b", ""], "item_id": ["q1", "q2"], "score": [1, 0]})
    with pytest.raises(RecordsError, match="give one label, 'a / b'"):
        Records(frame).to_matrix()


def test_metadata_go_along_with_items_and_respondents() -> None:
    frame = pd.DataFrame(
        {
            "model": ["a", "a", "b", "b"],
            "item_id": ["q1", "q2"] * 2,
            "score": [1, 0, 1, 1],
            "subskill": ["syntax", "vocabulary"] * 2,
            "provider": ["x", "x", "y", "y"],
            "varying": [1, 2, 3, 4],
            "benchmark": "toy",
        }
    )
    matrix = Records(frame).to_matrix()
    assert matrix.items["subskill"].tolist() == ["syntax", "vocabulary"]
    assert matrix.items["benchmark"].tolist() == ["toy", "toy"]
    assert "varying" not in matrix.items
    assert matrix.respondents["provider"].tolist() == ["x", "y"]


def test_partial_scores_need_a_threshold() -> None:
    records = Records(table(score=[0, 1, 2, 3], max_score=[3] * 4, parsed=list("0123")))
    with pytest.raises(RecordsError, match=r"2 records of 2 items \('q1', 'q2'\) with partial scores, the first 1 of 3"):
        records.to_matrix()
    assert records.to_matrix(threshold=2 / 3).scored().tolist() == [[0, 0, 1, 1]]
    assert records.to_matrix(threshold=1).scored().tolist() == [[0, 0, 0, 1]]
    with pytest.raises(pe.exceptions.DataError, match="threshold has to lie between 0 and 1"):
        records.to_matrix(threshold=2)
    assert records.rates().iloc[0][["right", "partial", "wrong"]].tolist() == [1, 2, 1]
    assert records.rates()["rate_invalid_wrong"].item() == pytest.approx(6 / 12, rel=1e-12)


def test_rewards_are_what_a_contrast_takes() -> None:
    frame = pd.DataFrame(
        {
            "model": "m",
            "item_id": [f"t{number}" for number in range(6)],
            "score": [3, 3, 0, 1, 2, None],
            "max_score": 3,
            "reason": ["answered", "answered", "refused", "answered", "answered", "api_error"],
            "profile": ["deep"] * 3 + ["surface"] * 3,
        }
    )
    rewards = Records(frame).rewards(kind="profile")
    assert rewards["task"].tolist() == [f"t{number}" for number in range(6)]
    np.testing.assert_allclose(rewards["reward"], [1, 1, 0, 1 / 3, 2 / 3, np.nan], rtol=1e-12)
    assert rewards["kind"].tolist() == rewards["profile"].tolist()
    np.testing.assert_allclose(
        Records(frame).rewards(invalid="missing")["reward"], [1, 1, np.nan, 1 / 3, 2 / 3, np.nan], rtol=1e-12
    )
    found = pe.contrast(rewards, stratum="profile", focal="surface", missing="omit", n_resamples=100, rng=1)
    assert found.estimate == pytest.approx(2 / 3 - 1 / 2, rel=1e-12)
    with pytest.raises(RecordsError, match="makes the columns 'reward' itself"):
        Records(frame).rewards(reward="score")


def test_case_r5_two_logs_with_the_same_response_are_an_error_or_further_runs() -> None:
    first = Records(table(score=[1, 0], log_uri=["a.eval"] * 2, run_id=["r1"] * 2, epoch=[1, 1]))
    second = Records(table(score=[1, 1], log_uri=["b.eval"] * 2, run_id=["r2"] * 2, epoch=[1, 1]))
    with pytest.raises(RecordsError, match=r"(?s)2 records found more than once.*in a.eval and b.eval.*repeats='append'"):
        Records.concat([first, second])
    both = Records.concat([first, second], repeats="append")
    assert both.frame["epoch"].tolist() == [1, 1, 2, 2]
    assert "appended as later runs" in both.notes[0]
    assert both.to_matrix(repeats="mean").to_frame().iloc[0].tolist() == [1.0, 0.5]
    third = Records.concat([both, second], repeats="append")
    assert third.frame["epoch"].tolist() == [1, 1, 2, 2, 3, 3]


def test_halves_of_one_run_are_joined_as_they_stand() -> None:
    first = Records(table(score=[1, 0]))
    second = Records(table(score=[1, 1]).assign(item_id=["q8", "q9"]), ["read with care"])
    joined = Records.concat([first, second], repeats="append")
    assert joined.frame["epoch"].tolist() == [1, 1, 1, 1]
    assert joined.notes == ("read with care",)
    with pytest.raises(RecordsError, match="list of Records"):
        Records.concat([])


def test_the_same_item_in_two_runs_without_a_mark_does_not_reach_the_matrix() -> None:
    frame = pd.DataFrame({"run_id": ["r1", "r2"], "model": "m", "item_id": "q", "score": [1, 0]})
    with pytest.raises(RecordsError, match=r"(?s)1 record found more than once.*Records.concat"):
        Records(frame).to_matrix()


def _all_kinds() -> Records:
    return Records(
        pd.DataFrame(
            {
                "run_id": "r",
                "benchmark": "toy",
                "model": "m",
                "item_id": ["007", "q2", "q3", "q4"],
                "condition": "zero_shot",
                "temperature": 0.1 + 0.2,
                "max_tokens": 8,
                "raw_output": ['A, "quoted"\nand\r\nmore', "", "  B ", None],
                "parsed": ["A", None, "NA", None],
                "score": [1 / 3, 0, 1, None],
                "reason": ["answered", "empty", "answered", "api_error"],
                "judge_fallback": [True, None, False, None],
                "input_tokens": [12, 13, None, None],
                "error": [None, None, None, "429: too many"],
                "level": [2, 3, None, 5],
                "difficulty": [0.5, 1.0, None, 1e-300],
                "code": ["01", "02", "3", None],
                "flag": [True, False, None, True],
            }
        ),
        ("one note", "another"),
    )


@pytest.mark.parametrize("form", ["folder", records_files.CSV, records_files.PARQUET])
def test_what_is_saved_is_read_back(tmp_path: Path, form: str) -> None:
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow, of the extra [parquet]")
    records = _all_kinds()
    written = records.save(tmp_path)
    assert [path.name for path in written] == ["records.parquet", "records.csv", "records_notes.txt"]
    back = Records.read(tmp_path if form == "folder" else tmp_path / form)
    pd.testing.assert_frame_equal(back.frame, records.frame)
    assert back.notes == records.notes
    assert pe.read_results(tmp_path if form == "folder" else tmp_path / form).frame.equals(records.frame)


def test_saving_again_replaces_notes_and_leaves_no_old_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _all_kinds().save(tmp_path)
    monkeypatch.setattr(records_files, "has_pyarrow", lambda: False)
    one = Records(table(score=[1]))
    assert [path.name for path in one.save(tmp_path)] == ["records.csv"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["records.csv"]
    pd.testing.assert_frame_equal(Records.read(tmp_path).frame, one.frame)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.text(max_size=12), st.one_of(st.none(), st.text(max_size=12)), st.floats(0, 1, allow_nan=False)),
        min_size=1,
        max_size=6,
    )
)
def test_any_text_survives_csv(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str | None, float]]) -> None:
    """Whatever a model writes: quotes, line breaks, NUL; halves of surrogate pairs were replaced before."""
    texts = [row[0] for row in rows]
    records = Records(
        pd.DataFrame(
            {
                "model": "m",
                "item_id": [f"q{number}" for number in range(len(rows))],
                "raw_output": pd.Series(texts, dtype=object),
                "parsed": pd.Series([row[1] for row in rows], dtype=object),
                "score": [row[2] for row in rows],
            }
        )
    )
    folder = tmp_path_factory.mktemp("records")
    records.save(folder)
    back = Records.read(folder / "records.csv").frame
    expected = [text if text else None for text in records.frame["raw_output"]]
    assert back["raw_output"].tolist() == expected
    assert back["score"].tolist() == records.frame["score"].tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("model,item_id,score\nm,q,1\nm,q2\n", "line 3: 2 fields, but line 1 names 3"),
        ('model,item_id,score\nm,"a\nb",1\nm,q2\n', "line 4: 2 fields"),
        ("model,item_id,score\nm,q,1,9\n", "line 2: 4 fields, but line 1 names 3"),
        ('model,item_id,score\nm,"q,1\n', "line 2: not CSV .*unexpected end of data"),
        ("model,item_id,score\n", "column names and nothing else"),
        ("model,model,score\nm,q,1\n", "line 1: the column names 'model' stand there twice"),
    ],
)
def test_a_damaged_csv_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "records.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ResultsFormatError, match=message):
        Records.read(path)


def test_a_csv_in_another_encoding_or_with_a_mark_of_order(tmp_path: Path) -> None:
    path = tmp_path / "records.csv"
    path.write_bytes("model,item_id,score\r\nm,q,1\r\nm,é,0\r\n".encode("utf-8-sig"))
    assert Records.read(path).frame["item_id"].tolist() == ["q", "é"]
    path.write_bytes("model,item_id,score\nm,q,1\nm,é,0\n".encode("latin-1"))
    with pytest.raises(ResultsFormatError, match="line 3: not UTF-8"):
        Records.read(path)


def test_reading_a_folder_without_records_says_so(tmp_path: Path) -> None:
    with pytest.raises(ResultsFormatError, match=r"neither records.parquet nor records.csv"):
        Records.read(tmp_path)
    (tmp_path / "out").write_text("x")
    with pytest.raises(pe.exceptions.FileFormatError, match="is a file; expected the name of a folder"):
        Records(table(score=[1])).save(tmp_path / "out")


def test_public_names_are_light_and_stay_themselves() -> None:
    import psychoedu.runners as room

    assert pe.Records is room.Records
    assert pe.read_results is room.read_results
    assert set(room.__all__) <= set(dir(room))
    with pytest.raises(AttributeError, match="no attribute 'walk'"):
        room.walk  # noqa: B018


def test_reading_results_needs_no_client_package() -> None:
    """Case R8: neither ``import psychoedu`` nor the readers import a client."""
    import subprocess

    code = (
        "import sys, psychoedu as pe; pe.read_results; pe.Records; "
        "print([name for name in ('inspect_ai', 'openai', 'backports.zstd') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_key_that_an_error_repeats_enters_no_records(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-SECRET-123")
    texts = ["401: no such key sk-test-SECRET-123", None]
    records = Records(pd.DataFrame({"model": "m", "item_id": ["a", "b"], "score": [None, 1.0], "error": texts}))
    assert records.frame["error"].iloc[0] == "401: no such key [removed]"
    assert records.frame["reason"].tolist() == ["api_error", "answered"]
    assert all(b"SECRET" not in path.read_bytes() for path in records.save(tmp_path))
