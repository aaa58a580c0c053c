"""The facilitator's sheet in a real browser: its arithmetic against NumPy's, and what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from panel_booklet import LEVELS, PANEL, Panel, grammar_booklet
from statsmodels.stats.proportion import proportion_confint

from psychoedu.report.facilitator_page import facilitator_page
from psychoedu.report.panel_form import panel_form
from psychoedu.standard_setting.placements import read_placements

pytestmark = pytest.mark.browser

RTOL_CLOSED = 1e-12
HEADER = "panellist,round,level,page\n"
GOOD = HEADER + "".join(f"Teacher G,1,{level},{page}\n" for level, page in zip(LEVELS, (5, 14, 22, 30), strict=True))
GRID = np.linspace(-3.0, 3.0, 25)
IMPACT = {
    "junior": (GRID, 1.0 / (1.0 + np.exp(1.7 * (GRID + 0.6))), 1102),
    "</script><b>college</b>": (GRID, 1.0 / (1.0 + np.exp(1.4 * (GRID - 0.5)))),
}


@pytest.fixture(scope="module")
def booklet():
    return grammar_booklet()


@pytest.fixture(scope="module")
def html(booklet):
    return facilitator_page(booklet, LEVELS, impact=IMPACT)


@pytest.fixture
def files(tmp_path, booklet):
    """Return the paths of a file for each panellist and round."""

    def write(panel=PANEL, rounds=(1, 2)):
        paths = []
        for number in rounds:
            for at, name in enumerate(panel.pages[number]):
                path = tmp_path / f"round-{number}-{at}.csv"
                panel.frame(booklet.fingerprint, [number], name).to_csv(path, index=False)
                paths.append(path)
        return paths

    return write


def open_files(page, paths):
    page.evaluate("document.getElementById('status').textContent = ''")
    page.set_input_files("#files", [str(path) for path in paths])
    page.locator("#status", has_text="read.").wait_for()


def write(folder, content, name="wrong.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def numbers(page, table, attribute="data-value"):
    """Return the numbers behind a table's cells, row by row; a cell without one is left out."""
    rows = page.evaluate(
        f"[...document.querySelectorAll('#{table} tbody tr')].map(r => [...r.querySelectorAll('td[{attribute}]')]"
        f".map(c => c.getAttribute('{attribute}')))"
    )
    return [[float(text.replace("Infinity", "inf")) for text in row] for row in rows]


def texts(page, table):
    """Return the words of a table's rows."""
    return page.evaluate(f"[...document.querySelectorAll('#{table} tbody tr')].map(r => [...r.children].map(c => c.textContent))")


def refusals(page):
    return page.locator("#refused").inner_text()


def abilities(pages, locations, rule):
    """Turn pages into abilities as the rules say, page by page."""
    found = []
    for page in pages:
        if rule == "last-mastered":
            found.append(-math.inf if page == 0 else locations[page - 1])
        elif rule == "first-not-mastered":
            found.append(math.inf if page == len(locations) + 1 else locations[page - 1])
        elif page in (0, len(locations)):
            found.append(math.copysign(math.inf, page - 1))
        else:
            found.append((locations[page - 1] + locations[page]) / 2.0)
    return np.array(found)


def middle_distance(values):
    centre = np.median(values)
    with np.errstate(invalid="ignore"):
        return np.median(np.where(values == centre, 0.0, np.abs(values - centre)))


def described(values):
    """Return n, median, mean, lowest, highest, SD and MAD of each column."""
    with np.errstate(invalid="ignore"):
        sd = np.where(np.isfinite(values).all(axis=0), np.std(np.where(np.isfinite(values), values, 0.0), axis=0, ddof=1), np.nan)
        return np.column_stack([
            np.full(values.shape[1], len(values)), np.median(values, axis=0), values.mean(axis=0), values.min(axis=0),
            values.max(axis=0), sd, [middle_distance(column) for column in values.T],
        ])  # fmt: skip


@pytest.mark.parametrize("rule", ["last-mastered", "first-not-mastered", "midpoint"])
@pytest.mark.parametrize("aggregate", ["median", "mean"])
def test_numbers_are_those_of_numpy(show, files, booklet, rule, aggregate):
    panel = {number: {name: list(pages) for name, pages in placed.items()} for number, placed in PANEL.pages.items()}
    if rule != "last-mastered":  # an open end above, in the first round
        panel[1]["教师 C"] = [3, 12, 25, 35 if rule == "first-not-mastered" else 34]
    if rule == "midpoint":  # an even panel
        panel[1]["Teacher D"], panel[2]["Teacher D"] = [2, 9, 9, 28], [1, 16, 21, 33]
    panel = Panel(panel)
    page = show(facilitator_page(booklet, LEVELS, rule=rule, aggregate=aggregate, impact=IMPACT))
    open_files(page, files(panel))
    cuts = {}
    for number in (1, 2):
        page.select_option("#round", str(number))
        placed = np.array(list(panel.pages[number].values()))
        theta = np.apply_along_axis(abilities, 1, placed, booklet.locations, rule)
        assert numbers(page, "placements", "data-page-number") == placed.tolist()
        np.testing.assert_allclose(numbers(page, "placements"), theta, rtol=RTOL_CLOSED)
        np.testing.assert_allclose(numbers(page, "by-page"), described(placed.astype(float)), rtol=RTOL_CLOSED)
        np.testing.assert_allclose(numbers(page, "by-theta"), described(theta), rtol=RTOL_CLOSED)
        cuts[number] = np.median(theta, axis=0) if aggregate == "median" else theta.mean(axis=0)
        shown = np.array(numbers(page, "cuts"))
        np.testing.assert_allclose(shown[:, 0], cuts[number], rtol=RTOL_CLOSED)
        np.testing.assert_allclose(shown[:, 1], np.median(placed, axis=0), rtol=RTOL_CLOSED)
        above = [np.interp(cuts[number], *curve[:2]) for curve in IMPACT.values()]
        above = [np.where(np.isinf(cuts[number]), cuts[number] < 0, share) for share in above]
        shares = [-np.diff([1.0, *share, 0.0]) for share in above]
        np.testing.assert_allclose(numbers(page, "impact"), shares, rtol=RTOL_CLOSED, atol=1e-15)
    assert np.isinf(cuts[1]).any() == (aggregate == "mean")  # the open end does reach a cut
    np.testing.assert_allclose(shown[:, 2], cuts[1], rtol=RTOL_CLOSED)
    np.testing.assert_allclose(shown[:, 3], cuts[2] - cuts[1], rtol=1e-9)


def test_movement(show, files, html):
    page = show(html)
    open_files(page, files())
    step = np.array([np.subtract(PANEL.pages[2][name], PANEL.pages[1][name]) for name in PANEL.pages[1]])
    expected = [*step.tolist(), (step != 0).sum(axis=0).tolist(), np.abs(step).mean(axis=0)]
    np.testing.assert_allclose(numbers(page, "movement"), expected, rtol=RTOL_CLOSED)
    assert texts(page, "movement")[0] == ["Teacher A", "+1", "0", "+1", "0"]
    page.select_option("#round", "1")
    assert page.locator("#movement").count() == 0


@pytest.mark.parametrize("aggregate", ["median", "mean"])
def test_intervals_are_those_of_statsmodels(show, files, booklet, aggregate):
    sizes = {"one": 1, "seven": 7, "junior": 1102, "college": 250_000}
    page = show(
        facilitator_page(
            booklet, LEVELS, aggregate=aggregate, impact={name: (GRID, 0.5 - GRID / 6.0, n) for name, n in sizes.items()}
        )
    )
    open_files(page, files(rounds=[1]))
    shares, low, high = (np.array(numbers(page, "impact", f"data-{which}")) for which in ("value", "low", "high"))
    assert shares.shape == low.shape == high.shape == (4, 5)
    for at, n in enumerate(sizes.values()):
        expected = proportion_confint(shares[at] * n, n, method="wilson")
        np.testing.assert_allclose([low[at], high[at]], expected, rtol=RTOL_CLOSED, atol=1e-15)
    shown = [[f"{100 * value:.1f}" for value in row] for row in (shares[2], low[2], high[2])]
    words = [f"{share} % {lower} to {upper}" for share, lower, upper in zip(*shown, strict=True)]
    assert texts(page, "impact")[2] == ["junior", "1,102", *words]
    if aggregate == "mean":  # an open end below: nobody is below the lowest level, and the interval begins at 0 exactly
        assert (shares[:, 0] == 0.0).all()
        assert (low[:, 0] == 0.0).all()
        assert (high[:, 0] > 0.0).all()


def test_no_interval_without_the_number_of_test_takers(show, files, booklet):
    page = show(facilitator_page(booklet, LEVELS, impact=IMPACT))
    open_files(page, files(rounds=[1]))
    known, unknown = texts(page, "impact")
    assert known[1] == "1,102"
    assert all(" to " in text for text in known[2:])
    assert unknown[1] == "–"
    assert all(text.endswith(" %") for text in unknown[2:])
    page = show(facilitator_page(booklet, LEVELS, impact={name: curve[:2] for name, curve in IMPACT.items()}))
    open_files(page, files(rounds=[1]))
    assert [len(row) for row in texts(page, "impact")] == [6, 6]  # no column for the number either
    assert "interval" not in page.locator("#results").inner_text()


def test_impact_is_announced_before_a_file_is_opened(show, html):
    page = show(html)
    assert page.locator("#sheet").is_hidden()
    assert page.get_by_text("Impact data for: junior (1,102), </script><b>college</b>").is_visible()


def test_open_ends_are_said(show, files, booklet):
    page = show(facilitator_page(booklet, LEVELS, aggregate="mean"))
    open_files(page, files(rounds=[1]))
    assert texts(page, "cuts")[0][1] == "open-ended (below)"
    assert texts(page, "by-theta")[0][6] == "–"  # no SD
    assert page.locator("#impact").count() == 0  # no group was given


def test_the_strip_plot_says_what_it_shows(show, files, html):
    page = show(html)
    open_files(page, files())
    assert page.locator("#strip").get_attribute("role") == "img"
    said = page.locator("#strip-words").text_content()
    assert "CSE-3: median page 6 (Teacher A 6, Teacher B 7, 教师 C 4)" in said
    assert page.locator("#strip .plot-dot").count() == 12
    assert page.locator("#strip .plot-old").count() == 12
    widths = page.evaluate("[...document.querySelectorAll('#strip circle')].map(c => +c.getAttribute('cx'))")
    assert max(widths) <= float(page.locator("#strip").get_attribute("viewBox").split()[2])


FAULTS = {
    "another booklet": (
        "panellist,round,level,page,booklet\nX,1,CSE-3,3,0123456789ab\n",
        "line 2: made in another booklet (0123456789ab)",
    ),
    "unknown level": (HEADER + "X,1,CSE-9,3\n", 'line 2: unknown level "CSE-9"; the levels are CSE-3, CSE-4, CSE-5, CSE-6'),
    "out of range": (HEADER + "X,1,CSE-3,35\n", "line 2: page 35 is not from 0 to 34"),
    "below the range": (HEADER + "X,1,CSE-3,-1\n", 'line 2: page "-1" is not a whole number'),
    "not whole": (HEADER + "X,1,CSE-3,2.5\n", 'line 2: page "2.5" is not a whole number from 0 to 34'),
    "no page": (HEADER + "X,1,CSE-3,\n", 'line 2: page "" is not a whole number'),
    "crossed": (HEADER + "X,1,CSE-3,9\nX,1,CSE-4,8\n", "X, round 1: bookmarks cross, CSE-4 (page 8) lies before CSE-3 (page 9)"),
    "twice in the file": (HEADER + "X,1,CSE-3,9\nX,1,CSE-3,9\n", "line 3: X placed CSE-3 twice in round 1"),
    "read already": (HEADER + "Teacher A,1,CSE-3,9\n", "Teacher A, round 1 was read already from round-1-0.csv"),
    "round": (HEADER + "X,one,CSE-3,9\n", 'line 2: the round "one" is not a whole number from 1'),
    "no name": (HEADER + " ,1,CSE-3,9\n", "line 2: The name is missing."),
    "formula": (HEADER + "=1+1,1,CSE-3,9\n", "spreadsheets take for a formula"),
    "columns": (HEADER + "X,1,CSE-3\n", "line 2: 3 columns where the first line has 4"),
    "header": ("who,round,level,where\nX,1,CSE-3,9\n", 'no column "panellist", "page" in the first line'),
    "semicolons": (HEADER.replace(",", ";") + "X;1;CSE-3;9\n", "save it with commas"),
    "empty": ("", "the file is empty"),
    "header alone": (HEADER, "there is no placement"),
    "open quotation": (HEADER + 'X,1,"CSE-3,9\n', "line 2: a quotation mark is opened and never closed"),
    "not UTF-8": ("panellist,round,level,page\n张,1,CSE-3,9\n".encode("gbk"), "not UTF-8 text"),
    "too large": (HEADER + "x" * 2_000_001, "too large"),
}


def test_faulty_files_are_named_and_refused(show, files, html, tmp_path):
    page = show(html)
    wrong = {f"{what}.csv": content for what, (content, _) in FAULTS.items()}
    paths = files(rounds=[1])
    open_files(page, [*paths, *(write(tmp_path, content, name) for name, content in wrong.items())])
    boxes = dict(zip(wrong, page.locator(".refused").all_inner_texts(), strict=True))
    for what, (_, said) in FAULTS.items():
        assert f"{what}.csv was refused" in boxes[f"{what}.csv"]
        assert said in boxes[f"{what}.csv"], what
    assert page.locator("#read li").count() == 3  # the others are kept
    assert len(texts(page, "placements")) == 3
    page.get_by_role("button", name="Dismiss the message on crossed.csv").click()
    assert "crossed.csv" not in refusals(page)


def test_many_faults_are_counted(show, html, tmp_path):
    page = show(html)
    open_files(page, [write(tmp_path, HEADER + "".join(f"X{number},1,CSE-9,1\n" for number in range(8)))])
    assert "and 3 more" in refusals(page)


def test_a_mended_file_takes_its_complaint_away(show, html, tmp_path):
    page = show(html)
    open_files(page, [write(tmp_path, GOOD.replace("14", "99"))])
    assert "page 99" in refusals(page)
    open_files(page, [write(tmp_path, GOOD)])
    page.wait_for_selector("#cuts")
    assert refusals(page) == ""


def test_a_file_can_be_replaced(show, html, tmp_path):
    page = show(html)
    first = write(tmp_path, GOOD, "first.csv")
    open_files(page, [first])
    open_files(page, [write(tmp_path, GOOD.replace("14", "15"), "second.csv")])
    page.wait_for_selector(".refused")
    assert "was read already from first.csv" in refusals(page)
    page.evaluate("document.getElementById('read-box').open = true")
    page.get_by_role("button", name="Remove first.csv").click()
    assert page.locator("#sheet").is_hidden()
    open_files(page, [tmp_path / "second.csv"])
    page.wait_for_selector("#cuts")
    assert numbers(page, "placements", "data-page-number") == [[5, 15, 22, 30]]


WAYS = {
    "BOM": "\ufeff" + GOOD,
    "CRLF": GOOD.replace("\n", "\r\n"),
    "CR": GOOD.replace("\n", "\r"),
    "no last end": GOOD.rstrip("\n"),
    "blank lines": GOOD.replace("\n", "\n\n"),
    "quoted": GOOD.replace("Teacher G", '"Teacher G"').replace("14", '"14"'),
    "spaces": GOOD.replace("Teacher G", " Teacher G ").replace("14", "14.0"),
    "order of columns": "\n".join(",".join(line.split(",")[::-1]) for line in GOOD.splitlines()),
    "no round": GOOD.replace("round,", "").replace("G,1,", "G,"),
    "another column": GOOD.replace(",page", ",page,note").replace("\n", ",n\n").replace("note,n", "note"),
}


def test_ways_to_write_the_same_file(show, html, tmp_path):
    page = show(html)
    for what, content in WAYS.items():
        open_files(page, [write(tmp_path, content, f"{what}.csv")])
        assert refusals(page) == "", what
        assert texts(page, "placements")[0][0] == "Teacher G", what
        assert numbers(page, "placements", "data-page-number") == [[5, 14, 22, 30]], what
        page.get_by_role("button", name=f"Remove {what}.csv").click()


def test_a_missing_bookmark_is_shown_not_filled(show, html, tmp_path):
    page = show(html)
    content = GOOD.replace("Teacher G,1,CSE-5,22\n", "") + GOOD.replace("Teacher G", "Teacher H").removeprefix(HEADER)
    open_files(page, [write(tmp_path, content)])
    assert "Teacher G, round 1: no bookmark for CSE-5" in page.locator("#read").inner_text()
    assert texts(page, "placements")[0][3] == "–"
    assert [row[0] for row in numbers(page, "by-page")] == [2, 2, 1, 2]
    assert texts(page, "by-page")[2][6:] == ["–", "0.0"]  # one bookmark has no SD


def test_names_in_files_stay_text(show, html, tmp_path):
    name = "<img src=x onerror='window.hacked = 1'></script>"
    page = show(html)
    open_files(page, [write(tmp_path, GOOD.replace("Teacher G", name), "name&<b>.csv")])
    assert page.locator("img").count() == 0
    assert page.evaluate("window.hacked") is None
    assert texts(page, "placements")[0][0] == name
    assert [row[0] for row in texts(page, "impact")] == list(IMPACT)


def test_all_placements_come_out_as_they_went_in(show, save, files, html, booklet):
    page = show(html)
    paths = files()
    open_files(page, paths)
    saved = save(page, "#download")
    assert saved.name == f"placements-all-{booklet.fingerprint}.csv"
    types = {"panellist": str, "booklet": str}
    assert_frame_equal(pd.read_csv(saved, dtype=types), PANEL.frame(booklet.fingerprint), check_dtype=False)
    placed = read_placements(saved, booklet, "last-mastered", LEVELS)
    assert placed.pages.tolist() == [list(PANEL.pages[number].values()) for number in (1, 2)]
    again = show(html)
    open_files(again, [saved])
    assert texts(again, "by-theta") == texts(page, "by-theta")


@pytest.mark.parametrize("everyone", [True, False])
def test_tables_come_out_where_everyone_has_one(show, save, html, booklet, tmp_path, everyone):
    with_table = "panellist,round,level,page,table\nX,1,CSE-3,4,T1\nX,1,CSE-4,9,T1\n"
    other = with_table.replace("X", "Y").replace("T1", "T2" if everyone else "")
    page = show(html)
    open_files(page, [write(tmp_path, with_table, "x.csv"), write(tmp_path, other, "y.csv")])
    frame = pd.read_csv(save(page, "#download"))
    assert ("table" in frame.columns) == everyone
    assert ("tables were left out" in page.locator("#status").inner_text()) != everyone


def test_two_tables_for_one_panellist(show, html, tmp_path):
    page = show(html)
    lines = "panellist,round,level,page,table\nX,1,CSE-3,4,T1\n"
    open_files(page, [write(tmp_path, lines, "x.csv"), write(tmp_path, lines.replace(",1,", ",2,").replace("T1", "T2"), "y.csv")])
    assert 'X sits at table "T2", and at "T1" in x.csv' in refusals(page)


def test_files_can_be_dropped(show, html):
    page = show(html)
    page.evaluate(
        """text => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([text], 'dropped.csv', {type: 'text/csv'}));
          document.body.dispatchEvent(new DragEvent('drop', {dataTransfer: transfer, bubbles: true, cancelable: true}));
        }""",
        GOOD,
    )
    page.wait_for_selector("#cuts")
    assert texts(page, "placements")[0][0] == "Teacher G"


def test_cuts_that_cross_on_the_scale_have_no_shares(show, tmp_path):
    import psychoedu as pe
    from psychoedu.standard_setting.booklet import booklet

    # by difficulty a flat item's location can lie above that of the next page
    bank = pe.ItemBank(pd.DataFrame({"discrimination": [0.3, 2.0], "difficulty": [0.0, 0.1]}, index=["q1", "q2"]))
    pages = booklet(bank, 0.8, "difficulty")
    page = show(facilitator_page(pages, ["low", "high"], impact={"all": ([-1.0, 5.0], [1.0, 0.0])}))
    open_files(page, [write(tmp_path, HEADER + "X,1,low,1\nX,1,high,2\n")])
    assert "The cuts cross on the ability scale (high below low)" in page.locator("#results").inner_text()
    assert page.locator("#impact").count() == 0


@pytest.mark.parametrize("width", [360, 768, 1440])
def test_nothing_sticks_out(show, files, html, tmp_path, width):
    long = "Donaudampfschifffahrt" * 20
    page = show(html, width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    open_files(
        page, [*files(), write(tmp_path, GOOD.replace("Teacher G", long)), write(tmp_path, GOOD.replace("CSE-3", long), "b.csv")]
    )
    page.evaluate("document.getElementById('read-box').open = true")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_everything_has_a_name(show, files, html):
    page = show(html)
    open_files(page, files())
    nameless = page.evaluate(
        "[...document.querySelectorAll('button, input, select')].filter(e => !e.getAttribute('aria-label')"
        " && !e.textContent.trim() && !(e.labels && e.labels.length)).map(e => e.outerHTML)"
    )
    assert nameless == []
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


def test_print_is_the_sheet(show, files, html):
    page = show(html)
    open_files(page, files())
    page.emulate_media(media="print")
    assert page.locator("#cuts").is_visible()
    assert not page.locator("#files").is_visible()
    assert not page.locator("#download").is_visible()


def test_what_the_form_saves_the_sheet_reads(show, save, html, booklet):
    form = show(panel_form(booklet, LEVELS, round=2, panellist='O\'Hara, "Pat"'), name="form.html")
    for level, number in zip(LEVELS, (0, 14, 22, 34), strict=True):
        where = f"on page {number}" if number else "before page 1"
        form.get_by_role("button", name=f"Place {level} bookmark {where}", exact=True).click()
    saved = save(form, "#download")
    page = show(html)
    open_files(page, [saved])
    assert page.locator("#round").input_value() == "2"
    assert texts(page, "placements")[0][0] == 'O\'Hara, "Pat"'
    assert numbers(page, "placements", "data-page-number") == [[0, 14, 22, 34]]
