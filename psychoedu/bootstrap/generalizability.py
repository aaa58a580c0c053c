"""The verb ``generalizability``: how much of the rewards is model, task, condition and repeat."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray, IntArray
from psychoedu.bootstrap.generalizability_results import MISSING, ROLES, Generalizability
from psychoedu.bootstrap.variance_components import effects_of, level_codes, same_partitions, shares_of_mean, variance_components
from psychoedu.exceptions import DataError, IdentificationError, LabelError, RepeatsError
from psychoedu.validation import check_choice, check_columns, counted, listed

__all__ = ["Generalizability", "generalizability"]


def generalizability(
    rewards: pd.DataFrame,
    model: Hashable = "model",
    task: Hashable = "task",
    repeat: Hashable | None = None,
    condition: Hashable | None = None,
    reward: Hashable = "reward",
    *,
    repeats: str = "nested",
    fixed: str | Sequence[str] = (),
    missing: str = "raise",
) -> Generalizability:
    """Estimate the variance components of rewards: models, tasks, conditions, repeats and their interactions.

    Parameters
    ----------
    rewards : DataFrame
        One row a reward.
    model, task, reward : label
        Columns of the model (the object of measurement), the task, and the number.
    repeat : label, optional
        Column that numbers the re-runs. Without it each model has one reward a task (and condition).
    condition : label, optional
        Column of what else was varied, as the prompt; every model and task is meant to be seen under each.
    repeats : {"nested", "crossed"}
        "nested": a repeat is a re-run of its own, r:(model x task); run 1 of one task has nothing to do with run 1 of another.
        "crossed": repeats share a meaning across cells, as the same seed, day or judge.
    fixed : str or sequence of str, {"condition", "task", "repeat"}
        Facets whose levels are all there are, so that means are not generalised beyond them. By default all are random, a sample.
    missing : {"raise", "omit", "zero"}
        What to do with missing rewards.

    Returns
    -------
    Generalizability
        ``.components``, ``.generalizability``, ``.dependability``, ``.decision()``, ``.tasks_needed()``.

    Raises
    ------
    RepeatsError
        A cell has several rewards and no column of repeats, or one repeat twice.
    IdentificationError
        A facet has one level; every cell has one repeat; two effects divide the rewards in the same way; or everything is fixed,
        so that no error is known.
    LabelError
        A column is absent, or a label is missing.
    DataError
        Rewards are missing, infinite or no numbers.

    Notes
    -----
    Random-effects model: reward = mean + model + task + model x task + ... + residual, all effects independent. Balanced:
    analysis of variance, with standard errors of normal effects. Unbalanced, or with cells missing: Henderson's method 1
    (analogous ANOVA), which is the same on balanced data. See
    :func:`psychoedu.bootstrap.variance_components.variance_components` for both. Negative estimates are shown as they are, named
    in ``diagnostics`` and counted as 0; the other estimates are not changed by that.

    Without repeats the highest interaction cannot be told from error and holds both. A facet is fixed in the results alone
    (Brennan 2001, ch. 4): the components are those of the random model, and with conditions fixed the universe score has variance
    sigma^2(m) + sigma^2(mc) / n_c.

    References
    ----------
    Brennan, R. L. (2001). *Generalizability theory*. Springer. Cronbach, L. J., Gleser, G. C., Nanda, H., & Rajaratnam, N.
    (1972). *The dependability of behavioral measurements*. Wiley.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [("a", 1, .9), ("a", 2, .7), ("a", 3, .8), ("b", 1, .8), ("b", 2, .4), ("b", 3, .6), ("c", 1, .5), ("c", 2, .2),
    ...         ("c", 3, .2)]
    >>> study = generalizability(pd.DataFrame(rows, columns=["model", "task", "reward"]))
    >>> study.components["variance"].round(4).to_dict()
    {'model': 0.0617, 'task': 0.0217, 'model x task': 0.005}
    >>> round(study.generalizability, 3)
    0.974
    >>> study.tasks_needed(half_width=0.05, of="difference")
    18
    """
    if not isinstance(rewards, pd.DataFrame):
        raise DataError(
            f"rewards has to be a DataFrame, one row a reward; got {type(rewards).__name__}. Make one with pd.DataFrame(...)."
        )
    crossed = check_choice(repeats, ("nested", "crossed"), "repeats") == "crossed"
    policy = check_choice(missing, MISSING, "missing")
    named: dict[str, Hashable] = {
        role: column
        for role, column in zip(ROLES, (model, task, condition, repeat), strict=True)
        if column is not None or role in ("model", "task")
    }
    _check_columns(rewards, named, reward)
    facets = tuple(named)
    held = _fixed(fixed, facets, nested=not crossed)
    labels = {role: _codes(rewards[column], role) for role, column in named.items()}
    values = _numbers(rewards[reward], reward)
    absent = np.isnan(values)
    if absent.all():
        raise DataError(f"None of the {len(values):,} rewards in column {reward!r} has a value. Expected numbers.")
    if absent.any() and policy == "raise":
        cells = [tuple(row) for row in rewards.loc[absent, list(named.values())].head().itertuples(index=False)]
        raise DataError(
            f"{counted(int(absent.sum()), 'reward')} of {len(values):,} missing: {listed(cells, int(absent.sum()))}.\n"
            "Pass missing='omit' to leave them out, or missing='zero' to count them as 0."
        )
    kept = ~absent if policy == "omit" else np.ones(len(values), dtype=np.bool_)
    values = np.where(absent, 0.0, values)[kept]
    codes = np.array([np.unique(code[kept], return_inverse=True)[1] for code, _ in labels.values()], dtype=np.int64)
    names = [uniques for _, uniques in labels.values()]
    nested = "repeat" in facets and not crossed
    _check_levels(codes, facets, named, nested)
    _check_cells(
        codes, facets, [name[np.unique(code[kept])].tolist() for name, (code, _) in zip(names, labels.values(), strict=True)]
    )
    effects = effects_of(len(facets), nested)
    found = variance_components(values, codes, effects, nested)
    study = Generalizability(
        facets,
        tuple(named.values()),
        nested,
        held,
        found,
        shares_of_mean(codes, effects),
        float(values.mean()),
        len(values),
        int(absent.sum()),
        policy,
    )
    if found.singular:
        raise IdentificationError(_indistinct(study))
    if not study.universe.has_error:
        raise IdentificationError(
            f"With {', '.join(held)} fixed and no repeats, error cannot be told from the models' own effects and is not known.\n"
            "Give the column of the re-runs with repeat=, or let tasks be random."
        )
    return study


def _check_columns(frame: pd.DataFrame, named: dict[str, Hashable], reward: Hashable) -> None:
    """Check that the columns exist, once each, and differ."""
    columns = {**named, "reward": reward}
    for role, column in columns.items():
        try:
            check_columns(frame, [column], role)
        except TypeError as error:
            raise DataError(f"{role} has to name one column; got {column!r}.") from error
        if int((frame.columns == column).sum()) > 1:
            raise LabelError(f"The table has several columns {column!r}, which {role} names. Rename or drop all but one.")
    used = list(columns.values())
    twice = {column for column in used if used.count(column) > 1}
    if twice:
        roles = [role for role, column in columns.items() if column in twice]
        raise DataError(f"{' and '.join(roles)} name the same column: {listed(list(twice))}. Expected a column each.")


def _fixed(fixed: str | Sequence[str], facets: tuple[str, ...], nested: bool) -> tuple[str, ...]:
    asked = [fixed] if isinstance(fixed, str) else list(fixed)
    for role in asked:
        check_choice(role, ROLES[1:], "fixed")
        if role not in facets:
            raise DataError(f"fixed names {role!r}, which the study does not have. Give its column with {role}=.")
    if "repeat" in asked and nested:
        raise DataError(
            "fixed names 'repeat', but nested repeats are a sample by nature. Pass repeats='crossed' where they share a meaning."
        )
    return tuple(role for role in facets if role in asked)


def _codes(column: pd.Series, role: str) -> tuple[IntArray, pd.Index]:
    """Return a number for each label of a column, in the order met; none may be missing."""
    absent = column.isna().to_numpy()
    if absent.any():
        rows = column.index[absent]
        raise LabelError(
            f"{counted(int(absent.sum()), 'row')} without a {role} label in column {column.name!r}: rows {listed(rows)}.\n"
            f"Expected a label in every row. Fill them in, or drop those rows."
        )
    codes, uniques = pd.factorize(column)
    found = pd.Index(uniques, tupleize_cols=False)
    texts = pd.Index([str(label) for label in found])
    if not texts.is_unique:
        alike = found[texts.duplicated(keep=False)]
        raise LabelError(
            f"{len(alike)} {role} labels differ in type alone: {listed(alike)}.\n"
            f"Write them as text throughout, as in frame[{column.name!r}].astype(str)."
        )
    return np.asarray(codes, dtype=np.int64), found


def _numbers(column: pd.Series, name: Hashable) -> FloatArray:
    """Return rewards as floats, nan where missing."""
    if column.dtype == object or not (pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column)):
        dates = pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column)
        found = pd.to_numeric(column.astype(object), errors="coerce")
        wrong = column[column.notna() & (found.isna() | dates)]
        if len(wrong):
            raise DataError(
                f"{counted(len(wrong), 'reward')} in column {name!r} not numbers: {listed(wrong.tolist())} (rows "
                f"{listed(wrong.index.tolist())}).\nExpected numbers, nan where there is no reward."
            )
        column = found
    if pd.api.types.is_complex_dtype(column):
        raise DataError(f"The rewards in column {name!r} are complex numbers. Expected real ones.")
    values: FloatArray = np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    infinite = np.isinf(values)
    if infinite.any():
        rows = column.index[infinite].tolist()
        raise DataError(
            f"{counted(len(rows), 'reward')} in column {name!r} infinite: rows {listed(rows)}. Expected finite numbers."
        )
    return values


def _check_levels(codes: IntArray, facets: tuple[str, ...], named: dict[str, Hashable], nested: bool) -> None:
    """Check that each facet has two levels at least, and nested repeats two in some cell."""
    for place, role in enumerate(facets):
        if nested and role == "repeat":
            cells, count = level_codes(codes, tuple(range(place)))
            if len(cells) == count:
                raise IdentificationError(
                    f"Every cell has one repeat, so repeats cannot be told from the interaction of {' and '.join(facets[:-1])}.\n"
                    "Leave repeat= out, or give the rewards of all re-runs."
                )
        elif codes[place].max() == 0:
            mend = f"Leave {role}= out." if role in ("condition", "repeat") else f"Give the rewards of several {role}s."
            raise IdentificationError(
                f"Column {named[role]!r} has one {role} only, so no variance between {role}s exists; expected at least 2.\n{mend}"
            )


def _check_cells(codes: IntArray, facets: tuple[str, ...], names: Sequence[list[Any]]) -> None:
    """Check that no combination of labels has two rewards."""
    cells, count = level_codes(codes, tuple(range(len(facets))))
    if count == codes.shape[1]:
        return
    _, first = np.unique(cells, return_index=True)
    repeated = np.unique(cells[np.setdiff1d(np.arange(codes.shape[1]), first)])
    shown = [tuple(name[code] for name, code in zip(names, codes[:, first[cell]], strict=True)) for cell in repeated[:5]]
    mend = (
        "Give each re-run its own number in the repeat column, or drop the copies."
        if "repeat" in facets
        else "Name the column of the re-runs with repeat=, or that of the conditions with condition=, or drop the copies."
    )
    raise RepeatsError(
        f"{counted(len(repeated), 'cell')} with more than one reward ({' x '.join(facets)}): {listed(shown, len(repeated))}.\n"
        f"Expected one reward a cell. {mend}"
    )


def _indistinct(study: Generalizability) -> str:
    """Say which effects cannot be told apart."""
    names = study.effects
    pairs = same_partitions(study.found.n_levels, effects_of(len(study.facets), study.nested))
    if pairs:
        shown: list[Any] = [f"{names[low]} and {names[high]}" for low, high in pairs]
        what = f"These effects divide the rewards in the same way: {', '.join(shown[:5])}"
    else:
        what = f"With these cells missing, the {len(names)} components cannot be told apart"
    return (
        f"{what}; their variances cannot be told apart.\n"
        "Expected a design in which models share tasks (and conditions): leave a facet out, or give the rewards of more cells."
    )
