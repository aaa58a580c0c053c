"""Identifiability: what a Q-matrix allows a model to tell, before any data are seen.

Sources
-------
DINA and DINO, strictly: Gu, Y. and Xu, G. (2019), The sufficient and necessary condition for the identifiability and
estimability of the DINA model, Psychometrika 84, 468-483 (arXiv 1711.03174), Theorem 1: with 1 - slip > guessing and every
profile present, the parameters are identifiable if and only if (1) Q is complete (an identity matrix among its rows) and every
attribute is required by at least three items, and (2) the columns of the other rows are distinct. It closes the gap left by Xu,
G. and Zhang, S. (2016), Psychometrika 81, 625-649. DINO with responses and profiles turned round is DINA, so it
needs the same.

DINA and DINO, generically (for almost all parameters): Gu, Y. and Xu, G. (2021), Sufficient and necessary conditions for the
identifiability of the Q-matrix, Statistica Sinica 31, 449-472 (arXiv 1810.03819), Theorem 2, on attributes required by two items.

G-DINA and other general models, strictly: Xu, G. (2017), Annals of Statistics 45, 675-707, Theorem 1: sufficient are (C1) two
identity matrices among the rows and (C2) for every attribute k another item with different probabilities for profiles 0 and e_k.
With a third identity matrix C2 follows from Q alone (Xu, G., 2019, in von Davier and Lee, Handbook of Diagnostic Classification
Models, 333-357; Fang, G., Liu, J. and Ying, Z., 2019, Psychometrika 84, 19-40, by Kruskal's theorem). The DINA condition is
necessary for G-DINA, whose parameters include those of DINA.

G-DINA and other general models, generically: Gu and Xu (2021), Theorem 4: sufficient are (D) two separate sets of K items, each
of which can be ordered to require attribute 1, 2, ..., K in turn (generically complete), and (E) every attribute in one more
item; Theorem 5: that Q is generically complete is necessary. See also Gu, Y. and Xu, G. (2020), Annals of Statistics 48,
2082-2107.

Here these results are read as naming the latent classes up to a relabelling, or as assuming that mastery raises probabilities: Q
may meet (D) and (E) and still allow relabellings. Those that Q allows are counted apart, by
:func:`psychoedu.cdm.conditions.swap_counts`; that is a property of Q and needs no published theorem.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import BoolArray, IntArray
from psychoedu.cdm import conditions
from psychoedu.cdm.models import MODELS, canonical_model
from psychoedu.cdm.profiles import all_profiles, profile_labels
from psychoedu.cdm.q_matrix import QMatrix, as_q_matrix
from psychoedu.exceptions import DataError
from psychoedu.validation import counted, listed, shown

_GU_XU_2019 = "Gu and Xu (2019), Theorem 1, arXiv 1711.03174"
_GU_XU_2021 = "Gu and Xu (2021), arXiv 1810.03819"
_COMPLETE = "the items tell all profiles apart"
_DINA_TOO = "strict identifiability under DINA"
_GENERIC = "generic identifiability"
_PURE = ("conjunctive", "disjunctive", "single")
_XU_2017 = "Xu (2017), Theorem 1; Xu (2019)"


@dataclass(frozen=True, eq=False, repr=False)
class IdentifiabilityReport:
    """What a Q-matrix allows a model to tell; made by :func:`check_identifiability`.

    Attributes
    ----------
    q_matrix : QMatrix
    item_models : tuple of str, (J,)
    complete : bool
        Whether no two profiles look alike to all items.
    strict : bool or None
        Whether all parameters are identifiable, given 1 - slip > guessing or the like; None where no condition decides.
    generic : bool or None
        The same for almost all parameters, up to relabellings of the profiles; None where no published condition decides.
    conditions : DataFrame
        condition, holds (True, False or None), detail and source.
    swaps : DataFrame by attribute
        ``always_with`` (the other attributes in every item that requires this one) and ``n_swaps``, the label swaps that leave
        the likelihood of a saturated structure unchanged; 1 is the plain reflection, which "mastery raises the probability"
        settles.
    n_equal_solutions : int
        Relabellings of the profiles with the same likelihood, the identity included.
    undetermined : ndarray of bool, (K,)
        Attributes whose mastery Q leaves open: profiles that differ in them look alike, or can be exchanged.
    """

    q_matrix: QMatrix
    item_models: tuple[str, ...]
    complete: bool
    strict: bool | None
    generic: bool | None
    conditions: pd.DataFrame
    swaps: pd.DataFrame
    n_equal_solutions: int
    undetermined: BoolArray

    @property
    def model(self) -> str:
        """The model of all items, or "mixed"."""
        return self.item_models[0] if len(set(self.item_models)) == 1 else "mixed"

    @property
    def n_swaps(self) -> int:
        """Label swaps of all attributes that leave the likelihood of a saturated structure unchanged."""
        return int(self.swaps["n_swaps"].sum())

    @property
    def attributes_affected(self) -> tuple[Any, ...]:
        """Labels of the attributes whose classification the design does not determine."""
        return tuple(self.q_matrix.attribute_labels[self.undetermined])

    @property
    def identified(self) -> bool | None:
        """Whether classifications can be read as they stand; None where no published condition decides."""
        if self.undetermined.any() or self.generic is False:
            return False
        return True if self.strict or self.generic else None

    @cached_property
    def class_of(self) -> IntArray:
        """The class of each of the 2^K profiles, (L,), numbered from 0; profiles of one class look alike to every item."""
        kinds = [conditions.KINDS[model] for model in self.item_models]
        classes = conditions.profile_classes(self.q_matrix.values, kinds)
        classes.flags.writeable = False
        return classes

    @cached_property
    def classes(self) -> pd.DataFrame:
        """A row per class of profiles that look alike: ``profiles`` and ``undetermined`` (attributes), tuples; ``n_profiles``."""
        alpha = all_profiles(self.q_matrix.n_attributes)
        varying = conditions.varying_attributes(self.class_of, alpha)
        members: list[list[str]] = [[] for _ in range(len(varying))]
        for label, number in zip(profile_labels(alpha), self.class_of, strict=True):
            members[number].append(label)
        names = self.q_matrix.attribute_labels
        return pd.DataFrame(
            {
                "profiles": [tuple(labels) for labels in members],
                "n_profiles": [len(labels) for labels in members],
                "undetermined": [tuple(names[row]) for row in varying],
            },
            index=pd.RangeIndex(len(members), name="class"),
        )

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What a user has to know before a fit, a text each; none where the design determines everything."""
        return tuple(text for text in (self._merged(), self._swappable(), self._failing()) if text)

    def _merged(self) -> str:
        if self.complete:
            return ""
        merged = self.classes[self.classes["n_profiles"] > 1]
        groups = ["{" + _few(profiles) + "}" for profiles in merged["profiles"].iloc[:5]]
        more = f" and {len(merged) - 5:,} more" if len(merged) > 5 else ""
        names = self.q_matrix.attribute_labels
        open_ = names[np.isin(names, [label for labels in merged["undetermined"] for label in labels])]
        lone = "" if self.model == "mixed" else " Expected an item for each attribute that requires it alone."
        return (
            f"Under {self.model} the Q-matrix cannot tell apart the profiles of {len(merged):,} "
            f"class{'es' if len(merged) > 1 else ''}: {', '.join(groups)}{more}.\n"
            f"Mastery of {_attributes(open_)} is not determined, whatever the data.{lone}\n"
            "Read only the sums over a class, or add such items."
        )

    def _swappable(self) -> str:
        partial = self.swaps["n_swaps"] > 1
        shared = self._shared_columns() & ~partial.to_numpy()
        if not partial.any():
            if not shared.any() or self.n_equal_solutions == 1 or not self.complete:
                return ""
            return (
                f"Attributes {listed(self.q_matrix.attribute_labels[shared])} are required by the same items, so under "
                f"{self.model} they can be exchanged without changing the likelihood.\n"
                "Expected columns of the Q-matrix that differ. Their classification is not determined; merge them, or add items."
            )
        names, always = self.swaps.index[partial], dict(self.swaps["always_with"].items())
        pairs = [f"{shown(name)} always with {listed(always[name])}" for name in names[:5]]
        more = f"; and {len(names) - 5:,} more" if len(names) > 5 else ""
        return (
            f"Under {self.model} mastery and non-mastery can be swapped, without changing the likelihood, inside each pattern of "
            f"the attributes that always come along: {'; '.join(pairs)}{more}.\n"
            f"There are {self.n_swaps:,} such swaps, so {_power(self.n_equal_solutions)} equal solutions; no data can classify "
            f"{_attributes(names)}. Expected items of each that have no other attribute in common.\n"
            "Add items that require them without the others, or defend a model without interactions (ACDM, LLM, RRUM)."
        )

    def _failing(self) -> str:
        pure = conditions.family(self.q_matrix.values, [conditions.KINDS[name] for name in self.item_models]) in _PURE
        if self.generic is False or (pure and self.strict is False):
            failed = self.conditions[[holds is False for holds in self.conditions["holds"]]]
            failed = failed[~failed["condition"].isin([_COMPLETE, _DINA_TOO])]
            if (failed["condition"] != _GENERIC).any():
                failed = failed[failed["condition"] != _GENERIC]
            degrees = {True: "", False: ", and generic identifiability too", None: "; whether the generic holds is not known"}
            texts = [f"{row.condition} ({row.detail})" for row in failed.itertuples()]
            sources = "; ".join(dict.fromkeys(str(source) for source in failed["source"]))
            return (
                f"Strict identifiability of {self.model} fails{degrees[self.generic]}. Not met: {'; '.join(texts)}.\n"
                f"Expected of the Q-matrix by: {sources}.\n"
                "Add items, or trust no estimate before solutions of many starts agree."
            )
        if self.generic is None and not self.strict:
            return (
                f"No published condition says whether the parameters of {self.model} are identifiable with this Q-matrix.\n"
                "Expected two separate sets of items that cover the attributes one by one, and each attribute in an item more "
                f"({_GU_XU_2021}).\n"
                "Add items, or trust no estimate before solutions of many starts agree."
            )
        return ""

    def _shared_columns(self) -> BoolArray:
        return ~conditions.columns_distinct(self.q_matrix.values)

    def summary(self) -> str:
        """Return the findings as fixed-width text."""
        words = {True: "yes", False: "NO", None: "not decided by published conditions"}
        q = self.q_matrix
        solutions = f"{_power(self.n_equal_solutions)} equal solution{'s' if self.n_equal_solutions > 1 else ''}"
        lines = [
            f"Identifiability of {self.model}: {counted(q.n_items, 'item')}, {counted(q.n_attributes, 'attribute')}",
            "",
            f"  profiles told apart    {'all' if self.complete else 'NOT all'}",
            f"  strictly               {words[self.strict]}",
            f"  generically            {words[self.generic]} (up to relabelling of the profiles)",
            f"  label swaps            {self.n_swaps:,}, {solutions}",
            f"  not determined         {listed(self.attributes_affected) or 'none'}",
            "",
        ]
        table = self.conditions.assign(holds=[words[value] if value is not None else "?" for value in self.conditions["holds"]])
        lines += [f"  {row.condition}: {row.holds}; {row.detail} [{row.source}]" for row in table.itertuples()]
        if not self.complete and q.n_attributes <= 10:
            merged = self.classes[self.classes["n_profiles"] > 1]
            lines += ["", "  classes of profiles that look alike:"]
            lines += [f"    {{{_few(profiles, 16)}}}" for profiles in merged["profiles"].iloc[:20]]
        lines += [f"\n{text}" for text in self.warnings]
        return "\n".join(lines)

    def __repr__(self) -> str:
        words = {True: "identified", False: "NOT identified", None: "not decided"}
        affected = f", not determined: {listed(self.attributes_affected)}" if self.undetermined.any() else ""
        return f"IdentifiabilityReport({self.model}: {words[self.identified]}{affected})"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.summary())}</pre>"


def check_identifiability(q_matrix: Any, model: str | Sequence[str] = "G-DINA") -> IdentifiabilityReport:
    """Check what a Q-matrix allows a model to tell, without data.

    Parameters
    ----------
    q_matrix : QMatrix, DataFrame or array
    model : str, or a sequence of one an item
        "G-DINA", "DINA", "DINO", "ACDM", "RRUM" or "LLM"; case and hyphen do not matter.

    Returns
    -------
    IdentifiabilityReport
        ``.warnings`` are texts; this function warns of nothing itself.

    Raises
    ------
    QMatrixError, LabelError, DataError
        The Q-matrix is not one, or a model is unknown.

    Notes
    -----
    The theorems are about a saturated structure in which every profile occurs; a higher-order or independent structure has fewer
    parameters and can tell more, but only by its own shape. Missing by design is not considered: with two forms the conditions
    should hold for each form too. Sources are given in the module's docstring.

    Examples
    --------
    >>> report = check_identifiability([[1, 0], [1, 1], [1, 1]], "DINA")
    >>> report.complete, report.attributes_affected
    (False, ('A2',))
    >>> report.classes["profiles"].tolist()
    [('00', '01'), ('10',), ('11',)]
    >>> check_identifiability([[1, 0], [0, 1], [1, 1]] * 3).identified
    True
    """
    matrix = as_q_matrix(q_matrix)
    models = _item_models(model, matrix)
    q = matrix.values
    kinds = [conditions.KINDS[name] for name in models]
    family = conditions.family(q, kinds)
    seen = conditions.seen_attributes(q, kinds)
    complete = bool(seen.all())
    unseen: BoolArray = np.zeros(matrix.n_attributes, dtype=np.bool_)
    if not complete:
        alpha = all_profiles(matrix.n_attributes)
        classes = conditions.profile_classes(q, kinds, alpha)
        unseen = np.asarray(conditions.varying_attributes(classes, alpha).any(axis=0))
        complete = not unseen.any()
    swaps = conditions.swap_counts(q, kinds)
    exchangeable = (swaps > 1) | ((swaps == 1) & ~conditions.columns_distinct(q))
    together = conditions.always_with(q)
    table = pd.DataFrame(
        {"always_with": [tuple(matrix.attribute_labels[row]) for row in together], "n_swaps": swaps},
        index=matrix.attribute_labels,
    )
    rows = [_complete_row(matrix, unseen, complete), _count_row(matrix, kinds)]
    decide = _decide_dina if family in _PURE else _decide_general
    strict, generic, more = decide(matrix, family)
    if not complete or rows[1][1] is False:
        strict = generic = False
    return IdentifiabilityReport(
        matrix,
        models,
        complete,
        strict,
        generic,
        pd.DataFrame([*rows, *more], columns=["condition", "holds", "detail", "source"]).astype({"holds": object}),
        table,
        conditions.relabellings(q, kinds),
        unseen | exchangeable,
    )


Row = tuple[str, bool | None, str, str]


def _item_models(model: str | Sequence[str], matrix: QMatrix) -> tuple[str, ...]:
    given = [model] * matrix.n_items if isinstance(model, str) else list(model)
    if len(given) != matrix.n_items:
        raise DataError(
            f"model names {counted(len(given), 'model')} for {counted(matrix.n_items, 'item')}. Expected one, or one an item."
        )
    names = [canonical_model(name) if isinstance(name, str) else None for name in given]
    unknown = [name for name, known in zip(given, names, strict=True) if known is None]
    if unknown:
        raise DataError(f"Unknown model: {listed(list(dict.fromkeys(unknown)))}. Expected one of {', '.join(MODELS)}.")
    return tuple(name for name in names if name is not None)


def _complete_row(matrix: QMatrix, unseen: BoolArray, complete: bool) -> Row:
    detail = "all profiles look different" if complete else f"open: {listed(matrix.attribute_labels[unseen])}"
    return _COMPLETE, complete, detail, "Chiu, Douglas and Li (2009); Koehn and Chiu (2017)"


def _count_row(matrix: QMatrix, kinds: Sequence[str]) -> Row:
    found = conditions.too_many_parameters(matrix.values, kinds)
    detail = "for every set of up to three attributes, and for all"
    if found is not None:
        chosen, needed, offered = found
        names = listed(matrix.attribute_labels[list(chosen)])
        detail = f"{names}: {needed:,} parameters, {offered:,} probabilities"
    return "parameters do not outnumber the probabilities that carry them", found is None, detail, "a count"


def _named(matrix: QMatrix, wrong: BoolArray, otherwise: str) -> str:
    return f"not {listed(matrix.attribute_labels[wrong])}" if wrong.any() else otherwise


def _decide_dina(matrix: QMatrix, family: str) -> tuple[bool | None, bool | None, list[Row]]:
    q = matrix.values
    alone, counts, apart = conditions.single_items(q), q.sum(axis=0), conditions.remainder_distinct(q)
    few = counts < 3
    numbers = ", ".join(f"{shown(matrix.attribute_labels[k])} by {counts[k]}" for k in np.flatnonzero(few)[:5])
    generic, reason = conditions.generic_dina(q)
    rows: list[Row] = [
        ("every attribute alone in an item", not (alone < 1).any(), _named(matrix, alone < 1, "an identity matrix"), _GU_XU_2019),
        ("every attribute in three items or more", not few.any(), numbers or f"fewest {counts.min()}", _GU_XU_2019),
        ("distinct columns of the other items", bool(apart.all()), _named(matrix, ~apart, "all differ"), _GU_XU_2019),
        (_GENERIC, generic, reason, f"{_GU_XU_2021}, Theorem 2"),
    ]
    return conditions.is_strict_dina(q), generic, rows


def _decide_general(matrix: QMatrix, family: str) -> tuple[bool | None, bool | None, list[Row]]:
    q = matrix.values
    alone, counts = conditions.single_items(q), q.sum(axis=0)
    three = bool((alone >= 3).all())
    two = bool((alone >= 2).all() and (counts >= 3).all())
    detail = "three identity matrices" if three else f"not {listed(matrix.attribute_labels[alone < 3])}"
    rows: list[Row] = [("every attribute alone in three items", three or None, detail, _XU_2017)]
    if two and not three:
        rows.append(
            (
                "two identity matrices, and every attribute in an item more",
                None,
                "enough if in that item profiles 0 and e_k differ for every attribute k",
                "Xu (2017), Theorem 1",
            )
        )
    strict: bool | None = True if three else None
    if family == "mixed":
        return strict, strict, rows
    if family == "saturated" and not conditions.is_strict_dina(q):
        strict = False
        text = "needed, as G-DINA includes DINA"
        rows.append((_DINA_TOO, False, text, _GU_XU_2019))
    matched = conditions.generically_complete(q)
    parts = conditions.three_parts(q) if matched else False
    rows.append(("generically complete", matched, "an item of its own for every attribute", f"{_GU_XU_2021}, Theorem 5"))
    detail = {True: "conditions D and E", False: "conditions D and E fail", None: "search given up"}[parts]
    rows.append(
        (
            "two generically complete sets of items, and every attribute in an item more",
            parts or None,
            detail,
            f"{_GU_XU_2021}, Theorem 4",
        )
    )
    generic = False if not matched else True if parts or strict else None
    return strict, generic, rows


def _few(labels: Sequence[str], most: int = 8) -> str:
    text = ", ".join(labels[:most])
    return text if len(labels) <= most else f"{text}, ... {len(labels) - most:,} more"


def _attributes(names: pd.Index) -> str:
    return f"attribute{'s' if len(names) > 1 else ''} {listed(names)}"


def _power(number: int) -> str:
    """Write a count of solutions, a large power of two as such."""
    if number < 10_000:
        return f"{number:,}"
    exponent = number.bit_length() - 1
    return f"2^{exponent}" if number == 1 << exponent else f"about 2^{exponent}"
