"""Random scenarios that a real Slurm can play: a small cluster and a few jobs, in the words of real job scripts.

Work is long and submissions lie apart beside Slurm's second, so that little is left to chance.
"""

from __future__ import annotations

from typing import Any

from .clusters import Draws, Kind

USERS = {"daemon": "red", "bin": "red", "mail": "blue", "games": "blue"}
"""Users of every machine, and their accounts."""
QOS = ("normal", "high", "low")
LICENSES = "Licenses=foo:3,bar:1"


HET_JOBS = 0.01
"""The share of jobs with components, as in job scripts that are to be found."""


def scenario_of(seed: int, het_jobs: float = HET_JOBS) -> dict[str, Any]:
    """The scenario of a seed, as it stands in a file: the same seed gives the same.

    Args:
        seed: of the scenario.
        het_jobs: the share of jobs that are heterogeneous; all else is the same whatever it is.
    """
    return Scene(Draws(seed), Draws(f"components {seed}"), het_jobs).scenario(f"fuzz_{seed}")


class Scene:
    """Draws one scenario; what is drawn first is kept for what comes later.

    Args:
        draws: for all but components.
        components: for these.
        het_jobs: the share of jobs that have some.
    """

    def __init__(self, draws: Draws, components: Draws, het_jobs: float) -> None:
        self.draws, self.components, self.het_jobs = draws, components, het_jobs
        self.kinds = self._kinds()
        self.accounts = draws.often(0.25)
        self.memory = draws.often(0.5)
        self.preempt = draws.one("none", "none", "none", "partition_prio", "partition_prio", "qos")
        if self.preempt == "qos" and not self.accounts:
            self.preempt = "none"
        self.mode = draws.one("REQUEUE", "CANCEL", "SUSPEND,GANG") if self.preempt != "none" else "OFF"
        self.partitions: dict[str, list[Kind]] = {}
        self.licensed = draws.often(0.15)
        self.reserved = draws.often(0.12)

    def _kinds(self) -> list[Kind]:
        """Nodes of one or two kinds; mostly with as many threads a core on all."""
        draws, kinds = self.draws, []
        threads, typed = draws.one(1, 1, 2), draws.often(0.3)
        for letter in "ab"[: draws.one(1, 1, 2)]:
            sockets, cores, count = draws.one(1, 1, 2), draws.one(1, 2, 4), draws.randint(1, 3)
            own = threads if draws.often(0.9) else draws.one(1, 2)
            cpus, features = sockets * cores * own, draws.some(0.3, "x", "y", "z")
            memory, gpus = cpus * draws.one(500, 1000, 2000), draws.one(1, 2, 4) if draws.often(0.3) else 0
            words = [f"NodeName={letter}[1-{count}] CPUs={cpus} Sockets={sockets} CoresPerSocket={cores}"]
            words += [f"ThreadsPerCore={own} RealMemory={memory}"]
            words += [f"Feature={','.join(features)}"] if features else []
            words += draws.stated(0.3, Weight=(1, 2, 10))
            shares = f",shard:{gpus * draws.randint(2, 4)}" if gpus and draws.often(0.3) else ""
            words += [f"Gres=gpu:{'v:' if typed else ''}{gpus}{shares}"] if gpus else []
            names = [f"{letter}{number}" for number in range(1, count + 1)]
            kinds.append(Kind(names, cpus, memory, features, gpus, " ".join(words)))
        return kinds

    def scenario(self, name: str) -> dict[str, Any]:
        """The whole document."""
        made: dict[str, Any] = {"scenario": name, "note": "drawn", "slurm_conf": self._conf()}
        if self.accounts:
            made["sacctmgr"] = self._sacctmgr()
        made["jobs"] = self._jobs()
        actions = self._actions(made["jobs"])
        return made | ({"actions": actions} if actions else {})

    def _conf(self) -> str:
        draws = self.draws
        counted = draws.one("CR_Core", "CR_Core", "CR_CPU") + ("_Memory" if self.memory else "")
        words = [counted, *draws.some(0.08, "CR_LLN", "CR_Pack_Nodes")]
        lines = ["SelectType=select/cons_tres", f"SelectTypeParameters={','.join(words)}", "KillWait=5"]
        lines += [f"PreemptType=preempt/{self.preempt}", f"PreemptMode={self.mode}"]
        lines += draws.stated(0.5 if self.preempt != "none" else 0, AuthInfo=("cred_expire=20",))
        options = draws.stated(0.4, bf_interval=(5, 10)) + draws.stated(0.1, bf_max_job_test=(3,), bf_window=(60,))
        options += draws.stated(0.08, bf_job_part_count_reserve=(1,), bf_max_job_user=(2,), bf_min_age_reserve=(30,))
        options += draws.some(0.1, "bf_continue", "bf_busy_nodes", "pack_serial_at_end", "bf_one_resv_per_job", "defer")
        lines += [f"SchedulerParameters={','.join(options)}"] if options else []
        lines += ["SchedulerType=" + draws.one(*["sched/backfill"] * 7, "sched/builtin")]
        lines += self._priority()
        shared = any("shard" in kind.line for kind in self.kinds)
        lines += ["GresTypes=gpu" + ",shard" * shared] * any(kind.gpus for kind in self.kinds)
        lines += [LICENSES] * self.licensed
        lines += draws.stated(0.15, EnforcePartLimits=("ALL",), DefMemPerCPU=(100, 300), OverTimeLimit=(1,))
        if self.accounts:
            lines += ["AccountingStorageType=accounting_storage/slurmdbd", "AccountingStorageEnforce=limits,qos"]
        lines += [kind.line for kind in self.kinds]
        return "\n".join([*lines, *self._partitions()]) + "\n"

    def _priority(self) -> list[str]:
        draws = self.draws
        if draws.often(0.55):
            return ["PriorityType=priority/basic"]
        lines = ["PriorityType=priority/multifactor"]
        lines += draws.stated(0.6, PriorityWeightJobSize=(1000,), PriorityWeightPartition=(1000,))
        lines += draws.stated(0.3, PriorityFavorSmall=("YES",), PriorityWeightTRES=("CPU=1000,Mem=500",))
        if self.accounts:
            lines += draws.stated(0.6, PriorityWeightQOS=(5000,), PriorityWeightFairshare=(10000,))
            lines += ["PriorityDecayHalfLife=0:10:00", "PriorityCalcPeriod=1"]
        return lines

    def _partitions(self) -> list[str]:
        draws = self.draws
        lines = []
        count = 2 if self.preempt == "partition_prio" else draws.one(1, 1, 2, 3)
        for number in range(count):
            name = "batch" if not number else f"part{number}"
            kinds = self.kinds if not number or draws.often(0.7) else [draws.one(*self.kinds)]
            self.partitions[name] = kinds
            nodes = ",".join(f"{kind.names[0][0]}[1-{len(kind.names)}]" for kind in kinds)
            words = [f"PartitionName={name} Nodes={nodes} MaxTime={draws.one('INFINITE', '30', '10')}"]
            words += ["Default=YES"] * (not number)
            tier = 10 if number and self.preempt == "partition_prio" else 1
            words += [f"PriorityTier={tier}"] if number else []
            share = draws.one("NO", "NO", "NO", "YES:2", "FORCE:2", "EXCLUSIVE")
            words += ["OverSubscribe=FORCE:1"] if "GANG" in self.mode else [f"OverSubscribe={share}"]
            words += draws.stated(0.1, MaxNodes=(1, 2), DefaultTime=(5,), MaxCPUsPerNode=(2,), LLN=("YES",))
            words += draws.stated(0.2, PriorityJobFactor=(10,)) + draws.stated(0.1, DefMemPerCPU=(200,))
            lines.append(" ".join(words))
        return lines

    def _sacctmgr(self) -> list[str]:
        draws = self.draws
        cpus = sum(kind.cpus * len(kind.names) for kind in self.kinds)
        half = max(cpus // 2, 2)
        commands = ["add cluster truth", "add account red", "add account blue", "add qos high", "add qos low"]
        commands += ["modify qos high set Priority=100" + (" Preempt=low" if self.preempt == "qos" else "")]
        commands += [f"add user {user} account={account}" for user, account in USERS.items()]
        commands += [f"modify user {user} set qos={','.join(QOS)}" for user in USERS]
        if draws.often(0.6):
            limit = draws.one(f"GrpTRES=cpu={half}", "GrpJobs=2", "MaxJobs=1", "GrpTRES=node=2", "MaxWall=2")
            commands += [f"modify account {draws.one('red', 'blue')} set {limit}"]
        if draws.often(0.4):
            limit = draws.one(
                "MaxJobsPerUser=1", f"MaxTRESPerUser=cpu={half}", "GrpJobs=2", "MaxWall=2", "Flags=DenyOnLimit"
            )
            commands += [f"modify qos {draws.one('normal', 'low')} set {limit}"]
        return [f"sacctmgr -i {command}" for command in commands]

    def _jobs(self) -> list[dict[str, Any]]:
        draws, jobs, at = self.draws, [], 1.0
        for number in range(1, draws.randint(6, 12) + 1):
            run = draws.one(10, 20, 30, 40, 50, 70, 90)
            words = self._request(number)
            minutes = -(-run // 60) + draws.one(0, 0, 0, 1, 3, 10)
            words += [f"-t{minutes}"] if draws.often(0.92) else []
            words += [f"--time-min={max(1, minutes // 2)}"] if draws.often(0.04) else []
            row: dict[str, Any] = {"name": f"J{number}", "id": number, "submit": round(at, 1), "run": run}
            row |= {"user": draws.one(*USERS)} if self.accounts else {}
            jobs.append(row | {"sbatch": words})
            at += draws.one(1, 4, 4, 7, 7, 13, 25)
        self._give_components(jobs)
        return jobs

    def _give_components(self, jobs: list[dict[str, Any]]) -> None:
        """Give some jobs components; each takes a number, which those behind it and what names them go by."""
        numbers, free = dict[int, int](), 1
        for job in jobs:
            words = job["sbatch"]
            if self.components.often(self.het_jobs) and not any(word.startswith("--array") for word in words):
                for _ in range(self.components.one(1, 1, 2)):
                    words += [":", *self._component()]
            numbers[job["id"]], job["id"] = free, free
            free += 1 + words.count(":")
            job["sbatch"] = [_renumbered(word, numbers) if word.startswith("-d") else word for word in words]

    def _component(self) -> list[str]:
        draws = self.components
        name = draws.one(*self.partitions)
        kind = draws.one(*self.partitions[name])
        words = [f"-p{name}", f"-n{draws.randint(1, kind.cpus)}"]
        words += [f"-N{draws.randint(1, len(kind.names))}"] if draws.often(0.4) else []
        words += [f"-t{draws.randint(1, 4)}"] if draws.often(0.2) else []
        return words + ([f"-w{draws.one(*kind.names)}"] if draws.often(0.05) else [])

    def _about_components(self, jobs: list[dict[str, Any]], last: float) -> list[list[Any]]:
        """Commands to heterogeneous jobs and their components."""
        draws, actions = self.components, list[list[Any]]()
        for job in jobs:
            further = job["sbatch"].count(":")
            if further and draws.often(0.5):
                at = round(min(job["submit"] + draws.uniform(5, 60), last), 1)
                which = draws.one(f"{job['id']}", f"{job['id']}+{draws.randint(0, further)}", f"{job['id'] + further}")
                command = draws.one("scancel", "scontrol hold", "scontrol requeue", "scontrol suspend")
                actions.append([at, f"{command} {which}"])
                if command in ("scontrol hold", "scontrol suspend"):
                    undo = "scontrol release" if command == "scontrol hold" else "scontrol resume"
                    actions.append([round(at + draws.uniform(15, 40), 1), f"{undo} {which}"])
        return actions

    def _request(self, number: int) -> list[str]:
        draws = self.draws
        name = draws.one(*self.partitions)
        words = [f"-p{name}"] if name != "batch" or draws.often(0.3) else []
        if len(self.partitions) > 1 and draws.often(0.06):
            words = [f"-p{','.join(self.partitions)}"]
        kind = draws.one(*self.partitions[name])
        words += self._size(kind)
        if draws.often(0.4 if self.memory else 0.1):
            each = kind.memory // kind.cpus
            words += [
                draws.one(f"--mem={kind.memory // draws.one(1, 2, 4)}", f"--mem-per-cpu={each // draws.one(1, 2)}")
            ]
        if "shard" in kind.line and draws.often(0.5):
            words += [f"--gres=shard:{draws.randint(1, 4)}"]
        elif kind.gpus and draws.often(0.35):
            spread = any(word.startswith("-N") for word in words)
            words += ["--gpus=1" if not spread and draws.often(0.3) else f"--gres=gpu:{draws.randint(1, kind.gpus)}"]
        if kind.features and draws.often(0.2):
            words += [f"-C{draws.one(*kind.features)}"]
        words += draws.some(0.04, "--exclusive", "--oversubscribe", "--no-requeue", "--hold")
        words += ["--nice=" + draws.one("10", "100")] if draws.often(0.05) else []
        words += [f"--begin=now+{draws.randint(10, 60)}"] if draws.often(0.04) else []
        words += [f"-w{draws.one(*kind.names)}"] if draws.often(0.04) else []
        words += [f"-x{draws.one(*kind.names)}"] if draws.often(0.03) else []
        words += [f"-L{draws.one('foo:1', 'foo:2', 'bar:1')}"] if self.licensed and draws.often(0.5) else []
        words += [f"--array=0-{draws.randint(1, 4)}{draws.one('', '', '%1', '%2')}"] if draws.often(0.12) else []
        if number > 1 and draws.often(0.1):
            words += [f"-d{draws.one('afterok', 'afterany', 'after', 'afternotok')}:{draws.randint(1, number - 1)}"]
        words += [f"--qos={draws.one(*QOS)}"] if self.accounts and draws.often(0.5) else []
        words += ["--reservation=r1"] if self.reserved and draws.often(0.25) else []
        return words

    def _size(self, kind: Kind) -> list[str]:
        """As job scripts say it: tasks alone, nodes and tasks a node, one task of some CPUs, or nothing."""
        draws, cpus, most = self.draws, kind.cpus, len(kind.names)
        shape = draws.randrange(10)
        if shape < 3:
            return [f"-n{draws.randint(1, cpus * most)}"]
        if shape < 6:
            nodes = draws.randint(1, most)
            return [f"-N{nodes}", f"--ntasks-per-node={draws.randint(1, cpus)}"]
        if shape < 7:
            return ["-N1", "-n1", f"-c{draws.randint(1, cpus)}"]
        if shape < 8:
            return [f"-n{draws.randint(1, most)}", f"-c{draws.randint(1, cpus)}"]
        if shape < 9:
            low = draws.randint(1, most)
            return [f"-N{low}-{draws.randint(low, most)}", f"-n{draws.randint(low, cpus * low)}"]
        return []

    def _actions(self, jobs: list[dict[str, Any]]) -> list[list[Any]]:
        draws = self.draws
        last = jobs[-1]["submit"] + 30
        names = [name for kind in self.kinds for name in kind.names]
        actions: list[list[Any]] = []
        if self.reserved:
            where = draws.one(f"Nodes={draws.one(*names)}", "NodeCnt=1")
            flags = draws.one("", " Flags=IGNORE_JOBS", " Flags=FLEX")
            users = ",".join(("root", *USERS))
            words = f"StartTime=now+{draws.one(20, 60)} Duration={draws.one(1, 2)} {where} Users={users}{flags}"
            actions.append([0.1, f"scontrol create reservation ReservationName=r1 {words}"])
        for _ in range(draws.one(0, 0, 1, 1, 2, 3)):
            job, node = draws.one(*jobs), draws.one(*names)
            at = round(min(job["submit"] + draws.uniform(5, 60), last), 1)
            later = round(at + draws.uniform(15, 40), 1)
            change = draws.one("TimeLimit=5", "Nice=50", "Priority=1000000", "StartTime=now+30", "Partition=batch")
            actions += draws.one(
                [[at, f"scancel {job['id']}"]],
                [[at, f"scontrol hold {job['id']}"], [later, f"scontrol release {job['id']}"]],
                [[at, f"scontrol update JobId={job['id']} {change}"]],
                [[at, f"scontrol requeue {job['id']}"]],
                [[at, f"scontrol suspend {job['id']}"], [later, f"scontrol resume {job['id']}"]],
                [
                    [at, f"scontrol update NodeName={node} State=DRAIN Reason=test"],
                    [later, f"scontrol update NodeName={node} State=RESUME"],
                ],
            )
        return sorted([*actions, *self._about_components(jobs, last)])


def _renumbered(word: str, numbers: dict[int, int]) -> str:
    """A dependency on a job by its number."""
    kind, _, number = word.rpartition(":")
    return f"{kind}:{numbers[int(number)]}"
