"""Job scripts as they stand: what is read of them, and what a cluster makes of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from emulator import simulate
from emulator.cli import slurm_sim
from emulator.config.slurm import parse_slurm_conf
from emulator.engine.controller import Controller
from emulator.operator.test_only import Verdict, judge
from emulator.workload.job_script import check_script, sbatch_words, unread_directives
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import OPTIONS, BatchOptions, parse_sbatch
from emulator.workload.sbatch_unused import not_emulated

CONF = """
ClusterName=c
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
NodeName=a[1-2] Sockets=2 CoresPerSocket=8 RealMemory=64000 Feature=big
NodeName=g[1-3] Sockets=2 CoresPerSocket=8 RealMemory=64000 Gres=gpu:v100:4 Feature=fast
PartitionName=p Nodes=ALL Default=YES MaxTime=1-0 DefMemPerCPU=1000
"""


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("#!/bin/bash\n#SBATCH -N 2\n\n# note\n#SBATCH --mem=4G\nsrun x\n#SBATCH -n 9\n", ["-N", "2", "--mem=4G"]),
        ("#SBATCH -n 4 # don't split\n#SBATCH\t-c2\n", ["-n", "4", "-c2"]),
        ("#SBATCH -J \"a b\" -A 'c d'\n#SBATCH -o x#y\n", ["-J", "a b", "-A", "c d", "-o", "x#y"]),
        ("##SBATCH -n 4\n# SBATCH -n 4\n#SBATCHES -n 4\n#sbatch -n 4\n#PBS -l x\n", []),
        ("#SBATCH --mem=2G\\\\ # all\n", ["--mem=2G\\"]),
    ],
)
def test_directives_before_the_first_command_count(script: str, words: list[str]) -> None:
    assert sbatch_words(script) == [words]


def test_directives_of_other_systems_are_named() -> None:
    script = "#!/bin/sh\n#PBS -l nodes=2:ppn=8\n#SBATCH -n2\n#BSUB -n 8\nhostname\n#PBS -q x\n"
    assert unread_directives(script).startswith("2 lines of #PBS or #BSUB (first: line 2) have no effect")
    assert judge(script, parse_slurm_conf(CONF)).notes == (unread_directives(script),)
    assert unread_directives(script.replace("-n2", "-n2 --ignore-pbs")) == ""
    assert unread_directives("#!/bin/sh\n#SBATCH -n2\nhostname\n#PBS -q x\n") == ""
    assert unread_directives("#!/bin/sh\n#PBSPro is gone\n#SBATCH -n2 # not --ignore-pbs\n") == ""
    assert unread_directives(script.replace("-n2", "-n2 # not --ignore-pbs")) != ""


def test_a_quote_that_does_not_end_names_its_line() -> None:
    with pytest.raises(ValueError, match=r"line 2: .*quote"):
        sbatch_words("#!/bin/sh\n#SBATCH -J 'x\n")


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ("--gpus-per-node=2 -N2 --mem=1G", Verdict("g[1-2]", 2, 2048, (("gpu:v100", 4),))),
        ("--gpus-per-task=1 -n5 --mem=1G", Verdict("g[1-2]", 5, 2048, (("gpu:v100", 5),))),
        ("--gpus=4 --cpus-per-gpu=4 --mem-per-gpu=1000", Verdict("g1", 16, 4000, (("gpu:v100", 4),))),
        ("--gpus=2 --ntasks-per-gpu=3", Verdict("g1", 6, 6000, (("gpu:v100", 2),))),
        ("--tres-per-task=cpu=2,gres/gpu:v100=1 -n3", Verdict("g1", 6, 6000, (("gpu:v100", 3),))),
        ("--gpus-per-socket=1 --sockets-per-node=2", Verdict("g1", 1, 1000, (("gpu:v100", 1),))),
        ("--gpus-per-socket=1 --sockets-per-node=2 -n3", Verdict("g1", 3, 3000, (("gpu:v100", 2),))),
        ("-n8 --ntasks-per-socket=2", Verdict("a[1-2]", 8, 8000)),
        (
            "-N2 --gpus=1",
            Verdict(reason="Failed to validate job spec, --gpus < -N\nInvalid generic resource (gres) specification"),
        ),
        (
            "--gpus=1 --cpus-per-gpu=2 -c2",
            Verdict(reason="--cpus-per-task, --tres-per-task=cpu:#, and --cpus-per-gpu are mutually exclusive"),
        ),
        (
            "--exclusive --oversubscribe -n2",
            Verdict(reason="--exclusive and --oversubscribe options are mutually exclusive"),
        ),
        *(
            (
                f"-n2 --gpus=2 --ntasks-per-gpu=1 {words}",
                Verdict(
                    reason=f"{words.split('=')[0]} is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU"
                ),
            )
            for words in ("--gpus-per-task=1", "--gpus-per-socket=1 --sockets-per-node=1", "--ntasks-per-node=1")
        ),
        ("--mincpus=10", Verdict("a1", 10, 10000)),
        ("-O -n40", Verdict("a1", 1, 1000)),
        ("--prefer=fast", Verdict("g1", 1, 1000)),
        ("-C big --prefer=fast", Verdict("g1", 1, 1000)),
        ("--threads-per-core=2", Verdict(reason="Requested node configuration is not available")),
        ("-n3 --spread-job", Verdict("a[1-2],g1", 3, 3000)),
        ("-N3 --contiguous -wa2", Verdict("a2,g[1-2]", 3, 3000)),
        ("-t 2-0", Verdict(reason="PartitionTimeLimit")),
        ("--switches=1@10:00", Verdict("a1", 1, 1000)),
    ],
)
def test_a_job_gets_what_it_asks_for(words: str, verdict: Verdict) -> None:
    assert judge(f"#!/bin/sh\n#SBATCH {words}\n", parse_slurm_conf(CONF)) == verdict


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("", "is empty"),
        (" \n", "contains only whitespace"),
        ("#SBATCH -n2\n", "does not look like a batch script"),
        ("#!/bin/sh\r\n#SBATCH -n2\r\n", "contains DOS line breaks"),
    ],
)
def test_what_is_no_script_is_refused(script: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check_script(script)


def test_memory_that_is_not_given_out_chooses_nodes() -> None:
    """Recorded from Slurm 22.05: a node with less is passed over."""
    conf = parse_slurm_conf(
        CONF.replace("CR_Core_Memory", "CR_Core").replace(
            "a[1-2] Sockets=2 CoresPerSocket=8 RealMemory=64", "a[1-2] Sockets=2 CoresPerSocket=8 RealMemory=2"
        )
    )
    assert judge("#SBATCH --mem=16000\n", conf).nodes == "g1"
    assert judge("#SBATCH --mem=2000\n", conf).nodes == "a1"


@pytest.mark.parametrize("scheduler", ["sched/easy", "sched/conservative"])
def test_gpus_of_tasks_and_neighbours_are_not_counted(scheduler: str) -> None:
    """Counts of nodes know neither: two jobs that want all GPUs do not run together."""
    conf = parse_slurm_conf(CONF + f"SchedulerType={scheduler}\n")
    options = parse_sbatch(["--gpus-per-task=1", "-n12", "-t5"])
    controller = Controller(conf, [JobRequest(number, 0.0, 60.0, options, "me") for number in (1, 2)], clock="ideal")
    controller.run(until=1000.0)
    starts = [controller.cluster.jobs[number].runs[0].start for number in (1, 2)]
    assert starts[1] - starts[0] == 60.0


def test_components_of_a_heterogeneous_job_have_nodes_of_their_own() -> None:
    conf = parse_slurm_conf(CONF)
    verdict = judge("#SBATCH -n2\n#SBATCH hetjob\n#SBATCH -n4 -Cfast\n", conf)
    assert (verdict.nodes, verdict.cpus, verdict.notes) == ("a1,g1", 6, ())
    assert judge("#SBATCH -n2\n#SBATCH hetjob\n#SBATCH -n400\n", conf).reason
    assert judge("#SBATCH -N3 -Cfast\n#SBATCH hetjob\n#SBATCH -n1 -Cfast\n", conf).reason == "Resources"


@pytest.mark.parametrize("minutes", [1, 5, 59, 600])
def test_a_limit_does_not_end_the_job_before_it_is_looked_at(minutes: int) -> None:
    assert judge(f"#SBATCH -n2 -t {minutes}\n", parse_slurm_conf(CONF)).nodes == "a1"


def test_the_command_judges_each_script(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "good.sh").write_text("#!/bin/sh\n#SBATCH -n2 --mail-type=END --out=x\nsrun x\n")
    (tmp_path / "bad.sh").write_text("#!/bin/sh\n#SBATCH --nodse=2\n")
    words = [
        "sbatch",
        str(tmp_path / "good.sh"),
        str(tmp_path / "bad.sh"),
        "--slurm-conf",
        str(tmp_path / "slurm.conf"),
    ]
    told = CliRunner().invoke(slurm_sim, words)
    assert told.exit_code == 3
    assert "good.sh: starts on a1 with 2 CPUs, 2000 MB" in told.output
    assert (
        "bad.sh: does not start: sbatch: 'nodse' is no option of sbatch that is known here (did you mean 'nodes'"
        in (told.output)
    )


@pytest.mark.parametrize(("version", "code"), [("22.05", 0), ("24.11", 3)])
def test_the_command_goes_by_a_version(version: str, code: int, tmp_path: Path) -> None:
    nodes = "NodeName=g CPUs=4 Gres=gpu:2\nPartitionName=p Nodes=g Default=YES\n"
    (tmp_path / "slurm.conf").write_text(f"SelectType=select/cons_tres\nGresTypes=gpu\n{nodes}")
    (tmp_path / "job.sh").write_text("#!/bin/sh\n#SBATCH --ntasks-per-node=2 --gpus-per-task=1\n")
    files = [str(tmp_path / "job.sh"), "--slurm-conf", str(tmp_path / "slurm.conf")]
    assert CliRunner().invoke(slurm_sim, ["sbatch", *files, "--slurm-version", version]).exit_code == code


ASIDE = {
    *("batch", "bcast", "consolidate-segments", "container-id", "cpu-bind", "environment", "extra", "network"),
    *("ntasks-per-board", "oom-kill-step", "prefer", "resv-ports", "segment", "spread-segments", "stepmgr"),
    *("tres-bind", "tres-per-task", "umask", "usage", "x11"),
}
"""Options of newer versions, or of srun."""


@pytest.mark.truth
@pytest.mark.skipif(shutil.which("sbatch") is None, reason="there is no Slurm here")
def test_a_real_sbatch_knows_the_same_options(tmp_path: Path) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text("ClusterName=c\nSlurmctldHost=localhost\nSlurmctldPort=1\nMessageTimeout=1\nNodeName=n\n")
    unknown = set()
    for name, option in OPTIONS.items():
        value = "=1" if option.value == "needed" else ""
        words = ["sbatch", "--test-only", f"--{name}{value}", "--wrap", "true"]
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=30, env={**os.environ, "SLURM_CONF": str(conf)}
        )
        if "unrecognized option" in done.stderr:
            unknown.add(name)
    assert unknown <= ASIDE


@pytest.mark.parametrize("name", ["err", "out", "cluster", "dep", "job"])
def test_a_name_may_be_cut_short(name: str) -> None:
    parse_sbatch([f"--{name}=singleton"])


def test_no_kill_of_components_is_named_and_that_of_other_jobs_is_not():
    together = JobRequest(1, 0.0, 10.0, BatchOptions(no_kill=True, components=(BatchOptions(),)))
    alone = JobRequest(5, 0.0, 10.0, BatchOptions(no_kill=True))
    assert [sentence.partition(" has no effect")[0] for sentence in not_emulated([together, alone])] == [
        "--no-kill of 1 jobs (first: job 1)"
    ]


@pytest.mark.parametrize(("select", "told"), [("select/linear", 1), ("select/cons_tres", 0)])
def test_that_select_linear_does_not_spread_jobs_is_told(
    select: str, told: int, caplog: pytest.LogCaptureFixture
) -> None:
    conf = parse_slurm_conf(f"SelectType={select}\nNodeName=n[1-2] CPUs=2\nPartitionName=p Nodes=ALL Default=YES\n")
    lines = ["-n2 --spread-job", "-n2", "-n1 --spread-job"]
    simulate([JobRequest(number, 0.0, 9.0, parse_sbatch(line.split())) for number, line in enumerate(lines, 1)], conf)
    said = "--spread-job of 2 jobs (first: job 1) has no effect: select/linear does not ask for it"
    assert caplog.messages.count(said) == told
