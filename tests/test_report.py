import base64
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from html_outline import Outline
from scipy.special import expit

from psychoedu import datasets
from psychoedu.exceptions import SmallSampleWarning
from psychoedu.irt.calibrate import calibrate
from psychoedu.report import calibration_page, calibration_section
from psychoedu.report.html import COLUMNS
from psychoedu.report.page import column_title, number, page, table
from psychoedu.stored import load


@pytest.fixture(scope="module")
def lsat7():
    return calibrate(datasets.load_lsat7())


@pytest.fixture(scope="module")
def html(lsat7):
    return calibration_page(lsat7, title="LSAT section 7", notes=["Bock & Lieberman (1970)"])


def simulated(labels, n_respondents=300):
    rng = np.random.default_rng(1)
    theta = rng.standard_normal(n_respondents)[:, None]
    right = rng.random((n_respondents, len(labels))) < expit(1.3 * theta + np.linspace(-1, 1, len(labels)))
    return pd.DataFrame(right.astype(int), columns=labels)


def test_page_is_well_formed_and_has_its_parts(html):
    outline = Outline(html)
    headings = [word for word in outline.words if word.strip()]
    for heading in (
        "LSAT section 7",
        "Data and fit",
        "Groups",
        "Items",
        "Wright map",
        "Test information",
        "Item characteristic curves",
    ):
        assert heading in headings
    assert "Bock & Lieberman (1970)" in outline.text
    assert outline.tags.count("img") == 7
    assert outline.tags.count("h1") == 1


def test_page_fetches_nothing_and_runs_nothing(html):
    outline = Outline(html)
    assert not {"script", "link", "iframe", "object", "form"} & set(outline.tags)
    for tag, attributes in outline.attributes:
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("src", "href"):
            value = attributes.get(name, "")
            assert value.startswith(("data:image/svg+xml;base64,", "#")) or not value, (tag, value)
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL).group(1)
    assert "url(" not in style
    assert "@import" not in style


def test_pictures_are_svg_with_a_text_for_those_who_do_not_see_them(html):
    for tag, attributes in Outline(html).attributes:
        if tag == "img":
            drawing = base64.b64decode(attributes["src"].partition(",")[2])
            assert ElementTree.fromstring(drawing).tag.endswith("svg")
            assert len(attributes["alt"]) > 20


def test_numbers_in_the_page_are_the_calibration_s(lsat7, html):
    text = Outline(html).text.replace("\N{MINUS SIGN}", "-")
    for value in lsat7.items["difficulty"]:
        assert f"{value:.3f}" in text
    assert f"{lsat7.log_likelihood:,.4f}" in text
    # mirt 1.47 on the same data: log-likelihood and alpha of the raw scores
    assert "-2,658.805" in text
    assert "0.453" in text


def test_every_column_is_explained(lsat7, html):
    outline = Outline(html)
    for name in [*lsat7.items.columns, "discrimination_index", "alpha_if_deleted"]:
        title = column_title(name)
        assert outline.words.count(title) >= 2, name  # over the column, and among the explanations
    assert set(COLUMNS) >= {name for name in lsat7.items.columns if not name.endswith("_se")}


HOSTILE = "<script>alert(1)</script>"


def test_labels_are_escaped_everywhere():
    frame = simulated([HOSTILE, "a&b", '" onload="x', "$q$", "q5"])
    frame.index = [f"<i>{row}</i>" for row in range(len(frame))]
    calibration = calibrate(frame, groups=np.where(np.arange(300) % 2, "<b>x</b>", "y"), reference_group="y")
    extra = pd.DataFrame({"<u>note</u>": ["</td><script>"]}, index=pd.Index(["<em>m</em>"], name="<s>"))
    section = calibration_section(calibration, "<h1>", ["<p onclick=x>"], {"<table>": extra})
    for text in (calibration_page(calibration, title=HOSTILE), page("t", section)):
        outline = Outline(text)
        assert not {"script", "b", "i", "u", "em", "s"} & set(outline.tags)
        assert outline.tags.count("h1") == 1
        assert not [attributes for _, attributes in outline.attributes if "onload" in attributes or "onclick" in attributes]
        assert HOSTILE in outline.text
        assert "<b>x</b>" in outline.text
        for tag, attributes in outline.attributes:
            if tag == "img":
                drawing = ElementTree.fromstring(base64.b64decode(attributes["src"].partition(",")[2]))
                assert not [element for element in drawing.iter() if element.tag.endswith("script")]


def test_c5_a_calibration_that_did_not_converge_says_so_first(lsat7):
    outline = Outline(calibration_page(replace(lsat7, converged=False), title="A title"))
    words = [word for word in outline.words if word.strip()]
    assert words[0] == "A title"  # of the browser's tab
    assert words[1].startswith("NOT CONVERGED")
    assert ("p", {"class": "alert", "role": "alert"}) in outline.attributes
    assert "NOT CONVERGED" in Outline(page("t", calibration_section(replace(lsat7, converged=False), "A part"))).text


def test_flags_are_explained_in_words_with_their_items():
    frame = simulated(["q1", "q2", "q3", "q4", "q5", "q6"], 600)
    frame["q4"] = 1 - frame["q4"]
    calibration = calibrate(frame)
    assert calibration.items.loc["q4", "flags"] == "negative_discrimination"
    text = Outline(calibration_page(calibration)).text
    assert "negative discrimination: q4" in text
    assert "Check the key first" in text


def test_no_flags_are_said_to_be_none(html):
    assert "No item is flagged." in Outline(html).text


def test_alpha_that_does_not_exist_has_its_reason():
    frame = simulated(["q1", "q2", "q3", "q4", "q5", "q6", "q7"], 600).astype(float)
    frame.loc[:299, ["q6", "q7"]] = np.nan  # two forms: q1 and q2 with q3 to q5, which are common, and these with q6 and q7
    frame.loc[300:, ["q1", "q2"]] = np.nan
    text = Outline(calibration_page(calibrate(frame))).text
    assert "Coefficient alpha does not exist: 4 pairs of items" in text


def test_a_calibration_read_from_a_file_is_reported(lsat7, tmp_path):
    text = Outline(calibration_page(load(lsat7.save(tmp_path / "calibration.json")))).text
    assert "Wright map" in text
    assert f"{lsat7.items['point_biserial'].iloc[0]:.3f}" in text


def test_page_is_the_same_twice(lsat7, html):
    assert calibration_page(lsat7, title="LSAT section 7", notes=["Bock & Lieberman (1970)"]) == html


def test_missing_standard_errors_are_dashes():
    with pytest.warns(SmallSampleWarning):
        calibration = calibrate(simulated(["q1", "q2", "q3", "q4"], 150), standard_errors=None)
    page_text = calibration_page(calibration)
    assert page_text.count('<abbr title="not available">') >= 12
    assert "nan" not in Outline(page_text).text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1234.5678, "1,234.568"),
        (-0.5, "&minus;0.500"),
        (float("inf"), "&infin;"),
        (7, "7"),
        (True, "yes"),
        ("<", "&lt;"),
    ],
)
def test_number(value, shown):
    assert number(value) == shown


@pytest.mark.parametrize("value", [None, float("nan"), pd.NA], ids=["None", "nan", "NA"])
def test_number_without_a_value_is_never_zero(value):
    assert "not available" in number(value)


def test_table_of_an_empty_frame():
    assert Outline(page("t", table(pd.DataFrame({"a": []}), "nothing"))).tags.count("tr") == 1
