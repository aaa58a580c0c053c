"""The one-byte code of a cell, and how raw values become codes.

1 is right, 0 is wrong; a cell without a score has a negative code that says why (:class:`Reason`). Raw values are read in blocks,
so that beside the codes themselves only small temporaries are made. Only 0, 1 and missing values are understood by themselves;
every other value has to be declared.
"""

from __future__ import annotations

import enum
import numbers
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from psychoedu._typing import AnyArray, BoolArray, CodeArray
from psychoedu.exceptions import DataError
from psychoedu.validation import listed, shown

UNKNOWN = 127
"""Marks a raw value that is neither 0, 1, missing nor declared; it never leaves this package."""

_BLOCK_CELLS = 1 << 18  # cells read at a time: temporaries stay under a few MB and inside the cache
_NUMERIC = "biuf"


class Reason(enum.IntEnum):
    """Why a cell has no score, as the cell's code.

    ``NOT_ADMINISTERED``, ``NOT_REACHED`` and ``API_ERROR`` are always missing. ``REFUSED``, ``UNPARSED`` and ``EMPTY`` are
    invalid answers: wrong or missing, by the matrix's ``invalid`` policy.
    """

    NOT_ADMINISTERED = -1
    NOT_REACHED = -2
    API_ERROR = -3
    REFUSED = -4
    UNPARSED = -5
    EMPTY = -6

    @property
    def label(self) -> str:
        """The reason in the spelling of tables: ``not_administered``, ``refused``, ..."""
        return self.name.lower()

    @property
    def is_invalid(self) -> bool:
        """Whether an answer was given that cannot be scored."""
        return self <= Reason.REFUSED


ANSWERED = "answered"
REASON_LABELS = (ANSWERED, *(reason.label for reason in Reason))


def as_reason(value: object) -> Reason | None:
    """Read a reason by member, code or name; ``"answered"`` and a missing value give None.

    Examples
    --------
    >>> as_reason("not reached"), as_reason("answered")
    (<Reason.NOT_REACHED: -2>, None)
    """
    if isinstance(value, Reason):
        return value
    if isinstance(value, str):
        name = value.strip().lower().replace(" ", "_").replace("-", "_")
        if name in ("", ANSWERED):
            return None
        if name in REASON_LABELS:
            return Reason[name.upper()]
    elif value is None or _is_missing(value):
        return None
    elif isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) in Reason._value2member_map_:
        return Reason(int(value))
    raise DataError(f"{shown(value)} is not a reason. Expected one of: {', '.join(REASON_LABELS)}.")


@dataclass(frozen=True)
class CodeRules:
    """What raw values mean, beside 0, 1 and missing: declared values with their codes, and the code of a missing value."""

    declared: tuple[tuple[Any, int], ...] = ()
    missing: int = Reason.NOT_ADMINISTERED

    @classmethod
    def build(cls, missing_codes: Iterable[Any] | Mapping[Any, Any] = (), recode: Mapping[Any, Any] | None = None) -> CodeRules:
        """Check and combine ``missing_codes`` and ``recode`` of the constructors."""
        declared: dict[Any, int] = {}
        missing = int(Reason.NOT_ADMINISTERED)
        if recode is not None and not isinstance(recode, Mapping):
            raise DataError(f"recode has to be a mapping such as {{1: 0, 2: 1}}; got {recode!r}.")
        for raw, target in (recode or {}).items():
            code = _target_code(raw, target)
            if _is_missing(raw):
                missing = code
            else:
                declared[_checked_key(raw, "recode")] = code
        for raw, reason in _reasons_of(missing_codes):
            if _is_missing(raw):
                missing = reason
                continue
            key = _checked_key(raw, "missing_codes")
            if key in declared:
                raise DataError(f"{shown(raw)} stands in both recode and missing_codes. Expected it in one of them.")
            if not isinstance(key, str) and key in (0, 1) and not recode:
                raise DataError(
                    f"missing_codes holds {shown(raw)}, which means {'right' if key else 'wrong'} here. "
                    f"If the scores have other codes, give those with recode; to leave it out all the same: "
                    f"recode={{{shown(raw)}: None}}."
                )
            declared[key] = reason
        return cls(tuple(declared.items()), missing)

    def code_of(self, value: Any) -> int:
        """Return the code of one raw value of any type."""
        is_text = isinstance(value, str)
        if not is_text and not _is_real(value):
            return self.missing if _is_missing(value) else UNKNOWN
        for key, code in self.declared:
            if isinstance(key, str) == is_text and key == value:
                return code
        if is_text:
            return UNKNOWN
        if value != value:
            return self.missing
        return int(value) if value in (0, 1) else UNKNOWN


def _is_real(value: Any) -> bool:
    """Whether a value is a real number; Decimal is not registered as one, and pd.NA is no number."""
    return isinstance(value, numbers.Real | np.bool_) or type(value).__name__ == "Decimal"


def _is_missing(value: Any) -> bool:
    result = pd.isna(value) if pd.api.types.is_scalar(value) else False
    return result is True or (isinstance(result, np.bool_) and bool(result))


def _checked_key(raw: Any, argument: str) -> Hashable:
    if isinstance(raw, str) or _is_real(raw):
        return raw.item() if isinstance(raw, np.generic) else raw  # type: ignore[no-any-return]
    raise DataError(f"{argument} has the key {raw!r}; expected numbers or text as they stand in the data.")


def _target_code(raw: Any, target: Any) -> int:
    if isinstance(target, str | Reason):
        reason = as_reason(target)
        if reason is not None:
            return int(reason)
    elif target is None or _is_missing(target):
        return int(Reason.NOT_ADMINISTERED)
    elif _is_real(target) and target in (0, 1):
        return int(target)
    raise DataError(
        f"recode turns {shown(raw)} into {shown(target)}; expected 0 (wrong), 1 (right), None (missing) or a reason, "
        f"one of {', '.join(REASON_LABELS[1:])}."
    )


def _reasons_of(missing_codes: Any) -> list[tuple[Any, int]]:
    if isinstance(missing_codes, Mapping):
        pairs = [(raw, as_reason(reason)) for raw, reason in missing_codes.items()]
        unexplained = [raw for raw, reason in pairs if reason is None]
        if unexplained:
            raise DataError(
                f"missing_codes gives no reason for {listed(unexplained)}; expected one of {', '.join(REASON_LABELS[1:])}."
            )
        return [(raw, int(reason)) for raw, reason in pairs if reason is not None]
    if isinstance(missing_codes, str) or _is_real(missing_codes):
        raise DataError(f"missing_codes has to be a collection; got {missing_codes!r}. Write missing_codes=({missing_codes!r},).")
    return [(raw, int(Reason.NOT_ADMINISTERED)) for raw in missing_codes]


def encode_array(values: AnyArray, rules: CodeRules, mask: BoolArray | None = None) -> CodeArray:
    """Turn a two-dimensional array of raw values into codes; values that are not understood become ``UNKNOWN``.

    Parameters
    ----------
    values : ndarray of shape (N, J)
        Booleans, integers, floats, text or objects.
    rules : CodeRules
        What declared values mean.
    mask : ndarray of bool, optional
        True where a masked array hides the cell.

    Returns
    -------
    ndarray of int8, shape (N, J), C order
        A new array, whatever came in.
    """
    if values.dtype.kind not in "biufOSUT":
        raise DataError(
            f"The array holds {values.dtype} values; expected 0 (wrong), 1 (right) or missing, as booleans, integers or floats."
        )
    if values.dtype.kind in "biu" and values.dtype.itemsize == 1 and not rules.declared and mask is None:
        codes = values.astype(np.int8, order="C", copy=True)
        if values.dtype.kind == "b" or (codes.min() >= 0 and codes.max() <= 1):
            return codes
    codes = np.empty(values.shape, dtype=np.int8)
    for rows in _blocks(values.shape):
        _encode_into(codes[rows], values[rows], rules)
        if mask is not None:
            codes[rows][mask[rows]] = rules.missing
    return codes


def _blocks(shape: tuple[int, ...]) -> list[slice]:
    step = max(1, _BLOCK_CELLS // shape[1])
    return [slice(start, start + step) for start in range(0, shape[0], step)]


def encode_frame(frame: pd.DataFrame, rules: CodeRules) -> CodeArray:
    """Turn a data frame of raw values into codes, as :func:`encode_array` does."""
    dtypes = set(frame.dtypes)
    kinds = {dtype.kind if isinstance(dtype, np.dtype) else "O" for dtype in dtypes}
    if len(dtypes) == 1 and kinds <= set(_NUMERIC):
        return encode_array(frame.to_numpy(), rules)
    codes = np.empty(frame.shape, dtype=np.int8)
    if kinds <= set("iuf"):  # whole numbers beside floats: NumPy finds the common type, a block of rows at a time
        for rows in _blocks(frame.shape):
            _encode_into(codes[rows], frame.iloc[rows].to_numpy(), rules)
        return codes
    for position in range(frame.shape[1]):
        _encode_into(codes[:, position], column_values(frame.iloc[:, position]), rules)
    return codes


def column_values(column: pd.Series) -> AnyArray:
    """Return a column as a NumPy array that is numeric where the column is, and of objects otherwise."""
    dtype = column.dtype
    if isinstance(dtype, pd.SparseDtype):
        column = pd.Series(np.asarray(column), index=column.index)
        dtype = column.dtype
    if isinstance(dtype, np.dtype):
        return column.to_numpy() if dtype.kind in _NUMERIC else column.astype(object).to_numpy()
    if not isinstance(dtype, pd.CategoricalDtype) and pd.api.types.is_numeric_dtype(dtype):  # true of nullable booleans too
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return column.astype(object).to_numpy()


def _encode_into(out: CodeArray, block: AnyArray, rules: CodeRules) -> None:
    if block.dtype.kind in _NUMERIC:
        _encode_numbers(out, block, rules)
    else:
        _encode_objects(out, block.astype(object), rules)


def _encode_numbers(out: CodeArray, block: AnyArray, rules: CodeRules) -> None:
    np.equal(block, 1, out=out.view(np.bool_))
    strange = block != out  # nan differs from everything
    if strange.any():
        out[strange] = UNKNOWN
        if block.dtype.kind == "f":
            out[block != block] = rules.missing
    with np.errstate(over="ignore"):  # a declared code may not fit into float16
        for key, code in rules.declared:
            if not isinstance(key, str):
                out[block == key] = code


def _encode_objects(out: CodeArray, block: AnyArray, rules: CodeRules) -> None:
    flat = np.ascontiguousarray(block).reshape(-1)
    try:
        positions, different = pd.factorize(flat)
    except TypeError:  # cells that cannot be hashed, such as lists
        out[...] = np.array([rules.code_of(value) for value in flat], dtype=np.int8).reshape(block.shape)
        return
    table = np.array([*(rules.code_of(value) for value in different), rules.missing], dtype=np.int8)
    out[...] = table[positions].reshape(block.shape)  # position -1, a missing value, finds the last entry
