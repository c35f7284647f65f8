"""Names of the rows that :mod:`slurm_sim_plugins.priority.price_kernel` works with."""

from __future__ import annotations

OFFSET, REQUEST, ACCOUNT, TOTAL, NUMBER = range(5)
"""Of each job: its site factor less its nice value; its factors of requests and of accounts; points; priority."""
