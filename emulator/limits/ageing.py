"""Which waiting jobs grow older: limits on how many may do so at once (``GrpJobsAccrue``, ``MaxJobsAccruePerUser``)."""

from __future__ import annotations

from collections.abc import Callable

from emulator.limits import acct_policy
from emulator.limits.acct_policy import Account
from emulator.limits.asked import LimitedCluster, LimitedJob


class Ageing:
    """Lets waiting jobs grow older as far as limits allow.

    Args:
        cluster: the cluster state.
        enforced: whether limits hold.
        limits_of: the account of a job with limits as they are now; None where none hold.

    Attributes:
        limited: whether any limit says how many jobs may grow older.
    """

    def __init__(
        self, cluster: LimitedCluster, enforced: bool, limits_of: Callable[[LimitedJob], Account | None]
    ) -> None:
        self._cluster = cluster
        self._enforced = enforced
        self._limits_of = limits_of
        self.limited = False

    def may(self, job: LimitedJob) -> bool:
        """Whether a job that may be scheduled grows older from now on; it counts then until it waits no longer."""
        if not self.limited:
            return True
        account = self._limits_of(job)
        if account is None or not account.tests_ageing:
            return True
        if not account.ages and not acct_policy.may_age(account):
            return False
        acct_policy.age(account, True)
        return True

    def held(self, job: LimitedJob) -> None:
        """A job that waits is put on hold: where limits are enforced it grows older only once it is released."""
        if self._enforced and job.accrue is not None:
            job.accrue = None
            if job.account is not None:
                acct_policy.age(job.account, False)

    def period(self) -> None:
        """Jobs that could not grow older yet do so, in the order of their ids, as far as they may by now."""
        waiting = self._cluster.waiting.values() if self.limited else ()
        for job in sorted((job for job in waiting if job.accrue is None), key=lambda job: job.id):
            if job.eligible is not None and self.may(job):
                job.accrue = self._cluster.now

    def count_again(self) -> None:
        """Limits are others, or those of others: jobs that grow older count for them."""
        for job in self._cluster.waiting.values() if self.limited else ():
            account = self._limits_of(job)
            if account is not None and account.tests_ageing and job.accrue is not None:
                acct_policy.age(account, True)
