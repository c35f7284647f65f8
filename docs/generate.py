"""Write the parts of the documentation that the code already says.

``python docs/generate.py`` writes ``api.md``, ``hooks.md``, ``records.md``, ``metrics.md``, ``slurm-conf.md``,
``accounts.md`` and ``views.md`` beside this file; with ``--check`` it only says whether they are up to date.
"""

from __future__ import annotations

import inspect
import os
import sys
from pathlib import Path

os.environ["SLURM_SIM_KERNELS"] = "plain"  # what the sources say: compiled classes do not tell all of it

from emulator.accounting.cluster_records import SLURM_JOB_COLUMNS, SLURM_RUN_COLUMNS
from emulator.accounting.journal import FACTOR_COLUMNS, SHARE_COLUMNS, WAIT_COLUMNS
from emulator.accounting.node_notes import NODE_COLUMNS
from emulator.accounting.records import JOB_COLUMNS, RUN_COLUMNS
from emulator.config.sacctmgr.words import ASSOCIATION, FLAGS, QOS
from emulator.config.slurm.parameters import PARAMETERS
from emulator.config.slurm.records import GRES, LINES, TOPOLOGY
from emulator.config.slurm.releases import NEWEST, OLDEST, VERSIONS
from emulator.config.slurm.versions import KEY_CHANGES, NOTES, all_rules
from emulator.config.slurm.vocabulary import Status, Vocabulary, Word
from emulator.hooktable import COMBINATIONS, HOOKS
from emulator.metrics.catalogue import FURTHER, METRICS
from emulator.views import sacct, sinfo, sprio, squeue, sshare
from emulator.views.columns import Field
from slurm_sim_plugins.hookspecs import DEFAULTS, SLOTS, SPECS

sys.path.insert(0, str(Path(__file__).parent))
from generate_api import api

HERE = Path(__file__).parent


def hooks() -> str:
    """The hook reference: the specifications, in their order."""
    parts = ["# Hooks\n", inspect.getdoc(sys.modules["slurm_sim_plugins.hookspecs"]) or ""]
    parts.append("\n\n| slot | plugins | default |\n|---|---|---|")
    for slot, kind in SLOTS.items():
        default = f"`{DEFAULTS[slot]}`" if DEFAULTS[slot] else "none"
        parts.append(f"\n| `{slot}` | `{kind}/...` | {default} |")
    parts.append(f"\n\n{WHERE_CALLED}\n\n{_hook_table()}\n\n{WHERE_NOT}")
    for kind, spec in SPECS.items():
        parts.append(f"\n\n## {kind}\n\n{inspect.getdoc(spec)}")
        for name, hook in vars(spec).items():
            if name.startswith("_"):
                continue
            signature = inspect.signature(hook)
            own = signature.replace(parameters=list(signature.parameters.values())[1:])
            parts.append(f"\n\n### {name}\n\n```python\ndef {name}{_unquoted(own)}\n```\n\n{_paragraphs(hook)}")
    return "".join(parts) + "\n"


WHERE_CALLED = """## Which hook is called where

By machine and clock: *called* where there is occasion to; *no occasion*: there never is, as operators' commands are
for clusters; *warned*: the run goes on, and a warning names plugin and
hook; *refused*: so is the run, and the message names both. Any plugin may have the hooks of an observer."""
WHERE_NOT = """Under Slurm's clock processors (`--processors N --clock slurm`) are nodes, too: a cluster of one
partition with one node of N CPUs, where limits are whole minutes; blocks and tiers are refused there. A SelectType with
`select_nodes` and a method `blocks` makes blocks of processors, an ExecutionType with `progress_rate` makes tiers."""


def _hook_table() -> str:
    """Hook by machine by clock."""
    heads = [f"{machine}, {clock} clock" for machine, clock in COMBINATIONS]
    lines = [f"| hook | {' | '.join(heads)} |", f"|---|{'---|' * len(heads)}"]
    lines += [
        f"| [{hook}](#{hook}) | {' | '.join(row[each] for each in COMBINATIONS)} |" for hook, row in HOOKS.items()
    ]
    return "\n".join(lines)


def records() -> str:
    """The columns of the records."""
    return (
        "# Job records and the run folder\n\n"
        "`slurm-sim run --out DIR` leaves a folder: `records.parquet` (one row a job), `runs.parquet` (one row a run\n"
        "of a job), `events.jsonl` (what happened, in order) and `run.toml` (options, versions, hashes of trace and\n"
        "plugin sources, what was dropped). The same input gives the same bytes. Times are seconds on the trace's\n"
        "clock; in one file all of them are whole numbers if every one is, else all are fractional.\n\n"
        "## records.parquet\n\n"
        + _rows(JOB_COLUMNS)
        + "\n\n## runs.parquet\n\n"
        + _rows(RUN_COLUMNS)
        + "\n\n"
        + IN_SLURMS_TIMING
        + "".join(f"\n\n### {file}\n\n{_rows(columns)}" for file, columns in NOTED.items())
        + "\n"
    )


IN_SLURMS_TIMING = """## In Slurm's timing

Records have further columns, and the folder further files, from which [squeue and others](views.md) show the
cluster at any time: those below, and `cluster.json` (nodes, partitions, some parameters)."""
NOTED = {
    "records.parquet, besides": SLURM_JOB_COLUMNS,
    "runs.parquet, besides": SLURM_RUN_COLUMNS,
    "waits.parquet": WAIT_COLUMNS,
    "factors.parquet": FACTOR_COLUMNS,
    "shares.parquet": SHARE_COLUMNS,
    "nodes.parquet": NODE_COLUMNS,
}

VIEWS = """# The cluster at a time, as Slurm's commands show it

```
slurm-sim squeue DIR --at 2021-03-04T12:00:00 --zone Europe/Paris
slurm-sim squeue DIR --at 86400 -t PD -o "%.12i %.9P %.8u %.10Q %r" -S -p
slurm-sim sinfo DIR --at 86400
slurm-sim sprio DIR --at 86400 -l
slurm-sim sshare DIR --at 86400 -a -l
slurm-sim sacct DIR -P --format JobID,State,Start,End
```

`DIR` is the folder that `slurm-sim run --slurm-conf FILE --out DIR` or `slurm-sim replay --out DIR` left. Formats,
headings, widths, justification, truncation and notation of times are Slurm's; options have Slurm's letters.

| option | default | why |
|---|---|---|
| `--at` | the end of the run | seconds on the run's clock, or a date where the log had one |
| `--zone` | `UTC` | of dates |
| `--time-format` | `standard` | as `SLURM_TIME_FORMAT`: `standard`, or as for strftime (`%s`: Unix seconds) |
| `--json` | no | all that is known, with the names of Slurm's JSON where it has some |

What the emulator does not model is shown as Slurm shows a value that is not set. COMPLETING is not shown: a run is over
when its work is. Idle nodes are `planned` if backfill keeps them for jobs that wait, `reserved` or in `maint` while a
reservation holds; `mix-` and `alloc$` are as in Slurm. What operators make of nodes is shown, too, and with
[power saving](operation.md#power-saving) `%`, `~` and `#` behind the state of nodes that are not on.
Planned starts are known to the minute. `sshare` shows shares as of the last `PriorityCalcPeriod`; the run's
folder has them from its beginning to the end of the last period. Jobs of equal rank come in the order of their ids.
`squeue -t all` shows for `MinJobAge` what has ended. `sacct` has no steps; `--format ALL` takes all columns,
`--format WORKLOAD` those from which a dump can be [read again](site-logs.md).
"""


def views() -> str:
    """The columns of the views."""
    parts = [VIEWS]
    for module in (squeue, sinfo, sprio):
        fields = module.FIELDS
        parts.append(f"\n## {fields.command}\n\n| letter | name | heading |\n|---|---|---|\n")
        parts += [_field(each) for each in fields.all]
    for listed in (sacct, sshare):
        names = ", ".join(f"`{each.names[0]}` {abs(each.width)}" for each in listed.FIELDS.all)
        parts.append(f"\n## {listed.FIELDS.command}\n\nColumns and their widths: {names}.\n")
    return "".join(parts)


def _field(field: Field[object]) -> str:
    letter = f"`%{field.letter}`" if field.letter else ""
    return f"| {letter} | {', '.join(f'`{name}`' for name in field.names)} | {field.heading} |\n"


def metrics() -> str:
    """What the metrics mean."""
    about = (
        "Pure functions of the records. `--threshold` is as said in `--help`; `--warm-up` leaves the first jobs out\n"
        "of waits, responses and slowdowns, while counts, and what concerns the machine, are of all jobs."
    )
    lines = [f"# Metrics\n\n{about}\n"]
    lines.append("\n| key | title | unit | meaning | source |\n|---|---|---|---|---|")
    for metric in METRICS.values():
        cells = (f"`{metric.key}`", metric.title, metric.unit, metric.definition, metric.source)
        lines.append("\n| " + " | ".join(cells) + " |")
    lines.append("\n\nIn `emulator.metrics`, but in no summary:\n\n| function | what it gives |\n|---|---|")
    lines += [f"\n| `{function}` | {meaning} |" for function, meaning in FURTHER.items()]
    return "".join(lines) + "\n"


SLURM_CONF = """# Slurm configuration

`slurm-sim conf check FILE` reads a `slurm.conf` (or the folder that holds one), and `gres.conf`,
`topology.conf` and `topology.yaml` if they lie beside it. It prints each key that is stated with its value, its line,
its status and a reason, then the machine, the partitions, and notices; `--json` prints the same as data. The exit code
is 0, or 3 if something is wrong: all problems are listed, each with file and line.

| status | meaning |
|---|---|
| honoured | a simulation does what the key says |
| not yet honoured | it is read and checked, and has no effect yet |
| ignored | it has no effect here, for the reason given |

From Python: `emulator.config.slurm.read_slurm_conf(path)` gives nodes, partitions, parameters as typed values
(seconds, mebibytes); each knows the line in which it stands.

## What is read, and how

* Keys are those of Slurm 22.05 to 26.05, and older ones that are still found in files. Any other key is an
  error, with the key that was probably meant. An option that Slurm itself would pass over (in
  `SchedulerParameters`, `PreemptParameters`, `PriorityFlags`, `DependencyParameters`, `AuthInfo`) is a notice.
* A number that is out of Slurm's range is a notice, and Slurm's default is taken, as Slurm does. What is no
  number at all is an error.
* Of two statements of one parameter the last one counts; a notice names both.
* `Include` is relative to the folder of the main file, with `%c` for the cluster's name. A file outside that
  folder is never opened: a notice says so. A file that includes itself is an error.
* A line with `{{` or `{%` belongs to a template: it is passed over with a notice, and the rest is read.
* Host lists have any number of brackets (`r[01-04]n[1-36],login`), and numbers keep their zeros. `Nodes` of a
  partition takes `ALL`, node sets and `feature{name}` too. A partition has its nodes in the order of the
  `NodeName` lines.
* `DEFAULT` lines of nodes, partitions, node sets and down nodes hold for the lines that follow.
* A time is `minutes`, `minutes:seconds`, `hours:minutes:seconds`, `days-hours`, `days-hours:minutes`,
  `days-hours:minutes:seconds`, or `UNLIMITED`. `MaxTime` and `DefaultTime` are rounded up to whole minutes, as in
  Slurm. Memory is a whole number of mebibytes, or one with a suffix K, M, G, T or P.
* CPUs that fit neither sockets, nor cores, nor threads of a node are corrected as in Slurm, with a notice.
* The defaults of `PriorityType` and `SelectType` depend on [Slurm's version](slurm-versions.md): a notice says so
  where they are not stated.
* `PreemptMode=CHECKPOINT` is the emulator's [extension](slurm.md#checkpoints): today's Slurm has no such mode.
* Nothing in these files is run, and no program that they name.
"""


def slurm_conf() -> str:
    """What the emulator makes of each key of a Slurm configuration."""
    parts = [SLURM_CONF, "\n## Parameters of slurm.conf\n\n", _words(PARAMETERS)]
    for options in PARAMETERS.options.values():
        parts += [f"\n\n### Options in {options.subject}\n\n", _words(options)]
    for key, line in LINES.items():
        parts += [f"\n\n## {key} lines\n\n", _words(line)]
    for file in (GRES, TOPOLOGY):
        parts += [f"\n\n## {file.subject}\n\n", _words(file)]
    return "".join(parts) + "\n"


ACCOUNTS = """# Accounts, QOS, fair share and limits

```
slurm-sim run jobs.events --slurm-conf slurm.conf --accounts sacctmgr.dump --accounts more.script
```

`--accounts` takes what `sacctmgr dump CLUSTER file=...` writes, or a script of `sacctmgr` commands, one a line;
several are read one after the other into one tree (a dump of 22.05 or 24.11 holds no qualities of service: a script may
add them; one of 26.05 has lines for them, `QOS - NAME:...`). A QOS that a dump only names has no limits
until a file describes it; a notice names it.
The same can stand in an experiment file:

```toml
[accounts]
files = ["sacctmgr.dump"]      # beside the experiment file
commands = ["add account physics fairshare=60 GrpTRES=cpu=512", "add user ann,bob account=physics"]
```

`add`, `modify` and `delete` of accounts, users, QOS and the cluster are understood, also as operators' commands at a
time; what only lists or describes is passed over. A `modify` that names none is about all, but for the account and
the user root. Nothing in these files is run. All that is wrong is listed with
file and line: an account that is not there, an account below itself, a limit that cannot be read, an unknown word.

Without `--accounts` there is no accounting: no limits, no fair share, no QOS, whatever the `slurm.conf` says. The age
of jobs counts if `AccountingStorageType` names a database, as in Slurm.

## What is charged

A run is charged, for each second, what it has of each resource (CPUs, memory where it is managed, nodes, generic
resources, licences, and the bill by `TRESBillingWeights`), times the `UsageFactor` of its QOS: to its association, to
those above it, and to the QOS of job and partition. Seconds are whole, as Slurm's are. Past usage decays each
`PriorityCalcPeriod` by `PriorityDecayHalfLife` (not that of a QOS with `NoDecay`), and is cleared by
`PriorityUsageResetPeriod` at midnight UTC.

A suspended run is charged, too, as recorded. Where `AccountingStorageEnforce` has no `limits`, what a run used since
the last period is lost at its end, as recorded.
With `priority/basic` past usage is not counted at all.

`run.toml` of a run has, under `accounts.used`, the sum of all charges without decay: resource-seconds, which equal
those of the runs in whole seconds.

## Fair share

| `PriorityFlags` | factor |
|---|---|
| (none) | Fair Tree: rank of the user, by shares over usage at each level of the tree |
| `NO_FAIR_TREE` | classic: 2 to the power of minus effective usage over shares, by `FairShareDampeningFactor` |
| `DEPTH_OBLIVIOUS` | the same, with a usage that does not depend on the depth of the tree |

Priorities are worked out at a submission and at the end of each period, and stand still between. With Fair Tree a
period costs a few operations for each association; with the other two also some for each running job, because
Slurm charges running jobs and weighs waiting ones by turns. `Fairshare=parent` of a user makes him the first of his
account with Fair Tree, and gives him the account's factor with the others; that of an account puts what is below it
beside its siblings.

## Limits

In this order; the first that is exceeded is the reason that `squeue` shows.

1. At the submission, which is refused: `GrpSubmitJobs`, `MaxSubmitJobs`; with `DenyOnLimit`, of the job's QOS or of
   its partition's, what is too large by itself for a limit of either or of the association.
2. Before nodes are looked for: `UsageThreshold` (with `EnforceUsageThreshold`; it is compared to the fair-share factor
   times `PriorityWeightFairshare`, where that is not 0), `GrpWall`, `GrpJobs`, `MaxJobs`, `MaxWall`.
3. With nodes at hand, or with what was asked for if there are none: `GrpTRESMins`, `GrpTRES`, `GrpTRESRunMins`,
   `MaxTRESRunMins` (per account, user), `MaxTRESMins`, `MaxTRES` (per account, job, node, user), `MinTRES`.

Each time first the QOS of the partition, then that of the job for what the first does not limit (the other way
round with `OverPartQOS`), then the user's association, then those above it, for what no QOS limits: a QOS with
`MaxJobsPerUser=20` has its way with a user of `MaxJobs=4`. `Max...` limits of associations are the user's own or
inherited; `LimitFactor` of the job's QOS multiplies `GrpTRES` and `MaxTRES` of associations. A job at a limit
reserves nothing and blocks no job, but with `assoc_limit_stop` it stops its partition in the main loop. `safe` in
`AccountingStorageEnforce` asks whether the whole run fits into the minutes, and the run time (`GrpWall`), that are
left, multiplied by the `UsageFactor` only with `UsageFactorSafe`. A running job is ended by the sweep when the minutes
of its account are used up.

A node that several jobs have counts once. Where nodes are limited (`GrpTRES=node`, `MaxTRESPerUser=node`,
`MaxTRESPerAccount=node`), a job that starts prefers those on which the association or QOS has jobs to others of the
same line of `slurm.conf`: these are heavier by one.

`GrpJobsAccrue` and `MaxJobsAccrue` say how many waiting jobs grow older; one that may not is looked at again at each
`PriorityCalcPeriod`, in the order of ids. Of QOS only the job's own says so. With `ACCRUE_ALWAYS` there is no such
limit. Nothing is kept for a job with less priority than `MinPrioThreshold`, or than `bf_min_prio_reserve`.

`PartitionTimeLimit`, `PartitionMaxNodes` and `PartitionMinNodes` lift bounds of partitions for jobs of the QOS.
`RequiresReservation` refuses those that name no reservation. With `Relative`, amounts of resources (not minutes) are
percentages, rounded down: of the partitions whose QOS it is, else of the cluster; a QOS that is a partition's is then
no job's.

`preempt/qos` preempts jobs of the QOS in the `Preempt` list of the preemptor's, lowest `Priority` first, by the
`PreemptMode` of the victim's QOS ([CHECKPOINT](slurm.md#checkpoints) too); `WITHIN` also those of its own QOS with
lower priority.

## Words
"""


def accounts() -> str:
    """What is said of associations and qualities of service, and what the emulator makes of it."""
    parts = [ACCOUNTS, "\n### Of an account or a user\n\n", _words(ASSOCIATION)]
    parts += ["\n\n### Of a QOS\n\n", _words(QOS), "\n\n### Flags of a QOS\n\n| flag | status |\n|---|---|"]
    parts += [f"\n| `{name}` | {status.value} |" for name, status in FLAGS.items()]
    return "".join(parts) + "\n"


def _words(vocabulary: Vocabulary) -> str:
    """A table of the words that are not ignored, and a list of the others by reason."""
    taken = [word for word in vocabulary if word.status is not Status.IGNORED]
    rows = ["| key | status | what it governs | value | default |", "|---|---|---|---|---|"] if taken else []
    rows += [
        f"| `{word.name}` | {word.status.value} | {word.note} | {_value(word)} | {_default(word)} |" for word in taken
    ]
    reasons: dict[str, list[str]] = {}
    for word in vocabulary:
        if word.status is Status.IGNORED:
            reasons.setdefault(word.note, []).append(f"`{word.name}`")
    ignored = [f"* {reason}: {', '.join(sorted(names))}" for reason, names in reasons.items()]
    return "\n".join(rows + (["", "Ignored:", ""] if ignored and taken else []) + ignored)


def _value(word: Word) -> str:
    if word.choices:
        return ", ".join(f"`{choice}`" for choice in word.choices)
    bounds = f", {word.range_text}" if word.least is not None else ""
    return f"{word.kind.value}{bounds}" + (f", or {word.disabled}: never" if word.disabled is not None else "")


def _default(word: Word) -> str:
    return f"`{word.default}`" if word.default else ""


def _unquoted(signature: inspect.Signature) -> str:
    return str(signature).replace("'", "")


def _paragraphs(hook: object) -> str:
    """The docstring, each labelled part a paragraph of its own."""
    labels = ("Called:", "Answers:", "None:", "Rejected:", "Cost:", "Mirrors:", "Port class:")
    lines = []
    for line in (inspect.getdoc(hook) or "").splitlines():
        label = next((label for label in labels if line.startswith(label)), None)
        lines.append(f"\n**{label}**{line[len(label) :]}" if label else line)
    return "\n".join(lines).replace(":class:", "")


def _rows(columns: dict[str, str]) -> str:
    return "\n".join(
        ["| column | meaning |", "|---|---|", *(f"| `{name}` | {text} |" for name, text in columns.items())]
    )


VERSIONS_PAGE = """# Versions of Slurm

```
slurm-sim run jobs.events --slurm-conf slurm.conf --slurm-version 24.11
slurm-sim replay march.sacct --slurm-conf slurm.conf --slurm-version 22.05
slurm-sim truth FOLDER                         # each recording under the version that it says
```

The emulator has the rules of Slurm {versions}; without `--slurm-version` those of {newest}, or those of the recording.
`run.toml` says which (`simulation.slurm_version`). From Python it is `simulate(..., slurm_version="24.11")`, in an
experiment file or a campaign `slurm_version` in `[simulation]`. A recording says it by its key `slurm_version`, or by
a note that begins with `Slurm 24.11.5`; one that does neither is of {oldest}.

A difference is a rule here if it repeats in recordings. What is not listed was recorded alike, or was not recorded: of
{newest} there are some 80 scenarios without accounts.

## Before an upgrade

```
slurm-sim upgrade-check slurm.conf --from 22.05 --to 26.05
slurm-sim upgrade-check slurm.conf --from 22.05 --to 26.05 --log march.sacct --zone Europe/Paris --accounts dump.cfg
```

The first says which keys of the file, and which defaults that it relies on, change between the two versions, with
their lines; and which of the rules below begin to hold, with the partitions that they concern. Versions between the
emulated ones may be named, too. With `--log` the submissions of a [dump of sacct](site-logs.md) are run under both
versions, which must be emulated then, and the jobs that start at another time are listed (`--limit`, `--json`).

## Rules

"""


def slurm_versions() -> str:
    """In what versions differ."""
    parts = [VERSIONS_PAGE.format(versions=", ".join(VERSIONS), newest=NEWEST, oldest=OLDEST)]
    for rule in all_rules():
        shown = ", ".join(f"`{one}`" for one in rule.recordings)
        parts.append(f"### {rule.name}\n\nFrom {rule.since} on: {rule.says}.\n\nBefore: {rule.before}.\n\n")
        parts.append(f"Source: {rule.source}. Recordings: {shown}.\n\n")
    parts.append(f"## Keys of slurm.conf\n\nBy Slurm's own [lists of changes]({NOTES.format(NEWEST)}).\n\n")
    parts.append("| key | from | what | |\n|---|---|---|---|\n")
    for change in KEY_CHANGES:
        was = f"; before: `{change.was}`" if change.was else ""
        parts.append(f"| `{change.key}` | {change.since} | {change.kind} | {change.says}{was} |\n")
    return "".join(parts)


PAGES = {
    "api.md": api,
    "hooks.md": hooks,
    "records.md": records,
    "metrics.md": metrics,
    "slurm-conf.md": slurm_conf,
    "slurm-versions.md": slurm_versions,
    "accounts.md": accounts,
    "views.md": views,
}


def main() -> int:
    """Write the pages, or check them."""
    stale = [name for name, page in PAGES.items() if _current(name) != page()]
    if "--check" in sys.argv:
        for name in stale:
            sys.stderr.write(f"docs/{name} is not what the code says; run python docs/generate.py\n")
        return 1 if stale else 0
    for name in stale:
        (HERE / name).write_text(PAGES[name](), encoding="utf-8")
    return 0


def _current(name: str) -> str:
    path = HERE / name
    return path.read_text(encoding="utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
