"""The panellist's form in a real browser: what is placed is kept, checked, and comes out as it was."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from panel_booklet import DESCRIPTORS, LEVELS, grammar_booklet, item_table

from psychoedu.report.panel_form import panel_form
from psychoedu.standard_setting.placements import read_placements

pytestmark = pytest.mark.browser

WIDTHS = (360, 768, 1440)
NO_STORAGE = "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('denied', 'SecurityError'); }});"
HOSTILE = (
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    "<!-- <script> \" ' & &amp; \\u003c ]]>",
    "é 语法 𝕏 \u2028 ‮ zero\u200bwidth",
)


@pytest.fixture(scope="module")
def booklet():
    return grammar_booklet()


@pytest.fixture(scope="module")
def html(booklet):
    return panel_form(booklet, LEVELS, descriptors=DESCRIPTORS)


def button(page, level, where):
    return page.get_by_role("button", name=f"Place {level} bookmark {where}", exact=True)


def type_page(page, level, text):
    field = page.get_by_label(f"{level} bookmark, page", exact=True)
    field.fill(str(text))
    field.press("Enter")


def fields(page):
    return [page.get_by_label(f"{level} bookmark, page", exact=True).input_value() for level in LEVELS]


def refused(page):
    """Press download and return what the form says instead."""
    page.locator("#download").click()
    return page.locator("#refusal").inner_text()


def read_back(path, booklet):
    frame = pd.read_csv(path, dtype={"panellist": str, "booklet": str}, keep_default_na=False)
    assert frame["booklet"].unique().tolist() == [booklet.fingerprint]
    return frame


def test_placed_moved_reloaded_downloaded(show, save, html, booklet):
    page = show(html)
    for level, number in zip(LEVELS, (4, 15, 23, 30), strict=True):
        button(page, level, f"on page {number}").click()
    button(page, "CSE-3", "on page 6").click()  # moved: a level has one bookmark
    assert button(page, "CSE-3", "on page 4").get_attribute("aria-pressed") == "false"
    assert button(page, "CSE-3", "on page 6").get_attribute("aria-pressed") == "true"
    assert page.locator("#page-6 .marks").inner_text() == "CSE-3 bookmark"
    assert page.locator("#page-4 .marks").inner_text() == ""
    page.fill("#panellist", "Teacher A")
    page.reload()
    assert fields(page) == ["6", "15", "23", "30"]
    assert page.input_value("#panellist") == "Teacher A"
    path = save(page, "#download")
    assert path.name == "placements-Teacher-A-round-1.csv"
    frame = read_back(path, booklet)
    assert frame.columns.tolist() == ["panellist", "round", "level", "page", "booklet"]
    assert frame.iloc[:, :4].to_numpy().tolist() == [
        ["Teacher A", 1, level, number] for level, number in zip(LEVELS, (6, 15, 23, 30), strict=True)
    ]
    placed = read_placements(path, booklet, "last-mastered", LEVELS)
    assert placed.pages.tolist() == [[[6.0, 15.0, 23.0, 30.0]]]
    assert "placements-Teacher-A-round-1.csv" in page.locator("#status").inner_text()


def test_keyboard_alone(show, booklet):
    page = show(panel_form(booklet, LEVELS))

    def tab_to(label):
        for _ in range(400):
            page.keyboard.press("Tab")
            now = "(e => e.getAttribute('aria-label') || (e.labels && e.labels[0] ? e.labels[0].textContent : e.textContent))"
            if page.evaluate(f"{now}(document.activeElement)") == label:
                return
        raise AssertionError(f"Tab never reaches {label}")

    tab_to("Your name")
    page.keyboard.type("Teacher K")
    for level, number in (("CSE-3", "3"), ("CSE-4", "9"), ("CSE-5", "20")):
        tab_to(f"{level} bookmark, page")
        page.keyboard.type(number)
    tab_to("Place CSE-6 bookmark on page 29")
    page.keyboard.press("Space")
    assert fields(page) == ["3", "9", "20", "29"]
    page.keyboard.press("Space")  # pressed again, it is taken away
    assert fields(page) == ["3", "9", "20", ""]
    page.keyboard.press("Enter")
    assert fields(page) == ["3", "9", "20", "29"]
    for _ in range(400):
        page.keyboard.press("Shift+Tab")
        if page.evaluate("document.activeElement.id") == "download":
            break
    with page.expect_download() as waiting:
        page.keyboard.press("Enter")
    assert waiting.value.suggested_filename == "placements-Teacher-K-round-1.csv"


def test_show_moves_the_focus_to_the_page(show, html):
    page = show(html)
    type_page(page, "CSE-6", 30)
    page.get_by_role("button", name="Show the CSE-6 bookmark").click()
    assert page.evaluate("document.activeElement.id") == "page-30"
    assert page.locator("#page-30").is_visible()


def test_a_double_click_places(show, html):
    page = show(html)
    button(page, "CSE-4", "on page 7").dblclick()
    assert fields(page) == ["", "7", "", ""]


def test_hostile_text_stays_text(show, save):
    table = item_table().iloc[: len(HOSTILE)].assign(text=HOSTILE, key=HOSTILE)
    table.index = pd.Index(HOSTILE, name="item")
    booklet = grammar_booklet(items=table)
    levels = ('<b onclick="x">A</b>', '</script>B, "C"')
    options = {"title": HOSTILE[0], "panellist": HOSTILE[1], "table": HOSTILE[2], "notes": HOSTILE}
    page = show(panel_form(booklet, levels, descriptors={levels[0]: HOSTILE[0]}, **options))
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, b[onclick]").count() == 0
    assert page.title().split() == HOSTILE[0].split()
    shown = page.evaluate("[...document.querySelectorAll('.item-text')].map(e => e.textContent)")
    assert shown == [HOSTILE[HOSTILE.index(label)] for label in booklet.labels]
    for number, level in enumerate(levels, 1):
        button(page, level, f"on page {number}").click()
    path = save(page, "#download")
    assert re.fullmatch(r"placements-[\w-]+-round-1\.csv", path.name)
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert frame["level"].tolist() == list(levels)
    assert frame["panellist"].unique().tolist() == [HOSTILE[1]]
    assert frame["table"].unique().tolist() == [HOSTILE[2]]
    assert page.evaluate("window.hacked") is None


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_sticks_out(show, width):
    long = "Donaudampfschifffahrt" * 30
    table = item_table()
    table.loc["G01", ["text", "key"]] = [long, long]
    page = show(panel_form(grammar_booklet(items=table), (*LEVELS[:3], "A level with a rather long name"), notes=[long]), width)
    for open_panel in (False, True):
        if open_panel and page.locator("#panel-toggle").is_visible():
            page.locator("#panel-toggle").click()
        if open_panel or width > 960:
            type_page(page, "CSE-3", 99)
            page.locator("#download").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#refusal").is_visible()
    low = page.evaluate("[...document.querySelectorAll('#panel button, #panel input')].map(e => e.getBoundingClientRect().right)")
    assert max(low) <= width


def test_crossed_bookmarks_are_refused(show, save, html):
    page = show(html)
    page.fill("#panellist", "Teacher A")
    for level, number in zip(LEVELS, (12, 8, 23, 30), strict=True):
        type_page(page, level, number)
    said = "CSE-4 (page 8) lies before CSE-3 (page 12)"
    assert said in page.locator("#faults").inner_text()
    downloads = []
    page.on("download", lambda download: downloads.append(download))
    assert said in refused(page)
    page.wait_for_timeout(200)
    assert downloads == []
    assert page.get_by_label("CSE-4 bookmark, page", exact=True).get_attribute("aria-invalid") == "true"
    type_page(page, "CSE-4", 12)  # the same page is no crossing
    assert page.locator("#faults").is_hidden()
    assert pd.read_csv(save(page, "#download"))["page"].tolist() == [12, 12, 23, 30]


def test_what_is_missing_is_named(show, html):
    page = show(html)
    type_page(page, "CSE-3", 1)
    said = refused(page)
    assert "The name is missing" in said
    assert "No bookmark yet for CSE-4, CSE-5, CSE-6" in said


def test_numbers_that_are_no_page(show, html):
    page = show(html)
    page.fill("#panellist", "Teacher A")
    for level, number in zip(LEVELS, (1, 2, 3, 4), strict=True):
        type_page(page, level, number)
    for text in ("99", "-1", "2.5", "1e1"):
        type_page(page, "CSE-5", text)
        assert "CSE-5: pages are whole numbers from 0 to 34" in refused(page)
        page.locator("#undo").click()
        assert fields(page) == ["1", "2", "3", "4"]


def test_undo_and_clear(show, html):
    page = show(html)
    type_page(page, "CSE-3", 5)
    type_page(page, "CSE-4", 9)
    type_page(page, "CSE-3", 6)
    page.locator("#clear").click()
    assert fields(page) == [""] * 4
    seen = []
    for _ in range(4):
        page.locator("#undo").click()
        seen.append(fields(page)[:2])
    assert seen == [["6", "9"], ["5", "9"], ["5", ""], ["", ""]]
    assert page.locator("#undo").is_disabled()


@pytest.mark.parametrize(
    ("rule", "where", "page_number"),
    [
        ("last-mastered", "before page 1", 0),
        ("midpoint", "before page 1", 0),
        ("midpoint", "on page 34", 34),
        ("first-not-mastered", "after page 34", 35),
    ],
)
def test_open_ends(show, save, booklet, rule, where, page_number):
    page = show(panel_form(booklet, ["only"], rule=rule, panellist="Teacher A"))
    button(page, "only", where).click()
    assert "open-ended" in page.locator(".hint").inner_text()
    path = save(page, "#download")
    assert pd.read_csv(path)["page"].tolist() == [page_number]
    read_placements(path, booklet, rule)  # the library takes it


@pytest.mark.parametrize(
    ("rule", "outside"), [("last-mastered", "35"), ("first-not-mastered", "0"), ("first-not-mastered", "36"), ("midpoint", "35")]
)
def test_pages_beyond_the_rule(show, booklet, rule, outside):
    page = show(panel_form(booklet, LEVELS, rule=rule))
    type_page(page, "CSE-3", outside)
    assert "pages are whole numbers from" in page.locator("#faults").inner_text()


def test_without_storage_the_form_works_and_says_so(show, save, html):
    page = show(html, script=NO_STORAGE)
    assert "does not keep your placements" in page.locator("#storage-note").inner_text()
    page.fill("#panellist", "Teacher A")
    for level, number in zip(LEVELS, (1, 2, 3, 4), strict=True):
        type_page(page, level, number)
    assert pd.read_csv(save(page, "#download"))["page"].tolist() == [1, 2, 3, 4]


def test_storage_that_was_tampered_with_counts_as_nothing(show, html):
    page = show(html)
    type_page(page, "CSE-3", 5)
    page.evaluate("for (const key of Object.keys(localStorage)) localStorage.setItem(key, '{\"pages\": [99]}')")
    page.reload()
    assert fields(page) == [""] * 4


def test_rounds_are_kept_apart(show, save, html):
    page = show(html)
    page.fill("#panellist", "Teacher A")
    for level, number in zip(LEVELS, (4, 15, 23, 30), strict=True):
        type_page(page, level, number)
    page.fill("#round", "2")
    page.locator("#round").press("Enter")
    assert fields(page) == [""] * 4
    page.get_by_role("button", name="Start from my round 1 bookmarks").click()
    type_page(page, "CSE-3", 5)
    page.reload()
    assert page.input_value("#round") == "2"
    assert fields(page) == ["5", "15", "23", "30"]
    frame = pd.read_csv(save(page, "#download"))
    assert frame["round"].tolist() == [2] * 4
    page.fill("#round", "1")
    page.locator("#round").press("Enter")
    assert fields(page) == ["4", "15", "23", "30"]


def test_rounds_that_are_none(show, html):
    page = show(html)
    for number in ("0", "1.5", ""):
        page.fill("#round", number)
        page.locator("#round").press("Enter")
        assert "round has to be a whole number" in refused(page)
    page.fill("#round", "1")
    page.locator("#round").press("Enter")
    assert "round" not in refused(page)


def test_another_booklet_starts_empty(show, html):
    page = show(html)
    type_page(page, "CSE-3", 5)
    other = show(panel_form(grammar_booklet(0.5), LEVELS), context=page.context)
    assert fields(other) == [""] * 4
    again = show(html, context=page.context, name="copy.html")
    assert fields(again) == ["5", "", "", ""]


def test_names_that_spreadsheets_run_are_refused(show, html):
    page = show(html)
    for name in ("=1+1", "+1", "-x", "@x"):
        page.fill("#panellist", name)
        assert f'The name "{name}" begins with {name[0]}, which spreadsheets take for a formula' in refused(page)


def test_names_come_back_as_they_were(show, save, booklet, html):
    page = show(html)
    for level, number in zip(LEVELS, (4, 15, 23, 30), strict=True):
        type_page(page, level, number)
    for name in ('Comma, "Quote" O\'Hara', "张老师", "../../etc/passwd", "007", "NA", "a" * 300):
        page.fill("#panellist", f" {name} ")
        path = save(page, "#download")
        assert len(path.name) < 80
        assert ".." not in path.name
        assert read_back(path, booklet)["panellist"].unique().tolist() == [name]


def test_a_table_is_asked_for_where_there_are_tables(show, save, booklet):
    page = show(panel_form(booklet, ["only"], table="2", panellist="Teacher A", round=3))
    type_page(page, "only", 5)
    frame = pd.read_csv(save(page, "#download"), dtype=str)
    assert frame.drop(columns="booklet").to_numpy().tolist() == [["Teacher A", "3", "only", "5", "2"]]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_form_without_item_texts_says_where_they_are(show, width):
    page = show(panel_form(grammar_booklet(items=item_table().drop(columns="text")), LEVELS), width)
    note = page.get_by_text("The item texts are not on this page")
    assert note.is_visible()
    assert note.bounding_box()["y"] < page.locator("#page-1").bounding_box()["y"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.emulate_media(media="print")
    assert note.is_visible()


def test_print_is_the_booklet(show, html):
    page = show(html)
    type_page(page, "CSE-3", 6)
    page.emulate_media(media="print")
    assert not page.locator("#panel").is_visible()
    assert not any(place.is_visible() for place in page.locator(".places").all())
    assert all(item.is_visible() for item in page.locator(".item-text").all())
    assert page.locator(".record").is_visible()
    assert page.locator("[data-record='0']").inner_text() == "6"


def test_everything_has_a_name_and_ids_are_unique(show, html):
    page = show(html)
    nameless = page.evaluate(
        "[...document.querySelectorAll('button, input, textarea')].filter(e => !e.getAttribute('aria-label')"
        " && !e.textContent.trim() && !(e.labels && e.labels.length) && !e.hidden).map(e => e.outerHTML)"
    )
    assert nameless == []
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    assert page.evaluate("document.querySelectorAll('main').length") == 1


def test_narrow_screens_open_the_panel(show, html):
    page = show(html, 360)
    assert not page.locator("#download").is_visible()
    button(page, "CSE-3", "on page 2").click()
    assert "CSE-3 2" in page.locator("#panel-toggle").inner_text()
    page.locator("#panel-toggle").click()
    assert page.locator("#panel-toggle").get_attribute("aria-expanded") == "true"
    assert page.locator("#download").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#download").is_visible()
