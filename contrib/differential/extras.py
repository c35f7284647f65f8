"""What random clusters do not have: topology, power saving, components, many nodes, a rush of jobs, failing nodes.

``clusters.py`` stays as it is, for differences are known by its seeds. Here its files are changed, in their own words.
"""

from __future__ import annotations

import re

from contrib.differential.clusters import Draws

PLAIN = (r"-L \S+", r"--(gres|gpus)=\S+", r"-C \S+", r"-[wx] \S+", r"-d \S+", r"--reservation=\S+", r"--exclusive\S*")
"""Words of submissions for which one job is tried otherwise than another."""


def add_to(files: dict[str, str], draws: Draws, own: bool) -> list[str]:
    """Change the files of a cluster; the words that the command has besides.

    Args:
        files: by name, as ``clusters.files_of`` makes them.
        draws: what is drawn.
        own: whether Slurm's clock and the scheduler of the slurm.conf decide, of which alone components and looks that
            take time can be asked.
    """
    if draws.often(0.3):
        _plainer(files)
    if draws.often(0.25) and not files.keys() & {"accounts", "gres.conf", "commands"}:
        _larger(files, draws)
    if draws.often(0.3):
        _sooner(files, draws.one(0, 0.2, 0.5))
    _further_words(files, draws, own and "SchedulerType=sched/backfill" in files["slurm.conf"])
    if draws.often(0.2):
        _topology(files, draws)
    words = []
    if draws.often(0.15):
        # Most nodes are up: jobs on several would come to no end else.
        failures = draws.one(600, 3600, 20000)
        words += [f"mtbf={failures}", f"mttr={min(draws.one(60, 1200), failures // 10)}"]
    if draws.often(0.15):
        _power_saving(files, draws)
        words += draws.stated(0.5, resume_time=(5, 45, 90), resume_failures=(0.2,))
    words += draws.stated(0.1, prolog=(3,), epilog=(7,), prolog_slurmctld=(2,), epilog_slurmctld=(4,))
    words += draws.stated(0.1 if own else 0, job_test_time=(0.001, 0.3))
    if draws.often(0.5):
        _near_cores(files, draws)
    if draws.often(0.15):
        _even(files, draws)
    if draws.often(0.15) and "PreemptMode=OFF\n" in files["slurm.conf"]:
        _gang(files, draws)
    return [word for each in words for word in ("--operation", each)]


def _plainer(files: dict[str, str]) -> None:
    """Jobs on which nothing but nodes and time decides, which are most of those of large logs."""
    files["jobs.events"] = re.sub(f" ({'|'.join(PLAIN)})(?= )", "", files["jobs.events"])


def _larger(files: dict[str, str], draws: Draws) -> None:
    """Tens of nodes of a kind, and jobs that are larger as much."""
    times = draws.one(4, 15, 30)

    def grown(match: re.Match[str]) -> str:
        return f"[1-{int(match[1]) * times}]"

    conf = re.sub(r"\[1-(\d+)\]", grown, files["slurm.conf"])
    files["slurm.conf"] = re.sub(r" MaxNodes=\d+", "", conf)

    def asked(match: re.Match[str]) -> str:
        return f" {match[1]} " + re.sub(r"\d+", lambda count: str(int(count[0]) * times), match[2])

    lines = files["jobs.events"].splitlines(keepends=True)
    few = re.compile(r" -w | --gres=| --gpus=")
    files["jobs.events"] = "".join(
        line if few.search(line) or draws.often(0.2) else re.sub(r" (-[nN]) (\S+)", asked, line) for line in lines
    )


def _sooner(files: dict[str, str], share: float) -> None:
    """Jobs come sooner, so that more wait."""

    def earlier(match: re.Match[str]) -> str:
        return f"-dt {float(match[1]) * share:.2f}"

    files["jobs.events"] = re.sub(r"^-dt (\S+)", earlier, files["jobs.events"], flags=re.MULTILINE)


def _further_words(files: dict[str, str], draws: Draws, planned: bool) -> None:
    """Options of jobs and of the scheduler that are new, or seldom."""
    components = 0.08 if planned and draws.often(0.25) else 0.0
    arrays, lines = 0.1 if draws.often(0.4) else 0.0, []
    for line in files["jobs.events"].splitlines():
        words = []
        if "--array" not in line and draws.often(arrays):
            words.append("--array=" + draws.one("1,4-6", "0-8:4%1", "2,3,7%2", "0-30%3", "0-12"))
        elif draws.often(components) and "--array" not in line:
            words += [
                f": {size}" for size in draws.sample(("-n 1", "-n 2 -t 2", "-N 1 -n 1 -t 5", "-n 3"), draws.one(1, 2))
            ]
        else:
            words += draws.some(0.02, "-S 1", "-S 0", "--use-min-nodes", "--threads-per-core=1", "-O", "--contiguous")
            words += draws.some(0.02, "--ntasks-per-core=1", "--ntasks-per-socket=1", "--spread-job", "--switches=1@60")
            words += draws.some(0.02, "--prefer=x", "--requeue", "-B 1", "-m plane=2", "--exclusive=mcs", "--tmp=1")
        lines.append(line.replace(" job.sh", "".join(f" {word}" for word in words) + " job.sh"))
    files["jobs.events"] = "\n".join(lines) + "\n"
    options = draws.stated(0.1, bf_hetjob_prio=("MIN", "AVG", "MAX"), bf_max_time=(1, 20), bf_yield_interval=(100000,))
    options += draws.some(0.1, "bf_hetjob_immediate", "bf_busy_nodes", "bf_topopt_enable", "preempt_strict_order")
    options += draws.some(0.05, "enable_user_top", "nohold_on_prolog_fail", "max_array_tasks=4")
    conf = files["slurm.conf"]
    if options:
        added = f"SchedulerParameters={','.join(options)}"
        conf = (
            conf.replace("SchedulerParameters=", f"{added},") if "SchedulerParameters=" in conf else f"{conf}{added}\n"
        )
    files["slurm.conf"] = conf


def _topology(files: dict[str, str], draws: Draws) -> None:
    """Switches, one or two levels of them, or blocks."""
    ranges = re.findall(r"^NodeName=([a-z])\[1-(\d+)\]", files["slurm.conf"], flags=re.MULTILINE)
    nodes = [f"{letter}{number}" for letter, last in ranges for number in range(1, int(last) + 1)]
    size = draws.one(1, 2, 4, 8)
    groups = [",".join(nodes[first : first + size]) for first in range(0, len(nodes), size)]
    if draws.often(0.25):
        files["slurm.conf"] += "TopologyPlugin=topology/block\n"
        lines = [f"BlockName=b{number} Nodes={group}" for number, group in enumerate(groups)]
        lines.append(f"BlockSizes={min(group.count(',') + 1 for group in groups)}")
    else:
        files["slurm.conf"] += "TopologyPlugin=topology/tree\n"
        files["slurm.conf"] += draws.one("", "", "TopologyParam=Dragonfly\n", "TopologyParam=TopoOptional\n")
        lines = [f"SwitchName=s{number} Nodes={group}" for number, group in enumerate(groups)]
        half = max(1, len(groups) // 2)
        parts = [range(half), range(half, len(groups))] if draws.often(0.5) else [range(len(groups))]
        parts = [part for part in parts if part]
        for number, part in enumerate(parts):
            lines.append(f"SwitchName=t{number} Switches={','.join(f's{each}' for each in part)}")
        if len(parts) > 1 and draws.often(0.8):
            lines.append(f"SwitchName=u Switches={','.join(f't{number}' for number in range(len(parts)))}")
    files["topology.conf"] = "\n".join(lines) + "\n"


def _near_cores(files: dict[str, str], draws: Draws) -> None:
    """GPUs near the cores of one socket, jobs of several tasks with them, and some that have no other cores."""
    lines = []
    kinds = re.compile(r"^NodeName=(\S+) .*Sockets=2 CoresPerSocket=(\d+) .*Gres=gpu:(v:)?(\d+)", flags=re.MULTILINE)
    for nodes, cores, typed, gpus in kinds.findall(files["slurm.conf"]):
        first = draws.randint(0, int(gpus))
        for count, socket in ((first, 0), (int(gpus) - first, 1)):
            if count:
                near = f"Cores={socket * int(cores)}-{(socket + 1) * int(cores) - 1}"
                lines.append(f"NodeName={nodes} Name=gpu {'Type=v ' if typed else ''}Count={count} {near}")
    if not lines:
        return
    files["gres.conf"] = "\n".join(lines) + "\n"

    def larger(match: re.Match[str]) -> str:
        words = f"-n {draws.randint(1, 5)} {match[1]}" + draws.one("", "", " -c 2", " -N 1", " -N 1-2")
        return words + (" --gres-flags=enforce-binding" if draws.often(0.3) else "")

    files["jobs.events"] = re.sub(r"-n 1 (--(?:gres|gpus)=\S+)", larger, files["jobs.events"])


def _power_saving(files: dict[str, str], draws: Draws) -> None:
    """Nodes that are powered down when they are idle."""
    lines = ["SuspendProgram=/bin/true", "ResumeProgram=/bin/true", f"SuspendTime={draws.one(20, 60, 300)}"]
    lines += [f"SuspendTimeout={draws.one(5, 30)}", f"ResumeTimeout={draws.one(30, 60, 120)}"]
    lines += draws.stated(0.3, SuspendRate=(1, 5), ResumeRate=(1, 5), SuspendExcParts=("p0",), SuspendExcNodes=("a1",))
    files["slurm.conf"] += "\n".join(lines) + "\n"


def _even(files: dict[str, str], draws: Draws) -> None:
    """All nodes have the same CPUs, mostly the same weight, and jobs have them whole."""
    conf, cpus = files["slurm.conf"], re.compile(r" CPUs=\S+ Sockets=\S+ CoresPerSocket=\S+ ThreadsPerCore=\d+")
    found = cpus.search(conf)
    assert found is not None
    conf = re.sub(r" (CoreSpecCount|LLN|MaxCPUsPerNode)=\S+", "", cpus.sub(found[0], conf))
    conf = re.sub(r" Weight=\d+", "", conf) if draws.often(0.8) else conf
    files["slurm.conf"] = re.sub(r"SelectType=.*\n(SelectTypeParameters=.*\n)?", "SelectType=select/linear\n", conf)


def _gang(files: dict[str, str], draws: Draws) -> None:
    """Jobs take turns on what they share, if they share it; none is preempted."""

    def shared(match: re.Match[str]) -> str:
        return f"{match[0]} OverSubscribe={draws.one('NO', 'FORCE:1', 'FORCE:2', 'YES:2')}"

    conf = re.sub(r" OverSubscribe=\S+", "", files["slurm.conf"].replace("PreemptMode=OFF\n", "PreemptMode=GANG\n"))
    files["slurm.conf"] = re.sub(r"^PartitionName=\S+", shared, conf, flags=re.MULTILINE)
