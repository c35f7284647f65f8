"""Writes the folder of a plugin in C: the plugin, a Makefile, and what tries it on the loopback interface."""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emulator.files import make_folder, write_atomically
from emulator.port.bodies import Function, function
from emulator.port.formula import UntranslatableError
from emulator.port.policy import WIDE, number_of, order_of, text_of
from emulator.port.source import Source, read_source
from emulator.port.submission import judged
from slurm_sim_plugins.errors import ConfigurationError, OutputError

HOOKS = {
    "priority": "priority_set",
    "site_factor": "site_factor",
    "preempt": "preempt_candidates",
    "job_submit": "job_submit",
}
"""Kinds of plugins that can be written, and the hook that each stands for."""
NODES = 4
BASE = 2147483648
"""Added to numbers of which some may be below 1."""
NAME = re.compile(r"[a-z][a-z0-9_]*")
PLAIN = re.compile(r"[\w./+~-]+", re.ASCII)
"""A path in which nothing is read otherwise by make and a shell."""
CONF = {
    "priority": ("PriorityType={plugin}",),
    "site_factor": (
        "PriorityType=priority/multifactor",
        "PriorityCalcPeriod=1",
        "PrioritySiteFactorPlugin={plugin}",
    ),
    "preempt": ("PriorityType=priority/basic", "PreemptType={plugin}", "PreemptMode=REQUEUE"),
    "job_submit": ("PriorityType=priority/basic", "JobSubmitPlugins={name}"),
}
"""What a slurm.conf says of each."""
FILL = f'sbatch -Q -N {NODES} --exclusive -t 1 --wrap "sleep 30" && sleep 3'
WAIT = 'for cpus in 1 3 2 4; do sbatch -Q -n "$cpus" -t "$cpus" --wrap "sleep 5"; done'
SHOW = 'sleep 4 && squeue -a -S i -o "%i %P %C %l %T %Q %r"'
DEMO = {
    "priority": (FILL, WAIT, SHOW),
    "site_factor": (FILL, WAIT, SHOW),
    "preempt": (
        'for tasks in 4 8 4; do sbatch -Q -p low -n "$tasks" -t 5 --requeue --wrap "sleep 60"; sleep 2; done',
        f'sbatch -Q -p high -N {NODES - 2} --exclusive -t 5 --wrap "sleep 10" && sleep 6',
        SHOW,
    ),
    "job_submit": (WAIT, SHOW),
}
"""Commands that show what each does."""


@dataclass(frozen=True)
class Ported:
    """What was written.

    Attributes:
        folder: where.
        files: all of it.
        exact: whether the policy is in it, and nothing is left to be filled in.
        notices: what is to be known, one sentence each.
    """

    folder: Path
    files: tuple[Path, ...]
    exact: bool
    notices: tuple[str, ...]


@dataclass
class Plan:
    """What goes into the files.

    Attributes:
        kind: such as ``priority``.
        name: of the plugin, without its kind.
        source: the version.
        values: for the templates.
        notices: what is to be known.
        lua: whether a script is written, and no C.
        exact: whether the policy is in it.
    """

    kind: str
    name: str
    source: Source
    lua: bool = False
    values: dict[str, Any] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    exact: bool = True


def write_port(
    kind: str, slurm_source: Path, into: Path, name: str = "mine", policy: object = None, lua: bool = False
) -> Ported:
    """Write a plugin for the version of a source tree.

    Args:
        kind: one of :data:`HOOKS`.
        slurm_source: the tree.
        into: the folder that is to hold the plugin's folder.
        name: of the plugin.
        policy: a plugin of this program with the hook, made with its options; None for the default.
        lua: of job_submit: write a ``job_submit.lua`` instead.

    Raises:
        ConfigurationError: an argument that cannot be.
        InputError: it is no source tree of Slurm, or its loader cannot be understood.
        OutputError: something of that name is there, or it cannot be written.
    """
    if kind not in HOOKS:
        raise ConfigurationError(f"{kind!r} cannot be ported; kinds are {', '.join(HOOKS)}")
    if not NAME.fullmatch(name):
        raise ConfigurationError(f"{name!r} cannot be the name of a plugin; use lower-case letters, digits and _")
    if lua and kind != "job_submit":
        raise ConfigurationError("Lua goes with job_submit only")
    plan = Plan(kind, name, read_source(slurm_source.resolve()), lua)
    if not lua and not plan.source.configured:
        plan.notices.append(f"{slurm_source} is not configured: run ./configure there before make")
    _translate(plan, policy)
    folder = into / f"{kind}_{'lua_' if lua else ''}{name}"
    if folder.exists():
        raise OutputError(f"{folder}: is there already, and nothing is overwritten; choose another name or folder")
    files = []
    for path, text, mode in _contents(plan, _functions(plan)):
        file = folder / path
        make_folder(file.parent)
        write_atomically(file, lambda stream, text=text: stream.write(text.encode()))  # type: ignore[misc]
        file.chmod(mode)
        files.append(file)
    return Ported(folder, tuple(files), plan.exact, tuple(plan.notices))


def _translate(plan: Plan, policy: object) -> None:
    """What of a policy is a formula."""
    plan.values |= {"term": None, "order": None, "period": None, "base": "0.0", "policy": [], "judged": []}
    if policy is None:
        plan.exact = False
        return
    hook = HOOKS[plan.kind]
    if plan.kind == "site_factor" and not hasattr(policy, hook):
        hook = HOOKS["priority"]
    if not hasattr(policy, hook):
        whose = type(policy).__name__
        raise ConfigurationError(f"{whose} has no hook {hook}, so it is no policy for a {plan.kind} plugin")
    plan.values["policy"] = commented(text_of(policy, hook))
    translate = {"preempt": _preemption, "job_submit": _submissions}.get(plan.kind, _numbers)
    try:
        translate(plan, policy, hook)
    except UntranslatableError as error:
        plan.exact = False
        plan.notices.append(f"the policy is no formula that can be put into C, and is to be filled in by hand: {error}")


def _numbers(plan: Plan, policy: object, hook: str) -> None:
    """A number for each job."""
    plan.values["term"] = term = number_of(policy, hook)
    if not term.whole:
        plan.notices.append("the numbers may have fractions, which Slurm cuts off: multiply them in the policy")
    if plan.kind == "priority" and not term.positive:
        plan.values["base"] = f"{BASE}.0"
        plan.notices.append(f"some numbers may be below 1, so BASE ({BASE}) is added to all")
    period = getattr(policy, "period", None)
    if plan.kind == "priority" and period is not None:
        plan.values["period"] = max(round(period), 1)


def _preemption(plan: Plan, policy: object, hook: str) -> None:
    """Which runs go, and in which order."""
    plan.values["order"] = order_of(policy)
    for other in ("preempt_mode", "preempt_grace"):
        if hasattr(policy, other):
            plan.notices.append(f"{other} of the policy is not ported: mode and grace time come from slurm.conf")


def _submissions(plan: Plan, policy: object, hook: str) -> None:
    """What becomes of a submission."""
    plan.values["judged"] = judged(policy, plan.lua)


def _functions(plan: Plan) -> list[Function]:
    found = [] if plan.lua else [function(symbol) for symbol in plan.source.symbols(plan.kind)]
    plan.notices += [f"not known, and does nothing: {one.head}" for one in found if not one.known]
    return found


def _contents(plan: Plan, functions: list[Function]) -> list[tuple[str, str, int]]:
    """Path, text and mode of each file."""
    import jinja2

    def read(template: str) -> str:
        return importlib.resources.files(__package__).joinpath(template).read_text(encoding="utf-8")

    environment = jinja2.Environment(  # noqa: S701 - C and shell, of names that were checked
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        loader=jinja2.FunctionLoader(read),
    )
    plugin, file = f"{plan.kind}/{plan.name}", f"{plan.kind}_{plan.name}"
    about = [
        "The policy is in it as it stands below." if plan.exact else "What is to be filled in is marked TODO.",
        *plan.notices,
    ]
    values: Mapping[str, Any] = {
        **plan.values,
        "plugin": plugin,
        "file": file,
        "source": plan.source,
        "folder": _folder(plan),
        "headers": plan.source.headers(plan.kind),
        "functions": functions,
        "about": [line for sentence in about for line in commented(sentence)],
        "wide": WIDE,
        "nodes": NODES,
        "script": "job_submit.lua" if plan.lua else "",
        "lines": [line.format(plugin=plugin, name="lua" if plan.lua else plan.name) for line in CONF[plan.kind]],
        "demo": DEMO[plan.kind],
    }
    made = {"Makefile": "Makefile.j2", "slurm.conf": "slurm.conf.j2"}
    made |= {"job_submit.lua": "job_submit.lua.j2"} if plan.lua else {f"{file}.c": f"{plan.kind}.c.j2"}
    files = [(path, environment.get_template(name).render(values), 0o644) for path, name in made.items()]
    return [*files, ("try.sh", environment.get_template("try.sh.j2").render(values), 0o755)]


def _folder(plan: Plan) -> str:
    """The tree as a Makefile can name it; empty, with a notice, where make or a shell would read more into its name."""
    if PLAIN.fullmatch(str(plan.source.folder)):
        return str(plan.source.folder)
    plan.notices.append("the path of the source tree has letters that make reads otherwise: give make SLURM_SOURCE=...")
    return ""


def commented(text: str) -> list[str]:
    """Lines of any text as they may stand in a comment of C: nothing in them ends it, or begins another."""
    plain = "".join(one if one == "\n" or " " <= one <= "~" else "?" for one in text.expandtabs(4))
    for mark in ("*/", "/*", "??"):
        while mark in plain:
            plain = plain.replace(mark, f"{mark[0]} {mark[1]}")
    return [line.rstrip().removesuffix("\\") for line in plain.rstrip().split("\n")] if plain.strip() else []
