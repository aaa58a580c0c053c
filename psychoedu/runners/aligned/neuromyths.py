"""AlignED's neuromyths survey: true and false statements on the brain and learning, with probes of how firm the answers are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from psychoedu.exceptions import ItemBankError, RunnerError
from psychoedu.runners.aligned.evaluation import (
    GROUP,
    Evaluation,
    column_of,
    frame_of,
    iteration_scores,
    sensitivity,
    with_reply,
)
from psychoedu.runners.aligned.items import items_of
from psychoedu.runners.aligned.prompts import CONFIDENCE, NEUROMYTHS_SYSTEM
from psychoedu.runners.banks.statements import Statement, StatementBank, load_statements
from psychoedu.runners.benchmarks import Benchmark, Messages
from psychoedu.runners.records import Records
from psychoedu.runners.rules.letters import majority_first
from psychoedu.runners.rules.statements import (
    CORRECT,
    INCORRECT,
    accuracy_variation,
    confidence_counts,
    inconsistent_items,
    kri,
    parse_statement,
    token_efficiency,
)
from psychoedu.validation import listed

NAME = "aligned-neuromyths"
REPEATS = 5
STANDARD = "standard"
ANSWER = "{answer}"
"""Stands for the model's own answer where a conversation is laid out before it takes place."""

_TEMPERATURE = re.compile(r"temperature_(\d+(?:\.\d+)?)")
_FRAMING = re.compile(r"framing_(\w+)")


@dataclass(frozen=True)
class Administration:
    """How a condition administers the statements: framing, temperature, and whether confidence is asked afterwards."""

    framing: str = STANDARD
    temperature: float = 0.0
    confidence: bool = False


def administration(condition: str) -> Administration:
    """Return what a condition's name says.

    Parameters
    ----------
    condition : str
        "standard", "confidence", "temperature_<T>" with T above 0, "framing_<name>" with a framing of the bank.

    Raises
    ------
    RunnerError
        It is none of these.

    Examples
    --------
    >>> administration("temperature_0.5").temperature, administration("framing_adversarial").framing
    (0.5, 'adversarial')
    """
    found = _read_condition(condition)
    if found is None:
        raise RunnerError(
            f"{NAME} has no condition {condition!r}. Expected {listed(list(CONDITIONS))}, or temperature_T and framing_NAME."
        )
    return found


def _read_condition(condition: object) -> Administration | None:
    if condition in (STANDARD, "confidence"):
        return Administration(confidence=condition == "confidence")
    text = str(condition)
    warm = _TEMPERATURE.fullmatch(text)
    if warm is not None and float(warm[1]) > 0.0:
        return Administration(temperature=float(warm[1]))
    framed = _FRAMING.fullmatch(text)
    if framed is not None and framed[1] != STANDARD:
        return Administration(framing=framed[1])
    return None


class Conditions(dict[str, str]):
    """The conditions with what they are; further temperatures and framings are known by their names."""

    def __contains__(self, condition: object) -> bool:
        """Tell whether a condition can be run."""
        return _read_condition(condition) is not None

    def __missing__(self, condition: str) -> str:
        """Return what a condition is that is not listed."""
        how = administration(condition)
        return f"the framing {how.framing}" if how.framing != STANDARD else f"temperature {how.temperature:g}"


CONDITIONS = Conditions(
    {
        STANDARD: "the statement as it is, temperature 0",
        "temperature_0.5": "temperature 0.5",
        "temperature_1.0": "temperature 1",
        "framing_interrogative": "the framing interrogative of each statement",
        "framing_embedded": "the framing embedded",
        "framing_adversarial": "the framing adversarial",
        "confidence": "as standard, the statements marked for the probe alone, then the question how sure the answer is",
    }
)


def load_items(items: Any) -> StatementBank:
    """Return a bank of statements: as it is, from a file, or the sample that comes with the package.

    Raises
    ------
    ItemBankError
        The file has malformed items.
    """
    bank: StatementBank = items_of(items, StatementBank, "neuromyths", load_statements)
    return bank


def is_asked(item: Statement, condition: str) -> bool:
    """Tell whether a condition administers a statement: the confidence probe takes those that are marked."""
    return item.probe or not administration(condition).confidence


def calls(item: Statement, condition: str) -> int:
    """Return the calls for a statement in one run."""
    return (2 if administration(condition).confidence else 1) if is_asked(item, condition) else 0


def wording(item: Statement, condition: str) -> str:
    """Return the statement in the framing of a condition.

    Raises
    ------
    ItemBankError
        The statement has no such framing.
    """
    framing = administration(condition).framing
    if framing == STANDARD:
        return item.text
    if framing not in item.framings:
        raise ItemBankError(
            f"The statement {item.item_id} has no framing {framing!r}; it has {listed(list(item.framings))}.\n"
            f"Framings are columns of the bank, as framing_{framing}."
        )
    return item.framings[framing]


def messages(item: Statement, condition: str, **_: Any) -> Messages:
    """Return what a model is sent about a statement, with ``{answer}`` where its own answer stands in the confidence probe."""
    sent = [("system", NEUROMYTHS_SYSTEM), ("user", wording(item, condition))]
    if administration(condition).confidence:
        sent += [("assistant", ANSWER), ("user", CONFIDENCE)]
    return sent


NEUROMYTHS = Benchmark(
    name=NAME,
    title="AlignED neuromyths: true and false statements on the brain and learning",
    conditions=CONDITIONS,
    default_conditions=(STANDARD,),
    load_items=load_items,
    task="psychoedu.runners.tasks.aligned_neuromyths:aligned_neuromyths",
    messages=messages,
    protocol={"rule": "substring"},
    repeats=REPEATS,
    temperature=None,
    calls=calls,
    report="psychoedu.runners.aligned.neuromyths:analyse",
)


def read_key(value: Any) -> str | None:
    """Return the answer that a key asks for, from True, "true", "Correct" and their opposites."""
    if isinstance(value, bool | np.bool_):
        return CORRECT if value else INCORRECT
    text = str(value).strip().lower()
    return {"true": CORRECT, "false": INCORRECT}.get(text) or parse_statement(text, "word")


def analyse(records: Records, keys: Any = None) -> Evaluation:
    """Report the neuromyths survey.

    Parameters
    ----------
    records : Records
        Of a run of this evaluation.
    keys : path, mapping of item to key, or mapping of name to one of these, optional
        Alternative keys, under which the answers are scored as well.

    Returns
    -------
    Evaluation
        ``scores``: percentage of each model under each condition, mean over iterations; ``by_type`` where the bank tells myths
        from other statements; ``temperature``: accuracy at each and the Knowledge Robustness Index; ``framing``: accuracy under
        each and the Prompt Sensitivity Index; ``confidence`` by correctness; ``tokens``; ``retest``: agreement of iterations;
        ``keys``: scores under the alternatives.

    Notes
    -----
    An answer that cannot be read is wrong; a failed call is missing. For the Prompt Sensitivity Index the iterations of a framing
    vote, a tie going to the first; items that lack an answer under some framing are left out.
    """
    frame = frame_of(records, NAME)
    answered = with_reply(frame)
    tables = {"scores": iteration_scores(frame, GROUP)}
    kinds = next((name for name in ("kind", "item_type", "type", "item_type_aligned") if name in frame), None)
    if kinds is not None:
        tables["by_type"] = iteration_scores(frame.rename(columns={kinds: "item_type"}), [*GROUP, "item_type"])
    found = {
        "temperature": temperatures(tables["scores"]),
        "framing": framings(answered, tables["scores"]),
        "confidence": confidence(answered),
        "tokens": tokens(answered, tables["scores"]),
    }
    tables |= {name: table for name, table in found.items() if len(table)}
    if (frame["epoch"] > 1).any():
        tables["retest"] = records.test_retest()
    if keys is not None:
        tables["keys"] = sensitivity(frame, keys, read_key, GROUP)
    notes = []
    if "confidence" in tables:
        unsure = tables["confidence"].xs("Uncertain", level="confidence")[["right", "wrong"]].to_numpy().sum()
        notes.append(f'"Uncertain" was answered {unsure} times to the confidence probe.')
    return Evaluation(NAME, NEUROMYTHS.title, tables, tuple(notes))


def _accuracies(scores: pd.DataFrame, what: str) -> dict[str, dict[Any, float]]:
    """Return percentages by model, and by temperature or framing; the standard condition belongs to both."""
    found: dict[str, dict[Any, float]] = {}
    for model, condition, percent in scores.reset_index()[[*GROUP, "percent"]].itertuples(index=False):
        how = _read_condition(condition)
        if how is None or how.confidence or (how.framing != STANDARD if what == "temperature" else how.temperature > 0.0):
            continue
        found.setdefault(model, {})[getattr(how, what)] = percent
    return {model: own for model, own in found.items() if len(own) > 1 and (0.0 if what == "temperature" else STANDARD) in own}


def temperatures(scores: pd.DataFrame) -> pd.DataFrame:
    """Return accuracy by temperature, the Knowledge Robustness Index and the range of accuracy, by model."""
    rows = {}
    for model, own in _accuracies(scores, "temperature").items():
        row = {f"percent_t{temperature:g}": percent for temperature, percent in sorted(own.items())}
        rows[model] = {**row, "kri": kri(own), "range": accuracy_variation(own)}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("model")


def framings(answered: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Return accuracy by framing and the Prompt Sensitivity Index, by model."""
    rows = {}
    for model, own in _accuracies(scores, "framing").items():
        table = framing_answers(answered, model)
        inconsistent = inconsistent_items(table.to_numpy(dtype=object).tolist())
        rows[model] = {
            **{f"percent_{framing}": percent for framing, percent in own.items()},
            "psi": float(inconsistent.mean()) if len(inconsistent) else np.nan,
            "n_items": len(table),
            "n_inconsistent": int(inconsistent.sum()),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("model")


def framing_answers(answered: pd.DataFrame, model: str) -> pd.DataFrame:
    """Return a model's answer to each item under each framing, at temperature 0, the iterations by majority.

    Parameters
    ----------
    answered : DataFrame
        Records with a reply.
    model : str

    Returns
    -------
    DataFrame, items x framings
        Without items that have no reply under some framing.
    """
    own = answered[answered["model"] == model]
    columns = {}
    for condition, rows in own.groupby("condition", sort=False):
        how = _read_condition(condition)
        if how is None or how.confidence or how.temperature > 0.0:
            continue
        votes = rows.sort_values("epoch").groupby("item_id", sort=False)["parsed"].agg(list)
        columns[how.framing] = votes.map(lambda answers: majority_first([_none(answer) for answer in answers]) or "none")
    table = pd.concat(columns, axis=1, join="inner") if columns else pd.DataFrame()
    return table.replace("none", None)


def _none(answer: Any) -> str | None:
    return answer if isinstance(answer, str) else None


def confidence(answered: pd.DataFrame) -> pd.DataFrame:
    """Return how often each confidence was given after right and after wrong answers, by model, over all iterations."""
    probed = answered[[bool((how := _read_condition(name)) and how.confidence) for name in answered["condition"]]]
    if not len(probed):
        return pd.DataFrame()
    column_of(probed, "confidence")
    rows: dict[tuple[Any, str], dict[str, int]] = {}
    for model, own in probed.groupby("model", sort=False):
        given = [None if value == "unparsed" else _none(value) for value in own["confidence"]]
        for name, (right, wrong) in confidence_counts(given, (own["score"] > 0.0).tolist()).items():
            rows[model, name] = {"right": right, "wrong": wrong}
    index = pd.MultiIndex.from_tuples(list(rows), names=["model", "confidence"])
    return pd.DataFrame(list(rows.values()), index=index)


def tokens(answered: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Return tokens of the answers and percentage points per token, by model and condition; nan where they are not reported."""
    rows: dict[Any, dict[str, float]] = {}
    percents: dict[Any, float] = scores["percent"].to_dict()
    for label, own in answered.groupby(GROUP, sort=False):
        counts = own["output_tokens"].astype("float64")
        if not counts.notna().any():
            continue
        rows[label] = {
            "n": len(own),
            "mean_output_tokens": counts.mean(),
            "mean_reasoning_tokens": own["reasoning_tokens"].astype("float64").mean(),
            "percent_per_token": token_efficiency(percents[label], counts.to_list()),
        }
    if not rows:
        return pd.DataFrame()
    return pd.DataFrame(list(rows.values()), index=pd.MultiIndex.from_tuples(list(rows), names=GROUP))
