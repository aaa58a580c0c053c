"""The page of a diagnosis: whole, self-contained, escaped, and it says first what went wrong."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from html_outline import Outline

import psychoedu as pe
from psychoedu.report import diagnosis_page, diagnosis_section
from psychoedu.report.diagnosis import FLAGS, MAX_BARS, comparison_text
from psychoedu.report.page import page

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def parts():
    matrix, q = pe.datasets.load_cse_like(), pe.datasets.load_cse_like_q()
    learners = matrix.select(respondents={"group": ["junior", "college"]})
    sensitivity = pe.cdm.calibration_sensitivity(learners, matrix.select(respondents={"group": "model"}), q, n_starts=1)
    mastery = pe.cdm.mastery_table(sensitivity.scored, separator="_", learners=sensitivity.learners)
    return sensitivity.learners, pe.cdm.compare(learners, q, n_starts=1), mastery, sensitivity


@pytest.fixture(scope="module")
def html(parts):
    diagnosis, comparison, mastery, sensitivity = parts
    return diagnosis_page(diagnosis, "A diagnosis", ["Simulated & ours"], comparison, mastery, sensitivity)


def test_page_has_its_parts(html):
    outline = Outline(html)
    for heading in (
        "Data and fit",
        "Model comparison",
        "Models: ability and mastery",
        "Learners alone, or learners and models",
        "Attributes",
        "Items",
        "Items by profile",
    ):
        assert heading in outline.words, heading
    assert "Simulated & ours" in outline.words
    assert outline.tags.count("img") == 4 + MAX_BARS
    assert outline.tags.count("h1") == 1


def test_page_fetches_nothing_and_pictures_have_texts(html):
    outline = Outline(html)
    assert not {"script", "link", "iframe", "object", "form"} & set(outline.tags)
    for tag, attributes in outline.attributes:
        assert not [name for name in attributes if name.startswith("on")]
        if tag == "img":
            assert attributes["src"].startswith("data:image/svg+xml;base64,")
            assert len(attributes["alt"]) > 20


def test_numbers_are_those_of_the_results(parts, html):
    diagnosis, comparison, mastery, sensitivity = parts
    words = " ".join(Outline(html).words).replace("\N{MINUS SIGN}", "-")
    for value in [*comparison["bic"], *comparison["minus_2ll"], *sensitivity.fit["learners_minus_2ll"]]:
        assert f"{value:,.2f}" in words
    for value in diagnosis.structure["slope_se"]:
        assert f"{value:.3f}" in words
    assert mastery.to_html(legend=False) in html
    assert "0 of 96 mastery decisions change" in words


def test_flags_are_explained(parts, html):
    diagnosis = parts[0]
    found = {flag for text in diagnosis.items["flags"] for flag in text.split("; ") if flag}
    assert found
    for flag in found:
        assert FLAGS[flag] in Outline(html).words


def test_every_flag_of_a_diagnosis_has_an_explanation():
    from inspect import getsource

    from psychoedu.cdm.results import Diagnosis

    named = set(re.findall(r'"(on_bound|empty|few_respondents|\w+_violation)"', getsource(Diagnosis._items.func)))
    assert named == set(FLAGS)


def test_not_converged_comes_first(parts):
    stopped = replace(parts[0], converged=False, remaining_gain=3.0)
    words = Outline(diagnosis_page(stopped, "A title")).words
    assert words[0] == "A title"  # of the browser's tab
    assert words[1].startswith("NOT CONVERGED")
    assert "NOT CONVERGED" in " ".join(Outline(page("t", diagnosis_section(stopped, "A part"))).words)


def test_comparison_text_marks_the_best_and_those_that_stopped(parts):
    table = parts[1]
    text = comparison_text(table)
    assert text.count("*") == 3  # explained once
    assert "NOT CONVERGED" not in text
    stopped = table.assign(converged=table.index != "DINO")
    assert comparison_text(stopped).endswith("NOT CONVERGED: DINO")
    assert "not converged" in diagnosis_section(parts[0], "", comparison=stopped)


def test_labels_are_escaped(parts):
    matrix, q = pe.datasets.load_cse_like(), pe.datasets.load_cse_like_q()
    frame = matrix.select(respondents={"group": "junior"}).to_frame().dropna(axis=1, how="all")
    names = {"I01": HOSTILE, "I02": '" onload="x', "I03": "$q$"}
    q = q.loc[frame.columns].rename(index=names, columns={"syntax": "<b>s</b>"})
    diagnosis = pe.diagnose(frame.rename(columns=names), q, model="DINA", n_starts=1)
    models = frame.rename(columns=names).head(2).set_axis(["<i>m</i>_<u>1</u>", "n_<u>1</u>"], axis=0)
    table = pe.cdm.mastery_table(pe.cdm.score(diagnosis, models), separator="_")
    text = diagnosis_page(diagnosis, HOSTILE, [HOSTILE], mastery=table)
    outline = Outline(text)
    assert not {"script", "b", "i", "u"} & set(outline.tags)
    assert not [given for _, given in outline.attributes if "onload" in given]
    assert HOSTILE in outline.words
    assert "<i>m</i>" in outline.words


def test_other_structures_have_no_curves_of_theirs(parts):
    matrix, q = pe.datasets.load_cse_like(), pe.datasets.load_cse_like_q()
    learners = matrix.select(respondents={"group": ["junior", "college"]})
    for structure, words in (("saturated", "Probability of each profile"), ("independent", "Probability of each attribute.")):
        diagnosis = pe.diagnose(learners, q, model="DINA", structure=structure, n_starts=1, standard_errors=None)
        text = diagnosis_page(diagnosis)
        assert words in text
        assert "over the higher-order ability" not in text
        assert np.isfinite(diagnosis.log_likelihood)
        assert "nan" not in " ".join(Outline(text).words)


def test_page_is_the_same_twice(parts, html):
    diagnosis, comparison, mastery, sensitivity = parts
    assert diagnosis_page(diagnosis, "A diagnosis", ["Simulated & ours"], comparison, mastery, sensitivity) == html
    assert isinstance(comparison, pd.DataFrame)
