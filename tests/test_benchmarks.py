"""The yardstick of the benchmarks: its log-likelihood is R mirt's, its runs take turns, its tables land in their place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks import measure, tables
from benchmarks.designs import Data, simulate
from benchmarks.engines import ENGINES, Estimates
from benchmarks.loglikelihood import marginal_log_likelihood

LOG_LIKELIHOOD_ATOL = 1e-4
CLOSED_FORM_RTOL = 1e-12


@pytest.mark.shared
def test_log_likelihood_is_mirts_for_one_group(shared: Path) -> None:
    """R mirt 1.47's own log-likelihood of LSAT-7 at its own estimates, on its 61 points."""
    source = shared / "reference" / "irt_lsat7"
    items = pd.read_csv(source / "items_2pl.csv")
    data = Data(pd.read_csv(source / "responses.csv")[items["item"]].to_numpy(np.int8))
    stored = json.loads((source / "fit_2pl.json").read_text(encoding="utf-8"))["logLik"]
    estimates = Estimates(items["a"].to_numpy(float), items["d"].to_numpy(float))
    found = marginal_log_likelihood(data, estimates, np.linspace(-6, 6, 61))
    assert found == pytest.approx(stored, abs=LOG_LIKELIHOOD_ATOL)


@pytest.mark.shared
def test_log_likelihood_is_mirts_for_two_groups_with_holes(shared: Path) -> None:
    """R mirt 1.47's multipleGroup on the two-form design: two populations, missing cells, its 61 points."""
    source = shared / "reference" / "cse_like_irt_mg"
    items = pd.read_csv(source / "items_twoforms.csv")
    stored = json.loads((source / "fit_twoforms.json").read_text(encoding="utf-8"))
    responses = pd.read_csv(shared / "reference" / "cse_like" / "responses.csv").query("group != 'model'")
    cells = responses[items["item"]].fillna(-1).to_numpy(np.int8)
    labels = responses["group"].to_numpy(str)
    populations = [stored["groups"][label] for label in dict.fromkeys(labels)]
    estimates = Estimates(
        items["a"].to_numpy(float),
        items["d"].to_numpy(float),
        [each["mean"] for each in populations],
        [each["var"] ** 0.5 for each in populations],
    )
    found = marginal_log_likelihood(Data(cells, labels), estimates, np.linspace(-6, 6, 61))
    assert found == pytest.approx(stored["logLik"], abs=LOG_LIKELIHOOD_ATOL)


def test_log_likelihood_of_flat_items_is_closed_form() -> None:
    """With slopes of zero every answer has probability logistic(d) whatever the group, and a missing cell adds nothing."""
    responses = np.array([[1, 0, -1], [1, -1, -1], [0, 0, 1]], dtype=np.int8)
    data = Data(responses, np.array(["a", "b", "a"]))
    intercept = np.array([0.5, -1.0, 2.0])
    success = 1 / (1 + np.exp(-intercept))
    expected = np.log(success[0] ** 2 * (1 - success[0]) * (1 - success[1]) ** 2 * success[2])
    estimates = Estimates(np.zeros(3), intercept, [0.0, 1.5], [1.0, 0.7])
    assert marginal_log_likelihood(data, estimates) == pytest.approx(expected, rel=CLOSED_FORM_RTOL)


def test_log_likelihood_moves_with_the_group() -> None:
    """Shifting a group's mean by m and its items' intercepts by -a m changes nothing."""
    data = simulate(200, 6)
    slopes, intercept, shift = np.linspace(0.6, 1.4, 6), np.linspace(-1, 1, 6), 0.4
    standard = marginal_log_likelihood(data, Estimates(slopes, intercept))
    moved = marginal_log_likelihood(data, Estimates(slopes, intercept - slopes * shift, [shift], [1.0]))
    assert moved == pytest.approx(standard, abs=1e-6)


def test_programs_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    def record(module: str, task: dict[str, Any]) -> dict[str, Any]:
        order.append(task["engine"])
        return {"cpu": float(len(order)), "wall": 1.0, "log_likelihood": -1.0}

    monkeypatch.setattr(measure, "run_module", record)
    found = measure.interleaved(simulate(50, 4), ["psychoedu", "girth"], False, {"psychoedu": 3, "girth": 1})
    assert order == ["psychoedu", "girth", "psychoedu", "psychoedu"]
    assert found["psychoedu"].cpu == 3.0
    assert found["psychoedu"].cpu_range == (1.0, 4.0)


def test_warm_up_cut_keeps_every_group() -> None:
    data = Data(simulate(3_000, 4).responses, np.repeat(["a", "b"], [2_000, 1_000]))
    cut = measure.small_cut(data)
    assert cut.groups is not None
    assert set(cut.groups.tolist()) == {"a", "b"}
    assert 500 <= len(cut.responses) <= 1_000


def test_simulated_data_are_reproducible_and_complete() -> None:
    first, again = simulate(1_000, 8, block=300), simulate(1_000, 8, block=300)
    np.testing.assert_array_equal(first.responses, again.responses)
    assert set(np.unique(first.responses)) == {0, 1}


def test_table_lands_between_its_markers(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    other = "<!-- b:begin -->\nkept\n<!-- b:end -->\n"
    page.write_text(f"before\n<!-- a:begin -->\nold\n<!-- a:end -->\n{other}", encoding="utf-8")
    tables.write_section("a", tables.table(["x", "y"], [["1", r"\2"]]), page)
    expected = f"before\n<!-- a:begin -->\n| x | y |\n| --- | ---: |\n| 1 | \\2 |\n<!-- a:end -->\n{other}"
    assert page.read_text(encoding="utf-8") == expected
    with pytest.raises(LookupError, match="no section"):
        tables.write_section("c", "text", page)


@pytest.mark.parametrize("section", ["calibrate", "estep", "scaling", "contrast"])
def test_page_has_a_place_for_every_table(section: str) -> None:
    text = tables.PAGE.read_text(encoding="utf-8")
    assert text.count(f"<!-- {section}:begin -->") == text.count(f"<!-- {section}:end -->") == 1


def test_our_adapter_reads_a_calibration() -> None:
    """At our own estimates on LSAT-7 the yardstick gives the log-likelihood that R mirt and the published table have."""
    import psychoedu

    cells = psychoedu.datasets.load_lsat7().to_frame().to_numpy(dtype=float)
    data = Data(cells.astype(np.int8))
    engine = ENGINES["psychoedu"]
    estimates = engine.estimates(engine.prepare(data, standard_errors=False)(), data)
    assert marginal_log_likelihood(data, estimates) == pytest.approx(-2658.8051, abs=1e-3)
