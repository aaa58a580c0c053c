"""Simulated respondents: what one of known ability, or known mastery, answers to an item; a function of the seed and the item."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from psychoedu.exceptions import DataError, RunnerError
from psychoedu.runners.simulated_asked import KINDS, Asked
from psychoedu.runners.simulated_replies import EMPTY, REFUSAL, REFUSE, SENTENCE, STYLES, WRONG_FORMAT, Style, written
from psychoedu.validation import check_integer, check_number, listed

ATTRIBUTES = ("phonology", "cohesion", "vocabulary", "syntax")
"""What the digits of a profile stand for where no diagnosis is given: CSEBench's attributes, found in an item's ``subskill``."""

DISCRIMINATION = 1.2
MIDDLE_LEVEL, LEVEL_STEP = 4.5, 0.8
"""Default items: CSE levels 2 to 7 have difficulties -2 to 2."""
SLIP, GUESS = 0.1, 0.2
EXTREME = 0.02
"""An average accuracy of 0 or 1 is taken as this far from it."""
STEPS = (1.2, 0.0, -1.2)
"""Logits between the scores of a diagnosis of a scenario: 1 is easier than 2, 3 is harder."""
RATES = ("flip", SENTENCE, WRONG_FORMAT, REFUSE, EMPTY, "error")


class SimulatedFailure(RunnerError):  # noqa: N818  # the name that the documentation uses
    """A call that a simulated respondent lets fail, as it was told to do at some rate."""


def uniform(seed: int, *parts: object) -> float:
    """Return the number from [0, 1) that belongs to a seed and some texts: the same on every machine.

    Parameters
    ----------
    seed : int
    *parts
        Written as text, in this order.

    Returns
    -------
    float
        The first 53 bits of a SHA-256.

    Examples
    --------
    >>> uniform(1, "answer", "q1") == uniform(1, "answer", "q1"), uniform(1, "answer", "q1") == uniform(2, "answer", "q1")
    (True, False)
    """
    text = "\x1f".join(map(str, (seed, *parts)))
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / 2.0**53


@dataclass(frozen=True, eq=False)
class SimulatedRespondent:
    """A respondent whose probability of a right answer is known for every item.

    Parameters
    ----------
    theta : float, optional
        Ability of a 2PL respondent; or
    profile : str, optional
        a 0 or 1 for each attribute, in the order of the Q-matrix's columns. Exactly one of the two.
    success : mapping of str to float
        P(right) of this respondent by item, as :func:`success_of` takes it from a bank; other items have default parameters.
    seed : int
        Respondents with different seeds answer independently; with one seed, the abler is right wherever the other is.
    flip : float
        Rate at which an answer in one run is another than this respondent's answer to the item.
    sentence, wrong_format, refuse, empty : float
        Rates of items replied to with a sentence, in a form that was not asked for, with a refusal, with nothing; what is left is
        replied to as asked.
    error : float
        Rate of calls that fail.

    Raises
    ------
    DataError
        Neither or both of theta and profile, or a rate outside [0, 1], or rates of forms that add up to more than 1.

    Notes
    -----
    An answer is right if u < P, with u a hash of the seed and the item, and else the item's one wrong answer for this seed. A run
    whose hash lies below ``flip`` has another answer: any other option, all alike, so that
    P(right) = P (1 - flip) + (1 - P) flip / (m - 1) in a single run with m options. Without ``flip``, a temperature above 0 draws
    u and the form of the reply anew in every run, which leaves P(right) as it is.

    Default items: P = logistic(1.2 (theta - b)), with b so that theta = 0 has the item's ``average_accuracy`` where the metadata
    has it, else b = 0.8 (``cse_level`` - 4.5), else 0. For a profile P = 0.2 + 0.7 s, with s 1 or 0 as the attribute named by
    ``subskill`` is mastered, or else the mastered share of all attributes.

    Examples
    --------
    >>> able, weak = SimulatedRespondent(theta=2.0, seed=1), SimulatedRespondent(theta=-2.0, seed=1)
    >>> round(able.probability("q1"), 3), round(weak.probability("q1"), 3)
    (0.917, 0.083)
    >>> [able.reply(f"q{item}", "B", "ABCD") for item in range(6)]
    ['B', 'B', 'B', 'B', 'B', 'B']
    >>> {able.reply("q1", "B", "ABCD", epoch=run) for run in range(9)}
    {'B'}
    """

    theta: float | None = None
    profile: str | None = None
    success: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0
    flip: float = 0.0
    sentence: float = 0.0
    wrong_format: float = 0.0
    refuse: float = 0.0
    empty: float = 0.0
    error: float = 0.0

    def __post_init__(self) -> None:
        if (self.theta is None) == (self.profile is None):
            raise DataError("A simulated respondent has either theta=NUMBER or profile=DIGITS; expected exactly one of them.")
        if self.theta is not None:
            check_number(self.theta, "theta")
        if self.profile is not None and (not self.profile or set(self.profile) - {"0", "1"}):
            raise DataError(f"profile has to be a 0 or 1 for each attribute, such as 1011; got {self.profile!r}.")
        if self.profile is not None and not self.success and len(self.profile) != len(ATTRIBUTES):
            raise DataError(
                f"profile={self.profile} has {len(self.profile)} digits; without a diagnosis (bank=) expected {len(ATTRIBUTES)}, "
                f"for {', '.join(ATTRIBUTES)}."
            )
        check_integer(self.seed, "seed")
        for name in RATES:
            rate = check_number(getattr(self, name), name)
            if not 0.0 <= rate <= 1.0:
                raise DataError(f"{name} is a rate and has to lie between 0 and 1; got {rate:g}.")
        total = math.fsum(getattr(self, name) for name in STYLES)
        if total > 1.0:
            raise DataError(f"The rates of {', '.join(STYLES)} add up to {total:g}; expected at most 1.")

    def probability(self, item_id: str, metadata: Mapping[str, Any] | None = None) -> float:
        """Return P(right) of an item: from the bank, or by default parameters from the item's metadata.

        Parameters
        ----------
        item_id : str
        metadata : mapping, optional
            ``average_accuracy``, ``cse_level`` and ``subskill`` count.
        """
        known = self.success.get(item_id)
        if known is not None:
            return known
        about = metadata or {}
        if self.theta is not None:
            return _logistic(DISCRIMINATION * (self.theta - default_difficulty(about)))
        assert self.profile is not None
        mastered = [digit == "1" for digit in self.profile]
        subskill = str(about.get("subskill", "")).strip().lower()
        if len(mastered) == len(ATTRIBUTES) and subskill in ATTRIBUTES:
            share = float(mastered[ATTRIBUTES.index(subskill)])
        else:
            share = sum(mastered) / len(mastered)
        return GUESS + (1.0 - SLIP - GUESS) * share

    def reply(
        self,
        item_id: str,
        key: str,
        letters: Sequence[str] = "ABCD",
        epoch: int = 0,
        temperature: float = 0.0,
        *,
        options: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
    ) -> str:
        """Reply to a multiple-choice question.

        Parameters
        ----------
        item_id : str
        key : str
            The letter of the right option.
        letters : str or sequence of letters
        epoch : int
            Number of the run; it counts where answers may differ between runs.
        temperature : float
        options : sequence of str
            Texts of the options, for replies that give one instead of a letter.
        metadata : mapping, optional
            Of an item that the bank does not have.

        Returns
        -------
        str

        Raises
        ------
        SimulatedFailure
            At the error rate.
        DataError
            The key is none of the letters, or there is nothing to choose from.
        """
        asked = Asked("question", item_id, key, tuple(letters), texts=tuple(options), metadata=metadata or {})
        return self.respond(asked, epoch, temperature)

    def answer(self, asked: Asked, epoch: int = 0, temperature: float = 0.0) -> str:
        """Return the option that is chosen, whatever the form of the reply.

        Parameters
        ----------
        asked : Asked
        epoch : int
        temperature : float
        """
        run = self._run(epoch, temperature)
        drawn = uniform(self.seed, "answer", asked.label, *run)
        chance = self.probability(asked.item_id, asked.metadata)
        if asked.key is None:
            chosen = asked.options[sum(drawn < _shifted(chance, step) for step in STEPS)]
        else:
            wrong = asked.wrong_options
            chosen = asked.key
            if drawn >= chance:
                chosen = wrong[int(uniform(self.seed, "distractor", asked.label) * len(wrong))]
        if uniform(self.seed, "flip", asked.label, asked.variant, epoch) < self.flip:
            others = [option for option in asked.options if option != chosen]
            return others[int(uniform(self.seed, "other", asked.label, asked.variant, epoch) * len(others))]
        return chosen

    def respond(self, asked: Asked, epoch: int = 0, temperature: float = 0.0) -> str:
        """Reply to whatever is asked, in one of the forms of a reply.

        Parameters
        ----------
        asked : Asked
        epoch : int
        temperature : float

        Raises
        ------
        SimulatedFailure
            At the error rate.
        """
        if uniform(self.seed, "error", asked.label, asked.variant, epoch) < self.error:
            raise SimulatedFailure(f"Simulated failure: item {asked.item_id!r}, run {epoch} (error={self.error:g}).")
        style = self._style(asked, epoch, temperature)
        if style == REFUSE:
            return REFUSAL
        if style == EMPTY:
            return ""
        if KINDS[asked.kind]:
            chosen = self.answer(asked, epoch, temperature)
        elif asked.kind == "confidence":
            certain = self.probability(asked.item_id, asked.metadata)
            sure = max(certain, 1.0 - certain)
            chosen = asked.options[0 if sure >= 0.8 else 1 if sure >= 0.6 else 2]
        else:
            chosen = asked.options[0]
        return written(asked, chosen, style, uniform(self.seed, "form", asked.label))

    def _style(self, asked: Asked, epoch: int, temperature: float) -> Style:
        drawn = uniform(self.seed, "style", asked.label, *self._run(epoch, temperature))
        for name in STYLES:
            rate = getattr(self, name)
            if drawn < rate:
                return name
            drawn -= rate
        return "plain"

    def _run(self, epoch: int, temperature: float) -> tuple[object, ...]:
        """Return what makes a run's draws its own: nothing where all runs agree."""
        return (epoch, f"{temperature:g}") if temperature > 0.0 and self.flip == 0.0 else ()

    def __repr__(self) -> str:
        """Show the name from which it can be made again, without the bank."""
        who = f"theta={self.theta:g}" if self.theta is not None else f"profile={self.profile}"
        rates = [f"{name}={getattr(self, name):g}" for name in RATES if getattr(self, name)]
        return f"SimulatedRespondent({', '.join([who, f'seed={self.seed}', *rates])})"


def default_difficulty(metadata: Mapping[str, Any]) -> float:
    """Return the difficulty that an item gets which is in no bank: by its accuracy, else by its CSE level, else 0.

    Parameters
    ----------
    metadata : mapping

    Examples
    --------
    >>> [round(default_difficulty({"cse_level": level}), 1) for level in (2, 4, 7)]
    [-2.0, -0.4, 2.0]
    """
    accuracy, level = _number(metadata.get("average_accuracy")), _number(metadata.get("cse_level"))
    if accuracy is not None:
        right = min(max(accuracy, EXTREME), 1.0 - EXTREME)
        return -math.log(right / (1.0 - right)) / DISCRIMINATION
    return 0.0 if level is None else LEVEL_STEP * (level - MIDDLE_LEVEL)


def success_of(bank: Any, theta: float | None = None, profile: str | None = None) -> dict[str, float]:
    """Return P(right) by item of a respondent.

    Parameters
    ----------
    bank : ItemBank, Calibration or Diagnosis
    theta : float, optional
        For an ItemBank or Calibration.
    profile : str, optional
        For a Diagnosis: a digit for each column of its Q-matrix.

    Returns
    -------
    dict of str to float
        By the items' labels, as text.

    Raises
    ------
    DataError
        The object is none of these, does not belong to what is given, or the profile has another number of digits.

    Examples
    --------
    >>> import pandas as pd
    >>> from psychoedu.irt.bank import ItemBank
    >>> success_of(ItemBank(pd.DataFrame({"discrimination": [1.0], "difficulty": [0.5]}, index=["q1"])), theta=0.5)
    {'q1': 0.5}
    """
    kind = getattr(bank, "kind", type(bank).__name__)
    if theta is not None:
        items = getattr(bank, "bank", bank)
        if kind not in ("item_bank", "calibration"):
            raise DataError(f"theta= needs an item bank or a calibration; got a {kind}. For a diagnosis give profile=DIGITS.")
        chances = items.probability(check_number(theta, "theta"))
        labels = items.labels
    else:
        if kind != "diagnosis":
            raise DataError(f"profile= needs a diagnosis; got a {kind}. For an item bank or a calibration give theta=NUMBER.")
        attributes = list(bank.attribute_labels)
        if profile not in bank.profile_labels:
            raise DataError(
                f"profile={profile} is none of this diagnosis; expected {len(attributes)} digits, for {listed(attributes)}."
            )
        chances, labels = bank.success[:, bank.profile_labels.index(profile)], bank.item_labels
    return {str(label): float(chance) for label, chance in zip(labels, chances, strict=True)}


def _number(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if known else None


def _logistic(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-value)) if value >= 0.0 else math.exp(value) / (1.0 + math.exp(value))


def _shifted(chance: float, step: float) -> float:
    """Return a probability moved by so many logits."""
    return chance if chance in (0.0, 1.0) else _logistic(math.log(chance / (1.0 - chance)) + step)
