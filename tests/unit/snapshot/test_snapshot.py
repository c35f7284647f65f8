"""A run that is interrupted goes on to the same bytes."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import signal
import time
import zlib
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from contrib.differential.clusters import files_of
from emulator import Config, Workload, simulate
from emulator.accounting.runfolder import SNAPSHOT, UNFINISHED
from emulator.cli import slurm_sim
from emulator.config.experiment import read_experiment
from emulator.config.preemption import Preemption
from emulator.files import PART
from emulator.resume import keeper, resume
from emulator.snapshot.graph import Graph
from emulator.snapshot.keeper import Keeper
from emulator.snapshot.kinds import Classes
from emulator.workload.models import cpu_use, lublin99
from emulator.workload.read import read_trace
from emulator.workload.swf import read_swf, write_swf
from slurm_sim_plugins import ConfigurationError, InputError, PluginError

JOBS, EVERY, MACHINE = 400, 60, 64
"""Snapshots after 60, 120 ... 360 submissions."""

FULL = {"PreemptType": "preempt/shadow_load", "WalltimeType": "walltime/last_model"}
POLICIES: dict[str, Config] = {
    "easy": Config(slots={"SchedulerType": "sched/easy"}),
    "easy event": Config(slots={"SchedulerType": "sched/easy"}, passes="event"),
    "conservative": Config(slots={"SchedulerType": "sched/conservative"}, compiled=False),
    "sjf": Config(slots={"SchedulerType": "sched/easy", "BackfillType": "backfill/sjf"}, dispatch="pluggy"),
    "wfp": Config(slots={"SchedulerType": "sched/easy", "PriorityType": "priority/wfp"}),
    "venture": Config(slots={"SchedulerType": "sched/venture", **FULL}, expired="again", kill_at_limit=False),
    "checkpoint": Config(
        slots={"SchedulerType": "sched/venture", **FULL},
        preemption=Preemption(mode="CHECKPOINT", interval=600, restart_cost=30),
        explain=True,
    ),
    "suspend": Config(slots={"SchedulerType": "sched/venture", **FULL}, preemption=Preemption(mode="SUSPEND")),
    "history": Config(
        slots={"SchedulerType": "sched/easy", "WalltimeType": "walltime/history"},
        plugin_options={"walltime/history": {"key": "user"}},
        compiled=False,
    ),
    "recent": Config(slots={"SchedulerType": "sched/easy", "WalltimeType": "walltime/recent_average"}),
    "virtual": Config(
        slots={"SchedulerType": "sched/easy", "WalltimeType": "walltime/virtual"},
        plugin_options={"walltime/virtual": {"error": 0.5}},
        seed=7,
    ),
    "two tiers": Config(slots={"SchedulerType": "sched/two_tier", "ExecutionType": "execution/two_tier"}),
}


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("traces") / "jobs.swf"
    write_swf(cpu_use.assign(lublin99.generate(JOBS, MACHINE, 3, load=0.9), 3), file)
    return file


def files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


class Interrupt:
    """Interrupts a run when so many snapshots were taken."""

    def __init__(self, after: int) -> None:
        self._left = after

    def __call__(self, _: int) -> None:
        self._left -= 1
        if self._left == 0:
            raise KeyboardInterrupt


def interrupted(trace: Path, config: Config, out: Path, after: int) -> None:
    workload = read_swf(trace)
    with pytest.raises(KeyboardInterrupt):
        simulate(workload, config=config, out=out, keeper=keeper(EVERY, trace, {}, config, []), report=Interrupt(after))


def make(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
def test_whenever_a_run_is_interrupted_it_goes_on_to_the_same_bytes(trace: Path, tmp_path: Path, name: str) -> None:
    config = POLICIES[name]
    simulate(read_swf(trace), config=config, out=tmp_path / "whole")
    expected = files(tmp_path / "whole")
    for after in (1, 4):
        out = tmp_path / f"after {after}"
        interrupted(trace, config, out, after)
        assert files(out)["events.jsonl"] != expected["events.jsonl"]
        resume(out)
        assert files(out) == expected


def test_real_time_jobs_on_blocks_go_on_too(trace: Path, tmp_path: Path) -> None:
    preset, reading = read_experiment(Path("papers/realtime")), {"realtime": 20.0}
    options = {name: dict(values) for name, values in preset.plugins.items()}
    config = Config(slots=dict(preset.slots), plugin_options=options, preemption=Preemption(**preset.preemption))
    workload = read_trace(trace, **reading)
    whole = simulate(workload, config=config, out=tmp_path / "whole")
    assert whole.metrics()["requeues"] > 10
    kept = keeper(EVERY, trace, reading, config, [])
    with pytest.raises(KeyboardInterrupt):
        simulate(workload, config=config, out=tmp_path / "out", keeper=kept, report=Interrupt(3))
    resume(tmp_path / "out")
    assert files(tmp_path / "out") == files(tmp_path / "whole")


OWN = """
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple

import numpy as np

from slurm_sim_plugins import hookimpl

Seen = namedtuple("Seen", "user when")


class Account:
    __slots__ = ("jobs", "owner", "never")

    def __init__(self, owner):
        self.owner = owner
        self.jobs = []


class Keeping:
    "Keeps one of everything."

    name = "priority/keeping"

    def __init__(self, rng):
        self._rng = rng
        self._table = np.zeros(8)
        self._last = deque(maxlen=3)
        self._by_user = defaultdict(list)
        self._count = Counter()
        self._order = OrderedDict()
        self._users = set()
        self._accounts = {}
        self._previous = None

    @hookimpl
    def priority_set(self, view):
        numbers = []
        for job in view.to_set:
            user = job.user
            self._users.add(user)
            self._count[user] += 1
            self._by_user[user].append(job)
            self._last.append(Seen(user, np.float64(view.now)))
            self._order[job.processors] = job
            self._order.move_to_end(job.processors, last=False)
            self._table[user % 8] += job.processors
            account = self._accounts.setdefault(user, Account(self._previous))
            account.jobs.append((job, account))
            self._previous = account
            mean = float(np.mean([seen.when for seen in self._last]))
            first = next(iter(self._order.values())).id
            depth = len(account.jobs) + (len(account.owner.jobs) if account.owner else 0)
            numbers.append(
                float(self._rng.random()) + self._table[user % 8] + self._count[user] + first + depth
                + mean % 7 + len(self._users) + self._by_user[user][-1].submit % 3
            )
        return numbers
"""


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    file = tmp_path / "keeping.py"
    file.write_text(OWN)
    return file


def command(*words: str) -> Any:
    return CliRunner().invoke(slurm_sim, list(words), catch_exceptions=False)


def begun(trace: Path, out: Path, *words: str) -> list[str]:
    return ["run", str(trace), "--out", str(out), "--snapshot-every", str(EVERY), *words]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_run_killed_at_a_random_moment_goes_on_with_all_that_its_plugin_knew(
    trace: Path, tmp_path: Path, plugin: Path
) -> None:
    words = ["--plugin", str(plugin), "--priority", "priority/keeping", "--seed", "3", "--explain"]
    assert command("run", str(trace), "--out", str(tmp_path / "whole"), *words).exit_code == 0
    out = make(tmp_path / "out")
    child = os.fork()
    if child == 0:
        try:
            command(*begun(trace, out, *words))
        finally:
            os._exit(0)
    until = time.monotonic() + 60
    aside = out / UNFINISHED
    while not (aside / SNAPSHOT).exists() and time.monotonic() < until:
        time.sleep(0.001)
    time.sleep(float(np.random.default_rng().uniform(0, 0.1)))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if not (aside / SNAPSHOT).exists():
        pytest.skip("the run was over before it could be killed")
    (aside / f".{SNAPSHOT}.abcd_123{PART}").write_bytes(b"half")
    plugin.rename(tmp_path / "renamed.py")
    try:
        done = command("resume", str(out), "--plugin", str(tmp_path / "renamed.py"))
        assert done.exit_code == 0 and "mean wait" in done.output
    except InputError as error:
        # It was killed while its files were moved to their folder: what was begun is ended.
        if "its run is over" not in str(error):
            raise
    assert files(out) == files(tmp_path / "whole")


def stopped(trace: Path, out: Path, config: Config = POLICIES["easy"]) -> Path:
    interrupted(trace, config, out, 3)
    return out


def rewrite(out: Path, change: Any) -> None:
    """Alter a snapshot as somebody would who knows how it is written."""
    lines = [json.loads(line) for line in gzip.decompress((out / SNAPSHOT).read_bytes()).splitlines()][:-1]
    change(lines)
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    data += json.dumps(hashlib.sha256(data).hexdigest()).encode() + b"\n"
    (out / SNAPSHOT).write_bytes(gzip.compress(data))


class Dying(Keeper):
    """Is interrupted when it has taken so many snapshots."""

    left = 2

    def _take(self, *about: Any) -> None:
        super()._take(*about)
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


SEED = 281
"""Of a cluster with tiers that preempt with checkpoints, accounts, reservations and commands."""


ON_CLUSTER = [
    *("run", "jobs.events", "--slurm-conf", "slurm.conf", "--accounts", "accounts", "--commands", "commands"),
    "--explain",
]


@pytest.fixture
def on_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is to be run on a cluster, as words of a command."""
    for name, text in files_of(SEED).items():
        # A job whose dependency can no longer hold would wait for ever, and one whose account its partition denies, or
        # that states no limit where minutes are limited.
        ends = "DependencyParameters=kill_invalid_depend\nEnforcePartLimits=ANY\n" if name == "slurm.conf" else ""
        (tmp_path / name).write_text(ends + text.replace(" State=UP", " DefaultTime=10 State=UP"))
    monkeypatch.chdir(tmp_path)
    return ON_CLUSTER


def interrupted_command(monkeypatch: pytest.MonkeyPatch, *words: str) -> Any:
    """A command that is interrupted by its second snapshot."""
    with monkeypatch.context() as patch:
        patch.setattr("emulator.resume.Keeper", Dying)
        done = CliRunner().invoke(slurm_sim, [*words, "--out", "out"])
    assert done.exit_code, done.output
    return done


@pytest.mark.slow
@pytest.mark.parametrize("clock", ["ideal", "slurm"])
def test_runs_on_a_cluster_go_on_too(on_cluster: list[str], clock: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # From 24.11 on one of the jobs is too large for its partition, and waits for ever.
    words = [*on_cluster, "--clock", clock, "--slurm-version", "22.05"]
    whole = command(*words, "--out", "whole")
    interrupted_command(monkeypatch, *words, "--snapshot-every", "6")
    done = command("resume", "out")
    assert done.exit_code == whole.exit_code == 0 and "preempt/partition_prio" in done.output
    assert files(Path("out")) == files(Path("whole"))


def test_processors_under_slurms_clock_go_on_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_swf(lublin99.generate(60, MACHINE, 3, load=0.9), tmp_path / "jobs.swf")
    words = ["run", "jobs.swf", "--processors", str(MACHINE), "--clock", "slurm", "--scheduler", "sched/easy"]
    command(*words, "--out", "whole")
    interrupted_command(monkeypatch, *words, "--snapshot-every", "12")
    resume(Path("out"))
    assert files(Path("out")) == files(Path("whole"))


@pytest.mark.slow
@pytest.mark.parametrize("compiled", ["--compiled", "--no-compiled"])
@pytest.mark.parametrize("clock", ["ideal", "slurm"])
def test_heterogeneous_jobs_go_on_together(
    clock: str, compiled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    nodes = (
        "SelectType=select/cons_tres\nNodeName=n[1-3] CPUs=4\nPartitionName=p Nodes=ALL Default=YES MaxTime=1:00:00\n"
    )
    Path("slurm.conf").write_text(nodes)
    lines = [
        f"-dt {20 * number} -e submit_batch_job | -sim-walltime {60 + 7 * number} -n4 -t9{further} job.sh\n"
        for number, further in enumerate(["", " : -n2", " : -n2 : -n2"] * 8)
    ]
    Path("jobs.events").write_text("".join(lines))
    words = ["run", "jobs.events", "--slurm-conf", "slurm.conf", "--clock", clock, compiled]
    command(*words, "--out", "whole")
    interrupted_command(monkeypatch, *words, "--snapshot-every", "5")
    command("resume", "out")
    assert files(Path("out")) == files(Path("whole"))


@pytest.mark.parametrize("name", ["slurm.conf", "accounts"])
def test_a_cluster_that_is_not_what_it_was_is_told(
    on_cluster: list[str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted_command(monkeypatch, *on_cluster, "--snapshot-every", "6")
    changed = {"slurm.conf": "MaxJobCount=77\n", "accounts": "sacctmgr -i add account later\n"}[name]
    with Path(name).open("a") as file:
        file.write(changed)
    with pytest.raises(InputError, match=r"out: the slurm\.conf or the accounts are not what they were"):
        resume(Path("out"))


def test_what_is_not_what_it_was_is_told(trace: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.swf"
    write_swf(lublin99.generate(50, MACHINE, 4), other)
    out = stopped(trace, tmp_path / "out")
    with pytest.raises(InputError, match=r"other\.swf is not the trace"):
        resume(out, trace=other)
    rewrite(out, lambda lines: lines[0].update(code="0" * 64))
    with pytest.raises(InputError, match="another version"):
        resume(out)
    out = stopped(trace, tmp_path / "log")
    log = out / "events.jsonl"
    log.write_bytes(log.read_bytes().replace(b"submit", b"Submit", 1))
    with pytest.raises(InputError, match=r"events\.jsonl: is not what it was"):
        resume(out)
    log.write_bytes(log.read_bytes()[:100])
    with pytest.raises(InputError, match=r"events\.jsonl: is not what it was"):
        resume(out)


def test_the_trace_may_lie_elsewhere_by_now(trace: Path, tmp_path: Path) -> None:
    simulate(read_swf(trace), config=POLICIES["easy"], out=tmp_path / "whole")
    moved, elsewhere = tmp_path / "jobs.swf", make(tmp_path / "elsewhere") / "jobs.swf"
    moved.write_bytes(trace.read_bytes())
    out = stopped(moved, tmp_path / "out")
    moved.rename(elsewhere)
    with pytest.raises(InputError, match=r"jobs\.swf"):
        resume(out)
    resume(out, trace=elsewhere)
    assert files(out) == files(tmp_path / "whole")


def test_plugins_are_named_again_and_are_those_that_they_were(trace: Path, tmp_path: Path, plugin: Path) -> None:
    from emulator.campaign.spec import forget

    config = Config(slots={"PriorityType": "priority/keeping"})
    from emulator.campaign.plugins import found

    out, paths = make(tmp_path / "out"), [plugin.resolve()]
    kept = keeper(EVERY, trace, {}, config, paths)
    with pytest.raises(KeyboardInterrupt):
        simulate(
            read_swf(trace), config=config, catalogue=found(tuple(paths))[0], out=out, keeper=kept, report=Interrupt(2)
        )
    with pytest.raises(ConfigurationError, match="priority/keeping is not the plugin"):
        resume(out)
    plugin.write_text(OWN + "\n# changed\n")
    forget()
    with pytest.raises(ConfigurationError, match="priority/keeping is not the plugin"):
        resume(out, files=paths)


def unpacked(file: Path) -> bytes | None:
    try:
        return gzip.decompress(file.read_bytes())
    except (OSError, EOFError, zlib.error):
        return None


def test_a_damaged_snapshot_is_told(trace: Path, tmp_path: Path) -> None:
    out = stopped(trace, tmp_path / "out")
    good = (out / SNAPSHOT).read_bytes()
    draw = np.random.default_rng(3)
    for _ in range(12):
        bad = bytearray(good)
        bad[int(draw.integers(20, len(bad)))] ^= 1 << int(draw.integers(8))
        (out / SNAPSHOT).write_bytes(bad[: int(draw.integers(1, len(bad)))] if draw.random() < 0.3 else bad)
        if unpacked(out / SNAPSHOT) == gzip.decompress(good):
            continue  # One flip in some hundreds changes nothing of what is packed.
        with pytest.raises(InputError, match="run it again"):
            resume(out)
    (out / SNAPSHOT).write_bytes(good)
    resume(out)
    with pytest.raises(InputError, match="holds no snapshot"):
        resume(out)


SHARED: list[Any] = ["n", 0, "array", ["<i8", [2], "AAAAAAAAAAAAAAAAAAAAAA=="], ""]
FORGED_MEMORY: list[list[Any]] = [
    [SHARED, ["n", 1, "array", ["<i8", [4], 8, [8], ["n", 0]], ""]],
    [SHARED, ["n", 1, "array", ["<i8", [1], -8, [8], ["n", 0]], ""]],
    [SHARED, ["n", 1, "array", ["<i8", [2], 8, [-16], ["n", 0]], ""]],
    [SHARED, ["n", 1, "array", ["<f8", [1], 0, [8], ["n", 0]], ""]],
    [SHARED, ["n", 1, "array", ["<i8", [1], 0, [8], ["n", 1]], ""]],
    [["n", 0, "list", [[]], "list"], ["n", 1, "array", ["<i8", [1], 0, [8], ["n", 0]], ""]],
    [["n", 0, "column", ["O", "AAAA"], ""]],
    [["n", 0, "column", ["d", "AAAA"], ""]],
    [["a", 0, "column", ["d", ""], ""]],
]
"""Parts of arrays that are none, and columns."""


@pytest.fixture(scope="module")
def begun_on_cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run on a cluster that was interrupted."""
    place = tmp_path_factory.mktemp("cluster")
    for name, text in files_of(SEED).items():
        (place / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        interrupted_command(patch, *ON_CLUSTER, "--snapshot-every", "6")
    return place / "out"


@pytest.mark.parametrize("forged", FORGED_MEMORY, ids=str)
def test_no_memory_is_read_but_that_of_the_snapshot(begun_on_cluster: Path, tmp_path: Path, forged: list[Any]) -> None:
    out = Path(shutil.copytree(begun_on_cluster, tmp_path / "out"))
    rewrite(out, lambda lines: lines.__setitem__(slice(1, None), forged))
    with pytest.raises(InputError, match="is no state of this simulation"):
        resume(out)


@pytest.mark.parametrize("told", [{}, {"slurm_conf": 7}, {"actions": [["x", "", ""]]}, {"actions": [[1]]}], ids=str)
def test_a_snapshot_that_does_not_say_what_a_cluster_is_made_of(
    begun_on_cluster: Path, tmp_path: Path, told: dict[str, Any]
) -> None:
    out = Path(shutil.copytree(begun_on_cluster, tmp_path / "out"))
    rewrite(out, lambda lines: lines[0].update(site={**lines[0]["site"], **told} if told else 3))
    with pytest.raises(InputError, match="does not say how the run was begun"):
        resume(out)


FORGED = [
    ["n", 0, "instance", [[], []], "os:system"],
    ["n", 0, "instance", [[], []], "builtins:object"],
    ["n", 0, "instance", [[], []], "subprocess:Popen"],
    ["n", 0, "instance", [[], []], "emulator.api:gc"],
    ["n", 0, "instance", [[], []], "emulator.api:simulate"],
    ["n", 0, "fixed", [], "emulator.config.options:Config"],
    ["n", 0, "dict", [[], ["c", "os:system"]], "defaultdict"],
    ["n", 0, "list", [[["c", "shutil:rmtree"]]], "list"],
    ["n", 0, "list", [[["a", 10**9]]], "list"],
    ["n", 0, "array", ["|O", [1], "AAAAAAAAAAA="], ""],
    ["n", 0, "generator", {"bit_generator": "x"}, ""],
    ["a", 0, "list", [[]], ""],
    ["a", -1, "list", [[]], ""],
    ["x", 0, "list", [[]], "list"],
    ["n", 0, "list", [[["z", 1]]], "list"],
    3,
]


@pytest.mark.parametrize("line", FORGED, ids=str)
def test_nothing_in_a_snapshot_is_run_or_imported(trace: Path, tmp_path: Path, line: Any) -> None:
    out = stopped(trace, tmp_path / "out")
    rewrite(
        out, lambda lines: lines.__setitem__(slice(1, None), [*(each for each in lines[1:] if each[0] != "n"), line])
    )
    with pytest.raises(InputError, match="is no state of this simulation"):
        resume(out)


def test_a_setter_of_a_class_is_not_called(trace: Path, tmp_path: Path) -> None:
    class Trap:
        def __init__(self) -> None:
            self.plain = 1

        def __setattr__(self, name: str, value: object) -> None:
            if name != "plain" or value == 2:
                raise AssertionError("this was run")
            object.__setattr__(self, name, value)

    classes = Classes({"x/trap": Trap}, ())
    trap = Trap()
    graph = Graph({"it": trap}, classes)
    (line,) = graph.lines()
    line[3][1] = [["plain", 2], ["other", 3]]
    graph.fill([line])
    assert vars(trap) == {"plain": 2, "other": 3}


@dataclass(frozen=True)
class Note:
    text: str


def test_what_a_plugin_calls_frozen_is_kept_as_it_is() -> None:
    classes = Classes({"x/note": Note}, ())
    one, other = Note("then"), Note("then")
    graph, again = Graph({"it": one}, classes), Graph({"it": other}, classes)
    object.__setattr__(one, "text", "now")
    again.fill(json.loads(json.dumps(list(graph.lines()))))
    assert other.text == "now"


class Node:
    def __init__(self) -> None:
        self.next: Any = None
        self.bag: Any = []


def test_sharing_and_cycles_are_kept() -> None:
    classes = Classes({"x/node": Node}, ())

    def new() -> Node:
        node = Node()
        node.next = Node()
        node.next.next = node
        return node

    one, other = new(), new()
    graph, again = Graph({"it": one}, classes), Graph({"it": other}, classes)
    later, shared = Node(), [1.5, -0.0, float("nan"), float("inf"), 10**30, "\ud800", b"x", None, True]
    later.next, later.bag = later, shared
    one.bag = [later, shared, (shared, (1, later)), {(1, "k"): shared}, {3, 1}, frozenset({2}), deque([1, 2], maxlen=2)]
    one.bag += [defaultdict(list, a=[1]), Counter("aab"), OrderedDict(b=1, a=2), np.arange(6).reshape(2, 3), np.int8(3)]
    one.next.bag, one.next.next = one.bag, later
    again.fill(json.loads(json.dumps(list(graph.lines()))))
    made, values = other.bag[0], other.bag[1]
    assert made.next is made and made.bag is values and other.next.bag is other.bag and other.next.next is made
    assert other.bag[2][0] is values and other.bag[2][1] == (1, made) and other.bag[3][1, "k"] is values
    assert repr(values) == repr(shared) and [type(each) for each in values] == [type(each) for each in shared]
    assert other.bag[4:6] == [{1, 3}, {2}] and other.bag[6] == deque([1, 2]) and other.bag[6].maxlen == 2
    assert other.bag[7]["new"] == [] and other.bag[8] == {"a": 2, "b": 1} and list(other.bag[9]) == ["b", "a"]
    assert (other.bag[10] == np.arange(6).reshape(2, 3)).all() and repr(other.bag[11]) == repr(np.int8(3))
    assert [type(each) for each in other.bag] == [type(each) for each in one.bag]


def test_what_no_snapshot_can_hold_is_named(trace: Path, tmp_path: Path, plugin: Path) -> None:
    plugin.write_text(OWN.replace("numbers = []", "numbers = []; self._account = {'open': [iter([1, 2])]}"))
    with pytest.raises(ConfigurationError, match=r"the plugin priority/keeping\._account holds .*list_iterator"):
        command(*begun(trace, tmp_path / "out", "--plugin", str(plugin), "--priority", "priority/keeping"))


def test_a_plugin_that_fails_leaves_a_snapshot_of_before(trace: Path, tmp_path: Path, plugin: Path) -> None:
    failing = OWN.replace("numbers = []", "numbers = [1 / (view.to_set[0].id < 200)]; del numbers[0]")
    plugin.write_text(failing)
    words = ["--plugin", str(plugin), "--priority", "priority/keeping"]
    with pytest.raises(PluginError, match="job 200"):
        command(*begun(trace, tmp_path / "out", *words))
    assert (tmp_path / "out" / SNAPSHOT).exists()
    with pytest.raises(PluginError, match="job 200"):
        command("resume", str(tmp_path / "out"), "--plugin", str(plugin))


@pytest.mark.parametrize("words", [[], ["--events", "log.jsonl", "--out", "out"]])
def test_snapshots_want_a_folder(trace: Path, words: list[str]) -> None:
    done = command("run", str(trace), "--snapshot-every", "10", *words)
    assert done.exit_code == 2 and "--snapshot-every goes with --out" in done.output


def test_more_jobs_between_snapshots_than_there_are_make_none(trace: Path, tmp_path: Path) -> None:
    workload: Workload = read_swf(trace)
    out = make(tmp_path / "out")
    simulate(workload, config=POLICIES["easy"], out=out, keeper=keeper(JOBS, trace, {}, POLICIES["easy"], []))
    simulate(workload, config=POLICIES["easy"], out=tmp_path / "whole")
    assert files(out) == files(tmp_path / "whole")


@pytest.mark.slow
def test_the_commands_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[3] / "docs" / "snapshots.md").read_text(encoding="utf-8")
    lines = page.partition("<!-- command: snapshots -->\n```sh\n")[2].partition("```")[0].splitlines()
    generate, run, go_on = [line.partition("#")[0].split()[1:] for line in lines]
    monkeypatch.chdir(tmp_path)
    assert command(*generate).exit_code == command(*run).exit_code == 0
    expected = files(Path("long"))
    config, trace = Config(), Path("jobs.swf")
    kept = keeper(500, trace, {}, config, [])
    with pytest.raises(KeyboardInterrupt):
        simulate(read_swf(trace), config=config, out="long", keeper=kept, report=Interrupt(2))
    assert command(*go_on).exit_code == 0
    assert files(Path("long")) == expected
