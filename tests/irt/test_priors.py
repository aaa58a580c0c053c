"""Priors: which ways of writing them are understood, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from psychoedu.exceptions import DataError
from psychoedu.irt.priors import LogNormal, Normal, Priors

SLOPES = LogNormal(0.0, 0.3)
PLACES = Normal(0.5, 2.0)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, None),
        (False, None),
        (True, Priors()),
        ({"discrimination": ("lognormal", 0, 0.3)}, Priors(SLOPES, None)),
        ({"difficulty": ["normal", 0.5, 2]}, Priors(None, PLACES)),
        ({"discrimination": SLOPES, "difficulty": ("normal", np.float32(0.5), np.int64(2))}, Priors(SLOPES, PLACES)),
        ({"discrimination": None, "difficulty": None}, None),
        ({}, None),
        (Priors(None, PLACES), Priors(None, PLACES)),
        (Priors(None, None), None),
    ],
)
def test_understood(given: Any, expected: Priors | None) -> None:
    assert Priors.parse(given) == expected


def test_densities_may_be_written_as_in_a_dict() -> None:
    priors: Any = Priors
    assert priors(discrimination=("lognormal", 0, 0.3), difficulty=["normal", Fraction(1, 2), 2]) == Priors(SLOPES, PLACES)
    made = priors(discrimination=("lognormal", 0, 0.3)).discrimination
    assert isinstance(made, LogNormal)
    assert isinstance(made.mean, float)


BAD = [
    ("difficulty", ("normal", "a", 2)),
    ("difficulty", ("normal", 0, "2")),
    ("difficulty", ("normal", True, 2)),
    ("difficulty", ("normal", 0, True)),
    ("difficulty", ("normal", 0, None)),
    ("difficulty", ("normal", 0, 0)),
    ("difficulty", ("normal", 0, -1)),
    ("difficulty", ("normal", np.nan, 1)),
    ("difficulty", ("normal", 0, np.inf)),
    ("difficulty", ("normal", 1j, 1)),
    ("difficulty", ("normal", [0], 1)),
    ("difficulty", ("normal", 0)),
    ("difficulty", ("normal", 0, 1, 2)),
    ("difficulty", ("lognormal", 0, 1)),
    ("difficulty", LogNormal(0, 1)),
    ("difficulty", Normal(True, 1)),
    ("difficulty", Normal("0", 1)),  # type: ignore[arg-type]
    ("difficulty", "normal"),
    ("difficulty", 2.0),
    ("difficulty", True),
    ("difficulty", {"mean": 0, "sd": 1}),
    ("discrimination", ("normal", 0, 1)),
    ("discrimination", Normal(0, 1)),
    ("discrimination", ("lognormal", 0, "wide")),
    ("discrimination", np.array([0.0, 0.5])),
]


@pytest.mark.parametrize("way", ["dict", "keyword"])
@pytest.mark.parametrize(("name", "density"), BAD)
def test_refused(way: str, name: str, density: Any) -> None:
    family = {"difficulty": "Normal", "discrimination": "LogNormal"}[name]
    with pytest.raises(DataError, match=f"prior of {name} is .*\n?.*Expected .*{family}") as error:
        Priors.parse({name: density}) if way == "dict" else Priors(**{name: density})
    assert len(str(error.value).splitlines()) <= 3


@pytest.mark.parametrize("given", ["weak", 1, np.True_, [SLOPES], {"slope": SLOPES}, SLOPES, {1: None}])
def test_not_understood(given: Any) -> None:
    with pytest.raises(DataError, match=r"priors=.* is not understood\. Expected psychoedu\.Priors"):
        Priors.parse(given)
