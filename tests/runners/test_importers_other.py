"""HELM, py-irt, pedagogy-benchmark, long and wide tables, and how a format is recognised."""

from __future__ import annotations

import gzip
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_results import eval_log, harness_line, helm_run, lines, sample

import psychoedu as pe
from psychoedu.exceptions import DataError, MissingDependencyError, RecordsError, ResultsFormatError

MATRIX = pd.DataFrame(
    [[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]],
    index=pd.Index(["toy/model-a", "toy/model-b"], name="respondent"),
    columns=pd.Index(["id1", "id2", "id3"], name="item"),
)
"""What all examples of two models say (examples/matrix_wide.csv, read by eye)."""


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.shared
@pytest.mark.parametrize(
    "name",
    ["helm_runs", "pyirt.jsonlines", "responses_long.csv", "responses_long.parquet", "matrix_wide.csv", "matrix_wide.parquet"],
)
def test_examples_of_one_matrix_agree(shared: Path, name: str) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow", reason="Parquet needs pyarrow, of the extra [parquet]")
    records = pe.read_results(shared / "examples" / name)
    frame = records.to_matrix(respondent="model").to_frame()
    pd.testing.assert_frame_equal(frame, MATRIX, check_index_type=False, check_column_type=False)


@pytest.mark.shared
def test_a_folder_of_several_formats_asks_which(shared: Path) -> None:
    with pytest.raises(ResultsFormatError, match=r"several formats: .*inspect \(2\).*format="):
        pe.read_results(shared / "examples")
    assert len(pe.read_results(shared / "examples", format="py-irt")) == 6
    with pytest.raises(RecordsError, match=r"found more than once.*responses_long.csv and .*responses_long.parquet"):
        pe.read_results(str(shared / "examples/responses_long.*"))


@pytest.mark.shared
def test_a_table_that_is_none_of_them_says_what_was_seen(shared: Path) -> None:
    with pytest.raises(ResultsFormatError, match=r"(?s)columns 'item_id', 'statement', 'key_aligned'.*Known formats: inspect"):
        pe.read_results(shared / "examples/aligned_neuromyth_items.csv")
    with pytest.raises(ResultsFormatError, match="JSON with the keys 'id', 'question', 'A'"):
        pe.read_results(shared / "examples/lmeval_task/items.jsonl")


# HELM


def test_a_run_of_helm(tmp_path: Path) -> None:
    helm_run(tmp_path / "v1/toy:model=maker_a", "maker/a", {"id1": 1, "id2": 0})
    records = pe.read_results(tmp_path)
    row = records.frame.iloc[0]
    assert row[["model", "benchmark", "subset", "condition", "parsed", "raw_output"]].tolist() == [
        "maker/a", "toy:subject=x", "test", "zero_shot", "A", " A",
    ]  # fmt: skip
    assert (row["max_tokens"], row["output_tokens"]) == (5, 3)
    assert records.frame["score"].tolist() == [1.0, 0.0]
    for name in ("per_instance_stats.json", "display_predictions.json"):
        assert len(pe.read_results(tmp_path / "v1/toy:model=maker_a" / name)) == 2


def test_perturbed_instances_are_left_out(tmp_path: Path) -> None:
    stat = {"name": {"name": "exact_match", "split": "test"}, "count": 1, "sum": 1, "mean": 1}
    stats = [
        {"instance_id": "id1", "train_trial_index": 0, "stats": [stat]},
        {"instance_id": "id1", "train_trial_index": 0, "perturbation": {"name": "typos"}, "stats": [stat]},
        {"instance_id": "id2", "stats": [{"name": {"name": "exact_match", "perturbation": {"name": "typos"}}, "mean": 0}, stat]},
    ]
    records = pe.read_results(helm_run(tmp_path / "run", "m", {}, stats=stats, predictions=None))
    assert records.frame[["item_id", "score"]].to_numpy().tolist() == [["id1", 1.0], ["id2", 1.0]]
    assert any("perturbed" in note for note in records.notes)


def test_trials_are_runs(tmp_path: Path) -> None:
    predictions = [
        {"instance_id": "id1", "train_trial_index": trial, "predicted_text": text, "stats": {"exact_match": score}}
        for trial, (text, score) in enumerate([("A", 1.0), ("B", 0.0), ("A", 1.0)])
    ]
    records = pe.read_results(helm_run(tmp_path / "run", "m", {}, stats=None, predictions=predictions))
    assert records.frame["epoch"].tolist() == [1, 2, 3]
    assert any("3 trials" in note for note in records.notes)
    assert records.to_matrix(repeats="mean").to_frame().iloc[0, 0] == pytest.approx(2 / 3, rel=1e-12)
    assert records.to_matrix().scored().tolist() == [[1]]


def test_helm_s_stat_is_chosen(tmp_path: Path) -> None:
    stats = [{"instance_id": "id1", "stats": [{"name": {"name": "rouge"}, "count": 2, "sum": 1.0}]}]
    run = helm_run(tmp_path / "run", "m", {}, stats=stats, predictions=None)
    with pytest.raises(ResultsFormatError, match="has no stat 'exact_match', 'quasi_exact_match'; it has 'rouge'"):
        pe.read_results(run)
    assert pe.read_results(run, score="rouge").frame["score"].item() == 0.5  # no mean stored: sum / count


def test_without_a_specification_the_folder_s_name_counts(tmp_path: Path) -> None:
    named = helm_run(tmp_path / "toy:model=maker_a", "x", {"id1": 1}, spec=None)
    records = pe.read_results(named)
    assert records.models == ["maker_a"]
    assert any("the folder's name" in note for note in records.notes)
    with pytest.raises(ResultsFormatError, match=r"which model it was. Pass model="):
        pe.read_results(helm_run(tmp_path / "plain", "x", {"id1": 1}, spec=None))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"stats": {"a": 1}}, "per_instance_stats.json is an object"),
        ({"stats": [{"stats": []}]}, "entry 1: the field 'instance_id' is null"),
        ({"stats": [{"instance_id": "i", "stats": [{"name": "exact_match"}]}]}, "a stat: the field 'name' is text"),
        ({"stats": [{"instance_id": "i", "stats": []}] * 2}, "entry 2: the instance 'i', trial 0, stands there twice"),
        (
            {"predictions": [{"instance_id": "id1", "stats": {"exact_match": 0.0}}]},
            "is 1 in per_instance_stats.json, 0 in display",
        ),
        (
            {"predictions": [{"instance_id": "id1", "stats": {"exact_match": math.nan}}]},
            "the stat 'exact_match' is a number .nan.",
        ),
        ({"stats": None, "predictions": []}, "holds no unperturbed instances"),
    ],
)
def test_helm_files_of_a_wrong_shape_are_named(tmp_path: Path, files: dict[str, Any], message: str) -> None:
    with pytest.raises(ResultsFormatError, match=message):
        pe.read_results(helm_run(tmp_path / "run", "m", {"id1": 1}, **files))


# py-irt


def test_py_irt_lines(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonlines", [{"subject_id": "s1", "responses": {"q1": 1, "q2": None, "q3": 0.5, "q4": True}}])
    frame = pe.read_results(path).frame
    np.testing.assert_equal(frame["score"].tolist(), [1.0, math.nan, 0.5, 1.0])
    assert frame["reason"].tolist() == ["answered", "not_administered", "answered", "answered"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"subject_id": None, "responses": {"q": 1}}, "line 2: the field 'subject_id' is null"),
        ({"subject_id": "b", "responses": [1]}, "line 2: the field 'responses' is a list"),
        ({"subject_id": "b", "responses": {"q": "1"}}, "line 2: the response to 'q' is text"),
        ({"subject_id": "b", "responses": {"q": math.inf}}, "line 2: the response to 'q' is a number"),
        ('{"subject_id": "b", "responses": {"q": 1, "q": 0}}', "line 2: the key 'q' stands twice"),
    ],
)
def test_py_irt_lines_of_a_wrong_shape_are_named(tmp_path: Path, line: Any, message: str) -> None:
    path = lines(tmp_path / "a.jsonlines", [{"subject_id": "a", "responses": {"q": 1}}, line])
    with pytest.raises(ResultsFormatError, match=message):
        pe.read_results(path)


def test_a_subject_twice_is_an_error_or_a_further_run(tmp_path: Path) -> None:
    """Peers append both as independent observations."""
    path = lines(tmp_path / "a.jsonlines", [{"subject_id": "a", "responses": {"q": value}} for value in (1, 0)])
    with pytest.raises(RecordsError, match=r"\(model 'a', item_id 'q', epoch 1\).*\n.*column epoch, or pass repeats='append'"):
        pe.read_results(path)
    assert pe.read_results(path, repeats="append").frame["epoch"].tolist() == [1, 2]


# pedagogy-benchmark (figures of our own; its items are not to appear anywhere)

PEDAGOGY = (
    "question_id,question,answer_a,Correct answer,category,pred_m-1,pred_m-2\n"
    "12,a text,x,B,maths,B,b\n"
    "13,a text,x,A,science,C,The answer is A\n"
    "14,a text,x,D,science,D,\n"
)


def test_results_of_pedagogy_benchmark(tmp_path: Path) -> None:
    records = pe.read_results(written(tmp_path / "cdpk_results_full_x.csv", PEDAGOGY))
    matrix = records.to_matrix()
    assert matrix.respondent_labels.tolist() == ["m-1", "m-2"]
    assert matrix.scored().tolist() == [[1, 0, 1], [1, 0, 0]]
    assert matrix.reasons.loc["m-2"].tolist() == ["answered", "unparsed", "unparsed"]
    assert records.frame["subset"].unique().tolist() == ["cdpk"]
    assert matrix.items["category"].tolist() == ["maths", "science", "science"]
    assert not {"question", "answer_a"} & set(records.frame)
    with pytest.raises(ResultsFormatError, match="line 2: without a question_id or a correct answer"):
        pe.read_results(written(tmp_path / "b.csv", "question_id,correct_answer,pred_m\n1,,A\n"))
    with pytest.raises(ResultsFormatError, match=r"(?s)is no results table.*the correct answer"):
        pe.read_results(written(tmp_path / "c.csv", "question_id,pred_m\n1,A\n"))
    with pytest.raises(ResultsFormatError, match="cache of pedagogy-benchmark without question ids"):
        pe.read_results(written(tmp_path / "d.csv", "answers,resps,success\nA,A,True\n"))


# tables


def test_a_long_table_with_names_of_its_own(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "who;what;right;level;code\nm;q1;1;3;01\nm;q2;;4;02\nn;q1;false;3;01\n")
    with pytest.raises(ResultsFormatError, match=r"columns 'who', 'what', 'right'.*columns=\{'model': 'who'"):
        pe.read_results(path)
    records = pe.read_results(path, columns={"model": "who", "item_id": "what", "score": "right"})
    np.testing.assert_equal(records.frame["score"].tolist(), [1.0, math.nan, 0.0])
    assert records.frame["reason"].tolist() == ["answered", "not_administered", "answered"]
    assert records.frame["level"].tolist() == [3, 4, 3]
    assert records.frame["code"].tolist() == ["01", "02", "01"]
    assert any("parted by ';'" in note for note in records.notes)
    assert any("who to model" in note for note in records.notes)
    with pytest.raises(ResultsFormatError, match="has no column 'whom'"):
        pe.read_results(path, columns={"model": "whom"})


def test_a_long_table_of_one_model(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "item_id,score\nq1,1\nq2,0\n")
    assert pe.read_results(path, format="long", model="m").to_matrix().scored().tolist() == [[1, 0]]


@pytest.mark.parametrize("cell", ["right", "inf", "1e999"])
def test_scores_of_a_table_that_are_none_are_named(tmp_path: Path, cell: str) -> None:
    path = written(tmp_path / "a.csv", f"model,item_id,score\nm,q1,1\nm,q2,{cell}\n")
    with pytest.raises(ResultsFormatError, match=r"line 3: the score in column 'score' is"):
        pe.read_results(path)
    path = written(tmp_path / "b.csv", f"model,q1,q2\nm,1,{cell}\n")
    with pytest.raises(ResultsFormatError, match=r"line 2, column 'q2'"):
        pe.read_results(path, format="wide")


def test_a_wide_table_and_the_other_way_round(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "model,q1,q2\n07,1,NA\nn,0,true\n")
    records = pe.read_results(path)
    assert records.models == ["07", "n"]
    np.testing.assert_equal(records.frame["score"].tolist(), [1.0, math.nan, 0.0, 1.0])
    turned = pe.read_results(written(tmp_path / "b.csv", "item,m,n\nq1,1,0\nq2,,1\n"), transposed=True, format="wide")
    assert turned.to_matrix().reasons.loc["m"].tolist() == ["answered", "not_administered"]
    with pytest.raises(ResultsFormatError, match=r"(?s)first column, 'model', repeats 'm'.*columns="):
        pe.read_results(written(tmp_path / "c.csv", "model,q1\nm,1\nm,0\n"))


def test_a_parquet_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow, of the extra [parquet]")
    path = tmp_path / "a.parquet"
    pd.DataFrame({"model": [f"m{row}" for row in range(20_000)], "q1": 1}).to_parquet(path)
    with pytest.raises(ResultsFormatError, match=r"unpacked, is larger than 0.0 MiB"):
        pe.read_results(path, max_bytes=1000)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(ResultsFormatError, match="cannot be read as Parquet"):
        pe.read_results(path)


def test_parquet_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow, of the extra [parquet]")
    MATRIX.reset_index().to_parquet(tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"psychoedu\[parquet\]"):
        pe.read_results(tmp_path / "a.parquet")


# recognising


@pytest.mark.parametrize(
    ("content", "saw"),
    [
        (b"", "empty"),
        (b" \n ", "empty"),
        (gzip.compress(b"x", mtime=0), "packed with gzip"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"<html>", "HTML or XML"),
        ("a,b\n1,2\n".encode("utf-16"), "text in UTF-16"),
        (b"\x00\x01\x02", "binary"),
        (b"{}", "JSON with the keys "),
        (b"[]", "JSON, a list"),
        (b'[{"a": 1}]', "a JSON list of objects with the keys 'a'"),
        (b'{"name": "x", "adapter_spec": {}}', "run_spec.json of HELM; pass its folder"),
        (b"dear diary\nit rained\n", "text, beginning with 'dear diary"),
        (b"name,age\nann,old\n", "a table with the columns 'name', 'age'"),
    ],
)
def test_files_of_no_known_format_say_what_was_seen(tmp_path: Path, content: bytes, saw: str) -> None:
    path = tmp_path / "file.dat"
    path.write_bytes(content)
    with pytest.raises(ResultsFormatError, match=saw) as caught:
        pe.read_results(path)
    assert str(caught.value).count("\n") <= 2


def test_names_do_not_matter(tmp_path: Path) -> None:
    assert len(pe.read_results(eval_log(tmp_path / "log.txt", [sample("q1")]))) == 1
    path = lines(tmp_path / "b.txt", [{"subject_id": "a", "responses": {"q": 1}}])
    assert len(pe.read_results(path)) == 1
    assert pe.read_results(lines(tmp_path / "c.json", [harness_line(0, 1.0)]), model="m").items[0].startswith("c/")


@pytest.mark.parametrize(
    ("path", "message"),
    [("absent.eval", "does not exist"), ("*.eval", "matches no file"), ("", "Expected a file, a folder or a pattern")],
)
def test_paths_to_nothing(path: str, message: str) -> None:
    with pytest.raises(ResultsFormatError, match=message):
        pe.read_results(path)


def test_folders_of_nothing_and_lists_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text("{}")
    with pytest.raises(ResultsFormatError, match=r"holds no results that are read here; it has 'notes.json'"):
        pe.read_results(tmp_path)
    with pytest.raises(ResultsFormatError, match="no path was given"):
        pe.read_results([])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "excel"}, "format has to be one of 'inspect', 'lm-eval'"),
        ({"repeats": "mean"}, "repeats has to be one of 'append'"),
        ({"max_score": 0}, "max_score has to be above 0"),
        ({"full": 1}, "full has to be True or False"),
    ],
)
def test_arguments_are_checked_first(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        pe.read_results("absent", **options)


def test_a_list_may_mix_formats(tmp_path: Path) -> None:
    wide = written(tmp_path / "a.csv", "model,q1,q2\nm,1,0\n")
    log = eval_log(tmp_path / "b.eval", [sample("q1"), sample("q2")])
    records = pe.read_results([wide, log])
    assert records.to_matrix().scored().tolist() == [[1, 0], [1, 1]]
    assert json.loads(json.dumps(records.models)) == ["m", "maker/model-a"]


def test_devices_and_pipes_are_not_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.eval"
    try:
        os.mkfifo(pipe)
    except (AttributeError, OSError):
        pytest.skip("this system has no pipes with a name")
    with pytest.raises(ResultsFormatError, match="neither a file nor a folder"):
        pe.read_results(pipe)
    with pytest.raises(ResultsFormatError, match="holds no results"):
        pe.read_results(tmp_path)


def test_a_large_table_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "model,item_id,score\n" + "m,q,1\n" * 1000)
    with pytest.raises(ResultsFormatError, match=r"a.csv is larger than 0.0 MiB"):
        pe.read_results(path, max_bytes=1000)


def test_labels_within_one_file_stay_as_they_are(tmp_path: Path) -> None:
    text = "model,condition,item_id,benchmark,score\nm,{0},q1,{1},1\nm,{2},q1,{3},0\n"
    path = written(tmp_path / "a.csv", text.format("a", "grammar", "b", "reading"))
    assert pe.read_results(path).items == ["q1"]
    other = written(tmp_path / "b.csv", "model,item_id,benchmark,score\nm,q1,writing,1\n")
    assert pe.read_results([path, other]).items == ["grammar/q1", "reading/q1", "writing/q1"]
