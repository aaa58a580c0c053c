"""One adapter per program: prepare its native input (not timed), fit (timed), and read its estimates back.

An adapter answers ``prepare(data)``, which returns a function that fits and returns whatever the program returns, and
``estimates(result)``, which returns the slope and intercept of every item and the mean and SD of every group.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.designs import Data

N_POINTS = 61


@dataclass(frozen=True)
class Estimates:
    """What a fit says, in one metric: logistic(a theta + d), groups in the order of their first respondent."""

    discrimination: NDArray[np.float64]
    intercept: NDArray[np.float64]
    means: list[float] = field(default_factory=lambda: [0.0])
    sds: list[float] = field(default_factory=lambda: [1.0])
    n_iterations: int | None = None
    n_e_steps: int | None = None
    converged: bool | None = None


class Psychoedu:
    """Ours, through the public verb; the frame or array is parsed and checked within the time measured."""

    name = "psychoedu"
    groups = True
    standard_errors = True

    def prepare(self, data: Data, standard_errors: bool) -> Callable[[], Any]:
        """Complete data go in as a byte array, data with holes as a masked byte array."""
        import psychoedu

        responses: Any = data.responses
        if (responses < 0).any():
            responses = np.ma.masked_array(responses, mask=responses < 0)
        options: dict[str, Any] = {"standard_errors": "oakes" if standard_errors else None}
        if data.groups is not None:
            options |= {"groups": data.groups, "reference_group": data.reference_group}
        return lambda: psychoedu.calibrate(responses, **options)

    def estimates(self, result: Any, data: Data) -> Estimates:
        """Read a Calibration."""
        items, groups = result.items, result.groups
        if data.groups is not None:
            groups = groups.loc[group_labels(data)]
        return Estimates(
            items["discrimination"].to_numpy(float),
            items["intercept"].to_numpy(float),
            groups["latent_mean"].tolist(),
            groups["latent_sd"].tolist(),
            result.n_iterations,
            result.data_summary.get("n_e_steps"),
            result.converged,
        )


class Mirt:
    """PyPI mirt 1.2.0: a Rust core for plain EM, and SQUAREM; 61 points, its own default tolerance."""

    groups = True
    standard_errors = True

    def __init__(self, accelerate: str) -> None:
        self.accelerate = accelerate
        self.name = "mirt, squarem" if accelerate == "squarem" else "mirt, plain EM"
        self.groups = accelerate == "none"  # its multi-group function has no accelerated form

    def prepare(self, data: Data, standard_errors: bool) -> Callable[[], Any]:
        """Integers, -1 for missing; groups go to ``fit_multigroup`` (all item parameters equal), which gives no SEs."""
        import mirt

        responses = data.responses.astype(np.int64)
        if data.groups is None:
            return lambda: mirt.fit_mirt(
                responses,
                "2PL",
                n_quadpts=N_POINTS,
                accelerate=self.accelerate,
                compute_standard_errors=standard_errors,
            )
        groups, reference = data.groups, data.reference_group
        return lambda: mirt.fit_multigroup(
            responses, groups, "2PL", invariance="scalar", n_quadpts=N_POINTS, reference_group=reference
        )

    def estimates(self, result: Any, data: Data) -> Estimates:
        """Read a FitResult or a MultigroupFitResult; its difficulty is b, so d = -a b."""
        means, sds = [0.0], [1.0]
        if data.groups is None:
            parameters = result.model.parameters
        else:
            position = {str(label): index for index, label in enumerate(result.group_labels)}
            order = [position[label] for label in group_labels(data)]
            distributions = [result.latent_distributions[index] for index in order]
            means = [float(np.ravel(each.mean)[0]) for each in distributions]
            sds = [float(np.sqrt(np.ravel(each.cov)[0])) for each in distributions]
            parameters = result.model.group_models[0].parameters  # one set for all groups
        discrimination = np.asarray(parameters["discrimination"], dtype=float)
        intercept = -discrimination * np.asarray(parameters["difficulty"], dtype=float)
        return Estimates(discrimination, intercept, means, sds, int(result.n_iterations), None, bool(result.converged))


class Girth:
    """girth 0.8.0 at its defaults (41 points on [-4.5, 4.5], at most 25 iterations); no standard errors, no groups."""

    name = "girth"
    groups = False
    standard_errors = False

    def prepare(self, data: Data, standard_errors: bool) -> Callable[[], Any]:
        """Items x persons, with its own tag for missing cells."""
        import girth

        responses = girth.tag_missing_data(data.responses.T.astype(np.int64), [0, 1])
        return lambda: girth.twopl_mml(responses)

    def estimates(self, result: Any, data: Data) -> Estimates:
        """Read its dictionary; its difficulty is b."""
        discrimination = np.asarray(result["Discrimination"], dtype=float)
        return Estimates(discrimination, -discrimination * np.asarray(result["Difficulty"], dtype=float))


ENGINES: dict[str, Psychoedu | Mirt | Girth] = {
    "psychoedu": Psychoedu(),
    "mirt-squarem": Mirt("squarem"),
    "mirt-em": Mirt("none"),
    "girth": Girth(),
}


def group_labels(data: Data) -> list[str]:
    """Return the group labels in the order of their first respondent."""
    return [] if data.groups is None else list(dict.fromkeys(data.groups.tolist()))


def quiet(call: Callable[[], Any]) -> Any:
    """Call with the program's warnings silenced: they are no part of what is measured."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call()
