"""Mastery with how sure it is and what it rests on: counts by hand, nothing bare, and tables that are well formed."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import psychoedu as pe
from psychoedu.cdm import mastery_table
from psychoedu.cdm.mastery_table import probability_text
from psychoedu.exceptions import DataError, DuplicateLabelError, LabelError, MissingResponsesError

ATTRIBUTES = ["phonology", "cohesion", "vocabulary", "syntax"]
HOSTILE = "<b>x|y</b> & 5%_$"


@pytest.fixture(scope="module")
def matrix():
    return pe.datasets.load_cse_like()


@pytest.fixture(scope="module")
def q():
    return pe.datasets.load_cse_like_q()


@pytest.fixture(scope="module")
def both(matrix, q):
    """Fitted to the learners, with everyone diagnosed."""
    return pe.diagnose(matrix, q, fit_to={"group": ["junior", "college"]}, n_starts=1, standard_errors=None)


@pytest.fixture(scope="module")
def models(matrix):
    return matrix.select(respondents={"group": "model"})


@pytest.fixture(scope="module")
def table(both):
    return mastery_table(both, separator="_")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "<.0001"),
        (4.9e-5, "<.0001"),
        (5.1e-5, ".0001"),
        (0.5, ".5000"),
        (0.99994, ".9999"),
        (0.99996, ">.9999"),
        (1.0, ">.9999"),
        (float("nan"), "withheld"),
    ],
)
def test_probability_text(value, text):
    assert probability_text(value) == text


def test_models_by_conditions(table):
    assert table.models == tuple(f"M{number:02}" for number in range(1, 13))
    assert table.conditions == ("p1", "p2")
    assert table.attributes == tuple(ATTRIBUTES)
    assert len(table.cells) == 12 * 2 * 4
    assert repr(table) == "MasteryTable(12 models x 2 conditions, 4 attributes)"


def test_numbers_are_those_of_the_diagnosis(table, both):
    frame = table.to_frame()
    assert frame.index.tolist() == [label for label in both.mastery.index if str(label).startswith("M")]
    np.testing.assert_array_equal(frame[ATTRIBUTES], both.mastery.loc[frame.index])
    np.testing.assert_array_equal(frame["theta"], both.theta.loc[frame.index])
    second = table.by_condition()["p2"]
    assert second.loc["M03", "cohesion"] == both.mastery.loc["M03_p2", "cohesion"]
    cells = table.cells
    np.testing.assert_array_equal(cells["certainty"], np.where(cells["mastery"] > 0.5, cells["mastery"], 1 - cells["mastery"]))
    np.testing.assert_array_equal(cells["mastered"], cells["mastery"] > 0.5)


def test_items_behind_a_mastery_are_those_answered(both, models, q):
    """Counted by hand, with answers missing."""
    answers = models.to_frame()
    answers.loc["M01_p1", ["I01", "I06"]] = np.nan  # phonology alone
    answers.loc["M01_p1", "I13"] = np.nan  # phonology, vocabulary, syntax
    cells = mastery_table(pe.cdm.score(both, answers), separator="_").cells.set_index(["respondent", "attribute"])
    for name in ATTRIBUTES:
        alone = int(((q[name] == 1) & (q.sum(axis=1) == 1)).sum())
        total = int(q[name].sum())
        assert cells.loc[("M12_p2", name), ["n_items", "n_alone", "n_with_others"]].tolist() == [total, alone, total - alone]
    assert cells.loc[("M01_p1", "phonology"), ["n_items", "n_alone", "n_with_others"]].tolist() == [14, 10, 4]
    assert cells.loc[("M01_p1", "syntax"), "n_with_others"] == cells.loc[("M02_p1", "syntax"), "n_with_others"] - 1
    assert cells.loc[("M01_p1", "cohesion"), "n_items"] == 21


def test_accuracy_is_the_learners_mean_certainty(table, both, matrix):
    learner = (matrix.respondents["group"] != "model").to_numpy()
    mastery = both.mastery[learner]
    expected = np.maximum(mastery, 1 - mastery).mean()
    found = table.cells.drop_duplicates("attribute").set_index("attribute")["accuracy"]
    np.testing.assert_allclose(found[ATTRIBUTES], expected[ATTRIBUTES], rtol=1e-12)
    assert table.n_learners == 2050
    assert f"2,050 learners: phonology {expected['phonology']:.4f}".replace(" 0.", " .") in table.summary()


def test_scored_models_take_the_learners_accuracy_when_told(table, both, models):
    scored = pe.cdm.score(both, models)
    alone = mastery_table(scored, separator="_")
    assert alone.cells["accuracy"].isna().all()
    assert "learners:" not in alone.summary()
    told = mastery_table(scored, separator="_", learners=both)
    pd.testing.assert_frame_equal(told.cells, table.cells)
    assert told.to_latex() == table.to_latex()


def cells_of(markdown):
    rows = [line.strip("| ").split(" | ") for line in markdown.splitlines() if line.startswith("| ")]
    return [cell for row in rows[1:] for cell in row[1:]]


@pytest.mark.parametrize("accuracy", [True, False])
def test_no_mastery_of_0_or_1_stands_bare(both, accuracy):
    table = mastery_table(both, accuracy, separator="_")
    extreme = int(((table.cells["mastery"] < 5e-5) | (table.cells["mastery"] > 1 - 5e-5)).sum())
    assert extreme > 50
    for text in (table.summary(), table.to_markdown(), table.to_latex(), table.to_html()):
        assert not re.search(r"(?<![\d.])[01]?\.0000|(?<![\d.])1\.0000", text)
    cells = cells_of(table.to_markdown())
    shown = [cell for cell in cells if "+" in cell]
    assert len(shown) == (96 if accuracy else extreme)
    for cell in cells:
        if cell.startswith(("\\<", "**\\>")):
            assert re.search(r"\(\\>\.9999; \d+\+\d+\)$", cell), cell
    assert "no proof of either" in table.summary()


def test_conditions_from_columns(both, models):
    labels = models.respondent_labels
    about = pd.DataFrame(
        {
            "name": [str(label)[:3] for label in labels],
            "prompt": ["zero" if str(label)[-1] == "1" else "few" for label in labels],
        },
        index=labels,
    )
    scored = pe.cdm.score(both, models)
    table = mastery_table(scored, model="name", condition="prompt", respondents=about.iloc[::-1])
    assert table.conditions == ("zero", "few")
    assert table.by_condition()["few"].loc["M03", "cohesion"] == scored.mastery.loc["M03_p2", "cohesion"]
    given = mastery_table(scored, model=about["name"], condition=about["prompt"])
    pd.testing.assert_frame_equal(given.cells, table.cells)


def test_separator_is_looked_for_from_the_end(both, models):
    frame = models.to_frame().head(4)
    frame.index = ["gpt-4-zero", "gpt-4-few", "llama-zero", "llama-few"]
    table = mastery_table(pe.cdm.score(both, frame), separator="-")
    assert (table.models, table.conditions) == (("gpt-4", "llama"), ("zero", "few"))


def test_model_without_one_condition_has_a_dash(both):
    table = mastery_table(both, separator="_", select=["M01_p1", "M01_p2", "M02_p2"])
    row = next(line for line in table.to_markdown().splitlines() if line.startswith("| M02"))
    assert [cell == "-" for cell in row.strip("| ").split(" | ")[1:]] == [True, False] * 5
    assert table.to_html().count("&ndash;") == 5
    assert sum(line.startswith("M02") for line in table.summary().splitlines()) == 1


def test_default_is_those_only_diagnosed_else_all(both, matrix, q):
    assert len(mastery_table(both).models) == 24
    few = matrix.select(respondents={"group": "junior"}, items={"form": ["anchor", "junior"]})
    everyone = pe.diagnose(few, q.loc[few.item_labels], model="DINA", n_starts=1, standard_errors=None)
    assert len(mastery_table(everyone).models) == 1102


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"separator": "/"}, LabelError, r"24 labels of 24 without a model and a condition around '/'"),
        ({"separator": ""}, DataError, r"separator=''"),
        ({"separator": "_", "model": "name"}, DataError, r"not both"),
        ({"condition": "prompt"}, DataError, r"pass the table that has it as respondents="),
        ({"model": ["one"] * 2074}, DuplicateLabelError, r"1 model with several rows under one condition"),
        ({"model": ["one"] * 3}, DataError, r"model"),
        ({"select": ["M99"]}, LabelError, r"M99"),
        ({"threshold": 50}, DataError, r"threshold"),
    ],
    ids=lambda value: str(value)[:25],
)
def test_errors(both, options, error, message):
    with pytest.raises(error, match=message):
        mastery_table(both, **options)


def test_a_stored_diagnosis_asks_for_responses(both, tmp_path):
    with pytest.raises(MissingResponsesError, match=r"score\(diagnosis, responses\)"):
        mastery_table(pe.load(both.save(tmp_path / "d.json")))


def test_withheld_attributes_are_no_numbers(both):
    table = mastery_table(replace(both, withheld=("syntax",)), separator="_")
    own = table.cells[table.cells["attribute"] == "syntax"]
    assert own["mastery"].isna().all()
    assert not own["mastered"].any()
    assert own["accuracy"].isna().all()
    for text in (table.to_markdown(), table.to_latex(), table.to_html()):
        assert text.count("withheld") == 24
        assert "nan" not in text
    assert "syntax" not in table.legend()[-1]


def test_respondent_without_answers_has_the_prior_and_no_items(both, models):
    nothing = models.to_frame().head(1) * np.nan
    table = mastery_table(pe.cdm.score(both, nothing))
    np.testing.assert_allclose(table.cells["mastery"], both.prior @ both.alpha, rtol=1e-9)
    assert (table.cells["n_items"] == 0).all()
    assert "0+0" in table.to_markdown()
    assert "no answered item requires the attribute" in table.summary()


def test_latex_has_a_cell_for_every_column_and_its_braces_close(table):
    text = table.to_latex("50% & more", "tab:mastery")
    assert r"\caption{50\% \& more}" in text
    assert r"\label{tab:mastery}" in text
    columns = re.search(r"\\begin\{tabular\}\{(l(c+))\}", text)
    assert len(columns.group(2)) == 10
    body = text[text.index(r"\midrule") : text.index(r"\bottomrule")].splitlines()[1:]
    assert len(body) == 12
    assert {len(re.findall(r"(?<!\\)&", line)) for line in body} == {10}
    assert text.count("{") == text.count("}")
    assert text.count(r"\textbf") == int(table.cells["mastered"].sum())
    assert text.count(r"\multicolumn{2}{c}") == 5
    assert text.count("$") % 2 == 0


class Reader(HTMLParser):
    """Counts cells by row and checks that tags close."""

    def __init__(self, text):
        super().__init__()
        self.open, self.rows, self.words = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        if tag == "br":
            return
        self.open.append(tag)
        if tag == "tr":
            self.rows.append(0)
        if tag in ("td", "th"):
            self.rows[-1] += int(dict(attributes).get("colspan", 1))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_html_has_its_columns(table):
    reader = Reader(table.to_html("Models"))
    assert reader.rows == [11, 10, *[11] * 12]
    assert reader.words.count("p1") == 5
    assert table._repr_html_() == table.to_html()
    assert "In brackets" not in table.to_html(legend=False)


def test_labels_are_no_markup(both, models):
    frame = models.to_frame().head(2)
    frame.index = [HOSTILE, "M2"]
    table = mastery_table(pe.cdm.score(both, frame))
    assert HOSTILE in "".join(Reader(table.to_html(HOSTILE)).words)
    assert "<b>" not in table.to_html(HOSTILE)
    markdown = table.to_markdown()
    first = markdown.splitlines()[2]
    assert len(re.findall(r"(?<!\\)\|", first)) == len(re.findall(r"(?<!\\)\|", markdown.splitlines()[0]))
    assert r"$<$b$>$x\textbar{}y$<$/b$>$ \& 5\%\_\$" in table.to_latex()
    assert len(table.to_frame()) == 2


def test_without_higher_order_structure_there_is_no_ability(matrix, q):
    fitted = pe.diagnose(
        matrix,
        q,
        model="DINA",
        structure="independent",
        fit_to={"group": ["junior", "college"]},
        n_starts=1,
        standard_errors=None,
    )
    table = mastery_table(fitted, separator="_")
    assert table.to_markdown().startswith("| model | phonology p1 |")
    assert "Ability:" not in table.to_markdown()
    assert table.to_frame().columns.tolist() == ["model", "condition", *ATTRIBUTES]


def test_threshold_is_strict(both):
    value = float(both.mastery.loc["M03_p2", "cohesion"])
    at = mastery_table(both, separator="_", threshold=value).by_condition()["p2"]
    cells = mastery_table(both, separator="_", threshold=value).cells
    row = cells[(cells["respondent"] == "M03_p2") & (cells["attribute"] == "cohesion")].iloc[0]
    assert at.loc["M03", "cohesion"] == value
    assert not row["mastered"]


def test_figures_of_a_diagnosis_are_those_of_the_plots(both):
    ax = both.plot_mastery(respondents=["M03_p2", "M01_p1"])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["M03_p2", "M01_p1"]
    with pytest.raises(LabelError, match="M99"):
        both.plot_mastery(respondents=["M99"])
    heights = [bar.get_height() for bar in both.plot_items("I09").patches]
    np.testing.assert_allclose(heights, both.probabilities[8])
    assert len(both.plot_structure().lines) == 4
    np.testing.assert_allclose([bar.get_height() for bar in both.plot_prevalence().patches], both.prior @ both.alpha)


def test_plot_shows_every_probability(table):
    ax = table.plot()
    assert len([text for text in ax.texts if text.get_text() not in table.conditions]) == 96
