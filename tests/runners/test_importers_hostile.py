"""Broken, contradictory and hostile files: each is refused with its place, or its loss is told; nothing is changed in silence."""

from __future__ import annotations

import json
import math
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from made_results import eval_log, harness_line, helm_run, lines, sample

import psychoedu as pe
from psychoedu.exceptions import RecordsError, ResultsFormatError
from psychoedu.runners.importers import content
from psychoedu.runners.records_frame import printable

HUGE = 10**400


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def good(folder: Path) -> Path:
    return written(folder / "a.jsonl", '{"subject_id": "m", "responses": {"q1": 1, "q2": 0}}\n')


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("b_results.jsonl", '{"subject_id": "n", "responses": {"q1"', "line 1"),
        ("b.jsonl", '{"subject_id": "n", "responses": {"q1": 1}}\n{"subject_id"', "line 2"),
        ("results_long.csv", "model,item_id,score\nm,q1,1\nm,q2\n", "line 3"),
        ("results_wide.csv", "model,q1,q2\nn,1,0\no,1\n", "line 3"),
        ("cut.csv", 'model,item_id,score\nm,"q1,1\n', "line 2"),
    ],
)
def test_a_broken_file_of_a_known_format_in_a_folder_is_an_error(tmp_path: Path, name: str, text: str, place: str) -> None:
    good(tmp_path)
    broken = written(tmp_path / name, text)
    with pytest.raises(ResultsFormatError, match=place) as error:
        pe.read_results(tmp_path)
    assert str(broken) in str(error.value)


@pytest.mark.parametrize("name", ["b.json", "b.eval"])
def test_a_log_that_is_cut_off_is_an_error_among_others(tmp_path: Path, name: str) -> None:
    eval_log(tmp_path / "a.eval", [sample("q1")])
    written(tmp_path / name, '{"version": 2, "eval": {"task": "t"')
    with pytest.raises(ResultsFormatError, match=rf"{name} line 1: .*cut off"):
        pe.read_results(tmp_path)


def test_what_is_of_no_format_is_named_and_aggregates_are_not(tmp_path: Path) -> None:
    good(tmp_path)
    names = [f"{number}_results.json" for number in range(7)]
    for name in names:
        written(tmp_path / name, '{"a": 1}')
    written(tmp_path / "results_x.json", '{"results": {}, "configs": {}}')
    written(tmp_path / "eval-set.json", '{"eval_set_id": "x"}')
    (note,) = [note for note in pe.read_results(tmp_path).notes if "another kind" in note]
    assert all(name in note for name in names)
    assert "results_x.json" not in note
    assert "eval-set.json" not in note


@pytest.mark.parametrize("kind", ["py-irt", "inspect", "lm-eval", "helm"])
def test_a_number_beyond_all_floats_is_refused_with_its_place(tmp_path: Path, kind: str) -> None:
    if kind == "py-irt":
        path = written(tmp_path / "a.jsonl", json.dumps({"subject_id": "m", "responses": {"q1": HUGE}}))
    elif kind == "inspect":
        path = eval_log(tmp_path / "a.eval", [sample("q1", HUGE)])
    elif kind == "lm-eval":
        path = lines(tmp_path / "samples_t.jsonl", [harness_line(0, HUGE)])
    else:
        path = helm_run(tmp_path / "run", "m", {"id1": HUGE})
    with pytest.raises(ResultsFormatError) as error:
        pe.read_results(path, model=None if kind in ("py-irt", "inspect") else "m")
    assert str(tmp_path) in str(error.value)
    assert "expected" in str(error.value).lower()


@pytest.mark.parametrize(
    "line", ['{"subject_id": "\\ud800", "responses": {"q": 1}}', '{"subject_id": "m", "responses": {"\\udfff": 1}}']
)
def test_half_a_surrogate_pair_in_a_label_is_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(ResultsFormatError, match=r"line 1: .*surrogate"):
        pe.read_results(written(tmp_path / "a.jsonl", line))


def test_a_small_archive_of_many_small_objects_is_refused(tmp_path: Path) -> None:
    head = {"eval": {"task": "t", "model": "m"}}
    with zipfile.ZipFile(tmp_path / "a.eval", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("header.json", json.dumps(head))
        file.writestr("summaries.json", "[" + "{}," * 150_000 + "{}]")
    with pytest.raises(ResultsFormatError, match=r"summaries.json: holds more than 100,000 objects and lists.*\n.*max_bytes"):
        pe.read_results(tmp_path / "a.eval", max_bytes=2**20)


def test_braces_in_texts_are_no_objects() -> None:
    text = json.dumps(["{[" * 60_000 + '\\"{']).encode()
    assert content.count_parts(text, 2**20, "x") == 1


def test_metadata_that_are_lists_or_have_our_names_are_kept(tmp_path: Path) -> None:
    metadata = {"attributes": ["a", "b"], "about": {"k": 1}, "score": 7, "_own": "x", "level": 2}
    frame = pe.read_results(eval_log(tmp_path / "a.eval", [{**sample("q1"), "metadata": metadata}])).frame
    first = frame.iloc[0]
    assert json.loads(first["attributes"]) == ["a", "b"]
    assert json.loads(first["about"]) == {"k": 1}
    assert (first["meta_score"], first["meta_own"], first["level"], first["score"]) == (7, "x", 2, 1.0)


def test_labels_of_samples_that_differ_in_kind_alone_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsFormatError, match="the ids 1 and '1' differ in kind alone"):
        pe.read_results(eval_log(tmp_path / "a.eval", [sample(1), sample("1")]))


def test_an_answer_that_nobody_graded_counts_as_failed(tmp_path: Path) -> None:
    samples = [sample("q1", math.nan, answer="A"), sample("q2", "C", answer="A")]
    records = pe.read_results(eval_log(tmp_path / "a.eval", samples))
    assert records.rates().iloc[0][["n", "answered", "failed", "absent"]].tolist() == [2, 1, 1, 0]
    assert records.frame["error"].iloc[0].startswith("not graded")
    assert any("answered, but not graded" in note for note in records.notes)


def test_a_call_that_failed_is_not_wrong_in_a_table(tmp_path: Path) -> None:
    text = "model,item_id,score,error\nm,q1,1,\nm,q2,0,None\nm,q3,0,\nm,q4,0,timeout\n"
    records = pe.read_results(written(tmp_path / "a.csv", text))
    assert records.frame["reason"].tolist() == ["answered"] * 3 + ["api_error"]
    rates = records.rates().iloc[0]
    assert (rates["rate_invalid_wrong"], rates["rate_failed_wrong"]) == pytest.approx((1 / 3, 1 / 4), rel=1e-15)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("m,q2,2,1\nm,q3,1,1\n", "line 3"),
        ("m,q2,1,1\n\nm,,1,1\n", "line 5"),
        ("m,q2,1,0\nm,q3,1,-3\n", "lines 3, 4"),
        ("m,q2,1,half\n", "line 3"),
        ("m,q1,1,1\n", "lines 2, 3"),
    ],
)
def test_contradictions_name_the_file_and_the_line(tmp_path: Path, rows: str, told: str) -> None:
    written(tmp_path / "a.csv", "model,item_id,score,epoch\nx,q1,1,1\n")
    path = written(tmp_path / "b.csv", f"model,item_id,score,epoch\nm,q1,1,1\n{rows}")
    if told == "lines 3, 4":  # below 1, and not merely counted from 0
        with pytest.raises(RecordsError, match="epoch below 1: 0, -3"):
            pe.Records(pd.DataFrame({"model": "m", "item_id": ["a", "b"], "score": 1, "epoch": [0, -3]}))
    with pytest.raises(RecordsError, match=told.replace("line ", "lines? ")) as error:
        pe.read_results(tmp_path)
    if told != "lines 2, 3":
        assert str(error.value).startswith(str(path))


def test_runs_counted_from_0_are_counted_from_1(tmp_path: Path) -> None:
    records = pe.read_results(written(tmp_path / "a.csv", "model,item,run,score\nm,q1,0,1\nm,q1,1,0\n"))
    assert records.frame["epoch"].tolist() == [1, 2]
    assert any("numbered from 0" in note for note in records.notes)


@pytest.mark.parametrize(("cell", "told"), [("1_0", "no score"), ("١", "no score"), ("0,5", r"decimal comma\? write 0.5")])
def test_numbers_of_other_kinds_are_named(tmp_path: Path, cell: str, told: str) -> None:
    path = written(tmp_path / "a.csv", f"model;q1;q2\nm;1;0\nn;1;0\no;{cell};1\n")
    with pytest.raises(ResultsFormatError, match=rf"line 4, column 'q1': .*{told}"):
        pe.read_results(path)


def test_a_letter_beyond_the_options_of_a_question_is_unparsed(tmp_path: Path) -> None:
    options = "question_id,answer_a,answer_b,answer_c,answer_d,answer_e,correct_answer,pred_m\n"
    text = options + "1,a,b,c,d,,A,E\n2,a,b,c,d,e,E,E\n"
    records = pe.read_results(written(tmp_path / "a.csv", text))
    assert records.frame["reason"].tolist() == ["unparsed", "answered"]
    plain = written(tmp_path / "b.csv", "question_id,correct_answer,pred_m\n1,A,E\n2,B,B\n")
    assert pe.read_results(plain).frame["reason"].tolist() == ["unparsed", "answered"]


@pytest.mark.parametrize("label", ["a\x1b[2J", "a\x9b2J", "a\u202eb"])
def test_labels_and_names_of_files_are_printed_escaped(tmp_path: Path, label: str) -> None:
    assert not any(sign in printable(label) for sign in "\x1b\x9b\u202e")
    path = written(tmp_path / "a.jsonl", json.dumps({"subject_id": label, "responses": {"q": 1}}))
    records = pe.read_results(path)
    assert records.models == [label]
    assert all(sign.isprintable() or sign == "\n" for sign in records.summary())
    with pytest.raises(ResultsFormatError) as error:
        pe.read_results(tmp_path / f"{label}.csv")
    assert all(sign.isprintable() or sign == "\n" for sign in str(error.value))


def test_whole_numbers_stay_exact(tmp_path: Path) -> None:
    exact: list[Any] = [2**53 + 1, 2**63 - 1, None]
    frame = pd.DataFrame({"model": "m", "item_id": ["a", "b", "c"], "score": 1})
    frame["seed"] = pd.Series(exact, dtype=object)
    frame["further"] = pd.Series(exact, dtype=object)
    records = pe.Records(frame)
    joined = pe.Records.concat([records, pe.Records(frame.assign(model="n"))])
    joined.save(tmp_path)
    for read in (joined, pe.Records.read(tmp_path / "records.csv"), pe.read_results(tmp_path / "records.csv")):
        for name in ("seed", "further"):
            assert [None if pd.isna(value) else int(value) for value in read.frame[name]] == exact * 2
    mixed = pe.Records(frame.assign(further=pd.Series([2**53 + 1, 0.5, None], dtype=object))).frame["further"]
    assert mixed.tolist()[:2] == [str(2**53 + 1), "0.5"]


def test_records_that_were_edited_name_their_line(tmp_path: Path) -> None:
    pe.Records(pd.DataFrame({"model": ["m", "n"], "item_id": "q", "score": 1})).save(tmp_path)
    (tmp_path / "records.parquet").unlink(missing_ok=True)
    path = tmp_path / "records.csv"
    path.write_text(path.read_text().replace('"answered",1.0', '"answered",7.0', 1))
    for place in (path, tmp_path):
        with pytest.raises(RecordsError, match=r"records.csv: 1 record with a score outside 0 and max_score: line 2, "):
            pe.Records.read(place)


def test_a_run_without_parsed_answer_changes_the_vote_of_its_own_cell_alone() -> None:
    cells = [("q1", 1, "A", 1), ("q1", 2, "B", 0), ("q1", 3, "C", 0), ("q2", 1, None, 1), ("q2", 2, "B", 0), ("q2", 3, "C", 0)]
    frame = pd.DataFrame(cells, columns=["item_id", "epoch", "parsed", "score"]).assign(model="m")
    records = pe.Records(frame)
    assert records.to_matrix().scored().tolist() == [[1, 0]]
    assert "the scores vote" in records.summary()
    assert records.to_matrix(votes="scores").scored().tolist() == [[0, 0]]
