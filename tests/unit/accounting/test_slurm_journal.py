"""What is noted of a run in Slurm's timing: the same as if everything were looked at after every event."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.accounting.journal import Journal
from emulator.accounting.row_buffer import TOGETHER, RowBuffer
from emulator.config.sacctmgr import parse_accounts
from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.limits.shares import ChangedShares, share_rows, tres_text
from emulator.operator.scontrol import scontrol
from tests.builders.accounts import BOOKS, CONF, job

MULTIFACTOR = CONF + "PriorityType=priority/multifactor\nPriorityWeightAge=500\nPriorityMaxAge=0-1\n"
CLASSIC = MULTIFACTOR + "PriorityFlags=NO_FAIR_TREE\n"
OBLIVIOUS = MULTIFACTOR + "PriorityFlags=DEPTH_OBLIVIOUS\n"
LIMITED = BOOKS + "modify user cy set fairshare=parent MaxJobs=1\nmodify account b set GrpTRESMins=cpu=90\n"

drawn_jobs = st.lists(
    st.tuples(
        st.integers(0, 300),
        st.integers(1, 200),
        st.integers(1, 16),
        st.sampled_from(["", "--hold", "--begin=now+40", "-d after:1", "-a1-2%1"]),
        st.sampled_from(["ann", "bob", "cy"]),
    ),
    min_size=1,
    max_size=10,
)
COMMANDS = ("hold 1", "release 1", "requeue 2", "update jobid=3 nice=50", "sacctmgr modify user bob set fairshare=3")
drawn_commands = st.lists(st.tuples(st.integers(5, 200), st.sampled_from(COMMANDS)), max_size=3)


def controller_of(drawn, commands, conf: str) -> Controller:
    requests = [job(n, at, run, f"-n{size} -t3 {more}", user) for n, (at, run, size, more, user) in enumerate(drawn, 1)]
    actions = [(float(at), lambda made, words=words: scontrol(words, made)) for at, words in commands]
    return Controller(parse_slurm_conf(conf), requests, actions, accounts=parse_accounts(LIMITED))


@pytest.mark.slow
@pytest.mark.parametrize("conf", [CONF, MULTIFACTOR, CLASSIC])
@given(drawn_jobs, drawn_commands)
@settings(max_examples=15, deadline=None)
def test_nothing_that_changes_is_missed(conf, drawn, commands):
    made = controller_of(drawn, commands, conf)
    quick = Journal(made)
    made.run(1500.0, quick)
    again = controller_of(drawn, commands, conf)
    slow = Journal(again)

    def look_at_everything() -> None:
        again.changes.all()
        slow()

    again.run(1500.0, look_at_everything)
    assert quick.tables().keys() == slow.tables().keys()
    for name, columns in slow.tables().items():
        for column, values in columns.items():
            np.testing.assert_array_equal(quick.tables()[name][column], values, f"{name} {column}")


@pytest.mark.parametrize("conf", [MULTIFACTOR, CLASSIC, OBLIVIOUS])
@given(drawn_jobs, drawn_commands)
@settings(max_examples=10, deadline=None)
def test_shares_as_noted_are_those_that_there_are(conf, drawn, commands):
    made = controller_of(drawn, commands, conf)
    books = made.cluster.accounting
    changed, known = ChangedShares(books), {}

    def compare() -> None:
        known.update({row[:3]: row for row in changed.rows()})
        rows = list(share_rows(books))
        assert [(one.account, one.user, one.partition) for one in rows] == sorted(known, key=lambda key: known[key][3])
        for one in rows:
            limits = ",".join(f"{name}={amount:.0f}" for name, amount in one.limit_minutes.items())
            assert known[one.account, one.user, one.partition][4:] == (
                *(one.depth, one.raw_shares, one.norm_shares, one.raw_usage, one.norm_usage, one.effective_usage),
                *(one.fair_share, one.level_fs, limits, tres_text(one.run_minutes)),
            )

    for second in (0.0, 65.0, 125.0, 245.0, 600.0):
        made.run(second)
        compare()


@pytest.mark.parametrize("count", [0, 1, TOGETHER, TOGETHER + 1])
def test_notes_are_the_rows_that_were_added(count):
    notes = RowBuffer({"number": "number", "value": "value", "text": "text"})
    for number in range(count):
        notes.add(number, None if number % 2 else number / 2, f"t{number % 3}")
    columns = notes.columns()
    assert len(notes) == count
    assert columns["number"].tolist() == list(range(count))
    assert columns["text"].tolist() == [f"t{number % 3}" for number in range(count)]
    assert [value for value in columns["value"].tolist() if value == value] == [n / 2 for n in range(0, count, 2)]
