"""Several people's Q-matrices: their agreement, their consensus, and where they disagree."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import AnyArray, BoolArray, CodeArray, FloatArray
from psychoedu.exceptions import DataError, DuplicateLabelError, LabelError, QMatrixError
from psychoedu.validation import SHOWN, check_choice, check_columns, counted, listed, shown

TIE_RULES = ("raise", "one", "zero", "lead")
_ALIKE = "all coders gave every item the same value, so that chance agreement is 1"


@dataclass(frozen=True, eq=False, repr=False)
class CoderAgreement:
    """How far coders agree on which item requires which attribute.

    Attributes
    ----------
    coders, item_labels, attribute_labels : Index
        (R,), (J,) and (K,).
    codes : ndarray of int8, (R, J, K)
        What each coder gave, read-only.
    consensus : ndarray of int8, (J, K)
        The majority, ties by the rule.
    tie_rule : str
    lead_coder : label or None
    """

    coders: pd.Index
    item_labels: pd.Index
    attribute_labels: pd.Index
    codes: CodeArray
    consensus: CodeArray
    tie_rule: str
    lead_coder: Hashable | None

    @property
    def n_coders(self) -> int:
        """Number of coders."""
        return len(self.coders)

    @cached_property
    def agreement(self) -> pd.DataFrame:
        """Agreement by attribute.

        ``n_items``; ``share_ones`` (of all codings); ``unanimous`` (share of the items on which all agree); ``pairwise`` (share
        of agreeing pairs of coders); ``fleiss_kappa`` (Fleiss, 1971, Psychological Bulletin 76, 378-382); ``cohen_kappa``
        (Cohen, 1960, Educational and Psychological Measurement 20, 37-46; where there are more than two coders its mean over the
        pairs, as Light, 1971); ``reason``, why a kappa is missing.
        """
        rows = []
        for k in range(len(self.attribute_labels)):
            codes = self.codes[:, :, k]
            ones = codes.sum(axis=0, dtype=np.int64)
            kappas = np.array([cohen_kappa(codes[r], codes[s]) for r, s in combinations(range(self.n_coders), 2)])
            fleiss = fleiss_kappa(ones, self.n_coders)
            defined = kappas[np.isfinite(kappas)]
            cohen = float(defined.mean()) if defined.size else np.nan
            reason = _ALIKE if np.isnan(fleiss) else ""
            if not reason and defined.size < kappas.size:
                reason = f"Cohen's kappa is undefined for {kappas.size - defined.size} of {kappas.size} pairs of coders, left out"
            rows.append(
                {
                    "n_items": codes.shape[1],
                    "share_ones": codes.mean(),
                    "unanimous": ((ones == 0) | (ones == self.n_coders)).mean(),
                    "pairwise": pairwise_agreement(ones, self.n_coders).mean(),
                    "fleiss_kappa": fleiss,
                    "cohen_kappa": cohen,
                    "reason": reason,
                }
            )
        return pd.DataFrame(rows, index=self.attribute_labels)

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """Agreement and Cohen's kappa of each pair of coders, a row per pair and attribute."""
        rows = []
        for r, s in combinations(range(self.n_coders), 2):
            for k, name in enumerate(self.attribute_labels):
                one, two = self.codes[r, :, k], self.codes[s, :, k]
                rows.append((self.coders[r], self.coders[s], name, (one == two).mean(), cohen_kappa(one, two)))
        return pd.DataFrame(rows, columns=["coder_1", "coder_2", "attribute", "agreement", "cohen_kappa"])

    @cached_property
    def disagreements(self) -> pd.DataFrame:
        """The cells on which not all agree: item, attribute, each coder's value, n_ones, n_coders, tied, consensus."""
        ones = self.codes.sum(axis=0, dtype=np.int64)
        j, k = np.nonzero((ones > 0) & (ones < self.n_coders))
        parts: dict[Hashable, Any] = {"item": self.item_labels[j], "attribute": self.attribute_labels[k]}
        parts |= {f"coder_{coder}": self.codes[r, j, k] for r, coder in enumerate(self.coders)}
        parts |= {
            "n_ones": ones[j, k],
            "n_coders": np.full(j.size, self.n_coders),
            "tied": 2 * ones[j, k] == self.n_coders,
            "consensus": self.consensus[j, k],
        }
        return pd.DataFrame(parts)

    @property
    def ties(self) -> pd.DataFrame:
        """The disagreements in which as many coders gave 1 as 0; the tie rule decided these."""
        return self.disagreements[self.disagreements["tied"]].reset_index(drop=True)

    def summary(self) -> str:
        """Return agreement by attribute and the number of disagreements as fixed-width text."""
        table = self.agreement.drop(columns=["reason"]).to_string(float_format=lambda value: f"{value:.3f}", na_rep="-")
        lines = [f"Agreement of {counted(self.n_coders, 'coder')}: {listed(self.coders)}", "", table, ""]
        rule = f", decided by ties={self.tie_rule!r}" if len(self.ties) else ""
        cells = len(self.item_labels) * len(self.attribute_labels)
        lines.append(f"{len(self.disagreements):,} of {cells:,} cells disagreed on; {len(self.ties):,} ties{rule}.")
        lines += [f"Note: {name}: {text}." for name, text in self.agreement["reason"].items() if text]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists that ``from_dict`` turns back into an equal object."""
        return {
            "coders": self.coders.tolist(),
            "items": self.item_labels.tolist(),
            "attributes": self.attribute_labels.tolist(),
            "codes": self.codes.tolist(),
            "ties": self.tie_rule,
            "lead_coder": self.lead_coder,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> CoderAgreement:
        """Build the object from what ``to_dict`` gave."""
        labels = [pd.Index(content[name], name=axis) for name, axis in zip(("coders", "items", "attributes"), _AXES, strict=True)]
        codes = np.array(content["codes"], dtype=np.int8)
        return consensus(labels[0], labels[1], labels[2], codes, content["ties"], content["lead_coder"])

    def __repr__(self) -> str:
        sizes = f"{counted(len(self.item_labels), 'item')} x {counted(len(self.attribute_labels), 'attribute')}"
        return f"CoderAgreement({counted(self.n_coders, 'coder')}, {sizes}, {len(self.disagreements):,} disagreements)"

    def _repr_html_(self) -> str:
        return str(self.agreement.to_html(float_format=lambda value: f"{value:.3f}"))


_AXES = ("coder", "item", "attribute")


def pairwise_agreement(ones: AnyArray, n_coders: int) -> FloatArray:
    """Return, for each item, the share of the pairs of coders that agree."""
    zeros = n_coders - ones
    return np.asarray((ones * (ones - 1) + zeros * (zeros - 1)) / (n_coders * (n_coders - 1)), dtype=np.float64)


def fleiss_kappa(ones: AnyArray, n_coders: int) -> float:
    """Return Fleiss' kappa of 0/1 codings, nan where every coding has one value.

    Examples
    --------
    >>> round(fleiss_kappa(np.array([3, 0, 2, 3]), 3), 4)
    0.625
    """
    share = float(ones.sum()) / (n_coders * ones.size)
    by_chance = share**2 + (1.0 - share) ** 2
    if share in (0.0, 1.0):
        return float("nan")
    return (float(pairwise_agreement(ones, n_coders).mean()) - by_chance) / (1.0 - by_chance)


def cohen_kappa(one: AnyArray, two: AnyArray) -> float:
    """Return Cohen's kappa of two 0/1 codings, nan where both gave one and the same value throughout.

    Examples
    --------
    >>> cohen_kappa(np.array([1, 1, 0, 0]), np.array([1, 0, 0, 0]))
    0.5
    """
    p, q = float(one.mean()), float(two.mean())
    by_chance = p * q + (1.0 - p) * (1.0 - q)
    if by_chance == 1.0:
        return float("nan")
    return (float((one == two).mean()) - by_chance) / (1.0 - by_chance)


def consensus(
    coders: pd.Index, items: pd.Index, attributes: pd.Index, codes: CodeArray, ties: str, lead_coder: Hashable | None
) -> CoderAgreement:
    """Take the majority of complete codings, (R, J, K), and decide ties by a rule; see ``QMatrix.from_coders``."""
    rule = check_choice(ties, TIE_RULES, "ties")
    if (rule == "lead") != (lead_coder is not None):
        raise DataError(f'lead_coder and ties="lead" go together; got ties={ties!r} and lead_coder={lead_coder!r}.')
    if rule == "lead" and lead_coder not in coders:
        raise LabelError(f"lead_coder {shown(lead_coder)} is no coder. Expected one of {listed(coders)}.")
    ones = codes.sum(axis=0, dtype=np.int64)
    tied: BoolArray = 2 * ones == len(coders)
    if rule == "raise" and tied.any():
        places = np.argwhere(tied)
        texts = [f"item {shown(items[j])}, attribute {shown(attributes[k])}" for j, k in places[:SHOWN]]
        more = f"; and {len(places) - SHOWN:,} more" if len(places) > SHOWN else ""
        raise QMatrixError(
            f"{counted(len(places), 'tie')} of {codes[0].size:,} cells: as many coders gave 1 as 0 ({'; '.join(texts)}{more}).\n"
            f'Expected a majority of the {len(coders)} coders. Pass ties="one", ties="zero", or ties="lead" with lead_coder=.'
        )
    decided = (2 * ones > len(coders)).astype(np.int8)
    if rule == "one":
        decided[tied] = 1
    elif rule == "lead":
        decided[tied] = codes[coders.get_loc(lead_coder)][tied]
    held = codes.copy()
    for array in (held, decided):
        array.flags.writeable = False
    return CoderAgreement(coders, items, attributes, held, decided, rule, lead_coder)


def read_coders(
    codings: pd.DataFrame | Mapping[Hashable, pd.DataFrame],
    coder: Hashable,
    item: Hashable,
    attribute: Hashable,
    value: Hashable,
) -> tuple[pd.Index, pd.Index, pd.Index, CodeArray]:
    """Read codings into labels, in the order met, and complete codes (R, J, K)."""
    if isinstance(codings, Mapping):
        return _from_frames(codings)
    if not isinstance(codings, pd.DataFrame):
        raise DataError(
            f"Codings are a long DataFrame or a mapping from coder to DataFrame; got {type(codings).__name__}.\n"
            "Expected a row per coder, item and attribute, or {'Ann': frame of items x attributes, ...}."
        )
    names = [
        check_columns(codings, [name], axis)[0]
        for name, axis in zip((coder, item, attribute, value), (*_AXES, "value"), strict=True)
    ]
    labels, places = [], []
    for name, axis in zip(names[:3], _AXES, strict=True):
        position, uniques = pd.factorize(codings[name])
        if (position < 0).any():
            rows = np.flatnonzero(position < 0) + 1
            raise LabelError(f"{counted(len(rows), 'row')} of the codings without a label in {name!r}: row {listed(rows)}.")
        labels.append(pd.Index(uniques, name=axis))
        places.append(position)
    _refuse_one_coder(labels[0])
    shape = tuple(len(index) for index in labels)
    counts = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, tuple(places), 1)
    _refuse_cells(counts > 1, labels, "coded more than once", DuplicateLabelError, "Keep one row for each.")
    _refuse_cells(counts == 0, labels, "not coded", DataError, "Add them, also where the value is 0.")
    cells = np.empty(shape, dtype=object)
    cells[tuple(places)] = codings[names[3]].to_numpy(dtype=object)
    return labels[0], labels[1], labels[2], _codes(cells, labels)


def _from_frames(codings: Mapping[Hashable, pd.DataFrame]) -> tuple[pd.Index, pd.Index, pd.Index, CodeArray]:
    frames = list(codings.values())
    coders = pd.Index(list(codings), tupleize_cols=False, name="coder")
    wrong = [name for name, frame in codings.items() if not isinstance(frame, pd.DataFrame)]
    if wrong:
        raise DataError(f"The codings of {listed(wrong)} are no DataFrame. Expected items x attributes, labelled, of each coder.")
    _refuse_one_coder(coders)
    tables = [frame.set_index("item") if "item" in frame.columns else frame for frame in frames]
    first = tables[0]
    for name, table in zip(coders, tables, strict=True):
        for axis, mine, theirs in (("items", table.index, first.index), ("attributes", table.columns, first.columns)):
            if not mine.is_unique:
                raise DuplicateLabelError(f"Coder {shown(name)} has {axis} twice: {listed(mine[mine.duplicated()].unique())}.")
            apart = mine.symmetric_difference(theirs)
            if len(apart):
                raise LabelError(
                    f"Coders {shown(coders[0])} and {shown(name)} coded different {axis}: {listed(apart)} by one of them only.\n"
                    f"Expected the same {axis} of every coder, in any order."
                )
    labels = [coders, first.index.rename("item"), first.columns.rename("attribute")]
    cells = np.stack([table.reindex(index=first.index, columns=first.columns).to_numpy(dtype=object) for table in tables])
    return labels[0], labels[1], labels[2], _codes(cells, labels)


def _refuse_one_coder(coders: pd.Index) -> None:
    if len(coders) < 2:
        raise DataError(
            f"{counted(len(coders), 'coder')} ({listed(coders)}); agreement needs at least two.\n"
            "One coder's matrix is made into a Q-matrix by QMatrix(frame)."
        )


def _refuse_cells(wrong: BoolArray, labels: list[pd.Index], what: str, error: type[DataError], mend: str) -> None:
    places = np.argwhere(wrong)
    if len(places) == 0:
        return
    texts = ["/".join(str(index[position]) for index, position in zip(labels, place, strict=True)) for place in places[:SHOWN]]
    more = f" and {len(places) - SHOWN:,} more" if len(places) > SHOWN else ""
    raise error(
        f"{counted(len(places), 'cell')} (coder/item/attribute) {what}: {', '.join(texts)}{more}.\n"
        f"Expected every coder to code every item and attribute once, {wrong.size:,} cells. {mend}"
    )


def _codes(cells: AnyArray, labels: list[pd.Index]) -> CodeArray:
    flat = cells.ravel()
    good = np.array([is_code(cell) for cell in flat], dtype=np.bool_).reshape(cells.shape)
    _refuse_cells(~good, labels, "neither 0 nor 1", QMatrixError, "Values are 0, 1, True or False.")
    return cells.astype(np.float64).astype(np.int8)


def is_code(cell: Any) -> bool:
    """Tell whether a cell is 0, 1, True or False; text is not, nor is a missing value."""
    if isinstance(cell, bool | np.bool_):
        return True
    return isinstance(cell, int | float | np.integer | np.floating) and cell in (0, 1)
