"""The facilitator's sheet between two rounds: what stands on it, by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import psychoedu as pe
from psychoedu.exceptions import DataError
from psychoedu.irt.linking_constants import LinkingConstants
from psychoedu.standard_setting.booklet import booklet
from psychoedu.standard_setting.bookmark import bookmark
from psychoedu.standard_setting.cut_scores import CutScores
from psychoedu.standard_setting.facilitator import facilitator_sheet

EXACT = 1e-12
PAGES = {
    1: {"A": (2, 5), "B": (3, 6), "C": (4, 9)},
    2: {"A": (3, 6), "B": (3, 6), "C": (4, 7), "D": (3, 6)},
}
SCORES = pd.DataFrame({"theta": [-1.5, -0.2, 0.4, 1.1, 2.0], "theta_se": [0.5, 0.3, 0.4, 0.3, 0.6]})
GROUPS = ["a", "a", "b", "b", "b"]


def panel(pages=None, names=("CSE-3", "CSE-4"), **options):
    """Return cuts of a panel in a booklet with pages at -2, -1.5, ..., 2."""
    bank = pe.ItemBank(
        pd.DataFrame({"discrimination": 1.0, "difficulty": np.linspace(-2, 2, 9)}, index=[f"q{n}" for n in range(1, 10)])
    )
    rows = [
        [name, number, level, page]
        for number, placed in (pages or PAGES).items()
        for name, own in placed.items()
        for level, page in zip(names, own, strict=False)
        if page is not None
    ]
    frame = pd.DataFrame(rows, columns=["panellist", "round", "level", "page"])
    return bookmark(booklet(bank, 0.5), frame, **options)


def shares(cuts, group):
    own = SCORES[[name == group for name in GROUPS]]
    below = np.array([norm.cdf(edge, own["theta"], own["theta_se"]) for edge in (-np.inf, *cuts, np.inf)])
    return np.diff(below, axis=0).mean(axis=1)


def test_the_last_round_is_laid_out():
    sheet = facilitator_sheet(panel(), SCORES, GROUPS)
    assert sheet.round == 2
    assert sheet.placements[("CSE-3", "page")].to_dict() == {"A": 3, "B": 3, "C": 4, "D": 3}
    assert sheet.placements[("CSE-4", "theta")].to_dict() == {"A": 0.5, "B": 0.5, "C": 1.0, "D": 0.5}
    assert sheet.agreement["cut"].to_dict() == {"CSE-3": -1.0, "CSE-4": 0.5}
    assert sheet.agreement["n"].tolist() == [4, 4]
    # of A, B and C, who placed in both rounds: up, kept, kept; up, kept, down
    assert sheet.movement[["n", "moved", "up", "down"]].to_numpy().tolist() == [[3, 1, 1, 0], [3, 2, 1, 1]]
    assert sheet.movement["cut_change"].tolist() == [0.0, 0.0]
    assert sheet.diagnostics == ()
    for group in ("a", "b"):
        np.testing.assert_allclose(sheet.impact.loc[group, "share"], shares((-1.0, 0.5), group), atol=EXACT)


def test_an_earlier_round_has_its_own_cuts_and_no_movement():
    sheet = facilitator_sheet(panel(), SCORES, GROUPS, round=1)
    assert list(sheet.placements.index) == ["A", "B", "C"]  # D had not yet come
    assert sheet.agreement["cut"].to_dict() == {"CSE-3": -1.0, "CSE-4": 0.5}
    assert sheet.agreement["range"].to_dict() == {"CSE-3": 1.0, "CSE-4": 2.0}
    assert len(sheet.movement) == 0
    assert "Movement" not in sheet.summary()


def test_the_mean_of_an_earlier_round_carries_its_impact():
    sheet = facilitator_sheet(panel(aggregate="mean"), SCORES, GROUPS, round=1)
    cuts = (-1.0, (0.0 + 0.5 + 2.0) / 3)
    np.testing.assert_allclose(sheet.agreement["cut"], cuts, atol=EXACT)
    np.testing.assert_allclose(sheet.impact.loc["b", "share"], shares(cuts, "b"), atol=EXACT)


def test_the_sheet_as_text():
    text = facilitator_sheet(panel(), SCORES, GROUPS).summary()
    assert text.startswith("Round 2: 4 panellists, rule last-mastered, median")
    for heading in ("Cuts and agreement", "Movement from the round before", "Impact: share of each group at each level"):
        assert heading in text
    assert f"{shares((-1.0, 0.5), 'b')[2]:.1%} (" in text
    assert "nan" not in text.lower()


def test_without_scores_there_is_no_impact():
    sheet = facilitator_sheet(panel())
    assert sheet.impact is None
    assert sheet.diagnostics == ()
    assert "Impact" not in sheet.summary()


def test_everyone_is_one_group():
    impact = facilitator_sheet(panel(), SCORES).impact
    assert list(dict.fromkeys(impact.index.get_level_values("group"))) == ["everyone"]
    assert (impact["n"] == 5).all()


def test_cuts_of_a_round_that_do_not_rise_have_no_impact_and_say_so():
    cuts = panel({1: {"A": (4, 4), "B": (4, 4)}, 2: PAGES[2]})
    sheet = facilitator_sheet(cuts, SCORES, round=1)
    assert sheet.impact is None
    assert sheet.diagnostics[0].startswith("no impact: The cut scores are equal from CSE-3 (-0.5) to CSE-4 (-0.5)")
    assert sheet.diagnostics[0] in sheet.summary()
    assert facilitator_sheet(cuts, SCORES).impact is not None


def test_a_missing_bookmark_stays_missing():
    cuts = panel({1: {"A": (2, None), "B": (3, None)}, 2: {"A": (3, 6), "B": (None, 6)}}, missing="omit")
    sheet = facilitator_sheet(cuts, SCORES)
    assert sheet.placements.loc["B", ("CSE-3", "page")] is pd.NA
    assert np.isnan(sheet.placements.loc["B", ("CSE-3", "theta")])
    assert sheet.impact is not None
    first = facilitator_sheet(cuts, SCORES, round=1)
    assert first.diagnostics[0].startswith("no impact: No cut score for 'CSE-4'")


def test_linked_cuts_meet_scores_on_the_new_scale():
    link = LinkingConstants(2.0, 0.25)
    sheet = facilitator_sheet(panel(linking=link), SCORES, GROUPS)
    np.testing.assert_allclose(sheet.impact.loc["a", "share"], shares((-1.75, 1.25), "a"), atol=EXACT)


def test_the_scale_of_the_cuts_is_kept():
    names = ["B1", "A1"]  # the best is A1 here, against the order of CEFR
    impact = facilitator_sheet(panel(names=names, levels=names, scale=["C1", *names]), SCORES).impact
    assert impact.index.get_level_values("level").tolist() == ["below B1", "B1", "A1"]


@pytest.mark.parametrize("number", [3, "1", 1.5], ids=repr)
def test_rounds_by_their_own_label(number):
    with pytest.raises(DataError, match="is not among the placements' rounds: 1, 2"):
        facilitator_sheet(panel(), round=number)


@pytest.mark.parametrize("cuts", [CutScores.from_values({"pass": 0.0}), {"pass": 0.0}, None], ids=["given", "mapping", "none"])
def test_only_bookmarks_have_a_sheet(cuts):
    with pytest.raises(DataError, match="needs the cut scores of a bookmark panel"):
        facilitator_sheet(cuts)
