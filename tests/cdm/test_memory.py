"""Memory: estimated before it is taken."""

import tracemalloc

import pytest

from psychoedu.cdm.memory import DEFAULT_LIMIT, check_memory, estimate_memory, size_text
from psychoedu.exceptions import MemoryLimitError


def test_case_d7_twenty_attributes_are_refused_before_anything_is_taken():
    tracemalloc.start()
    with pytest.raises(
        MemoryLimitError, match=r"20 attributes make 1,048,576 profiles; with 30 items and 1,000 respondents"
    ) as caught:
        check_memory(1_000, 30, 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
    text = str(caught.value)
    assert "Expected at most 4 GB; nothing was allocated." in text
    assert "attribute hierarchy" in text
    assert "higher-order" not in text  # it is higher-order
    assert isinstance(caught.value, MemoryError)
    assert len(text.split("\n")) == 3


def test_case_d7_saturated_structure_is_pointed_to_the_higher_order_one():
    with pytest.raises(MemoryLimitError, match='structure="higher-order"') as caught:
        check_memory(1_000, 30, 20, structure="saturated")
    assert "26 TB" in str(caught.value)  # three squares of 2^20 doubles a side
    assert "information matrix" in str(caught.value)


def test_parts_are_the_arrays_sizes():
    parts = estimate_memory(100, 10, 3, structure="saturated", n_item_parameters=50).parts
    assert parts["posteriors of respondents by profiles"] == 100 * 8 * 8
    assert parts["tables of items by profiles"] == 6 * 10 * 8 * 8
    assert parts["information matrix of the parameters"] == 3 * (50 + 7) ** 2 * 8
    assert estimate_memory(100, 10, 3, standard_errors=False).parts["information matrix of the parameters"] == 0
    assert estimate_memory(1, 1, 4, n_points=25).parts["structure"] == 16 * 50 * 8


def test_fewer_profiles_take_less():
    whole, part = estimate_memory(5_000, 60, 12), estimate_memory(5_000, 60, 12, n_profiles=13)
    assert whole.n_profiles == 4096
    assert part.n_profiles == 13
    assert part.total < whole.total / 20
    assert check_memory(5_000, 30, 20, 21).total < DEFAULT_LIMIT


def test_designs_that_have_to_run_do():
    """Issue: 100,000 x 60 with six attributes in 500 MB, 5,000 x 60 with twelve in 1 GB, the interpreter's 150 MB included."""
    assert check_memory(100_000, 60, 6).total < 350e6
    assert check_memory(5_000, 60, 12).total < 850e6


def test_limit_is_an_option():
    total = estimate_memory(500, 20, 5).total
    assert check_memory(500, 20, 5, limit=total).total == total
    with pytest.raises(MemoryLimitError, match="raise the limit"):
        check_memory(500, 20, 5, limit=total - 1)


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1_000, "1 kB"),
        (1_540_000, "1.5 MB"),
        (999_999, "1 MB"),
        (12e9, "12 GB"),
        (2e15, "2 PB"),
    ],
)
def test_sizes_in_words(n_bytes, text):
    assert size_text(n_bytes) == text
