"""Last Model: a user's next job is as far from its limit as that user's last one."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal

from .preemptible import Cluster, Job, Predict


def last_model(users: Mapping[int, Any], last: Literal["finished", "submitted"] = "finished") -> Predict:
    """The limit times the last accuracy; the limit if the user has none. At least 1 s.

    Args:
        users: the user of each job, by id.
        last: the one that ended last, or the one that was submitted last, which may
            still be waiting.
    """

    def predict(job: Job, cluster: Cluster) -> float:
        before = cluster.ended if last == "finished" else cluster.submitted
        mine = [other for other in before if users[other.id] == users[job.id]]
        accuracy = min(1, Fraction(mine[-1].run) / Fraction(mine[-1].limit)) if mine else 1
        return min(job.limit, max(1, job.limit * accuracy))

    return predict
