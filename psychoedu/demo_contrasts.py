"""The demonstration's part on contrasts: two prompts on the same items, an attribute against the others, and a leaderboard."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any

import pandas as pd

from psychoedu.bootstrap import plots
from psychoedu.bootstrap.compare import compare_models
from psychoedu.bootstrap.contrast import contrast
from psychoedu.bootstrap.leaderboard import leaderboard
from psychoedu.bootstrap.leaderboard_results import Leaderboard
from psychoedu.bootstrap.results import Contrast
from psychoedu.datasets import load_cse_like_q
from psychoedu.report.contrast import contrast_section
from psychoedu.report.page import figure, paragraph
from psychoedu.responses import ResponseMatrix

HEADING = "Contrasts of the model rows (simulated data)"
NOTE = (
    "The 24 model rows once more, as 12 models under two prompts, 0 or 1 on each of 61 items. What is compared is the share of "
    "right answers, and its uncertainty comes from the items: other items of the same kind would have given other shares. No "
    "model answered."
)
SEED = 20260731
SEVERAL = "several"


@dataclass(frozen=True, eq=False)
class DemoContrasts:
    """What the demonstration found."""

    prompts: Contrast
    attribute: Contrast
    board: Leaderboard

    def section(self) -> str:
        """Return the part of the page."""
        from matplotlib.figure import Figure

        ranks = Figure(figsize=(6.4, 4.2), layout="constrained")
        self.board.plot_ranks(ax=ranks.add_subplot())
        parts = [
            f"<h2>{HEADING}</h2>\n",
            paragraph(NOTE),
            "<h3>Prompt p2 against prompt p1, on the same items</h3>\n",
            contrast_section(self.prompts),
            "<h3>Items of phonology against all others</h3>\n",
            contrast_section(self.attribute),
            "<h3>Leaderboard, both prompts together</h3>\n",
            self.board.to_html(),
            figure(
                ranks, "Ranks of 12 simulated models with their intervals.", "Rank, and the ranks that other items would give."
            ),
        ]
        return "".join(parts)


def rewards_of_models(responses: ResponseMatrix) -> pd.DataFrame:
    """Return the model rows as a long table: task, attribute, model, prompt, reward.

    Parameters
    ----------
    responses : ResponseMatrix
        ``load_cse_like()``; the labels of model rows are model, ``_`` and prompt.

    Returns
    -------
    DataFrame
        ``attribute`` is the one that an item requires, or "several".
    """
    frame = responses.to_frame()[(responses.respondents["group"] == "model").to_numpy()]
    table = frame.rename_axis(index="row").reset_index().melt("row", var_name="task", value_name="reward")
    table[["model", "prompt"]] = table["row"].str.split("_", expand=True)
    required = load_cse_like_q()
    single = required.idxmax(axis=1).where(required.sum(axis=1) == 1, SEVERAL)
    table["attribute"] = table["task"].map(single)
    return table[["task", "attribute", "model", "prompt", "reward"]]


def run_contrasts(folder: Path, responses: ResponseMatrix, say: Callable[[str], None]) -> DemoContrasts:
    """Contrast prompts and attributes, rank the models, and write tables and figures.

    Parameters
    ----------
    folder : Path
        Where to write; it exists.
    responses : ResponseMatrix
        Learners and model rows.
    say : callable
        Takes the text to show.

    Returns
    -------
    DemoContrasts
    """
    say("\n" + fill(f"5. {HEADING.replace(' (simulated data)', '')}. {NOTE}", width=96) + "\n")
    rewards = rewards_of_models(responses)
    prompts = contrast(rewards, condition="prompt", focal="p1", rng=SEED)
    say(fill(prompts.methods_text(), width=96) + "\n")
    attribute = contrast(rewards, stratum="attribute", focal="phonology", item="prompt", rng=SEED)
    say(attribute.summary())
    board = leaderboard(rewards, item="prompt", rng=SEED)
    say("\nLeaderboard over both prompts\n")
    say(board.summary())
    best = list(board.models[:3])
    pairs = compare_models(rewards, item="prompt", models=best, rng=SEED)
    say("\nThe three at its head, pair by pair\n")
    say(pairs.summary())
    found = DemoContrasts(prompts, attribute, board)
    _save(folder, rewards, found)
    return found


def _save(folder: Path, rewards: pd.DataFrame, found: DemoContrasts) -> None:
    from matplotlib.figure import Figure

    rewards.to_csv(folder / "contrasts_rewards.csv", index=False)
    found.prompts.save(folder / "contrasts_prompts.json")
    found.attribute.save(folder / "contrasts_attribute.json")
    found.board.save(folder / "contrasts_leaderboard.json")
    (folder / "contrasts_prompts.tex").write_text(found.prompts.to_latex("Prompts (simulated data)"), encoding="utf-8")
    (folder / "contrasts_methods.txt").write_text(
        f"{found.prompts.methods_text()}\n\n{found.attribute.methods_text()}\n", encoding="utf-8"
    )
    drawings: dict[str, tuple[tuple[float, float], Callable[[Any], Any]]] = {
        "prompts_forest": ((6.4, 4.4), lambda ax: plots.forest(found.prompts, ax=ax)),
        "attribute_forest": ((6.4, 4.4), lambda ax: plots.forest(found.attribute, ax=ax)),
        "resamples": ((5.0, 3.0), lambda ax: plots.resamples(found.prompts, ax=ax)),
        "ranks": ((6.4, 4.2), lambda ax: found.board.plot_ranks(ax=ax)),
    }
    for kind, (size, draw) in drawings.items():
        drawing = Figure(figsize=size, layout="constrained")
        draw(drawing.add_subplot())
        drawing.savefig(folder / f"contrasts_{kind}.png", dpi=200)
        drawing.savefig(folder / f"contrasts_{kind}.pdf", metadata={"CreationDate": None})
