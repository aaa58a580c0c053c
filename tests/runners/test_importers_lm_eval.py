"""Samples of lm-evaluation-harness: files that it wrote, and small ones of older and broken shapes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from made_results import harness_line, harness_results, lines

import psychoedu as pe
from psychoedu.exceptions import RecordsError, ResultsFormatError
from psychoedu.runners.importers.lm_eval import _hash_of


@pytest.mark.shared
def test_a_real_file_gives_the_score_that_the_harness_reports(shared: Path) -> None:
    results = json.loads((shared / "examples/lmeval_results_toy_gen.json").read_text())
    records = pe.read_results(shared / "examples/lmeval_samples_toy_gen.jsonl")
    assert records.frame["score"].mean() == pytest.approx(results["results"]["toy_gen"]["exact_match,first-letter"], rel=1e-12)
    first = records.frame.iloc[0]
    assert first["model"] == results["model_name"]
    assert first["provider"] == results["config"]["model"]
    assert first["condition"] == "zero_shot"
    assert first["benchmark"] == "toy_gen"
    assert (first["temperature"], first["max_tokens"]) == (0.0, 8)
    lines_of = [json.loads(line) for line in (shared / "examples/lmeval_samples_toy_gen.jsonl").read_text().splitlines()]
    assert records.frame["parsed"].tolist() == [line["filtered_resps"][0] for line in lines_of]
    assert records.frame["doc_hash"].tolist() == [line["doc_hash"] for line in lines_of]
    assert records.items == [f"toy_gen/{line['doc_hash'][:12]}" for line in lines_of]


@pytest.mark.shared
def test_a_real_multiple_choice_file(shared: Path) -> None:
    """The most likely option is the answer; whether it is the target is the harness's own score."""
    records = pe.read_results(shared / "examples/lmeval_samples_toy_mc.jsonl", item="id", metadata="subskill")
    assert records.items == ["I0", "I1", "I2"]
    assert (records.frame["parsed"] == records.frame["target"]).astype(float).tolist() == records.frame["score"].tolist()
    assert records.to_matrix().items["subskill"].tolist() == ["syntax", "syntax", "vocabulary"]


@pytest.mark.shared
def test_the_hash_of_a_document_is_the_harness_s_own(shared: Path) -> None:
    """Files older than the hash get the one that newer files store, so that old and new runs share items."""
    for name in ("toy_gen", "toy_mc"):
        for line in (shared / f"examples/lmeval_samples_{name}.jsonl").read_text().splitlines():
            sample = json.loads(line)
            assert _hash_of({"doc": sample["doc"]}, sample["doc"]) == sample["doc_hash"]


@pytest.mark.shared
def test_aggregates_are_no_responses(shared: Path) -> None:
    with pytest.raises(ResultsFormatError, match=r"(?s)aggregates of lm-evaluation-harness.*--log_samples"):
        pe.read_results(shared / "examples/lmeval_results_toy_gen.json")


def test_lines_of_other_filters_are_left_out_and_named(tmp_path: Path) -> None:
    rows = [
        harness_line(number, score, filter=name) for name, score in (("strict", 0.0), ("flexible", 1.0)) for number in range(2)
    ]
    path = lines(tmp_path / "samples_toy_2026-01-02T03-04-05.678.jsonl", rows)
    records = pe.read_results(path, model="m")
    assert records.frame["score"].tolist() == [0.0, 0.0]
    assert any("filter 'strict'; left out 'flexible'" in note for note in records.notes)
    assert pe.read_results(path, model="m", filter="flexible").frame["score"].tolist() == [1.0, 1.0]
    with pytest.raises(ResultsFormatError, match="has no filter 'loose'; it has 'strict', 'flexible'"):
        pe.read_results(path, filter="loose")


def test_several_metrics_have_to_be_chosen_from(tmp_path: Path) -> None:
    path = lines(tmp_path / "samples_toy.jsonl", [harness_line(0, ..., metrics=["acc", "acc_norm"], acc=1.0, acc_norm=0.0)])
    with pytest.raises(ResultsFormatError, match=r"(?s)2 metrics: 'acc', 'acc_norm'.*score='acc'"):
        pe.read_results(path)
    assert pe.read_results(path, score="acc_norm", model="m").frame["score"].item() == 0.0
    with pytest.raises(ResultsFormatError, match="has no metric 'f1'"):
        pe.read_results(path, score="f1")


def test_older_files_have_lists_and_no_hashes(tmp_path: Path) -> None:
    old = dict.fromkeys(("metrics", "doc_hash", "prompt_hash", "filter"), ...)
    rows = [harness_line(number, 1.0, arguments=[["prompt", {"temperature": 0.5}]], **old) for number in range(2)]
    frame = pe.read_results(lines(tmp_path / "samples_toy.jsonl", rows), model="m").frame
    assert frame["temperature"].tolist() == [0.5, 0.5]
    assert frame["item_id"].nunique() == 2
    assert frame["item_id"].str.startswith("toy/").all()
    without = [harness_line(7, 1.0, doc=..., **old)]
    assert pe.read_results(lines(tmp_path / "samples_bare.jsonl", without), model="m").items == ["bare/7"]


@pytest.mark.parametrize(
    ("replies", "reason"),
    [
        ({"filtered_resps": ["[invalid]"], "resps": [["I cannot say"]]}, "unparsed"),
        ({"filtered_resps": [""], "resps": [[""]]}, "empty"),
        ({"filtered_resps": ["B"], "resps": [["B"]]}, "answered"),
    ],
)
def test_replies_that_the_filter_could_not_read(tmp_path: Path, replies: dict[str, Any], reason: str) -> None:
    row = pe.read_results(lines(tmp_path / "samples_toy.jsonl", [harness_line(0, 0.0, **replies)]), model="m").frame.iloc[0]
    assert (row["reason"], row["raw_output"]) == (reason, replies["resps"][0][0] or "")


def test_the_model_is_that_of_the_results_of_the_same_task_and_date(tmp_path: Path) -> None:
    folder = tmp_path / "maker__model-b"
    folder.mkdir()
    for date, model, shots in (("2026-01-02T03-04-05.678", "maker/old", 0), ("2026-02-02T03-04-05.678", "maker/new", 5)):
        lines(folder / f"samples_toy_{date}.jsonl", [harness_line(0, 1.0)])
        harness_results(folder / f"results_{date}.json", model_name=model, **{"n-shot": {"toy": shots}})
    frame = pe.read_results(folder).frame
    assert frame[["model", "condition"]].to_numpy().tolist() == [["maker/old", "zero_shot"], ["maker/new", "5_shot"]]
    for path in folder.glob("results*"):
        path.unlink()
    with pytest.raises(RecordsError, match=r"(?s)found more than once.*repeats='append'"):
        pe.read_results(folder)
    alone = pe.read_results(folder / "samples_toy_2026-01-02T03-04-05.678.jsonl")
    assert alone.models == ["maker/model-b"]
    assert any("the folder's name was taken" in note for note in alone.notes)


def test_the_model_of_older_results_stands_in_its_arguments(tmp_path: Path) -> None:
    path = lines(tmp_path / "samples_toy.jsonl", [harness_line(0, 1.0)])
    harness_results(tmp_path / "results.json", model_name=None)
    assert pe.read_results(path).models == ["maker/model-a"]


def test_documents_that_are_alike_are_told_apart(tmp_path: Path) -> None:
    rows = [harness_line(number, 1.0, doc_hash="f" * 64) for number in range(2)]
    records = pe.read_results(lines(tmp_path / "samples_toy.jsonl", rows), model="m")
    assert records.items == ["toy/ffffffffffff#0", "toy/ffffffffffff#1"]
    assert any("shared by several documents" in note for note in records.notes)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_line_ends_and_blank_lines_do_not_matter(tmp_path: Path, end: str) -> None:
    path = lines(tmp_path / "samples_toy.jsonl", [harness_line(0, 1.0), harness_line(1, 0.0)], end)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert pe.read_results(path, model="m").frame["score"].tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ('{"doc_id": 1, "resps"', r"line 2: not JSON .*cut off"),
        ("[1, 2]", r"line 2 is a list \(\[1, 2\]\); expected an object"),
        (json.dumps(harness_line(1, float("nan"))), "line 2: the metric 'exact_match' is a number .nan.; expected a number"),
        (json.dumps(harness_line(1, float("inf"))), "line 2: the metric 'exact_match' is a number .inf."),
        (json.dumps(harness_line(1, "1.0")), "line 2: the metric 'exact_match' is text"),
        (json.dumps(harness_line(1, ...)), "line 2: the metric 'exact_match' is null"),
        (json.dumps(harness_line(1, 1.0, doc_id=None)), "line 2: the field 'doc_id' is null"),
        (json.dumps(harness_line(1, 1.0, filter=3)), "line 2: the field 'filter' is a number"),
        ('{"doc_id": 1, "doc_id": 2}', "line 2: the key 'doc_id' stands twice"),
        ('{"doc_id": ' + "9" * 5000 + "}", "line 2: not JSON"),
    ],
)
def test_lines_of_a_wrong_shape_are_named(tmp_path: Path, bad: str, message: str) -> None:
    path = lines(tmp_path / "samples_toy.jsonl", [harness_line(0, 1.0), bad])
    with pytest.raises(ResultsFormatError, match=f"samples_toy.jsonl {message}"):
        pe.read_results(path, model="m")


def test_item_names_a_field_that_is_there(tmp_path: Path) -> None:
    path = lines(tmp_path / "samples_toy.jsonl", [harness_line(0, 1.0)])
    with pytest.raises(
        ResultsFormatError, match=r"no label in the field item='number'; the document has 'id', 'subskill', 'text'"
    ):
        pe.read_results(path, item="number")


def test_texts_of_documents_stay_where_they_are(tmp_path: Path) -> None:
    frame = pe.read_results(lines(tmp_path / "samples_toy.jsonl", [harness_line(0, 1.0)]), model="m").frame
    assert not frame.astype(str).apply(lambda column: column.str.contains("Sentence")).to_numpy().any()
