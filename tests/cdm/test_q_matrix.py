"""Q-matrices: what is read and refused, labels, coders, files."""

import json

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.inter_rater import fleiss_kappa as fleiss_of_statsmodels

import psychoedu as pe
from psychoedu.cdm.coders import cohen_kappa, fleiss_kappa
from psychoedu.cdm.q_matrix import as_q_matrix
from psychoedu.exceptions import DataError, DuplicateLabelError, LabelError, QMatrixError

EXACT = 1e-12


def small():
    return pd.DataFrame({"read": [1, 0, 1], "listen": [0, 1, 1]}, index=["I1", "I2", "I3"])


# reading


@pytest.mark.parametrize(
    "given",
    [
        small(),
        small().astype(bool),
        small().astype(float),
        small().astype(object),
        small().astype("boolean"),
        small().astype("Int64"),
        small().rename_axis("item").reset_index(),
    ],
    ids=["int", "bool", "float", "object", "boolean", "Int64", "item column"],
)
def test_every_form_of_0_and_1_is_the_same(given):
    before = given.copy(deep=True)
    q = pe.QMatrix(given)
    pd.testing.assert_frame_equal(given, before)
    pd.testing.assert_frame_equal(
        q.frame, small().astype(np.int8).rename_axis("item").rename_axis("attribute", axis=1), check_index_type=False
    )
    assert q.values.dtype == np.int8
    assert q.has_item_labels
    assert q.shape == (3, 2) == (q.n_items, q.n_attributes)
    assert len(q) == 3


def test_arrays_get_labels():
    q = pe.QMatrix([[1, 0], [0, 1]])
    assert q.item_labels.tolist() == ["q1", "q2"]
    assert q.attribute_labels.tolist() == ["A1", "A2"]
    assert not q.has_item_labels
    named = pe.QMatrix(np.eye(2, dtype=bool), items=["x", "y"], attributes=["a", "b"])
    assert named.frame.loc["y", "b"] == 1
    assert named.has_item_labels
    assert not pe.QMatrix(pd.DataFrame({"a": [1], "b": [1]})).has_item_labels
    assert pe.QMatrix(named).item_labels.equals(named.item_labels)
    assert as_q_matrix(named) is named


def test_values_are_read_only_and_frames_are_copies():
    frame = small()
    q = pe.QMatrix(frame)
    frame.loc["I1", "read"] = 0
    copy = q.frame
    copy.loc["I2", "listen"] = 0
    assert q.values[0, 0] == 1
    assert q.values[1, 1] == 1
    with pytest.raises(ValueError, match="read-only"):
        q.values[0, 0] = 0


def test_attributes_choose_columns():
    frame = small().assign(form="anchor")
    with pytest.raises(
        QMatrixError, match=r"3 cells of the Q-matrix are not 0 or 1 .*'anchor'.*\n.*\('form'\) are left out by attr"
    ):
        pe.QMatrix(frame)
    assert pe.QMatrix(frame, attributes=["listen", "read"]).attribute_labels.tolist() == ["listen", "read"]
    with pytest.raises(LabelError, match="names 1 column that the table lacks: 'write'"):
        pe.QMatrix(frame, attributes=["read", "write"])


# D1, D2, D8


def test_case_d1_items_without_attributes_are_named():
    frame = small().reindex(["I1", "I2", "I3", "I4", "I5"], fill_value=0)
    with pytest.raises(QMatrixError, match="2 items of 5 without any attribute in the Q-matrix: 'I4', 'I5'"):
        pe.QMatrix(frame)


def test_case_d2_attributes_without_items_are_named():
    with pytest.raises(QMatrixError, match="1 attribute of 3 required by no item of the Q-matrix: 'write'"):
        pe.QMatrix(small().assign(write=0))


def test_case_d8_rows_in_another_order_are_matched_by_label():
    q = pe.QMatrix(small())
    moved = q.align(["I3", "I1", "I2"])
    assert moved.frame.equals(q.frame.loc[["I3", "I1", "I2"]])
    assert moved.attribute_labels.equals(q.attribute_labels)


def test_case_d8_unlabelled_matrix_of_the_wrong_length():
    q = pe.QMatrix([[1, 0], [0, 1], [1, 1]])
    with pytest.raises(LabelError, match=r"3 rows without item labels; the responses have 4 items \('a', 'b', 'c', 'd'\)"):
        q.align(list("abcd"))
    taken = q.align(list("xyz"))
    assert taken.item_labels.tolist() == ["x", "y", "z"]
    assert taken.has_item_labels
    np.testing.assert_array_equal(taken.values, q.values)
    with pytest.raises(DuplicateLabelError, match="'x'"):
        q.align(["x", "x", "y"])


@pytest.mark.parametrize("bad", [2, -1, 0.5, np.nan, None, pd.NA, "1", "True", np.inf, 1 + 0j], ids=str)
def test_case_d8_other_values_are_refused(bad):
    frame = small().astype(object)
    frame.loc["I2", "read"] = bad
    with pytest.raises(
        QMatrixError, match=r"1 cell of the Q-matrix is not 0 or 1 \(item 'I2', attribute 'read': .*\)\.\n.*6 cells"
    ):
        pe.QMatrix(frame)


def test_case_d8_many_wrong_cells_are_counted():
    with pytest.raises(QMatrixError, match=r"12 cells of the Q-matrix are not 0 or 1 .*and 7 more"):
        pe.QMatrix(np.full((4, 3), 7))


def test_case_d8_unmatched_labels_are_named():
    q = pe.QMatrix(small())
    with pytest.raises(LabelError, match=r"it has 1 row: 'only'\."):
        pe.QMatrix([[1]], items=["only"]).align(["I8"])
    with pytest.raises(LabelError, match="2 items of 3 without a row in the Q-matrix: 'I8', 'I9'"):
        q.align(["I1", "I8", "I9"])
    with pytest.raises(LabelError, match="1 row of the Q-matrix without an item in the responses: 'I2'"):
        q.align(["I1", "I3"])
    assert q.align(["I3", "I1"], drop_extra=True).values.tolist() == [[1, 1], [1, 0]]
    with pytest.raises(QMatrixError, match="'listen'"):
        q.align(["I1"], drop_extra=True)
    with pytest.raises(DuplicateLabelError, match="'I1'"):
        q.align(["I1", "I1", "I2", "I3"])


# labels


def test_labels_are_checked():
    with pytest.raises(DuplicateLabelError, match="1 item label used more than once in the Q-matrix: 'I1'"):
        pe.QMatrix(small().set_axis(["I1", "I1", "I3"]))
    with pytest.raises(DuplicateLabelError, match="1 attribute label used more than once: 'read'"):
        pe.QMatrix(small().set_axis(["read", "read"], axis=1))
    with pytest.raises(LabelError, match="without a label, at position 2"):
        pe.QMatrix(small().set_axis(["I1", None, "I3"]))
    with pytest.raises(LabelError, match="levels"):
        pe.QMatrix(small().set_axis(pd.MultiIndex.from_product([["I1", "I2", "I3"], [1]])))
    with pytest.raises(LabelError, match="2 item labels for 3 items"):
        pe.QMatrix([[1], [1], [1]], items=["a", "b"])
    assert pe.QMatrix(small().set_axis(pd.CategoricalIndex(["I1", "I2", "I3"]))).item_labels.dtype != "category"


def test_shapes_are_checked():
    with pytest.raises(QMatrixError, match="shape \\(3,\\)"):
        pe.QMatrix([1, 0, 1])
    with pytest.raises(QMatrixError, match=r"shape \(2,\)\.\nExpected two dimensions"):
        pe.QMatrix([[1, 0], [1]])
    with pytest.raises(QMatrixError, match="0 items x 2 attributes"):
        pe.QMatrix(small().iloc[:0])
    with pytest.raises(QMatrixError, match="got str"):
        pe.QMatrix("q.csv")


# files and display


@pytest.mark.shared
def test_reference_file(shared):
    q = pe.QMatrix.read_csv(shared / "reference" / "cdm_ecpe" / "q.csv")
    assert q.shape == (28, 3)
    assert q.attribute_labels.tolist() == ["A1", "A2", "A3"]
    assert q.item_labels[0] == "I01"
    assert q.values[:2].tolist() == [[1, 1, 0], [0, 1, 0]]


def test_read_csv_takes_the_first_column_or_a_named_one(tmp_path):
    path = tmp_path / "q.csv"
    path.write_text("task,code,read,listen\nT1,X,1,0\nT2,Y,1,1\n", encoding="utf-8")
    q = pe.QMatrix.read_csv(path, attributes=["read", "listen"])
    assert q.item_labels.tolist() == ["T1", "T2"]
    assert pe.QMatrix.read_csv(path, item="code", attributes=["read", "listen"]).item_labels.tolist() == ["X", "Y"]
    with pytest.raises(QMatrixError, match=r"\('code'\)"):
        pe.QMatrix.read_csv(path)
    path.write_text("1,item,2\n1,7,0\n1,8,1\n", encoding="utf-8")
    assert pe.QMatrix.read_csv(path).item_labels.tolist() == [7, 8]


@pytest.mark.parametrize("with_coders", [False, True])
def test_saved_and_loaded(tmp_path, with_coders):
    every = pd.DataFrame(1, index=["I2", "I1", "I3"], columns=["listen", "read"])
    q = (
        pe.QMatrix.from_coders({"Ann": small(), "Bo": every}, ties="lead", lead_coder="Ann")
        if with_coders
        else pe.QMatrix(small())
    )
    path = q.save(tmp_path / "q.json")
    assert json.loads(path.read_text(encoding="utf-8"))["kind"] == "q_matrix"
    loaded = pe.load(path)
    assert isinstance(loaded, pe.QMatrix)
    pd.testing.assert_frame_equal(loaded.frame, q.frame)
    assert loaded.has_item_labels == q.has_item_labels
    if with_coders:
        pd.testing.assert_frame_equal(loaded.coding.disagreements, q.coding.disagreements)
        pd.testing.assert_frame_equal(loaded.coding.agreement, q.coding.agreement)
    else:
        assert loaded.coding is None


def test_numbers_as_labels_survive_a_file(tmp_path):
    q = pe.QMatrix(small().set_axis([3, 1, 2]).set_axis([10, 20], axis=1))
    loaded = pe.load(q.save(tmp_path / "q.json"))
    assert loaded.item_labels.tolist() == [3, 1, 2]
    assert loaded.align([1, 2, 3]).values.tolist() == [[0, 1], [1, 1], [1, 0]]


def test_display():
    q = pe.QMatrix(small())
    assert repr(q) == "QMatrix(3 items x 2 attributes: 'read', 'listen')"
    assert "<table" in q._repr_html_()
    text = q.summary()
    assert "Q-matrix: 3 items, 2 attributes" in text
    assert "2 with 1, 1 with 2" in text
    assert text.splitlines()[-1].split() == ["listen", "2", "1"]


# coders


def long_codes(codes, coders=None, items=None, attributes=None):
    n_coders, n_items, n_attributes = codes.shape
    rows = [
        (coders[r] if coders else f"C{r}", f"I{j}", f"A{k}", codes[r, j, k])
        for r in range(n_coders)
        for j in range(n_items)
        for k in range(n_attributes)
    ]
    return pd.DataFrame(rows, columns=["coder", "item", "attribute", "value"])


def random_codes(n_coders, seed=0, n_items=30, n_attributes=3):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, (n_items, n_attributes))
    truth[:3] = np.eye(3)[:, :n_attributes]
    truth[truth.sum(axis=1) == 0, 0] = 1
    flipped = rng.random((n_coders, n_items, n_attributes)) < 0.15
    flipped[:, :3] = False
    codes = np.where(flipped, 1 - truth, truth)
    codes[:, codes.sum(axis=(0, 2)) <= n_coders] = truth[codes.sum(axis=(0, 2)) <= n_coders]
    return codes


def test_consensus_is_the_majority():
    codes = random_codes(5)
    q = pe.QMatrix.from_coders(long_codes(codes).sample(frac=1, random_state=1))
    expected = pd.DataFrame(np.median(codes, axis=0), index=[f"I{j}" for j in range(30)], columns=["A0", "A1", "A2"])
    pd.testing.assert_frame_equal(q.frame.loc[expected.index, expected.columns], expected, check_dtype=False, check_names=False)
    assert q.coding.n_coders == 5
    assert q.coding.ties.empty


@pytest.mark.parametrize("n_coders", [2, 3, 5])
def test_kappas_are_those_of_statsmodels(n_coders):
    codes = random_codes(n_coders, seed=7)
    agreement = pe.QMatrix.from_coders(long_codes(codes), ties="one").coding.agreement
    for k in range(3):
        ones = codes[:, :, k].sum(axis=0)
        row = agreement.loc[f"A{k}"]
        assert row["fleiss_kappa"] == pytest.approx(fleiss_of_statsmodels(np.column_stack([n_coders - ones, ones])), rel=EXACT)
        pairs = [
            cohens_kappa(pd.crosstab(codes[r, :, k], codes[s, :, k]).to_numpy(), return_results=False)
            for r in range(n_coders)
            for s in range(r + 1, n_coders)
        ]
        assert row["cohen_kappa"] == pytest.approx(np.mean(pairs), rel=EXACT)
        same = [np.mean(codes[r, :, k] == codes[s, :, k]) for r in range(n_coders) for s in range(r + 1, n_coders)]
        assert row["pairwise"] == pytest.approx(np.mean(same), rel=EXACT)
        assert row["unanimous"] == pytest.approx(np.mean(np.isin(ones, [0, n_coders])), rel=EXACT)
        assert row["share_ones"] == pytest.approx(codes[:, :, k].mean(), rel=EXACT)
        assert row["n_items"] == 30
        assert row["reason"] == ""


def test_kappas_by_hand():
    """Cohen: agree on 3 of 4, chance (.5)(.25) + (.5)(.75) = .5; Fleiss: P = .75, p = 3/8, chance 34/64."""
    one, two = np.array([1, 1, 0, 0]), np.array([1, 0, 0, 0])
    assert cohen_kappa(one, two) == pytest.approx(0.5, rel=EXACT)
    assert fleiss_kappa(one + two, 2) == pytest.approx((0.75 - 34 / 64) / (30 / 64), rel=EXACT)


def test_undefined_kappas_have_a_reason():
    codes = random_codes(3, seed=2)
    codes[:, :, 0] = 1
    coding = pe.QMatrix.from_coders(long_codes(codes)).coding
    row = coding.agreement.loc["A0"]
    assert np.isnan(row["fleiss_kappa"])
    assert np.isnan(row["cohen_kappa"])
    assert row["pairwise"] == 1.0
    assert "chance agreement is 1" in row["reason"]
    assert "Note: A0" in coding.summary()
    codes[2, 5, 0] = 0
    row = pe.QMatrix.from_coders(long_codes(codes)).coding.agreement.loc["A0"]
    assert row["fleiss_kappa"] < 0 < 1
    assert row["cohen_kappa"] == 0.0  # C0 with C1 is undefined, both with C2 are 0
    assert row["reason"].startswith("Cohen's kappa is undefined for 1 of 3 pairs")


def test_pairs_of_coders():
    codes = random_codes(3, seed=4)
    pairs = pe.QMatrix.from_coders(long_codes(codes)).coding.pairs
    assert len(pairs) == 3 * 3
    row = pairs.query("coder_1 == 'C0' and coder_2 == 'C2' and attribute == 'A1'").iloc[0]
    assert row["agreement"] == pytest.approx((codes[0, :, 1] == codes[2, :, 1]).mean(), rel=EXACT)


def test_disagreements_are_listed():
    codes = np.array([[[1, 0], [0, 1], [1, 1]], [[1, 0], [0, 1], [1, 0]], [[1, 0], [1, 1], [1, 0]]])
    coding = pe.QMatrix.from_coders(long_codes(codes, ["Ann", "Bo", "Cy"])).coding
    assert coding.disagreements.to_dict("records") == [
        {"item": "I1", "attribute": "A0", "coder_Ann": 0, "coder_Bo": 0, "coder_Cy": 1, "n_ones": 1, "n_coders": 3,
         "tied": False, "consensus": 0},
        {"item": "I2", "attribute": "A1", "coder_Ann": 1, "coder_Bo": 0, "coder_Cy": 0, "n_ones": 1, "n_coders": 3,
         "tied": False, "consensus": 0},
    ]  # fmt: skip
    assert "2 of 6 cells disagreed on; 0 ties." in coding.summary()
    assert repr(coding) == "CoderAgreement(3 coders, 3 items x 2 attributes, 2 disagreements)"
    assert "<table" in coding._repr_html_()


def test_ties_are_refused_or_ruled():
    codes = np.array([[[1, 0], [0, 1], [1, 1]], [[1, 0], [0, 1], [0, 1]]])
    frame = long_codes(codes, ["Ann", "Bo"])
    with pytest.raises(QMatrixError, match="1 tie of 6 cells: as many coders gave 1 as 0 \\(item 'I2', attribute 'A0'\\)"):
        pe.QMatrix.from_coders(frame)
    for ties, lead, value in (("one", None, 1), ("zero", None, 0), ("lead", "Ann", 1), ("lead", "Bo", 0)):
        q = pe.QMatrix.from_coders(frame, ties=ties, lead_coder=lead)
        assert q.frame.loc["I2", "A0"] == value
        assert q.coding.ties[["item", "attribute", "consensus"]].to_numpy().tolist() == [["I2", "A0", value]]
        assert f"1 ties, decided by ties='{ties}'" in q.summary()
    with pytest.raises(LabelError, match="lead_coder 'Cy' is no coder"):
        pe.QMatrix.from_coders(frame, ties="lead", lead_coder="Cy")
    with pytest.raises(DataError, match="go together"):
        pe.QMatrix.from_coders(frame, ties="lead")
    with pytest.raises(DataError, match="go together"):
        pe.QMatrix.from_coders(frame, lead_coder="Ann")
    with pytest.raises(DataError, match="ties has to be one of"):
        pe.QMatrix.from_coders(frame, ties="first")


def test_wide_frames_by_coder_are_the_long_frame():
    codes = random_codes(3, seed=9)
    items, attributes = [f"I{j}" for j in range(30)], ["A0", "A1", "A2"]
    wide = {f"C{r}": pd.DataFrame(codes[r], index=items, columns=attributes) for r in range(3)}
    wide["C1"] = wide["C1"].iloc[::-1, ::-1]  # another order
    wide["C2"] = wide["C2"].rename_axis("item").reset_index()
    one, other = pe.QMatrix.from_coders(wide), pe.QMatrix.from_coders(long_codes(codes))
    pd.testing.assert_frame_equal(one.frame, other.frame)
    np.testing.assert_array_equal(one.coding.codes, other.coding.codes)


def test_other_column_names():
    frame = long_codes(random_codes(3)).set_axis(["who", "q", "skill", "needed"], axis=1)
    q = pe.QMatrix.from_coders(frame, coder="who", item="q", attribute="skill", value="needed")
    assert q.shape == (30, 3)
    with pytest.raises(LabelError, match="coder names 1 column that the table lacks: 'coder'"):
        pe.QMatrix.from_coders(frame)


def test_incomplete_and_repeated_codings_are_named():
    frame = long_codes(random_codes(3))
    with pytest.raises(
        DataError, match=r"1 cell \(coder/item/attribute\) not coded: C1/I4/A2.\n.*270 cells. Add them, also where"
    ):
        pe.QMatrix.from_coders(frame.query("not (coder == 'C1' and item == 'I4' and attribute == 'A2')"))
    with pytest.raises(DuplicateLabelError, match=r"1 cell .* coded more than once: C0/I0/A0"):
        pe.QMatrix.from_coders(pd.concat([frame, frame.iloc[[0]]]))
    with pytest.raises(QMatrixError, match=r"1 cell .* neither 0 nor 1: C0/I0/A1"):
        pe.QMatrix.from_coders(frame.assign(value=frame["value"].astype(object).where(np.arange(len(frame)) != 1, 2)))
    with pytest.raises(LabelError, match="1 row of the codings without a label in 'item': row 1"):
        pe.QMatrix.from_coders(frame.assign(item=frame["item"].where(np.arange(len(frame)) != 0)))
    with pytest.raises(DataError, match=r"1 coder \('C0'\); agreement needs at least two"):
        pe.QMatrix.from_coders(frame.query("coder == 'C0'"))
    with pytest.raises(DataError, match="got list"):
        pe.QMatrix.from_coders([small(), small()])


def test_wide_codings_are_checked():
    with pytest.raises(LabelError, match="different items: 'I3' by one of them only"):
        pe.QMatrix.from_coders({"Ann": small(), "Bo": small().iloc[:2]})
    with pytest.raises(LabelError, match="different attributes: 'write' by one"):
        pe.QMatrix.from_coders({"Ann": small(), "Bo": small().assign(write=1)})
    with pytest.raises(DuplicateLabelError, match="Coder 'Bo' has items twice: 'I1'"):
        pe.QMatrix.from_coders({"Ann": small(), "Bo": small().iloc[[0, 0, 1]]})
    with pytest.raises(DataError, match="'Bo' are no DataFrame"):
        pe.QMatrix.from_coders({"Ann": small(), "Bo": small().to_numpy()})


def test_consensus_without_an_attribute_is_refused():
    """Three coders who each see another attribute in an item leave it with none."""
    codes = np.zeros((3, 4, 3), dtype=int)
    codes[:, :3] = np.eye(3)
    codes[[0, 1, 2], 3, [0, 1, 2]] = 1
    with pytest.raises(QMatrixError, match="1 item of 4 without any attribute in the Q-matrix: 'I3'"):
        pe.QMatrix.from_coders(long_codes(codes))
