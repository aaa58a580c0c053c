"""Cuts from annotated items: closed forms, independent fits, delta errors against differences and simulation, edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import psychoedu
from psychoedu.exceptions import DataError, LabelError
from psychoedu.irt.bank import ItemBank
from psychoedu.irt.linking_constants import LinkingConstants
from psychoedu.standard_setting.annotations import annotation_cuts
from psychoedu.standard_setting.booklet import booklet
from psychoedu.standard_setting.bookmark import SENSITIVITY_GRID, bookmark

FIT = 1e-6
EXACT = 1e-9
DIFFERENCES = 1e-5
MC_ERRORS = 4.0
LEVELS = [3, 4, 5, 6]


def parameters(n_items: int = 61, seed: int = 2) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    a = rng.lognormal(0.0, 0.25, n_items)
    return a, -a * rng.normal(0.0, 1.2, n_items)


def labels(n_items: int) -> list[str]:
    return [f"q{j}" for j in range(1, n_items + 1)]


def bank(n_items: int = 61, covariance: Any = None, shift: float = 0.0) -> ItemBank:
    a, d = parameters(n_items)
    return ItemBank.from_arrays(labels(n_items), a, d - a * shift, covariance=covariance)


def annotations(n_items: int = 61, seed: int = 6, noise: float = 0.6) -> pd.Series:
    """Levels 2 to 7 that follow the difficulties."""
    a, d = parameters(n_items)
    seen = -d / a + np.random.default_rng(seed).normal(0.0, noise, n_items)
    return pd.Series(2 + np.searchsorted([-1.5, -0.7, 0.1, 0.9, 1.7], seen), index=labels(n_items))


def cut_of(x: Any, above: Any, target: float = 0.0) -> float:
    """The cut of a logistic regression, by a general optimiser and two Newton steps of its own."""

    def loss(beta: Any) -> float:
        eta = beta[0] + beta[1] * x
        return float(np.sum(np.logaddexp(0.0, eta) - above * eta))

    beta = minimize(loss, [0.0, 1.0], method="BFGS").x
    design = np.column_stack((np.ones(len(x)), x))
    for _ in range(3):
        p = 1.0 / (1.0 + np.exp(-(design @ beta)))
        beta = beta + np.linalg.solve(design.T @ (design * (p * (1 - p))[:, None]), design.T @ (above - p))
    return float((target - beta[0]) / beta[1])


def located(a: Any, d: Any, rp: float = 0.67) -> Any:
    return (np.log(rp / (1.0 - rp)) - d) / a


def test_symmetric_items_in_closed_form() -> None:
    """Locations and annotations that mirror each other at 0.5: so does the curve."""
    items = ItemBank(pd.DataFrame({"discrimination": 1.0, "difficulty": np.arange(-2.0, 4.0)}, index=list("abcdef")))
    cuts = annotation_cuts(
        items, dict(zip("abcdef", ["A1", "A1", "A2", "A1", "A2", "A2"], strict=True)), response_probability=0.5
    )
    assert cuts.cut_scores.to_dict() == pytest.approx({"A2": 0.5}, abs=EXACT)
    # equal discriminations: another response probability moves all locations, and the cut with them, by logit(RP)
    for rp, value in cuts.rp_sensitivity["A2"].items():
        assert value == pytest.approx(0.5 + np.log(rp / (1.0 - rp)), abs=EXACT)
    assert set(SENSITIVITY_GRID) <= set(cuts.rp_sensitivity.index)
    assert cuts.method == "annotations"


def test_against_an_independent_fit() -> None:
    a, d = parameters()
    given = annotations()
    cuts = annotation_cuts(bank(), given, levels=LEVELS, scale="CSE")
    assert cuts.levels == ("CSE-3", "CSE-4", "CSE-5", "CSE-6")
    for level, name in zip(LEVELS, cuts.levels, strict=True):
        above = (given >= level).to_numpy(dtype=float)
        assert cuts.cut_scores[name] == pytest.approx(cut_of(located(a, d), above), abs=FIT)
        assert cuts.rp_sensitivity.loc[0.8, name] == pytest.approx(cut_of(located(a, d, 0.8), above), abs=FIT)
    upper = annotation_cuts(bank(), given, levels=[5], scale="CSE", probability=0.75, response_probability=0.5)
    above = (given >= 5).to_numpy(dtype=float)
    assert upper.values[0] == pytest.approx(cut_of(-d / a, above, np.log(3.0)), abs=FIT)
    assert upper.options["n_at_or_above"] == [int(above.sum())]


def test_all_levels_by_default() -> None:
    given = annotations()
    cuts = annotation_cuts(bank(), given, scale="CSE")
    assert cuts.levels == tuple(f"CSE-{level}" for level in range(3, 8))
    named = annotation_cuts(bank(), "CSE-" + given.astype(str))
    np.testing.assert_array_equal(named.values, cuts.values)
    assert named.scale.name == "CSE"
    plain = annotation_cuts(bank(), given)
    assert plain.levels == (3, 4, 5, 6, 7)
    np.testing.assert_array_equal(plain.values, cuts.values)


def test_gradient_against_differences() -> None:
    a, d = parameters(20)
    given = annotations(20, noise=1.0)
    above = (given >= 5).to_numpy(dtype=float)
    cuts = annotation_cuts(bank(20), given, levels=[5], scale="CSE")
    assert cuts.gradient is not None
    assert cuts.bank is not None
    order = [list(cuts.bank.labels).index(label) for label in given.index]
    own = cuts.gradient[0].reshape(-1, 2)[order]
    step = 1e-4
    for j in range(20):
        for which in (0, 1):
            ends = []
            for sign in (1.0, -1.0):
                changed = [a.copy(), d.copy()]
                changed[which][j] += sign * step
                ends.append(cut_of(located(*changed), above))
            assert own[j, which] == pytest.approx((ends[0] - ends[1]) / (2.0 * step), abs=DIFFERENCES)
    root = np.random.default_rng(0).normal(0.0, 0.1, (40, 40))
    covariance = root @ root.T
    known = annotation_cuts(bank(20, covariance), given, levels=[5], scale="CSE")
    flat = own.ravel()
    assert known.standard_errors.loc["CSE-5", "items"] == pytest.approx(np.sqrt(flat @ covariance @ flat), rel=1e-9)
    assert np.isnan(cuts.standard_errors.loc["CSE-5", "items"])
    assert any("items part" in note and "unknown" in note for note in cuts.diagnostics)


def cuts_of_many(x: Any, above: Any) -> Any:
    """Cuts of a stack of logistic regressions, by Newton steps on all at once."""
    x, above = np.broadcast_arrays(x, above)
    beta = np.tile([0.0, 1.0], (len(x), 1))
    design = np.stack((np.ones(x.shape), x), axis=2)
    for _ in range(30):
        p = 1.0 / (1.0 + np.exp(-np.einsum("ijk,ik->ij", design, beta)))
        information = np.einsum("ijk,ij,ijl->ikl", design, p * (1.0 - p), design)
        beta = beta + np.linalg.solve(information, np.einsum("ijk,ij->ik", design, above - p)[..., None])[..., 0]
    return -beta[:, 0] / beta[:, 1]


def test_errors_against_simulation() -> None:
    """Annotations drawn anew at fixed locations; locations drawn anew under fixed annotations."""
    rng = np.random.default_rng(3)
    n_items, n, variance = 300, 1000, 0.02
    a, d = np.ones(n_items), np.linspace(-3.0, 3.0, n_items)
    items = ItemBank.from_arrays(labels(n_items), a, d, covariance=np.diag(np.tile([0.0, variance], n_items)))
    location = located(a, d)
    above = 1.5 * location + rng.logistic(size=(n, n_items)) > 1.0
    predicted = []
    for row in above[:12]:
        cuts = annotation_cuts(items, pd.Series(np.where(row, "B2", "B1"), index=items.labels))
        predicted.append((cuts.panel_covariance[0, 0], cuts.item_covariance[0, 0]))
    moved = np.concatenate(
        [cuts_of_many(location + rng.normal(0.0, np.sqrt(variance), (n // 4, n_items)), row) for row in above[:4]]
    )
    within = moved.reshape(4, -1).std(axis=1, ddof=1)
    panel, parts = np.array(predicted).T
    for spread, variances in ((cuts_of_many(location, above).std(ddof=1), panel), (np.sqrt(np.mean(within**2)), parts[:4])):
        errors = np.sqrt(variances)
        error = np.hypot(spread / np.sqrt(2 * n), errors.std(ddof=1) / np.sqrt(len(errors)))
        assert np.sqrt(variances.mean()) == pytest.approx(spread, abs=MC_ERRORS * error)


def test_shift_order_and_linking() -> None:
    given = annotations()
    covariance = np.eye(122) * 0.01
    own = annotation_cuts(bank(covariance=covariance), given, levels=LEVELS, scale="CSE")
    moved = annotation_cuts(bank(shift=1.0), given, levels=LEVELS, scale="CSE")
    np.testing.assert_allclose(moved.values - own.values, 1.0, atol=FIT)
    np.testing.assert_allclose(moved.panel_covariance, own.panel_covariance, rtol=1e-5)
    turned = bank(covariance=covariance).select(list(reversed(labels(61))))
    other = annotation_cuts(turned, given.sample(frac=1.0, random_state=0), levels=LEVELS, scale="CSE")
    np.testing.assert_allclose(other.to_frame()[["cut_score", "se"]], own.to_frame()[["cut_score", "se"]], rtol=1e-7)
    link = LinkingConstants(2.0, 0.5, [[0.01, 0.0], [0.0, 0.04]])
    there = annotation_cuts(bank(covariance=covariance), given, levels=LEVELS, scale="CSE", linking=link)
    np.testing.assert_allclose(there.values, 2.0 * own.values + 0.5, atol=EXACT)
    np.testing.assert_allclose(there.rp_sensitivity, 2.0 * own.rp_sensitivity + 0.5, atol=EXACT)
    np.testing.assert_allclose(there.standard_errors["panel"], 2.0 * own.standard_errors["panel"])
    np.testing.assert_allclose(there.standard_errors["linking"] ** 2, 0.01 * own.values**2 + 0.04)


def small(levels: list[Any], difficulties: Any = None) -> tuple[ItemBank, pd.Series]:
    b = np.arange(len(levels), dtype=float) if difficulties is None else np.asarray(difficulties, dtype=float)
    items = ItemBank(pd.DataFrame({"discrimination": 1.0, "difficulty": b}, index=labels(len(levels))))
    return items, pd.Series(levels, index=items.labels)


def test_separated_levels() -> None:
    items, given = small(["A1", "A1", "A1", "A2", "A2"])
    cuts = annotation_cuts(items, given, response_probability=0.5)
    assert cuts.values[0] == pytest.approx(2.5)
    assert np.isnan(cuts.standard_errors.loc["A2", "panel"])
    assert any("without overlap" in note for note in cuts.diagnostics)
    assert any("few items annotated at or above A2: 2" in note for note in cuts.diagnostics)
    assert cuts.gradient is not None
    assert cuts.gradient[0, 1::2].tolist() == [0.0, 0.0, -0.5, -0.5, 0.0]  # d location / d d = -1 / a


def test_annotations_that_do_not_rise() -> None:
    items, given = small(["B2", "B1", "B2", "B1", "B2", "B1"])
    with pytest.raises(DataError, match="B2 has no cut score: items annotated at or above it do not lie higher"):
        annotation_cuts(items, given)
    items, given = small(["B2", "B1", "B1", "B2", "B1", "B2", "B1", "B2"])
    weak = annotation_cuts(items, given)
    assert any(note.startswith("weak: annotations of B2") for note in weak.diagnostics)
    strong = annotation_cuts(bank(), annotations(), levels=[5], scale="CSE")
    assert not any(note.startswith("weak") for note in strong.diagnostics)


def test_refused_at_another_response_probability(tmp_path: Any) -> None:
    """Steep and flat items swap places as RP grows: no cut there, nan, and the file keeps it."""
    a = np.array([0.4, 0.4, 0.4, 2.0, 2.0, 2.0])
    b = np.array([-0.2, -0.1, 0.1, 0.05, 0.1, 0.2])
    items = ItemBank.from_arrays(labels(6), a, -a * b)
    given = pd.Series(["A1", "A1", "A1", "A2", "A2", "A2"], index=items.labels)
    cuts = annotation_cuts(items, given, response_probability=0.5)
    assert np.isfinite(cuts.rp_sensitivity.loc[0.5, "A2"])
    assert np.isnan(cuts.rp_sensitivity.loc[0.8, "A2"])
    with pytest.raises(DataError, match="do not lie higher"):
        annotation_cuts(items, given, response_probability=0.8)
    back = psychoedu.load(cuts.save(tmp_path / "cuts.json"))
    pd.testing.assert_frame_equal(back.rp_sensitivity, cuts.rp_sensitivity)


def test_crossing_and_empty_levels() -> None:
    # two of the middle level that are harder than all others flatten the upper curve, whose cut moves below the lower one
    difficulties = np.r_[np.linspace(-1.0, 0.8, 20), np.full(2, 1.5), np.linspace(-0.9, 1.0, 35)]
    items, given = small(["A1"] * 20 + ["A2"] * 2 + ["B1"] * 35, difficulties)
    with pytest.raises(DataError, match=r"A2(?s:.*)B1(?s:.*)cross"):
        annotation_cuts(items, given)
    with pytest.raises(DataError, match="CSE-8 has no cut score: of 61 annotated items none is"):
        annotation_cuts(bank(), annotations(), levels=[4, 8], scale="CSE")
    with pytest.raises(DataError, match="gives nothing the level CSE-4"):
        annotation_cuts(bank(), annotations().replace(4, 3), levels=[4, 5], scale="CSE")
    with pytest.raises(LabelError, match="not on the scale CSE"):
        annotation_cuts(bank(), annotations() + 10, scale="CSE")
    with pytest.raises(LabelError, match="no level for any"):
        annotation_cuts(bank(), annotations().rename(str.upper))
    with pytest.raises(DataError, match="Series of levels by item; got list"):  # pages and bank have different orders
        annotation_cuts(bank(), list(annotations()))
    with pytest.raises(DataError, match="one level"):
        annotation_cuts(bank(), annotations() * 0 + 3, scale="CSE")


def test_items_left_out() -> None:
    given = annotations()
    some = given.drop(index=["q1", "q2"])
    some["elsewhere"] = 4
    cuts = annotation_cuts(bank(), some, levels=LEVELS, scale="CSE")
    kept = bank().select([label for label in bank().labels if label not in ("q1", "q2")])
    np.testing.assert_allclose(cuts.values, annotation_cuts(kept, given, levels=LEVELS, scale="CSE").values, atol=EXACT)
    notes = "\n".join(cuts.diagnostics)
    assert "not annotated: 2 items" in notes
    assert "1 annotation of items that are not in the booklet" in notes
    assert cuts.gradient is not None
    assert cuts.gradient.shape == (4, 122)


def test_booklet_and_its_column() -> None:
    given = annotations()
    pages = booklet(bank(), 0.6, items=pd.DataFrame({"level": given}))
    cuts = annotation_cuts(pages, "level", levels=LEVELS, scale="CSE")
    direct = annotation_cuts(bank(), given, levels=LEVELS, scale="CSE", response_probability=0.6)
    np.testing.assert_allclose(cuts.values, direct.values, atol=EXACT)
    assert cuts.options["response_probability"] == 0.6
    with pytest.raises(LabelError, match=r"'cse'(?s:.*)'level'"):
        annotation_cuts(pages, "cse")
    with pytest.raises(DataError, match=r"booklet has 0\.6"):
        annotation_cuts(pages, "level", response_probability=0.67)
    placed = pd.DataFrame(
        {"panellist": list("xyz") * 2, "level": ["CSE-4"] * 3 + ["CSE-5"] * 3, "page": [20, 22, 25, 40, 41, 44]}
    )
    table = cuts.compare(bookmark(pages, placed))
    assert list(table.index) == ["CSE-4", "CSE-5"]
    np.testing.assert_allclose(table["difference"], pages.locations[[21, 40]] - cuts.values[1:3])


def test_guessing_limits_the_grid() -> None:
    a, d = parameters()
    items = ItemBank.from_arrays(labels(61), a, d, np.full(61, 0.58))
    cuts = annotation_cuts(items, annotations(), levels=[5], scale="CSE")
    assert cuts.rp_sensitivity.index.min() == 0.6
    above = (annotations() >= 5).to_numpy(dtype=float)
    for rp, found in ((0.67, cuts.values[0]), (0.8, cuts.rp_sensitivity.loc[0.8, "CSE-5"])):
        x = (np.log((rp - 0.58) / (1.0 - rp)) - d) / a
        assert found == pytest.approx(cut_of(x, above), abs=FIT)


def test_save_and_load(tmp_path: Any) -> None:
    cuts = annotation_cuts(bank(covariance=np.eye(122)), annotations(), levels=LEVELS, scale="CSE")
    back = psychoedu.load(cuts.save(tmp_path / "cuts.json"))
    assert back.to_dict() == cuts.to_dict()
    np.testing.assert_array_equal(back.values, cuts.values)
    assert "Cut scores by annotations, 61 items, RP 0.67" in back.summary()
