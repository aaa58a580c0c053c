"""Item banks: what is read, converted and refused; reliability of a bank."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

import psychoedu as pe
from psychoedu.exceptions import DataError, DuplicateLabelError, LabelError
from psychoedu.irt.reliability import empirical_reliability, marginal_reliability

REFERENCE = Path(__file__).resolve().parents[1] / "reference"
EXACT = 1e-12
MIRT_RELIABILITY = 1e-7


def table(**columns):
    return pd.DataFrame(columns, index=[f"q{number}" for number in range(1, 1 + len(next(iter(columns.values()))))])


def good():
    return table(discrimination=[0.8, 1.2, -0.5], difficulty=[-1.0, 0.3, 2.0])


# reading


def test_difficulty_and_intercept_say_the_same():
    by_difficulty = pe.ItemBank(good())
    np.testing.assert_allclose(by_difficulty.intercept, [0.8, -0.36, 1.0], rtol=EXACT)
    by_intercept = pe.ItemBank(table(discrimination=[0.8, 1.2, -0.5], intercept=[0.8, -0.36, 1.0]))
    np.testing.assert_allclose(by_intercept.difficulty, [-1.0, 0.3, 2.0], rtol=EXACT)
    both = pe.ItemBank(good().assign(intercept=[0.8, -0.36, 1.0]))
    np.testing.assert_array_equal(both.intercept, by_intercept.intercept)


def test_probability_is_written_out():
    bank = pe.ItemBank(good().assign(guessing=[0.0, 0.25, 0.1]))
    expected = [c + (1 - c) / (1 + np.exp(-a * (0.7 - b))) for a, b, c in [(0.8, -1.0, 0), (1.2, 0.3, 0.25), (-0.5, 2.0, 0.1)]]
    np.testing.assert_allclose(bank.probability(0.7), expected, rtol=EXACT)
    assert bank.probability([0.7, 0.1]).shape == (2, 3)
    assert bank.expected_score(0.7) == pytest.approx(sum(expected), rel=EXACT)
    assert bank.expected_score([[0.7, 0.1]]).shape == (1, 2)


def test_information_is_the_sum_of_the_items():
    bank = pe.ItemBank(good())
    theta = np.array([-1.0, 0.4])
    p = expit(np.outer(theta, bank.discrimination) + bank.intercept)
    np.testing.assert_allclose(bank.item_information(theta), bank.discrimination**2 * p * (1 - p), rtol=EXACT)
    np.testing.assert_allclose(bank.information(theta), (bank.discrimination**2 * p * (1 - p)).sum(axis=1), rtol=EXACT)
    assert bank.information(0.4).shape == ()


def test_reference_lsat7_information_and_reliability():
    """R mirt's testinfo, marginal_rxx and empirical_rxx."""
    reference = json.loads((REFERENCE / "scores_lsat7.json").read_text(encoding="utf-8"))
    bank = pe.ItemBank.from_arrays(reference["items"], reference["a"], reference["d"])
    np.testing.assert_allclose(bank.information(reference["theta"]), reference["information"], rtol=1e-10)
    assert marginal_reliability(bank) == pytest.approx(reference["marginal_rxx"], abs=MIRT_RELIABILITY)
    counts = np.array(reference["counts"])
    eap, se = (np.repeat(reference["scores"][name], counts) for name in ("EAP", "SE_EAP"))
    assert empirical_reliability(eap, se) == pytest.approx(reference["empirical_rxx"], abs=1e-9)


def test_reference_cse_like_marginal_reliability():
    reference = json.loads((REFERENCE / "scores_cse_like.json").read_text(encoding="utf-8"))
    bank = pe.ItemBank.from_arrays(reference["items"], reference["a"], reference["d"])
    assert marginal_reliability(bank) == pytest.approx(reference["marginal_rxx"], abs=MIRT_RELIABILITY)


@pytest.mark.parametrize(("mean", "sd"), [(0.0, 1.0), (1.2, 0.5), (-1.0, 2.0)])
def test_marginal_reliability_is_the_integral(mean, sd):
    bank = pe.ItemBank(good().assign(discrimination=[0.8, 6.0, -0.5], guessing=[0.0, 0.2, 0.0]))

    def height(theta):
        information = float(bank.information(theta))
        return information / (information + 1 / sd**2) * norm.pdf(theta, mean, sd)

    expected = quad(height, mean - 9 * sd, mean + 9 * sd, points=[0.3], limit=400, epsabs=1e-12)[0]
    assert marginal_reliability(bank, mean, sd) == pytest.approx(expected, abs=1e-9)


def test_empirical_reliability_by_hand():
    theta, se = np.array([-1.0, 0.0, 1.0, np.inf, np.nan]), np.array([0.5, 0.5, 0.5, np.nan, np.nan])
    assert empirical_reliability(theta, se) == pytest.approx(1 / 1.25, rel=EXACT)
    assert np.isnan(empirical_reliability(theta[:1], se[:1]))


def test_l4_scaling_constant_keeps_probabilities():
    theta = np.linspace(-4, 4, 33)
    frame = good().assign(guessing=[0.0, 0.2, 0.1])
    bank = pe.ItemBank(frame, scaling_constant=1.7)
    a, b, c = (frame[name].to_numpy() for name in ("discrimination", "difficulty", "guessing"))
    expected = c + (1 - c) / (1 + np.exp(-1.7 * a * (theta[:, None] - b)))
    np.testing.assert_allclose(bank.probability(theta), expected, rtol=0, atol=EXACT)
    np.testing.assert_allclose(bank.discrimination, 1.7 * a, rtol=EXACT)
    np.testing.assert_allclose(bank.difficulty, b, rtol=EXACT)
    by_intercept = pe.ItemBank(table(discrimination=a, intercept=-a * b, guessing=c), scaling_constant=1.7)
    np.testing.assert_allclose(by_intercept.probability(theta), expected, rtol=0, atol=EXACT)


def test_scored_alike_in_either_metric():
    responses = pd.DataFrame([[1, 0, 1], [1, 1, 0]], columns=["q1", "q2", "q3"])
    stated = pe.score(pe.ItemBank(good(), scaling_constant=1.7), responses)
    converted = pe.score(pe.ItemBank(good().assign(discrimination=1.7 * good()["discrimination"])), responses)
    np.testing.assert_allclose(stated.theta, converted.theta, rtol=0, atol=EXACT)


def test_labels_from_a_column_an_index_or_none():
    assert pe.ItemBank(good().rename_axis("code").reset_index(names="item")).labels.tolist() == ["q1", "q2", "q3"]
    assert pe.ItemBank(good().set_axis(["x", "y", "z"])).labels.tolist() == ["x", "y", "z"]
    assert pe.ItemBank(good().set_axis([7, 8, 9])).labels.tolist() == [7, 8, 9]
    plain = pe.ItemBank(good().reset_index(drop=True))
    assert plain.labels.tolist() == ["q1", "q2", "q3"]
    assert pe.score(plain, np.array([[1, 0, 1]])).n.tolist() == [3]


def test_discrimination_zero_has_no_difficulty():
    bank = pe.ItemBank(table(discrimination=[1.0, 0.0], difficulty=[0.5, np.nan], intercept=[-0.5, 0.3]))
    assert bank.difficulty[0] == 0.5
    assert np.isnan(bank.difficulty[1])
    assert any("'q2'" in note and "discrimination is 0" in note for note in bank.diagnostics)
    np.testing.assert_allclose(bank.probability([-2.0, 3.0])[:, 1], 1 / (1 + np.exp(-0.3)), rtol=EXACT)
    with pytest.raises(DataError, match=r"discrimination 0.*'q2'"):
        pe.ItemBank(table(discrimination=[1.0, 0.0], difficulty=[0.5, 0.1]))


def test_negative_discrimination_is_kept_and_noted():
    bank = pe.ItemBank(good())
    assert bank.discrimination[2] == -0.5
    assert any("negative discrimination" in note and "'q3'" in note for note in bank.diagnostics)


def test_missing_difficulty_is_filled_by_the_intercept():
    frame = table(discrimination=[1.0, 2.0], difficulty=[np.nan, 0.5], intercept=[0.4, np.nan])
    np.testing.assert_allclose(pe.ItemBank(frame).intercept, [0.4, -1.0], rtol=EXACT)


def test_nullable_and_integer_columns_are_read():
    frame = pd.DataFrame({"discrimination": pd.array([1, 2], dtype="Int64"), "difficulty": [0, 1]}, index=["a", "b"])
    np.testing.assert_array_equal(pe.ItemBank(frame).intercept, [0.0, -2.0])
    with pytest.raises(DataError, match=r"discrimination is missing or infinite: b \(nan\)"):
        pe.ItemBank(frame.assign(discrimination=pd.array([1, None], dtype="Int64")))


# refusing


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (good().assign(discrimination=[1.0, np.nan, 1.0]), r"1 item whose discrimination is missing or infinite: q2 \(nan\)"),
        (good().assign(difficulty=[1.0, np.inf, -np.inf]), r"2 items whose difficulty is missing or infinite: q2 \(inf\), q3"),
        (good().assign(difficulty=["1", "2", "3"]), "pd.to_numeric"),
        (good().assign(discrimination=[True, False, True]), "expected numbers"),
        (good().assign(discrimination=[1.0, 1.0 + 0j, 1.0]), "holds complex128 .*expected numbers"),
        (good().assign(difficulty=np.array([1, 2, 3j])), "holds complex128 .*expected numbers"),
        (good().assign(guessing=np.zeros(3, dtype=complex)), "holds complex128 .*expected numbers"),
        (good().assign(guessing=[0.0, 1.0, -0.1]), r"2 items with a guessing parameter outside \[0, 1\): q2 \(1\), q3"),
        (good().assign(guessing=[0.0, np.nan, 0.1]), "guessing is missing"),
        (good().assign(intercept=[0.8, 0.36, 1.0]), r"1 item whose intercept is not .*: q2"),
        (good().drop(columns="difficulty"), "difficulty .or intercept"),
        (good().rename(columns={"discrimination": "a", "difficulty": "b"}), "rename"),
        (good().iloc[:0], "no rows"),
        (good().to_numpy(), "DataFrame"),
        (pd.concat([good(), good()[["difficulty"]]], axis=1), "columns of one name"),
        (table(discrimination=[0.0], difficulty=[np.nan], intercept=[np.nan]), "neither intercept nor usable"),
    ],
)
def test_bad_tables_are_refused(frame, message):
    with pytest.raises(DataError, match=message):
        pe.ItemBank(frame)


def test_i9_repeated_labels_are_refused():
    with pytest.raises(DuplicateLabelError, match="'q1'"):
        pe.ItemBank(good().set_axis(["q1", "q1", "q3"]))
    with pytest.raises(LabelError, match="without a label"):
        pe.ItemBank(good().set_axis(["q1", None, "q3"]))


@pytest.mark.parametrize("constant", [0.0, -1.7, np.nan, "1.7"])
def test_bad_scaling_constants_are_refused(constant):
    with pytest.raises(DataError, match="scaling_constant"):
        pe.ItemBank(good(), scaling_constant=constant)


@pytest.mark.parametrize("theta", [np.nan, [0.0, np.inf], "high", np.array([1.0 + 1.0j]), [[0.0], [0.0, 1.0]], None])
def test_bad_abilities_are_refused(theta):
    with pytest.raises(DataError, match="theta"):
        pe.ItemBank(good()).probability(theta)


def test_from_arrays_checks_shapes():
    with pytest.raises(DataError, match=r"discrimination has shape \(3,\)"):
        pe.ItemBank.from_arrays(["a", "b"], [1, 1, 1], [0, 0])
    with pytest.raises(DataError, match="covariance has shape"):
        pe.ItemBank.from_arrays(["a", "b"], [1, 1], [0, 0], covariance=np.eye(2))
    with pytest.raises(DataError, match=r"intercept .*expected one number for each of the 2 labels"):
        pe.ItemBank.from_arrays(["a", "b"], [1, 1], [[0], [0, 1]])


@pytest.mark.parametrize(
    "covariance",
    [[[1, 0], [0]], [["x", "y"], ["z", "w"]], np.eye(2, dtype=complex), {"a": 1}],
    ids=["ragged", "text", "complex", "dict"],
)
def test_from_arrays_checks_the_covariance(covariance):
    with pytest.raises(DataError, match="covariance has to be a table of 2 x 2 numbers"):
        pe.ItemBank.from_arrays(["a"], [1], [0], covariance=covariance)


# keeping


def test_the_table_is_not_changed_and_the_bank_cannot_be():
    frame = good()
    before = frame.copy(deep=True)
    bank = pe.ItemBank(frame, scaling_constant=1.7)
    pd.testing.assert_frame_equal(frame, before, check_exact=True)
    for array in (bank.discrimination, bank.intercept, bank.difficulty, bank.guessing):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    items = bank.items
    items.iloc[0, 0] = 99.0
    assert bank.discrimination[0] == pytest.approx(1.36)


@pytest.mark.parametrize("labels", [["q1", "q2", "é 3"], [3, 1, 2]])
def test_a_saved_bank_comes_back_to_the_bit(tmp_path, labels):
    rng = np.random.default_rng(1)
    covariance = rng.normal(size=(6, 6))
    covariance[0, 1] = np.nan
    bank = pe.ItemBank.from_arrays(labels, rng.normal(size=3), rng.normal(size=3), [0.0, 0.1, 0.3], covariance)
    loaded = pe.load(bank.save(tmp_path / "bank.json"))
    assert isinstance(loaded, pe.ItemBank)
    pd.testing.assert_frame_equal(loaded.items, bank.items, check_exact=True)
    np.testing.assert_array_equal(loaded.covariance, bank.covariance)
    assert pe.ItemBank.from_dict(pe.ItemBank(good()).to_dict()).covariance is None


def test_a_table_of_a_bank_makes_the_bank_again():
    bank = pe.ItemBank(good(), scaling_constant=1.7)
    np.testing.assert_array_equal(pe.ItemBank(bank.items).intercept, bank.intercept)


def test_select_keeps_parameters_and_covariance_together():
    covariance = np.arange(36.0).reshape(6, 6)
    bank = pe.ItemBank.from_arrays(["a", "b", "c"], [1.0, 2.0, 3.0], [0.1, 0.2, 0.3], [0.0, 0.1, 0.2], covariance)
    part = bank.select(["c", "a"])
    assert part.labels.tolist() == ["c", "a"]
    assert part.discrimination.tolist() == [3.0, 1.0]
    assert part.guessing.tolist() == [0.2, 0.0]
    np.testing.assert_array_equal(part.covariance, covariance[np.ix_([4, 5, 0, 1], [4, 5, 0, 1])])
    with pytest.raises(LabelError, match="'z'"):
        bank.select(["a", "z"])


def test_one_label_selects_one_item():
    bank = pe.ItemBank.from_arrays(["ab", "a", "b"], [1.0, 2.0, 3.0], [0.1, 0.2, 0.3])
    assert bank.select("ab").labels.tolist() == ["ab"]
    with pytest.raises(LabelError, match="1 item not found: 'abc'"):
        bank.select("abc")
    numbered = pe.ItemBank.from_arrays([7, 3], [1.0, 2.0], [0.1, 0.2])
    assert numbered.select(3).discrimination.tolist() == [2.0]
    paired = pe.ItemBank.from_arrays([("a", 1), ("a", 2)], [1.0, 2.0], [0.1, 0.2])
    assert paired.select(("a", 2)).discrimination.tolist() == [2.0]


def test_select_keeps_difficulties_to_the_bit():
    given = pe.ItemBank(table(discrimination=[0.3, 1.7], difficulty=[0.1, 1 / 3]))
    assert given.select(["q2", "q1"]).difficulty.tolist() == [1 / 3, 0.1]


@pytest.mark.parametrize(
    "labels",
    [pd.date_range("2026-01-01", periods=3), [("a", 1), ("a", 2), ("a", 3)], [1.0, 2.0, np.inf]],
    ids=["times", "pairs", "infinite"],
)
def test_labels_that_a_file_cannot_hold_are_named(tmp_path, labels):
    bank = pe.ItemBank.from_arrays(labels, [1.0, 2.0, 3.0], [0.1, 0.2, 0.3])
    path = tmp_path / "bank.json"
    path.write_text("before")
    with pytest.raises(DataError, match=r"label .* cannot be saved: expected text or a finite number"):
        bank.save(path)
    assert path.read_text() == "before"


def test_bank_shows_itself():
    bank = pe.ItemBank(good())
    assert repr(bank) == "ItemBank(3 items: 'q1', 'q2', 'q3')"
    assert len(bank) == bank.n_items == 3
    assert "D = 1" in bank.summary()
    assert "negative discrimination" in bank.summary()
    assert "<table" in bank._repr_html_()
