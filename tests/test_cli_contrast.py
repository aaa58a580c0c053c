"""``psychoedu contrast``: it prints and writes what the function gives, and its errors name the options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from bootstrap_designs import published_like

import psychoedu as pe
from psychoedu.cli import main

FOCAL = "strategic surface"
QUICK = ("--resamples", "500", "--seed", "20260731")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    target = tmp_path / "rewards.csv"
    published_like(3).to_csv(target, index=False)
    return target


def run(capsys: Any, *words: Any) -> tuple[int, str, str]:
    status = main([str(word) for word in words])
    out = capsys.readouterr()
    return status, out.out, out.err


def expected(file: Path, **options: Any) -> Any:
    given = {"stratum": "profile", "focal": FOCAL, "n_resamples": 500, "rng": 20260731, **options}
    return pe.contrast(pd.read_csv(file), **given)


def test_prints_and_writes_what_the_function_gives(file: Path, tmp_path: Path, capsys: Any) -> None:
    folder = tmp_path / "new" / "report"
    words = ("--stratum", "profile", "--focal", FOCAL, "--cluster", "task", "--out", folder)
    status, out, err = run(capsys, "contrast", file, *words, *QUICK)
    gap = expected(file)
    assert (status, err) == (0, "")
    assert out.startswith(gap.summary())
    names = [
        "contrast.json", "contrast.md", "contrast.tex", "forest.pdf", "forest.svg", "index.html", "methods.txt", "models.csv",
        "resamples.pdf", "resamples.svg",
    ]  # fmt: skip
    assert sorted(path.name for path in folder.iterdir()) == names
    assert all(f"wrote {folder / name}: " in out for name in names)
    assert (folder / "methods.txt").read_text(encoding="utf-8") == gap.methods_text() + "\n"
    assert (folder / "contrast.tex").read_text(encoding="utf-8") == gap.to_latex()
    assert (folder / "contrast.md").read_text(encoding="utf-8") == gap.to_markdown()
    np.testing.assert_allclose(pd.read_csv(folder / "models.csv", index_col=0)["estimate"], gap.models["estimate"], rtol=1e-12)
    assert pe.load(folder / "contrast.json").resamples.tobytes() == gap.resamples.tobytes()
    html = (folder / "index.html").read_text(encoding="utf-8")
    assert gap.to_html() in html
    assert html.count("<img") == 2
    assert "<script" not in html
    assert "http" not in html.replace("http://www.w3.org", "")


def test_sides_weights_and_numbers_as_labels(file: Path, tmp_path: Path, capsys: Any) -> None:
    common = ("contrast", file, "--stratum", "profile", "--focal", FOCAL, *QUICK)
    status, out, _ = run(capsys, *common, "--comparison", "deep", "anxious")
    assert (status, out.startswith(expected(file, comparison=["deep", "anxious"]).summary())) == (0, True)
    status, out, _ = run(capsys, *common, "--comparison", "deep=2", "anxious=1")
    assert (status, out.startswith(expected(file, comparison={"deep": 2, "anxious": 1}).summary())) == (0, True)
    frame = published_like(3)
    frame["profile"] = frame["profile"].astype("category").cat.codes + 1
    frame.to_csv(tmp_path / "numbers.csv", index=False)
    status, out, _ = run(capsys, "contrast", tmp_path / "numbers.csv", "--stratum", "profile", "--focal", "6", *QUICK)
    assert (status, out.startswith(expected(tmp_path / "numbers.csv", focal=6).summary())) == (0, True)


def test_conditions_and_parquet(tmp_path: Path, capsys: Any) -> None:
    pytest.importorskip("pyarrow")
    frame = pd.concat([published_like(2, seed).assign(prompt=name) for seed, name in ((1, "zero"), (2, "few"))])
    frame.to_parquet(tmp_path / "r.parquet")
    status, out, err = run(capsys, "contrast", tmp_path / "r.parquet", "--condition", "prompt", "--focal", "zero", *QUICK)
    gap = pe.contrast(frame, condition="prompt", focal="zero", n_resamples=500, rng=20260731)
    assert (status, err) == (0, "")
    assert out == gap.summary() + "\n"


def test_a_seed_that_was_not_given_is_printed(file: Path, capsys: Any) -> None:
    _, out, _ = run(capsys, "contrast", file, "--stratum", "profile", "--focal", FOCAL, "--resamples", "200")
    seed = next(line.split()[1] for line in out.splitlines() if line.startswith("seed"))
    again = run(capsys, "contrast", file, "--stratum", "profile", "--focal", FOCAL, "--resamples", "200", "--seed", seed)
    assert again[1] == out


ERRORS = {
    "no file": ("{folder}/absent.csv --stratum profile --focal deep", "No such file"),
    "no stratum": ("{file} --focal deep", "--stratum COLUMN"),
    "unknown label": ("{file} --stratum profile --focal depp", "There is no stratum 'depp'"),
    "unknown column": ("{file} --stratum profil --focal deep", "'profil'"),
    "weight": ("{file} --stratum profile --focal deep --comparison anxious=much", "the weight has to be a number"),
    "some weights": ("{file} --stratum profile --focal deep --comparison anxious=1 brittle", "'brittle' have none"),
    "out is a file": ("{file} --stratum profile --focal deep --out {file}", "expected the name of a folder"),
    "method": ("{file} --stratum profile --focal deep --method bootstrap", "method has to be one of"),
    "blank": ("{blank} --stratum profile --focal deep", "--missing omit, or zero"),
    "separator": ("{file} --stratum profile --focal deep --sep ", "--sep is empty"),
    "label twice": (
        "{file} --stratum profile --focal deep --comparison anxious brittle anxious",
        "names 'anxious' more than once",
    ),
    "weight twice": ("{file} --stratum profile --focal deep --comparison anxious=1 anxious=2", "names 'anxious' more than once"),
    "not a table": ("{empty} --stratum profile --focal deep", "cannot be read as a table"),
}


@pytest.mark.parametrize(("words", "message"), ERRORS.values(), ids=ERRORS)
def test_errors_are_one_message_that_names_the_option(words: str, message: str, file: Path, tmp_path: Path, capsys: Any) -> None:
    frame = pd.read_csv(file)
    frame.loc[3, "reward"] = None
    frame.to_csv(tmp_path / "blank.csv", index=False)
    (tmp_path / "empty.csv").write_text("", encoding="utf-8")
    places = {"folder": tmp_path, "file": file, "blank": tmp_path / "blank.csv", "empty": tmp_path / "empty.csv"}
    status, _, err = run(capsys, "contrast", *(word.format(**places) for word in words.split(" ")))
    assert status == 2
    assert err.count("error: ") == 1
    assert "Traceback" not in err
    assert message in err
