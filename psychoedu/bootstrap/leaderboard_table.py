"""The public verb for published leaderboards: rank models from a table of scores, without the rewards behind it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import pandas as pd

from psychoedu._typing import FloatArray
from psychoedu._version import __version__
from psychoedu.bootstrap.group_means import RELATIVE_TIE
from psychoedu.bootstrap.leaderboard_parts import check_stage_names, flat, overall_scores, ranks_of, stage_weights
from psychoedu.bootstrap.leaderboard_results import NO_TASKS, Leaderboard
from psychoedu.bootstrap.leaderboard_saved import NO_METHOD
from psychoedu.exceptions import DataError, LabelError, MissingRewardsError
from psychoedu.validation import check_choice, check_columns, check_labels, counted, listed


def leaderboard_from_scores(
    scores: pd.DataFrame,
    stages: Sequence[Hashable] | None = None,
    *,
    model: Hashable | None = None,
    weights: Mapping[Hashable, float] | None = None,
    missing: str = "raise",
) -> Leaderboard:
    """Rank models from a table of scores, such as a published one; there are no intervals, and the result says why.

    Parameters
    ----------
    scores : DataFrame
        A row per model, a column per stage.
    stages : sequence of column names, optional
        All columns by default; leave out columns that are no stages, such as a mean.
    model : column name, optional
        Labels of the models; the index by default.
    weights : mapping of stage to weight, optional
        The same for each by default.
    missing : {"raise", "omit"}
        A model without a score in a stage: refuse, or show it without overall score and rank.

    Returns
    -------
    Leaderboard
        ``.table`` with ``nan`` for everything about sampling error, ``.stage_ranks``, ``.rank_correlations()``.

    Raises
    ------
    MissingRewardsError
        Scores are missing and ``missing="raise"``.
    DataError
        Columns that are no numbers; fewer than two models.
    LabelError
        A column that does not exist, or a stage called as a column of the leaderboard.

    Notes
    -----
    Printed scores are rounded: models that tie here need not tie before rounding, and correlations may move. In TeachArena's
    table 6, breaking its printed ties moves Spearman's rho by up to 0.03.

    Examples
    --------
    >>> from psychoedu import datasets
    >>> board = leaderboard_from_scores(datasets.load_teacharena_stages(), ["stage_1", "stage_2", "stage_3"])
    >>> board.table["rank"].head(3).to_dict()
    {'Claude Opus 4.8': 1.0, 'Claude Opus 4.6': 2.0, 'GPT-5.5-pro': 3.0}
    """
    if not isinstance(scores, pd.DataFrame):
        raise DataError(f"scores has to be a DataFrame with a row per model; got {type(scores).__name__}.")
    missing = check_choice(missing, ("raise", "omit"), "missing")
    frame = scores if model is None else scores.set_index(check_columns(scores, [model], "model"))
    frame = frame.set_axis(_model_labels(frame.index), axis=0)
    columns = (
        list(frame.columns) if stages is None else check_columns(frame, [stages] if isinstance(stages, str) else stages, "stages")
    )
    if not columns:
        raise DataError("There is no stage: the table has no column of scores, or stages is empty.")
    repeated = frame.columns[frame.columns.isin(columns) & frame.columns.duplicated()].tolist()
    if repeated or len(set(columns)) < len(columns):
        raise LabelError(f"A stage stands twice in the table or in stages: {listed(repeated or columns)}. Expected each once.")
    if len(frame) < 2:
        raise DataError(f"The table has {counted(len(frame), 'model')}. Expected at least two to rank.")
    labels = pd.Index(columns, name="stage", tupleize_cols=False)
    check_stage_names(labels)
    values = np.stack([_score_column(frame[name], name) for name in columns], axis=1)
    absent = np.argwhere(np.isnan(values))
    if len(absent) and missing == "raise":
        cells = [f"{frame.index[row]!r} in {columns[column]!r}" for row, column in absent[:5]]
        more = f" and {len(absent) - 5} more" if len(absent) > 5 else ""
        raise MissingRewardsError(
            f"{counted(len(absent), 'score')} missing: {', '.join(cells)}{more}.\n"
            'Expected one for every model in every stage. Leave those models or stages out, or pass missing="omit".'
        )
    shares, how = stage_weights(weights, labels, None)
    tie = RELATIVE_TIE * float(np.nanmax(np.abs(values), initial=0.0))
    overall = overall_scores(values.T, shares)
    ranks = ranks_of(overall, tie)
    order = np.argsort(ranks, kind="stable")
    models = frame.index[order]
    notes = [NO_TASKS]
    unranked = frame.index[~np.isfinite(overall)]
    if len(unranked):
        notes.append(f"{counted(len(unranked), 'model')} without a score in a stage, and so without rank: {listed(unranked)}")
    return Leaderboard(
        models=models,
        stages=labels,
        weighting_of_stages=how,
        stage_weights=shares,
        scores=values[order],
        overall=overall[order],
        ranks=ranks[order],
        ranks_by_stage=np.stack([ranks_of(own, tie) for own in values.T], axis=1)[order],
        sizes=pd.Series([], index=pd.Index([], name="stratum", dtype=object), name="n_clusters", dtype=np.int64),
        n_missing=pd.Series(np.isnan(values).sum(axis=1)[order], index=models, name="n_missing"),
        n_resamples=0,
        n_failed=0,
        confidence_level=0.95,
        method=NO_METHOD,
        correction=None,
        weighting="task",
        missing=missing,
        fewest_clusters=0,
        seed=0,
        cluster_word="task",
        diagnostics=tuple(notes),
        version=__version__,
    )


def _model_labels(index: pd.Index) -> pd.Index:
    found = check_labels(flat(index), "model")
    labels: list[Hashable] = found.tolist()
    return pd.Index(labels, name="model", tupleize_cols=False)


def _score_column(column: pd.Series, name: Hashable) -> FloatArray:
    if column.dtype == object or not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_complex_dtype(column):
        found = pd.to_numeric(column.astype(object), errors="coerce")
        wrong = column[found.isna() & column.notna()]
        if len(wrong):
            raise DataError(
                f"{counted(len(wrong), 'score')} in column {name!r} that are no numbers: {listed(wrong.tolist())}.\n"
                "Expected numbers. Name the columns that are stages with stages=[...]."
            )
        column = found
    values: FloatArray = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(values).any():
        raise DataError(
            f"Infinite scores in column {name!r}, of {listed(column.index[np.isinf(values)])}. Expected finite numbers."
        )
    return values
