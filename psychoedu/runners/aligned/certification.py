"""AlignED's teacher certification knowledge: multiple-choice items, CDPK and SEND each on their own."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from psychoedu.runners.aligned.evaluation import Evaluation, frame_of, iteration_scores, sensitivity, with_reply
from psychoedu.runners.aligned.exemplars import ZERO_SHOT, ExemplarConditions, exemplar_messages, exemplar_variance
from psychoedu.runners.aligned.items import items_of
from psychoedu.runners.aligned.prompts import certification_prompt
from psychoedu.runners.banks.questions import Question, QuestionBank, load_questions
from psychoedu.runners.benchmarks import Benchmark, Messages
from psychoedu.runners.records import Records
from psychoedu.runners.rules.letters import rules_differ

NAME = "aligned-certification"
SUBSET_COLUMNS = ("subset", "config", "component")
"""Columns of a bank, the first that it has, that tell CDPK from SEND."""

PARTS = ["model", "condition", "subset"]
CONDITIONS = ExemplarConditions({ZERO_SHOT: "the item alone, as AlignED asks it"})


def load_items(items: Any) -> QuestionBank:
    """Return a bank of questions: as it is, from a file, or the sample that comes with the package.

    Raises
    ------
    ItemBankError
        The file has malformed items.
    """
    bank: QuestionBank = items_of(items, QuestionBank, "certification", load_questions)
    return bank


def subset_of(item: Question, source: str = "", column: str | None = None) -> str:
    """Return the component that an item belongs to.

    Parameters
    ----------
    item : Question
    source : str
        Name of the file, which tells where no column does: cdpk_main, cdpk_send.
    column : str, optional
        Of the bank; default: the first of ``subset``, ``config``, ``component`` that the item has.

    Returns
    -------
    str
        "CDPK" or "SEND" where the value says so, as in "cdpk_send"; else the value; "all" where nothing tells.
    """
    names = SUBSET_COLUMNS if column is None else (column,)
    value = next((str(item.metadata[name]) for name in names if item.metadata.get(name) not in (None, "")), "")
    for text in (value, "" if value else Path(source).name):
        if "send" in text.lower():
            return "SEND"
        if "cdpk" in text.lower():
            return "CDPK"
    return value or "all"


@lru_cache(maxsize=8)
def exemplar_bank(path: str) -> QuestionBank:
    """Return the questions that serve as exemplars."""
    return load_questions(path)


def messages(item: Question, condition: str = ZERO_SHOT, exemplars: str | None = None, **_: Any) -> Messages:
    """Return what a model is sent about an item.

    Parameters
    ----------
    item : Question
    condition : str
        "zero_shot", or "exemplars_<number>_<type>_<order>".
    exemplars : str, optional
        File of the exemplars.
    """
    bank = None if exemplars is None else exemplar_bank(exemplars)
    return exemplar_messages(item, condition, bank, certification_prompt)


CERTIFICATION = Benchmark(
    name=NAME,
    title="AlignED teacher certification knowledge: CDPK and SEND, multiple choice",
    conditions=CONDITIONS,
    default_conditions=(ZERO_SHOT,),
    load_items=load_items,
    task="psychoedu.runners.tasks.aligned_certification:aligned_certification",
    messages=messages,
    protocol={"rule": "literal", "temperature": 0.0, "keys": None, "subset_column": None, "exemplars": None},
    temperature=None,
    report="psychoedu.runners.aligned.certification:analyse",
)


def read_key(value: Any) -> str | None:
    """Return the letter that a key asks for."""
    text = str(value).strip().upper()
    return text if len(text) == 1 and "A" <= text <= "H" else None


def analyse(records: Records, keys: Any = None) -> Evaluation:
    """Report teacher certification knowledge, each component on its own.

    Parameters
    ----------
    records : Records
        Of a run of this evaluation.
    keys : path, mapping of item to letter, or mapping of name to one of these, optional
        Alternative keys, under which the answers are scored as well.

    Returns
    -------
    Evaluation
        ``scores``: percentage by model and component; ``format``: replies without a letter, and the share of replies from which
        the rules "literal" and "token" read different letters; ``keys``: scores under the alternatives; ``exemplars``: shares of
        the variance of scores, where several conditions were run; ``retest`` with several iterations.
    """
    frame = frame_of(records, NAME)
    frame = frame.assign(subset=frame["subset"].fillna("all"))
    tables = {"scores": iteration_scores(frame, PARTS), "format": formats(with_reply(frame))}
    if keys is not None:
        tables["keys"] = sensitivity(frame, keys, read_key, PARTS)
    if frame["condition"].nunique() > 1:
        tables["exemplars"] = exemplar_variance(records)
    if (frame["epoch"] > 1).any():
        tables["retest"] = records.test_retest()
    return Evaluation(NAME, CERTIFICATION.title, tables)


def formats(answered: pd.DataFrame) -> pd.DataFrame:
    """Return how replies kept to the form, by model and condition: shares of all replies.

    Parameters
    ----------
    answered : DataFrame
        Records with a reply.
    """
    rows = {}
    for label, own in answered.groupby(["model", "condition"], sort=False):
        texts = [text if isinstance(text, str) else None for text in own["raw_output"]]
        rows[label] = {
            "n": len(own),
            "valid_rate": float(own["valid"].astype(np.float64).mean()),
            "rules_differ": rules_differ(texts, "ABCD"),
        }
    index = pd.MultiIndex.from_tuples(list(rows), names=["model", "condition"])
    return pd.DataFrame(list(rows.values()), index=index)
