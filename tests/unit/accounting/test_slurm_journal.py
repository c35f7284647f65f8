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
from slurm_sim_plugins.priority import multifactor
from slurm_sim_plugins.priority.multifactor_factors import FACTORS
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
NOTED = (
    *COMMANDS,
    "update jobid=2 partition=q",
    "update jobid=4 priority=9",
    "update jobid=1 partition=p,q",
    "top 3",
    "requeue 2",
)
"""What changes factors of a job, or of which column it is."""
TRES = "PriorityWeightTRES=CPU=10,Mem=3\nPriorityWeightJobSize=7\nSchedulerParameters=enable_user_top\n"
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
    found, expected = quick.take_tables(), slow.take_tables()
    assert found.keys() == expected.keys()
    for name, columns in expected.items():
        for column, values in columns.items():
            np.testing.assert_array_equal(found[name][column], values, f"{name} {column}")


class SlowNotes:
    """Looks at each job after each event, as the journal does for one that was priced by itself."""

    def __init__(self, made: Controller) -> None:
        self._made = made
        self._factors: dict[tuple[int, str], tuple[object, ...]] = {}
        self._waits: dict[int, tuple[object, ...]] = {}
        self.factors: list[tuple[object, ...]] = []
        self.waits: list[tuple[object, ...]] = []

    def __call__(self) -> None:
        waiting, now = self._made.cluster.waiting, self._made.cluster.now
        for number in set(self._waits) - set(waiting):
            del self._waits[number]
            self._factors = {key: known for key, known in self._factors.items() if key[0] != number}
        for one in waiting.values():
            shown = min(one.priorities.values()) if len(one.priorities) > 1 and not one.on_hold else one.priority
            self._note_wait(one.id, now, one.reason, int(shown), one.planned_start)
            answered = one.seen.answered if one.seen is not None else ()
            for partition, priced in zip(one.partitions, answered, strict=bool(answered)):
                factors = tuple(priced.factors.get(name, 0.0) for name in FACTORS)
                shares = ",".join(f"{name}={share!r}" for name, share in priced.resources.items())
                total = max(1, int(priced.total) + one.site - one.nice)
                known = (*factors, shares, one.site)
                if self._factors.get((one.id, partition.name)) != known:
                    self._factors[one.id, partition.name] = known
                    self.factors.append((one.id, now, partition.name, total, *known))

    def _note_wait(self, number: int, now: float, reason: str, priority: int, planned: float | None) -> None:
        before = self._waits.get(number)
        if before is not None and before[:2] == (reason, priority):
            old = before[2]
            if old is planned or (None not in (old, planned) and abs(old - planned) < 60.0):
                return
        self._waits[number] = (reason, priority, planned)
        self.waits.append((number, now, "PENDING", reason, priority, -1.0 if planned is None else planned))


@pytest.mark.slow
@pytest.mark.parametrize("flags", ["", "PriorityFlags=CALCULATE_RUNNING\n"])
@given(
    drawn_jobs, st.lists(st.tuples(st.integers(5, 200), st.sampled_from(NOTED)), max_size=5), st.sampled_from([1, 4])
)
@settings(max_examples=25, deadline=None)
def test_what_is_noted_by_columns_is_what_one_sees_job_by_job(flags, drawn, commands, many):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(multifactor, "MANY", many)
        made = controller_of(drawn, commands, MULTIFACTOR + flags + TRES + "PartitionName=q Nodes=n[1-2]\n")
        journal, slow = Journal(made), SlowNotes(made)

        def both() -> None:
            made.changes.all()
            slow()
            journal()

        made.run(1500.0, both)
    tables = journal.take_tables()
    waits = list(zip(*(column.tolist() for column in tables["waits.parquet"].values()), strict=True))
    waits = [(*row[:5], -1.0 if row[5] != row[5] else row[5]) for row in waits if row[2] == "PENDING"]
    assert sorted(waits) == sorted(slow.waits)
    factors = list(zip(*(column.tolist() for column in tables["factors.parquet"].values()), strict=True))
    assert sorted(factors) == sorted(slow.factors)


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
    assert len(notes) == count
    columns = notes.take_columns()
    assert len(notes) == 0
    assert columns["number"].tolist() == list(range(count))
    assert columns["text"].tolist() == [f"t{number % 3}" for number in range(count)]
    assert [value for value in columns["value"].tolist() if value == value] == [n / 2 for n in range(0, count, 2)]


def test_rows_at_once_are_as_many_as_is_said() -> None:
    notes = RowBuffer({"number": "number", "value": "value"})
    notes.extend(2, np.array([1, 2]), 0.5)
    with pytest.raises(ValueError, match="value: "):
        notes.extend(2, 3, np.array([0.5]))
    notes = RowBuffer({"number": "number", "value": "value"})
    notes.extend(0, np.array([], dtype=np.int64), 0.5)
    assert len(notes) == 0
