"""Recovery and coverage of cognitive diagnosis parameters, and of estimated classification accuracy, in simulated data sets."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri

from benchmarks.designs import ROOT, SEED
from benchmarks.tables import table, write_section

N_DATA_SETS, N_RESPONDENTS, N_ITEMS, N_ATTRIBUTES = 300, 2_000, 40, 4
SLOPES = np.array([1.2, 1.6, 1.0, 1.4])
INTERCEPTS = np.array([0.5, 0.0, -0.3, 0.8])
MODELS = ("G-DINA", "DINA", "ACDM", "RRUM")
PAGE = ROOT / "docs" / "validation.md"
FloatArray = NDArray[np.float64]


def q_matrix() -> NDArray[np.int8]:
    """Return 40 items: 24 of one attribute, 12 of two, 4 of three, each attribute about equally often."""
    rows = [[k % 4] for k in range(24)] + [[a, b] for a in range(4) for b in range(a + 1, 4)] * 2
    rows += [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]
    q = np.zeros((len(rows), 4), dtype=np.int8)
    for j, row in enumerate(rows):
        q[j, row] = 1
    return q


def true_cells(model: str, q: NDArray[np.int8], rng: np.random.Generator) -> list[FloatArray]:
    """Draw each item's success probabilities within [0.1, 0.9], increasing in every attribute."""
    from psychoedu.cdm.profiles import all_profiles

    out = []
    for row in q:
        patterns = all_profiles(int(row.sum())).astype(float)
        low, high = rng.uniform(0.1, 0.3), rng.uniform(0.7, 0.9)
        share = rng.dirichlet(np.full(patterns.shape[1], 4.0))
        if model == "DINA":
            helped = patterns.all(axis=1).astype(float)
        elif model == "RRUM":
            out.append(np.exp(np.log(low) + (np.log(high) - np.log(low)) * (patterns @ share)))
            continue
        else:
            helped = patterns @ share
            if model == "G-DINA":
                helped = helped ** rng.uniform(0.7, 2.0)
        out.append(low + (high - low) * helped)
    return out


def draw(success: FloatArray, alpha: NDArray[np.int8], rng: np.random.Generator) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Draw attributes (N, K) from the higher-order structure, and responses (N, J)."""
    theta = rng.standard_normal(N_RESPONDENTS)
    mastered = (rng.random((N_RESPONDENTS, 4)) < expit(theta[:, None] * SLOPES + INTERCEPTS)).astype(np.int8)
    powers = 2 ** np.arange(4)
    place = np.empty(16, dtype=np.int64)
    place[alpha @ powers] = np.arange(16)
    responses = (rng.random((N_RESPONDENTS, len(success))) < success.T[place[mastered @ powers]]).astype(np.int8)
    return mastered, responses


def structural_errors(model: str, n_resamples: int = 300, seed: int = SEED) -> FloatArray:
    """Return the bootstrap's standard error of each slope and intercept over that of the observed information, one data set."""
    import psychoedu as pe
    from psychoedu.cdm.profiles import all_profiles, reduced_index

    rng = np.random.default_rng([seed, 1, sum(map(ord, model))])
    q, alpha = q_matrix(), all_profiles(N_ATTRIBUTES)
    cells = true_cells(model, q, rng)
    success = np.array([own[reduced_index(row, alpha)] for own, row in zip(cells, q, strict=True)])
    _, responses = draw(success, alpha, rng)
    diagnosis = pe.diagnose(responses, q, model=model, n_starts=1, n_points=25)
    found = pe.cdm.bootstrap_errors(diagnosis, n_resamples, "parametric", rng=seed)
    own = diagnosis.structure[["slope_se", "intercept_se"]].to_numpy().T.ravel()
    return np.asarray(found.structural["se_bootstrap"].to_numpy() / own)


@dataclass(frozen=True)
class CdmRecovery:
    """Coverages by model: of item probabilities, of slopes and intercepts, and the accuracy as estimated less the true one."""

    items: float
    structural: float
    on_bound: float
    accuracy_error: float
    accuracy_error_largest: float
    agreement: float


def simulate_and_fit(model: str, n_data_sets: int = N_DATA_SETS, seed: int = SEED) -> CdmRecovery:
    """Draw data sets from one model with a higher-order structure, and fit the same model to each."""
    import psychoedu as pe
    from psychoedu.cdm.profiles import all_profiles, reduced_index

    rng = np.random.default_rng([seed, sum(map(ord, model))])
    q = q_matrix()
    alpha = all_profiles(N_ATTRIBUTES)
    cells = true_cells(model, q, rng)
    success = np.array([own[reduced_index(row, alpha)] for own, row in zip(cells, q, strict=True)])
    truth = np.concatenate(cells)
    z = ndtri(0.975)
    hits, structural_hits, bounds, errors, agreements = [], [], [], [], []
    for _ in range(n_data_sets):
        mastered, responses = draw(success, alpha, rng)
        diagnosis = pe.diagnose(responses, q, model=model, n_starts=1, n_points=25)
        items = diagnosis.items
        p, se = items["probability"].to_numpy(), items["se"].to_numpy()
        known = np.isfinite(se)
        logit_se = se[known] / (p[known] * (1 - p[known]))
        distance = np.log(p[known] / (1 - p[known])) - np.log(truth[known] / (1 - truth[known]))
        hits.append(np.abs(distance) <= z * logit_se)
        bounds.append(1.0 - known.mean())
        table_ = diagnosis.structure
        for name, values in (("slope", SLOPES), ("intercept", INTERCEPTS)):
            error = np.abs(table_[name].to_numpy() - values) <= z * table_[f"{name}_se"].to_numpy()
            structural_hits.append(error[np.isfinite(table_[f"{name}_se"].to_numpy())])
        estimated = np.maximum(diagnosis.persons.mastery, 1.0 - diagnosis.persons.mastery).mean()
        right = ((diagnosis.persons.mastery > 0.5) == mastered).mean()
        errors.append(estimated - right)
        agreements.append(right)
    return CdmRecovery(
        float(np.concatenate(hits).mean()),
        float(np.concatenate(structural_hits).mean()),
        float(np.mean(bounds)),
        float(np.mean(errors)),
        float(np.abs(errors).max()),
        float(np.mean(agreements)),
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``python -m benchmarks cdm-recovery``."""
    parser.add_argument("--data-sets", type=int, default=N_DATA_SETS)


def run(arguments: argparse.Namespace, command: str) -> None:
    """Simulate each model, and print the table or write it into docs/validation.md."""
    rows = []
    for model in MODELS:
        found = simulate_and_fit(model, arguments.data_sets)
        rows.append(
            [
                model,
                f"{found.items:.4f}",
                f"{found.structural:.4f}",
                f"{found.on_bound:.2%}",
                f"{found.agreement:.4f}",
                f"{found.accuracy_error:+.4f}",
                f"{found.accuracy_error_largest:.4f}",
            ]
        )
        print(*rows[-1], flush=True)
    header = [
        "model",
        "coverage, item probabilities",
        "coverage, slopes and intercepts",
        "probabilities on a bound",
        "attribute accuracy",
        "as estimated, less true",
        "largest difference in a data set",
    ]
    beside = []
    for model in MODELS:
        ratio = structural_errors(model)
        beside.append([model, f"{ratio.mean():.3f}", f"{ratio.min():.3f} - {ratio.max():.3f}"])
    errors = table(["slopes and intercepts: SE of 300 parametric bootstrap refits / SE", "mean", "least - most of 8"], beside)
    text = f"{table(header, rows)}\n\n{errors}"
    if arguments.write:
        write_section("cdm-coverage", f"`{command}`, {arguments.data_sets} data sets a row\n\n{text}", PAGE)
    print(text)
