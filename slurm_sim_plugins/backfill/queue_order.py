"""Try the jobs in the order of the queue: what Slurm does."""

from __future__ import annotations

from typing import ClassVar


class QueueOrder:
    """The default. It implements no hook, so that none is called."""

    name: ClassVar[str] = "backfill/queue_order"
