"""Random scenarios with what those of ``scenarios.py`` lack, for a real Slurm: more jobs, and words that are seldom.

``scenarios.py`` stays as it is, for what was found is known by its seeds. Here are whole nodes and sockets counted,
switches, GPUs near cores, options of the loops, limits of partitions and QOS, times of grace, scripts of the operation,
and the options of job scripts about sockets, GPUs, switches and features.
"""

from __future__ import annotations

import re
from typing import Any

from .clusters import Draws, Kind
from .scenarios import HET_JOBS, QOS, USERS, Scene


def wider_of(seed: int, het_jobs: float = HET_JOBS) -> dict[str, Any]:
    """The wider scenario of a seed, as it stands in a file: the same seed gives the same.

    Args:
        seed: of the scenario.
        het_jobs: the share of jobs that are heterogeneous.
    """
    return WiderScene(Draws(f"wider {seed}"), Draws(f"wider components {seed}"), het_jobs).scenario(f"wide_{seed}")


class WiderScene(Scene):
    """Draws one scenario, as ``Scene`` does."""

    def scenario(self, name: str) -> dict[str, Any]:
        """The whole document."""
        made = super().scenario(name)
        near = self._near_cores()
        made |= {"gres_conf": near} if near else {}
        made |= {"topology_conf": self._switches()} if "topology/tree" in made["slurm_conf"] else {}
        scripts = self.draws.stated(0.08, prolog=(2, 4), epilog=(3, 6))
        operation = dict[str, int]()
        for word in scripts:
            key, _, seconds = word.partition("=")
            operation[key] = int(seconds)
        return made | ({"operation": operation} if operation else {})

    def _kinds(self) -> list[Kind]:
        """Nodes as ever, and more of them; some say more about themselves."""
        kinds = super()._kinds()
        for kind in kinds:
            count = len(kind.names) + self.draws.one(0, 0, 1, 2)
            letter = kind.names[0][0]
            kind.names[:] = [f"{letter}{number}" for number in range(1, count + 1)]
            kind.line = re.sub(r"\[1-\d+\]", f"[1-{count}]", kind.line)
            kind.line += "".join(
                f" {word}" for word in self.draws.stated(0.06, CoreSpecCount=(1,), MemSpecLimit=(100,))
            )
            if "CoreSpecCount" in kind.line and kind.cpus < 3:
                kind.line = kind.line.replace(" CoreSpecCount=1", "")
        return kinds

    def _conf(self) -> str:
        draws, conf = self.draws, super()._conf()
        if draws.often(0.1):
            conf = re.sub(r"SelectType=.*\nSelectTypeParameters=.*\n", "SelectType=select/linear\n", conf)
            conf += "SelectTypeParameters=CR_Memory\n" * self.memory
        elif draws.often(0.1):
            conf = re.sub(r"CR_Core|CR_CPU", "CR_Socket", conf)
        if draws.often(0.2):
            conf += "TopologyPlugin=topology/tree\n"
        options = self._loops()
        if options:
            added = f"SchedulerParameters={','.join(options)}"
            conf = conf.replace("SchedulerParameters=", f"{added},") if "SchedulerParameters=" in conf else conf + added
        lines = draws.stated(
            0.1, KillWait=(2, 30), PriorityMaxAge=("0:05:00",), DependencyParameters=("kill_invalid_depend",)
        )
        lines += draws.stated(0.1, JobRequeue=(0,), MaxArraySize=(4,), CompleteWait=(4,))
        if self.preempt != "none":
            lines += draws.stated(
                0.2, PreemptExemptTime=("00:00:20",), PreemptParameters=("strict_order", "youngest_first")
            )
            lines += draws.stated(0.3, SchedulerTimeSlice=(5, 30))
        if "multifactor" in conf:
            lines += draws.stated(0.3, PriorityWeightAge=(1000, 100000), PriorityFlags=("ACCRUE_ALWAYS", "MAX_TRES"))
            lines += draws.stated(0.2, PriorityWeightAssoc=(1000,))
        stated = {line.partition("=")[0] for line in conf.splitlines()}
        lines = [line for line in lines if line.partition("=")[0] not in stated]
        return "\n".join([conf.rstrip("\n"), *lines]) + "\n"

    def _loops(self) -> list[str]:
        """Options of the two loops."""
        draws = self.draws
        words = draws.stated(0.06, bf_resolution=(1, 300), default_queue_depth=(2, 5), partition_job_depth=(2,))
        words += draws.stated(
            0.06, bf_max_job_start=(1,), bf_max_job_part=(2,), bf_max_job_assoc=(2,), bf_window_linear=(60,)
        )
        words += draws.stated(0.06, sched_interval=(7, 20), sched_max_job_start=(1,), bf_min_prio_reserve=(10,))
        words += draws.stated(0.06, bf_max_job_array_resv=(1,), bf_max_job_user_part=(1,), bf_max_time=(2,))
        return words + draws.some(
            0.05, "assoc_limit_stop", "bf_licenses", "bf_running_job_reserve", "ignore_prefer_validation"
        )

    def _partitions(self) -> list[str]:
        draws, lines = self.draws, []
        for line in super()._partitions():
            words = draws.stated(0.06, MinNodes=(2,), MaxCPUsPerSocket=(2,), ExclusiveUser=("YES",))
            words += draws.stated(0.2 if self.preempt != "none" else 0, GraceTime=(10, 20))
            words += draws.stated(0.12, PreemptMode=("OFF", "REQUEUE")) if self.preempt == "partition_prio" else []
            words += draws.stated(0.1, QOS=("high", "low"), AllowQos=("normal,high",)) if self.accounts else []
            words += draws.stated(0.06, DefMemPerNode=(500,), MaxMemPerCPU=(800,)) if self.memory else []
            if "DefMemPerCPU" in line:
                words = [word for word in words if "DefMem" not in word]
            lines.append(" ".join([line, *words]))
        return lines

    def _switches(self) -> str:
        """One level of switches, or two."""
        nodes = [name for kind in self.kinds for name in kind.names]
        size = self.draws.one(1, 2, 2, 3)
        groups = [",".join(nodes[first : first + size]) for first in range(0, len(nodes), size)]
        lines = [f"SwitchName=s{number} Nodes={group}" for number, group in enumerate(groups)]
        return "\n".join([*lines, f"SwitchName=top Switches={','.join(f's{at}' for at in range(len(groups)))}"]) + "\n"

    def _near_cores(self) -> str:
        """GPUs near the cores of one socket, on some nodes of two; then the others' devices are said there, too."""
        draws, lines, others = self.draws, list[str](), list[str]()
        for kind in self.kinds:
            sockets = re.search(r"Sockets=2 CoresPerSocket=(\d+)", kind.line)
            typed = "Type=v " if "gpu:v" in kind.line else ""
            if not sockets or not kind.gpus or "shard" in kind.line or not draws.often(0.6):
                others += self._devices(kind, typed)
                continue
            cores, first = int(sockets[1]), draws.randint(0, kind.gpus)
            for begin, count, socket in ((0, first, 0), (first, kind.gpus - first, 1)):
                if count:
                    near = f"Cores={socket * cores}-{(socket + 1) * cores - 1}"
                    lines.append(f"NodeName={','.join(kind.names)} Name=gpu {typed}{_files(begin, count)} {near}\n")
        return "".join([*lines, *others] if lines else [])

    def _devices(self, kind: Kind, typed: str) -> list[str]:
        """Lines about what a kind of nodes has."""
        shards = re.search(r"shard:(\d+)", kind.line)
        names = ",".join(kind.names)
        lines = [f"NodeName={names} Name=gpu {typed}{_files(0, kind.gpus)}\n"] if kind.gpus else []
        return lines + ([f"NodeName={names} Name=shard Count={shards[1]}\n"] if shards else [])

    def _sacctmgr(self) -> list[str]:
        draws, commands = self.draws, super()._sacctmgr()
        more = []
        if draws.often(0.3):
            limit = draws.one("GrpSubmitJobs=3", "MaxSubmitJobs=2", "GrpWall=5", "MaxTRES=cpu=2", "GrpTRESMins=cpu=20")
            more.append(f"modify user {draws.one(*USERS)} set {limit}")
        if draws.often(0.3):
            limit = draws.one(
                "GrpTRES=node=1", "MaxTRESPerJob=cpu=2", "MinTRESPerJob=cpu=2", "MaxJobsPA=1", "Flags=NoReserve"
            )
            more.append(f"modify qos {draws.one(*QOS)} set {limit}")
        if self.preempt == "qos" and draws.often(0.4):
            more.append("modify qos low set " + draws.one("PreemptMode=cancel", "PreemptMode=requeue", "GraceTime=15"))
        if draws.often(0.4):
            more.append(f"modify account {draws.one('red', 'blue')} set Fairshare={draws.one(2, 10)}")
        return [*commands, *(f"sacctmgr -i {command}" for command in more)]

    def _jobs(self) -> list[dict[str, Any]]:
        """Jobs as ever, and as many again behind them."""
        jobs = super()._jobs()
        last = max(job["id"] + job["sbatch"].count(":") for job in jobs)
        at = jobs[-1]["submit"] + 5
        if self.draws.often(0.8):
            for number, job in enumerate(super()._jobs(), len(jobs) + 1):
                words = [word if not word.startswith("-d") else _later(word, last) for word in job["sbatch"]]
                jobs.append(
                    job
                    | {"name": f"J{number}", "id": job["id"] + last, "sbatch": words}
                    | {"submit": round(job["submit"] + at, 1)}
                )
        return jobs

    def _request(self, number: int) -> list[str]:
        draws, words = self.draws, super()._request(number)
        words += draws.some(0.02, "--contiguous", "--spread-job", "--use-min-nodes", "--exclusive=user", "--no-kill")
        words += draws.some(
            0.02, "--switches=1", "--switches=1@00:00:30", "--ntasks-per-core=1", "--threads-per-core=1"
        )
        words += draws.stated(0.02, **{"--mincpus": (2,), "--ntasks-per-socket": (1, 2), "--prefer": ("x", "y")})
        words += draws.stated(
            0.015, **{"--core-spec": (1,), "--deadline": ("now+90", "now+180"), "--signal": ("TERM@20",)}
        )
        words += draws.some(0.02, "--dependency=singleton") if not any(word.startswith("-d") for word in words) else []
        features = [feature for kind in self.kinds for feature in kind.features]
        if features and draws.often(0.08) and not any(word.startswith("-C") for word in words):
            one, other = draws.one(*features), draws.one(*features)
            words.append(
                draws.one(f"-C{one}|{other}", f"-C{one}&{other}", f"-C[{one}|{other}]", f"-C[{one}*1&{other}*1]")
            )
        if any(word.startswith(("--gres=gpu", "--gpus")) for word in words) and draws.often(0.6):
            words = self._by_gpus([word for word in words if not word.startswith(("--gres=gpu", "--gpus"))])
        return words

    def _by_gpus(self, words: list[str]) -> list[str]:
        """GPUs asked for in other words."""
        draws = self.draws
        most = max(kind.gpus for kind in self.kinds)
        few = draws.randint(1, most)
        asked = draws.one(
            [f"--gpus-per-node={few}"],
            ["--gpus-per-task=1"],
            [f"--gpus={draws.randint(1, 2 * most)}"],
            [f"--gpus={few}", f"--cpus-per-gpu={draws.randint(1, 2)}"],
            [f"--gres=gpu:{few}", f"--mem-per-gpu={draws.one(200, 400)}"],
            [f"--gpus={few}", "--ntasks-per-gpu=1"],
            [f"--gpus-per-socket={draws.one(1, 2)}", "--sockets-per-node=1"],
            [f"--gres=gpu:{few}", f"--gres-flags={draws.one('enforce-binding', 'disable-binding')}"],
        )
        if any(word.startswith(("--cpus-per-gpu", "--ntasks-per-gpu")) for word in asked):
            words = [word for word in words if not re.match(r"-c|-n|--ntasks-per-node", word)]
        if any(word.startswith("--mem-per-gpu") for word in asked):
            words = [word for word in words if not word.startswith("--mem")]
        return words + asked

    def _actions(self, jobs: list[dict[str, Any]]) -> list[list[Any]]:
        draws, actions = self.draws, super()._actions(jobs)
        last = jobs[-1]["submit"] + 30
        names = [name for kind in self.kinds for name in kind.names]
        for _ in range(draws.one(0, 0, 0, 1, 1, 2)):
            job, node, part = draws.one(*jobs), draws.one(*names), draws.one(*self.partitions)
            at = round(min(job["submit"] + draws.uniform(5, 60), last), 1)
            later = round(at + draws.uniform(15, 40), 1)
            change = draws.one(
                "NumNodes=1", "TimeLimit=+3", "ReqNodeList=" + node, "Features=x", "NumTasks=2", "MinMemoryNode=300"
            )
            bound = draws.one("MaxTime=2", "MaxNodes=1", "PriorityTier=5")
            reserved = f"StartTime=now+30 Duration=1 Nodes={node} Users=root"
            actions += draws.one(
                [
                    [at, f"scontrol update NodeName={node} State=DOWN Reason=test"],
                    [later, f"scontrol update NodeName={node} State=RESUME"],
                ],
                [
                    [at, f"scontrol update PartitionName={part} State={draws.one('DOWN', 'DRAIN', 'INACTIVE')}"],
                    [later, f"scontrol update PartitionName={part} State=UP"],
                ],
                [[at, f"scontrol requeuehold {job['id']}"], [later, f"scontrol release {job['id']}"]],
                [[at, f"scontrol update JobId={job['id']} {change}"]],
                [
                    [
                        at,
                        f"scontrol update PartitionName={part} {bound}",
                    ]
                ],
                [[at, f"scontrol update NodeName={node} Weight={draws.one(1, 50)}"]],
                [[at, f"scancel --state=PENDING --partition={part}"]],
                [
                    [
                        at,
                        f"scontrol create reservation ReservationName=r2 {reserved}",
                    ]
                ],
            )
        return sorted(actions)


def _files(first: int, count: int) -> str:
    """A real Slurm counts the files of GPUs."""
    return f"Count={count} File=/dev/gpu[{first}-{first + count - 1}]"


def _later(word: str, by: int) -> str:
    """A dependency on a job whose number is larger by that much."""
    kind, _, number = word.rpartition(":")
    return f"{kind}:{int(number) + by}" if number.isdigit() else word
