"""Identifiability: published conditions, profiles that look alike, label swaps; each against something that is not our code."""

from itertools import combinations, permutations, product

import numpy as np
import pandas as pd
import pytest

import psychoedu as pe
from psychoedu.cdm import check_identifiability
from psychoedu.cdm.conditions import generically_complete, relabellings, swap_counts, three_parts
from psychoedu.cdm.profiles import all_profiles, profile_labels, reduced_index
from psychoedu.exceptions import DataError, QMatrixError

SAME_LIKELIHOOD = 1e-12
GENERAL = ["G-DINA", "DINA", "DINO", "ACDM", "RRUM", "LLM"]
FRAC15 = (
    "10000 11110 10000 11111 00100 11110 11110 11000 10100 10111 10100 10110 11110 11111 11110".split()
)  # Tatsuoka's fraction subtraction, 15 items, five attributes, as in R CDM's fraction.subtraction


def matrix(*rows):
    return np.array([[int(digit) for digit in row] for row in rows], dtype=np.int8)


def identity(n_attributes, *more):
    return np.vstack([np.eye(n_attributes, dtype=np.int8), matrix(*more)]) if more else np.eye(n_attributes, dtype=np.int8)


# the model written out, apart from the package: success probabilities and the distribution of response patterns


def random_success(q, model, rng):
    """Return P(right | profile), (J, L), for random item parameters."""
    alpha = all_profiles(q.shape[1]).astype(bool)
    success = np.empty((len(q), len(alpha)))
    for j, row in enumerate(q.astype(bool)):
        if model == "DINA":
            low, high = np.sort(rng.uniform(0.1, 0.9, 2))
            success[j] = np.where(alpha[:, row].all(axis=1), high, low)
        elif model == "DINO":
            low, high = np.sort(rng.uniform(0.1, 0.9, 2))
            success[j] = np.where(alpha[:, row].any(axis=1), high, low)
        elif model == "ACDM":
            success[j] = rng.uniform(0.05, 0.2) + alpha[:, row] @ rng.uniform(0.1, 0.7 / row.sum(), row.sum())
        else:
            table = {}
            for position, profile in enumerate(alpha[:, row]):
                success[j, position] = table.setdefault(tuple(profile), rng.uniform(0.05, 0.95))
    return success


def pattern_probabilities(success, shares):
    """Return the probability of each of the 2^J response patterns."""
    patterns = np.array(list(product([0, 1], repeat=len(success))))[:, :, None]
    return np.where(patterns == 1, success, 1 - success).prod(axis=1) @ shares


def design_of(row, model, alpha):
    """Return the design D of one item with P = D beta in the identity link, (L, p); any parameters will do for a rank."""
    own = alpha[:, row == 1]
    if model == "DINA":
        ideal = own.all(axis=1)
        return np.column_stack([~ideal, ideal]).astype(float)
    if model == "DINO":
        ideal = own.any(axis=1)
        return np.column_stack([~ideal, ideal]).astype(float)
    if model == "ACDM":
        return np.column_stack([np.ones(len(alpha)), own])
    keys = {key: number for number, key in enumerate(dict.fromkeys(map(tuple, own)))}
    return np.eye(len(keys))[[keys[tuple(key)] for key in own]]


def is_locally_identified(q, model, seed=0):
    """Tell by the rank of the exact Jacobian at random parameters whether parameters are identified around almost every point."""
    rng = np.random.default_rng(seed)
    alpha = all_profiles(q.shape[1])
    success, shares = random_success(q, model, rng), rng.dirichlet(np.full(len(alpha), 5.0))
    patterns = np.array(list(product([0, 1], repeat=len(q))))
    factors = np.where(patterns[:, :, None] == 1, success, 1 - success)  # patterns x J x L
    likelihood = factors.prod(axis=1)
    columns = [likelihood[:, :-1] - likelihood[:, [-1]]]
    for j, row in enumerate(q):
        others = np.delete(factors, j, axis=1).prod(axis=1) * (2 * patterns[:, [j]] - 1)
        columns.append((others * shares) @ design_of(row, model, alpha))
    jacobian = np.hstack(columns)
    norms = np.linalg.norm(jacobian, axis=0)
    if jacobian.shape[1] > len(patterns) or norms.min() < 1e-14:
        return False
    smallest = np.linalg.svd(jacobian / norms, compute_uv=False)[-1]
    assert not 1e-13 < smallest < 1e-9, "the rank is not clear; take another seed"
    return bool(smallest > 1e-9)


# D3, D4, D5


def test_case_d3_attribute_never_alone():
    report = check_identifiability(matrix("10", "11", "11"), "DINA")
    assert not report.complete
    assert report.classes["profiles"].tolist() == [("00", "01"), ("10",), ("11",)]
    assert report.class_of.tolist() == [0, 1, 0, 2]  # 00 10 01 11
    assert report.attributes_affected == ("A2",)
    assert report.classes["undetermined"].tolist() == [("A2",), (), ()]
    assert report.identified is False
    assert report.warnings[0].startswith("Under DINA the Q-matrix cannot tell apart the profiles of 1 class: {00, 01}.")
    assert "Mastery of attribute 'A2' is not determined" in report.warnings[0]
    assert "sums over a class" in report.warnings[0]


def test_case_d4_attributes_only_together():
    report = check_identifiability(pd.DataFrame({"read": [1, 1], "listen": [1, 1]}, index=["I1", "I2"]), "DINA")
    assert report.classes["profiles"].tolist() == [("00", "10", "01"), ("11",)]
    assert report.attributes_affected == ("read", "listen")
    assert "{00, 10, 01}" in report.warnings[0]
    assert check_identifiability(matrix("11", "11"), "DINO").classes["profiles"].tolist() == [("00",), ("10", "01", "11")]


def test_case_d5_complete_but_too_few_items():
    report = check_identifiability(matrix("10", "01", "11"), "DINA")
    assert report.complete
    assert report.strict is False
    assert report.generic is False
    assert report.attributes_affected == ()
    (text,) = report.warnings
    assert text.startswith("Strict identifiability of DINA fails")
    assert "three items or more ('A1' by 2, 'A2' by 2)" in text
    assert "arXiv 1711.03174" in text


def test_more_parameters_than_probabilities_are_counted():
    """D5 under G-DINA: A1 brings 2 + 4 item parameters and 2 shares, against 3 probabilities in each of 2 patterns of A2."""
    report = check_identifiability(matrix("10", "01", "11"), "G-DINA")
    assert report.generic is False
    assert "'A1': 8 parameters, 6 probabilities" in report.warnings[-1]
    assert check_identifiability(matrix("10", "01", "11"), ["G-DINA", "DINA", "DINA"]).generic is False


@pytest.mark.parametrize("rows", [("10", "11", "11"), ("11", "11", "11"), ("10", "01", "11")])
def test_d3_d4_d5_are_not_identified_by_the_rank_either(rows):
    assert not is_locally_identified(matrix(*rows), "DINA")


def test_dino_classes_are_those_of_dina_turned_round():
    """Not all mastered under DINO is what not all lacking is under DINA: profiles 1 - alpha, ideal responses 1 - eta."""
    rng = np.random.default_rng(3)
    alpha = all_profiles(4)
    turned = [profile_labels(alpha).index("".join(str(1 - digit) for digit in row)) for row in alpha]
    for _ in range(20):
        q = rng.integers(0, 2, (5, 4)).astype(np.int8)
        q[q.sum(axis=1) == 0, 0] = 1
        q[0, q.sum(axis=0) == 0] = 1
        one, other = check_identifiability(q, "DINA").class_of, check_identifiability(q, "DINO").class_of[turned]
        np.testing.assert_array_equal(one[:, None] == one, other[:, None] == other)


def test_classes_are_the_profiles_of_one_success_column():
    """Random DINA parameters: two profiles look alike exactly where all their success probabilities are equal."""
    rng = np.random.default_rng(4)
    for model in ("DINA", "DINO", "G-DINA", "ACDM"):
        for _ in range(10):
            q = rng.integers(0, 2, (4, 4)).astype(np.int8)
            q[q.sum(axis=1) == 0, 0] = 1
            q[0, q.sum(axis=0) == 0] = 1
            success = random_success(q, model, rng)
            report = check_identifiability(q, model)
            same = (success[:, :, None] == success[:, None, :]).all(axis=0)
            np.testing.assert_array_equal(report.class_of[:, None] == report.class_of, same)
            assert report.complete == (same.sum() == 16)
            alpha = all_profiles(4)
            differ = (alpha[:, None, :] != alpha[None, :, :]) & same[:, :, None]
            open_ = tuple(report.q_matrix.attribute_labels[differ.any(axis=(0, 1))])
            if model in ("DINA", "DINO"):
                assert report.attributes_affected == open_


def test_mixed_models_see_what_each_item_sees():
    q = matrix("11", "11", "11")
    report = check_identifiability(q, ["DINA", "DINO", "DINO"])
    assert report.classes["profiles"].tolist() == [("00",), ("10", "01"), ("11",)]
    assert report.model == "mixed"
    assert report.attributes_affected == ("A1", "A2")
    assert check_identifiability(q, ["DINA", "DINO", "ACDM"]).complete


# label swaps


@pytest.mark.shared
def test_frac15_has_16_swaps(shared):
    q = pe.QMatrix.read_csv(shared / "reference" / "cdm_frac15" / "q.csv")
    np.testing.assert_array_equal(q.values, matrix(*FRAC15))
    report = check_identifiability(q, "G-DINA")
    assert report.swaps["n_swaps"].tolist() == [1, 2, 1, 4, 8]
    assert report.swaps["always_with"].tolist() == [(), ("A1",), (), ("A1", "A3"), ("A1", "A3", "A4")]
    assert report.n_swaps == 16
    assert report.n_equal_solutions == 2**16
    assert report.attributes_affected == ("A2", "A4", "A5")
    assert report.identified is False
    assert "16 such swaps, so 2^16 equal solutions" in report.warnings[0]
    assert "'A4' always with 'A1', 'A3'" in report.warnings[0]
    assert "attributes 'A2', 'A4', 'A5'" in report.warnings[0]


@pytest.mark.shared
@pytest.mark.parametrize("folder", ["cse_like", "cdm_ecpe", "cdm_sim10GDINA"])
def test_reference_designs_have_plain_reflection_only(shared, folder):
    frame = pd.read_csv(shared / "reference" / folder / "q.csv").set_index("item").select_dtypes("number")
    for model in GENERAL:
        report = check_identifiability(frame, model)
        assert report.warnings == ()
        assert report.identified
        assert report.attributes_affected == ()
    report = check_identifiability(frame, "G-DINA")
    assert report.n_swaps == frame.shape[1]
    assert report.n_equal_solutions == 2 ** frame.shape[1]


def test_packaged_design_is_identified():
    report = check_identifiability(pe.datasets.load_cse_like_q())
    assert report.strict
    assert report.warnings == ()


def test_every_swap_keeps_the_saturated_likelihood():
    """The 16 swaps of the fraction design: exchanged probabilities are again G-DINA's under Q, and no likelihood changes."""
    rng = np.random.default_rng(11)
    q = matrix(*FRAC15)
    alpha = all_profiles(5)
    success, shares = random_success(q, "G-DINA", rng), rng.dirichlet(np.ones(32))
    responses = rng.integers(0, 2, (300, 15))

    def log_likelihood(probability, prior):
        rows = np.where(responses[:, :, None] == 1, probability, 1 - probability).prod(axis=1)
        return np.log(rows @ prior).sum()

    def is_gdina(probability):
        for j, row in enumerate(q):
            groups = reduced_index(row, alpha)
            if any(len(set(probability[j, groups == group])) > 1 for group in range(groups.max() + 1)):
                return False
        return True

    position = {label: number for number, label in enumerate(profile_labels(alpha))}

    def swapped(attribute, where):
        order = []
        for profile in alpha:
            turned = profile.copy()
            if where(profile):
                turned[attribute] ^= 1
            order.append(position["".join(map(str, turned))])
        return order

    before = log_likelihood(success, shares)
    n_kept = 0
    for attribute, companions in enumerate([(), (0,), (), (0, 2), (0, 2, 3)]):
        for pattern in product([0, 1], repeat=len(companions)):
            order = swapped(attribute, lambda profile, c=companions, p=pattern: tuple(profile[list(c)]) == p)
            changed = success[:, order]
            assert not np.array_equal(changed, success)
            assert is_gdina(changed)
            assert log_likelihood(changed, shares[order]) == pytest.approx(before, rel=SAME_LIKELIHOOD)
            n_kept += 1
    assert n_kept == 16
    # and no smaller swap: A1 inside a pattern of A2, which does not always come along
    assert not is_gdina(success[:, swapped(0, lambda profile: profile[1] == 1)])


def count_relabellings_by_hand(q, model):
    """Try all (2^K)! permutations of profiles: does the model, at random parameters, contain the permuted probabilities?"""
    alpha = all_profiles(q.shape[1])
    orders = np.array(list(permutations(range(len(alpha)))))
    kept = np.ones(len(orders), dtype=bool)
    success = random_success(q, model, np.random.default_rng(5))
    for j, row in enumerate(q):
        design = design_of(row, model, alpha)
        outside = np.eye(len(alpha)) - design @ np.linalg.pinv(design)
        kept &= (np.abs(success[j][orders] @ outside) < 1e-9).all(axis=1)
    return int(kept.sum())


SMALL = [
    ("10", "01", "11"),
    ("11", "11"),
    ("10", "11", "11"),
    ("100", "110", "111"),
    ("110", "101", "011"),
    ("111", "111"),
    ("110", "001"),
    ("110", "111"),
    ("100", "111"),
    ("100", "010", "111", "110"),
    ("101", "011"),
]


@pytest.mark.parametrize("rows", SMALL, ids="-".join)
@pytest.mark.parametrize("model", ["G-DINA", "ACDM"])
def test_equal_solutions_are_all_there_are(rows, model):
    report = check_identifiability(matrix(*rows), model)
    assert report.n_equal_solutions == count_relabellings_by_hand(matrix(*rows), model)


def test_swaps_of_other_models():
    q = matrix("100", "110", "111", "111")
    assert swap_counts(q, ["saturated"] * 4).tolist() == [1, 2, 4]
    assert swap_counts(q, ["additive"] * 4).tolist() == [1, 1, 1]
    assert swap_counts(q, ["conjunctive"] * 4).tolist() == [0, 0, 0]
    assert swap_counts(q, ["saturated", "saturated", "saturated", "additive"]).tolist() == [1, 1, 1]
    assert swap_counts(matrix("10", "10", "01", "01"), ["conjunctive"] * 4).tolist() == [1, 1]
    assert relabellings(matrix("10", "01"), ["disjunctive"] * 2) == 4
    assert relabellings(q, ["conjunctive"] * 4) == 1


def test_equal_columns_of_an_additive_model_are_reported():
    report = check_identifiability(matrix("110", "110", "110", "001", "001", "001"), "ACDM")
    assert report.attributes_affected == ("A1", "A2")
    assert any("can be exchanged" in text for text in report.warnings)


# published conditions: the authors' own examples, github.com/yuqigu/Identify_Q (check_conditions_main.m, check_Theorem4.m)

REST = ["00111", "01011", "01101", "01110"]
EXAMPLES = {
    "1: Theorem 1": (identity(3, "110", "101", "011", "111"), True, True),
    "2: Theorem 2a": (matrix("10000", "11111", "01000", "00100", "00010", "00001", *REST), False, False),
    "3: Theorem 2b": (matrix("10000", "10000", "01000", "00100", "00010", "00001", *REST), False, True),
    "4: Theorem 2b, two identity matrices": (np.vstack([np.eye(5, dtype=np.int8)] * 2), False, True),
    "5: Theorem 2c": (matrix("10000", "11100", "01000", "00100", "00010", "00001", *REST), False, None),
    "6: eight attributes, twelve items": (identity(8, "00111011", "01010111", "10001111", "11111101"), True, True),
}


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("model", ["DINA", "DINO"])
def test_reference_examples_of_gu_and_xu(name, model):
    q, strict, generic = EXAMPLES[name]
    report = check_identifiability(q, model)
    assert report.strict is strict
    assert report.generic is generic


@pytest.mark.parametrize("name", [name for name in EXAMPLES if not name.startswith("6")])
def test_gu_and_xu_examples_by_the_rank(name):
    """Theorem 2a: not even locally; all others are identified around almost every point, 2c included."""
    assert is_locally_identified(EXAMPLES[name][0], "DINA") is not name.endswith("2a")


@pytest.mark.shared
def test_reference_part_of_the_fraction_design_meets_theorem_4(shared):
    """The authors' example: the 20-item design without its sixth attribute and items 1 and 18 is generically identifiable."""
    q = pd.read_csv(shared / "reference" / "cdm_frac20" / "q.csv", index_col=0)
    part = q.drop(index=q.index[[0, 17]]).drop(columns=q.columns[5])
    assert part.shape == (18, 7)
    assert three_parts(part.to_numpy(dtype=np.int8)) is True
    report = check_identifiability(part)
    assert report.generic is True
    assert report.attributes_affected  # identified up to relabellings, of which this design has many
    whole = check_identifiability(q)
    assert whole.generic is None  # A6 is required by two items


def test_r_cdm_example_of_distinct_columns():
    """The condition on columns: three items for each attribute and an identity matrix are not enough."""
    report = check_identifiability(identity(2, "11", "11"), "DINA")
    table = report.conditions.set_index("condition")["holds"]
    assert report.strict is False
    assert report.generic is None
    assert table["every attribute in three items or more"] is True
    assert table["every attribute alone in an item"] is True
    assert table["distinct columns of the other items"] is False
    assert "whether the generic holds is not known" in report.warnings[0]


@pytest.mark.parametrize("model", ["DINA", "DINO", "G-DINA", "ACDM"])
def test_verdicts_agree_with_the_rank_of_the_model(model):
    """Random designs: what is called generically identifiable has full rank, what is called not identifiable has not."""
    rng = np.random.default_rng(20)
    found = {True: 0, False: 0}
    for number in range(150):
        n_attributes = int(rng.integers(1, 4))
        q = (rng.random((int(rng.integers(2, 9)), n_attributes)) < 0.55).astype(np.int8)
        if number % 2:
            q[:n_attributes] = np.eye(n_attributes, dtype=np.int8)[: len(q)]
        if not q.any(axis=0).all() or not q.any(axis=1).all():
            continue
        generic = check_identifiability(q, model).generic
        if generic is not None:
            found[generic] += 1
            assert is_locally_identified(q, model) is generic, q.tolist()
    assert min(found.values()) >= 10


def test_one_attribute_needs_three_items():
    """Three items with two probabilities each and a share: 7 parameters, 7 free pattern probabilities; two items: 5 for 3."""
    for model in GENERAL:
        assert check_identifiability([[1], [1], [1]], model).generic is True
        assert check_identifiability([[1], [1]], model).generic is False


def test_strict_conditions_of_general_models():
    three = np.vstack([np.eye(3, dtype=np.int8)] * 3)
    assert check_identifiability(three, "G-DINA").strict is True
    two = np.vstack([np.eye(3, dtype=np.int8)] * 2 + [matrix("110", "101")])
    report = check_identifiability(two, "G-DINA")
    assert report.strict is None
    assert report.generic is True
    assert report.identified
    assert any("two identity matrices" in name for name in report.conditions["condition"])
    assert check_identifiability(matrix("110", "101", "011", "110", "101", "011", "111"), "G-DINA").strict is False


def brute_force_parts(q):
    """Search all pairs of item sets, as the authors' program does."""
    n_attributes = q.shape[1]

    def ordered(rows):
        return any(all(q[row, k] for k, row in enumerate(order)) for order in permutations(rows))

    complete = [set(rows) for rows in combinations(range(len(q)), n_attributes) if ordered(rows)]
    return any(
        q[sorted(set(range(len(q))) - one - two)].any(axis=0).all() for one, two in combinations(complete, 2) if not one & two
    )


def test_search_for_parts_finds_what_brute_force_finds():
    rng = np.random.default_rng(8)
    found = {True: 0, False: 0}
    for density in (0.35, 0.45, 0.55):
        for _ in range(25):
            q = (rng.random((8, 3)) < density).astype(np.int8)
            answer = three_parts(q)
            found[answer] += 1
            assert answer is brute_force_parts(q), q.tolist()
    assert min(found.values()) >= 10


@pytest.mark.parametrize(
    "rows",
    [
        ("101", "110", "010", "101", "100", "011", "100", "100"),
        ("100", "100", "010", "110", "101", "100", "011", "001"),
        ("1110", "1010", "0010", "1011", "1000", "0010", "0111", "1000", "0100"),
    ],
    ids="-".join,
)
def test_search_for_parts_does_not_stop_at_its_first_choice(rows):
    """Designs in which the item that covers most is needed elsewhere."""
    assert three_parts(matrix(*rows)) is brute_force_parts(matrix(*rows))


def test_a_cover_may_need_one_item_for_several_attributes():
    """Seven items for three attributes: two sets of three, and one item left that requires all."""
    assert three_parts(identity(3, "110", "011", "101", "111")) is True
    assert three_parts(identity(3, "110", "011", "101", "110")) is False


def test_generic_completeness_is_a_matching():
    assert generically_complete(matrix("110", "011", "101"))
    assert not generically_complete(matrix("100", "100", "011"))
    assert not generically_complete(matrix("11", "10"), 2)


# report


def test_report_reads_well():
    report = check_identifiability(matrix("10", "11", "11"), "dina")
    text = report.summary()
    assert "Identifiability of DINA: 3 items, 2 attributes" in text
    assert "{00, 01}" in text
    assert "Gu and Xu (2019)" in text
    assert repr(report) == "IdentifiabilityReport(DINA: NOT identified, not determined: 'A2')"
    assert report._repr_html_().startswith("<pre>Identifiability")
    assert all(len(warning.split("\n")) <= 3 for warning in report.warnings)
    with pytest.raises(ValueError, match="read-only"):
        report.class_of[0] = 1


def test_report_without_findings():
    report = check_identifiability(np.vstack([np.eye(2, dtype=np.int8)] * 3), "g-dina")
    assert repr(report) == "IdentifiabilityReport(G-DINA: identified)"
    assert report.warnings == ()
    assert "label swaps            2, 4 equal solutions" in report.summary()


def test_permuting_items_and_attributes_permutes_the_report():
    q = pd.DataFrame(matrix(*FRAC15), columns=list("abcde"), index=[f"I{j}" for j in range(15)])
    report = check_identifiability(q)
    moved = check_identifiability(q.sample(frac=1, random_state=2)[list("dbeca")])
    assert moved.swaps["n_swaps"].to_dict() == report.swaps["n_swaps"].to_dict()
    assert set(moved.attributes_affected) == set(report.attributes_affected) == set("bde")
    assert moved.n_equal_solutions == report.n_equal_solutions
    assert (moved.strict, moved.generic) == (report.strict, report.generic)


def test_a_large_design_is_quick_and_without_profiles():
    q = np.vstack([np.eye(20, dtype=np.int8)] * 3)
    report = check_identifiability(q, "DINA")
    assert report.identified
    assert "class_of" not in vars(report)


def test_models_are_checked():
    with pytest.raises(DataError, match=r"Unknown model: 'hull'\. Expected one of G-DINA, DINA"):
        check_identifiability([[1]], "hull")
    with pytest.raises(DataError, match="2 models for 3 items"):
        check_identifiability([[1], [1], [1]], ["DINA", "DINA"])
    with pytest.raises(QMatrixError):
        check_identifiability([[1, 0]], "DINA")
