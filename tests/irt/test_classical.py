import tracemalloc

import numpy as np
import pytest

from psychoedu.irt.classical import ClassicalItems, coefficient_alpha, item_statistics

EXACT = 1e-12


def draw(n_respondents, n_items, seed, missing=0.0):
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal(n_respondents)[:, None]
    logit = rng.uniform(0.5, 2.0, n_items) * (theta - rng.standard_normal(n_items))
    scored = (rng.random((n_respondents, n_items)) < 1 / (1 + np.exp(-logit))).astype(np.int8)
    scored[rng.random(scored.shape) < missing] = -1
    return scored


def naive_point_biserial(scored):
    values = []
    for j in range(scored.shape[1]):
        item, rest = [], []
        for row in scored:
            others = [x for k, x in enumerate(row) if k != j and x >= 0]
            if row[j] >= 0 and others:
                item.append(row[j])
                rest.append(np.mean(others))
        values.append(np.corrcoef(item, rest)[0, 1])
    return np.array(values)


def naive_pairwise_alpha(scored):
    n_items = scored.shape[1]
    covariance = np.empty((n_items, n_items))
    for j in range(n_items):
        for k in range(n_items):
            both = (scored[:, j] >= 0) & (scored[:, k] >= 0)
            covariance[j, k] = np.cov(scored[both, j], scored[both, k], ddof=0)[0, 1]
    return n_items / (n_items - 1) * (1 - np.trace(covariance) / covariance.sum())


def arrays(statistics: ClassicalItems):
    names = ("p_value", "point_biserial", "discrimination_index", "n", "alpha_if_deleted")
    return [getattr(statistics, name) for name in names] + [np.array([statistics.alpha])]


def test_guttman_triangle_by_hand():
    scored = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0]], dtype=np.int8)
    statistics = item_statistics(scored)
    np.testing.assert_allclose(statistics.p_value, [0.75, 0.5, 0.25], rtol=EXACT)
    # item 1: x = 1 1 1 0, rest 2 1 0 0: covariance 3/16, variances 3/16 and 11/16: r = sqrt(3/11); item 2: 1 1 0 0, rest 2 1 1 0
    np.testing.assert_allclose(statistics.point_biserial, [np.sqrt(3 / 11), np.sqrt(1 / 2), np.sqrt(3 / 11)], rtol=EXACT)
    # total 3 2 1 0 has variance 5/4, items 3/16 + 1/4 + 3/16 = 5/8: alpha = 3/2 (1 - 1/2)
    assert statistics.alpha == pytest.approx(0.75, rel=EXACT)
    # without item 1: total 2 1 0 0, variance 11/16, items 7/16: 2 (1 - 7/11); without item 2: total 2 1 1 0: 2 (1 - (3/8)/(1/2))
    np.testing.assert_allclose(statistics.alpha_if_deleted, [8 / 11, 1 / 2, 8 / 11], rtol=EXACT)
    # a tail holds 0.27 x 4 = 1.08 respondents: upper 1 of total 3 and 0.08 of total 2
    np.testing.assert_allclose(statistics.discrimination_index, [1 - 0.08 / 1.08, 1.0, 1 - 0.08 / 1.08], rtol=EXACT)
    np.testing.assert_array_equal(statistics.n, [4, 4, 4])


def test_complete_data_agree_with_numpy_corrcoef_and_the_alpha_formula():
    scored = draw(300, 12, seed=1)
    statistics = item_statistics(scored)
    total = scored.sum(axis=1)
    for j in range(12):
        assert statistics.point_biserial[j] == pytest.approx(np.corrcoef(scored[:, j], total - scored[:, j])[0, 1], rel=EXACT)
        others = np.delete(scored, j, axis=1)
        expected = 11 / 10 * (1 - others.var(axis=0, ddof=1).sum() / others.sum(axis=1).var(ddof=1))
        assert statistics.alpha_if_deleted[j] == pytest.approx(expected, rel=EXACT)
    expected = 12 / 11 * (1 - scored.var(axis=0, ddof=1).sum() / total.var(ddof=1))
    assert statistics.alpha == pytest.approx(expected, rel=EXACT)
    assert coefficient_alpha(scored) == statistics.alpha


def test_discrimination_index_of_untied_totals_is_upper_minus_lower():
    # 100 respondents with 100 different totals on 99 items: the 27 best have items 1..73 right, the 27 worst items 1..0 to 1..26
    scored = (np.arange(100)[:, None] > np.arange(99)[None, :]).astype(np.int8)
    expected = scored[73:].mean(axis=0) - scored[:27].mean(axis=0)
    np.testing.assert_allclose(item_statistics(scored).discrimination_index, expected, rtol=EXACT, atol=EXACT)


def test_ties_at_the_border_enter_with_one_fraction():
    # totals: 2 x 5, 1 x 10, 0 x 5; a tail is 5.4 respondents: 5 certain and 0.4 of the 10 tied ones, 7 of whom have item 1 right
    rows = [[1, 1]] * 5 + [[1, 0]] * 7 + [[0, 1]] * 3 + [[0, 0]] * 5
    upper, lower = (5 + 0.4 * 0.7) / 5.4, 0.4 * 0.7 / 5.4
    assert item_statistics(np.array(rows, dtype=np.int8)).discrimination_index[0] == pytest.approx(upper - lower, rel=EXACT)


def test_missing_cells_use_the_other_administered_items():
    scored = draw(150, 8, seed=2, missing=0.3)
    statistics = item_statistics(scored)
    np.testing.assert_allclose(statistics.point_biserial, naive_point_biserial(scored), rtol=1e-10)
    np.testing.assert_array_equal(statistics.n, (scored >= 0).sum(axis=0))
    seen = np.ma.masked_less(scored, 0)
    np.testing.assert_allclose(statistics.p_value, seen.mean(axis=0), rtol=EXACT)


def test_missing_cells_alpha_is_pairwise():
    scored = draw(150, 6, seed=3, missing=0.2)
    statistics = item_statistics(scored)
    assert statistics.alpha == pytest.approx(naive_pairwise_alpha(scored), rel=1e-10)
    for j in range(6):
        assert statistics.alpha_if_deleted[j] == pytest.approx(naive_pairwise_alpha(np.delete(scored, j, axis=1)), rel=1e-10)


def test_longer_form_is_not_taken_for_a_better_respondent():
    # equal proportions right on a long and a short form: the sum would correlate with nothing but the form
    scored = np.full((8, 6), -1, dtype=np.int8)
    scored[:4, :3] = [[1, 1, 0], [1, 0, 1], [0, 1, 1], [0, 1, 1]]
    scored[4:, :] = [[1, 1, 0, 1, 1, 0], [1, 0, 1, 1, 0, 1], [0, 1, 1, 0, 1, 1], [0, 1, 1, 1, 1, 0]]
    np.testing.assert_allclose(item_statistics(scored).point_biserial, naive_point_biserial(scored), rtol=1e-10)


def test_two_forms_have_no_common_alpha_and_say_so():
    scored = draw(100, 6, seed=4)
    scored[:50, 4:] = -1
    scored[50:, :2] = -1
    statistics = item_statistics(scored)
    assert np.isnan(statistics.alpha)
    assert np.isnan(statistics.alpha_if_deleted).all()
    assert "4 pairs of items" in statistics.alpha_reason
    assert "columns 1 and 5" in statistics.alpha_reason
    assert np.isfinite(statistics.point_biserial).all()


@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_c10_integer_weights_equal_repeated_rows(missing):
    scored = draw(80, 7, seed=5, missing=missing)
    weights = np.random.default_rng(6).integers(0, 4, 80)
    weighted = item_statistics(scored, weights.astype(float))
    repeated = item_statistics(np.repeat(scored, weights, axis=0))
    for one, other in zip(arrays(weighted), arrays(repeated), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)


@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_scaling_all_weights_changes_only_n(missing):
    scored = draw(60, 5, seed=7, missing=missing)
    weights = np.random.default_rng(8).random(60)
    one, other = item_statistics(scored, weights), item_statistics(scored, 1e-3 * weights)
    np.testing.assert_allclose(other.n, 1e-3 * one.n, rtol=EXACT)
    for name in ("p_value", "point_biserial", "discrimination_index", "alpha_if_deleted"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9)


def test_i23_permuting_rows_and_items_permutes_results():
    scored = draw(90, 9, seed=9, missing=0.2)
    rng = np.random.default_rng(10)
    rows, columns = rng.permutation(90), rng.permutation(9)
    one, other = item_statistics(scored), item_statistics(scored[rows][:, columns])
    for name in ("p_value", "point_biserial", "discrimination_index", "n", "alpha_if_deleted"):
        np.testing.assert_allclose(getattr(one, name)[columns], getattr(other, name), rtol=1e-10)


def test_blocks_change_nothing(monkeypatch):
    scored = draw(120, 10, seed=11, missing=0.2)
    whole = item_statistics(scored)
    monkeypatch.setattr("psychoedu.irt.classical._BLOCK_CELLS", 70)
    for one, other in zip(arrays(whole), arrays(item_statistics(scored)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)


def test_constant_and_unseen_items_give_nan_without_a_warning():
    scored = draw(50, 5, seed=12)
    scored[:, 1] = 1
    scored[:, 3] = -1
    statistics = item_statistics(scored)
    assert statistics.p_value[1] == 1.0
    assert np.isnan(statistics.point_biserial[[1, 3]]).all()
    assert statistics.discrimination_index[1] == 0.0
    assert np.isnan(statistics.p_value[3])
    assert np.isnan(statistics.discrimination_index[3])
    assert statistics.n[3] == 0
    assert np.isnan(statistics.alpha)
    assert np.isfinite(statistics.point_biserial[[0, 2, 4]]).all()


def test_i5_a_row_without_data_changes_nothing():
    scored = draw(50, 5, seed=13)
    with_empty = np.vstack([scored, np.full((1, 5), -1, dtype=np.int8)])
    for one, other in zip(arrays(item_statistics(scored)), arrays(item_statistics(with_empty)), strict=True):
        np.testing.assert_allclose(one, other, rtol=EXACT)


@pytest.mark.parametrize(
    ("scored", "reason"),
    [
        (np.ones((5, 3), dtype=np.int8), "does not vary"),
        (np.array([[1], [0]], dtype=np.int8), "needs two items"),
        (np.full((4, 3), -1, dtype=np.int8), "no respondent has a score"),
    ],
    ids=["constant", "one item", "no data"],
)
def test_alpha_that_does_not_exist_is_nan_with_a_reason(scored, reason):
    statistics = item_statistics(scored)
    assert np.isnan(statistics.alpha)
    assert reason in statistics.alpha_reason
    assert np.isnan(coefficient_alpha(scored))


def test_rest_score_without_variance_gives_nan():
    scored = np.array([[1, 1], [0, 1], [1, 1], [0, 1]], dtype=np.int8)
    assert np.isnan(item_statistics(scored).point_biserial).all()


def test_reversed_item_has_a_negative_point_biserial():
    scored = draw(400, 8, seed=14)
    before = item_statistics(scored).point_biserial[3]
    scored[:, 3] = 1 - scored[:, 3]
    assert item_statistics(scored).point_biserial[3] == pytest.approx(-before, rel=1e-10)


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_temporaries_stay_far_below_the_data(missing):
    scored = np.zeros((60_000, 100), dtype=np.int8)
    scored[:] = draw(600, 100, seed=15, missing=missing).repeat(100, axis=0)
    tracemalloc.start()
    item_statistics(scored)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6  # a float64 copy of the data would be 48 MB
