"""How many jobs of a kind a cycle tries, in both forms, beside counting one entry after the other."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slurm_sim_plugins.plan import Entry
from tests.builders.kernels import NEEDS_KERNELS, forms

pytestmark = [NEEDS_KERNELS, pytest.mark.compiled]
NAMES = [("user",), ("partition",), ("user", "partition"), ("user", "account")]


def entry_of(user: str, partition: str, account: str) -> Entry:
    entry = Entry()
    entry.user, entry.partition, entry.account = user, partition, account
    return entry


ENTRY = st.builds(entry_of, st.sampled_from("ab"), st.sampled_from("pq"), st.sampled_from("xy"))


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(ENTRY, max_size=12), max_size=5), st.lists(st.integers(0, 4), min_size=4, max_size=4))
def test_of_each_kind_the_first_are_tried(groups: list[list[Any]], most: list[int]) -> None:
    bounds = dict(zip(NAMES, most, strict=True))
    both = [form.Bounds(bounds) for form in forms("slurm_sim_plugins.sched.bounds")]
    tried = Counter[tuple[str, ...]]()
    for entries in groups:
        expected = []
        for entry in entries:
            kinds = [(*names, *(getattr(entry, name) for name in names)) for names in NAMES]
            if all(not bounds[names] or tried[kind] < bounds[names] for names, kind in zip(NAMES, kinds, strict=True)):
                expected.append(entry)
                tried.update(kinds)
        for each in both:
            assert [id(entry) for entry in each.first_of(entries)] == [id(entry) for entry in expected]
