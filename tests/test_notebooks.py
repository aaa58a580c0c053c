"""Every notebook runs from top to bottom in a fresh kernel, and is stored without outputs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import psychoedu

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))
SECONDS = 300
NEEDS = {"06_runners": {"inspect_ai": "of the extra [runners]", "ipywidgets": "which Inspect asks for in notebooks"}}
"""By notebook: packages that it needs besides."""
RUN = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=int(sys.argv[2]), kernel_name="python3", resources={"metadata": {"path": sys.argv[3]}}).execute()
"""


def test_there_is_a_notebook() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_without_outputs(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["outputs"] for cell in code] == [[] for _ in code]
    assert [cell["execution_count"] for cell in code] == [None for _ in code]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(path: Path, tmp_path: Path) -> None:
    for package in ("nbclient", "nbformat", "ipykernel"):
        pytest.importorskip(package, reason=f"{package}, of the extra [test], is not installed")
    for package, why in NEEDS.get(path.stem, {}).items():
        pytest.importorskip(package, reason=f"{package}, {why}, is not installed")
    folders = {name: str(tmp_path / name) for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR")}
    folders["PYTHONPATH"] = str(Path(psychoedu.__file__).resolve().parents[1])  # the kernel tests the package that we test
    work = tmp_path / "work"
    work.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(path), str(SECONDS), str(work)],
        env={**os.environ, **folders},
        capture_output=True,
        text=True,
        timeout=2 * SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
