"""The facilitator's sheet of a bookmark panel: reads the panellists' files in the browser and shows each round."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from psychoedu.exceptions import DataError, DuplicateLabelError
from psychoedu.report.page import facts, paragraph
from psychoedu.report.panel_common import (
    check_booklet,
    check_levels,
    check_notes,
    check_rule,
    check_text,
    probability_words,
    scripted_page,
)
from psychoedu.standard_setting.panel import AGGREGATES
from psychoedu.validation import check_choice, check_integer, counted, listed

if TYPE_CHECKING:
    from psychoedu.standard_setting.booklet import OrderedItemBooklet

RULE_WORDS = {
    "last-mastered": "A bookmark lies on the last page mastered; the cut is that page's location.",
    "first-not-mastered": "A bookmark lies on the first page not mastered; the cut is that page's location.",
    "midpoint": "A bookmark lies on the last page mastered; the cut is halfway to the next page's location.",
}


def facilitator_page(
    booklet: OrderedItemBooklet,
    levels: Sequence[Any],
    *,
    title: str = "Bookmark panel",
    rule: str = "last-mastered",
    aggregate: str = "median",
    impact: Mapping[Hashable, tuple[Any, ...]] | None = None,
    notes: Sequence[str] = (),
) -> str:
    """Write the sheet on which a facilitator reads the panellists' files and sees each round.

    Parameters
    ----------
    booklet : OrderedItemBooklet
        The booklet that the panel read.
    levels : sequence of labels
        Levels that get a bookmark, from the lowest.
    title : str
        Heading of the page, plain text.
    rule : {"last-mastered", "first-not-mastered", "midpoint"}
        What a bookmark says, as in :func:`psychoedu.report.panel_form.panel_form`.
    aggregate : {"median", "mean"}
        How the panellists' abilities become one cut.
    impact : mapping, optional
        By group of test takers: abilities, (G,) rising, and the share of the group at or above each, (G,). Between them the page
        goes straight, beyond them it keeps the end values. With a third value, the number of test takers, the page shows the
        interval of each share; :func:`psychoedu.standard_setting.impact.survival_curves` gives all three.
    notes : sequence of str
        Plain paragraphs for the facilitator.

    Returns
    -------
    str
        HTML. Nothing is written to disk, and the page sends nothing.

    Raises
    ------
    DataError
        An argument is not of its kind; the abilities of ``impact`` do not rise or its shares do, or its number of test takers is
        no whole number from 1.

    Notes
    -----
    SD is taken over panellists with n - 1; MAD is the median distance from the median, not rescaled. A bookmark at an open end
    has an infinite ability, and a level with one no SD on the scale. The files may lack ``round`` (then 1), ``table``
    and ``booklet``.

    The interval of a share p of n test takers is Wilson's, at 95% (z = 1.96):
    (p + z^2 / 2n -+ z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n).

    References
    ----------
    Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. *Journal of the American
    Statistical Association, 22*, 209-212.
    """
    booklet = check_booklet(booklet)
    names = check_levels(levels)
    rule = check_rule(rule)
    aggregate = check_choice(aggregate, AGGREGATES, "aggregate")
    heading = check_text(title, "title", required=True)
    groups = _impact(impact)
    data = {
        "rule": rule,
        "levels": names,
        "locations": booklet.locations.tolist(),
        "booklet": booklet.fingerprint,
        "aggregate": aggregate,
        "impact": groups,
    }
    about: list[tuple[str, Any]] = [
        ("booklet", f"{booklet.fingerprint}, {counted(booklet.n_pages, 'page')}"),
        ("response probability", f"{booklet.response_probability:.4g} ({probability_words(booklet.response_probability)})"),
        ("levels", ", ".join(names)),
        ("rule", RULE_WORDS[rule]),
        ("cut score", f"{aggregate} of the panellists' abilities"),
    ]
    if len(booklet.excluded):
        about.append(
            ("not in the booklet", f"{counted(len(booklet.excluded), 'item')}: {listed(list(booklet.excluded['item']))}")
        )
    body = (
        f"<main>\n{''.join(paragraph(note) for note in check_notes(notes))}{facts(about)}{_impact_words(groups)}"
        '<noscript><p class="alert">This page needs JavaScript to read the files.</p></noscript>\n'
        '<section class="needs-script" aria-label="Files">\n<div id="drop"><label for="files">Open the panellists\' files</label>'
        '<input id="files" type="file" multiple accept=".csv,text/csv">'
        '<p class="note">Or drop them anywhere on this page. They are read here, in your browser, and sent nowhere.</p></div>\n'
        '<div id="refused" role="alert"></div>\n<details id="read-box" hidden><summary id="read-count"></summary>'
        '<ul id="read" aria-label="Files read"></ul></details>\n'
        '<p id="status" class="note" role="status"></p>\n</section>\n'
        '<div id="sheet" hidden>\n<div class="bar-tools needs-script">'
        '<label for="round">Show</label> <select id="round"></select>\n'
        '<button type="button" id="download" class="primary">Download all placements</button>\n'
        '<button type="button" id="print">Print this sheet</button></div>\n<div id="results"></div>\n</div>\n</main>\n'
    )
    subtitle = "What the panel placed, round by round"
    scripts = ["panel_common.js", "facilitator_page.js"]
    return scripted_page(heading, subtitle, body, data, scripts, ["panel_common.css", "facilitator_page.css"])


def _impact_words(groups: list[dict[str, Any]]) -> str:
    """Say before any file is opened which groups the page knows, and how large they are where that is known."""
    if not groups:
        return ""
    named = ", ".join(f"{group['group']} ({group['n']:,})" if "n" in group else group["group"] for group in groups)
    counts = "; in brackets, the number of test takers" if any("n" in group for group in groups) else ""
    return paragraph(f"Impact data for: {named}{counts}", "note")


def _impact(impact: Mapping[Hashable, tuple[Any, ...]] | None) -> list[dict[str, Any]]:
    if impact is None:
        return []
    if not isinstance(impact, Mapping):
        raise DataError(
            "impact has to be a mapping from group to (abilities, shares) or (abilities, shares, n); "
            f"got {type(impact).__name__}."
        )
    names = [str(group) for group in impact]
    if len(set(names)) < len(names):
        raise DuplicateLabelError(f"Groups of impact are written alike: {listed(names)}. Expected a name of its own for each.")
    return [{"group": str(group), **_curve(group, given)} for group, given in impact.items()]


def _curve(group: Hashable, given: Any) -> dict[str, Any]:
    """Check one group's abilities and shares, and its number of test takers where it is given."""
    where = f"impact[{group!r}]"
    if not isinstance(given, tuple | list) or len(given) not in (2, 3):
        held = f" of {len(given)}" if isinstance(given, tuple | list) else ""
        raise DataError(
            f"{where} has to be (abilities, shares) or (abilities, shares, n); got {type(given).__name__}{held}.\n"
            "Expected the share of the group at or above each ability and, for intervals, its number of test takers."
        )
    try:
        theta, share = (np.asarray(values, dtype=np.float64) for values in given[:2])
    except (TypeError, ValueError) as error:
        raise DataError(f"{where} has to hold numbers: abilities and the share of the group at or above each.") from error
    if theta.ndim != 1 or theta.shape != share.shape or len(theta) < 2:
        raise DataError(
            f"{where} holds abilities of shape {theta.shape} and shares of shape {share.shape}.\n"
            "Expected two rows of one length, at least 2."
        )
    if not (np.isfinite(theta).all() and np.isfinite(share).all()):
        raise DataError(f"{where} holds values that are missing or infinite. Expected finite abilities and shares.")
    if (np.diff(theta) <= 0.0).any():
        raise DataError(f"The abilities of {where} do not rise. Expected them sorted, each once, with their shares.")
    if (share < 0.0).any() or (share > 1.0).any():
        hint = " Are they percentages? Divide by 100." if share.max() > 1.0 and share.min() >= 0.0 else ""
        raise DataError(f"{where} holds shares from {share.min():.4g} to {share.max():.4g}. Expected them between 0 and 1.{hint}")
    if (np.diff(share) > 1e-12).any():
        raise DataError(
            f"The shares of {where} rise with ability. Expected the share at or above each ability, which falls; "
            "if they are the shares below, give 1 - share."
        )
    count = {"n": check_integer(given[2], f"{where}[2], the number of test takers,", minimum=1)} if len(given) == 3 else {}
    return {"theta": theta.tolist(), "share": share.tolist(), **count}
