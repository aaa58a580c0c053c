"""A run end to end with Inspect's mock provider: records, files, provenance, failed calls, and what must never be written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

pytest.importorskip("inspect_ai", reason="the extra [runners] is not installed")

from mock_models import INSPECT, item_of, mock_model, small_bank

from psychoedu.exceptions import RunnerError
from psychoedu.runners import Records, read_results, run
from psychoedu.runners.csebench.prompts import prompt
from psychoedu.runners.importers import archive
from psychoedu.runners.logs import answered_before
from psychoedu.runners.prompt_hash import prompt_hash

pytestmark = INSPECT
KEY = "sk-test-0123456789abcdef"
BANK = small_bank(6)
KEYS = {item.stem: item.key for item in BANK.items}


def answer(text: str, call: int) -> Any:
    """Item 1 right; 2 wrong; 3 refused; 4 empty, cut; 5 fails; 6 with white space and a long text after it."""
    number = int(item_of(text).split("item ")[1].split()[0])
    return {
        1: "A",
        2: "A",
        3: ("I'm sorry, I won't say.", "content_filter"),
        4: ("", "max_tokens"),
        5: RuntimeError(f"status 401 for {KEY}"),
        6: f"\n  B\n\n{'x ' * 900}",
    }[number]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Any:
    patch = pytest.MonkeyPatch()
    patch.setenv("OPENAI_API_KEY", KEY)
    try:
        folder = tmp_path_factory.mktemp("run") / "out"
        models = [mock_model(answer, "mockllm/a"), mock_model(answer, "mockllm/b")]
        yield run("csebench", models, items=BANK, out=folder, max_tokens={"mockllm/b": 4096})
    finally:
        patch.undo()


def test_every_model_condition_item_and_run_is_there_once(finished: Any) -> None:
    frame = finished.records.frame
    assert len(frame) == 2 * 2 * 6 * 3
    assert not frame.duplicated(["model", "condition", "item_id", "epoch"]).any()
    assert frame.groupby("condition").size().to_dict() == {"zero_shot": 36, "few_shot": 36}


def test_a_failed_call_is_missing_with_its_reason_and_no_wrong_answer(finished: Any) -> None:
    frame = finished.records.frame
    failed = frame[frame["item_id"] == "q5"]
    assert set(failed["reason"]) == {"api_error"}
    assert failed["score"].isna().all()
    assert failed["error"].str.contains("status 401").all()
    assert finished.matrix().to_frame()["q5"].isna().all()
    assert finished.matrix().to_frame().drop(columns="q5").to_numpy().tolist() == [[1, 0, 0, 0, 1]] * 4


def test_replies_without_an_answer_are_wrong_and_say_why(finished: Any) -> None:
    frame = finished.records.frame.drop_duplicates("item_id").set_index("item_id")
    assert frame["reason"].to_dict() == {
        "q1": "answered", "q2": "answered", "q3": "refused", "q4": "empty", "q5": "api_error", "q6": "answered",
    }  # fmt: skip
    assert frame.loc[["q3", "q4"], "score"].tolist() == [0.0, 0.0]
    assert frame.loc["q4", "stop_reason"] == "max_tokens"
    missing = finished.matrix(invalid="missing").to_frame().iloc[0]
    assert missing.isna().to_dict() == {"q1": False, "q2": False, "q3": True, "q4": True, "q5": True, "q6": False}
    assert any("cut at the cap" in note for note in finished.records.notes)


def test_a_record_says_everything(finished: Any) -> None:
    frame = finished.records.frame
    row = frame[(frame["model"] == "mockllm/b") & (frame["condition"] == "few_shot") & (frame["item_id"] == "q1")].iloc[0]
    expected = {
        "benchmark": "csebench", "provider": "mockllm", "model_version": "mock-2024-01-01", "temperature": 0.0, "top_p": 1.0,
        "max_tokens": 4096, "epoch": 1, "raw_output": "A", "parsed": "A", "score": 1.0, "max_score": 1.0, "input_tokens": 20,
        "output_tokens": 1, "reasoning_tokens": 0, "level": 3, "run_id": finished.provenance["run_id"],
        "prompt_hash": prompt_hash([("user", prompt(BANK.items[0].text, "few_shot"))]),
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    assert row["latency_s"] >= 0.0
    assert (finished.out / row["log_uri"]).is_file()
    assert not Path(row["log_uri"]).is_absolute()
    assert set(frame.loc[frame["model"] == "mockllm/a", "max_tokens"]) == {8}


def test_replies_are_kept_letter_by_letter(finished: Any) -> None:
    kept = finished.records.frame.set_index("item_id").loc["q6", "raw_output"]
    assert set(kept) == {f"\n  B\n\n{'x ' * 900}"}


def test_files_are_there_and_read_back_the_same(finished: Any) -> None:
    names = {path.name for path in finished.files}
    assert {"records.csv", "responses.csv", "item_statistics.csv", "rates.csv", "provenance.json"} <= names
    pd.testing.assert_frame_equal(Records.read(finished.out).frame, finished.records.frame)
    wide = pd.read_csv(finished.out / "responses.csv", index_col=0)
    assert wide.to_numpy().tolist()[0][:4] == [1.0, 0.0, 0.0, 0.0]
    assert list(wide.index) == ["mockllm/a / zero_shot", "mockllm/a / few_shot", "mockllm/b / zero_shot", "mockllm/b / few_shot"]


def test_rates_stand_under_each_policy_with_the_share_on_which_the_rules_differ(finished: Any) -> None:
    """Of 15 replies, "I'm sorry, I won't say." and the others have no letter that two rules read differently."""
    rates = pd.read_csv(finished.out / "rates.csv", index_col=[0, 1])
    assert rates["rate_invalid_wrong"].tolist() == pytest.approx([2 / 5] * 4)
    assert rates["rate_invalid_missing"].tolist() == pytest.approx([2 / 3] * 4)
    assert rates["rate_failed_wrong"].tolist() == pytest.approx([2 / 6] * 4)
    assert rates["rules_differ"].tolist() == [0.0] * 4
    retest = pd.read_csv(finished.out / "test_retest.csv", index_col=[0, 1])
    assert retest["same_answer"].tolist() == [1.0] * 4


def test_the_share_on_which_the_rules_differ_is_of_the_replies(tmp_path: Path) -> None:
    said = {1: "Answer: C", 2: "B", 3: "D, as in Danger", 4: "because", 5: "According to B", 6: "C"}
    model = mock_model(lambda text, _: said[int(item_of(text).split("item ")[1].split()[0])])
    result = run("csebench", model, "zero_shot", items=BANK, out=tmp_path, repeats=1)
    assert result.rates()["rules_differ"].tolist() == pytest.approx([2 / 6])
    assert "rules_differ" in result.summary()


def test_provenance_names_models_as_reported_decoding_and_versions(finished: Any) -> None:
    content = json.loads((finished.out / "provenance.json").read_text(encoding="utf-8"))
    assert content["status"] == "calls failed"
    assert [member["reported"] for member in content["models"]] == [["mock-2024-01-01"]] * 2
    assert [member["max_tokens"] for member in content["models"]] == [8, 4096]
    asked = {"temperature": [0.0], "top_p": [1.0]}
    assert content["decoding"] == {"temperature": 0.0, "top_p": 1.0, "by_condition": {"zero_shot": asked, "few_shot": asked}}
    assert content["items"]["hash"] == BANK.hash
    assert set(content["versions"]) >= {"psychoedu", "python", "inspect_ai"}
    assert content["records"]["by_reason"] == {"answered": 36, "refused": 12, "empty": 12, "api_error": 12}
    assert all((finished.out / name).is_file() for name in content["logs"])


def test_no_key_of_the_environment_is_in_our_files(finished: Any) -> None:
    """The provider's own error held the key; Inspect's log of it is not ours, what we write is."""
    for path in finished.files:
        assert KEY.encode() not in path.read_bytes(), path.name


def test_statistics_of_items_by_condition(finished: Any) -> None:
    table = finished.item_statistics()
    row = table.loc[("zero_shot", "q1")]
    assert (row["n_models"], row["p_value"], row["n_runs"], row["chosen_A"]) == (2, 1.0, 6, 6)
    assert (table.loc[("few_shot", "q5"), "failed"], table.loc[("few_shot", "q3"), "refused"]) == (6, 6)
    assert pd.isna(table.loc[("few_shot", "q5"), "p_value"])
    assert table["level"].tolist() == [item.metadata["level"] for item in BANK.items] * 2


def test_the_importer_reads_the_logs_as_the_run_does(finished: Any) -> None:
    columns = [
        "model",
        "condition",
        "item_id",
        "epoch",
        "parsed",
        "reason",
        "score",
        "prompt_hash",
        "model_version",
        "output_tokens",
    ]
    key = columns[:4]
    own = finished.records.frame[columns].sort_values(key).reset_index(drop=True)
    imported = read_results(finished.log_dir).frame[columns].sort_values(key).reset_index(drop=True)
    pd.testing.assert_frame_equal(imported, own, check_dtype=False)


def test_a_finished_run_asks_nothing_again_but_what_failed(finished: Any, tmp_path: Path) -> None:
    seen: list[str] = []
    models = [mock_model(lambda *_: "D", "mockllm/a", seen=seen), mock_model(lambda *_: "D", "mockllm/b", seen=seen)]
    folder = shutil.copytree(finished.out, tmp_path / "again")
    again = run("csebench", models, items=BANK, out=folder, max_tokens={"mockllm/b": 4096})
    assert {item_of(text) for text in seen} == {BANK.items[4].stem}  # whose calls had failed
    kept = [frame[frame["item_id"] != "q5"].drop(columns="log_uri") for frame in (again.records.frame, finished.records.frame)]
    pd.testing.assert_frame_equal(*kept)
    assert again.provenance["started"] == finished.provenance["started"]


def test_the_bar_starts_where_the_run_stopped(finished: Any, tmp_path: Path) -> None:
    """Samples in the logs are counted, each once, also where a log was copied or cut off by a kill."""
    n_calls = finished.plan.n_calls
    assert answered_before(finished.log_dir) == n_calls
    logs = shutil.copytree(finished.log_dir, tmp_path / "logs")
    first = next(logs.glob("*.eval"))
    shutil.copy(first, first.with_name(f"2030{first.name[4:]}"))
    (logs / "2030-01-01_csebench_cut.eval").write_bytes(first.read_bytes()[:100])
    assert answered_before(logs) == n_calls
    assert answered_before(tmp_path / "absent") == 0


def test_failed_calls_alone_are_asked_again(tmp_path: Path) -> None:
    down: list[bool] = [True]
    seen: list[str] = []

    def answer(text: str, call: int) -> Any:
        return RuntimeError("503 down") if down[0] and "item 2" in text else "B"

    model = mock_model(answer, seen=seen)
    first = run("csebench", model, "zero_shot", items=BANK, out=tmp_path)
    assert first.records.frame["reason"].value_counts().to_dict() == {"answered": 15, "api_error": 3}
    assert "3 calls failed, first with: RuntimeError('503 down')." in first.summary()
    assert len(seen) == 18
    down[0] = False
    second = run("csebench", model, "zero_shot", items=BANK, out=tmp_path)
    assert len(seen) == 18 + 3
    assert second.records.frame["reason"].value_counts().to_dict() == {"answered": 18}
    assert (second.matrix().to_frame()["q2"] == 1).all()


@pytest.mark.parametrize("format", ["eval", "json"])
def test_an_address_or_key_that_works_is_in_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    """Every file of the run is searched, the entries of Inspect's archives as well."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("PROXY_PASSWORD", "hunter2-hunter2")
    result = run("csebench", mock_model(lambda *_: "B"), items=BANK, out=tmp_path, limit=1, settings={"log_format": format})
    for path in [path for path in tmp_path.rglob("*") if path.is_file()]:
        contents = [path.read_bytes()]
        if path.suffix == ".eval":
            with archive.opened(path, 2**30) as file:
                contents += [json.dumps(file.json(name)).encode() for name in file.names]
        assert not any(secret in content for content in contents for secret in (KEY.encode(), b"hunter2")), path
    assert len(result.records) == 6


def test_an_address_with_credentials_never_starts_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://me:hunter2-hunter2@127.0.0.1:9/v1")
    with pytest.raises(RunnerError, match="address of openai/gpt-4o holds credentials") as caught:
        run("csebench", "openai/gpt-4o", items=BANK, out=tmp_path, limit=1)
    assert "hunter2" not in str(caught.value)
    assert not any(b"hunter2" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


@pytest.mark.parametrize(("model", "said"), [("nonsense/x", "nonsense"), ("openai/gpt-4o", "OPENAI_API_KEY")])
def test_a_model_that_cannot_be_made_is_one_short_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, said: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(RunnerError, match=said) as caught:
        run("csebench", model, items=BANK, out=tmp_path, limit=1)
    assert "[bold]" not in str(caught.value)


def test_nothing_is_said_on_the_screen_but_by_the_caller(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("csebench", mock_model(lambda *_: "B"), items=BANK, out=tmp_path, limit=1, repeats=1)
    assert capsys.readouterr() == ("", "")
