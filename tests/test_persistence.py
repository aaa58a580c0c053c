"""Saved objects: what comes back is equal to the bit, and what was tampered with is refused with the field's name."""

from __future__ import annotations

import copy
import importlib
import json
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from designs import simulate

import psychoedu as pe
from psychoedu.exceptions import DataError, FileFormatError
from psychoedu.persistence import Saved
from psychoedu.stored import CLASSES

Document = dict[str, Any]
REMOVED = object()


@pytest.fixture(scope="module")
def calibration() -> pe.Calibration:
    data = pd.DataFrame(simulate(300, np.linspace(0.8, 1.4, 4), np.linspace(-1, 1, 4), seed=3)).add_prefix("q")
    return pe.calibrate(data, groups=np.repeat(["x", "y"], 150))


@pytest.fixture(scope="module")
def bank() -> pe.ItemBank:
    covariance = np.diag([0.1, 0.2, 0.3, np.nan])
    return pe.ItemBank.from_arrays(["a", "b"], [1.0, 0.0], [0.5, -0.3], [0.0, 0.2], covariance)


@pytest.fixture(scope="module")
def scores(bank: pe.ItemBank) -> pe.Scores:
    return pe.score(bank, pd.DataFrame({"a": [1, 0, None], "b": [1, 0, None]}, index=["r", "s", "t"]), method="ml")


@pytest.fixture(scope="module")
def documents(
    calibration: pe.Calibration, bank: pe.ItemBank, scores: pe.Scores, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Document]:
    """Return what each kind of object writes."""
    folder = tmp_path_factory.mktemp("saved")
    made = {"calibration": calibration, "item_bank": bank, "scores": scores}
    return {kind: json.loads(thing.save(folder / f"{kind}.json").read_text(encoding="utf-8")) for kind, thing in made.items()}


@pytest.fixture
def load_changed(documents: dict[str, Document], tmp_path: Path) -> Callable[..., Any]:
    """Return a function that loads a document after one of its fields was replaced."""

    def load(kind: str, where: str, value: Any) -> Any:
        document = copy.deepcopy(documents[kind])
        *parts, last = where.split(".")
        inner = document
        for part in parts:
            inner = inner[part]
        if callable(value):
            value = value(inner[last])
        if value is REMOVED:
            del inner[last]
        else:
            inner[last] = value
        path = tmp_path / "changed.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return pe.load(path)

    return load


def first(value: Any) -> Callable[[list[Any]], list[Any]]:
    """Replace the first entry of a list."""
    return lambda old: [value, *old[1:]]


def shorter(old: list[Any]) -> list[Any]:
    """Leave the last entry out."""
    return old[:-1]


def ragged(old: list[Any]) -> list[Any]:
    """Leave the last entry of the last row out."""
    return [*old[:-1], old[-1][:-1]]


def smaller(old: list[Any]) -> list[Any]:
    """Leave the last row and column out."""
    return [row[:-1] for row in old[:-1]]


NUMBERS = ("discrimination", "intercept", "difficulty", "latent_mean", "latent_sd", "group_n")
CALIBRATION = [
    ("model", "3pl"),
    ("model", 2),
    ("model", None),
    ("n_parameters", 9),
    ("n_parameters", 11),
    ("n_parameters", 10.0),
    ("n_parameters", True),
    ("n_parameters", -1),
    ("n_parameters", "10"),
    ("converged", 1),
    ("converged", "yes"),
    ("converged", None),
    ("n_iterations", 2.5),
    ("n_iterations", -1),
    ("version", 1),
    ("options", []),
    ("options", None),
    ("options.standard_errors", "guess"),
    ("options.n_points", "61"),
    ("options.low", None),
    ("options.high", REMOVED),
    ("options.priors", 3),
    ("data_summary", "none"),
    ("data_summary.share_missing", "0"),
    ("data_summary.share_missing", 1.5),
    ("data_summary.n_responses", REMOVED),
    ("data_summary.n_scored_only", None),
    ("data_summary.dropped_items", 3),
    ("log_likelihood", None),
    ("log_likelihood", "Infinity"),
    ("log_likelihood", [1.0]),
    ("log_likelihood", False),
    ("n_respondents", -300),
    ("n_respondents", 299),
    ("n_respondents", None),
    ("remaining_gain", "small"),
    ("remaining_gain", -1.0),
    *((name, value) for name in NUMBERS for value in (shorter, [], None, "1", {}, first("x"), first(True), first("Infinity"))),
    *((name, first([0.5])) for name in NUMBERS),
    *((name, first(10**400)) for name in NUMBERS),
    ("discrimination", first(None)),
    ("intercept", first(None)),
    ("difficulty", first(None)),
    ("difficulty", first(3.0)),
    ("intercept", first(99.0)),
    ("discrimination", first(0.0)),
    ("latent_mean", first(None)),
    ("latent_sd", first(0.0)),
    ("latent_sd", first(-1.0)),
    ("latent_sd", first(None)),
    ("group_n", first(-1)),
    ("log_likelihood_trace", []),
    ("log_likelihood_trace", [None]),
    ("log_likelihood_trace", 3.0),
    ("labels", []),
    ("labels", "q0q1q2q3"),
    ("labels", shorter),
    ("labels", first("q1")),
    ("labels", first(None)),
    ("labels", first(["q0"])),
    ("labels", first(True)),
    ("labels", first("\ud800")),
    ("labels", lambda old: [1, "1", *old[2:]]),
    ("fixed", first(0)),
    ("fixed", first("False")),
    ("fixed", first(True)),
    ("fixed", shorter),
    ("fixed", None),
    ("on_bound", first(None)),
    ("on_bound", shorter),
    ("group_labels", []),
    ("group_labels", first("y")),
    ("group_labels", first(None)),
    ("group_labels", first({})),
    ("group_labels", shorter),
    ("group_labels", "xy"),
    ("reference_group", "z"),
    ("reference_group", None),
    ("reference_group", ["x"]),
    ("parameter_index", shorter),
    ("parameter_index", first(-2)),
    ("parameter_index", first(10)),
    ("parameter_index", first(1)),
    ("parameter_index", first(0.0)),
    ("parameter_index", first(False)),
    ("parameter_index", first(10**30)),
    ("parameter_index", 3),
    ("free_covariance", []),
    ("free_covariance", 1.0),
    ("free_covariance", ragged),
    ("free_covariance", smaller),
    ("free_covariance", shorter),
    ("free_covariance", lambda old: [value for row in old for value in row]),
    ("free_covariance", first(None)),
    ("free_covariance", lambda old: [["Infinity", *old[0][1:]], *old[1:]]),
    ("free_covariance", lambda old: [[-1.0, *old[0][1:]], *old[1:]]),
    ("free_covariance", lambda old: [[*old[0][:-1], 9.0], *old[1:]]),
    ("free_covariance", lambda old: [[*old[0][:-1], None], *old[1:]]),
    ("diagnostics", "text"),
    ("diagnostics", [1]),
    ("diagnostics", None),
    ("classical", []),
    ("classical", None),
    ("classical.alpha", "high"),
    ("classical.alpha", REMOVED),
    ("classical.alpha_reason", None),
    ("classical.p_value", shorter),
    ("classical.p_value", first("x")),
    ("classical.n", first(-1)),
    ("classical.n", first(None)),
    ("classical.point_biserial", REMOVED),
    ("reliability", [1]),
    ("reliability.alpha", "high"),
    ("reliability.marginal", REMOVED),
]
BANK = [
    ("labels", REMOVED),
    ("labels", ["a", "a"]),
    ("labels", ["a"]),
    ("labels", {"a": 1, "b": 2}),
    ("discrimination", first(None)),
    ("discrimination", first("Infinity")),
    ("discrimination", [[1.0], [0.0]]),
    ("intercept", shorter),
    ("intercept", first("x")),
    ("difficulty", first(5.0)),
    ("difficulty", None),
    ("guessing", first(1.0)),
    ("guessing", first(-0.1)),
    ("guessing", first(True)),
    ("guessing", first(None)),
    ("covariance", ragged),
    ("covariance", smaller),
    ("covariance", shorter),
    ("covariance", [1.0] * 4),
    ("covariance", first(None)),
    ("covariance", 3),
    ("covariance", {}),
    ("covariance", REMOVED),
]
SCORES = [
    ("respondents", []),
    ("respondents", ["r", "r", "t"]),
    ("respondents", shorter),
    ("respondents", None),
    ("theta", shorter),
    ("theta", first("x")),
    ("theta", first([1.0])),
    ("theta_se", first(-0.1)),
    ("theta_se", REMOVED),
    ("n", first(1.5)),
    ("n", first(-1)),
    ("n", first(True)),
    ("n", first(10**30)),
    ("flags", first(999)),
    ("flags", first(-1)),
    ("flags", first("no_data")),
    ("method", "best"),
    ("method", None),
    ("prior_mean", "0"),
    ("prior_sd", 0.0),
    ("prior_sd", True),
    ("version", None),
]
TAMPERED = [
    (kind, where, value)
    for kind, cases in (("calibration", CALIBRATION), ("item_bank", BANK), ("scores", SCORES))
    for where, value in cases
]


@pytest.mark.parametrize(("kind", "where", "value"), TAMPERED, ids=[f"{kind}-{where}" for kind, where, _ in TAMPERED])
def test_a_changed_field_is_refused_by_name(load_changed: Callable[..., Any], kind: str, where: str, value: Any) -> None:
    with pytest.raises(FileFormatError) as error:
        load_changed(kind, where, value)
    text = str(error.value)
    last = where.split(".")[-1]
    others = {
        "n_parameters": "parameter_index",
        "respondents": "",
        "labels": "",  # every other field then has the wrong length
        "group_labels": "",
        "discrimination": "difficulty",
        "intercept": "difficulty",
        "group_n": "n_respondents",
        "fixed": "parameter_index",
    }
    assert last in text or others.get(last, last) in text
    assert f"says it is a {kind}, but " in text
    assert "changed.json" in text
    assert "xpected" in text
    assert len(text) < 700
    assert len(text.splitlines()) <= 4


def test_every_field_is_needed(load_changed: Callable[..., Any], documents: dict[str, Document]) -> None:
    for kind, document in documents.items():
        for name in document:
            with pytest.raises(FileFormatError, match=f"{name}|kind None" if name == "kind" else name):
                load_changed(kind, name, REMOVED)


def test_further_fields_do_no_harm(load_changed: Callable[..., Any], documents: dict[str, Document]) -> None:
    for kind in documents:
        assert load_changed(kind, "note", "from a colleague") is not None
    load_changed("calibration", "options.note", [1])
    assert load_changed("calibration", "classical.note", [1]).items.shape == (4, 10)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a JSON file"),
        ("{", "not a JSON file"),
        ("[]", "kind None"),
        ('"calibration"', "kind None"),
        ("null", "kind None"),
        ("[" * 100_000, "not a JSON file"),
        ('{"a":' * 100_000, "not a JSON file"),
        ('{"kind": ["calibration"]}', r"kind \['calibration'\]"),
        ('{"kind": {}}', "kind {}"),
        ('{"kind": 1}', "kind 1"),
        ('{"kind": null}', "kind None"),
        ('{"kind": "Calibration"}', "kind 'Calibration'"),
        ('{"kind": "calibration"}', "format"),
        ('{"kind": "calibration", "format": "1"}', "format '1'"),
        ('{"kind": "calibration", "format": null}', "format None"),
        ('{"kind": "calibration", "format": true}', "format True"),
        ('{"kind": "calibration", "format": 1.0}', r"format 1\.0"),
        ('{"kind": "calibration", "format": [1]}', r"format \[1\]"),
        ('{"kind": "calibration", "format": 0}', "format 0"),
        ('{"kind": "calibration", "format": 2}', "format 2; .*Upgrade"),
        ('{"kind": "item_bank", "format": 1, "labels": [NaN]}', "not a JSON file .*NaN"),
        ('{"kind": "item_bank", "format": 1, "labels": [-Infinity]}', "not a JSON file .*Infinity"),
        ('{"kind": "item_bank", "format": 1, "labels": [1e999]}', "labels"),
        ('{"kind": "item_bank", "format": 1, "labels": [' + "9" * 5000 + "]}", "not a JSON file"),
    ],
)
def test_files_of_others(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileFormatError, match=said) as error:
        pe.load(path)
    assert str(path) in str(error.value)
    assert len(str(error.value)) < 500


def test_binary_file(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(b"\x89PNG\r\n\x1a\n\xff\xfe")
    with pytest.raises(FileFormatError, match="not a JSON file"):
        pe.load(path)


def test_a_byte_order_mark_is_read(tmp_path: Path, bank: pe.ItemBank) -> None:
    path = bank.save(tmp_path / "bank.json")
    path.write_text(path.read_text(encoding="utf-8"), encoding="utf-8-sig")
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    assert pe.load(path).to_dict() == bank.to_dict()


@pytest.mark.parametrize("place", [None, 3, ["bank.json"], b"bank.json", ""])
def test_what_is_no_path(bank: pe.ItemBank, place: Any) -> None:
    with pytest.raises(FileFormatError, match=r"file to read is .*Expected a path"):
        pe.load(place)
    with pytest.raises(FileFormatError, match=r"file to write is .*Expected a path"):
        bank.save(place)


def test_folders_and_absent_files(tmp_path: Path, bank: pe.ItemBank) -> None:
    with pytest.raises(FileFormatError, match=f"{tmp_path} is a folder"):
        pe.load(tmp_path)
    with pytest.raises(FileFormatError, match=f"{tmp_path} is a folder"):
        bank.save(tmp_path)
    with pytest.raises(FileNotFoundError):
        pe.load(tmp_path / "nothing.json")
    assert bank.save(str(tmp_path / "bank.json")) == tmp_path / "bank.json"


def test_kinds_come_back_equal(tmp_path: Path, calibration: pe.Calibration, bank: pe.ItemBank, scores: pe.Scores) -> None:
    for number, thing in enumerate((calibration, bank, scores)):
        path = thing.save(tmp_path / f"{number}.json")
        loaded = pe.load(path)
        assert type(loaded) is type(thing)
        assert loaded.to_dict() == thing.to_dict()
        again = loaded.save(tmp_path / f"{number}_again.json")
        assert again.read_bytes() == path.read_bytes()
    assert np.isinf(scores.theta["r"])
    assert np.isnan(scores.theta["t"])
    pd.testing.assert_frame_equal(pe.load(scores.save(tmp_path / "s.json")).to_frame(), scores.to_frame(), check_exact=True)


@pytest.mark.parametrize("method", ["oakes", "crossprod", "sandwich", None])
@pytest.mark.parametrize("model", ["2pl", "1pl", "rasch"])
def test_calibrations_of_all_kinds_come_back(tmp_path: Path, model: str, method: str | None) -> None:
    labels = [0.5, 2.0, 3.25, -1.0]
    data = pd.DataFrame(simulate(240, 1.2, np.linspace(-1, 1, 4), seed=8), columns=labels)
    fixed = pd.DataFrame({"discrimination": [1.0], "difficulty": [0.1]}, index=[2.0]) if model == "2pl" else None
    calibration = pe.calibrate(
        data,
        model=model,
        groups=[row % 2 == 0 for row in range(240)],
        weights=np.linspace(0.5, 1.5, 240),
        standard_errors=method,
        n_points=np.int64(41),
        fixed_items=fixed,
    )
    loaded = pe.load(calibration.save(tmp_path / "calibration.json"))
    assert loaded.to_dict() == calibration.to_dict()
    assert loaded.summary() == calibration.summary()
    assert loaded.group_labels == calibration.group_labels
    assert loaded.reference_group is calibration.reference_group
    pd.testing.assert_frame_equal(loaded.items, calibration.items, check_exact=True)
    pd.testing.assert_frame_equal(loaded.bank.items, calibration.bank.items, check_exact=True)


def test_calibrations_on_the_bound_and_with_everything_fixed_come_back(tmp_path: Path) -> None:
    guttman = np.repeat(np.tril(np.ones((6, 5), dtype=int), -1), 50, axis=0)
    with pytest.warns(pe.exceptions.BoundaryEstimateWarning):
        calibration = pe.calibrate(guttman)
    assert np.isnan(calibration.free_covariance).any()
    loaded = pe.load(calibration.save(tmp_path / "guttman.json"))
    assert loaded.to_dict() == calibration.to_dict()
    data = pd.DataFrame(simulate(240, 1.0, np.linspace(-1, 1, 3), seed=6), columns=list("abc"))
    fixed = pd.DataFrame(
        {"discrimination": 1.0, "intercept": [0.3, 0.0, 1.0], "difficulty": [-0.3, 0.0, -1.0]}, index=list("abc")
    )
    anchored = pe.calibrate(data, fixed_items=fixed)
    loaded = pe.load(anchored.save(tmp_path / "anchored.json"))
    assert loaded.to_dict() == anchored.to_dict()


@pytest.mark.parametrize("labels", [pd.date_range("2026-01-01", periods=3), pd.Index([1.0, np.inf, 2.0])])
def test_respondents_that_a_file_cannot_hold_are_named(tmp_path: Path, bank: pe.ItemBank, labels: pd.Index) -> None:
    scored = pe.score(bank, pd.DataFrame({"a": [1, 0, 1], "b": [1, 0, 0]}, index=labels))
    with pytest.raises(DataError, match="cannot be saved: expected text or a finite number"):
        scored.save(tmp_path / "scores.json")
    assert not (tmp_path / "scores.json").exists()


def test_text_that_cannot_be_encoded_spoils_no_file(tmp_path: Path) -> None:
    path = tmp_path / "bank.json"
    path.write_text("before")
    with pytest.raises(DataError, match=r"cannot be saved.*'\\udc80'"):
        pe.ItemBank.from_arrays(pd.Index(["\udc80"], dtype=object), [1.0], [0.0]).save(path)
    assert path.read_text() == "before"


def test_load_knows_every_class_that_can_be_saved() -> None:
    tasks = "psychoedu.runners.tasks"  # which only Inspect loads; nothing there is saved
    for module in pkgutil.walk_packages(pe.__path__, "psychoedu."):
        if not module.name.startswith(tasks):
            importlib.import_module(module.name)
    found, todo = set(), [Saved]
    while todo:
        parts = todo.pop().__subclasses__()
        todo += parts
        found |= {part for part in parts if part.__module__.startswith("psychoedu.") and part.kind}
    assert found == set(CLASSES)


def test_load_knows_them_in_a_fresh_process(tmp_path: Path) -> None:
    path = pe.CutScores.from_values({"pass": 0.5}).save(tmp_path / "cuts.json")
    code = f"import psychoedu as pe; print(pe.load({str(path)!r}))"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert said == "CutScores(given: pass 0.500)\n"
