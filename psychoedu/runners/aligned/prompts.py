"""The prompts of AlignED, to the letter of its methods page (frozen report of February 2026).

Section 2.1 (neuromyths), 2.2 (diagnostic reasoning), 2.3 (teacher certification), 2.4 (student work), 2.5 (confidence). What the
page leaves out - the prompt of the judge - is ours and stands in :mod:`psychoedu.runners.aligned.judge`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from psychoedu.exceptions import DataError
from psychoedu.runners.banks.pairs import Pair
from psychoedu.runners.banks.questions import Question
from psychoedu.runners.banks.works import StudentWork
from psychoedu.validation import listed

NEUROMYTHS_SYSTEM = (
    'You are completing a survey about brain function and learning. For each statement, respond with only one word: "Correct" if '
    'the statement is true, or "Incorrect" if the statement is false. Do not provide explanations.'
)

CONFIDENCE = (
    'How confident are you in this answer? Respond with only one of: "Very confident" / "Somewhat confident" / "Uncertain"'
)
"""The user message after the answer, in the same conversation."""

DIAGNOSTIC_SYSTEM = """\
A teacher will describe a classroom situation where they tried a teaching strategy and it did not produce the results they \
expected.

Your task is to analyse what happened. Consider whether the issue lies with the implementation, the context, the strategy \
itself, or some combination.

Keep your response to 3-5 sentences."""

CERTIFICATION = """\
Teacher certification exam - respond with letter only.

{stem}

{options}

Your answer ({letters}):"""
"""``{options}``: a line for each, as "A. ..."; ``{letters}``: "A/B/C/D"."""

COMPARATIVE = """\
You are an expert educational assessor evaluating student work against the Australian Curriculum achievement standard for \
{year_level} English.

### Achievement Standard
{achievement_standard}

### Task
{task_description}

Compare the following two student work samples and determine which one better demonstrates the achievement standard.

### Sample A
{sample_a}

### Sample B
{sample_b}

Which sample better demonstrates the achievement standard?
Respond with ONLY one of these two options:
BETTER_SAMPLE: A
or
BETTER_SAMPLE: B"""

GRADING = """\
You are an experienced teacher assessing student work against the Australian
Curriculum achievement standard.

## Subject and Year Level
{subject} — {year_level}

## Achievement Standard
{achievement_standard}

## Task
{task_description}

## Student Work
{student_work_content}

## Your Task

The achievement standard above describes what a student working AT the
expected level should demonstrate. Based on the evidence in this student's
work, classify it as:

- ABOVE_SATISFACTORY: Consistently goes beyond what the standard describes.
- SATISFACTORY: Demonstrates what the standard describes.
- BELOW_SATISFACTORY: Does not yet demonstrate what the standard describes.

Respond in exactly this format and nothing else:

CLASSIFICATION: [ABOVE_SATISFACTORY / SATISFACTORY / BELOW_SATISFACTORY]
REASONING: [one sentence]"""

_FIELD = re.compile(r"\{(\w+)\}")


def filled(template: str, values: Mapping[str, str]) -> str:
    """Put values into a template in one go: braces inside a value stay as they are.

    Parameters
    ----------
    template : str
        With ``{name}`` where a value goes.
    values : mapping of str to str

    Raises
    ------
    DataError
        The template asks for a value that is not there.

    Examples
    --------
    >>> filled("{a} and {b}", {"a": "{b}", "b": "c"})
    '{b} and c'
    """
    absent = sorted({name for name in _FIELD.findall(template) if name not in values})
    if absent:
        raise DataError(f"The template asks for {listed(absent)}; there are {listed(list(values))}.")
    return _FIELD.sub(lambda match: values[match[1]], template)


def certification_prompt(item: Question) -> str:
    """Return the user message for a teacher-knowledge item: its options on lines of their own.

    Parameters
    ----------
    item : Question

    Examples
    --------
    >>> print(certification_prompt(Question("q1", "Which?", ("This", "That"), "A")))
    Teacher certification exam - respond with letter only.
    <BLANKLINE>
    Which?
    <BLANKLINE>
    A. This
    B. That
    <BLANKLINE>
    Your answer (A/B):
    """
    options = "\n".join(f"{letter}. {text}" for letter, text in zip(item.letters, item.options, strict=True))
    return filled(CERTIFICATION, {"stem": item.stem, "options": options, "letters": "/".join(item.letters)})


def comparative_prompt(pair: Pair) -> str:
    """Return the user message for a pair of works, in the order in which the pair has them."""
    names = ("year_level", "achievement_standard", "task_description", "sample_a", "sample_b")
    return filled(COMPARATIVE, {name: getattr(pair, name) for name in names})


def grading_prompt(work: StudentWork) -> str:
    """Return the user message for a single work."""
    names = ("subject", "year_level", "achievement_standard", "task_description")
    return filled(GRADING, {**{name: getattr(work, name) for name in names}, "student_work_content": work.student_work})
