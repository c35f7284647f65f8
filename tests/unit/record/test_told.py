"""What the controller's log tells of jobs: lines in the form of three versions."""

from emulator.record.told import told_of_jobs

ZERO = 1_795_856_460.0  # 2026-11-28T09:01:00
LOG = """\
[2026-11-28T09:01:01.180] _slurm_rpc_submit_batch_job: JobId=3 InitPrio=4294901759 usec=2418
[2026-11-28T09:01:01.500] sched: Allocate JobId=3 NodeList=c1 #CPUs=3 Partition=p
[2026-11-28T09:01:02.000] _slurm_rpc_submit_batch_job: JobId=4 SLUID=s00SM8GP5RGN00 InitPrio=4100 usec=5363
[2026-11-28T09:01:03.000] sched/backfill: _start_job: Started JobId=4_7(5) in p on c2
[2026-11-28T09:01:11.800] _job_complete: JobId=3 WEXITSTATUS 0
[2026-11-28T09:01:11.801] _job_complete: JobId=3 done
[2026-11-28T09:01:12.000] TRACE_JOBS: job_epilog_complete: enter JobId=3
[2026-11-28T09:01:12.099] ROUTE: _slurm_rpc_epilog_complete: node_name = c2, JobId=3
[2026-11-28T09:01:12.100] TRACE_JOBS: job_epilog_complete: enter JobId=3
[2026-11-28T09:01:13.000] _job_complete: JobId=4_7(5) SLUID=s00SM8GP5RGN00 WTERMSIG 15
[2026-11-28T09:01:13.500] TRACE_JOBS: job_epilog_complete: enter JobId=4_7(5) SLUID=s00SM8GP5RGN00
[2026-11-28T09:01:20.000] sched: Allocate JobId=4_7(5) NodeList=c2 #CPUs=1 Partition=p
[2026-11-28T09:01:25.000] _job_complete: JobId=4_7(5) SLUID=s00SM8GP5RGN00 WEXITSTATUS 1
[2026-11-28T09:01:25.250] TRACE_JOBS: job_epilog_complete: enter JobId=4_7(5) SLUID=s00SM8GP5RGN00
[2026-11-28T09:01:26.000] sched: Allocate JobId=8+1(9) NodeList=c2 #CPUs=1 Partition=p
[2026-11-28T09:01:30.000] sched: Allocate JobId=3 NodeList=c1 #CPUs=3 Partition=p
"""


def test_submissions_and_lengths_of_runs_are_told_to_the_millisecond() -> None:
    told = told_of_jobs(LOG.splitlines(), {4: "A", 8: "H"}, ZERO)
    assert told.taken == {3: 1.18, 4: 2.0}
    lengths = {
        key: [run and (round(run.ran, 3), round(run.cleared, 3), run.said) for run in runs]
        for key, runs in told.runs.items()
    }
    # Nodes are clear when the last one says so, or is asked; a run that is killed, or goes on, has no length.
    assert lengths == {"3": [(10.3, 0.3, True), None], "A_7": [None, (5.0, 0.25, False)], "H+1": [None]}


LOG_26_05 = """\
[2026-11-28T09:01:01.002] TRACE_JOBS: select_nodes: [JobId=3] change state: PENDING -> RUNNING
[2026-11-28T09:01:01.002] TRACE_JOBS: select_nodes: [JobId=3] change state: PENDING -> RUNNING
[2026-11-28T09:01:01.003] sched: Allocate JobId=3 NodeList=c1 #CPUs=1 Partition=p
[2026-11-28T09:01:02.481] TRACE_JOBS: select_nodes: [JobId=4_7(5)] change state: PENDING -> RUNNING
[2026-11-28T09:01:02.482] TRACE_JOBS: select_nodes: [JobId=4_7(5)] change state: PENDING -> RUNNING
[2026-11-28T09:01:11.002] _job_complete: JobId=3 WEXITSTATUS 0
[2026-11-28T09:01:11.102] TRACE_JOBS: job_epilog_complete: enter JobId=3
[2026-11-28T09:01:12.481] _job_complete: JobId=4_7(5) WEXITSTATUS 0
[2026-11-28T09:01:12.581] TRACE_JOBS: job_epilog_complete: enter JobId=4_7(5)
"""


def test_jobs_that_backfill_starts_are_told_of_in_26_05_as_they_leave_pending() -> None:
    told = told_of_jobs(LOG_26_05.splitlines(), {4: "A"}, ZERO)
    lengths = {key: [run and round(run.ran, 3) for run in runs] for key, runs in told.runs.items()}
    assert lengths == {"3": [10.0], "A_7": [10.0]}


def test_nodes_of_runs_that_are_killed_are_clear_when_the_log_says_so() -> None:
    log = """\
[2026-11-28T09:01:01.500] sched: Allocate JobId=3 NodeList=c[1-2] #CPUs=3 Partition=p
[2026-11-28T09:01:11.000] TRACE_JOBS: deallocate_nodes: JobId=3
[2026-11-28T09:01:11.001] preempted JobId=3 has been requeued to reclaim resources for JobId=5
[2026-11-28T09:01:11.100] TRACE_JOBS: job_epilog_complete: enter JobId=3
[2026-11-28T09:01:11.900] TRACE_JOBS: job_epilog_complete: enter JobId=3
[2026-11-28T09:01:31.500] sched: Allocate JobId=3 NodeList=c[1-2] #CPUs=3 Partition=p
[2026-11-28T09:01:35.000] _job_complete: JobId=3 WEXITSTATUS 0
[2026-11-28T09:01:35.001] TRACE_JOBS: deallocate_nodes: JobId=3
[2026-11-28T09:01:35.500] TRACE_JOBS: job_epilog_complete: enter JobId=3
"""
    killed, ended = told_of_jobs(log.splitlines(), {}, ZERO).runs["3"]
    assert killed is not None
    assert (killed.ran, round(killed.cleared, 3)) == (None, 0.9)
    assert ended is not None
    assert (ended.ran, round(ended.cleared, 3)) == (3.5, 0.5)


def test_a_node_that_is_down_may_answer_once_the_others_are_clear() -> None:
    log = """\
[2026-11-28T09:01:10.000] sched: Allocate JobId=3 NodeList=n[1-2] #CPUs=2 Partition=p
[2026-11-28T09:01:12.000] TRACE_JOBS: deallocate_nodes: JobId=3
[2026-11-28T09:01:12.300] TRACE_JOBS: job_epilog_complete: enter JobId=3
[2026-11-28T09:01:12.301] TRACE_JOBS: cleanup_completing: JobId=3
[2026-11-28T09:01:12.600] ROUTE: _slurm_rpc_epilog_complete: node_name = n1, JobId=3
[2026-11-28T09:01:12.600] TRACE_JOBS: job_epilog_complete: enter JobId=3
"""
    (run,) = told_of_jobs(log.splitlines(), {}, ZERO).runs["3"]
    assert run is not None and (round(run.cleared, 3), run.said) == (0.3, False)
