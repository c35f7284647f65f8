"""The worked schedules in two tiers: every end, who was killed or moved, and the mean response."""

from __future__ import annotations

from typing import Any

import pytest

from emulator import Result, Workload, simulate
from emulator.testing.invariants import check_invariants
from slurm_sim_plugins.manager import Catalogue
from tests.builders.jobs import column
from tests.builders.shared import GOLDEN

DEPLOY = {"keasy": "kill", "reasy": "reserve", "measy": "migrate"}
EXACT = 1e-4


def cases() -> list[Any]:
    if not GOLDEN.is_file():
        reason = f"no worked cases at {GOLDEN}; set SLURM_SIM_SHARED to the folder that holds spec/golden.yaml"
        return [pytest.param({}, "", {}, marks=pytest.mark.skip(reason=reason))]
    yaml = pytest.importorskip("yaml")
    found = []
    for case in yaml.safe_load(GOLDEN.read_text(encoding="utf-8"))["golden_two_tier"]:
        finishes = {key.removeprefix("finish_"): case[key] for key in case if key.startswith("finish_")}
        for policy, finish in (finishes or {case["policy"]: case["finish"]}).items():
            found.append(pytest.param(case, policy, finish, id=f"{case['id']}-{policy}"))
    return found


def jobs_of(case: dict[str, Any]) -> Workload:
    """Jobs are [processors, estimate]; they run as long as that unless it is said."""
    jobs, run = case["jobs"], case.get("run", {})
    return Workload.from_columns(
        {
            "id": list(jobs),
            "submit": [0.0] * len(jobs),
            "processors": [processors for processors, _ in jobs.values()],
            "run": [run.get(job, estimate) for job, (_, estimate) in jobs.items()],
            "time_limit": [estimate for _, estimate in jobs.values()],
            "cpu_use": [case.get("u_all") or (1.0 if processors == 1 else 0.5) for processors, _ in jobs.values()],
        }
    )


def simulated(case: dict[str, Any], policy: str, dispatch: str) -> Result:
    given, options = jobs_of(case), {"scheduler": "sched/easy"}
    plugins: dict[str, dict[str, Any]] = {}
    if policy != "easy":
        options = {"scheduler": "sched/two_tier", "execution": "execution/two_tier"}
        steps = ", ".join(f"{time}:{rate}" for time, rate in case.get("bg_rate", [[0, 0.5]]))
        plugins = {
            "sched/two_tier": {"deploy": DEPLOY[policy], "migration_cost": case.get("migration_cost", 20)},
            "execution/two_tier": {"loss_low": 0.0, "loss_high": 0.0, "bg_rate": steps},
        }
    result = simulate(
        given, processors=case["procs"], catalogue=Catalogue(), plugin_options=plugins, dispatch=dispatch, **options
    )
    check_invariants(result, given)
    return result


@pytest.mark.parametrize("dispatch", ["resolved", "pluggy"])
@pytest.mark.parametrize(("case", "policy", "finish"), cases())
def test_worked_case(case: dict[str, Any], policy: str, finish: dict[int, float], dispatch: str) -> None:
    result = simulated(case, policy, dispatch)

    assert column(result, "end") == pytest.approx(finish, abs=EXACT)
    if "mean_response" in case:
        assert result.metrics()["mean_response"] == pytest.approx(case["mean_response"], abs=EXACT)
    killed = [job for job, times in column(result, "requeues").items() if times]
    assert killed == case.get("killed", killed if policy == "keasy" else [])
    if policy != "easy":
        stays = result.records.stays
        assert stays is not None
        migrated = sorted(set(stays["job_id"][stays["came"] == "migration"].tolist()))
        assert migrated == case.get("migrated", migrated if policy == "measy" else [])
