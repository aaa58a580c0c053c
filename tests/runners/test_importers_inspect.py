"""Logs of Inspect: one that Inspect wrote, and small ones of every shape that its format allows or forbids."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_results import eval_log, header, json_log, sample

import psychoedu as pe
from psychoedu.exceptions import RecordsError, ResultsFormatError
from psychoedu.runners.prompt_hash import prompt_hash

LOG = "examples/inspect_toy_mcq"


def entry(shared: Path, name: str) -> Any:
    """Read one entry of the real log without the code under test."""
    module = pytest.importorskip("backports.zstd.zipfile", reason="backports.zstd, of the extra [runners], is not installed")
    with module.ZipFile(shared / f"{LOG}.eval") as file:
        return json.loads(file.read(name))


@pytest.mark.shared
@pytest.mark.parametrize("end", [".eval", ".json"])
def test_a_real_log_gives_the_accuracy_that_inspect_reports(shared: Path, end: str) -> None:
    """10 items x 3 epochs; the log's own results and its reductions (its majority of answers) are the reference."""
    reported = entry(shared, "header.json")["results"]["scores"][0]
    reduced = {row["sample_id"]: row["value"] == "C" for row in entry(shared, "reductions.json")[0]["samples"]}
    records = pe.read_results(shared / f"{LOG}{end}")
    assert (len(records), records.items, records.models) == (
        30,
        [f"I000{number}" for number in range(10)],
        ["openai-api/toy/toy-model"],
    )
    matrix = records.to_matrix()
    assert matrix.scored()[0].mean() == pytest.approx(reported["metrics"]["accuracy"]["value"], rel=1e-12)
    assert dict(zip(matrix.item_labels, matrix.scored()[0] == 1, strict=True)) == reduced
    assert matrix.reduction == "majority"
    assert matrix.items["subskill"].notna().all()


@pytest.mark.shared
def test_a_real_log_gives_tokens_decoding_and_times(shared: Path) -> None:
    usage = entry(shared, "header.json")["stats"]["model_usage"]["openai-api/toy/toy-model"]
    frame = pe.read_results(shared / f"{LOG}.eval").frame
    assert frame["input_tokens"].sum() == usage["input_tokens"]
    assert frame["output_tokens"].sum() == usage["output_tokens"]
    first = frame.iloc[0]
    assert (first["temperature"], first["top_p"], first["max_tokens"]) == (0.0, 1.0, 8)
    assert first["run_id"] == entry(shared, "header.json")["eval"]["run_id"]
    by_id = {(row["id"], row["epoch"]): row for row in entry(shared, "summaries.json")}
    for row in frame.itertuples():
        assert row.latency_s == by_id[row.item_id, row.epoch]["working_time"]
        assert row.parsed == by_id[row.item_id, row.epoch]["scores"]["first_letter"]["answer"]


@pytest.mark.shared
def test_full_samples_add_reply_prompt_and_version(shared: Path) -> None:
    whole = entry(shared, "samples/I0003_epoch_2.json")
    frame = pe.read_results(shared / f"{LOG}.eval", full=True).frame
    row = frame[(frame["item_id"] == "I0003") & (frame["epoch"] == 2)].iloc[0]
    assert row["raw_output"] == whole["output"]["completion"]
    assert row["model_version"] == whole["output"]["model"]
    assert row["prompt_hash"] == prompt_hash([("user", whole["messages"][0]["content"])])
    plain = pe.read_results(shared / f"{LOG}.eval").frame
    assert plain["raw_output"].isna().all()
    assert plain["score"].tolist() == frame["score"].tolist()


@pytest.mark.shared
def test_one_log_in_two_formats_is_read_once(shared: Path, tmp_path: Path) -> None:
    pytest.importorskip("backports.zstd", reason="backports.zstd, of the extra [runners], is not installed")
    shutil.copy(shared / f"{LOG}.eval", tmp_path)
    shutil.copy(shared / f"{LOG}.json", tmp_path)
    records = pe.read_results(tmp_path)
    assert len(records) == 30
    assert any("same eval_id" in note for note in records.notes)


@pytest.mark.shared
def test_a_zstd_log_without_its_package_names_the_extra(shared: Path) -> None:
    """Case R8, in a fresh interpreter: Inspect, where another test imported it, teaches zipfile to read zstd."""
    if sys.version_info >= (3, 14):
        pytest.skip("this Python reads zstd itself")
    code = (
        "import sys; sys.modules['backports.zstd'] = sys.modules['backports.zstd.zipfile'] = None; import psychoedu as pe\n"
        "try: pe.read_results(sys.argv[1])\nexcept pe.exceptions.MissingDependencyError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(shared / f"{LOG}.eval")], capture_output=True, text=True, check=True)
    assert 'pip install "psychoedu[runners]"' in done.stdout


@pytest.mark.shared
def test_a_log_that_was_cut_off_or_damaged_is_refused(shared: Path, tmp_path: Path) -> None:
    pytest.importorskip("backports.zstd", reason="backports.zstd, of the extra [runners], is not installed")
    content = (shared / f"{LOG}.eval").read_bytes()
    (tmp_path / "cut.eval").write_bytes(content[: len(content) // 2])
    with pytest.raises(ResultsFormatError, match="may be cut off, or still being written"):
        pe.read_results(tmp_path / "cut.eval")
    with zipfile.ZipFile(shared / f"{LOG}.eval") as file:
        start = file.getinfo("summaries.json").header_offset
    damaged = bytearray(content)
    damaged[start + 60 : start + 90] = bytes(30)
    (tmp_path / "damaged.eval").write_bytes(damaged)
    with pytest.raises(ResultsFormatError, match=r"entry summaries.json: damaged"):
        pe.read_results(tmp_path / "damaged.eval")
    text = (shared / f"{LOG}.json").read_text()
    (tmp_path / "cut.json").write_text(text[: len(text) // 2])
    with pytest.raises(ResultsFormatError, match=r"cut.json line \d+: not JSON .*cut off"):
        pe.read_results(tmp_path / "cut.json")


@pytest.mark.parametrize(
    ("value", "score", "reason"),
    [
        ("C", 1.0, "answered"),
        ("I", 0.0, "answered"),
        ("P", 0.5, "answered"),
        ("N", 0.0, "unparsed"),
        (True, 1.0, "answered"),
        (False, 0.0, "answered"),
        (1, 1.0, "answered"),
        (0.25, 0.25, "answered"),
        ("0.25", 0.25, "answered"),
        ("yes", 1.0, "answered"),
        (math.nan, math.nan, "api_error"),
        (None, math.nan, "api_error"),
    ],
)
def test_values_of_scores(tmp_path: Path, value: Any, score: float, reason: str) -> None:
    frame = pe.read_results(eval_log(tmp_path / "a.eval", [sample("q1", value, answer="A"), sample("q2", "C", answer="A")])).frame
    np.testing.assert_equal(frame["score"].tolist(), [score, 1.0])
    assert frame["reason"].tolist() == [reason, "answered"]


@pytest.mark.parametrize(
    ("stated", "reason"),
    [
        ({"reason": "refusal"}, "refused"),
        ({"reason": "invalid_response_format"}, "unparsed"),
        ({"reason": "no_response"}, "empty"),
        ({"answer": ""}, "unparsed"),
        ({"score_metadata": {"valid": False}}, "unparsed"),
        ({"score_metadata": {"reason": "empty"}}, "empty"),
        ({"score_metadata": {"reason": "because"}}, "answered"),
    ],
)
def test_why_an_answer_scored_0_was_none(tmp_path: Path, stated: dict[str, Any], reason: str) -> None:
    frame = pe.read_results(eval_log(tmp_path / "a.eval", [sample("q1", "I", **stated)])).frame
    assert (frame["reason"].item(), frame["score"].item()) == (reason, 0.0)


def test_a_judge_that_failed_leaves_no_score(tmp_path: Path) -> None:
    samples = [
        sample("q1", math.nan, reason="grader_failed"),
        sample("q2", math.nan, score_metadata={"unscored_reason": "grader_failed"}),
    ]
    assert pe.read_results(eval_log(tmp_path / "a.eval", samples)).frame["reason"].tolist() == ["api_error", "api_error"]


def test_samples_that_failed_are_missing_with_their_error(tmp_path: Path) -> None:
    samples = [sample("q1", "C"), {**sample("q2"), "scores": None, "error": "429: too many requests"}]
    records = pe.read_results(eval_log(tmp_path / "a.eval", samples))
    row = records.frame.iloc[1]
    assert (row["reason"], row["error"]) == ("api_error", "429: too many requests")
    assert math.isnan(row["score"])
    assert any("1 sample of 2 failed" in note for note in records.notes)
    scored = {**sample("q2", "I"), "error": {"message": "died", "traceback": "..."}}  # score_on_error: still no answer
    frame = pe.read_results(json_log(tmp_path / "b.json", [sample("q1"), scored])).frame
    assert frame["reason"].tolist() == ["answered", "api_error"]
    assert frame["error"].tolist() == [None, "died"]


def test_an_unfinished_log_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    journal = {
        "_journal/start.json": header(dataset={"sample_ids": ["q1", "q2", "q3"]}),
        "_journal/summaries/1.json": [sample("q2", "I"), sample("q1", "I")],
        "_journal/summaries/2.json": [sample("q1", "C")],
        "_journal/summaries/10.json": [],
    }
    path = eval_log(tmp_path / "a.eval", [], **{"header.json": None, "summaries.json": None}, **journal)
    records = pe.read_results(path)
    assert records.items == ["q1", "q2"]
    assert records.frame["score"].tolist() == [1.0, 0.0]  # the later entry of q1 counts
    told = " ".join(records.notes)
    assert "not finished" in told
    assert "2 of 3 samples" in told
    assert "1 entry of samples written again" in told


def test_several_scores_have_to_be_chosen_from(tmp_path: Path) -> None:
    two = [{**sample("q1"), "scores": {"match": {"value": "C"}, "judge": {"value": {"clarity": 2, "depth": 3}}}}]
    path = eval_log(tmp_path / "a.eval", two)
    with pytest.raises(ResultsFormatError, match=r"(?s)3 scores: 'match', 'judge/clarity', 'judge/depth'.*score='match'"):
        pe.read_results(path)
    assert pe.read_results(path, score="match").frame["score"].item() == 1.0
    judged = pe.read_results(path, score="judge/depth", max_score=3).frame
    assert (judged["score"].item(), judged["max_score"].item()) == (3.0, 3.0)
    assert pe.read_results(path, score=["absent", "match"]).frame["score"].item() == 1.0
    with pytest.raises(ResultsFormatError, match="has no score 'style'; it has 'match'"):
        pe.read_results(path, score="style")
    with pytest.raises(RecordsError, match="max_score=3"):
        pe.read_results(path, score="judge/clarity")


def test_what_our_own_scorers_say_of_a_record_is_taken(tmp_path: Path) -> None:
    said = {
        "reason": "answered",
        "raw_output": ["  A\n"],
        "judge_model": "j",
        "judge_fallback": True,
        "max_score": 3,
        "prompt_hash": "h",
    }
    told = sample(
        "q1", 2, answer="2", score_metadata={**said, "temperature": "hot"}, metadata={"condition": "framed", "level": 3}
    )
    row = pe.read_results(eval_log(tmp_path / "a.eval", [told])).frame.iloc[0]
    assert row[["raw_output", "judge_model", "max_score", "prompt_hash", "condition", "level"]].tolist() == [
        "  A\n",
        "j",
        3.0,
        "h",
        "framed",
        3,
    ]
    assert row["judge_fallback"]
    assert row["temperature"] == 0.0  # text is no temperature: the log's own stays


def test_tokens_are_those_of_the_model_under_test(tmp_path: Path) -> None:
    usage = {
        "maker/model-a": {"input_tokens": 5, "input_tokens_cache_read": 20, "output_tokens": 2, "reasoning_tokens": 1},
        "judge/model": {"input_tokens": 100, "output_tokens": 50},
    }
    row = pe.read_results(eval_log(tmp_path / "a.eval", [sample("q1", model_usage=usage)])).frame.iloc[0]
    assert row[["input_tokens", "output_tokens", "reasoning_tokens"]].tolist() == [25, 2, 1]


def test_models_and_conditions_of_a_folder(tmp_path: Path) -> None:
    for place, (model, condition) in enumerate([("a/x", "zero_shot"), ("a/x", "few_shot"), ("b/y", "zero_shot")]):
        head = header(eval_id=f"e{place}", task_id=f"t{place}", model=model, task_args={"condition": condition, "n": place})
        eval_log(tmp_path / f"{place}.eval", [sample("q1", "C" if place else "I"), sample("q2")], head)
    (tmp_path / "logs.json").write_text('{"listing": []}')
    records = pe.read_results(tmp_path)
    assert records.to_matrix().respondent_labels.tolist() == ["a/x / zero_shot", "a/x / few_shot", "b/y / zero_shot"]
    assert records.to_matrix().scored().tolist() == [[0, 1], [1, 1], [1, 1]]
    assert not any("logs.json" in note for note in records.notes)
    assert pe.read_results(tmp_path, condition="n").frame["condition"].unique().tolist() == ["0", "1", "2"]
    assert len(pe.read_results(str(tmp_path / "[01].eval"))) == 4


def test_case_r5_two_logs_of_the_same_items_name_what_differs(tmp_path: Path) -> None:
    for place in range(2):
        head = header(eval_id=f"e{place}", run_id=f"r{place}", task_id=f"t{place}", task_args={"shots": place})
        eval_log(tmp_path / f"{place}.eval", [sample("q1"), sample("q2", "I")], head)
    with pytest.raises(RecordsError, match=r"(?s)2 records found more than once.*0.eval and .*1.eval.*condition='shots'"):
        pe.read_results(tmp_path)
    runs = pe.read_results(tmp_path, repeats="append")
    assert sorted(runs.frame["epoch"]) == [1, 1, 2, 2]
    assert pe.read_results(tmp_path, condition="shots").to_matrix().n_respondents == 2


def test_a_retry_replaces_what_it_did_again(tmp_path: Path) -> None:
    """Two logs of one task_id: finished samples count once, failed ones are replaced, whatever the files' names."""
    early = header(eval_id="e1", created="2026-01-01T00:00:00")
    late = header(eval_id="e2", created="2026-01-02T00:00:00")
    failed = {**sample("q2"), "scores": None, "error": "died"}
    eval_log(tmp_path / "z_first.eval", [sample("q1", "C"), failed], early)
    eval_log(tmp_path / "a_second.eval", [sample("q1", "C"), sample("q2", "I")], late)
    records = pe.read_results(tmp_path)
    assert records.frame.sort_values("item_id")["score"].tolist() == [1.0, 0.0]
    assert any("2 records of earlier attempts" in note for note in records.notes)


def test_an_answer_is_not_lost_to_a_later_attempt_that_failed(tmp_path: Path) -> None:
    failed = {**sample("q1"), "scores": None, "error": "died"}
    eval_log(tmp_path / "a.eval", [sample("q1", "C")], header(eval_id="e1", created="2026-01-01T00:00:00"))
    eval_log(tmp_path / "b.eval", [failed, sample("q2", "I")], header(eval_id="e2", created="2026-01-02T00:00:00"))
    assert pe.read_results(tmp_path).frame.sort_values("item_id")["score"].tolist() == [1.0, 0.0]


def test_benchmarks_that_share_labels_are_told_apart(tmp_path: Path) -> None:
    for place, task in enumerate(["grammar", "reading"]):
        eval_log(tmp_path / f"{place}.eval", [sample("q1")], header(eval_id=task, task_id=task, task=task))
    records = pe.read_results(tmp_path)
    assert records.items == ["grammar/q1", "reading/q1"]
    assert any("share labels" in note for note in records.notes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": None}, "sample 1: the id is null; expected text or a whole number"),
        ({"epoch": "two"}, r"the field 'epoch' is text \('two'\); expected a whole number"),
        ({"epoch": True}, "the field 'epoch' is a truth value"),
        ({"scores": []}, r"the field 'scores' is a list \(\[\]\); expected an object"),
        ({"scores": {"grade": "C"}}, "the score 'grade' is text"),
        ({"scores": {"grade": {"value": [1, 2]}}}, "(?s)the value of the score 'grade' is a list.*Expected C, I, P, N"),
        ({"scores": {"grade": {"value": "maybe"}}}, r"the value of the score 'grade' is text \('maybe'\)"),
        ({"scores": {"grade": {"value": math.inf}}}, "the value of the score 'grade' is a number"),
        ({"scores": {"grade": {"value": "C", "answer": 3}}}, "the answer is a number"),
        ({"metadata": "m"}, "the field 'metadata' is text"),
        ({"scores": {}}, "(?s)1 sample and no scores.*inspect score"),
    ],
)
def test_samples_of_a_wrong_shape_are_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ResultsFormatError, match=message):
        pe.read_results(eval_log(tmp_path / "a.eval", [{**sample("q1"), **change}]))


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"summaries.json": "[{]"}, r"a.eval entry summaries.json line 1: not JSON"),
        ({"summaries.json": '[{"id": "q", "id": "r"}]'}, "entry summaries.json: the key 'id' stands twice"),
        ({"summaries.json": b'["\xff"]'}, "entry summaries.json line 1: not UTF-8"),
        ({"summaries.json": "{}"}, r"entry summaries.json is an object \(\{\}\); expected a list"),
        ({"summaries.json": "[" * 100_000}, "nested too deeply"),
        ({"summaries.json": "[1]"}, "sample 1 is a number"),
        ({"header.json": "{}"}, "the field 'eval' is absent"),
        ({"header.json": '{"eval": {"task": "t"}}'}, "eval: the field 'model' is absent; there are 'task'"),
        ({"summaries.json": "[]"}, "holds no samples"),
    ],
)
def test_archives_of_a_wrong_shape_are_named(tmp_path: Path, entries: dict[str, Any], message: str) -> None:
    with pytest.raises(ResultsFormatError, match=message):
        pe.read_results(eval_log(tmp_path / "a.eval", [sample("q1")], **entries))


def test_entries_that_expand_beyond_the_limit_are_refused(tmp_path: Path) -> None:
    """A bomb: few bytes that unpack to many; and several entries that only together go beyond the limit."""
    path = eval_log(tmp_path / "bomb.eval", [], **{"summaries.json": " " * 4_000_000 + "[]"})
    assert path.stat().st_size < 20_000
    with pytest.raises(ResultsFormatError, match=r"(?s)entry summaries.json .* larger than 1.0 MiB.*max_bytes="):
        pe.read_results(path, max_bytes=2**20)
    halves = {f"_journal/summaries/{place}.json": " " * 700_000 + "[]" for place in (1, 2)}
    head = {"header.json": None, "summaries.json": None, "_journal/start.json": header()}
    with pytest.raises(ResultsFormatError, match=r"entry _journal/summaries/2.json"):
        pe.read_results(eval_log(tmp_path / "two.eval", [], **head, **halves), max_bytes=2**20)
    big = json_log(tmp_path / "big.json", [sample(f"q{number}") for number in range(100)])
    with pytest.raises(ResultsFormatError, match=r"big.json is larger than"):
        pe.read_results(big, max_bytes=1000)


def test_an_entry_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    path = eval_log(tmp_path / "liar.eval", [], **{"summaries.json": " " * 4_000_000 + "[]"})
    content = path.read_bytes()
    size = (4_000_002).to_bytes(4, "little")
    assert content.count(size) == 2  # in the entry and in the directory
    path.write_bytes(content.replace(size, (10).to_bytes(4, "little")))
    with pytest.raises(ResultsFormatError, match=r"damaged|larger than"):
        pe.read_results(path, max_bytes=2**20)


def test_a_zip_that_is_no_log_says_what_it_holds(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "book.eval", "w") as file:
        file.writestr("xl/workbook.xml", "<x/>")
    with pytest.raises(ResultsFormatError, match=r"a zip archive with the entries 'xl/workbook.xml'"):
        pe.read_results(tmp_path / "book.eval")
