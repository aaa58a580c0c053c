"""Every example in a docstring runs and prints what it says."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import psychoedu

FOLDER = Path(psychoedu.__file__).resolve().parent
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def modules_with_examples() -> list[str]:
    """List the modules whose text holds an example."""
    paths = [path for path in sorted(FOLDER.rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]
    names = [".".join(["psychoedu", *path.relative_to(FOLDER).with_suffix("").parts]) for path in paths]
    return [name.removesuffix(".__init__") for name in names]


def test_there_are_examples() -> None:
    assert "psychoedu" in modules_with_examples()


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # an example that saves a file saves it here
    module = import_module(name)
    finder = doctest.DocTestFinder(exclude_empty=True)
    said: list[str] = []
    attempted = 0
    for test in finder.find(module, name):
        runner = doctest.DocTestRunner(optionflags=FLAGS)
        runner.run(test, out=said.append)
        attempted += runner.tries
        assert runner.failures == 0, "".join(said)
    assert attempted > 0
