"""Attribute hierarchies: reading, circles, permissible profiles."""

import numpy as np
import pandas as pd
import pytest

from psychoedu.cdm.hierarchy import permissible_profiles, read_hierarchy
from psychoedu.cdm.profiles import all_profiles, profile_labels
from psychoedu.exceptions import DataError, LabelError

LABELS = ["A1", "A2", "A3", "A4"]


def allowed(prerequisites, labels=LABELS):
    hierarchy = read_hierarchy(prerequisites, labels)
    return profile_labels(hierarchy.profiles())


def test_linear_hierarchy_has_one_profile_more_than_attributes():
    """Leighton, Gierl and Hunka (2004): a chain of four allows five profiles."""
    assert allowed(["A1 before A2", "A2 before A3", "A3 before A4"]) == ["0000", "1000", "1100", "1110", "1111"]


def test_published_numbers_of_profiles():
    """Divergent, convergent and unstructured hierarchies, counted by hand."""
    divergent = [("A1", "A2"), ("A1", "A3"), ("A1", "A4")]
    assert len(allowed(divergent)) == 1 + 8
    convergent = [("A1", "A4"), ("A2", "A4"), ("A3", "A4")]
    assert len(allowed(convergent)) == 8 + 1
    assert len(allowed([])) == 16


def test_three_ways_of_saying_it():
    pairs = read_hierarchy([("A1", "A2"), ("A1", "A3"), ("A2", "A3")], LABELS)
    words = read_hierarchy(["A1 before A2", " A1  before A3", "A2 before A3"], LABELS)
    mapping = read_hierarchy({"A2": "A1", "A3": ["A1", "A2"]}, LABELS)
    for other in (words, mapping):
        np.testing.assert_array_equal(other.requires, pairs.requires)
    assert read_hierarchy("A1 before A2", LABELS).edges == (("A1", "A2"),)


def test_prerequisites_of_prerequisites_are_implied():
    hierarchy = read_hierarchy([("A1", "A2"), ("A2", "A4")], LABELS)
    assert hierarchy.requires[3].tolist() == [True, True, False, False]
    with pytest.raises(ValueError, match="read-only"):
        hierarchy.requires[0, 0] = True


def test_mask_is_the_definition():
    """Every mastered attribute has each of its direct prerequisites; random orders of five attributes."""
    rng = np.random.default_rng(1)
    alpha = all_profiles(5)
    labels = list("abcde")
    for _ in range(20):
        order = rng.permutation(5)
        edges = [(labels[order[i]], labels[order[j]]) for i in range(5) for j in range(i + 1, 5) if rng.random() < 0.4]
        expected = [all(not row[labels.index(after)] or row[labels.index(before)] for before, after in edges) for row in alpha]
        np.testing.assert_array_equal(permissible_profiles(edges, labels), expected)


def test_mask_of_given_profiles():
    hierarchy = read_hierarchy([("A1", "A2")], ["A1", "A2"])
    assert hierarchy.permissible(np.array([[0, 1], [1, 1], [0, 1], [0, 0]])).tolist() == [False, True, False, True]


def test_labels_may_be_numbers_and_an_index():
    assert allowed([(1, 2)], pd.Index([2, 1])) == ["00", "01", "11"]  # the second column comes first
    assert allowed({2: 1}, [2, 1]) == ["00", "01", "11"]


def test_circles_are_refused_and_written_out():
    with pytest.raises(DataError, match="'A1' before 'A2' before 'A3' before 'A1'"):
        read_hierarchy([("A1", "A2"), ("A2", "A3"), ("A3", "A1"), ("A3", "A4")], LABELS)
    with pytest.raises(DataError, match="'A2' before 'A2'"):
        read_hierarchy([("A2", "A2")], LABELS)


def test_unknown_labels_and_other_things_are_refused():
    with pytest.raises(LabelError, match="1 attribute not found: 'B1'"):
        read_hierarchy([("B1", "A2")], LABELS)
    with pytest.raises(DataError, match="pair \\(before, after\\)"):
        read_hierarchy([("A1", "A2", "A3")], LABELS)
    with pytest.raises(DataError, match="got 'A1 > A2'"):
        read_hierarchy(["A1 > A2"], LABELS)


def test_repr():
    assert repr(read_hierarchy([("A1", "A2")], LABELS)) == "AttributeHierarchy(A1 before A2: 12 of 16 profiles)"
    assert "no prerequisites" in repr(read_hierarchy([], LABELS))
