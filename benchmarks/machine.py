"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path

PACKAGES = ("psychoedu", "mirt", "girth", "numpy", "scipy", "pandas")


def cpu_model() -> str:
    """Return the processor's name as the system gives it."""
    source = Path("/proc/cpuinfo")
    if source.exists():
        for line in source.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def blas() -> str:
    """Return the BLAS that NumPy loaded, with its kernel, as threadpoolctl sees it."""
    try:
        import numpy  # noqa: F401  (loads the library that is then looked for)
        from threadpoolctl import threadpool_info
    except ImportError:
        return "BLAS unknown (threadpoolctl is not installed)"
    found = [each for each in threadpool_info() if each.get("user_api") == "blas"]
    names = [f"{each['internal_api']} {each.get('version')} ({each.get('architecture', 'kernel unknown')})" for each in found]
    return ", ".join(dict.fromkeys(names)) or "BLAS unknown"


def version_of(package: str) -> str | None:
    """Return a package's version, ours from its source where it is not installed."""
    if package == "psychoedu":
        import psychoedu

        return psychoedu.__version__
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def describe() -> str:
    """Return one paragraph: processor, system, Python, BLAS and package versions."""
    versions = [f"{package} {version_of(package)}" for package in PACKAGES if version_of(package)]
    parts = [
        f"{cpu_model()}, {os.cpu_count()} cores, one used",
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        f"{blas()}, one thread",
        ", ".join(versions),
    ]
    forced = os.environ.get("OPENBLAS_CORETYPE")
    if forced:
        parts.append(f"OPENBLAS_CORETYPE={forced}")
    return "; ".join(parts) + "."
