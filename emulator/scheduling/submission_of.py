"""A submission to a cluster, as plugins see it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from emulator.config.slurm.model import GresCount
from emulator.workload.request import JobRequest
from emulator.workload.sbatch_line import condition
from slurm_sim_plugins.submission import CHANGE, Submission


def submission_of(request: JobRequest) -> Submission:
    """A submission to a cluster, as plugins see it."""
    options = request.options
    stated = {name: getattr(options, name) for name in CHANGE}
    stated["name"] = request.name
    stated["max_nodes"] = options.most_stated
    stated["gres"] = tuple(map(_gres, options.gres))
    stated["licenses"] = tuple(f"{name}:{count}" for name, count in options.licenses)
    joint = "?" if options.any_dependency else ","
    return Submission(
        request.id,
        request.submit,
        request.user,
        options.gpus_on(options.min_nodes or 1),
        tres_per_job=",".join(f"gres:{_gres(one)}" for one in options.gpus),
        tres_per_task=",".join(f"gres:{_gres(one)}" for one in options.of_tasks),
        dependency=joint.join(map(condition, options.dependencies)),
        array="" if options.array is None else ranges(options.array.indices),
        begin=options.begin,
        **stated,
    )


def _gres(one: GresCount) -> str:
    return ":".join([one.name, *([one.type] if one.type else []), str(one.count)])


def ranges(indices: Sequence[int]) -> str:
    """Indices as sbatch writes them: ``1-3,7``."""
    bounds = [at for at in range(1, len(indices)) if indices[at] != indices[at - 1] + 1]
    parts = [indices[begin:end] for begin, end in pairwise([0, *bounds, len(indices)])]
    return ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)
