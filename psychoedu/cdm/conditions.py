"""What a Q-matrix alone says of a model: published conditions, profiles that look alike, labels that can be swapped.

Everything here takes a 0/1 array (J, K) without empty rows or columns, and a kind of model for each item: "saturated" (G-DINA),
"conjunctive" (DINA), "disjunctive" (DINO) or "additive" (ACDM, LLM, RRUM). An item with one attribute is the same under each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import factorial

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from psychoedu._typing import AnyArray, BoolArray, IntArray
from psychoedu.cdm.profiles import ProfileArray, all_profiles, reduced_index

KINDS = {
    "G-DINA": "saturated",
    "DINA": "conjunctive",
    "DINO": "disjunctive",
    "ACDM": "additive",
    "LLM": "additive",
    "RRUM": "additive",
}
MOST_COVERS = 20_000
"""How many ways of covering the attributes are tried before the search for two generically complete parts gives up."""


def family(q: ProfileArray, kinds: Sequence[str]) -> str:
    """Return the kind of all items with several attributes: "mixed" for several kinds, "single" where there is no such item."""
    several = {kind for kind, size in zip(kinds, q.sum(axis=1), strict=True) if size > 1}
    return "single" if not several else several.pop() if len(several) == 1 else "mixed"


def n_parameters(q: ProfileArray, kinds: Sequence[str]) -> IntArray:
    """Return each item's number of parameters."""
    sizes = q.sum(axis=1).astype(np.int64)
    numbers = {"saturated": 2**sizes, "additive": sizes + 1}
    return np.array([numbers[kind][j] if kind in numbers else 2 for j, kind in enumerate(kinds)], dtype=np.int64)


def single_items(q: ProfileArray) -> IntArray:
    """Count, for each attribute, the items that require it and nothing else."""
    return np.asarray(q[q.sum(axis=1) == 1].sum(axis=0), dtype=np.int64)


def columns_distinct(q: ProfileArray) -> BoolArray:
    """Tell for each attribute whether no other has the same column."""
    alike = (q.T[:, None, :] == q.T[None, :, :]).all(axis=2)
    return np.asarray(alike.sum(axis=1) == 1)


def remainder_distinct(q: ProfileArray) -> BoolArray:
    """Tell for each attribute whether its column stays unlike the others without one single-attribute item of each attribute."""
    kept = np.ones(len(q), dtype=np.bool_)
    sizes = q.sum(axis=1)
    for k in range(q.shape[1]):
        alone = np.flatnonzero((sizes == 1) & (q[:, k] == 1))
        kept[alone[:1]] = False
    return columns_distinct(q[kept])


def is_strict_dina(q: ProfileArray) -> bool:
    """Tell whether a Q-matrix meets Gu and Xu's (2019) necessary and sufficient condition for the DINA model.

    An identity matrix among the rows; every attribute required by at least three items; distinct columns of the other rows.
    """
    return bool((single_items(q) >= 1).all() and (q.sum(axis=0) >= 3).all() and remainder_distinct(q).all())


def generic_dina(q: ProfileArray) -> tuple[bool | None, str]:
    """Decide generic identifiability of DINA (and DINO) as far as Gu and Xu (2021), Theorem 2, does, with the reason."""
    n_attributes = q.shape[1]
    counts = q.sum(axis=0)
    if is_strict_dina(q):
        return True, "strictly identifiable"
    if not (single_items(q) >= 1).all():
        return False, "not complete"
    if (counts <= 1).any() or n_attributes == 1:
        return False, "an attribute is required by too few items"
    twice = [int(k) for k in np.flatnonzero(counts == 2)]
    others = {k: np.delete(q[q[:, k] == 1], k, axis=1) for k in twice}
    if any(rows.all(axis=1).any() for rows in others.values()):
        return False, "an attribute is required by two items, alone and with all others (Theorem 2a)"
    if (single_items(q) >= 2).all():
        return True, "two identity matrices (Theorem 2b)"
    for k, rows in others.items():
        if is_strict_dina(np.delete(q[q[:, k] == 0], k, axis=1)):
            if not rows.any():
                return True, "one attribute by two items alone, the rest strictly identifiable (Theorem 2b)"
            return None, "near almost every solution there is no other, elsewhere it is not known (Theorem 2c)"
    return None, "no published condition decides"


def generically_complete(q: ProfileArray, times: int = 1) -> bool:
    """Tell whether every attribute can be given ``times`` items of its own that require it (and possibly others)."""
    wanted = np.repeat(q.T, times, axis=0)
    if len(q) < len(wanted):
        return False
    matched = maximum_bipartite_matching(csr_array(wanted), perm_type="column")
    return bool((np.asarray(matched) >= 0).all())


def three_parts(q: ProfileArray) -> bool | None:
    """Tell whether the items hold two separate generically complete sets, the rest requiring every attribute at least once.

    Conditions D and E of Gu and Xu (2021), Theorem 4. The rest is searched for by branching on the attribute with the fewest
    items; None where ``MOST_COVERS`` ways were tried without an end.
    """
    if (q.sum(axis=0) < 3).any() or not generically_complete(q, 2):
        return False
    if generically_complete(q, 3):
        return True
    for tried, rest in enumerate(_covers(q)):
        if generically_complete(q[~rest], 2):
            return True
        if tried >= MOST_COVERS:
            return None
    return False


def _covers(q: ProfileArray) -> Iterator[BoolArray]:
    """Yield sets of items that require every attribute, equal items being tried once; every minimal set is among them."""
    rest = np.zeros(len(q), dtype=np.bool_)
    barred = np.zeros(len(q), dtype=np.bool_)

    def extend() -> Iterator[BoolArray]:
        open_ = np.flatnonzero(q[rest].sum(axis=0) == 0)
        if open_.size == 0:
            yield rest.copy()
            return
        usable = (q[:, open_] == 1) & ~barred[:, None]
        k = int(usable.sum(axis=0).argmin())
        candidates = np.flatnonzero(usable[:, k])
        seen: set[bytes] = set()
        closed = []
        for j in candidates[np.argsort(-q[candidates].sum(axis=1), kind="stable")]:
            if q[j].tobytes() in seen:
                continue
            seen.add(q[j].tobytes())
            rest[j] = True
            yield from extend()
            rest[j] = False
            alike = np.flatnonzero((q == q[j]).all(axis=1) & ~barred)  # later branches do without this item
            barred[alike] = True
            closed.extend(alike.tolist())
        barred[closed] = False

    yield from extend()


def too_many_parameters(q: ProfileArray, kinds: Sequence[str]) -> tuple[tuple[int, ...], int, int] | None:
    """Look for attributes whose parameters outnumber the probabilities that carry them, so that no data can tell.

    For attributes S, let N be the items that require any of them. Given the other attributes, S touches the responses only
    through the 2^|N| - 1 probabilities of the responses to N in each of the 2^(K - |S|) patterns of the others; these have to
    carry the parameters of N and the 2^|S| - 1 free shares in each pattern. A count; no theorem is needed. S of up to three
    attributes and of all are tried.

    Returns
    -------
    (attributes, number of parameters, number of probabilities), or None
    """
    n_attributes = q.shape[1]
    sizes = n_parameters(q, kinds)
    small = [set_ for size in range(1, min(4, n_attributes)) for set_ in combinations(range(n_attributes), size)]
    for chosen in [*small, tuple(range(n_attributes))]:
        touched = (q[:, chosen] == 1).any(axis=1)
        patterns = 2 ** (n_attributes - len(chosen))
        needed = int(sizes[touched].sum()) + (2 ** len(chosen) - 1) * patterns
        offered = (2 ** int(touched.sum()) - 1) * patterns
        if needed > offered:
            return chosen, needed, offered
    return None


def always_with(q: ProfileArray) -> BoolArray:
    """Tell which attributes always come together: row k, column m, whether every item that requires k also requires m."""
    together = q.T.astype(np.int64) @ q
    inside = together == np.diag(together)[:, None]
    np.fill_diagonal(inside, False)
    return np.asarray(inside)


def swap_counts(q: ProfileArray, kinds: Sequence[str]) -> IntArray:
    """Count, for each attribute, the swaps of its labels 0 and 1 that leave the likelihood of a saturated structure unchanged.

    Let C_k be the other attributes present in every item that requires k. A saturated item that requires k has its own
    probability in each pattern of C_k, so the labels of k can be swapped inside one pattern and left in the others: 2^|C_k|
    swaps, each exchanging the same probabilities in all these items and the shares of the profiles. An additive item lets k be
    swapped in all patterns at once only, a conjunctive or disjunctive item of several attributes not at all.
    """
    single = q.sum(axis=1) == 1
    saturated = single | np.array([kind == "saturated" for kind in kinds])
    reflective = saturated | np.array([kind == "additive" for kind in kinds])
    free = ((q == 0) | saturated[:, None]).all(axis=0)
    plain = ((q == 0) | reflective[:, None]).all(axis=0)
    counts = np.where(free, 2 ** always_with(q).sum(axis=1), plain.astype(np.int64))
    return np.asarray(counts, dtype=np.int64)


def relabellings(q: ProfileArray, kinds: Sequence[str]) -> int:
    """Count the relabellings of profiles that leave the likelihood of a saturated structure unchanged, the identity included.

    The swaps of :func:`swap_counts` generate them. Attributes of distinct columns give 2 to the number of swaps. Where m
    attributes share one column (and C others are in each of their items), saturated items allow any of the (2^m)! permutations of
    the patterns in each of the 2^|C| patterns of C, additive items the 2^m m! signed permutations. Under G-DINA for all items
    there are no others: a relabelling has to keep the partition of the profiles that each item makes, so also those made by the
    intersections of items, and {k} with C_k is the smallest of them that holds k.
    """
    swaps = swap_counts(q, kinds)
    together = always_with(q)
    single = q.sum(axis=1) == 1
    additive = ~single & np.array([kind == "additive" for kind in kinds])
    total = 1
    seen: set[bytes] = set()
    for k in range(q.shape[1]):
        column = np.ascontiguousarray(q[:, k]).tobytes()
        if column in seen or swaps[k] == 0:
            continue
        seen.add(column)
        n_alike = int((q == q[:, [k]]).all(axis=0).sum())
        if (additive & (q[:, k] == 1)).any():
            total *= 2**n_alike * factorial(n_alike)
        else:
            total *= factorial(2**n_alike) ** (2 ** int(together[k].sum() - (n_alike - 1)))
    return total


def seen_attributes(q: ProfileArray, kinds: Sequence[str]) -> BoolArray:
    """Tell which attributes some item sees by themselves: alone, or in a saturated or additive item."""
    shows = (q.sum(axis=1) == 1) | np.array([kind in ("saturated", "additive") for kind in kinds])
    return np.asarray((q[shows] == 1).any(axis=0))


def item_views(q: ProfileArray, kinds: Sequence[str], alpha: ProfileArray) -> IntArray:
    """Return what each item sees of each profile, (L, J): the ideal response, or the reduced pattern of a saturated item."""
    views = np.empty((len(alpha), len(q)), dtype=np.int64)
    for j, kind in enumerate(kinds):
        required = alpha[:, q[j] == 1]
        if kind == "conjunctive":
            views[:, j] = required.all(axis=1)
        elif kind == "disjunctive":
            views[:, j] = required.any(axis=1)
        else:
            views[:, j] = reduced_index(q[j], alpha)
    return views


def profile_classes(q: ProfileArray, kinds: Sequence[str], alpha: ProfileArray | None = None) -> IntArray:
    """Return the class of each profile: profiles that no item tells apart share one, numbered by their first profiles.

    Parameters
    ----------
    q : ndarray, (J, K)
    kinds : sequence of str, (J,)
    alpha : ndarray, (L, K), optional
        Profiles, all 2^K by default.

    Returns
    -------
    ndarray of int, (L,)

    Examples
    --------
    >>> q = np.array([[1, 0], [1, 1], [1, 1]], dtype=np.int8)
    >>> profile_classes(q, ["conjunctive"] * 3).tolist()  # 00, 10, 01, 11
    [0, 1, 0, 2]
    """
    profiles = all_profiles(q.shape[1]) if alpha is None else alpha
    if seen_attributes(q, kinds).all():
        views: AnyArray = profiles  # every attribute shows by itself, so only equal profiles look alike
    else:
        views = item_views(q, kinds, profiles)
    _, first, inverse = np.unique(views, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    return np.asarray(order[inverse.ravel()], dtype=np.int64)


def varying_attributes(classes: IntArray, alpha: ProfileArray) -> BoolArray:
    """Tell which attributes differ inside some class of profiles, (n_classes, K)."""
    n_classes = int(classes.max(initial=-1)) + 1
    sizes = np.bincount(classes, minlength=n_classes)
    ones = np.zeros((n_classes, alpha.shape[1]), dtype=np.int64)
    np.add.at(ones, classes, alpha)
    return np.asarray((ones > 0) & (ones < sizes[:, None]))
