"""AlignED's standards-based grading: accuracy, kappa, levels, pull to the middle, by hand and against published figures."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("inspect_ai", reason="the extra [runners] is not installed")

import aligned_banks
from aligned_banks import by_part, inspected
from mock_models import mock_model

from psychoedu.exceptions import DataError, RecordsError
from psychoedu.runners import Records, run
from psychoedu.runners.aligned.grading import analyse, messages

ABOVE, AT, BELOW = "ABOVE_SATISFACTORY", "SATISFACTORY", "BELOW_SATISFACTORY"


def made(given: list[str | None], truth: list[str], subjects: list[str] | None = None) -> Records:
    """Return records of one model, as the task writes them; "failed" for a failed call."""
    rows = []
    for number, (own, level) in enumerate(zip(given, truth, strict=True), start=1):
        failed = own == "failed"
        rows.append(
            {
                "benchmark": "aligned-grading", "model": "m", "condition": "standard", "item_id": f"W{number}", "key": level,
                "parsed": None if failed else own, "score": None if failed else float(own == level),
                "reason": "api_error" if failed else "unparsed" if own is None else "answered",
                "subject": "English" if subjects is None else subjects[number - 1],
            }
        )  # fmt: skip
    return Records(pd.DataFrame(rows))


TRUTH = [ABOVE] * 2 + [AT] * 2 + [BELOW] * 2
GIVEN: list[str | None] = [AT, AT, AT, None, BELOW, AT]


def test_unreadable_classifications_are_dropped_by_default() -> None:
    row = analyse(made(GIVEN, TRUTH))["scores"].loc["m"]
    assert row["n"] == 5
    assert row["accuracy"] == pytest.approx(2 / 5, rel=1e-12)
    chance = (2 * 0 + 1 * 4 + 2 * 1) / 25  # true 2 1 2; given 0 4 1
    assert row["kappa"] == pytest.approx((0.4 - chance) / (1 - chance), rel=1e-12)
    assert row["accuracy_above_satisfactory"] == 0.0
    assert row["accuracy_satisfactory"] == 1.0
    assert row["accuracy_below_satisfactory"] == 0.5
    assert row["central_tendency"] == 3
    assert row["valid_rate"] == pytest.approx(5 / 6)


def test_or_they_are_wrong() -> None:
    row = analyse(made(GIVEN, TRUTH), invalid="wrong")["scores"].loc["m"]
    assert row["n"] == 6
    assert row["accuracy"] == pytest.approx(2 / 6, rel=1e-12)
    assert row["accuracy_satisfactory"] == 0.5
    chance = (2 * 0 + 2 * 4 + 2 * 1) / 36
    assert row["kappa"] == pytest.approx((2 / 6 - chance) / (1 - chance), rel=1e-12)


def test_failed_calls_are_left_out_under_both() -> None:
    given = [*GIVEN[:5], "failed"]
    for invalid, n in (("drop", 4), ("wrong", 5)):
        row = analyse(made(given, TRUTH), invalid=invalid)["scores"].loc["m"]
        assert (row["n"], row["failed"]) == (n, 1)


def test_kappa_of_balanced_levels_meets_the_published_relation() -> None:
    """AlignED's pilot: 68 works a level, accuracy 0.534 (109 of 204) and kappa 0.301."""
    truth = [level for level in (ABOVE, AT, BELOW) for _ in range(68)]
    given: list[str | None] = [*[ABOVE] * 9, *[AT] * 59, *[AT] * 50, *[BELOW] * 18, *[BELOW] * 50, *[AT] * 18]
    row = analyse(made(given, truth))["scores"].loc["m"]
    assert round(row["accuracy"], 3) == 0.534
    assert round(row["kappa"], 3) == 0.301
    assert row["central_tendency"] == 77


def test_confusion_and_subjects() -> None:
    found = analyse(made(GIVEN, TRUTH, ["English", "Science"] * 3))
    assert found["confusion"].loc[("m", ABOVE)].to_dict() == {BELOW: 0, AT: 2, ABOVE: 0, "unread": 0}
    assert found["confusion"].loc[("m", AT)].to_dict() == {BELOW: 0, AT: 1, ABOVE: 0, "unread": 1}
    assert found["subjects"].loc[("m", "English"), ["n", "accuracy"]].tolist() == [3.0, pytest.approx(2 / 3)]
    assert found["subjects"].loc[("m", "Science"), ["n", "accuracy"]].tolist() == [2.0, 0.0]
    assert "subjects" not in analyse(made(GIVEN, TRUTH)).tables


def test_other_levels_rescore_the_same_classifications() -> None:
    table = analyse(made(GIVEN, TRUTH), keys={"W1": "satisfactory", "W2": "SATISFACTORY"})["keys"]["score"]
    assert table["m", "standard", "key"] == pytest.approx(2 / 6)
    assert table["m", "standard", "alternative"] == pytest.approx(4 / 6)
    with pytest.raises(DataError, match="no reply can give"):
        analyse(made(GIVEN, TRUTH), keys={"W1": "excellent"})


def test_records_from_elsewhere_lack_the_key() -> None:
    with pytest.raises(RecordsError, match="no column 'key'"):
        analyse(Records(made(GIVEN, TRUTH).frame.drop(columns="key")))


@inspected
def test_run_asks_once_and_reads_the_label(tmp_path: Path) -> None:
    bank = aligned_banks.works()
    seen: list[str] = []
    replies = {
        "[work 1]": "CLASSIFICATION: BELOW_SATISFACTORY\nREASONING: It is above nothing.",
        "[work 2]": "CLASSIFICATION: [ABOVE_SATISFACTORY]\nREASONING: Fine.",
        "[work 3]": "It is ABOVE_SATISFACTORY.",
    }
    result = run("aligned-grading", mock_model(by_part(replies), seen=seen), items=bank, out=tmp_path / "out")
    assert sorted(seen) == sorted(messages(item)[0][1] for item in bank.items)
    frame = result.collected.frame
    assert frame["parsed"].fillna("").tolist() == [BELOW, ABOVE, ""]
    assert frame["reason"].tolist() == ["answered", "answered", "unparsed"]
    assert frame["key"].tolist() == [BELOW, AT, ABOVE]
    assert frame["raw_output"].tolist() == list(replies.values())
    row = analyse(result.collected)["scores"].iloc[0]
    assert (row["n"], row["accuracy"]) == (2, 0.5)
    assert result.matrix().to_frame().iloc[0].tolist() == [1.0, 0.0, 0.0]
