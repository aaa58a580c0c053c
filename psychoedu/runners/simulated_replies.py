"""How simulated respondents put their answers: as asked, in a sentence, in another form, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from psychoedu.runners.simulated_asked import Asked

Style = Literal["plain", "refuse", "empty", "sentence", "wrong_format"]
REFUSE: Literal["refuse"] = "refuse"
EMPTY: Literal["empty"] = "empty"
SENTENCE: Literal["sentence"] = "sentence"
WRONG_FORMAT: Literal["wrong_format"] = "wrong_format"
STYLES: tuple[Style, ...] = (REFUSE, EMPTY, SENTENCE, WRONG_FORMAT)
"""Forms of a reply that come at set rates, in the order in which the rates are laid out; the rest is "plain"."""

REFUSAL = "I'm sorry, but I can't help with that."

DIAGNOSES = (
    "This strategy does not work and the teacher should give it up. The students would be better served by something else.",
    "Something about how the strategy was carried out seems to be at fault. The teacher could plan the next lesson "
    "with more care.",
    "The strategy was carried out in a way that works against its aim. Changing that one step would help, although the reasons "
    "for it are not clear from the account.",
    "The strategy is sound, but a step on which its effect rests was left out. Without this step the mechanism behind it cannot "
    "act, which explains the results; with it the teacher can expect the usual effect.",
)
"""Replies to a scenario by the score from 0 to 3 that a simulated judge sees in them."""

SNIPPET = "One has to know the rule that the sentence follows and the usual partners of its words."
"""What a simulated writer of knowledge notes about any item."""

_SURE = {"Very confident": "95%", "Somewhat confident": "70%", "Uncertain": "50%"}
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


def written(asked: Asked, chosen: str, style: Style, form: float) -> str:
    """Return the text of a reply.

    Parameters
    ----------
    asked : Asked
    chosen : str
        One of its options.
    style : {"plain", "sentence", "wrong_format"}
    form : float
        From [0, 1): which of several other forms of a letter.

    Examples
    --------
    >>> asked = Asked("question", "q1", "B", tuple("ABCD"), ("is", "are", "am", "be"))
    >>> [written(asked, "B", style, 0.0) for style in ("plain", "sentence", "wrong_format")]
    ['B', 'The answer is B.', 'b']
    >>> [written(asked, "B", "wrong_format", form) for form in (0.4, 0.8)]
    ['[B]', 'are']
    """
    if asked.kind == "question" and style == WRONG_FORMAT:
        return _odd_letter(asked, chosen, form)
    plain, sentence, odd = _FORMS[asked.kind]
    return (odd if style == WRONG_FORMAT else sentence if style == SENTENCE else plain)(chosen)


def _odd_letter(asked: Asked, chosen: str, form: float) -> str:
    if form < 1 / 3:
        return chosen.lower()
    if form < 2 / 3:
        return f"[{chosen}]"
    place = asked.options.index(chosen)
    return asked.texts[place] if place < len(asked.texts) else f"the {_ORDINALS[place]} one"


def _same(text: str) -> str:
    return text


_FORMS: dict[str, tuple[Callable[[str], str], Callable[[str], str], Callable[[str], str]]] = {
    "question": (_same, "The answer is {}.".format, _same),
    "statement": (_same, lambda word: f"The statement is {word.lower()}.", lambda word: str(word == "Correct")),
    "pair": (
        "BETTER_SAMPLE: {}".format,
        "The works were compared with the standard.\nBETTER_SAMPLE: {}".format,
        "Sample {}".format,
    ),
    "work": (
        "CLASSIFICATION: {}\nREASONING: The work was compared with the standard.".format,
        "I have compared the work with the standard.\nCLASSIFICATION: {}".format,
        lambda level: f"The work is {level.lower().replace('_', ' ')}.",
    ),
    "scenario": (
        lambda score: DIAGNOSES[int(score)],
        lambda score: f"Thank you for telling about this lesson. {DIAGNOSES[int(score)]}",
        lambda score: f"- {DIAGNOSES[int(score)].replace('. ', chr(10) + '- ')}",
    ),
    "judge": (
        lambda score: (
            f'{{"reasoning": "A simulated judgement.", "mechanisms_mentioned": [], "mechanisms_missed": [], "score": {score}}}'
        ),
        "Score: {}".format,
        lambda score: f"Somewhere between {max(int(score) - 1, 0)} and {min(int(score) + 1, 3)}.",
    ),
    "confidence": (_same, lambda word: f"I am {word.lower()}.", lambda word: _SURE[word]),
    "knowledge": (_same, _same, _same),
}
"""By kind: as asked, in a sentence, in another form."""
