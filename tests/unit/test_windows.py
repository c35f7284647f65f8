"""Percentiles of sliding windows, against lists that are sorted each time."""

from __future__ import annotations

import math
from bisect import insort

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurm_sim_plugins import windows
from slurm_sim_plugins.windows import DEFINITIONS, SortedBlocks, Windows
from tests.builders.percentiles import PERCENTILES, TWELVE

VALUES = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.5000001, 1.0]) | st.floats(0, 1)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "MOST", 8)
    monkeypatch.setattr(windows, "LEAST", 2)


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("cobalt", [0.50, 0.70, 0.80, 0.90, 0.90, 1.0, 1.0]),
        ("nearest", [0.45, 0.70, 0.80, 0.90, 0.90, 1.0, 1.0]),
        ("linear", [0.475, 0.67, 0.78, 0.835, 0.89, 0.945, 1.0]),
    ],
)
def test_twelve_jobs(definition: str, expected: list[float]) -> None:
    found = [DEFINITIONS[definition](TWELVE, percentile) for percentile in PERCENTILES]
    assert found == pytest.approx(expected, rel=1e-15)
    assert definition == "linear" or found == expected


@given(st.lists(VALUES, min_size=1), st.integers(0, 100) | st.floats(0, 100))
def test_percentiles_are_those_of_numpy(values: list[float], percentile: float) -> None:
    values.sort()
    assert DEFINITIONS["linear"](values, percentile) == pytest.approx(np.percentile(values, percentile), abs=1e-12)
    if percentile == int(percentile):
        rank = -(-int(percentile) * len(values) // 100)
        assert DEFINITIONS["nearest"](values, percentile) == values[max(rank, 1) - 1]
        assert (
            DEFINITIONS["cobalt"](values, percentile)
            == values[min(int(percentile) * len(values) // 100, len(values) - 1)]
        )


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_of_one_value_every_percentile_is_that_value(definition: str) -> None:
    assert [DEFINITIONS[definition]([0.3], percentile) for percentile in (0, 0.5, 50, 99.9, 100)] == [0.3] * 5


@pytest.mark.usefixtures("small_blocks")
def test_blocks_stay_sorted_whatever_comes_and_goes() -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        plain = sorted(rng.integers(0, 9, rng.integers(0, 40)).tolist())
        blocks = SortedBlocks(plain)
        for share in rng.random(200):
            if plain and rng.random() < share:
                value = plain.pop(int(rng.integers(len(plain))))
                blocks.remove(value)
            else:
                value = int(rng.integers(9))
                insort(plain, value)
                blocks.add(value)
            assert len(blocks) == len(plain)
            assert [blocks[rank] for rank in range(len(plain))] == plain


@pytest.mark.usefixtures("small_blocks")
def test_what_is_not_in_a_block_cannot_be_had_or_removed() -> None:
    blocks = SortedBlocks([1, 2, 2, 3])
    for missing in (0, 2.5, 9):
        with pytest.raises(ValueError, match="is not among the values"):
            blocks.remove(missing)
    for rank in (-1, 4):
        with pytest.raises(IndexError, match=f"rank {rank} of 4 values"):
            blocks[rank]
    assert len(SortedBlocks()) == 0
    assert [blocks[rank] for rank in range(4)] == [1, 2, 2, 3]


def recomputed(learnt: list[tuple[str, float, float]], key: str, now: float, span: float) -> list[float]:
    return sorted(value for other, value, end in learnt if other == key and now - span <= end < now)


@given(
    st.lists(st.tuples(st.sampled_from("ab"), VALUES, st.integers(0, 5), st.booleans()), max_size=60),
    st.sampled_from([0, 3, 7, 20, math.inf]),
)
def test_a_window_holds_what_ended_from_its_begin_to_before_now(
    steps: list[tuple[str, float, int, bool]], span: float
) -> None:
    history, learnt, now = Windows(span), [], 0.0
    for key, value, later, ask in steps:
        now += later
        if not ask:
            history.learn(key, value, now)
            learnt.append((key, value, now))
            continue
        values = history.at(key, now)
        expected = recomputed(learnt, key, now, span)
        assert ([values[rank] for rank in range(len(values))] if values is not None else []) == expected
        alive = [end for _, _, end in learnt if end >= now - span]
        assert len(history) == len(alive), "what has left the window is forgotten, whatever asks"


@pytest.mark.usefixtures("small_blocks")
def test_many_values_of_one_key() -> None:
    rng, history, learnt = np.random.default_rng(2), Windows(50.0), []
    for now in range(200):
        values = history.at("a", now)
        expected = recomputed(learnt, "a", now, 50)
        assert ([values[rank] for rank in range(len(values))] if values is not None else []) == expected
        for value in rng.integers(0, 5, rng.integers(0, 4)).tolist():
            history.learn("a", value, now)
            learnt.append(("a", value, now))


def test_time_goes_one_way() -> None:
    history = Windows(10.0)
    history.learn("a", 0.1, 5.0)
    history.learn("a", 0.2, 3.0)
    assert history.at("a", 4.0) is None
    assert history.at("a", 15.5) is None, "the second counts as if it had ended at 5"
    history.learn("a", 0.3, 16.0)
    assert history.at("a", 17.0) == [0.3]
    assert history.at("a", 2.0) == [0.3], "a clock that steps back stands still"


def test_the_memory_is_bounded_by_the_window() -> None:
    history = Windows(100.0)
    for now in range(20_000):
        history.learn(now, 0.5, now)
        history.at("unknown", now)
        assert len(history) <= 102


class Counted(float):
    """Counts how often it is compared."""

    comparisons = 0

    def __lt__(self, other: float) -> bool:
        Counted.comparisons += 1
        return float(self) < float(other)


def test_nothing_is_searched_through() -> None:
    rng, worst = np.random.default_rng(3), []
    for count in (1000, 10_000, 100_000):
        blocks = SortedBlocks(map(Counted, sorted(rng.random(count).tolist())))
        Counted.comparisons = 0
        for value in map(Counted, rng.random(100).tolist()):
            blocks.add(value)
            blocks.remove(value)
        worst.append(Counted.comparisons / 100)
        assert max(map(len, blocks._blocks)) <= windows.MOST
    assert worst[2] < worst[0] + 4 * math.log2(100) < 60
