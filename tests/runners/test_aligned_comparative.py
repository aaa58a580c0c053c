"""AlignED's comparative judgement: both orders, accuracies, consistency, exclusion, matrix and design, by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("inspect_ai", reason="the extra [runners] is not installed")

import aligned_banks
from aligned_banks import inspected
from mock_models import mock_model

import psychoedu as pe
from psychoedu.exceptions import RecordsError
from psychoedu.runners import Records, run
from psychoedu.runners.aligned.comparative import analyse, design, messages, response_matrix

BANK = aligned_banks.pairs()


def made(rows: list[tuple[str, str, int, str, str | None]], better: dict[str, str]) -> Records:
    """Return records of (pair, order, trial, letter or reason), as the task writes them."""
    table = []
    for pair, order, trial, letter, model in rows:
        valid = letter in ("A", "B")
        chosen = None if not valid else letter if order == "forward" else {"A": "B", "B": "A"}[letter]
        reason = "answered" if valid else letter
        score = None if reason == "api_error" else float(chosen == better[pair])
        table.append(
            {
                "benchmark": "aligned-comparative", "model": model or "m", "condition": order, "item_id": pair, "epoch": trial,
                "parsed": letter if valid else None, "reason": reason, "score": score, "key": better[pair], "chosen": chosen,
            }
        )  # fmt: skip
    return Records(pd.DataFrame(table))


BETTER = {"P1": "A", "P2": "B"}
ROWS: list[tuple[str, str, int, str, str | None]] = [
    ("P1", "forward", 1, "A", None), ("P1", "reverse", 1, "B", None),  # right, right: consistent
    ("P1", "forward", 2, "A", None), ("P1", "reverse", 2, "A", None),  # right, wrong
    ("P1", "forward", 3, "A", None), ("P1", "reverse", 3, "unparsed", None),  # right, unreadable
    ("P2", "forward", 1, "A", None), ("P2", "reverse", 1, "B", None),  # wrong, wrong: consistent
    ("P2", "forward", 2, "B", None), ("P2", "reverse", 2, "A", None),  # right, right: consistent
    ("P2", "forward", 3, "B", None), ("P2", "reverse", 3, "api_error", None),  # right, failed
]  # fmt: skip


def test_reverse_order_swaps_the_works_alone() -> None:
    forward = messages(BANK.items[0], "forward")[0][1]
    reverse = messages(BANK.items[0], "reverse")[0][1]
    assert "### Sample A\nwork a of 1\n\n### Sample B\nwork b of 1\n" in forward
    assert "### Sample A\nwork b of 1\n\n### Sample B\nwork a of 1\n" in reverse
    assert forward.replace("work a of", "@").replace("work b of", "work a of").replace("@", "work b of") == reverse
    assert "achievement standard for Year 3 English." in forward


def test_accuracies_and_consistency_by_hand() -> None:
    row = analyse(made(ROWS, BETTER))["scores"].loc["m"]
    assert row["accuracy"] == pytest.approx(5 / 6, rel=1e-12)  # forward: 1 1 1, 0 1 1
    assert row["accuracy_reverse"] == pytest.approx(2 / 5, rel=1e-12)  # 1 0 unreadable, 0 1, one call failed
    assert row["accuracy_calls"] == pytest.approx(7 / 11, rel=1e-12)
    assert row["accuracy_both"] == pytest.approx(2 / 5, rel=1e-12)
    assert row["consistency"] == pytest.approx(3 / 5, rel=1e-12)
    assert row["valid_rate"] == pytest.approx(10 / 11, rel=1e-12)
    assert row[["n_pairs", "n_evaluations", "n_both_orders", "failed"]].tolist() == [2, 6, 5, 1]
    assert row["included"]


def test_unreadable_judgements_can_be_left_out() -> None:
    row = analyse(made(ROWS, BETTER), invalid="drop")["scores"].loc["m"]
    assert row["accuracy_reverse"] == pytest.approx(2 / 4, rel=1e-12)
    assert row["accuracy_both"] == pytest.approx(2 / 4, rel=1e-12)
    assert row["consistency"] == pytest.approx(3 / 4, rel=1e-12)


def test_models_below_the_valid_rate_are_marked_and_named() -> None:
    mute = [(pair, order, trial, "unparsed", "mute") for pair, order, trial, _, _ in ROWS]
    records = made([*ROWS, *mute], BETTER)
    found = analyse(records)
    assert found["scores"]["included"].to_dict() == {"m": True, "mute": False}
    assert found["scores"].loc["mute", "accuracy"] == 0.0
    assert found.notes == ("Excluded, valid rate not above 0: 'mute'.",)
    strict = analyse(records, min_valid_rate=0.95)
    assert strict["scores"]["included"].to_dict() == {"m": False, "mute": False}


def test_one_order_alone_has_an_accuracy_and_no_consistency() -> None:
    forward = Records(made(ROWS, BETTER).frame.query("condition == 'forward'"))
    row = analyse(forward)["scores"].loc["m"]
    assert row["accuracy"] == pytest.approx(5 / 6)
    assert np.isnan(row["consistency"])
    assert np.isnan(row["accuracy_reverse"])


def test_position_and_pairs() -> None:
    found = analyse(made(ROWS, BETTER))
    assert found["position"].loc[("m", "forward")].tolist() == [6, pytest.approx(4 / 6)]
    assert found["position"].loc[("m", "reverse")].tolist() == [4, pytest.approx(2 / 4)]
    assert found["pairs"].loc["P2"].to_dict() == {"forward": pytest.approx(2 / 3), "reverse": 0.5, "n": 5}


def test_other_keys_are_of_samples_whatever_the_order() -> None:
    table = analyse(made(ROWS, BETTER), keys={"P2": "A"})["keys"]["score"]
    assert table["m", "forward", "key"] == pytest.approx(5 / 6)
    assert table["m", "forward", "alternative"] == pytest.approx(4 / 6)
    assert table["m", "reverse", "alternative"] == pytest.approx(2 / 5)


def test_matrix_has_a_row_a_model_or_a_row_a_model_and_order() -> None:
    records = made(ROWS, BETTER)
    items = response_matrix(records)
    assert items.to_frame().loc["m"].to_dict() == {"P1 forward": 1.0, "P1 reverse": 1.0, "P2 forward": 1.0, "P2 reverse": 0.0}
    both = response_matrix(records, "respondents").to_frame()
    assert both.index.tolist() == ["m / forward", "m / reverse"]
    assert both.loc["m / forward"].tolist() == [1.0, 1.0]
    assert response_matrix(records, "forward").to_frame().loc["m"].tolist() == [1.0, 1.0]


def test_design_serves_contrasts_of_orders_and_of_consistency() -> None:
    other = [(pair, order, trial, "A", "n") for pair, order, trial, _, _ in ROWS]
    table = design(made([*ROWS, *other], BETTER))
    own = table[(table["model"] == "m") & (table["order"] == "reverse")]
    assert own["consistent"].tolist()[:5] == [1.0, 0.0, 0.0, 1.0, 1.0]
    assert np.isnan(own["consistent"].tolist()[5])
    assert table[table["model"] == "n"]["consistent"].tolist() == [0.0] * 12
    forward = table[table["order"] == "forward"]
    compared = pe.compare_models(forward, n_resamples=200, rng=1)
    assert compared.table.loc[("m", "n"), "difference"] == pytest.approx(5 / 6 - 1 / 2, rel=1e-12)
    own = table[table["model"] == "m"]
    orders = pe.compare_models(own, model="order", missing="omit", n_resamples=200, rng=1)
    assert orders.table["difference"].notna().all()


def test_conditions_of_something_else_are_refused() -> None:
    frame = made(ROWS, BETTER).frame.query("condition == 'forward'").assign(condition="sideways")
    with pytest.raises(RecordsError, match="conditions 'sideways'"):
        analyse(Records(frame))


@inspected
def test_run_asks_each_pair_three_times_in_both_orders(tmp_path: Path) -> None:
    seen: list[str] = []

    def answer(prompt: str, number: int) -> Any:
        """Return the place of the work "a": right for the first pair, wrong for the second, always the same sample."""
        first = prompt.split("### Sample A\n")[1].startswith("work a")
        return f"BETTER_SAMPLE: {'A' if first else 'B'}"

    result = run("aligned-comparative", mock_model(answer, seen=seen), items=BANK, out=tmp_path / "out")
    assert result.plan.n_calls == len(seen) == 12
    row = analyse(result.collected)["scores"].iloc[0]
    assert row[["accuracy", "accuracy_reverse", "accuracy_both", "consistency", "valid_rate"]].tolist() == [
        0.5,
        0.5,
        0.5,
        1.0,
        1.0,
    ]
    frame = result.collected.frame
    assert set(frame["chosen"]) == {"A"}
    assert set(frame[frame["condition"] == "reverse"]["parsed"]) == {"B"}
    assert frame["key"].tolist() == [BANK[item].better for item in frame["item_id"]]


@inspected
def test_a_bare_letter_counts_only_if_asked_for(tmp_path: Path) -> None:
    options = {"items": BANK, "repeats": 1, "conditions": ["forward"]}
    strict = run("aligned-comparative", mock_model(lambda *_: "A"), out=tmp_path / "one", **options)
    assert set(strict.collected.frame["reason"]) == {"unparsed"}
    loose = run("aligned-comparative", mock_model(lambda *_: "A"), out=tmp_path / "two", bare=True, **options)
    assert loose.collected.frame["score"].tolist() == [1.0, 0.0]
