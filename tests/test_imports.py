"""``import psychoedu`` is light, and the public names are there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import psychoedu

OPTIONAL = ["torch", "pyro", "girth", "mirt", "py_irt", "inspect_ai", "openai", "pyarrow"]
LATE = ["matplotlib", "statsmodels", "IPython"]
SECONDS = 0.5


def in_fresh_interpreter(code: str) -> dict[str, object]:
    """Run code that prints one JSON object, in a new interpreter that finds the same package, and return the object."""
    path = str(Path(psychoedu.__file__).resolve().parents[1])
    script = f"import sys; sys.path.insert(0, {path!r})\n{code}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def test_import_is_quick_and_loads_no_late_package() -> None:
    code = f"""
import json, time
start = time.perf_counter()
import psychoedu
seconds = time.perf_counter() - start
print(json.dumps({{"seconds": seconds, "loaded": [name for name in {OPTIONAL + LATE!r} if name in sys.modules]}}))
"""
    runs = [in_fresh_interpreter(code) for _ in range(3)]
    assert all(run["loaded"] == [] for run in runs)
    assert min(float(str(run["seconds"])) for run in runs) < SECONDS


def test_core_needs_no_optional_package() -> None:
    """Calibration, scoring and the summary work where every optional import fails, and draw in no plotting package."""
    code = f"""
import json
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {OPTIONAL!r}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Refuse())
import psychoedu as pe
calibration = pe.calibrate(pe.datasets.load_lsat7())
text = calibration.summary()
scores = pe.score(calibration, pe.datasets.load_lsat7())
loaded = [name for name in {LATE!r} if name in sys.modules]
print(json.dumps({{"converged": bool(calibration.converged), "n": len(scores.theta), "loaded": loaded}}))
"""
    assert in_fresh_interpreter(code) == {"converged": True, "n": 1000, "loaded": []}


def test_load_knows_every_kind_in_a_fresh_interpreter(tmp_path: Path) -> None:
    """A file can be loaded before anything else of the package was used."""
    target = psychoedu.calibrate(psychoedu.datasets.load_lsat7()).bank.save(tmp_path / "bank.json")
    code = f"""
import json
import psychoedu as pe
print(json.dumps({{"kind": type(pe.load({str(target)!r})).__name__}}))
"""
    assert in_fresh_interpreter(code) == {"kind": "ItemBank"}


@pytest.mark.parametrize("name", psychoedu.__all__)
def test_public_name_exists(name: str) -> None:
    assert getattr(psychoedu, name) is not None
    assert name in dir(psychoedu)


def test_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        _ = psychoedu.no_such_name


def test_public_names_are_sorted_and_single() -> None:
    """Constants first, then by name, as the linter has them."""
    assert psychoedu.__all__ == sorted(set(psychoedu.__all__), key=lambda name: (not name.isupper(), name))


def test_citation_names_this_version() -> None:
    """The citation names the version that the package says."""
    citation = (Path(__file__).resolve().parents[1] / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {psychoedu.__version__}\n" in citation
