"""What the cases of Slurm's timing make the base do: in how many of them something happens at all."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas as pd

REASONS = {
    "licences awaited": "Licenses",
    "reservation awaited": "Reservation|ReqNodeNotAvail.*[Rr]eserved",
    "limit of an association": "Assoc",
    "limit of a QOS": "QOS",
    "dependency": "Dependency",
    "begin time": "BeginTime",
    "held": "JobHeld|held",
    "array limit": "JobArrayTaskLimit",
    "partition bound": "Partition",
    "nodes not available": "ReqNodeNotAvail|DOWN",
    "resources awaited": "Resources",
    "priority awaited": "Priority",
}
STATES = ("TIMEOUT", "DEADLINE", "CANCELLED", "NODE_FAIL", "PREEMPTED", "REJECTED", "PENDING")


def shown_by(run: Path) -> set[str]:
    """What is to be seen in a run folder."""
    records, runs, waits = (pd.read_parquet(run / f"{name}.parquet") for name in ("records", "runs", "waits"))
    nodes = pd.read_parquet(run / "nodes.parquet")
    reasons = waits["reason"].dropna().astype(str)
    seen = {name for name, pattern in REASONS.items() if reasons.str.contains(pattern).any()}
    seen |= {f"state {state}" for state in STATES if (records["state"] == state).any()}
    seen |= {f"nodes {state}" for state in ("RESERVED", "MAINT", "DOWN", "DRAIN") if (nodes["state"] == state).any()}
    facts = {
        "preempted runs": (runs["outcome"] == "PREEMPTED").any(),
        "requeued jobs": (records["requeues"] > 0).any(),
        "suspended runs": (runs["suspended"].fillna("") != "").any(),
        "checkpoints": "checkpoints" in runs and (runs["checkpoints"] > 0).any(),
        "backfilled starts": runs["backfilled"].any(),
        "planned starts": waits["planned_start"].notna().any(),
        "GRES in use": (runs["gres"].fillna("") != "").any(),
        "several nodes": runs["nodes"].str.contains(r"[\[,]").any(),
        "several partitions": runs["partition"].nunique() > 1,
        "arrays": (records["array"] >= 0).any(),
        "half of the jobs started": records["start"].notna().mean() >= 0.5,
        "half of the jobs waited 10 s": ((records["start"] - records["submit"]) > 10).mean() >= 0.5,
    }
    shares = run / "shares.parquet"
    if shares.exists():
        facts["fair shares that change"] = pd.read_parquet(shares)["raw_usage"].nunique() > 1
    return seen | {name for name, holds in facts.items() if holds}


def table(runs: list[Path]) -> list[str]:
    """Lines that say in how many run folders each is to be seen."""
    counts = Counter(name for run in runs for name in shown_by(run))
    return [f"  {count:6,}  {100 * count / len(runs):3.0f} %  {name}" for name, count in counts.most_common()]
