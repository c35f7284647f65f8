"""Submission events: ids that a line states."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.workload.events import read_events, words_of
from slurm_sim_plugins.errors import InputError

LINE = "-dt {at} -e submit_batch_job | {id}-sim-walltime 15 --uid=ann -t 7 -n 1 -p p pseudo.job\n"


def file(folder, *ids: str):
    path = folder / "a.events"
    path.write_text("".join(LINE.format(at=at, id=f"-jid {one} " if one else "") for at, one in enumerate(ids)))
    return path


def test_a_job_has_the_id_that_is_stated_and_others_go_on_from_there(tmp_path):
    assert [request.id for request in read_events(file(tmp_path, "", "1001", "", " 7", ""))] == [1, 1001, 1002, 7, 1003]


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (("5", "6", "5"), r"a\.events:3: is no submission: there is a job 5 already, in line 1"),
        (("", "0"), r"a\.events:2: is no submission: -jid 0: is no id"),
        (("x1",), r"a\.events:1: is no submission: -jid x1: is no id"),
    ],
)
def test_an_id_that_cannot_be_is_refused_with_its_line(tmp_path, ids, message):
    with pytest.raises(InputError, match=message):
        read_events(file(tmp_path, *ids))


def test_the_events_of_a_small_cluster_are_read(traces):
    requests = read_events(traces / "slurm" / "ub-micro2" / "job_traces" / "jobs500.events")
    assert [request.id for request in requests] == list(range(1001, 1501))


@given(st.text(" \t\r\nab#=-\"'\\;|é\x0b\x1c\xa0", max_size=12))
def test_words_are_those_of_a_shell(text):
    def words(of):
        try:
            return of(text)
        except ValueError as error:
            return str(error)

    assert words(words_of) == words(shlex.split)
