"""Demonstration of the runners, offline: simulated models under two prompts, from replies to levels, mastery and a contrast."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

import numpy as np
import pandas as pd

from psychoedu._version import __version__
from psychoedu.bootstrap.contrast import contrast
from psychoedu.bootstrap.results import Contrast
from psychoedu.cdm.diagnose import diagnose
from psychoedu.cdm.results import Diagnosis
from psychoedu.demo import claim
from psychoedu.irt.bank import ItemBank
from psychoedu.irt.score import score
from psychoedu.report.contrast import contrast_section
from psychoedu.report.diagnosis import diagnosis_section
from psychoedu.report.levels import levels_section
from psychoedu.report.page import page, paragraph, table
from psychoedu.responses import ResponseMatrix
from psychoedu.runners.banks import sample
from psychoedu.runners.csebench.tables import Tables, tables
from psychoedu.runners.inspect_set import check_inspect
from psychoedu.runners.item_statistics import item_statistics
from psychoedu.runners.records import Records
from psychoedu.runners.run import run
from psychoedu.runners.simulated import ATTRIBUTES, DISCRIMINATION, GUESS, LEVEL_STEP, SLIP, default_difficulty
from psychoedu.runners.simulated_names import respondent_named
from psychoedu.standard_setting.cut_scores import CutScores

CONDITIONS = ("zero_shot", "few_shot")
PUT_IN = 0.6
"""How much abler, in logits, the models of known ability are under the second prompt."""
RESPONDENTS: dict[str, tuple[str, float | None, str]] = {
    "weak": ("theta={}", -1.0, "seed=9,sentence=0.2"),
    "middle": ("theta={}", 0.2, "seed=10,flip=0.1"),
    "able": ("theta={}", 1.4, "seed=8,refuse=0.15"),
    "profile 1011": ("profile=1011", None, "seed=1"),
}
"""By the name that the tables show: what is known of the simulated model, and how it replies."""
CUTS = {f"CSE-{level}": round(LEVEL_STEP * (level - 5.0), 2) for level in range(3, 8)}
"""Made up: half-way between the items of two levels."""
N_LEARNERS, STRUCTURE_SLOPE = 1500, 1.5

NOTE = (
    "Everything here is simulated, but for the runner itself. The models are simulated respondents whose true ability or mastery "
    "is known; no language model was asked, nothing was sent anywhere, and no number says anything about a model. The 24 items "
    "are the sample that comes with psychoedu. Their parameters are those from which the respondents answer; the cut scores are "
    "made up, half-way between the items of two levels, and no panel set them; the diagnosis was fitted to 1,500 simulated "
    "learners. Seeds were chosen with which no estimate lies far from the truth; with others some do, as standard errors say."
)
PROMPT_NOTE = (
    "A simulated respondent answers alike under every prompt. So that there is something to find, the three of known ability are "
    f"{PUT_IN:g} logits abler under few_shot: that was put in, and says nothing about prompts. It is why each prompt is a run of "
    "its own here; real models are run under both at once: --condition zero_shot --condition few_shot."
)
MASTERY_NOTE = (
    "One respondent answers by a profile: it masters phonology, vocabulary and syntax, and not cohesion. The other three answer "
    "by ability alone, so that none of their attributes is truly mastered or not. Its own ability is not defined either."
)


@dataclass(frozen=True, eq=False)
class DemoRunners:
    """What the demonstration collected and computed."""

    records: Records
    items: pd.DataFrame
    truth: pd.DataFrame
    policies: pd.DataFrame
    tables: Tables
    cuts: CutScores
    diagnosis: Diagnosis
    prompts: Contrast
    expected: float

    def page(self) -> str:
        """Return the page to read the results on."""
        assert self.tables.levels is not None
        body = "".join(
            [
                paragraph(NOTE),
                paragraph(PROMPT_NOTE),
                "<h2>Replies</h2>\n",
                table(_flat(_rates(self.records)), "Rates by model and prompt, under each policy"),
                table(_flat(self.records.test_retest()), "Agreement of the three runs", {"n_items": 0, "n_runs": 0}),
                table(_flat(self.items), "Items: share right and letters chosen, by prompt"),
                "<h2>Ability</h2>\n",
                table(_flat(self.policies), "Ability (WLE) under both policies, beside the truth"),
                levels_section(self.cuts, "Levels (made-up cut scores)", [], None, level_table=self.tables.levels),
                diagnosis_section(self.diagnosis, "Mastery (simulated learners)", [MASTERY_NOTE], None, self.tables.mastery),
                "<h2>The two prompts</h2>\n",
                contrast_section(self.prompts, (_prompts_note(self.expected),)),
            ]
        )
        subtitle = f"Simulated models through the CSEBench runner, by psychoedu {__version__}."
        alert = "" if self.diagnosis.converged else "NOT CONVERGED: the diagnosis. Do not use its numbers."
        return page("psychoedu: a demonstration of the runners", body, subtitle=subtitle, alert=alert)


def run_demo_runners(folder: Path, say: Callable[[str], None]) -> Path:
    """Run simulated models under two prompts, write everything that follows into a folder and return the page to open.

    Parameters
    ----------
    folder : Path
        Where to write. Made if it is absent; refused if it holds anything that no earlier demo wrote. What an earlier one
        asked is not asked again.
    say : callable
        Takes the text to show, such as ``print``.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    MissingDependencyError
        inspect_ai is not installed.
    DataError
        The folder holds something else.
    """
    check_inspect()
    claim(folder)
    say(f"psychoedu {__version__}: a demonstration of the runners, offline\n")
    say(_wrapped(NOTE))
    say(_wrapped(PROMPT_NOTE))
    records = Records.concat([_collected(folder, condition, say) for condition in CONDITIONS])
    found = _found(records)
    _say_tables(found, say)
    target = _save(folder, found)
    say(f"\nRecords, provenance and Inspect's logs of each prompt are in {(folder / 'runs').resolve()}")
    say(f"Tables (CSV), bank, cut scores and diagnosis (JSON) are in {folder.resolve()}")
    say(f"Open this page in a browser: {target.resolve()}")
    return target


def model_names(condition: str) -> dict[str, str]:
    """Return, by model of Inspect, the name that the tables show.

    Parameters
    ----------
    condition : {"zero_shot", "few_shot"}

    Examples
    --------
    >>> list(model_names("few_shot"))[:2]
    ['simulated/theta=-0.4,seed=9,sentence=0.2', 'simulated/theta=0.8,seed=10,flip=0.1']
    """
    found = {}
    for name, (known, theta, replies) in RESPONDENTS.items():
        true = _true_theta(theta, condition)
        found[f"simulated/{known.format('' if true is None else f'{true:g}')},{replies}"] = name
    return found


def _true_theta(theta: float | None, condition: str) -> float | None:
    return None if theta is None else round(theta + PUT_IN * (condition == CONDITIONS[1]), 6)


def _collected(folder: Path, condition: str, say: Callable[[str], None]) -> Records:
    """Run the models under one prompt, and give them the names that the tables show."""
    models, out = model_names(condition), folder / "runs" / condition
    options = " ".join(f"--model {model}" for model in models)
    say(f"$ psychoedu run csebench --condition {condition} {options} --out {out}")
    result = run("csebench", list(models), [condition], out=out)
    say(f"  {result.records!r}\n")
    frame = result.collected.frame
    return Records(frame.assign(model=frame["model"].map(models)), result.collected.notes)


def _found(records: Records) -> DemoRunners:
    bank, cuts, diagnosis = parameters(), CutScores.from_values(CUTS, scale="CSE"), learners_diagnosed()
    matrix = records.to_matrix()
    rewards = records.rewards()
    known = [name for name, (_, theta, _) in RESPONDENTS.items() if theta is not None]
    prompts = contrast(
        rewards[rewards["model"].isin(known)],
        condition="condition",
        focal=CONDITIONS[0],
        comparison=CONDITIONS[1],
        repeat="repeat",
        rng=1,
    )
    truth = pd.DataFrame(
        [
            (name, condition, _true_theta(theta, condition))
            for condition in CONDITIONS
            for name, (_, theta, _) in RESPONDENTS.items()
        ],
        columns=["model", "condition", "true"],
    ).set_index(["model", "condition"])
    return DemoRunners(
        records,
        item_statistics(records, matrix, sample("csebench")),
        truth,
        _policies(records, bank, truth),
        tables(matrix, bank, cuts, diagnosis, method="wle"),
        cuts,
        diagnosis,
        prompts,
        expected_difference(),
    )


def parameters() -> ItemBank:
    """Return the parameters of the sample's items from which simulated respondents answer: made up, not estimated."""
    items = sample("csebench").items
    difficulty = [default_difficulty(item.metadata) for item in items]
    frame = pd.DataFrame({"discrimination": DISCRIMINATION, "difficulty": difficulty}, index=[item.item_id for item in items])
    return ItemBank(frame)


def learners_diagnosed() -> Diagnosis:
    """Simulate learners who master the items' attributes or not, and diagnose them."""
    items = sample("csebench").items
    required = np.array([[int(item.metadata["subskill"] == name) for name in ATTRIBUTES] for item in items])
    labels = [item.item_id for item in items]
    rng = np.random.default_rng(20260731)
    ability = rng.standard_normal((N_LEARNERS, 1))
    mastered = rng.random((N_LEARNERS, len(ATTRIBUTES))) < 1.0 / (1.0 + np.exp(-STRUCTURE_SLOPE * ability))
    chance = np.where(mastered @ required.T > 0, 1.0 - SLIP, GUESS)
    right = (rng.random(chance.shape) < chance).astype(int)
    learners = ResponseMatrix.from_wide(pd.DataFrame(right, columns=labels))
    return diagnose(learners, pd.DataFrame(required, index=labels, columns=list(ATTRIBUTES)), model="DINA")


def expected_difference() -> float:
    """Return by how much the mean reward of the models of known ability rises under the second prompt, as they were made."""
    items = sample("csebench").items
    means = []
    for condition in CONDITIONS:
        people = [respondent_named(model.partition("/")[2]) for model in model_names(condition)]
        able = [person for person in people if person.theta is not None]
        rewards = []
        for person in able:
            chance = np.array([person.probability(item.item_id, item.metadata) for item in items])
            flipped = person.flip / np.array([len(item.options) - 1.0 for item in items])
            rewards.append(((1.0 - person.refuse) * (chance * (1.0 - person.flip) + (1.0 - chance) * flipped)).mean())
        means.append(float(np.mean(rewards)))
    return means[1] - means[0]


def _policies(records: Records, bank: ItemBank, truth: pd.DataFrame) -> pd.DataFrame:
    """Return abilities with invalid replies counted as wrong and as missing, beside the true ones."""
    parts = [truth]
    for policy in ("wrong", "missing"):
        matrix = records.to_matrix(invalid=policy)
        scores = score(bank, matrix, method="wle").to_frame()[["theta", "theta_se"]]
        scores.index = pd.MultiIndex.from_frame(matrix.respondents[["model", "condition"]])
        parts.append(scores.rename(columns={"theta": f"invalid_{policy}", "theta_se": f"invalid_{policy}_se"}))
    return pd.concat(parts, axis=1)


def _rates(records: Records) -> pd.DataFrame:
    return records.rates().drop(columns=["partial", "absent", "rate_failed_wrong"])


def _say_tables(found: DemoRunners, say: Callable[[str], None]) -> None:
    say("Rates by model and prompt: replies without an answer as wrong, or left out\n")
    say(_rates(found.records).to_string(float_format=_three))
    say("\nAgreement of the three runs\n")
    say(found.records.test_retest().to_string(float_format=_three))
    say("\nItems: share right under each prompt (majority of three runs)\n")
    shown = found.items["p_value"].unstack("condition")[list(CONDITIONS)]
    about = found.items[["cse_level", "subskill"]].groupby("item").first()
    say(about.join(shown).to_string(float_format=_three))
    say("\nAbility (WLE) with replies without an answer as wrong, as CSEBench has it, and as missing, beside the truth\n")
    say(found.policies.to_string(float_format=_three, na_rep="-"))
    assert found.tables.levels is not None
    assert found.tables.mastery is not None
    say("\nTable 1. Level by model and prompt (made-up cut scores)\n")
    say(_legend_wrapped(found.tables.levels.summary()))
    say("\nTable 3. Ability and probability of mastery (diagnosis of simulated learners)\n")
    say(_wrapped(MASTERY_NOTE))
    say(_legend_wrapped(found.tables.mastery.summary()))
    say("\nThe two prompts, paired by model and item\n")
    say(_wrapped(_prompts_note(found.expected)))
    say(found.prompts.summary())


def _prompts_note(expected: float) -> str:
    first, second = CONDITIONS
    return f"The three models of known ability alone. As they were made, {second} should be {expected:.3f} above {first}."


def _save(folder: Path, found: DemoRunners) -> Path:
    assert found.tables.scores is not None
    assert found.tables.levels is not None
    assert found.tables.mastery is not None
    found.records.save(folder)
    written = {
        "responses": found.records.to_matrix().to_frame(),
        "item_statistics": found.items,
        "rates": found.records.rates(),
        "test_retest": found.records.test_retest(),
        "abilities": found.policies,
        "scores": found.tables.scores.to_frame(),
        "levels": found.tables.levels.to_frame(),
        "mastery": found.tables.mastery.to_frame(),
        "prompts": found.prompts.models,
    }
    for name, frame in written.items():
        frame.to_csv(folder / f"{name}.csv")
    parameters().save(folder / "bank.json")
    found.cuts.save(folder / "cuts.json")
    found.diagnosis.save(folder / "diagnosis.json")
    found.prompts.save(folder / "prompts.json")
    target = folder / "index.html"
    target.write_text(found.page(), encoding="utf-8")
    return target


def _flat(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with one label a row, for the page."""
    flat = frame.copy()
    flat.index = pd.Index([", ".join(map(str, label)) for label in frame.index], name=", ".join(map(str, frame.index.names)))
    return flat


def _legend_wrapped(text: str) -> str:
    rows, _, legend = text.partition("\n\n")
    return "\n".join([rows, "", *(fill(line, width=96) for line in legend.splitlines())])


def _wrapped(text: str) -> str:
    return fill(text, width=96) + "\n"


def _three(value: float) -> str:
    return f"{value:.3f}"
