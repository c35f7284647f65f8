"""Small files of every kind that is read, each with the commands that read it."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from emulator.accounting import aside

Run = Callable[..., object]


@dataclass(frozen=True)
class Reader:
    """A file, and what reads it.

    Attributes:
        file: its name.
        form: how it is damaged; see :func:`tests.fuzz.mutations.mutated`.
        commands: command lines that read it; ``@`` is the folder with the file.
        content: the file; empty for one that a run left in ``folder``.
        folder: which of the folders that :func:`make_folders` makes lies beside it.
        beside: further files.
    """

    file: str
    form: str
    commands: tuple[str, ...]
    content: str = ""
    folder: str = ""
    beside: Mapping[str, str] | None = None


SWF = """\
; MaxProcs: 8
; UnixStartTime: 1000000000
; Note: cpu_use is average CPU time (field 6) over run time (field 4)
1 0 5 10 2 9.5 100 2 20 200 1 1 1 1 1 1 -1 -1
2 3 0 30 8 20 -1 8 40 -1 1 2 1 2 1 1 -1 -1
3 3 7 20 1 20 -1 1 20 -1 0 1 2 1 2 1 1 5
4 9 0 15 4 12 -1 4 60 -1 5 1 2 1 2 1 -1 -1
"""
COBALT = """\
01/18/2018 19:46:07;S;1;qtime=1516304757.0 Resource_List.nodect=512 Resource_List.walltime=01:00:00 start=1516304767.0 user=u
01/18/2018 19:47:07;E;1;qtime=1516304757.0 Resource_List.nodect=512 Resource_List.walltime=01:00:00 start=1516304767.0 end=1516304827.0
01/18/2018 19:48:07;S;2;qtime=1516304758.5 Resource_List.nodect=1024 Resource_List.walltime=00:30:00 start=1516304887.0
01/18/2018 19:49:07;E;2;qtime=1516304758.5 Resource_List.nodect=1024 Resource_List.walltime=00:30:00 start=1516304887.0 end=1516304947.0
"""
ALCF = """\
,job,user,project,state,gpu_num,cpu_num,node_num,submit_time,wait_time,run_time,wall_time,node_hour,new_status
0,1,77,88,0,0,8192.0,512.0,1535348017.0,10,60.0,3600.0,8882176.0,Pass
1,2,77,88,0,0,8192.0,1024.0,1535348020.5,0,600.0,3600.0,8882176.0,Failed
"""
EAGLE = """\
job_id,user,account,partition,qos,wallclock_req,nodes_req,processors_req,gpus_req,mem_req,submit_time,start_time,end_time,run_time,state,name
5,u,a,p,normal,3600.0,1,1,0,100.0,2019-01-01 08:00:00,2019-01-01 08:01:00,2019-01-01 08:11:00,600.0,COMPLETED,n
6,v,a,p,normal,600.0,1,2,0,50.0,2019-01-01 08:00:10,2019-01-01 08:11:00,2019-01-01 08:12:00,60.0,FAILED,n
"""
SACCT = """\
JobID|JobName|Partition|Account|User|Submit|Eligible|Start|End|Elapsed|State|ReqCPUS|ReqNodes|NNodes|Timelimit|ReqMem|NodeList|ExitCode|SubmitLine
7|a|p|lab|ann|2021-03-01T10:00:00|2021-03-01T10:00:00|2021-03-01T10:01:00|2021-03-01T10:02:40|00:01:40|COMPLETED|4|2|2|1-00:00:00|10M|n[1-2]|0:0|sbatch -n4 j.sh
7.batch|batch||lab||2021-03-01T10:01:00|2021-03-01T10:01:00|2021-03-01T10:01:00|2021-03-01T10:02:40|00:01:40|COMPLETED|2|1|1||||0:0|
8_1|b|p|lab|bob|2021-03-01T10:00:05|2021-03-01T10:00:05|2021-03-01T10:03:00|2021-03-01T10:04:00|00:01:00|TIMEOUT|1|1|1|00:01:00||n1|0:1|
8_2|b|p|lab|bob|2021-03-01T10:00:05|2021-03-01T10:00:05|Unknown|Unknown|00:00:00|PENDING|1|1|1|00:01:00|||0:0|
9|c|p|lab|ann|2021-03-01T10:00:09|2021-03-01T10:00:09|None|2021-03-01T10:05:00|00:00:00|CANCELLED by 0|1|1|1|UNLIMITED|||0:0|
"""
CONF = """\
ClusterName=here
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=limits
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=30,bf_window=1440,max_rpc_cnt=1
PriorityType=priority/multifactor
PriorityWeightAge=100
PriorityWeightFairshare=1000
PriorityWeightTRES=CPU=10
PriorityDecayHalfLife=1-0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
GresTypes=gpu
Licenses=lic:2
Include more.conf
NodeName=n[1-2] CPUs=2 RealMemory=1000 Gres=gpu:2 Feature=big
NodeName=n3 Sockets=1 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=2000 State=UNKNOWN
PartitionName=p Nodes=ALL Default=YES MaxTime=2-0 DefMemPerCPU=10
PartitionName=q Nodes=n[1-2] PriorityTier=2 AllowAccounts=lab
"""
MORE = "KillWait=5\nTopologyPlugin=topology/tree\nPreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n"
GRES = "NodeName=n[1-2] Name=gpu File=/dev/nvidia[0-1] Cores=0-1\n"
TOPOLOGY = "SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n3\nSwitchName=top Switches=s[1-2]\n"
DUMP = """\
# To edit this file start with a cluster line for the new cluster
Cluster - 'here':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'lab':Description='a: b':Organization='lab':GrpTRES=cpu=8:Fairshare=3
Parent - 'lab'
User - 'ann':DefaultAccount='lab':Fairshare=3:QOS='normal':MaxWallDuration=90
User - 'bob':DefaultAccount='lab':Fairshare=1:MaxJobs=2
"""
SCRIPT = """\
add qos cheap priority=10 UsageFactor=0.5 Flags=NoDecay,DenyOnLimit MaxWall=2-0
add account lab fairshare=60 GrpTRES=cpu=12,mem=4G
sacctmgr -i add user name=ann,bob account=lab fairshare=parent \\
    qos=normal,cheap
modify user ann where account=lab set MaxJobs=3 qos-=cheap
"""
EVENTS = """\
# jobs
-dt 0.50 -e submit_batch_job | -sim-walltime 50.00 --uid=ann -J a -N 1 -n 2 -t 0:02 -A lab a.job
-dt 10 -e submit_batch_job | -sim-walltime -1 -jid 7 --uid=bob -J b -n 4 -t 1 --gres=gpu:1 -p p,q -A lab b.job
-dt 12.25 -e submit_batch_job | -sim-walltime 30 --uid=ann -J c -a 1-3%2 -d afterok:7 -L lic:1 -A lab c.job
-dt 13 -e submit_batch_job | -sim-walltime 5 --uid=ann --mem=100 --begin=now+60 --nice=5 -C big -A lab d.job
"""
COMMANDS = """\
# second command
1 scontrol create reservation ReservationName=repair Nodes=n[1-2] StartTime=now+100 Duration=0:10 Users=root
5 scontrol update NodeName=n3 State=DRAIN
15 scancel 7
20.5 scontrol hold 8
30 scontrol update JobId=8 TimeLimit=5
40 scontrol release 8
50 scontrol update NodeName=n3 State=RESUME
"""
SCENARIO = """\
scenario: s
note: 'a note'
slurm_conf: |
  PriorityType=priority/basic
  SchedulerType=sched/backfill
  SelectType=select/cons_tres
  SelectTypeParameters=CR_CPU
  GresTypes=gpu
  NodeName=n[1-4] CPUs=2 Gres=gpu:2
  PartitionName=p Nodes=ALL Default=YES
gres_conf: |
  NodeName=n[1-4] Name=gpu File=/dev/x[0-1]
jobs:
- {name: A, id: 1, submit: 0.5, nodes: 3, time_limit: '2', run: 60, partition: 'p', exit_code: 2}
- {name: B, id: 2, submit: 1, run: 5, user: bin, sbatch: [-n1, -t5, --array=0-1], ignores_term: true}
- {name: C, id: 4, submit: 2, run: 5, time_limit: null, priority_requested: 7, sbatch: [--priority=7]}
sweep_phase: 12.5
actions:
- [5, scontrol hold 4]
- [6.5, "scontrol create reservation ReservationName=r Nodes=n[1-2] Users=root StartTime=now+60 Duration=5", made]
- [9, scontrol update NodeName=n4 State=DRAIN Reason=x]
"""
TIMELINE = """\
timeline:
  '1':
  - [0.6, {JobState: PENDING, Reason: None, Priority: '1', TimeLimit: '00:02:00'}]
  - [0.7, 'INFO {"JobState": "PENDING", "StartTime": 5}']
  - [0.9, {JobState: RUNNING, NodeList: 'n[1-3]'}]
  - [61.0, {JobState: FAILED}]
  '2':
  - [1.5, {JobState: RUNNING, NodeList: n4}]
queries:
- {at: 2.5, query: squeue -o '%i %j %P %t %r %C %D', out: "JOBID NAME PARTITION ST REASON CPUS NODES\\n1 A p R None 3 3\\n"}
- {at: 3.5, query: scontrol show reservation, out: 'ReservationName=r Nodes=n[1-2] State=INACTIVE'}
"""
EXPECTED = """\
expected:
  '1':
    name: A
    state: FAILED
    runs:
    - {start: 1, end: 61.5, end_state: FAILED, nodes: 'n[1-3]', alloc: 'n[1-3]:cpu0', partition: p, timelimit: '00:02:00'}
  B_0:
    name: B_0
    state: COMPLETED
    runs:
    - {start: 7, nodes: n4, alloc: 'n4:cpu0-1:mem0:gpu:1(IDX:0)'}
    reasons:
    - [1.3, Resources]
rejected:
- {name: D, at: 3.5, sbatch: [-N9], user: bin, error: 'sbatch: error: no'}
- {name: E, at: 3.6, sbatch: [-n0], error: 'no'}
cluster_events:
- [60.2, "   JOBID PARTITION     USER   PRIORITY       SITE        AGE\\n       1 p        root          1          0          0\\n"]
- [61.2, "  JOBID START_TIME NAME\\n  4 2024-01-01T00:00:00 C\\n"]
"""
KNOWN = """\
[[noise]]
scenario = "s"
job = "A"
what = "nodes"
reason = "r"

[[work]]
scenario = "s"
job = "B"
runs = [6, 15]
exits = [0, 1]
dies_in = 7
reason = "r"

[[clock]]
scenario = "s"
uptime = 9.4
second = 0.4
time_slice = 5
reason = "r"

[[action]]
scenario = "s"
at = 12.0
command = "scontrol release 4"
reason = "r"

[[open]]
scenario = "t"
reason = "r"
"""
EXPERIMENT = """\
[workload]
trace = "t.swf"
filter = "standard"
first_submit = 0.0

[slots]
SchedulerType = "sched/conservative"
PriorityType = "priority/wfp"
WalltimeType = "walltime/virtual"

[plugins."sched/conservative"]
compress = "never_later"

[plugins."walltime/virtual"]
error = 0.5

[simulation]
processors = 8
passes = "event"
kill_at_limit = true
seed = 3

[preemption]
mode = "CHECKPOINT"
interval = 3600
cost = 5.0
"""
CAMPAIGN = """\
[campaign]
repetitions = 2
metrics = ["mean_wait"]
baseline = "EASY"

[workloads.file]
trace = "t.swf"
processors = 8

[workloads.model]
model = "lublin99"
jobs = 20
processors = 16
load = { from = 0.5, to = 0.9, step = 0.2 }

[policies]
EASY = ["sched/easy"]

[policies.history]
use = ["sched/easy", "walltime/history"]
plugins."walltime/history".percentile = [70, 85]

[policies."PV-EASY"]
config = "papers/pv_easy"

[policies.site]
slurm_conf = "slurm.conf"
set.SchedulerParameters.bf_interval = [10, 30]
"""
SMALL_CAMPAIGN = '[workloads.file]\ntrace = "t.swf"\n\n[policies]\nEASY = ["sched/easy"]\nFCFS = ["sched/fcfs"]\n'
BLOCKS = """\
midplanes = 4
nodes_per_midplane = 2
[[block]]
name = "half"
midplanes = "0-1"
[[block]]
name = "rest"
midplanes = [2, 3]
[[block]]
name = "all"
midplanes = "0-3"
"""
PARTITIONS = """\
<?xml version='1.0' encoding='UTF-8'?>
<BG>
<Partition name="one"><NodeCard id="R00-M0-N00"/><NodeCard id="R00-M0-N01"/><Switch id="X"/></Partition>
<Partition name="two"><NodeCard id="R00-M1-N00"/><NodeCard id="R00-M1-N01"/></Partition>
<Partition name="both"><NodeCard id="R00-M0-N00"/><NodeCard id="R00-M0-N01"/><NodeCard id="R00-M1-N00"/><NodeCard id="R00-M1-N01"/></Partition>
</BG>
"""
PROBLEM = """\
bound = 1.1
least_part = 0.2

[machine]
processors = 4

[[job]]
id = 1
submit = 0
run = 10
size = 4
checkpoint = 2

[[job]]
id = 2
submit = 5
run = 10
size = 2
realtime = true
limit = 20
"""
JANN = """\
source = "log"

[[range]]
sizes = [1, 2]
jobs = [30, 20]
[range.gaps]
order = 1
share = 0.1
first = 700.0
second = 390.0
matched = 3
[range.runs]
order = 4
share = 0.5
first = 800.0
second = 97.5
matched = 3
"""
BASIC = (
    CONF.replace("AccountingStorageEnforce=limits\n", "")
    .replace("Include more.conf\n", "")
    .replace("AccountingStorageType=accounting_storage/slurmdbd\n", "")
)
SITE = {"slurm.conf": CONF, "more.conf": MORE, "gres.conf": GRES, "topology.conf": TOPOLOGY}
JOBS = {"jobs.events": EVENTS, "accounts": SCRIPT}
ALL = {**SITE, **JOBS}
SLURM = "run @/jobs.events --slurm-conf @/slurm.conf --accounts @/accounts --json"
VIEWS = (
    "squeue @ --at {} --states all",
    "sinfo @ --at {} -N -l",
    "sacct @ --at {}",
    "sprio @ --at {} -l",
    "sshare @ --at {} -a -l",
)
VIEWS = tuple(one.format(at) for one in VIEWS for at in ("60", "600")) + tuple(
    one.partition(" --at")[0] + " --json" for one in VIEWS
)
RUN = (
    *("diff @ @", "fairness @ --processes 1 --no-progress --json", "explain @ 2 --json") * 3,
    "report @ --to @/../report.html",
)
SLURM_RUN = ("diff @ @", "report @ --to @/../report.html")

READERS: dict[str, Reader] = {
    "swf": Reader(
        "t.swf",
        "text",
        (
            "trace info @/t.swf --json",
            "run @/t.swf --json",
            "run @/t.swf --scheduler sched/two_tier --execution execution/two_tier --json",
            "run @/t.swf --scheduler sched/conservative --malformed drop --json",
            "walltime evaluate @/t.swf --json --windows 1m --keys user --percentiles 95 --min-jobs 1 --no-progress",
        ),
        SWF,
    ),
    "cobalt": Reader(
        "m.cobalt.log",
        "text",
        ("trace info @/m.cobalt.log --json", "run @/m.cobalt.log --processors 49152 --json"),
        COBALT,
    ),
    "alcf": Reader("m.csv", "text", ("trace info @/m.csv --json", "run @/m.csv --processors 49152 --json"), ALCF),
    "eagle": Reader(
        "e.csv",
        "text",
        ("trace info @/e.csv --json", "replay @/e.csv --slurm-conf @/slurm.conf --json"),
        EAGLE,
        beside={"slurm.conf": BASIC},
    ),
    "sacct": Reader(
        "d.sacct",
        "text",
        (
            "trace info @/d.sacct --json",
            "replay @/d.sacct --slurm-conf @/slurm.conf --json",
            "replay @/d.sacct --slurm-conf @/slurm.conf --json --malformed drop",
        ),
        SACCT,
        beside={"slurm.conf": BASIC},
    ),
    "slurm.conf": Reader("slurm.conf", "text", ("conf check @/slurm.conf --json", SLURM), CONF, beside=ALL),
    "include": Reader("more.conf", "text", ("conf check @ --json", SLURM), MORE, beside=ALL),
    "gres.conf": Reader("gres.conf", "text", ("conf check @ --json", SLURM), GRES, beside=ALL),
    "topology.conf": Reader("topology.conf", "text", ("conf check @ --json", SLURM), TOPOLOGY, beside=ALL),
    "sacctmgr dump": Reader("accounts", "text", (SLURM,), DUMP, beside=ALL),
    "sacctmgr script": Reader("accounts", "text", (SLURM,), SCRIPT, beside=ALL),
    "events": Reader("jobs.events", "text", (SLURM,), EVENTS, beside=ALL),
    "commands": Reader("commands", "text", (f"{SLURM} --commands @/commands",), COMMANDS, beside=ALL),
    "node events": Reader(
        "nodes",
        "text",
        (f"{SLURM} --operation node_events=@/nodes",),
        "# s n state\n5 n[1-2] DOWN disk\n30 n1 UP\n",
        beside=ALL,
    ),
    "groups": Reader(
        "groups", "text", (f"{SLURM} --operation groups=@/groups",), "a:x:1:ann,bob\nc:x:2:1:::\n", beside=ALL
    ),
    "node events of sacctmgr": Reader(
        "nodes",
        "text",
        ("replay @/d.sacct --slurm-conf @/slurm.conf --operation node_events=@/nodes --json",),
        "NodeName|TimeStart|TimeEnd|State|Reason\nn1|2021-03-01T10:01:30|2021-03-01T10:03:20|DOWN*|x\n"
        "n2|2021-03-01T10:02:00|Unknown|DRAIN|y\n",
        beside={"slurm.conf": BASIC, "d.sacct": SACCT},
    ),
    "timeline": Reader("s.yaml", "yaml", ("truth @/s.yaml --json", "truth @"), SCENARIO + TIMELINE),
    "expected": Reader("s.yaml", "yaml", ("truth @/s.yaml --json", "truth @"), SCENARIO + EXPECTED),
    "known": Reader(
        "known.toml",
        "toml",
        ("truth @/s.yaml --known @/known.toml --json",),
        KNOWN,
        beside={"s.yaml": SCENARIO + TIMELINE},
    ),
    "experiment": Reader("e.toml", "toml", ("run --experiment @/e.toml --json",), EXPERIMENT, beside={"t.swf": SWF}),
    "campaign": Reader(
        "c.toml",
        "toml",
        ("campaign run @/c.toml --dry-run --out @/out",),
        CAMPAIGN,
        beside={"t.swf": SWF, "slurm.conf": BASIC},
    ),
    "blocks": Reader(
        "b.toml",
        "toml",
        (
            "run @/t.swf --scheduler sched/realtime --preempt preempt/realtime --select select/blocks --set select/blocks.file=@/b.toml --json",
        ),
        BLOCKS,
        beside={"t.swf": SWF},
    ),
    "partitions": Reader(
        "b.xml",
        "text",
        (
            "run @/t.swf --scheduler sched/realtime --preempt preempt/realtime --select select/blocks --set select/blocks.file=@/b.xml --processors 1024 --json",
        ),
        PARTITIONS,
        beside={"t.swf": SWF},
    ),
    "optimum": Reader(
        "p.toml", "toml", ("optimum @/p.toml --policy sched/easy --seconds 1 --picture @/p.png --json",), PROBLEM
    ),
    "jann97": Reader(
        "j.toml", "toml", ("trace generate @/out.swf --model jann97 --parameters @/j.toml --jobs 20",), JANN
    ),
    "run.toml": Reader("run.toml", "toml", RUN, folder="plain"),
    "events.jsonl": Reader("events.jsonl", "text", ("explain @ 2 --json", "explain @ 3"), folder="plain"),
    "records.parquet": Reader("records.parquet", "parquet", RUN, folder="plain"),
    "runs.parquet": Reader("runs.parquet", "parquet", RUN, folder="plain"),
    "stays.parquet": Reader(
        "stays.parquet",
        "parquet",
        (*("diff @ @", "fairness @ --processes 1 --no-progress --json") * 4, "report @ --to @/../report.html"),
        folder="tiers",
    ),
    "cluster.json": Reader("cluster.json", "json", VIEWS, folder="slurm"),
    "run.toml of Slurm": Reader("run.toml", "toml", VIEWS + SLURM_RUN, folder="slurm"),
    **{
        f"{name} of Slurm": Reader(
            name, "parquet", VIEWS + (SLURM_RUN if name in ("records.parquet", "runs.parquet") else ()), folder="slurm"
        )
        for name in (
            "records.parquet",
            "runs.parquet",
            "waits.parquet",
            "factors.parquet",
            "shares.parquet",
            "nodes.parquet",
        )
    },
    "snapshot": Reader("snapshot.json.gz", "snapshot", ("resume @ --no-progress --json",), folder="snapshot"),
    "run.toml of a snapshot": Reader("events.jsonl", "text", ("resume @ --no-progress --json",), folder="snapshot"),
    "campaign results": Reader(
        "", "json", ("campaign status @ --json", "campaign results @ --json"), folder="campaign"
    ),
}


def make_folders(where: Path, run: Run) -> None:
    """Make what commands leave, one of each kind."""
    _write(where, {**ALL, "t.swf": SWF, "c.toml": SMALL_CAMPAIGN})
    trace = str(where / "t.swf")
    run("run", trace, "--explain", "--out", str(where / "plain"), "--json", "--no-progress")
    tiers = ("--scheduler", "sched/two_tier", "--execution", "execution/two_tier")
    run("run", trace, *tiers, "--out", str(where / "tiers"), "--json", "--no-progress")
    run(*SLURM.replace("@", str(where)).split(), "--out", str(where / "slurm"), "--no-progress")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aside, "has_finished", lambda _: False)
        run("run", trace, "--out", str(where / "snapshot"), "--snapshot-every", "2", "--json", "--no-progress")
    run("campaign", "run", str(where / "c.toml"), "--processes", "1", "--out", str(where / "campaign"), "--no-progress")


def lay_out(reader: Reader, where: Path, folders: Path) -> None:
    """Make a folder with the reader's file and what lies beside it."""
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(where)
    if reader.folder:
        shutil.copytree(folders / reader.folder, where)
        return
    where.mkdir()
    _write(where, {**(reader.beside or {}), reader.file: reader.content})


def _write(where: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (where / name).write_text(text, encoding="utf-8")
