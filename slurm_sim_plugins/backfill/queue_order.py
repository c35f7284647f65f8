"""Try the jobs in the order of the queue: what Slurm does."""

from __future__ import annotations

from typing import ClassVar


class QueueOrder:
    """Try the jobs in the order of the queue: the default, for which no hook is called."""

    name: ClassVar[str] = "backfill/queue_order"
