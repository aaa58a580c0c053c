"""The prompts of CSEBench, to the letter of the article, and that of the knowledge-augmented condition, which is a parameter.

Zero-shot and few-shot: Methods of the preprint 10.21203/rs.3.rs-8820245/v1 (CC BY 4.0); the labelled parts are paragraphs with an
empty one between them, and the options of an item stand on one line under its stem. The prompt with which the article has a model
write knowledge about an item is not in the text that was published, so the one here is ours and can be replaced.
"""

from __future__ import annotations

from psychoedu.exceptions import DataError
from psychoedu.validation import check_choice

INPUT = "{input}"
KNOWLEDGE = "{knowledge}"

INSTRUCTION = (
    "Instruction: Choose the correct option based on the question. Output only the corresponding letter of the option without "
    "providing a reason."
)

ZERO_SHOT = f"{INSTRUCTION}\n\nInput: {INPUT}\n\nResponse:"

FEW_SHOT = f"""{INSTRUCTION}

Input: They said the eighteenth and last lesson ___ quite easy.
A. is B. was C. are D. were

Response: B

Input: Marx left his homeland for some ___ reasons.
A. politically B. politics C. political D. politician

Response: C

Input: {INPUT}

Response:"""

KNOWLEDGE_PROMPT = (
    "Write down, in at most five sentences, what one has to know about English vocabulary, grammar, pronunciation or cohesion to "
    "answer the following question. Do not say which option is right.\n\n" + INPUT
)
"""What the knowledge model is asked; ours, since the article's own prompt is unpublished."""

AUGMENTED_INPUT = f"{KNOWLEDGE}\n\n{INPUT}"
"""How the snippet is put before the item; ours as well."""

CONDITIONS = {
    "zero_shot": "the instruction and the item",
    "few_shot": "the instruction, two fixed demonstrations and the item",
    "knowledge": "as zero_shot, with a snippet that a knowledge model wrote put before the item",
}
"""Conditions, each with what the model sees."""

TEMPLATES = {"zero_shot": ZERO_SHOT, "few_shot": FEW_SHOT, "knowledge": ZERO_SHOT}


def prompt(text: str, condition: str = "zero_shot", knowledge: str | None = None) -> str:
    r"""Return the user message for one item.

    Parameters
    ----------
    text : str
        Stem, line break, options on one line: ``Question.text``.
    condition : {"zero_shot", "few_shot", "knowledge"}
    knowledge : str, optional
        The snippet; for the condition "knowledge" alone.

    Returns
    -------
    str

    Raises
    ------
    DataError
        The condition is unknown, or a snippet is missing or does not belong.

    Examples
    --------
    >>> print(prompt("She ____ tea.\nA. drink B. drinks C. drinking D. drunk"))
    Instruction: Choose the correct option based on the question. Output only the corresponding letter of the option without providing a reason.
    <BLANKLINE>
    Input: She ____ tea.
    A. drink B. drinks C. drinking D. drunk
    <BLANKLINE>
    Response:
    """  # noqa: E501  # the instruction is the article's line
    check_choice(condition, tuple(CONDITIONS), "condition")
    if (condition == "knowledge") != (knowledge is not None):
        raise DataError(
            f"condition={condition!r} with{'' if knowledge is not None else 'out'} a snippet; expected one for 'knowledge' alone."
        )
    body = text
    if knowledge is not None:
        before, after = AUGMENTED_INPUT.split(KNOWLEDGE)
        body = f"{before}{knowledge.strip()}{after.replace(INPUT, text)}"
    return TEMPLATES[condition].replace(INPUT, body)


def knowledge_request(text: str, template: str = KNOWLEDGE_PROMPT) -> str:
    """Return what the knowledge model is asked about one item.

    Parameters
    ----------
    text : str
        Stem and options.
    template : str
        With ``{input}`` where the item goes.

    Raises
    ------
    DataError
        The template has no ``{input}``.
    """
    if not isinstance(template, str) or INPUT not in template:
        raise DataError(f"knowledge_prompt has to hold {INPUT} where the item goes; got {template!r}.")
    return template.replace(INPUT, text)
