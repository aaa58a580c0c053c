"""AlignED's comparative judgement: which of two student works is better, asked in both orders, three trials each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from psychoedu.exceptions import RecordsError
from psychoedu.responses import ResponseMatrix
from psychoedu.runners.aligned.evaluation import Evaluation, column_of, frame_of, sensitivity, with_reply
from psychoedu.runners.aligned.items import items_of
from psychoedu.runners.aligned.prompts import comparative_prompt
from psychoedu.runners.banks.pairs import Pair, PairBank, load_pairs
from psychoedu.runners.benchmarks import Benchmark, Messages
from psychoedu.runners.records import Records
from psychoedu.runners.rules.judgements import SAMPLES, comparative_judgement, is_included
from psychoedu.validation import check_choice, listed

NAME = "aligned-comparative"
TRIALS = 3
FORWARD, REVERSE = "forward", "reverse"
CONDITIONS = {FORWARD: "sample A first, as in the bank", REVERSE: "sample B first"}
INVALID = ("wrong", "drop")


def load_items(items: Any) -> PairBank:
    """Return a bank of pairs: as it is, from a file, or the sample that comes with the package.

    Raises
    ------
    ItemBankError
        The file has malformed items.
    """
    bank: PairBank = items_of(items, PairBank, "pairs", load_pairs)
    return bank


def shown_pair(item: Pair, condition: str) -> Pair:
    """Return a pair in the order in which a condition shows it, its key the letter of that order."""
    check_choice(condition, tuple(CONDITIONS), "condition")
    return item.swapped() if condition == REVERSE else item


def messages(item: Pair, condition: str = FORWARD, **_: Any) -> Messages:
    """Return what a model is sent about a pair."""
    return [("user", comparative_prompt(shown_pair(item, condition)))]


COMPARATIVE = Benchmark(
    name=NAME,
    title="AlignED comparative judgement: the better of two student works, in both orders",
    conditions=CONDITIONS,
    default_conditions=(FORWARD, REVERSE),
    load_items=load_items,
    task="psychoedu.runners.tasks.aligned_comparative:aligned_comparative",
    messages=messages,
    protocol={"temperature": 0.0, "bare": False},
    repeats=TRIALS,
    temperature=None,
    report="psychoedu.runners.aligned.comparative:analyse",
)


def read_key(value: Any) -> str | None:
    """Return the sample that a key names."""
    text = str(value).strip().upper()
    return text if text in SAMPLES else None


def analyse(records: Records, min_valid_rate: float = 0.0, invalid: str = "wrong", keys: Any = None) -> Evaluation:
    """Report comparative judgement.

    Parameters
    ----------
    records : Records
        Of a run of this evaluation, in one order or both.
    min_valid_rate : float
        Models whose share of readable judgements does not lie above are marked as excluded; 0, as AlignED's, excludes those
        without any.
    invalid : {"wrong", "drop"}
        Unreadable judgements count as wrong and inconsistent, or are left out.
    keys : path, mapping of pair to "A" or "B", or mapping of name to one of these, optional
        Alternative keys, under which the judgements are scored as well.

    Returns
    -------
    Evaluation
        ``scores``: accuracy (of the forward order, the headline), accuracies in reverse order, of all calls and in both orders,
        position-swap consistency, the valid rate, whether the model is included; ``position``: how often the first place was
        chosen; ``pairs``: by pair; ``keys``; ``retest``: agreement of trials.

    Notes
    -----
    The unit is the evaluation, a pair in one trial. A call that failed is missing: its evaluation counts for the other order
    alone.
    """
    check_choice(invalid, INVALID, "invalid")
    frame = frame_of(records, NAME)
    tables = {"scores": accuracies(frame, min_valid_rate, invalid), "position": positions(frame), "pairs": by_pair(frame)}
    if keys is not None:
        tables["keys"] = sensitivity(frame, keys, read_key, ["model", "condition"], answer="chosen")
    if (frame["epoch"] > 1).any():
        tables["retest"] = records.test_retest()
    scores = tables["scores"]
    excluded = list(scores.index[~scores["included"]])
    notes = [f"Excluded, valid rate not above {min_valid_rate:g}: {listed(excluded)}."] if excluded else []
    return Evaluation(NAME, COMPARATIVE.title, tables, tuple(notes))


def accuracies(frame: pd.DataFrame, min_valid_rate: float = 0.0, invalid: str = "wrong") -> pd.DataFrame:
    """Return accuracies, consistency and valid rate by model; see :func:`analyse`."""
    answered = with_reply(frame)
    strange = [name for name in answered["condition"].unique() if name not in CONDITIONS]
    if strange:
        raise RecordsError(f"Records of the conditions {listed(strange)}. Expected {listed(list(CONDITIONS))}.")
    rows = {}
    for model in frame["model"].unique():
        own = answered[answered["model"] == model]
        counted = own if invalid == "wrong" else own[own["valid"].astype(bool)]
        right = counted["score"] > 0.0
        both = _evaluations(own)
        judged = comparative_judgement(both[FORWARD].tolist(), both[REVERSE].tolist(), both["key"].tolist(), invalid)
        rate = float(own["valid"].astype(np.float64).mean()) if len(own) else np.nan
        rows[model] = {
            "accuracy": _mean(right[counted["condition"] == FORWARD]),
            "consistency": judged.consistency,
            "accuracy_reverse": _mean(right[counted["condition"] == REVERSE]),
            "accuracy_calls": _mean(right),
            "accuracy_both": judged.accuracy_both,
            "valid_rate": rate,
            "included": is_included(rate, min_valid_rate),
            "n_pairs": own["item_id"].nunique(),
            "n_evaluations": int((own["condition"] == FORWARD).sum()),
            "n_both_orders": judged.n,
            "failed": int((frame["model"] == model).sum()) - len(own),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("model").astype({"included": bool})


def _mean(right: pd.Series) -> float:
    return float(right.mean()) if len(right) else float("nan")


def _evaluations(own: pd.DataFrame) -> pd.DataFrame:
    """Return the letters given in both orders, and the better sample, by pair and trial; not where a call failed."""
    column_of(own, "key")
    letters = own.assign(parsed=own["parsed"].astype(object).where(own["parsed"].notna(), None))
    sides = [
        letters[letters["condition"] == order]
        .set_index(["item_id", "epoch"])[["parsed", "key"]]
        .rename(columns={"parsed": order})
        for order in CONDITIONS
    ]
    return sides[0].join(sides[1][[REVERSE]], how="inner")


def positions(frame: pd.DataFrame) -> pd.DataFrame:
    """Return how often the sample in the first place was chosen, of the readable judgements, by model and order."""
    valid = frame[frame["valid"].astype(bool)]
    grouped = valid.assign(first=valid["parsed"] == "A").groupby(["model", "condition"], sort=False)["first"]
    return pd.DataFrame({"n": grouped.size(), "first_place": grouped.mean()})


def by_pair(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the share of right judgements by pair and order, over models and trials."""
    answered = with_reply(frame)
    table = answered.pivot_table(index="item_id", columns="condition", values="score", aggfunc="mean", sort=False)
    return table.assign(n=answered.groupby("item_id", sort=False).size()).rename_axis(columns=None)


def response_matrix(records: Records, orders: str = "items", repeats: str = "majority", invalid: str = "wrong") -> ResponseMatrix:
    """Return the judgements as a matrix of right and wrong, the trials as runs.

    Parameters
    ----------
    records : Records
    orders : {"items", "respondents", "forward", "reverse"}
        Each pair in each order an item, and each model a respondent: what :func:`psychoedu.calibrate` should see, since a model
        is then one row. "respondents": each model in each order a respondent, as :meth:`psychoedu.runners.Records.to_matrix` has
        it. Else one order alone.
    repeats, invalid
        As for :meth:`psychoedu.runners.Records.to_matrix`.
    """
    check_choice(orders, ("items", "respondents", FORWARD, REVERSE), "orders")
    frame = frame_of(records, NAME)
    if orders == "respondents":
        return records.to_matrix(repeats, invalid)
    if orders == "items":
        frame = frame.assign(item_id=frame["item_id"] + " " + frame["condition"], order=frame["condition"], condition="")
    else:
        frame = frame[frame["condition"] == orders].assign(condition="")
    return Records(frame).to_matrix(repeats, invalid)


def design(records: Records, invalid: str = "wrong") -> pd.DataFrame:
    """Return the long table for :func:`psychoedu.contrast` and :func:`psychoedu.compare_models`: a task is a pair.

    Parameters
    ----------
    records : Records
    invalid : {"wrong", "missing"}

    Returns
    -------
    DataFrame
        As of :meth:`psychoedu.runners.Records.rewards`; ``order`` is the order, ``consistent`` 1 where the same sample was chosen
        in both orders of the trial, 0 where not, missing where a call failed.
    """
    frame = frame_of(records, NAME)
    rewards = records.rewards(invalid)
    keys = ["item_id", "epoch", "model"]
    chosen = column_of(frame, "chosen").astype(object)
    known = frame.assign(chosen=chosen)[frame["score"].notna()].set_index(keys)
    sides = [known.loc[known["condition"] == order, "chosen"].rename(order) for order in CONDITIONS]
    both = pd.concat(sides, axis=1, join="inner")
    same = (both[FORWARD] == both[REVERSE]) & both[FORWARD].notna()
    consistent = same.astype(np.float64)
    places = pd.MultiIndex.from_frame(frame[keys])
    return rewards.assign(order=frame["condition"], consistent=consistent.reindex(places).to_numpy())
