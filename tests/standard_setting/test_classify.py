"""Levels: which one, how probable, what is flagged, and files."""

import json

import numpy as np
import pandas as pd
import pytest
from level_designs import LEVELS, bank_of, drawn_panel, placed, respond, shifted
from scipy.stats import norm

import psychoedu as pe
from psychoedu.exceptions import DataError, DuplicateLabelError, FileFormatError, LabelError
from psychoedu.irt.linking_constants import LinkingConstants
from psychoedu.standard_setting.booklet import booklet
from psychoedu.standard_setting.bookmark import bookmark
from psychoedu.standard_setting.classify import classify
from psychoedu.standard_setting.cut_scores import CutScores
from psychoedu.standard_setting.levels import Levels

EXACT = 1e-12
FIGURES = 5e-6  # half a unit of the last digit given
CUTS = {"CSE-4": -0.5, "CSE-5": 0.0, "CSE-6": 0.5}


def given(theta, error=0.4, **columns):
    theta = np.atleast_1d(np.asarray(theta, dtype=float))
    return pd.DataFrame({"theta": theta, "theta_se": error, **columns}, index=[f"m{n}" for n in range(1, len(theta) + 1)])


def panel_cuts(**options):
    own = booklet(bank_of(40))
    return bookmark(own, drawn_panel(own, 8), **options)


# level and probability


def test_figures_of_one_score():
    """Theta .3, SE .4, cuts -.5, 0, .5."""
    found = classify(given(0.3), CUTS)
    assert found.level["m1"] == "CSE-5"
    np.testing.assert_allclose(found.probabilities.loc["m1"], [0.02275, 0.20388, 0.46484, 0.30854], atol=FIGURES)
    assert list(found.probabilities.columns) == ["below CSE-4", "CSE-4", "CSE-5", "CSE-6"]
    assert found.p_level["m1"] == pytest.approx(0.46484, abs=FIGURES)


def test_theta_at_a_cut_is_the_upper_level():
    below = np.nextafter(0.0, -1.0)
    found = classify(given([-0.5, 0.0, 0.5, below, -9.0]), CUTS)
    assert found.level.tolist() == ["CSE-4", "CSE-5", "CSE-6", "CSE-4", "below CSE-4"]
    assert found.level.cat.ordered
    assert found.level.cat.categories.tolist() == ["below CSE-4", "CSE-4", "CSE-5", "CSE-6"]
    assert (found.level >= "CSE-5").tolist() == [False, True, True, False, False]


def test_the_top_level_reads_or_above():
    found = classify(given([2.0, -2.0, 0.2]), CUTS)
    assert found.level_text.tolist() == ["CSE-6 or above", "below CSE-4", "CSE-5"]
    assert found.level.tolist() == ["CSE-6", "below CSE-4", "CSE-5"]
    assert classify(given(2.0), {"C2": 1.0}).level_text.tolist() == ["C2"]


def test_probabilities_are_normal_areas():
    theta, error = np.array([-2.0, 0.1, 0.7]), np.array([0.2, 0.5, 1.1])
    found = classify(given(theta, error), CUTS).probabilities.to_numpy()
    edges = np.array([-np.inf, -0.5, 0.0, 0.5, np.inf])
    expected = np.diff(norm.cdf((edges - theta[:, None]) / error[:, None]), axis=1)
    np.testing.assert_allclose(found, expected, atol=EXACT)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=EXACT)


def test_rows_out_are_rows_in():
    rng = np.random.default_rng(1)
    scores = given(rng.normal(size=50), rng.uniform(0.2, 0.6, 50))
    mixed = scores.iloc[rng.permutation(50)]
    one, two = classify(scores, CUTS), classify(mixed, CUTS)
    assert list(two.level.index) == list(mixed.index)
    pd.testing.assert_frame_equal(two.to_frame(), one.to_frame().loc[two.level.index], check_exact=True)
    assert one.counts().sum() == one.n_respondents == len(one) == 50
    assert list(one.counts().index) == list(one.level_labels)


def test_the_frame():
    frame = classify(given([0.3, 0.9]), CUTS).to_frame()
    names = ["theta", "theta_se", "level", "level_text", "p_below CSE-4", "p_CSE-4", "p_CSE-5", "p_CSE-6", "flags"]
    assert list(frame.columns) == names
    assert frame.index.name == "respondent"


# what has no probability


def test_infinite_scores_get_the_end_level_and_no_probability():
    found = classify(given([np.inf, -np.inf, 0.0], [np.nan, np.nan, 0.4]), CUTS)
    assert found.level.tolist() == ["CSE-6", "below CSE-4", "CSE-5"]
    assert found.probabilities.iloc[:2].isna().all(axis=None)
    assert found.p_level.isna().tolist() == [True, True, False]
    assert found.flags.tolist() == ["infinite", "infinite", ""]
    assert any("2 respondents with an infinite score" in note for note in found.diagnostics)


def test_perfect_rows_by_maximum_likelihood():
    bank = bank_of(20)
    responses = respond(bank, np.zeros(3))
    responses.iloc[0], responses.iloc[1] = 1, 0
    found = classify(pe.score(bank, responses, "ml"), panel_cuts())
    assert found.level.tolist()[:2] == ["CSE-6", "below CSE-3"]
    assert found.level_text.iloc[0] == "CSE-6 or above"
    assert found.probabilities.iloc[:2].isna().all(axis=None)
    flags = [text.split("; ") for text in found.flags]
    assert {"all_right", "infinite", "outside_measured_range"} <= set(flags[0])
    assert {"all_wrong", "infinite", "outside_measured_range"} <= set(flags[1])
    assert any("ML scores: the probabilities take their sampling distribution" in note for note in found.diagnostics)


def test_no_standard_error_no_probability():
    for scores in (given([0.1, 0.2], [np.nan, 0.4]), given([0.1, 0.2], [np.inf, 0.4])):
        found = classify(scores, CUTS)
        assert found.probabilities.isna().any(axis=1).tolist() == [True, False]
        assert found.level.tolist() == ["CSE-5", "CSE-5"]
        assert any("1 respondent without a standard error" in note for note in found.diagnostics)
    alone = classify(pd.Series([0.1], index=["m"]), CUTS)
    assert alone.probabilities.isna().all(axis=None)
    certain = classify(given([0.5, 0.4], 0.0), CUTS)
    assert certain.probabilities.to_numpy().tolist() == [[0, 0, 0, 1], [0, 0, 1, 0]]


def test_a_missing_score_has_no_level():
    found = classify(given([np.nan, 0.1], [np.nan, 0.4]), CUTS)
    assert found.level.isna().tolist() == [True, False]
    assert found.level_text.tolist() == ["no level", "CSE-5"]
    assert found.probabilities.iloc[0].isna().all()


@pytest.mark.parametrize("method", ["eap", "map", "ml", "wle"])
def test_nothing_answered_nothing_said(method):
    bank = bank_of(20)
    responses = respond(bank, np.zeros(2)).astype(float)
    responses.iloc[0] = np.nan
    found = classify(pe.score(bank, responses, method), panel_cuts())
    assert pd.isna(found.level.iloc[0])
    assert found.level_text.iloc[0] == "no level"
    assert "no_data" in found.flags.iloc[0]
    assert any("1 respondent answered no item: no level is given" in note for note in found.diagnostics)


# open ends


def test_an_open_end_is_always_or_never_reached():
    low = classify(given([-9.0, 0.0]), CutScores.from_values({"a": -np.inf, "b": 0.5}))
    assert low.level.tolist() == ["a", "a"]
    np.testing.assert_allclose(low.probabilities["below a"], 0.0)
    high = classify(given([9.0, np.inf], [0.4, np.nan]), CutScores.from_values({"a": 0.5, "b": np.inf}))
    assert high.level.tolist() == ["a", "a"]
    assert high.probabilities["b"].iloc[0] == 0.0


# the measured range


def test_the_ends_of_the_measured_range_are_inside():
    cuts = panel_cuts()
    low, high = cuts.booklet.locations[[0, -1]]
    theta = [low, np.nextafter(low, -9), high, np.nextafter(high, 9), 0.0]
    flagged = classify(given(theta), cuts).flags.str.contains("outside_measured_range")
    assert flagged.tolist() == [False, True, False, True, False]


def test_levels_without_items_are_flagged():
    bank = pe.ItemBank.from_arrays(list("abcd"), [1.0] * 4, [2.0, 1.5, 1.0, 0.8])  # located at -2 to -0.8
    found = classify(given([-1.5, 0.2, 0.7]), {"CSE-4": -1.2, "CSE-5": 0.0, "CSE-6": 0.5}, bank=bank)
    assert found.flags.tolist() == ["", *["outside_measured_range; no_items_at_level"] * 2]
    assert not classify(given([0.7]), {"CSE-4": -1.2, "CSE-5": 0.0}).flags.any()  # no bank, nothing known


def test_the_measured_range_of_linked_cuts_is_on_the_new_scale():
    link = LinkingConstants(2.0, 10.0)
    plain, linked = panel_cuts(), panel_cuts(linking=link)
    theta = np.linspace(-4.0, 4.0, 41)
    one, two = classify(given(theta), plain), classify(given(2.0 * theta + 10.0, 0.8), linked)
    assert one.flags.tolist() == two.flags.tolist()
    assert one.level.tolist() == two.level.tolist()
    np.testing.assert_allclose(one.probabilities, two.probabilities, atol=1e-9)
    assert one.rp_sensitivity.astype(str).equals(two.rp_sensitivity.astype(str))


def test_a_shifted_scale_changes_no_level():
    own = booklet(bank_of(40))
    frame = drawn_panel(own, 8)
    theta = np.linspace(-4.0, 4.0, 41)
    one = classify(given(theta), bookmark(own.bank, frame))
    two = classify(given(theta + 3.0), bookmark(shifted(own.bank, 3.0), frame))
    assert one.level.tolist() == two.level.tolist()
    np.testing.assert_allclose(one.probabilities, two.probabilities, atol=1e-9)


# other response probabilities


def test_sensitivity_at_the_own_probability_is_the_level():
    found = classify(given(np.linspace(-3, 3, 61)), panel_cuts())
    table = found.rp_sensitivity
    assert table[0.67].tolist() == found.level.tolist()
    codes = np.column_stack([table[name].cat.codes for name in table.columns])
    assert (np.diff(codes, axis=1) <= 0).all()  # a higher response probability, a higher cut, a lower level
    assert (codes[:, 0] > codes[:, -1]).any()
    assert classify(given(0.3), CUTS).rp_sensitivity is None


def test_cuts_that_cross_elsewhere_are_put_in_order():
    """A steep and a flat item change places at RP 0.8: who has reached one of two cuts is one level up."""
    bank = pe.ItemBank.from_arrays(["flat", "steep"], [0.5, 3.0], [0.0, -1.2])
    cuts = bookmark(booklet(bank, 0.5), placed({"L1": [1], "L2": [2]}))
    crossed = cuts.rp_sensitivity.loc[0.8]
    assert crossed["L1"] > crossed["L2"]
    middle = float(crossed.mean())
    found = classify(given([crossed["L2"] - 0.1, middle, crossed["L1"] + 0.1]), cuts)
    assert found.rp_sensitivity[0.8].tolist() == ["below L1", "L1", "L2"]


def test_one_respondent_in_words():
    found = classify(given([0.3, np.inf], [0.4, np.nan]), CUTS)
    said = found.explain("m1")
    assert said.startswith("m1: CSE-5 (theta 0.300, standard error 0.400)")
    assert "CSE-5 0.465" in said
    assert "unknown: the score has no finite standard error" in found.explain("m2")
    with pytest.raises(LabelError, match="No respondent 'm9'"):
        found.explain("m9")
    assert "response probability" in classify(given([0.3]), panel_cuts()).explain("m1")


# arguments


@pytest.mark.parametrize("scores", [None, 0.3, [0.3], "m", {"theta": 0.3}], ids=repr)
def test_things_that_are_no_scores(scores):
    with pytest.raises(DataError, match=r"scores has to be Scores, or a DataFrame with columns theta and theta_se; got"):
        classify(scores, CUTS)


def test_tables_that_are_no_scores():
    with pytest.raises(LabelError, match=r"no column theta; its columns are 'ability'"):
        classify(pd.DataFrame({"ability": [0.3]}), CUTS)
    with pytest.raises(DataError, match="scores has no rows"):
        classify(given([0.3]).iloc[:0], CUTS)
    with pytest.raises(DataError, match="theta_se is negative for 1 respondent"):
        classify(given([0.3, 0.1], [-0.1, 0.2]), CUTS)
    with pytest.raises(DataError, match="have to be numbers"):
        classify(given([0.3]).astype({"theta": str}).assign(theta="high"), CUTS)
    with pytest.raises(DuplicateLabelError, match="used more than once: 'm'"):
        classify(given([0.3, 0.1]).set_axis(["m", "m"]), CUTS)


def test_cuts_and_labels_that_do_not_fit():
    with pytest.raises(DataError, match=r"2 cut scores for 3 levels"):
        classify(given(0.3), [0.0, 1.0], levels=["below", "mid", "high"])
    with pytest.raises(DataError, match="The cut scores fall"):
        classify(given(0.3), [1.0, 0.0], levels=["mid", "high"])
    with pytest.raises(DataError, match="The cut scores are equal"):
        classify(given(0.3), [1.0, 1.0], levels=["mid", "high"])
    with pytest.raises(DataError, match="a CutScores has its own"):
        classify(given(0.3), panel_cuts(), scale="CSE")
    with pytest.raises(LabelError, match="not on the scale CSE"):
        classify(given(0.3), {"mid": 1.0}, scale="CSE")


def test_what_needs_the_responses():
    with pytest.raises(DataError, match="need the responses behind the scores"):
        classify(given(0.3), CUTS, item_sampling=True)
    with pytest.raises(DataError, match="pass bank="):
        classify(given(0.3), CUTS, responses=pd.DataFrame({"q1": [1]}, index=["m1"]))
    assert any("count measurement error alone" in note for note in classify(given(0.3), panel_cuts()).diagnostics)


def test_scores_of_any_shape_are_read_alike():
    bank = bank_of(20)
    scores = pe.score(bank, respond(bank, [0.0, 1.0]))
    cuts = panel_cuts()
    one = classify(scores, cuts)
    pd.testing.assert_frame_equal(one.probabilities, classify(scores.to_frame(), cuts).probabilities)
    extension = scores.to_frame()[["theta", "theta_se"]].astype("Float64")
    pd.testing.assert_frame_equal(one.probabilities, classify(extension, cuts).probabilities)
    assert list(one.level_labels) == ["below CSE-3", *LEVELS]


# files


@pytest.mark.parametrize("joint", [False, True], ids=["measurement", "every source"])
def test_levels_are_saved_to_the_last_bit(tmp_path, joint):
    bank = bank_of(40)
    responses = respond(bank, np.linspace(-3, 3, 9)).astype(float)
    responses.iloc[0] = np.nan
    scores = pe.score(bank, responses)
    options = {"bank": bank, "responses": responses, "n_draws": 20, "rng": 1, "item_sampling": True} if joint else {}
    found = classify(scores, panel_cuts(), **options)
    again = pe.load(found.save(tmp_path / "levels.json"))
    assert isinstance(again, Levels)
    assert again.to_dict() == found.to_dict()
    pd.testing.assert_frame_equal(again.to_frame(), found.to_frame(), check_exact=True)
    assert again.explain("r5") == found.explain("r5")
    assert again.summary() == found.summary()
    if joint:
        pd.testing.assert_frame_equal(again.uncertainty.contributions, found.uncertainty.contributions, check_exact=True)
        pd.testing.assert_frame_equal(again.uncertainty.respondent("r5"), found.uncertainty.respondent("r5"), check_exact=True)


def test_probabilities_of_cuts_far_apart_and_close_are_saved(tmp_path):
    """Rounding errors below 0 would not be read back."""
    bank = bank_of(120, error=None)
    responses = respond(bank, np.linspace(-3, 3, 9))
    cuts = {f"L{n:03d}": cut for n, cut in enumerate(np.linspace(-8, 8, 200))}
    found = classify(pe.score(bank, responses), cuts, bank=bank, responses=responses, n_draws=3, rng=1)
    assert (found.uncertainty.steps >= 0).all()
    assert not np.signbit(found.uncertainty.steps).any()  # no "-0.000" in tables
    np.testing.assert_array_equal(pe.load(found.save(tmp_path / "levels.json")).probabilities, found.probabilities)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("level", [0, 9]),
        ("level", [0]),
        ("level", [0.5, 1]),
        ("theta", [0.1]),
        ("theta", ["x", 0.1]),
        ("theta_se", [-0.1, 0.4]),
        ("probabilities", [[1.0] * 4]),
        ("probabilities", [[-0.1, 0.1, 0.5, 0.5]] * 2),
        ("flags", [""]),
        ("flags", None),
        ("respondents", ["m1", "m1"]),
        ("respondents", []),
        ("cut_scores", None),
        ("cut_scores", {}),
        ("uncertainty", {"steps": []}),
        ("diagnostics", 3),
    ],
    ids=str,
)
def test_damaged_files_are_refused(tmp_path, name, value):
    path = classify(given([0.3, 0.9]), CUTS).save(tmp_path / "levels.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))
    with pytest.raises(FileFormatError, match="says it is a levels, but"):
        pe.load(path)
