"""The table hook by machine by clock holds: plugins with every hook run in each combination."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest

from emulator import Result, Workload, simulate
from emulator.config.slurm import parse_slurm_conf
from emulator.hooktable import COMBINATIONS, HOOKS, check_hooks
from emulator.operator.commands import TimedCommand
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import parse_sbatch
from slurm_sim_plugins import ConfigurationError, MakeRoom, Start, hookimpl
from slurm_sim_plugins.hookspecs import SPECS
from slurm_sim_plugins.manager import Catalogue, select
from slurm_sim_plugins.select.blocks import InBlocks
from slurm_sim_plugins.select.cons_tres import best_fit

SHORT = {"sched": "scheduler"}
CALLED: set[str] = set()
"""Hooks that were called in a run."""
CONF = """ClusterName=t
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/recording
PreemptType=preempt/none
PreemptMode=SUSPEND,GANG
NodeName=n[1-4] CPUs=4
PartitionName=low Nodes=ALL PriorityTier=1 PreemptMode={mode} MaxTime=INFINITE
PartitionName=high Nodes=ALL PriorityTier=2 MaxTime=INFINITE
"""


def every_hook() -> list[str]:
    return [name for spec in SPECS.values() for name in vars(spec) if not name.startswith("_")]


def whose(hook: str) -> str:
    """The type of plugins that have a hook."""
    return next(kind for kind, spec in SPECS.items() if hook in vars(spec))


def recording(kind: str, hooks: dict[str, Callable[..., Any]], without: tuple[str, ...] = (), **more: Any) -> type:
    """A plugin of a type, with all hooks of that type but some: each notes that it is called."""
    own = {name for name in vars(SPECS[kind]) if not name.startswith("_")} - set(without)
    assert own == set(hooks), f"{kind}: hooks are {own}; give the recording plugin each of them"

    def noting(name: str, answer: Callable[..., Any]) -> Any:
        def hook(self: Any, *values: Any) -> Any:
            CALLED.add(name)
            return answer(*values)

        hook.__wrapped__ = vars(SPECS[kind])[name]  # type: ignore[attr-defined]
        return hookimpl(hook)

    return type(kind, (), {"name": f"{kind}/recording", **{name: noting(name, hooks[name]) for name in hooks}, **more})


def schedule(view: Any) -> Generator[Any, Any, None]:
    """Start what fits; ask for the order of the others, and for room for the first."""
    waiting = list(view.queue)
    for entry in waiting:
        if view.counted:
            fits = entry.processors <= view.free
            where = None if view.block_state is None or not fits else view.block_state.find(entry)
            fits = fits and (view.block_state is None or where is not None)
        else:
            where = view.plan().now(entry).place
            fits = where is not None
        if fits:
            yield Start(entry, where=where)
            continue
        list(view.candidates())
        if (yield MakeRoom(entry)):
            yield Start(entry)
        return


def backfill(view: Any) -> Generator[Any, Any, None]:
    """Start nothing; on nodes ask for a better place for each job."""
    if not view.counted:
        plan = view.window_plan()
        for entry in list(view.queue):
            hole = plan.place([entry], keep=False)[1]
            if hole is not None:
                plan.delayed(hole)
    yield from ()


PLUGINS = {
    "priority": recording("priority", {"priority_set": lambda view: [float(job.id) for job in view.to_set]}),
    "sched": recording("sched", {"schedule": schedule, "backfill": backfill}, knows_blocks=True, bf_topopt_enable=True),
    "site_factor": recording("site_factor", {"site_factor": lambda view: [1 for _ in view.to_set]}),
    "job_submit": recording("job_submit", {"job_submit": lambda view: None, "job_modify": lambda view: None}),
    "backfill": recording("backfill", {"backfill_candidates": lambda view: list(view.to_try)}, without=("bf_topopt",)),
    "preempt": recording(
        "preempt", {"preempt_candidates": lambda view: view.outranked()}, without=("preempt_mode", "preempt_grace")
    ),
    "walltime": recording(
        "walltime",
        {
            "walltime_submit": lambda view: view.job.time_limit,
            "walltime_pending": lambda view: None,
            "walltime_learn": lambda job, ran, now: None,
        },
    ),
}
MIDPLANES = InBlocks(midplane=4)
BLOCKS = recording(
    "select", {"select_nodes": MIDPLANES.select_nodes}, blocks=lambda self, processors: MIDPLANES.blocks(processors)
)
NODES = recording(
    "select",
    {"select_nodes": lambda view: best_fit(view.want, view.machine, view.free, view.usable)},
    machines=("nodes",),
)
TIERS = recording("execution", {"progress_rate": lambda view: [1.0 for _ in view.changed]})


ON_NODES = {
    "backfill": recording(
        "backfill", {"backfill_candidates": lambda view: list(view.to_try), "bf_topopt": lambda view: next(view.holes)}
    ),
    "preempt": recording(
        "preempt",
        {
            "preempt_candidates": lambda view: view.outranked(),
            "preempt_mode": lambda view: None,
            "preempt_grace": lambda view: None,
        },
    ),
    "select": NODES,
}


def observer() -> type:
    """An observer with every hook that one may have."""
    names = [name for name in vars(SPECS["observer"]) if not name.startswith("_")]
    own = {name: (lambda *_: None) for name in names}
    return recording("observer", own)


def run(machine: str, clock: str, mode: str = "REQUEUE", **more: Any) -> Result:
    """A job that the third one preempts, and the second one, that could go ahead of that."""
    CALLED.clear()
    chosen = {**PLUGINS, **(ON_NODES if machine == "nodes" else {})}
    plugins = [*chosen.values(), observer()]
    slots = {SHORT.get(kind, kind): f"{kind}/recording" for kind in chosen}
    jobs = [(1, 0, 8, 100), (2, 10, 4, 20), (3, 10, 16, 20)]
    if machine == "nodes":
        where = {1: "low", 2: "low", 3: "high"}
        requests = [
            JobRequest(number, float(submit), float(length), parse_sbatch([f"-n{size}", "-t10", f"-p{where[number]}"]))
            for number, submit, size, length in jobs
        ]
        more = {"actions": [(5.0, TimedCommand(5.0, "scontrol update JobId=1 Nice=1", "commands"))], **more}
        return simulate(
            requests, parse_slurm_conf(CONF.format(mode=mode)), clock=clock, plugins=plugins, **slots, **more
        )
    columns = dict(zip(("id", "submit", "processors", "run"), map(list, zip(*jobs, strict=True)), strict=True))
    workload = Workload.from_columns({**columns, "time_limit": [600] * len(jobs)}, machine=16)
    if machine == "blocks":
        plugins.append(BLOCKS)
        slots["select"] = "select/recording"
    if machine == "tiers":
        plugins.append(TIERS)
        slots["execution"] = "execution/recording"
    return simulate(workload, clock=clock, plugins=plugins, **slots, **more)


def test_every_hook_has_a_row_and_each_row_every_combination() -> None:
    assert set(HOOKS) == set(every_hook())
    for row in HOOKS.values():
        assert set(row) == set(COMBINATIONS)


@pytest.mark.parametrize(("machine", "clock"), COMBINATIONS)
def test_what_is_called_is_what_the_table_says(machine: str, clock: str, caplog: pytest.LogCaptureFixture) -> None:
    called: set[str] = set()
    for mode in ("REQUEUE", "SUSPEND"):
        run(machine, clock, mode)
        called |= CALLED
    stated = {hook for hook, row in HOOKS.items() if row[machine, clock] == "called"}
    assert called == stated
    warned = {hook for hook, row in HOOKS.items() if row[machine, clock] == "warned"}
    words = {
        f"{whose(hook)}/recording implements {hook}, which is not called on a machine of {machine}" for hook in warned
    }
    said = {message.partition(" under the ideal clock")[0] for message in caplog.messages if "implements" in message}
    assert said == words


def test_what_no_slot_takes_on_nodes_is_refused_by_name() -> None:
    conf = parse_slurm_conf(CONF.format(mode="REQUEUE"))
    with pytest.raises(
        ConfigurationError, match="ExecutionType=execution/recording: in Slurm's timing plugins can take"
    ):
        simulate(
            [], conf, scheduler="sched/recording", plugins=[*PLUGINS.values(), TIERS], execution="execution/recording"
        )


@pytest.mark.parametrize(("machine", "clock"), COMBINATIONS)
def test_every_cell_that_is_refused_is(machine: str, clock: str) -> None:
    for hook, row in HOOKS.items():
        selection = select(Catalogue(), {}, {}, 0)
        having = type("Having", (), {hook: hookimpl(vars(SPECS[whose(hook)])[hook])})()
        selection.manager.register(having, name="mine/having")
        said = ""
        try:
            check_hooks(selection, ["mine/having"], machine, clock)
        except ConfigurationError as error:
            said = str(error)
        assert (f"mine/having implements {hook}, which is not called" in said) == (row[machine, clock] == "refused")


def test_a_refused_hook_names_plugin_hook_machine_and_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = {**HOOKS["pass_done"], ("processors", "ideal"): "refused"}
    monkeypatch.setitem(HOOKS, "pass_done", refused)  # type: ignore[arg-type]
    words = (
        "observer/recording implements pass_done, which is not called on a machine of processors under the ideal "
        "clock; leave the plugin out, or run it on a machine of blocks or tiers or nodes"
    )
    with pytest.raises(ConfigurationError, match=words):
        run("processors", "ideal")
