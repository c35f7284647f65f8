"""Measure what the project promises of its speed. See README.md beside this file."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as slurm-sim does, before numpy is imported

import bare
import click
import cost
import numpy as np

import emulator.config.presets
from emulator import Config, Workload, read_swf, simulate
from emulator.accounting.records import read_columns
from emulator.config.slurm import parse_slurm_conf
from emulator.engine.simulation import Simulation
from emulator.engine.stock import StockRun, stock_policy
from emulator.testing import check_plugin, play
from emulator.walltime.evaluate import evaluate
from emulator.walltime.log import read_log
from emulator.workload.models import lublin99
from emulator.workload.sacct import read_sacct
from emulator.workload.swf import write_swf
from slurm_sim_plugins.kernels import why_plain
from slurm_sim_plugins.manager import Catalogue, select
from slurm_sim_plugins.priority.sjf import Sjf
from slurm_sim_plugins.sched.easy import Easy
from slurm_sim_plugins.testing import call, cluster, job

TRACES = Path(os.environ.get("SLURM_SIM_TRACES", Path(__file__).parents[3] / "shared" / "traces")) / "swf"
LOGS = {
    "KTH": ("KTH-SP2-1996-2.1-cln.swf.gz", 100),
    "CTC-338": ("CTC-SP2-1996-3.1-cln.swf.gz", 338),
    "CTC-430": ("CTC-SP2-1996-3.1-cln.swf.gz", 430),
    "SDSC-SP2": ("SDSC-SP2-1998-4.2-cln.swf.gz", 128),
    "SDSC-BLUE": ("SDSC-BLUE-2000-4.2-cln.swf.gz", 1152),
}
REFERENCE = {
    ("KTH", "event"): "9ec768965d782264",
    ("KTH", "batch"): "efbf84f0e8910c16",
    ("CTC-338", "event"): "648f3a59bb690bee",
    ("CTC-338", "batch"): "308c59b54cf4b1da",
    ("CTC-430", "event"): "ce0453069d9e80fb",
    ("CTC-430", "batch"): "5261bb049009b90a",
    ("SDSC-SP2", "event"): "c345eb929c5cb657",
    ("SDSC-SP2", "batch"): "154209c2141e8610",
    ("SDSC-BLUE", "event"): "b4422ebb06e7ce20",
    ("SDSC-BLUE", "batch"): "9b1fd4277a838e68",
}
"""Digests of start times on which two independent codes agree, by log and convention."""


def available() -> list[str]:
    """The logs that are there."""
    found = [name for name, (file, _) in LOGS.items() if (TRACES / file).exists()]
    if not found:
        click.echo(f"no logs in {TRACES}; set SLURM_SIM_TRACES")
    return found


def log(name: str) -> tuple[Workload, int]:
    file, processors = LOGS[name]
    return read_swf(TRACES / file, machine=processors), processors


def cpu(call: Callable[[], object], runs: int = 3) -> float:
    """CPU seconds of the best of several calls."""
    best = float("inf")
    for _ in range(runs):
        begin = time.process_time()
        call()
        best = min(best, time.process_time() - begin)
    return best


def digest(job_ids: list[int], starts: list[float]) -> str:
    """First 16 hex digits of the SHA-256 of lines ``<job id> <start>``, by job id."""
    lines = (f"{job} {int(start)}\n" for job, start in sorted(zip(job_ids, starts, strict=True)))
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]


def agreement() -> None:
    click.echo("agreement: EASY, every start time, against two independent codes")
    for name in available():
        workload, processors = log(name)
        for passes in ("event", "batch"):
            jobs = simulate(workload, processors=processors, passes=passes).records.jobs
            ours = digest(jobs["job_id"].tolist(), jobs["start"].tolist())
            verdict = "agrees" if ours == REFERENCE[name, passes] else "DIFFERS"
            click.echo(f"  {name:10} {processors:5} processors {len(workload):8,} jobs  {passes:5}  {ours}  {verdict}")


def process() -> None:
    click.echo("process: from trace to records, EASY, the whole process; and the bare loop as a program")
    with tempfile.TemporaryDirectory() as folder:
        for name in available():
            file, processors = LOGS[name]
            trace, records = str(TRACES / file), str(Path(folder) / "records.parquet")
            ours = [
                str(Path(sys.executable).with_name("slurm-sim")),
                "run",
                trace,
                "--processors",
                str(processors),
                "--records",
                records,
                "--json",
            ]
            yardstick = [sys.executable, bare.__file__, trace, str(processors), str(Path(folder) / "bare.csv")]
            seconds, megabytes = min(measure([*ours, "--no-progress"]) for _ in range(3))
            bare_seconds, _ = min(measure(yardstick) for _ in range(3))
            click.echo(
                f"  {name:10} {seconds:6.2f} CPU s  {megabytes:5.0f} MB   bare {bare_seconds:6.2f} CPU s   "
                f"ratio {seconds / bare_seconds:.2f}"
            )


def measure(command: list[str]) -> tuple[float, float]:
    """CPU seconds and peak MB of a process."""
    run = subprocess.run([sys.executable, cost.__file__, *command], stdout=subprocess.PIPE, check=False)
    if run.returncode:
        raise SystemExit(f"{' '.join(command)} failed")
    seconds, megabytes = map(float, run.stdout.split())
    return seconds, megabytes


def engine() -> None:
    click.echo("engine: EASY as a plugin, no reading, no writing; and a bare loop without hooks")
    for name in available():
        workload, processors = log(name)
        columns = (workload.submit, workload.processors, workload.run, workload.time_limit)

        def bare_loop(columns: tuple = columns, processors: int = processors) -> list[int]:
            return bare.easy(*(column.astype(int).tolist() for column in columns), processors)

        def hooked(workload: Workload = workload, processors: int = processors) -> None:
            Simulation(workload, processors, Config(), select(Catalogue())).run()

        gc.disable()  # as simulate() does
        ours, yardstick = cpu(hooked), cpu(bare_loop)
        gc.enable()
        starts = simulate(workload, processors=processors).records.jobs["start"]
        same = "same schedule" if bare_loop() == starts.astype(int).tolist() else "OTHER SCHEDULE"
        click.echo(
            f"  {name:10} {len(workload) / ours:9,.0f} jobs/s   bare {len(workload) / yardstick:9,.0f} jobs/s   "
            f"ratio {ours / yardstick:.2f}   {same}"
        )


def stock() -> None:
    click.echo(
        "stock: the loop of stock plugins, no reading, no writing; how many times as fast as the bare loop; and its "
        "passes, which do not depend on the machine"
    )
    for name in available():
        workload, processors = log(name)
        columns = [
            each.astype(int).tolist()
            for each in (workload.submit, workload.processors, workload.run, workload.time_limit)
        ]
        yardstick = cpu(lambda columns=columns, processors=processors: bare.easy(*columns, processors))
        for scheduler in ("sched/fcfs", "sched/easy", "sched/conservative"):
            config = Config(slots={"SchedulerType": scheduler})
            policy = stock_policy(select(Catalogue(), config.slots), config, workload, None)
            if policy is None or why_plain():
                raise SystemExit(f"the compiled loop does not make this run: {why_plain()}")
            runs: list[StockRun] = []

            def loop(workload: Workload = workload, processors: int = processors, runs: list[StockRun] = runs) -> None:
                runs.append(StockRun(workload, processors, config, policy))  # noqa: B023 - called at once
                runs[-1].run()

            seconds = cpu(loop)
            click.echo(
                f"  {name:10} {scheduler:20} {len(workload) / seconds:11,.0f} jobs/s   "
                f"{yardstick / seconds:6.2f} times the bare loop   {runs[-1].passes:9,} passes"
            )


def conservative() -> None:
    click.echo("conservative: CTC on 338 processors")
    if "CTC-338" not in available():
        return
    workload, processors = log("CTC-338")
    for compress in ("rebuild", "never_later"):
        for compiled in (False, True):
            config = Config(
                processors=processors,
                slots={"SchedulerType": "sched/conservative"},
                plugin_options={"sched/conservative": {"compress": compress}},
                compiled=compiled,
            )
            seconds = cpu(lambda config=config: simulate(workload, config=config), runs=1)
            click.echo(f"  {compress:12} {'compiled' if compiled else 'plain':8} {seconds:6.2f} CPU s")


def million() -> None:
    click.echo("million: generated jobs (Lublin-Feitelson), 512 processors, load 0.8, EASY")
    before = None
    for jobs in (125_000, 250_000, 500_000, 1_000_000):
        workload = lublin99.generate(jobs, 512, 1, load=0.8)
        config = Config(processors=512, compiled=False)
        seconds = cpu(lambda workload=workload, config=config: simulate(workload, config=config), runs=1)
        growth = f"{seconds / before:.2f} times the half" if before else ""
        click.echo(f"  {jobs:9,} jobs  {seconds:6.2f} CPU s  {growth}")
        before = seconds
    click.echo("million: the same as whole processes, from trace to records")
    with tempfile.TemporaryDirectory() as folder:
        for jobs in (1_000_000, 5_000_000):
            trace, records = str(Path(folder) / "jobs.swf"), str(Path(folder) / "records.parquet")
            write_swf(lublin99.generate(jobs, 512, 1, load=0.8), trace)
            command = [str(Path(sys.executable).with_name("slurm-sim")), "run", trace, "--processors", "512"]
            seconds, megabytes = measure([*command, "--records", records, "--json", "--no-progress"])
            click.echo(f"  {jobs:9,} jobs  {seconds:6.2f} CPU s  {megabytes:6,.0f} MB")


def walltime() -> None:
    curie = TRACES / "CEA-Curie-2011-2.1-cln.swf.gz"
    if curie.exists():
        click.echo("walltime: the paper's 336 schemes on CEA-Curie (those of 12 months are the same as of all time)")
        log_of_curie = read_log(read_swf(curie, filter="papers", processors_field="either"))
        for compiled in (False, True):
            found: list[int] = []
            seconds = cpu(
                lambda compiled=compiled, found=found: found.append(
                    len(evaluate(log_of_curie, compiled=compiled).outcomes)
                ),
                runs=1,
            )
            name = "compiled" if compiled else "plain"
            click.echo(f"  {name:9} {len(log_of_curie):8,} jobs  {found[0]} schemes  {seconds:6.2f} CPU s")
    if "SDSC-BLUE" in available():
        click.echo(
            "walltime: SDSC-BLUE, EASY with a walltime plugin, against without: the simulation; the whole process"
        )
        workload, processors = log("SDSC-BLUE")
        without: tuple[float, float] | None = None
        for name, options in ADJUSTMENTS.items():
            plugin = {"walltime/history": {"key": "user", **options}} if name else {}
            config = Config(processors=processors, slots={"WalltimeType": next(iter(plugin), "walltime/none")})
            config = replace(config, plugin_options=plugin)
            seconds = cpu(lambda config=config: simulate(workload, config=config))
            words = [
                f"--set=walltime/history.{option}={value}"
                for option, value in plugin.get("walltime/history", {}).items()
            ]
            command = [str(Path(sys.executable).with_name("slurm-sim")), "run", str(TRACES / LOGS["SDSC-BLUE"][0])]
            command += ["--processors", str(processors), "--json", "--no-progress"]
            command += ["--walltime", "walltime/history", *words] if plugin else []
            whole = min(measure(command) for _ in range(3))[0]
            without = without or (seconds, whole)
            click.echo(
                f"  {name or 'without':10} {seconds:6.2f} CPU s  ratio {seconds / without[0]:.2f}   "
                f"process {whole:6.2f} CPU s  ratio {whole / without[1]:.2f}"
            )


ADJUSTMENTS: dict[str, dict[str, str]] = {"": {}, "selective": {}, "regular": {"adjust": "regular"}}


def explain() -> None:
    if "CTC-430" not in available():
        return
    click.echo("explain: a run of CTC on 430 processors that records its decisions; any job's story, the whole process")
    workload, processors = log("CTC-430")
    program = str(Path(sys.executable).with_name("slurm-sim"))
    with tempfile.TemporaryDirectory() as folder:
        plain, explained = Path(folder) / "plain", Path(folder) / "explained"
        seconds = cpu(lambda: simulate(workload, config=Config(processors=processors), out=plain), runs=1)
        recording = cpu(
            lambda: simulate(workload, config=Config(processors=processors, explain=True), out=explained), runs=1
        )
        click.echo(f"  run        {seconds:6.2f} CPU s   explained {recording:6.2f} CPU s")
        waits = simulate(workload, processors=processors).records.jobs
        longest = int(waits["job_id"][(waits["start"] - waits["submit"]).argmax()])
        for job in (int(waits["job_id"][0]), longest, int(waits["job_id"][-1])):
            whole, megabytes = min(measure([program, "explain", str(explained), str(job)]) for _ in range(3))
            click.echo(f"  job {job:6} {whole:6.2f} CPU s  {megabytes:5.0f} MB")
    explain_slurm(program)


def explain_slurm(program: str) -> None:
    """A week in Slurm's timing, the whole process, with a folder of the run."""
    week = TRACES.parent / "slurm" / "ub-hpc"
    if not week.exists():
        return
    words = [program, "run", str(week / "workload_week.events.gz"), "--slurm-conf", str(week / "slurm_sim.conf")]
    with tempfile.TemporaryDirectory() as folder:
        seconds, _ = measure([*words, "--no-progress", "--out", f"{folder}/plain"])
        recording, _ = measure([*words, "--no-progress", "--out", f"{folder}/explained", "--explain"])
    ratio = recording / seconds
    click.echo(f"  UB-HPC     {seconds:6.2f} CPU s   explained {recording:6.2f} CPU s   ratio {ratio:.2f}, at most 1.3")


def sacct() -> None:
    click.echo("sacct: a dump of 60,000 jobs and 180,000 steps; at least 30 MB a CPU second are wanted")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "generated.sacct"
        file.write_text(dump_of(60_000))
        seconds = cpu(lambda: read_sacct(file), runs=3)
        megabytes = file.stat().st_size / 1e6
        click.echo(f"  {megabytes:5.0f} MB {seconds:6.2f} CPU s  {megabytes / seconds:5.1f} MB a CPU second")


def dump_of(jobs: int) -> str:
    """What sacct says of so many jobs, with three steps each; a few hundred users submit a few scripts."""
    draw, submit = np.random.default_rng(5), np.datetime64("2024-01-01T00:00:00")
    lines = [
        "JobID|JobIDRaw|User|Partition|QOS|JobName|TimelimitRaw|ReqMem|ReqTRES|WorkDir|MaxRSS|Account|Submit|Eligible|"
        "Start|End|Elapsed|ElapsedRaw|State|ExitCode|ReqCPUS|AllocCPUS|NNodes|AllocTRES|NodeList|SubmitLine|Constraints"
    ]
    for number in range(1000, 1000 + jobs):
        gap, wait, run, user, script = (int(draw.choice(of)) for of in DRAWN)
        submit, nodes = submit + gap, 1 + script % 4
        start, first, cpus = submit + wait, number % 90, 32 * nodes
        resources = f"billing={cpus},cpu={cpus},mem={64 * nodes}G,node={nodes}"
        both = (
            f"a{user % 40}|{submit}|{submit}|{start}|{start + run}|{run // 3600:02}:{run // 60 % 60:02}:00|{run}|"
            f"COMPLETED|0:0|{cpus}|{cpus}|{nodes}|{resources}|n[{first:03}-{first + nodes - 1:03}]|"
            f"sbatch -N{nodes} -t 240 --mem=64G -p batch job{script}.sh|"
        )
        lines.append(f"{number}|{number}|u{user}|batch|normal|run{script}|240|64G|{resources}|/home/user/case||{both}")
        lines += [f"{number}.{step}|{number}.{step}||||{step}|||||1024K|{both}" for step in ("batch", "extern", "0")]
    return "\n".join(lines) + "\n"


DRAWN = ([1, 20, 60], [0, 5, 600], [60, 900, 7200], range(300), range(6))
"""Of generated jobs: seconds since the one before, of waiting and of running; the user, and which of the scripts."""


def pv_easy() -> None:
    click.echo("pv_easy: the preset papers/pv_easy, from trace to metrics, the whole process")
    program = str(Path(sys.executable).with_name("slurm-sim"))
    for name in available():
        file, processors = LOGS[name]
        command = [program, "run", str(TRACES / file), "--config", "papers/pv_easy", "--processors", str(processors)]
        seconds, megabytes = min(measure([*command, "--json", "--no-progress"]) for _ in range(2))
        click.echo(f"  {name:10} {seconds:6.2f} CPU s  {megabytes:5.0f} MB")


def fairness() -> None:
    if "KTH" not in available():
        return
    click.echo("fairness: every job of KTH audited, in forks of one run; EASY and PV-EASY")
    program = str(Path(sys.executable).with_name("slurm-sim"))
    file, processors = LOGS["KTH"]
    for policy in ([], ["--config", "papers/pv_easy"]):
        with tempfile.TemporaryDirectory() as folder:
            run = [program, "run", str(TRACES / file), *policy, "--processors", str(processors), "--out", folder]
            measure([*run, "--no-progress"])
            seconds, megabytes = measure([program, "fairness", folder, "--sample", "0", "--no-progress"])
            click.echo(f"  {'PV-EASY' if policy else 'EASY':10} {seconds:6.1f} CPU s  {megabytes:5.0f} MB")


def hook_call() -> None:
    click.echo("hook_call: one hook with one scene, as the fixtures do it; all checks of a bundled plugin")
    here = cluster(10).running(job(6, limit=100), since=-20).waiting(*[job(1 + size % 4) for size in range(10)])
    scene, plugin, calls = here.scene(), Sjf(), 1000
    for name, once in {
        "call, scene kept": lambda: call(plugin, "priority_set", scene),
        "call, scene rebuilt": lambda: call(plugin, "priority_set", here),
        "play a pass of EASY": lambda: play(Easy, here),
    }.items():
        seconds = cpu(lambda once=once: [once() for _ in range(calls)])
        click.echo(f"  {name:26} {1000 * seconds / calls:6.3f} ms")
    for name in ("priority/sjf", "sched/easy", "sched/conservative", "preempt/shadow_load", "walltime/history"):
        factory = Catalogue().get(name).factory
        click.echo(f"  check {name:20} {cpu(lambda factory=factory: check_plugin(factory), runs=1):6.2f} CPU s")


def lua() -> None:
    from slurm_sim_plugins.job_submit.lua import Lua
    from slurm_sim_plugins.submission import Submission

    rules = "".join(
        f"""  if job_desc.partition == "p{rule}" and job_desc.time_limit > {rule} then
    slurm.log_info("%s: partition %s, %d minutes", job_desc.user_name, job_desc.partition, job_desc.time_limit)
    if job_desc.qos == nil then job_desc.qos = "q{rule}" end
    if job_desc.min_nodes > {rule} then job_desc.shared = 0 end
  end
"""
        for rule in range(59)
    )
    with tempfile.TemporaryDirectory() as folder:
        script, modify = Path(folder) / "job_submit.lua", "function slurm_job_modify() return slurm.SUCCESS end\n"
        body = f"function slurm_job_submit(job_desc, parts, uid)\n{rules}  return slurm.SUCCESS\nend\n"
        script.write_text(body + modify)
        plugin, calls = Lua(str(script)), 20_000
    job = Submission(1, 0.0, "ann", partitions=("p40",), min_nodes=50, tasks=100, time_limit=7200.0)
    view = SimpleNamespace(submission=job, partitions=(), now=0.0, slurm_version="")
    seconds = cpu(lambda: [plugin.job_submit(view) for _ in range(calls)])
    click.echo(f"lua: {calls / seconds:,.0f} submissions per CPU second through a job_submit.lua of 298 lines")


def two_tier() -> None:
    click.echo(
        "two_tier: feitelson96, 200,000 jobs on 320 processors, load 0.9, from trace to records, the whole process"
    )
    program = str(Path(sys.executable).with_name("slurm-sim"))
    with tempfile.TemporaryDirectory() as folder:
        trace, records = str(Path(folder) / "jobs.swf"), str(Path(folder) / "records.parquet")
        size = ["--model", "feitelson96", "--jobs", "200000", "--processors", "320", "--load", "0.9", "--seed", "1"]
        measure([program, "trace", "generate", trace, *size, "--estimates", "tsafrir05", "--cpu-use"])
        for label, deploy in (("KEASY", "kill"), ("REASY", "reserve"), ("MEASY", "migrate")):
            policy = ["--scheduler", "sched/two_tier", "--execution", "execution/two_tier"]
            policy += ["--set", f"sched/two_tier.deploy={deploy}"]
            command = [program, "run", trace, *policy, "--records", records, "--json", "--no-progress"]
            seconds, megabytes = measure(command)
            click.echo(f"  {label:6} {seconds:6.2f} CPU s  {megabytes:5.0f} MB")


def realtime() -> None:
    click.echo(
        "realtime: a week on the 294 blocks of Mira, 10 % real-time jobs, from trace to records, the whole process"
    )
    program = str(Path(sys.executable).with_name("slurm-sim"))
    logs = TRACES.parent / "alcf"
    preset = Path(emulator.config.presets.preset("papers/realtime")).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        study, records = Path(folder) / "study.toml", str(Path(folder) / "records.parquet")
        reading = '[workload]\nfilter = "none"\nrealtime = 10\nrealtime_seed = 1\n\n[slots]'
        study.write_text(preset.replace("[slots]", reading), encoding="utf-8")
        blocks = ["--set", f"select/blocks.file={logs / 'mira_partitions.xml.gz'}"]
        for label, name in (("Mira", "mira_2018-01-21_week"), ("Curie", "curie_week_scaled_to_mira")):
            trace = logs / f"{name}.cobalt.log.gz"
            if not trace.exists():
                continue
            for policy in ("baseline", "weighted"):
                words = ["--experiment", str(study), "--processors", "49152", "--records", records, "--json"]
                words += [*blocks, "--set", f"sched/realtime.policy={policy}", "--no-progress"]
                seconds, megabytes = measure([program, "run", str(trace), *words])
                click.echo(f"  {label:6} {policy:9} {seconds:6.2f} CPU s  {megabytes:5.0f} MB")


def slurm() -> None:
    click.echo("slurm: UB-HPC's week and CEA-Curie in Slurm's timing, from trace to records, the whole process")
    program = str(Path(sys.executable).with_name("slurm-sim"))
    week = TRACES.parent / "slurm" / "ub-hpc"
    for label, trace, conf in (
        ("UB-HPC", week / "workload_week.events.gz", week / "slurm_sim.conf"),
        ("CEA-Curie", TRACES / "CEA-Curie-2011-2.1-cln.swf.gz", Path(__file__).with_name("curie.conf")),
    ):
        if not trace.exists():
            click.echo(f"  {label}: {trace} is not there")
            continue
        with tempfile.TemporaryDirectory() as folder:
            records = str(Path(folder) / "records.parquet")
            command = [program, "run", str(trace), "--slurm-conf", str(conf), "--records", records, "--json"]
            seconds, megabytes = measure([*command, "--no-progress"])
            click.echo(f"  {label:10} {seconds:6.1f} CPU s  {megabytes:5.0f} MB")


def one_cpu_nodes() -> None:
    if "CTC-430" not in available():
        return
    click.echo("one_cpu_nodes: EASY on CTC, a cluster of 430 nodes of one CPU beside 430 counted processors, in pairs")
    workload, processors = log("CTC-430")
    conf = parse_slurm_conf(ONE_CPU_NODES.format(processors))
    easy: dict[str, Any] = {"slots": {"SchedulerType": "sched/easy"}, "clock": "ideal"}
    simulate(workload.where(np.arange(len(workload)) < 100), conf, **easy)
    pairs = []
    for _ in range(3):
        starts = []
        # Counts without the loop of stock plugins, which knows no nodes.
        for machine, compiled in ((conf, None), (processors, False)):
            begin = time.process_time()
            starts.append(simulate(workload, machine, compiled=compiled, **easy).records.jobs["start"])
            pairs.append(time.process_time() - begin)
        if not np.array_equal(*starts):
            raise SystemExit("other starts on nodes than on counts")
    nodes, counts = np.array(pairs).reshape(-1, 2).T
    ratio = float(np.median(nodes / counts))
    click.echo(f"  {np.median(nodes):6.2f} CPU s   counts {np.median(counts):6.2f} CPU s   ratio {ratio:.1f}")


ONE_CPU_NODES = """
ClusterName=flat
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PriorityType=priority/basic
NodeName=n[1-{}] CPUs=1
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE
"""


def accounts() -> None:
    click.echo("accounts: UB-HPC's week with its accounts, shares and limits, the whole process; usage against records")
    week = TRACES.parent / "slurm" / "ub-hpc"
    if not week.exists():
        click.echo(f"  {week} is not there")
        return
    with tempfile.TemporaryDirectory() as folder:
        records = Path(folder) / "records.parquet"
        command = [str(Path(sys.executable).with_name("slurm-sim")), "run", str(week / "workload_week.events.gz")]
        command += ["--slurm-conf", str(week / "slurm_sim.conf"), "--accounts", str(week / "sacctmgr.script")]
        command += ["--records", str(records), "--json", "--no-progress"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        jobs = read_columns(records)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    ran = np.isfinite(jobs["end"])
    whole = np.floor(jobs["end"][ran]) - np.floor(jobs["start"][ran])
    recorded, used = float((whole * jobs["processors"][ran]).sum()), json.loads(done.stdout)["accounts"]["used"]["cpu"]
    click.echo(f"  {seconds:6.1f} CPU s; used {used:,.0f} CPU s, recorded {recorded:,.0f} CPU s")
    if used != recorded or jobs["requeues"].any():
        raise SystemExit("usage is not what the records say")


PARTS = {
    part.__name__: part
    for part in (
        agreement,
        process,
        engine,
        stock,
        conservative,
        million,
        pv_easy,
        fairness,
        walltime,
        explain,
        sacct,
        hook_call,
        lua,
        two_tier,
        realtime,
        slurm,
        one_cpu_nodes,
        accounts,
    )
}


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice(list(PARTS)))
def main(parts: tuple[str, ...]) -> None:
    """Measure the named parts, or all."""
    click.echo(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores")
    for part in parts or PARTS:
        PARTS[part]()


if __name__ == "__main__":
    main()
