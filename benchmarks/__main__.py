"""``python -m benchmarks KIND``, KIND as in ``KINDS`` below (needs the extra [bench])."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence

from benchmarks import (
    agreement,
    bookmark,
    calibrate,
    cdm_recovery,
    contrast,
    coverage,
    diagnose,
    estep,
    joint,
    levels,
    paired_tests,
    rankings,
    recovery,
    runner_overhead,
    scaling,
)

KINDS = {
    "calibrate": calibrate,
    "estep": estep,
    "scaling": scaling,
    "diagnose": diagnose,
    "agreement": agreement,
    "recovery": recovery,
    "cdm-recovery": cdm_recovery,
    "contrast": contrast,
    "contrast-coverage": coverage,
    "paired-tests": paired_tests,
    "rankings": rankings,
    "bookmark": bookmark,
    "levels": levels,
    "joint": joint,
    "runner-overhead": runner_overhead,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and run one kind of benchmark."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Time and memory of psychoedu beside its peers.")
    kinds = parser.add_subparsers(dest="kind", required=True)
    for name, module in KINDS.items():
        described = (module.__doc__ or "").splitlines()[0]
        child = kinds.add_parser(name, help=described, description=described)
        child.add_argument("--write", action="store_true", help="write the tables into docs/")
        module.add_arguments(child)
    parsed = parser.parse_args(given)
    KINDS[parsed.kind].run(parsed, shlex.join(["python", "-m", "benchmarks", *given]))


if __name__ == "__main__":
    main()
