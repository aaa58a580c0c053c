"""What tests that let Inspect run need: its own warnings are not ours, and what it leaves open is swept up."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def swept(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Keep Inspect's cache out of the home, and collect its unclosed streams while its warnings are still ignored."""
    cache = tmp_path_factory.mktemp("inspect")
    monkeypatch.setenv("INSPECT_CACHE_DIR", str(cache))
    yield cache
    gc.collect()
