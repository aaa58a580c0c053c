"""Small open data sets that come with the package; ``data/README.md`` tells where each is from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path

import pandas as pd

from psychoedu.exceptions import FileFormatError
from psychoedu.responses import ResponseMatrix

_DESCRIPTIONS = {
    "lsat7": ("real", "Law School Admission Test, section 7 (Bock & Lieberman, 1970)", 1000, 5),
    "cse_like": ("simulated", "two test forms with 13 common items, and 24 rows that stand for language models", 2074, 61),
    "teacharena_stages": ("published", "scores of 17 models in three stages (TeachArena, table 6)", None, None),
    "teacharena_strata": ("published", "mean of each learner profile and workflow family (TeachArena, table 11)", None, None),
    "csebench_levels": ("published", "CSE level of 12 models under two prompts (CSEBench, table 1)", None, None),
    "csebench_fit": ("published", "relative fit of five diagnosis models (CSEBench, table 2)", None, None),
    "csebench_mastery": ("published", "ability and mastery of 12 models under two prompts (CSEBench, table 3)", None, None),
    "aligned_neuromyths": ("published", "neuromyth scores of 31 models (AlignED)", None, None),
    "aligned_scenarios": ("published", "diagnostic reasoning scores of 30 models (AlignED)", None, None),
    "aligned_pedagogy": ("published", "teacher certification scores of 23 models (AlignED)", None, None),
    "aligned_comparative": ("published", "comparative judgements of student work by 12 models (AlignED)", None, None),
    "aligned_grading": ("published", "standards-based grading of student work by 7 models (AlignED)", None, None),
}
_ATTRIBUTES = ["phonology", "cohesion", "vocabulary", "syntax"]


def available() -> pd.DataFrame:
    """List the data sets.

    Returns
    -------
    DataFrame
        By name: source ("real", "simulated", or "published" for a table of figures without the data behind them), description,
        n_respondents, n_items (blank for tables of figures). ``load_<name>()`` reads one.

    Examples
    --------
    >>> available()["source"].head(4).to_dict()
    {'lsat7': 'real', 'cse_like': 'simulated', 'teacharena_stages': 'published', 'teacharena_strata': 'published'}
    """
    columns = ["source", "description", "n_respondents", "n_items"]
    frame = pd.DataFrame.from_dict(_DESCRIPTIONS, orient="index", columns=columns).rename_axis("dataset")
    return frame.astype({"n_respondents": "Int64", "n_items": "Int64"})


def load_lsat7() -> ResponseMatrix:
    """Read the answers of 1,000 people to five items of LSAT section 7.

    Returns
    -------
    ResponseMatrix
        1,000 respondents, labelled 1 to 1000 and sorted by answer pattern, x items ``Item.1`` to ``Item.5``.

    References
    ----------
    Bock, R. D., & Lieberman, M. (1970). Fitting a response model for n dichotomously scored items. *Psychometrika, 35*, 179-197.

    Examples
    --------
    >>> load_lsat7().to_frame().mean().tolist()
    [0.828, 0.658, 0.772, 0.606, 0.843]
    """
    patterns = _read("lsat7.csv")
    frequency = patterns.pop("frequency")
    rows = patterns.loc[patterns.index.repeat(frequency)]
    return ResponseMatrix.from_wide(rows.set_axis(pd.RangeIndex(1, len(rows) + 1), axis=0))


def load_cse_like() -> ResponseMatrix:
    """Read the simulated design of two test forms with common items, and rows that stand for language models.

    Returns
    -------
    ResponseMatrix
        2,074 respondents x 61 items. ``.respondents`` has ``group`` (junior 1,102, college 948, model 24); ``.items`` has
        ``form`` (anchor 13, junior 26, college 22) and ``subskill``, the attributes that the item requires, joined by "+".

    Notes
    -----
    Simulated: nobody answered these items. Junior learners have the anchor and junior items, college learners the anchor and
    college items, models all.

    Examples
    --------
    >>> responses = load_cse_like()
    >>> responses.respondents["group"].value_counts().to_dict()
    {'junior': 1102, 'college': 948, 'model': 24}
    """
    q_table = _read("cse_like_q.csv").set_index("item")
    required = q_table[_ATTRIBUTES]
    subskill = ["+".join(name for name, needed in zip(_ATTRIBUTES, row, strict=True) if needed) for row in required.to_numpy()]
    items = pd.DataFrame({"form": q_table["form"], "subskill": subskill}, index=q_table.index)
    return ResponseMatrix.from_wide(
        _read("cse_like.csv"), respondent="respondent", respondent_columns=["group"], item_table=items
    )


def load_cse_like_q() -> pd.DataFrame:
    """Read the Q-matrix of the simulated design.

    Returns
    -------
    DataFrame
        61 items x 4 attributes (phonology, cohesion, vocabulary, syntax), 1 where the item requires the attribute.

    Examples
    --------
    >>> load_cse_like_q().sum(axis=1).value_counts().to_dict()
    {1: 48, 3: 9, 2: 4}
    """
    return _read("cse_like_q.csv").set_index("item")[_ATTRIBUTES]


def load_teacharena_stages() -> pd.DataFrame:
    """Read the published scores of 17 models in the three stages of TeachArena, as printed to three decimals.

    Returns
    -------
    DataFrame by model
        ``stage_1`` (pedagogical judgment, 117 tasks), ``stage_2`` (situated tutoring, 100), ``stage_3`` (workflows in a learning
        management system, 137), ``overall`` (the mean of the three, as printed). Rows as in the paper, best first.

    Notes
    -----
    The paper prints no rewards by task, so that nothing about sampling error follows from this table. Every figure is rounded: a
    mean of printed scores may differ from the printed mean by up to 0.001, and models that tie here need not tie before rounding.

    References
    ----------
    Chen, Z., et al. *TeachArena: Are language agents ready for realistic teaching work?*, table 6.

    Examples
    --------
    >>> load_teacharena_stages().loc["GPT-4.1"].to_dict()
    {'stage_1': 0.799, 'stage_2': 0.732, 'stage_3': 0.447, 'overall': 0.659}
    """
    return _read("teacharena_table6.csv").set_index("model")


def load_teacharena_strata() -> pd.DataFrame:
    """Read the published mean of each learner profile (stage 2) and workflow family (stage 3) of TeachArena over 17 models.

    Returns
    -------
    DataFrame by kind ("profile", "family") and stratum
        ``n_tasks`` and ``mean``, printed to three decimals.

    References
    ----------
    Chen, Z., et al. *TeachArena: Are language agents ready for realistic teaching work?*, table 11.

    Examples
    --------
    >>> load_teacharena_strata().groupby("kind", sort=False)["n_tasks"].sum().to_dict()
    {'profile': 100, 'family': 137}
    """
    return _read("teacharena_table11.csv").set_index(["kind", "stratum"])


def load_csebench_levels() -> pd.DataFrame:
    """Read the published level of 12 models on China's Standards of English, under two prompts.

    Returns
    -------
    DataFrame by model
        ``zero_shot``, ``few_shot``: 3 to 6. Rows as in the article.

    References
    ----------
    CSEBench preprint, doi:10.21203/rs.3.rs-8820245/v1, table 1.

    Examples
    --------
    >>> load_csebench_levels().loc["Meta-Llama-3-8B-Instruct"].to_dict()
    {'zero_shot': 3, 'few_shot': 4}
    """
    return _read("csebench_table1.csv").set_index("model")


def load_csebench_fit() -> pd.DataFrame:
    """Read the published relative fit of five cognitive diagnosis models with a higher-order structure.

    Returns
    -------
    DataFrame by model
        ``aic``, ``bic``, ``minus_2ll`` as printed; ``n_parameters_implied``, (aic - minus_2ll) / 2, which the article does not
        print.

    Notes
    -----
    ln N = (bic - minus_2ll) / n_parameters gives N = 2,074 for all five: the 2,050 learners and 24 rows more, as many as there
    are models times prompts.

    References
    ----------
    CSEBench preprint, doi:10.21203/rs.3.rs-8820245/v1, table 2.

    Examples
    --------
    >>> load_csebench_fit()["n_parameters_implied"].tolist()
    [130, 130, 152, 152, 192]
    """
    return _read("csebench_table2.csv").set_index("model")


def load_csebench_mastery() -> pd.DataFrame:
    """Read the published ability and mastery probabilities of 12 models, under two prompts.

    Returns
    -------
    DataFrame by model and condition ("zero_shot", "few_shot")
        ``ability``; ``cohesion``, ``phonology``, ``vocabulary``, ``syntax``, named as the table heads them.

    References
    ----------
    CSEBench preprint, doi:10.21203/rs.3.rs-8820245/v1, table 3.

    Examples
    --------
    >>> load_csebench_mastery().loc[("Meta-Llama-3-8B-Instruct", "few_shot"), "cohesion"].item()
    0.6875
    """
    return _read("csebench_table3.csv").set_index(["model", "condition"])


def load_aligned_neuromyths() -> pd.DataFrame:
    """Read the published neuromyth scores of 31 models.

    Returns
    -------
    DataFrame by model
        ``provider``, ``score_pct`` (one decimal), ``correct``, ``total_items``: 32 for 6 models only, 28 for most.

    References
    ----------
    AlignED research report, github.com/trgallagher-research/AlignED-research-report (90c8974), data/neuromyths_scores.json.

    Examples
    --------
    >>> load_aligned_neuromyths()["total_items"].value_counts().to_dict()
    {28: 22, 32: 6, 29: 2, 23: 1}
    """
    return _read("aligned_neuromyths_scores.csv").set_index("model")


def load_aligned_scenarios() -> pd.DataFrame:
    """Read the published diagnostic reasoning scores of 30 models: 12 scenarios, judged from 0 to 3.

    Returns
    -------
    DataFrame by model
        ``provider``, ``score_pct`` (one decimal), ``raw_score``, ``max_score`` (36).

    References
    ----------
    AlignED research report, github.com/trgallagher-research/AlignED-research-report (90c8974), data/scenarios_scores.json.

    Examples
    --------
    >>> load_aligned_scenarios()["max_score"].unique().tolist()
    [36]
    """
    return _read("aligned_scenarios_scores.csv").set_index("model")


def load_aligned_pedagogy() -> pd.DataFrame:
    """Read the published teacher certification scores of 23 models.

    Returns
    -------
    DataFrame by model
        ``provider``, ``pedagogy_total_pct`` (1,143 items), ``pedagogy_cdpk_pct`` (920), ``pedagogy_send_pct`` (223).

    References
    ----------
    AlignED research report, github.com/trgallagher-research/AlignED-research-report (90c8974), data/pedagogy_scores.json.

    Examples
    --------
    >>> load_aligned_pedagogy().loc["Gemini 2.5 Pro", "pedagogy_cdpk_pct"].item()
    89.3
    """
    return _read("aligned_pedagogy_scores.csv").set_index("model")


def load_aligned_comparative() -> pd.DataFrame:
    """Read the published comparative judgements of student work by 12 models: 79 pairs, 3 trials, both orders.

    Returns
    -------
    DataFrame by model
        ``provider``, ``accuracy`` and ``reliability`` (position-swap consistency), in percent of 237.

    References
    ----------
    AlignED research report, github.com/trgallagher-research/AlignED-research-report (90c8974), data/acara_scores.json.

    Examples
    --------
    >>> load_aligned_comparative().loc["o3", ["accuracy", "reliability"]].to_list() == [84.8, 92.0]
    True
    """
    return _read("aligned_acara_scores.csv").set_index("model")


def load_aligned_grading() -> pd.DataFrame:
    """Read the published standards-based grading of student work by 7 models: 204 works, 68 of each level.

    Returns
    -------
    DataFrame by model
        ``provider``, ``overall_accuracy``, ``above_sat_accuracy``, ``sat_accuracy``, ``below_sat_accuracy`` in percent,
        ``kappa``, ``central_tendency_bias``, which is printed without its formula.

    References
    ----------
    AlignED research report, github.com/trgallagher-research/AlignED-research-report (90c8974),
    data/acara_standards_grading_scores.json.

    Examples
    --------
    >>> load_aligned_grading()["kappa"].max().item()
    0.348
    """
    return _read("aligned_acara_standards_grading_scores.csv").set_index("model")


def load_cse_like_panel() -> pd.DataFrame:
    """Read a bookmark panel in the booklet of the simulated design: two panellists, two rounds, four levels.

    Returns
    -------
    DataFrame
        ``panellist``, ``round``, ``level`` (CSE-3 to CSE-6), ``page``: the last page mastered, in the booklet at RP 0.67 of the
        items as calibrated on the learners in two groups.

    Notes
    -----
    Simulated: no panel met, and the pages say nothing about China's Standards of English.

    Examples
    --------
    >>> load_cse_like_panel().query("round == 2 and level == 'CSE-4'")["page"].tolist()
    [18, 19]
    """
    return _read("cse_like_panel.csv")


def load_cse_like_levels() -> pd.Series:
    """Read the level that each item of the simulated design is annotated with.

    Returns
    -------
    Series of str, by item
        "CSE-2" to "CSE-7".

    Notes
    -----
    Simulated: drawn around the items' difficulties.

    Examples
    --------
    >>> load_cse_like_levels().value_counts().sort_index().to_dict()
    {'CSE-2': 5, 'CSE-3': 10, 'CSE-4': 16, 'CSE-5': 15, 'CSE-6': 9, 'CSE-7': 6}
    """
    return _read("cse_like_levels.csv").set_index("item")["cse_level"]


@contextmanager
def located(name: str) -> Iterator[Path]:
    """Give the path of a data file: in the installed package, or beside it in a checkout."""
    packaged = files("psychoedu") / "data" / name
    beside = Path(__file__).resolve().parent.parent / "data" / name
    if packaged.is_file():
        with as_file(packaged) as path:
            yield path
    elif beside.is_file():
        yield beside
    else:
        raise FileFormatError(f"The data file {name} is missing from this installation. Install psychoedu again with pip.")


def _read(name: str) -> pd.DataFrame:
    with located(name) as path:
        return pd.read_csv(path)
