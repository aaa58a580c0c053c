"""The bias of misplaced pages: against panellists who read drawn booklets one page after another, and the intervals it moves."""

import numpy as np
import pytest
from level_designs import bank_of, changed, placed
from scipy.stats import norm, t

import psychoedu as pe
from psychoedu.exceptions import DataError
from psychoedu.irt.bank import ItemBank
from psychoedu.irt.linking_constants import LinkingConstants
from psychoedu.standard_setting.booklet import booklet
from psychoedu.standard_setting.bookmark import bookmark
from psychoedu.standard_setting.cut_scores import CutScores

EXACT = 1e-12
MONTE_CARLO = 4.0  # standard errors
PAGES = {"CSE-3": [8, 9, 11], "CSE-4": [18, 18, 21], "CSE-5": [30, 31, 33]}


def cuts_of(bank, pages=None, **options):
    return bookmark(booklet(bank), placed(pages or PAGES), **options)


def walk(estimated, true, ability, rule):
    """Read a booklet page by page up to the first one whose item lies above an ability, and give the cut that this makes."""
    order = sorted(range(len(estimated)), key=lambda item: estimated[item])
    page = 0
    while page < len(order) and true[order[page]] <= ability:
        page += 1
    last = estimated[order[page - 1]] if page > 0 else -np.inf
    following = estimated[order[page]] if page < len(order) else np.inf
    return {"last-mastered": last, "first-not-mastered": following, "midpoint": (last + following) / 2}[rule]


def simulated(bank, cuts, rule, aggregate, n_draws, seed, blocks=False):
    """Return the mean and standard error of the bias of each level, open-ended draws left out, and their share."""
    rng = np.random.default_rng(seed)
    a, d, logit = bank.discrimination, bank.intercept, np.log(0.67 / 0.33)
    scale = np.ones(2 * bank.n_items)
    scale[::2] = 1.0 / a  # log a in place of a
    shape = bank.covariance * np.outer(scale, scale)
    if blocks:
        parts = [shape[j : j + 2, j : j + 2] for j in range(0, len(shape), 2)]
        moved = np.concatenate([rng.multivariate_normal(np.zeros(2), part, n_draws) for part in parts], axis=1)
    else:
        moved = rng.multivariate_normal(np.zeros(len(shape)), shape, n_draws)
    true = (logit - d) / a
    middle = np.median if aggregate == "median" else np.mean
    found = []
    for k in range(len(cuts)):
        abilities = cuts.panel.theta[-1][:, k]
        start = middle([walk(true, true, ability, rule) for ability in abilities])
        values = []
        for shift in moved:
            estimated = (logit - d - shift[1::2]) / (a * np.exp(shift[::2]))
            values.append(middle([walk(estimated, true, ability, rule) for ability in abilities]) - start)
        finite = np.array(values)[np.isfinite(values)]
        found.append([finite.mean(), finite.std(ddof=1) / np.sqrt(len(finite)), 1 - len(finite) / n_draws])
    return np.array(found).T


@pytest.mark.parametrize(
    ("rule", "aggregate"),
    [("last-mastered", "median"), ("last-mastered", "mean"), ("first-not-mastered", "median"), ("midpoint", "mean")],
)
def test_the_bias_is_that_of_panellists_who_read_page_by_page(rule, aggregate):
    bank = bank_of(40, seed=3, error=0.15)
    cuts = cuts_of(bank, rule=rule, aggregate=aggregate)
    found = cuts.reading_bias(1000, rng=1)
    bias, error, open_ended = simulated(bank, cuts, rule, aggregate, 400, seed=2)
    assert (np.abs(found["bias"] - bias) < MONTE_CARLO * np.hypot(found["bias_se"], error)).all()
    assert (found["bias_se"] < 0.02).all()  # small beside the biases
    np.testing.assert_allclose(found["bias_se"], error * np.sqrt(400 / 1000), rtol=0.25)
    np.testing.assert_allclose(found["bias_se"], found["sd"] / np.sqrt(1000), rtol=1e-10)
    assert (open_ended == 0).all()
    assert (found["open_ended"] == 0).all()


def test_booklets_too_long_for_a_joint_draw():
    n = 405
    bank = bank_of(n, seed=4, error=None)
    size = np.linspace(0.02, 2.0, n)  # the error of an item is its own
    covariance = np.kron(np.diag(size), [[0.01, -0.004], [-0.004, 0.02]])
    bank = changed(bank, covariance=covariance)
    cuts = cuts_of(bank, {"CSE-3": [150, 160], "CSE-4": [260, 275]})
    found = cuts.reading_bias(400, rng=1)
    bias, error, _ = simulated(bank, cuts, "last-mastered", "median", 200, seed=2, blocks=True)
    assert (np.abs(found["bias"] - bias) < MONTE_CARLO * np.hypot(found["bias_se"], error)).all()
    assert (found["bias"] < -0.1).all()


def test_noisy_booklets_pull_cuts_down_and_more_so_the_noisier():
    found = [cuts_of(bank_of(40, error=error)).reading_bias() for error in (0.1, 0.2, 0.4)]
    means = [table["bias"].mean() for table in found]
    assert means[2] < means[1] < means[0] < 0
    for table in found[1:]:
        assert (table["bias"] < -MONTE_CARLO * table["bias_se"]).all()


@pytest.mark.parametrize("rule", ["last-mastered", "first-not-mastered", "midpoint"])
@pytest.mark.parametrize("aggregate", ["median", "mean"])
def test_a_booklet_that_is_known_has_no_bias(rule, aggregate):
    bank = bank_of(40, error=None)
    for variance in (0.0, 1e-26):
        known = changed(bank, covariance=variance * np.eye(80))
        found = cuts_of(known, rule=rule, aggregate=aggregate).reading_bias(50)
        np.testing.assert_allclose(found[["bias", "sd", "open_ended"]], 0.0, atol=EXACT)


def test_items_without_error_stay_where_they_are():
    bank = bank_of(40)
    covariance = bank.covariance.copy()
    covariance[10:20] = covariance[:, 10:20] = np.nan  # fixed items: unknown, hence not drawn
    found = cuts_of(changed(bank, covariance=covariance)).reading_bias(100)
    assert np.isfinite(found.to_numpy()).all()
    assert (found["bias"] < 0).any()


def test_open_ended_draws_are_counted_and_left_out():
    cuts = cuts_of(bank_of(40, error=0.3), {"CSE-3": [1, 1, 1], "CSE-4": [20, 20, 20]})
    found = cuts.reading_bias(400)
    bias, error, open_ended = simulated(bank_of(40, error=0.3), cuts, "last-mastered", "median", 400, seed=5)
    share = found.loc["CSE-3", "open_ended"]
    assert 0.2 < share < 0.9
    assert abs(share - open_ended[0]) < MONTE_CARLO * np.sqrt(2 * share * (1 - share) / 400)
    assert (np.abs(found["bias"] - bias) < MONTE_CARLO * np.hypot(found["bias_se"], error)).all()


def test_an_open_end_has_no_bias_and_its_interval_no_limits():
    cuts = cuts_of(bank_of(20), {"CSE-3": [0, 0, 1], "CSE-4": [12, 13, 13]})
    found = cuts.reading_bias(50)
    assert found.loc["CSE-3", ["bias", "bias_se", "sd"]].isna().all()
    assert found.loc["CSE-3", "open_ended"] == 1.0
    assert np.isfinite(found.loc["CSE-4", "bias"])
    limits = cuts.conf_int()
    assert limits.loc["CSE-3"].isna().all()
    assert np.isfinite(limits.loc["CSE-4"]).all()


def test_the_round_is_the_one_that_made_the_cuts():
    frame = placed(PAGES, round=1)
    other = placed({level: [page + 3 for page in pages] for level, pages in PAGES.items()}, round=2)
    own = booklet(bank_of(40))
    both = bookmark(own, [frame, other], round=1)
    np.testing.assert_array_equal(both.reading_bias(50), bookmark(own, frame).reading_bias(50))
    assert not np.array_equal(both.reading_bias(50), bookmark(own, [frame, other]).reading_bias(50))


def test_missing_bookmarks_are_left_out():
    bank = bank_of(40)
    frame = placed(PAGES)
    some = frame.drop(frame.index[(frame["panellist"] == "p3") & (frame["level"] == "CSE-4")])
    found = bookmark(booklet(bank), some, missing="omit", aggregate="mean").reading_bias(50)
    two = cuts_of(bank, {level: pages[:2] for level, pages in PAGES.items()}, aggregate="mean").reading_bias(50)
    np.testing.assert_allclose(found.loc["CSE-4"], two.loc["CSE-4"], rtol=EXACT)


def test_linking_stretches_the_bias():
    bank = bank_of(40)
    plain, linked = cuts_of(bank), cuts_of(bank, linking=LinkingConstants(1.7, 0.4))
    columns = ["bias", "bias_se", "sd"]
    np.testing.assert_allclose(linked.reading_bias(50)[columns], 1.7 * plain.reading_bias(50)[columns], rtol=1e-10)


def test_the_seed_gives_the_draws():
    cuts = cuts_of(bank_of(40))
    np.testing.assert_array_equal(cuts.reading_bias(50, rng=3), cuts.reading_bias(50, rng=np.random.default_rng(3)))
    assert not np.array_equal(cuts.reading_bias(50, rng=3), cuts.reading_bias(50, rng=4))
    assert cuts.reading_bias(50).index.tolist() == list(PAGES)


def test_cuts_read_from_a_file_have_the_same_bias(tmp_path):
    cuts = cuts_of(bank_of(40))
    np.testing.assert_array_equal(pe.load(cuts.save(tmp_path / "cuts.json")).reading_bias(50), cuts.reading_bias(50))


# intervals


def test_intervals_are_shifted_by_the_bias_and_otherwise_around_the_cut():
    cuts = cuts_of(bank_of(40, error=0.2))
    plain = cuts.conf_int(bias=None)
    errors = cuts.standard_errors
    half = np.sqrt((t.ppf(0.975, 2) * errors["panel"]) ** 2 + (norm.ppf(0.975) * errors["items"]) ** 2)
    np.testing.assert_allclose(plain["low"], cuts.cut_scores - half, rtol=1e-10)
    np.testing.assert_allclose(plain["high"], cuts.cut_scores + half, rtol=1e-10)
    bias = cuts.reading_bias()["bias"]
    assert (bias < -0.01).all()
    for found in (cuts.conf_int(), cuts.conf_int(bias="reading"), cuts.to_frame()[["low", "high"]]):
        np.testing.assert_allclose(found.sub(plain).to_numpy(), -np.column_stack([bias, bias]), atol=EXACT)


def test_a_bias_of_ones_own():
    cuts = cuts_of(bank_of(40))
    plain = cuts.conf_int(bias=None)
    for given, taken in ((0.1, [0.1] * 3), ([0.1, -0.2, 0.0], [0.1, -0.2, 0.0])):
        np.testing.assert_allclose(cuts.conf_int(bias=given)["low"], plain["low"] - taken, atol=EXACT)
    given = CutScores.from_values({"a": 0.0, "b": 1.0}, 0.1)
    np.testing.assert_array_equal(given.conf_int(), given.conf_int(bias=None))  # no booklet was read


def test_intervals_of_a_bank_without_errors_are_unknown():
    limits = cuts_of(bank_of(40, error=None)).conf_int()
    assert limits.isna().all(axis=None)


@pytest.mark.parametrize(
    ("bias", "message"),
    [("pages", "bias has to be one of 'reading'; got 'pages'"), ([0.1, 0.2], r"one number a cut \(3\); got shape \(2,\)")],
    ids=["word", "too few"],
)
def test_a_bias_that_is_none(bias, message):
    with pytest.raises(DataError, match=message):
        cuts_of(bank_of(40)).conf_int(bias=bias)


@pytest.mark.parametrize(
    ("cuts", "n_draws", "message"),
    [
        (CutScores.from_values({"pass": 0.0}), 500, "reading_bias is about bookmarks; these cut scores are by given"),
        (cuts_of(bank_of(40, error=None)), 500, "needs the covariance of the item parameters"),
        (cuts_of(bank_of(40)), 1, "n_draws has to be at least 2"),
        (cuts_of(bank_of(40)), 2.5, "n_draws has to be"),
    ],
    ids=["given", "no covariance", "one draw", "half a draw"],
)
def test_cuts_without_a_reading(cuts, n_draws, message):
    with pytest.raises(DataError, match=message):
        cuts.reading_bias(n_draws)


def test_guessing_is_taken_into_the_locations():
    bank = bank_of(40, error=1e-13)
    guessed = ItemBank.from_arrays(bank.labels, bank.discrimination, bank.intercept, np.full(40, 0.2), bank.covariance)
    np.testing.assert_allclose(cuts_of(guessed).reading_bias(20)["bias"], 0.0, atol=1e-10)
