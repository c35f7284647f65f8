"""What scontrol prints of jobs, and the timeline that comes of it."""

from emulator.record.sights import Timeline, instant, jobs_of, tasks_of

LINE = (
    "JobId=7 JobName=A UserId=root(0) Priority=4294901753 Nice=0 JobState=RUNNING Reason=None Dependency=(null) "
    "Restarts=0 RunTime=00:00:03 TimeLimit=00:01:00 StartTime=1970-01-01T00:01:41 EndTime=1970-01-01T00:02:41 "
    "Partition=p NodeList=n[1-2] NumNodes=2 JOB_GRES=gpu:a:2   Nodes=n1 CPU_IDs=0-3 Mem=100 GRES=gpu:a:2(IDX:0-1) "
    "Nodes=n2 CPU_IDs=0 Mem=0 GRES= MinCPUsNode=4"
)
ARRAY = "JobId=9 ArrayJobId=8 ArrayTaskId=2-4:2,6%1 JobName=R JobState=PENDING Reason=Resources NodeList=(null)"


def test_fields_and_allocations_of_a_job():
    row = jobs_of(LINE, {})["7"]
    assert row["Alloc"] == "n1:cpu0-3:mem100:gpu:a:2(IDX:) n2:cpu0"
    assert (row["JobState"], row["NodeList"], row["Partition"]) == ("RUNNING", "n[1-2]", "p")


def test_tasks_of_an_array_have_keys_of_their_own():
    assert list(jobs_of(ARRAY, {8: "R"})) == ["R_2", "R_4", "R_6"]
    assert list(tasks_of("3")) == [3]


def test_times_are_taken_from_slurm_where_a_look_came_late():
    timeline = Timeline(zero=100.0)
    waiting = LINE.replace("RUNNING", "PENDING")
    assert timeline.look(0.2, jobs_of(waiting, {}))
    assert not timeline.look(0.5, jobs_of(waiting, {}))
    timeline.look(9.0, jobs_of(LINE, {}))
    done = LINE.replace("RUNNING", "COMPLETED").replace("00:02:41", "00:01:45")
    timeline.look(9.3, jobs_of(done, {}))
    assert [(at, fields.get("JobState")) for at, fields in timeline.rows["7"]] == [
        *((0.2, "PENDING"), (2.0, "RUNNING"), (6.0, "COMPLETED"))
    ]


def test_an_end_that_is_to_come_is_not_taken():
    timeline = Timeline(zero=100.0)
    for at, state in ((2.0, "RUNNING"), (9.0, "COMPLETING")):
        timeline.look(at, jobs_of(LINE.replace("RUNNING", state), {}))
    assert [at for at, _ in timeline.rows["7"]] == [2.0, 9.0]


def test_the_end_of_a_suspended_job_is_not_when_it_was_suspended():
    timeline = Timeline(zero=100.0)
    for at, state in ((2.0, "RUNNING"), (3.0, "SUSPENDED"), (9.0, "COMPLETING")):
        timeline.look(at, jobs_of(LINE.replace("RUNNING", state).replace("00:02:41", "00:01:43"), {}))
    assert [at for at, _ in timeline.rows["7"]] == [2.0, 3.0, 9.0]


def test_a_second_run_notes_its_nodes_again():
    timeline = Timeline(zero=0.0)
    for at, state in ((1.0, "RUNNING"), (2.0, "PENDING"), (3.0, "RUNNING")):
        timeline.look(at, jobs_of(LINE.replace("RUNNING", state), {}))
    assert [("NodeList" in fields, "Alloc" in fields) for _, fields in timeline.rows["7"]] == [
        *((True, True), (False, False), (True, True))
    ]


def test_an_unknown_time_is_none():
    assert instant("Unknown", 0.0) is None


def test_the_rest_of_an_array_that_was_cancelled_is_each_task_that_waited() -> None:
    timeline = Timeline(zero=0.0)
    begun = ARRAY.replace("2-4:2,6%1", "2").replace("PENDING", "RUNNING").replace("(null)", "n1")
    timeline.look(1.0, jobs_of(ARRAY, {8: "R"}))
    timeline.look(2.0, jobs_of(begun + "\n" + ARRAY.replace("2-4:2,6%1", "4,6%1"), {8: "R"}))
    rest = ARRAY.replace("2-4:2,6%1", "4294967294").replace("PENDING", "CANCELLED")
    for at in (3.0, 4.0):
        timeline.look(at, jobs_of(begun + "\n" + rest, {8: "R"}))
    states = {key: [row.get("JobState") for _, row in rows] for key, rows in timeline.rows.items()}
    assert states == {
        "R_2": ["PENDING", "RUNNING"],
        "R_4": ["PENDING", "CANCELLED"],
        "R_6": ["PENDING", "CANCELLED"],
    }
