"""What a prompt asks: its item, recognised by its text among banks, and what can be answered to it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

from psychoedu.runners.csebench.prompts import INPUT, KNOWLEDGE_PROMPT
from psychoedu.runners.rules.grading import LEVELS
from psychoedu.runners.rules.statements import CONFIDENCE, CORRECT, INCORRECT
from psychoedu.runners.simulated_asked import Asked
from psychoedu.runners.simulated_replies import DIAGNOSES, SNIPPET
from psychoedu.validation import check_choice

Turn = tuple[str, str]
"""A message: role ("system", "user" or "assistant") and text."""

KINDS = ("questions", "statements", "pairs", "works", "scenarios")
"""Kinds of banks."""

LETTERS = "ABCDEFGH"
UNKNOWN = "unknown-"
"""How the labels begin of items that are in no bank."""
_RECOGNISED = 30
"""So many characters tell which diagnosis a judge has before it, also where the rest was cut off."""
_SAMPLES = {
    "questions": ("csebench", "certification"),
    "statements": ("neuromyths",),
    "pairs": ("pairs",),
    "works": ("works",),
    "scenarios": ("scenarios",),
}
_MARKS = re.compile(r"(?:(?<=\s)|^)\(?([A-H])[.):](?=\s)")
_SCORE = re.compile(r"\bscore", re.IGNORECASE)
_RUBRIC = re.compile(r"\b0\s*(?:-|–|to)\s*3\b|[\"']score[\"']", re.IGNORECASE)
_HEADING_A, _HEADING_B = re.compile(r"# Sample A\s"), re.compile(r"# Sample B\s")
_AFTER_WORKS = re.compile(r"Which sample|Respond with")
_CONFIDENCE = "how confident are you"
_DIAGNOSIS = re.compile(r"teacher (?:will describe|describes|tried)|classroom situation", re.IGNORECASE)
_KNOWLEDGE = KNOWLEDGE_PROMPT.partition(INPUT)[0].strip()


def _asks_judge(text: str) -> bool:
    """Tell whether a text asks for a score from 0 to 3."""
    return _SCORE.search(text) is not None and _RUBRIC.search(text) is not None


class Catalogue:
    """The items that a respondent knows when it sees them.

    Parameters
    ----------
    files : mapping of str to sequence of paths or banks
        By kind of bank, see :data:`KINDS`; "sample" for the samples that come with the package. A kind that is not named has the
        samples.

    Raises
    ------
    DataError
        There is no such kind.
    """

    def __init__(self, files: Mapping[str, Sequence[Any]] | None = None) -> None:
        for kind in files or {}:
            check_choice(kind, KINDS, "kind of bank")
        self._files = {kind: tuple((files or {}).get(kind) or ("sample",)) for kind in KINDS}
        self.asked = lru_cache(maxsize=100_000)(self._asked)

    def bank(self, kind: str) -> tuple[Any, ...]:
        """Return the items of a kind, read when first asked for.

        Raises
        ------
        ItemBankError
            A file has malformed items.
        """
        return tuple(item for source in self._files[kind] for bank in _read(kind, source) for item in bank.items)

    def labels(self) -> set[str]:
        """Return the labels of the items of all kinds for which files were named, or of the sample questions."""
        named = [kind for kind, sources in self._files.items() if sources != ("sample",)]
        return {item.item_id for kind in named or ["questions"] for item in self.bank(kind)}

    @cached_property
    def _questions(self) -> list[tuple[str, str, Any]]:
        return [(_backward(item.text), _backward(item.stem), item) for item in self.bank("questions")]

    @cached_property
    def _statements(self) -> list[tuple[str, str, Any]]:
        found = []
        for item in self.bank("statements"):
            texts = {"standard": item.text, **item.framings}
            found += [(_backward(text), "" if name == "standard" else name, item) for name, text in texts.items()]
        return found

    @cached_property
    def _pairs(self) -> list[tuple[str, str, Any]]:
        return [(_backward(item.sample_a), _backward(item.sample_b), item) for item in self.bank("pairs")]

    @cached_property
    def _student_works(self) -> list[tuple[str, Any]]:
        return [(_backward(item.student_work), item) for item in self.bank("works")]

    @cached_property
    def _scenarios(self) -> list[tuple[str, Any]]:
        return [(_backward(item.text), item) for item in self.bank("scenarios")]

    def find(self, turns: Sequence[Turn]) -> Asked:
        """Return what the last message of a user asks.

        Parameters
        ----------
        turns : sequence of (role, text)

        Returns
        -------
        Asked
            An item that is in no bank has a hash of its text as label, and a key that was drawn by it.
        """
        system = "\n".join(text for role, text in turns if role == "system")
        users = [text for role, text in turns if role == "user"]
        last = users[-1] if users else ""
        if _CONFIDENCE in last.lower() and len(users) > 1:
            about = self.asked(system, users[-2])
            return Asked("confidence", about.item_id, CONFIDENCE[0], CONFIDENCE, metadata=about.metadata)
        if _asks_judge(system):
            last = "\n".join(users)  # what is judged may stand in a message before the last
        return self.asked(system, last)

    def _asked(self, system: str, text: str) -> Asked:
        if "BETTER_SAMPLE" in text:
            return self._pair(text)
        if "CLASSIFICATION:" in text:
            return self._work(text)
        flat = plain(text)
        if flat.startswith(plain(_KNOWLEDGE)):
            return Asked("knowledge", _hashed(flat), SNIPPET, (SNIPPET,))
        return self._question(flat) or self._other(system, text, flat)

    def _question(self, flat: str) -> Asked | None:
        whole = _last(flat, ((text, item) for text, _, item in self._questions))
        stem = _last(flat, ((text, item) for _, text, item in self._questions))
        if whole is not None and (stem is None or whole[0] > stem[0]):
            end, item = whole
            if len(_run(flat[end:])) > 1:  # another question follows, which is in no bank
                return None
            return Asked("question", item.item_id, item.key, tuple(item.letters), tuple(item.options), metadata=item.metadata)
        if stem is None:
            return None
        end, item = stem
        letters = _letters_of(flat[end:], item.options)
        if letters is None:  # what follows are not its options
            return None
        shown = sorted(zip(letters, item.options, strict=True))
        options, texts = tuple(letter for letter, _ in shown), tuple(option for _, option in shown)
        return Asked("question", item.item_id, letters[LETTERS.index(item.key)], options, texts, metadata=item.metadata)

    def _other(self, system: str, text: str, flat: str) -> Asked:
        if _asks_judge(f"{system}\n{text}"):
            scores = tuple(str(score) for score in range(len(DIAGNOSES)))
            given = [score for score, reply in zip(scores, DIAGNOSES, strict=True) if reply[:_RECOGNISED] in flat]
            label = _hashed(flat)
            return Asked("judge", label, given[-1] if given else scores[_number(label) % len(scores)], scores)
        found = _last(flat, ((words, (variant, item)) for words, variant, item in self._statements))
        if found is not None:
            variant, item = found[1]
            key = CORRECT if item.key else INCORRECT
            return Asked("statement", item.item_id, key, (CORRECT, INCORRECT), variant=variant, metadata=item.metadata)
        scores = tuple(str(score) for score in range(len(DIAGNOSES)))
        scenario = _last(flat, self._scenarios)
        if scenario is not None:
            return Asked("scenario", scenario[1].item_id, None, scores, metadata=scenario[1].metadata)
        label = _hashed(flat)
        if f'"{CORRECT}"' in system and f'"{INCORRECT}"' in system:
            words = (CORRECT, INCORRECT)
            return Asked("statement", label, words[_number(label) % 2], words)
        if _DIAGNOSIS.search(system):
            return Asked("scenario", label, None, scores)
        letters = _run(flat) or LETTERS[:4]
        return Asked("question", label, letters[_number(label) % len(letters)], tuple(letters))

    def _pair(self, text: str) -> Asked:
        flat = plain(text)
        backward = flat[::-1]
        for sample_a, sample_b, item in self._pairs:
            first, second = _start(backward, sample_a), _start(backward, sample_b)
            if first >= 0 and second >= 0 and first != second:
                key = item.better if first < second else _other_of(item.better)
                order = "forward" if first < second else "reverse"
                return Asked("pair", item.item_id, key, ("A", "B"), variant=order, metadata=item.metadata)
        one, other = _works_in(text) or (flat, "")
        label = _hashed("\x1f".join(sorted((one, other))))
        better = "AB"[_number(label) % 2]  # of the two in order of their texts, so that both orders have one key
        key = better if one <= other else _other_of(better)
        return Asked("pair", label, key, ("A", "B"), variant="forward" if one <= other else "reverse")

    def _work(self, text: str) -> Asked:
        flat = plain(text)
        found = _last(flat, self._student_works)
        if found is None:
            label = _hashed(flat)
            return Asked("work", label, LEVELS[_number(label) % len(LEVELS)], LEVELS)
        return Asked("work", found[1].item_id, found[1].level, LEVELS, metadata=found[1].metadata)


def plain(text: str) -> str:
    r"""Return a text with single spaces for all white space, so that line breaks do not matter.

    Examples
    --------
    >>> plain("She ___ tea.\nA. drink  B. drinks")
    'She ___ tea. A. drink B. drinks'
    """
    return " ".join(text.split())


def _backward(text: str) -> str:
    """Return a plain text backward: the first place found in a backward text is the last one, and ``find`` never takes long.

    ``str.rfind`` does, by the product of both lengths, where texts repeat themselves.
    """
    return plain(text)[::-1]


def _start(backward: str, words: str) -> int:
    """Return where words begin that stand last in a text, both written backward; -1 if they do not."""
    at = backward.find(words)
    return -1 if at < 0 else len(backward) - at - len(words)


def _works_in(text: str) -> tuple[str, str] | None:
    """Return the works below the first heading of sample A and the last of sample B, None without these."""
    first = _HEADING_A.search(text)
    headings = [] if first is None else [*_HEADING_B.finditer(text, first.end())]
    if first is None or not headings:
        return None
    after = _AFTER_WORKS.search(text, headings[-1].end())
    end = len(text) if after is None else after.start()
    return plain(text[first.end() : headings[-1].start()]), plain(text[headings[-1].end() : end])


def _last(flat: str, known: Iterable[tuple[str, Any]]) -> tuple[int, Any] | None:
    """Return where the text ends that ends last, of these the longest, and what it stands for; ``known`` is written backward."""
    best: tuple[int, int, Any] | None = None
    backward = flat[::-1]
    for words, item in known:
        start = _start(backward, words) if words else -1
        if start >= 0 and (best is None or (start + len(words), len(words)) > best[:2]):
            best = (start + len(words), len(words), item)
    return None if best is None else (best[0], best[2])


def _run(flat: str) -> str:
    """Return the letters of the last options in a text, "" for none."""
    letters = "".join(mark[1] for mark in _MARKS.finditer(flat))
    rest = letters[letters.rfind("AB") :] if "AB" in letters else ""
    return "".join(letter for letter, expected in zip(rest, LETTERS, strict=False) if letter == expected)


def _letters_of(flat: str, options: Sequence[str]) -> str | None:
    """Return the letter before each option, None unless all are there, each once."""
    marks = [*_MARKS.finditer(flat)]
    if not marks:
        return None
    ends = [mark.start() for mark in marks[1:]] + [len(flat)]
    texts = [plain(option) for option in options]
    found: dict[str, str] = {}
    for mark, end in zip(marks, ends, strict=True):
        said = flat[mark.end() : end].strip()
        for text in texts:
            last = mark is marks[-1] and said.startswith(text)
            if text not in found and (said == text or last):
                found[text] = mark[1]
    letters = "".join(found.get(text, "") for text in texts)
    return letters if len(letters) == len(set(letters)) == len(options) else None


def _hashed(text: str) -> str:
    return f"{UNKNOWN}{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def _number(label: str) -> int:
    return int(label.rpartition("-")[2], 16)


def _other_of(letter: str) -> str:
    return "B" if letter == "A" else "A"


def _read(kind: str, source: Any) -> Iterator[Any]:
    if isinstance(source, str | Path):
        yield from (_sample(name) for name in _SAMPLES[kind]) if source == "sample" else [_reader(kind)(source)]
    else:
        yield source


@cache
def _sample(name: str) -> Any:
    from psychoedu.runners.banks import sample

    return sample(name)


def _reader(kind: str) -> Callable[[Any], Any]:
    from psychoedu.runners import banks

    found: Callable[[Any], Any] = getattr(banks, f"load_{kind}")
    return found
