"""Host lists, times and sizes against slow readers of the same notation, and there and back."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.config.slurm import duration
from emulator.config.slurm.hostlist import MOST_NAMES, compress, expand


def naive(expression: str) -> list[str]:
    """Opens the first bracket and starts again, one character at a time."""
    depth, item, items = 0, "", []
    for character in expression:
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            items.append(item)
            item = ""
        else:
            item += character
    names = []
    for each in [*items, item] if expression else []:
        if "[" not in each:
            names.append(each)
            continue
        begin, end = each.index("["), each.index("]")
        for part in each[begin + 1 : end].split(","):
            low, _, high = part.partition("-")
            number = int(low)
            while number <= int(high or low):
                text = str(number)
                while len(text) < len(low):
                    text = "0" + text
                names += naive_tail(each[:begin] + text, each[end + 1 :])
                number += 1
    return names


def naive_tail(head: str, tail: str) -> list[str]:
    return naive(head + tail) if "[" in tail else [head + tail]


LETTERS = st.text("abz-_.", max_size=3)
DIGITS = st.from_regex(r"[0-9]{1,3}", fullmatch=True)
NAMES = st.from_regex(r"[a-z._-]{0,3}([0-9]{1,4}[a-z._-]{0,2}){0,3}", fullmatch=True).filter(bool)


@st.composite
def expressions(draw: st.DrawFn) -> str:
    items = []
    for _ in range(draw(st.integers(1, 3))):
        item = draw(LETTERS) + "n"
        for _ in range(draw(st.integers(0, 2))):
            ranges = []
            for _ in range(draw(st.integers(1, 3))):
                low = draw(DIGITS)
                width = draw(st.integers(-1, 5))
                ranges.append(low if width < 0 else f"{low}-{int(low) + width}")
            item += f"[{','.join(ranges)}]" + draw(LETTERS)
        items.append(item)
    return ",".join(items)


@given(expressions())
def test_expansion_is_that_of_a_naive_reader(expression):
    assert expand(expression) == naive(expression)


@given(st.lists(NAMES, max_size=30))
def test_compressed_names_expand_to_themselves(names):
    assert expand(compress(names)) == names == naive(compress(names))


@given(expressions())
def test_compression_of_an_expansion_is_a_fixed_point(expression):
    once = compress(expand(expression))
    assert compress(expand(once)) == once


@given(st.integers(0, 30), st.integers(1, 40), st.integers(1, 6))
def test_consecutive_names_become_one_range(first, count, width):
    names = [f"n{number:0{width}}" for number in range(first, first + count)]
    assert "," not in compress(names)
    assert expand(compress(names)) == names


def test_brackets_keep_zeros_and_the_last_counts_fastest():
    assert expand("n[001-003,012]-ib") == ["n001-ib", "n002-ib", "n003-ib", "n012-ib"]
    assert expand("r[1-2]n[08-10],login") == ["r1n08", "r1n09", "r1n10", "r2n08", "r2n09", "r2n10", "login"]
    assert expand("[1-2]") == ["1", "2"]
    assert expand("") == []
    assert compress(["n1", "n2", "n3", "n05", "login", "n7", "n7"]) == "n[1-3,05],login,n[7,7]"


@pytest.mark.parametrize(
    "wrong",
    [
        *("n[1-2", "n1-2]", "n[2-1]", "n[a-b]", "n[]", "n[1,]", "n[1-2-3]", "n1,,n2", "n1,", ",n1", "n 1", "n[1 2]"),
        *("n[²]", "n[[1]]", f"n[0-{MOST_NAMES}]", "n[0-999][0-999]", f"n[1-{10**17}]", f"n[{10**30}]"),
        ",".join(["a[1-9999]"] * 7),
    ],
)
def test_what_is_no_host_list_is_refused(wrong):
    with pytest.raises(ValueError, match=r"host list|range|begins"):
        expand(wrong)


@pytest.mark.parametrize("wrong", ["", "a b", "a,b", "a[1]"])
def test_a_name_that_no_expression_can_hold_is_refused(wrong):
    with pytest.raises(ValueError, match="no name"):
        compress([wrong])


def naive_seconds(text: str) -> float:
    """By the list of formats in the documentation of sbatch, one after the other."""
    number = r"(\d+)"
    forms = {
        rf"{number}": (60,),
        rf"{number}:{number}": (60, 1),
        rf"{number}:{number}:{number}": (3600, 60, 1),
        rf"{number}-{number}": (86400, 3600),
        rf"{number}-{number}:{number}": (86400, 3600, 60),
        rf"{number}-{number}:{number}:{number}": (86400, 3600, 60, 1),
    }
    for form, units in forms.items():
        found = re.fullmatch(form, text)
        if found:
            return sum(int(part) * unit for part, unit in zip(found.groups(), units, strict=True))
    raise AssertionError(text)


FIELD = st.integers(0, 99999).map(str)
TIMES = st.one_of(
    FIELD,
    st.tuples(FIELD, FIELD).map(":".join),
    st.tuples(FIELD, FIELD, FIELD).map(":".join),
    st.tuples(FIELD, FIELD).map("-".join),
    st.tuples(FIELD, FIELD, FIELD).map(lambda parts: f"{parts[0]}-{parts[1]}:{parts[2]}"),
    st.tuples(FIELD, FIELD, FIELD, FIELD).map(lambda parts: f"{parts[0]}-{parts[1]}:{parts[2]}:{parts[3]}"),
)


@given(TIMES)
def test_times_are_those_of_a_naive_reader(text):
    exact = duration.seconds(text)
    assert exact == naive_seconds(text)
    limit = duration.limit_seconds(text)
    assert limit % 60 == 0
    assert exact <= limit < exact + 60


@given(st.integers(0, 10**9))
def test_a_written_time_reads_as_itself(seconds):
    assert duration.seconds(duration.written(float(seconds))) == seconds


@pytest.mark.parametrize("text", ["UNLIMITED", "infinite", "-1", "Unlimited"])
def test_no_limit_has_several_names(text):
    assert math.isinf(duration.seconds(text))
    assert math.isinf(duration.limit_seconds(text))
    assert duration.written(math.inf) == "UNLIMITED"


@pytest.mark.parametrize("text", ["", "1:2:3:4", "1-", "-5", "1-2-3", "1.5", "1h", "٣", "1:", "1 0", "9" * 30])
def test_what_is_no_time_is_refused_with_what_is_one(text):
    with pytest.raises(ValueError, match="accepted are minutes, minutes:seconds"):
        duration.seconds(text)


@given(st.integers(0, 10**6), st.sampled_from("KMGTP"))
def test_sizes_are_powers_of_1024(number, suffix):
    in_bytes = number * 1024 ** (" KMGTP".index(suffix))
    assert duration.megabytes(f"{number}{suffix}") == math.ceil(in_bytes / 1024**2)
    assert duration.count(f"{number}{suffix.lower()}") == in_bytes
    assert duration.megabytes(str(number)) == number == duration.count(str(number))


@pytest.mark.parametrize("text", ["", "-1", "1.5G", "G", "1E", "one", "²"])
def test_what_is_no_size_is_refused(text):
    for reader in (duration.megabytes, duration.count):
        with pytest.raises(ValueError, match="accepted is"):
            reader(text)
