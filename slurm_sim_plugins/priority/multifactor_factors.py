"""What priority/multifactor works a priority out from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

FACTORS = ("Age", "Assoc", "Fairshare", "JobSize", "Partition", "QOS")
"""Factors of one weight each, as ``sprio`` orders them."""


class RequestFactors(NamedTuple):
    """The factors of what a job asks for, which do not change with time; jobs that ask for the same share them."""

    size: float
    partition: float
    size_points: float
    partition_points: float
    resources: Mapping[str, float]
    resource_points: float


class AccountFactors(NamedTuple):
    """The factors of an association and a QOS; jobs with the same of both share them."""

    association: float
    fair_share: float
    qos: float
    association_points: float
    share_points: float
    qos_points: float


NO_ACCOUNT = AccountFactors(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
"""Of a job without an account."""


class JobPriority(NamedTuple):
    """A priority, and what it was worked out from; see :class:`~slurm_sim_plugins.decisions.Priority`."""

    number: int
    total: int
    offset: int
    age: float
    account: AccountFactors
    request_factors: RequestFactors

    @property
    def factors(self) -> Mapping[str, float]:
        """Factors without weights."""
        account, request_factors = self.account, self.request_factors
        shares = account.association, account.fair_share
        values = (self.age, *shares, request_factors.size, request_factors.partition, account.qos)
        return dict(zip(FACTORS, values, strict=True))

    @property
    def resources(self) -> Mapping[str, float]:
        """Factors of the resources that have a weight."""
        return self.request_factors.resources
