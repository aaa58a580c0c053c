"""Memory of a diagnosis, estimated before any of it is taken: profiles double with every attribute."""

from __future__ import annotations

from dataclasses import dataclass

from psychoedu.exceptions import MemoryLimitError

DEFAULT_LIMIT = 4_000_000_000
"""Bytes above which a diagnosis is refused unless asked otherwise."""
_NUMBER = 8
_PROFILE_TABLES = 6
"""Items x profiles at a time: probabilities, their logit, log of failure, expected right and observed, one in work."""
_SQUARES = 3
"""Information, its inverse and the workspace of the inversion."""
_WORK_CELLS = 131_072


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes by what takes them, and the sizes that they come from."""

    n_rows: int
    n_items: int
    n_attributes: int
    n_profiles: int
    structure: str
    parts: dict[str, int]

    @property
    def total(self) -> int:
        """Bytes in all."""
        return sum(self.parts.values())

    @property
    def largest(self) -> str:
        """The part that takes most."""
        return max(self.parts, key=lambda name: self.parts[name])


def estimate_memory(
    n_rows: int,
    n_items: int,
    n_attributes: int,
    n_profiles: int | None = None,
    *,
    structure: str = "higher-order",
    n_item_parameters: int | None = None,
    n_points: int = 61,
    standard_errors: bool = True,
) -> MemoryEstimate:
    """Estimate the peak memory of fitting and scoring a cognitive diagnosis model.

    Parameters
    ----------
    n_rows : int
        Respondents, or distinct response patterns where the posteriors of these alone are kept.
    n_items, n_attributes : int
    n_profiles : int, optional
        Profiles; 2^K by default, fewer with an attribute hierarchy.
    structure : {"higher-order", "independent", "saturated"}
        The saturated structure has n_profiles - 1 parameters of its own, and their information is a square matrix.
    n_item_parameters : int, optional
        Free item parameters; four an item by default.
    n_points : int
        Quadrature points of the higher-order structure.
    standard_errors : bool
        Whether the information matrix is made.

    Returns
    -------
    MemoryEstimate

    Notes
    -----
    Counted are, in doubles: the posterior of every row and profile (N L); six tables of items by profiles (J L); the responses
    (N J bytes, and one copy as doubles); the structure (two tables L n_points where it is higher-order); three square matrices of
    the parameters. What Python and the libraries take themselves, some 150 MB, is left out.

    Examples
    --------
    >>> estimate_memory(5_000, 60, 12).total < 1_000_000_000
    True
    >>> size_text(estimate_memory(1_000, 30, 20).total)
    '11 GB'
    """
    profiles = 2**n_attributes if n_profiles is None else n_profiles
    own = {"saturated": profiles - 1, "independent": n_attributes}.get(structure, 2 * n_attributes)
    parameters = (4 * n_items if n_item_parameters is None else n_item_parameters) + own
    parts = {
        "posteriors of respondents by profiles": n_rows * profiles * _NUMBER,
        "tables of items by profiles": _PROFILE_TABLES * n_items * profiles * _NUMBER,
        "responses": n_rows * n_items * (1 + _NUMBER),
        "structure": profiles * _NUMBER * (2 * n_points if structure == "higher-order" else 4),
        "information matrix of the parameters": _SQUARES * parameters**2 * _NUMBER if standard_errors else 0,
        "work space": 2 * _WORK_CELLS * _NUMBER,
    }
    return MemoryEstimate(n_rows, n_items, n_attributes, profiles, structure, parts)


def check_memory(
    n_rows: int,
    n_items: int,
    n_attributes: int,
    n_profiles: int | None = None,
    *,
    structure: str = "higher-order",
    n_item_parameters: int | None = None,
    n_points: int = 61,
    standard_errors: bool = True,
    limit: float = DEFAULT_LIMIT,
) -> MemoryEstimate:
    """Refuse a diagnosis that would take more memory than a limit in bytes, before any is taken.

    Parameters
    ----------
    n_rows, n_items, n_attributes, n_profiles, structure, n_item_parameters, n_points, standard_errors
        As in :func:`estimate_memory`.
    limit : float
        Bytes.

    Returns
    -------
    MemoryEstimate

    Raises
    ------
    MemoryLimitError
        The estimate is above the limit; the message says what takes the memory and how to need less.
    """
    estimate = estimate_memory(
        n_rows,
        n_items,
        n_attributes,
        n_profiles,
        structure=structure,
        n_item_parameters=n_item_parameters,
        n_points=n_points,
        standard_errors=standard_errors,
    )
    if estimate.total <= limit:
        return estimate
    advice = ["restrict the profiles by an attribute hierarchy", "merge attributes"]
    if structure == "saturated":
        advice.insert(0, 'take structure="higher-order", which has 2 parameters an attribute instead of one a profile')
    raise MemoryLimitError(
        f"{n_attributes} attributes make {estimate.n_profiles:,} profiles; with {n_items:,} items and {n_rows:,} respondents "
        f"that takes about {size_text(estimate.total)}, most of it for the {estimate.largest}.\n"
        f"Expected at most {size_text(limit)}; nothing was allocated.\n"
        f"To need less, {', or '.join(advice)}; or raise the limit."
    )


def size_text(n_bytes: float) -> str:
    """Write a number of bytes with two digits, as in '340 MB' or '1.2 GB'.

    Examples
    --------
    >>> size_text(1_234_567_890), size_text(340e6)
    ('1.2 GB', '340 MB')
    """
    amount = float(n_bytes)
    for unit in ("bytes", "kB", "MB", "GB", "TB", "PB"):
        if amount < 999.5 or unit == "PB":
            break
        amount /= 1000.0
    digits = f"{amount:.1f}" if amount < 9.95 and unit != "bytes" else f"{amount:.0f}"
    return f"{digits.removesuffix('.0')} {unit}"
