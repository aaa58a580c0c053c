"""Item models: designs, links, parameter counts, and how classes fall into reduced patterns."""

from __future__ import annotations

import numpy as np
import pytest
from cdm_designs import MODELS, Q3

from psychoedu.cdm.models import (
    additive_design,
    canonical_model,
    inverse_link,
    item_structure,
    link,
    parameter_count,
    partition,
    saturated_design,
)
from psychoedu.cdm.profiles import all_profiles, profile_labels

# patterns 000 100 010 001 110 101 011 111: de la Torre (2011), and R GDINA's order
ORDER = ["000", "100", "010", "001", "110", "101", "011", "111"]


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("gdina", "G-DINA"),
        ("G-DINA", "G-DINA"),
        ("a-cdm", "ACDM"),
        ("R RUM", "RRUM"),
        ("llm", "LLM"),
        ("Dino", "DINO"),
        ("2pl", None),
    ],
)
def test_names(given, name):
    assert canonical_model(given) == name


def test_order_of_patterns():
    assert profile_labels(all_profiles(3)) == ORDER


# CASES D13: an item of three attributes
@pytest.mark.parametrize(("model", "count"), [("DINA", 2), ("DINO", 2), ("ACDM", 4), ("RRUM", 4), ("LLM", 4), ("G-DINA", 8)])
def test_parameters_of_three_attributes(model, count):
    assert parameter_count(model, 3) == count
    structure = item_structure(np.ones((2, 3), dtype=np.int8), (model, model), all_profiles(3))
    assert structure.n_parameters == 2 * count
    assert structure.n_cells == 16


@pytest.mark.parametrize("model", MODELS)
def test_one_attribute_is_two_free_probabilities_whatever_the_model(model):
    structure = item_structure(np.array([[0, 1]], dtype=np.int8), (model,), all_profiles(2))
    assert structure.n_parameters == 2
    np.testing.assert_allclose(structure.success(structure.cells(np.array([0.2, 0.9]))), [[0.2, 0.2, 0.9, 0.9]])


def test_partitions():
    assert partition("DINA", 3).tolist() == [0, 0, 0, 0, 0, 0, 0, 1]
    assert partition("DINO", 3).tolist() == [0, 1, 1, 1, 1, 1, 1, 1]
    assert partition("G-DINA", 2).tolist() == [0, 1, 2, 3]


def test_designs():
    assert additive_design(2).tolist() == [[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1]]
    full = saturated_design(3)
    # intercept, three main effects, interactions 12 13 23, 123; column c is on where the pattern has all attributes of c
    for row, pattern in enumerate(ORDER):
        for column, term in enumerate(ORDER):
            assert full[row, column] == all(p == "1" for p, t in zip(pattern, term, strict=True) if t == "1")
    np.testing.assert_allclose(np.linalg.det(full), 1.0)


@pytest.mark.parametrize(
    ("model", "effects", "cells"),
    [
        ("ACDM", [0.1, 0.3, 0.4], [0.1, 0.4, 0.5, 0.8]),
        ("RRUM", np.log([0.05, 4.0, 4.5]), [0.05, 0.2, 0.225, 0.9]),  # pi* = .9, penalties 1/4 and 1/4.5
        ("LLM", [-2.0, 1.0, 3.0], 1.0 / (1.0 + np.exp(-np.array([-2.0, -1.0, 1.0, 2.0])))),
        ("DINA", [0.2, 0.7], [0.2, 0.2, 0.2, 0.7]),
        ("DINO", [0.2, 0.7], [0.2, 0.7, 0.7, 0.7]),
        ("G-DINA", [0.1, 0.5, 0.3, 0.8], [0.1, 0.5, 0.3, 0.8]),
    ],
)
def test_probabilities_by_hand(model, effects, cells):
    structure = item_structure(np.array([[1, 0, 1]], dtype=np.int8), (model,), all_profiles(3))
    found = structure.cells(np.asarray(effects, dtype=float))
    np.testing.assert_allclose(found, cells, rtol=1e-12)
    # profiles 000 100 010 001 110 101 011 111 seen by attributes 1 and 3
    np.testing.assert_allclose(structure.success(found)[0], np.asarray(cells)[[0, 1, 0, 2, 1, 3, 2, 3]], rtol=1e-12)


@pytest.mark.parametrize("name", ["identity", "log", "logit"])
def test_links_invert(name):
    p = np.array([1e-4, 0.3, 0.9999])
    back, slope = inverse_link(name, link(name, p))
    np.testing.assert_allclose(back, p, rtol=1e-12)
    eta, h = link(name, np.array([0.3])), 1e-6
    numeric = (inverse_link(name, eta + h)[0] - inverse_link(name, eta - h)[0]) / (2 * h)
    np.testing.assert_allclose(inverse_link(name, eta)[1], numeric, rtol=1e-7)
    assert slope.shape == p.shape


def test_jacobian_of_a_mixed_test():
    models = ("DINA", "G-DINA", "G-DINA", "LLM", "DINO", "ACDM", "RRUM", "LLM", "ACDM", "G-DINA")
    structure = item_structure(Q3, models, all_profiles(3))
    rng = np.random.default_rng(1)
    parameters = np.empty(structure.n_parameters)
    for kind in structure.kinds:
        parameters[kind.parameters] = rng.uniform(0.2, 0.3, kind.parameters.shape)
        if kind.link == "log":
            parameters[kind.parameters[:, 0]] = -2.0
    h = 1e-6
    numeric = np.column_stack(
        [(structure.cells(parameters + h * e) - structure.cells(parameters - h * e)) / (2 * h) for e in np.eye(len(parameters))]
    )
    np.testing.assert_allclose(structure.jacobian(parameters), numeric, atol=1e-9)
    assert structure.models == models


def test_collect_sums_classes_into_cells():
    structure = item_structure(Q3, ("G-DINA",) * 10, all_profiles(3))
    by_class = np.arange(80.0).reshape(10, 8)
    item = by_class[6]  # attributes 1 and 2: cells 00 10 01 11
    start = structure.first_cell[6]
    expected = [item[0] + item[3], item[1] + item[5], item[2] + item[6], item[4] + item[7]]
    np.testing.assert_allclose(structure.collect(by_class)[start : start + 4], expected)
