"""Placements: what a page means, tables and files of them, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from level_designs import bank_of, placed

import psychoedu as pe
from psychoedu.exceptions import DataError, DuplicateLabelError, FileFormatError, LabelError
from psychoedu.standard_setting.booklet import booklet
from psychoedu.standard_setting.placements import RULES, page_range, page_thetas, page_weights, read_placements

LOCATIONS = np.array([-1.0, 0.0, 2.0])
INF = np.inf
COLUMNS = ["panellist", "round", "level", "page"]


@pytest.fixture
def pages():
    return booklet(
        pe.ItemBank(pd.DataFrame({"discrimination": 1.0, "difficulty": np.linspace(-2, 2, 9)}, index=list("abcdefghi")))
    )


def good(**columns):
    return placed({"L1": [2, 3, 3], "L2": [6, 7, 7]}, **columns)


def written(folder, text, encoding="utf-8"):
    path = folder / "placements.csv"
    path.write_bytes(text.encode(encoding))
    return path


TEXT = "panellist,round,level,page\nana,1,L1,2\nben,1,L1,3\nana,2,L1,4\nben,2,L1,4\n"


# what a page means


@pytest.mark.parametrize(
    ("rule", "first", "thetas"),
    [
        ("last-mastered", 0, [-INF, -1.0, 0.0, 2.0]),
        ("first-not-mastered", 1, [-1.0, 0.0, 2.0, INF]),
        ("midpoint", 0, [-INF, -0.5, 1.0, INF]),
    ],
)
def test_every_page_of_a_short_booklet(rule, first, thetas):
    assert page_range(rule, 3) == (first, first + 3)
    pages = np.arange(first, first + 4.0)
    np.testing.assert_array_equal(page_thetas(pages, LOCATIONS, rule), thetas)
    assert np.isnan(page_thetas(np.array([np.nan]), LOCATIONS, rule)).all()


def test_the_rules_are_tied_to_each_other():
    """The midpoint of a last page mastered lies between the cuts of the two other rules, the first not mastered a page on."""
    pages = np.arange(1.0, 3.0)
    last = page_thetas(pages, LOCATIONS, "last-mastered")
    first = page_thetas(pages + 1, LOCATIONS, "first-not-mastered")
    np.testing.assert_allclose(page_thetas(pages, LOCATIONS, "midpoint"), (last + first) / 2)


def test_a_booklet_of_one_page():
    one = np.array([0.3])
    np.testing.assert_array_equal(page_thetas(np.array([0.0, 1.0]), one, "midpoint"), [-INF, INF])
    np.testing.assert_array_equal(page_thetas(np.array([0.0, 1.0]), one, "last-mastered"), [-INF, 0.3])
    np.testing.assert_array_equal(page_thetas(np.array([1.0, 2.0]), one, "first-not-mastered"), [0.3, INF])


@pytest.mark.parametrize("rule", RULES)
def test_weights_are_the_derivatives_by_the_locations(rule):
    low, high = page_range(rule, 5)
    pages, locations = np.array([*range(low, high + 1), np.nan]), np.array([-1.0, 0.0, 0.7, 0.9, 2.0])
    weights = page_weights(pages, 5, rule)
    for place in range(5):
        moved = locations.copy()
        moved[place] += 1e-3
        with np.errstate(invalid="ignore"):
            step = (page_thetas(pages, moved, rule) - page_thetas(pages, locations, rule)) / 1e-3
        np.testing.assert_allclose(weights[:, place], np.nan_to_num(step), atol=1e-9)


# tables


def test_a_table_is_laid_out(pages):
    found = read_placements(good().sample(frac=1.0, random_state=1), pages, "last-mastered")
    assert found.rounds == (1,)
    assert found.levels == ("L1", "L2")
    frame = found.to_frame().sort_values(["level", "panellist"])
    assert frame["page"].tolist() == [2, 3, 3, 6, 7, 7]
    assert not found.tables


@pytest.mark.parametrize(
    ("rounds", "order"),
    [([2, 1], (1, 2)), (["10", "2"], ("2", "10")), (["first", "second"], ("first", "second")), ([1.5, 0.5], (0.5, 1.5))],
    ids=repr,
)
def test_rounds_in_order(pages, rounds, order):
    found = read_placements(pd.concat([good(round=number) for number in rounds]), pages, "last-mastered")
    assert found.rounds == order


def test_rounds_of_a_categorical(pages):
    frame = pd.concat([good(round="review"), good(round="draft")])
    frame["round"] = pd.Categorical(frame["round"], categories=["draft", "review", "final"])
    assert read_placements(frame, pages, "last-mastered").rounds == ("draft", "review")


@pytest.mark.parametrize("panellists", [[1, 2, 3], ["甲", "Ödön", "O'Hara, J."], [1.5, 2.5, 3.5], list("xyz")], ids=repr)
@pytest.mark.parametrize("kind", [object, "category"])
def test_any_labels_of_panellists(pages, panellists, kind):
    frame = good(panellist=panellists * 2, table=["A", "B", "B"] * 2).astype({"panellist": kind})
    found = read_placements(frame, pages, "last-mastered")
    assert found.panellists == tuple(panellists)
    assert found.tables == ("A", "B", "B")


@pytest.mark.parametrize("kind", [int, float, str, "Int64", "string", object, "category"], ids=str)
def test_pages_of_any_type(pages, kind):
    found = read_placements(good().astype({"page": kind}), pages, "last-mastered")
    assert found.pages[0, :, 0].tolist() == [2.0, 3.0, 3.0]


@pytest.mark.parametrize(
    "page",
    [2.5, -1, 10, np.nan, None, np.inf, "x", "", "2.5", True, np.bool_(True), [2], pd.NA, pd.Timestamp("2024-01-01")],
    ids=repr,
)
def test_pages_that_are_none(pages, page):
    frame = good().astype({"page": object})
    frame["page"] = pd.Series([page, *frame["page"].iloc[1:]], dtype=object)
    with pytest.raises(
        DataError, match=r"1 placement on no page of the booklet: 'p1, round 1, L1: page .*\n.*whole numbers from 0 to 9"
    ):
        read_placements(frame, pages, "last-mastered")


@pytest.mark.parametrize(
    ("rule", "inside", "outside"),
    [("last-mastered", [0, 9], [-1, 10]), ("first-not-mastered", [1, 10], [0, 11]), ("midpoint", [0, 9], [-1, 10])],
)
def test_the_ends_of_the_page_range(pages, rule, inside, outside):
    for page in inside:
        assert read_placements(placed({"L": [page]}), pages, rule).pages.item() == page
    for page in outside:
        with pytest.raises(DataError, match=f"rule '{rule}', 9 pages"):
            read_placements(placed({"L": [page]}), pages, rule)


def test_crossed_bookmarks_name_panellist_and_levels(pages):
    frame = placed({"L1": [2, 8, 3], "L2": [6, 7, 7]}, round=1)
    with pytest.raises(DataError, match=r"cross 1 time: 'p2, round 1: L2 on page 7 before L1 on page 8'\.\n.*L1 < L2"):
        read_placements(frame, pages, "last-mastered")
    with pytest.raises(DataError, match=r"L2 < L1; if that is not the levels' order, give it with levels="):
        read_placements(good(), pages, "last-mastered", ["L2", "L1"])
    skipped = placed({"L1": [5], "L2": [5], "L3": [4]})
    with pytest.raises(DataError, match="L3 on page 4 before L2 on page 5"):
        read_placements(skipped, pages, "last-mastered")
    read_placements(placed({"L1": [5], "L2": [5]}), pages, "last-mastered")  # one page for two levels is no crossing


def test_crossing_is_seen_across_a_level_without_a_bookmark(pages):
    frame = placed({"L1": [5, 2], "L2": [4, 4], "L3": [4, 6]}).drop(index=2)  # p1 has no L2
    with pytest.raises(DataError, match="'p1, round 1: L3 on page 4 before L1 on page 5'"):
        read_placements(frame, pages, "last-mastered")


def test_repeated_placements(pages):
    with pytest.raises(DuplicateLabelError, match="1 bookmark placed more than once: 'p1, round 1, L1'"):
        read_placements(pd.concat([good(), good().iloc[:1]]), pages, "last-mastered")


@pytest.mark.parametrize("column", ["panellist", "level", "page"])
def test_absent_columns(pages, column):
    with pytest.raises(LabelError, match=rf"lack 1 column: '{column}'.*\nExpected a row per placement"):
        read_placements(good().drop(columns=column), pages, "last-mastered")


def test_repeated_columns(pages):
    with pytest.raises(LabelError, match="several columns 'page'"):
        read_placements(pd.concat([good(), good()[["page"]]], axis=1), pages, "last-mastered")


@pytest.mark.parametrize("column", ["panellist", "level", "round"])
def test_missing_labels(pages, column):
    frame = good(round=1).astype({column: object})
    frame.loc[[0, 2], column] = None
    with pytest.raises(LabelError, match=f"2 placements without a {column}, in row 1, 3"):
        read_placements(frame, pages, "last-mastered")


@pytest.mark.parametrize("column", ["panellist", "level", "round"])
def test_labels_that_differ_in_type_alone(pages, column):
    frame = good(round=1, level=1).iloc[:3].astype({column: object})
    frame[column] = [1, "1", 2]
    with pytest.raises(LabelError, match=f"Labels of the column {column} differ in type alone: 1, '1'"):
        read_placements(frame, pages, "last-mastered")


def test_labels_that_are_lists(pages):
    with pytest.raises(LabelError, match="column panellist holds lists or the like"):
        read_placements(good(panellist=[["x"]] * 6), pages, "last-mastered")


@pytest.mark.parametrize("placements", [None, 3, {}, [], {"a": 1}, np.zeros((2, 4))], ids=repr)
def test_things_that_are_no_placements(pages, placements):
    with pytest.raises(DataError, match="a DataFrame, the path of a CSV file, or a list of these; got"):
        read_placements(placements, pages, "last-mastered")


def test_no_rows(pages):
    with pytest.raises(DataError, match="The placements are empty"):
        read_placements(good().iloc[:0], pages, "last-mastered")


def test_an_unknown_rule(pages):
    with pytest.raises(DataError, match=r"rule has to be one of .*; got 'Last mastered'\. Did you mean 'last-mastered'\?"):
        read_placements(good(), pages, "Last mastered")


def test_another_booklet(pages):
    read_placements(good(booklet=pages.fingerprint), pages, "last-mastered")
    read_placements(good(booklet=[pages.fingerprint, None, np.nan] * 2), pages, "last-mastered")
    with pytest.raises(DataError, match=rf"1 placement.*another booklet \('abc'\) than this one \({pages.fingerprint}\): 'p2'"):
        read_placements(good(booklet=[pages.fingerprint, "abc", None, None, None, None]), pages, "last-mastered")
    with pytest.raises(DataError, match="6 placements were made in another booklet"):
        read_placements(good(booklet=booklet(bank_of(9)).fingerprint), pages, "last-mastered")


def test_tables_of_panellists(pages):
    found = read_placements(good(table=["A", "B", "B", None, None, None]), pages, "last-mastered")
    assert found.tables == ("A", "B", "B")
    assert list(found.to_frame().columns) == [*COLUMNS, "table"]
    assert read_placements(good(table=None), pages, "last-mastered").tables == ()
    with pytest.raises(DataError, match="1 panellist sat at several tables: 'p1'"):
        read_placements(good(table=["A", "B", "B", "B", "B", "B"]), pages, "last-mastered")
    with pytest.raises(DataError, match="1 panellist without a table: 'p3'"):
        read_placements(good(table=["A", "B", None, None, None, None]), pages, "last-mastered")


# files


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: "\ufeff" + text,
        lambda text: text.replace(",", ";"),
        lambda text: text.replace(",", "\t"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\n\n"),
        lambda text: "\n" + text + ",,,\n",
        lambda text: text.replace(",", " , "),
        lambda text: text.replace("\n", ",\n"),
        lambda text: text.replace("\n", ",note\n", 1).replace("L1,2", 'L1,2,"said ""so"", twice"'),
        lambda text: text.rstrip("\n"),
    ],
    ids=["plain", "bom", "semicolons", "tabs", "crlf", "blank lines", "empty rows", "spaces", "trailing", "notes", "no newline"],
)
def test_files_as_forms_and_spreadsheets_write_them(tmp_path, pages, change):
    found = read_placements(written(tmp_path, change(TEXT)), pages, "last-mastered")
    assert found.panellists == ("ana", "ben")
    assert found.rounds == (1, 2)
    assert found.pages[:, :, 0].tolist() == [[2.0, 3.0], [4.0, 4.0]]


@pytest.mark.parametrize("name", ["NA", "null", "None", "nan", "007", "1e5", "TRUE", "张老师"])
def test_names_in_files_stay_as_they_are(tmp_path, pages, name):
    found = read_placements(written(tmp_path, TEXT.replace("ana", name)), pages, "last-mastered")
    assert found.panellists == (name, "ben")


def test_a_file_for_each_panellist(tmp_path, pages):
    files = []
    for number, (name, frame) in enumerate(good(round=1).groupby("panellist")):
        files.append(tmp_path / f"{number}.csv")
        frame.assign(panellist=name).to_csv(files[-1], index=False)
    found = read_placements(files, pages, "last-mastered")
    assert found.panellists == ("p1", "p2", "p3")
    assert read_placements([str(path) for path in files], pages, "last-mastered").to_frame().equals(found.to_frame())
    mixed = [files[0], good(round=1).query("panellist != 'p1'")]
    assert read_placements(mixed, pages, "last-mastered").panellists == ("p1", "p2", "p3")


def test_placements_written_and_read_back(tmp_path, pages):
    found = read_placements(good(round=2, table=["A", "A", "B"] * 2), pages, "last-mastered")
    found.to_frame().to_csv(tmp_path / "out.csv", index=False)
    again = read_placements(tmp_path / "out.csv", pages, "last-mastered")
    assert again.to_frame().equals(found.to_frame())


@pytest.mark.parametrize(
    ("text", "encoding", "message"),
    [
        ("", "utf-8", r"is empty\. Expected the columns"),
        ("\n\n,,\n", "utf-8", r"is empty\. Expected the columns"),
        (TEXT, "utf-16", 'is not a CSV file of placements.*\n.*"CSV UTF-8"'),
        (TEXT.replace("ana", "张"), "gbk", 'is not a CSV file of placements.*\n.*"CSV UTF-8"'),
        (TEXT + "eva,1,L1,2,5,6\n", "utf-8", r"more cells than its 4 columns.*in row 5"),
    ],
    ids=["empty", "separators", "utf-16", "gbk", "ragged"],
)
def test_files_that_cannot_be_read(tmp_path, pages, text, encoding, message):
    with pytest.raises(FileFormatError, match=message):
        read_placements(written(tmp_path, text, encoding), pages, "last-mastered")


def test_other_files(tmp_path, pages):
    with pytest.raises(FileFormatError, match="is a folder"):
        read_placements(tmp_path, pages, "last-mastered")
    with pytest.raises(FileNotFoundError):
        read_placements(tmp_path / "absent.csv", pages, "last-mastered")
    with pytest.raises(LabelError, match="lack 3 columns"):
        read_placements(written(tmp_path, "a,b\n1,2\n"), pages, "last-mastered")
    with pytest.raises(DataError, match="The placements are empty"):
        read_placements(written(tmp_path, "panellist,round,level,page\n"), pages, "last-mastered")
    with pytest.raises(DataError, match=r"'ana, round 1, L1: page 2\.5'"):
        read_placements(written(tmp_path, TEXT.replace("L1,2", "L1,2.5")), pages, "last-mastered")
    with pytest.raises(LabelError, match="1 placement without a level, in row 1"):
        read_placements(written(tmp_path, TEXT.replace("L1,2", ",2")), pages, "last-mastered")
