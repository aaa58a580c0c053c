"""The published tables of CSEBench against themselves, against our counting of parameters, and as our tables would print them."""

import json
import math
import re
from itertools import product

import numpy as np
import pandas as pd
import pytest

from psychoedu import datasets
from psychoedu.cdm.mastery_table import MasteryTable
from psychoedu.cdm.models import parameter_count

MODELS = {"HO-DINA": "DINA", "HO-DINO": "DINO", "HO-ACDM": "ACDM", "HO-RRUM": "RRUM", "HO-GDINA": "G-DINA"}
PARAMETERS = {"HO-DINA": 130, "HO-DINO": 130, "HO-ACDM": 152, "HO-RRUM": 152, "HO-GDINA": 192}
ATTRIBUTES = ("cohesion", "phonology", "vocabulary", "syntax")
STRUCTURAL = 8  # slope and intercept of four attributes
ROUNDING = 0.005


@pytest.fixture(scope="module")
def published(root):
    return json.loads((root / "tests" / "reference" / "csebench_published.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def table2(published):
    return pd.DataFrame(published["table2"]).set_index("model")


@pytest.fixture(scope="module")
def table3(published):
    return pd.DataFrame(published["table3"])


def test_parameters_from_aic_are_whole_numbers(table2):
    implied = (table2["aic"] - table2["minus_2ll"]) / 2
    np.testing.assert_allclose(implied, np.round(implied), atol=ROUNDING)
    assert np.round(implied).astype(int).to_dict() == PARAMETERS


def test_bic_was_made_with_2074_respondents(table2):
    """2,050 learners and 24 rows, as 12 models under two prompts would give."""
    names = list(PARAMETERS)
    log_n = {name: (table2.loc[name, "bic"] - table2.loc[name, "minus_2ll"]) / PARAMETERS[name] for name in names}
    low = max(math.exp(log_n[name] - 2 * ROUNDING / PARAMETERS[name]) for name in names)
    high = min(math.exp(log_n[name] + 2 * ROUNDING / PARAMETERS[name]) for name in names)
    assert [n for n in range(2000, 2200) if low <= n <= high] == [2074]
    assert low > 2073.8
    assert high < 2074.2


def test_item_sizes_that_give_these_counts():
    """Of 61 items, with 83 entries of 1 and 184 reduced patterns, three ways to have 1, 2, 3 or 4 attributes."""
    found = []
    for two, three, four in product(range(62), range(62), range(62)):
        one = 61 - two - three - four
        if one >= 0 and one + 2 * two + 3 * three + 4 * four == 83 and 2 * one + 4 * two + 8 * three + 16 * four == 184:
            found.append((one, two, three, four))
    assert sorted(found) == [(44, 14, 1, 2), (46, 9, 5, 1), (48, 4, 9, 0)]
    for sizes, (name, model) in product(found, MODELS.items()):
        ours = sum(count * parameter_count(model, size) for size, count in enumerate(sizes, start=1)) + STRUCTURAL
        assert ours == PARAMETERS[name], (name, sizes)
    simulated = datasets.load_cse_like_q().sum(axis=1).value_counts()
    assert tuple(int(simulated.get(size, 0)) for size in (1, 2, 3, 4)) in found


def test_best_by_aic_and_by_bic_differ(table2):
    assert table2["aic"].idxmin() == table2["minus_2ll"].idxmin() == "HO-GDINA"
    assert table2["bic"].idxmin() == "HO-RRUM"


def test_nested_models_fit_no_better(table2):
    assert (table2["minus_2ll"].drop("HO-GDINA") > table2.loc["HO-GDINA", "minus_2ll"]).all()


def test_text_about_mastery_agrees_with_the_table_but_for_one_cell(table3):
    mastered = table3.set_index(["model", "condition"])[list(ATTRIBUTES)] > 0.5
    assert len(table3) == 24
    qwen = mastered.loc["Qwen2.5-7B-Instruct"]
    assert (qwen.drop(columns="phonology").all(axis=None), qwen["phonology"].any()) == (True, False)
    for name in ("GPT-4o", "Claude4", "Deepseek-R1", "Gemini2.5-Pro", "Qwen2.5-Instruct-Cross-Attn-rag", "Qwen2.5-vl-Cross-Attn"):
        assert mastered.loc[name].all(axis=None), name
    # "remaining open-source baselines do not reach mastery on any attribute": true but for Llama-3, few-shot, cohesion
    rest = mastered.loc[["RWKV-v6-7b", "Meta-Llama-3-8B-Instruct", "Mistral-7B-Instruct-v0.3"]]
    cells = [(*row, name) for name in ATTRIBUTES for row, value in rest[name].items() if value]
    assert cells == [("Meta-Llama-3-8B-Instruct", "few_shot", "cohesion")]


def as_our_table(table3, n_items):
    """Put the published figures into our class; 0 and 1 stand for what rounds to them."""
    long = table3.melt(["model", "condition", "ability"], list(ATTRIBUTES), "attribute", "mastery")
    long["mastery"] = long["mastery"].clip(1e-7, 1 - 1e-7)
    long = long.assign(
        respondent=long["model"] + " " + long["condition"],
        mastered=long["mastery"] > 0.5,
        certainty=np.maximum(long["mastery"], 1 - long["mastery"]),
        accuracy=np.nan,
        n_items=n_items,
        n_alone=n_items - 5,
        n_with_others=5,
    )
    ability = table3.assign(respondent=table3["model"] + " " + table3["condition"], theta=table3["ability"], theta_se=0.5)
    models, conditions = tuple(dict.fromkeys(table3["model"])), ("zero_shot", "few_shot")
    return MasteryTable(long, ability, models, conditions, ATTRIBUTES, 0.5, False, float("nan"))


def test_published_zeros_and_ones_would_not_stand_bare(table3):
    markdown = as_our_table(table3, 17).to_markdown()
    rows = [line.split(" | ") for line in markdown.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == 12
    bare = table3[list(ATTRIBUTES)].isin([0, 1]).to_numpy().sum()
    assert markdown.count("12+5)") == bare > 0
    assert not re.search(r"\| \**[01]?(\.0+)?\** \|", markdown)
    assert markdown.count("**") == 2 * (table3[list(ATTRIBUTES)] > 0.5).to_numpy().sum()
    llama = next(row for row in rows if "Llama" in row[0])
    assert llama[1:5] == ["-0.7647 (0.500)", "0.1074 (0.500)", r"\<.0001 (\>.9999; 12+5)", "**.6875**"]
