"""Which accounts and qualities of service a partition takes: AllowAccounts, DenyAccounts, AllowQos, DenyQos."""

from __future__ import annotations

from collections.abc import Sequence, Set

from emulator.config.slurm.model import SlurmConf
from emulator.config.slurm.versions import Rules
from emulator.limits.acct_policy import Account
from emulator.limits.asked import LimitedJob
from emulator.state.partition import PARTITION_CONFIG, Partition
from emulator.workload.request import RejectedError

NO_ACCOUNT = "Invalid account or account/partition combination specified"
NO_QOS = "Invalid qos specification"


class PartitionAccess:
    """What partitions say of accounts and qualities of service.

    Args:
        conf: the configuration, with its partitions as they are now.
        rules: of the version of Slurm.

    Attributes:
        bars_qualities: whether any partition does not take all qualities of service.
    """

    def __init__(self, conf: SlurmConf, rules: Rules) -> None:
        self.bars_qualities = any(one.allow_qos is not None or one.deny_qos for one in conf.partitions)
        self._stated = {partition.name: partition for partition in conf.partitions}
        self._rules = rules
        enforce = conf.parameters.text("EnforcePartLimits").upper()
        self._every_partition, self._any_partition = enforce in ("ALL", "YES"), enforce == "ANY"

    def checked(self, job: LimitedJob, account: Account) -> dict[str, str]:
        """Which of its partitions do not take a job that is submitted, and with which words it waits in them.

        Args:
            job: the job.
            account: on which it is to be.

        Raises:
            RejectedError: it is refused, as EnforcePartLimits says; recorded on 22.05 and 24.11.
        """
        refused = self._refusals(job.partitions, account)
        if refused and (self._every_partition or (self._any_partition and len(refused) == len(job.partitions))):
            raise RejectedError(next(iter(refused.values()))[0])
        return {name: waits for name, (_, waits) in refused.items()}

    def barred(self, job: LimitedJob) -> dict[str, str]:
        """Which of its partitions do not take a job that was submitted, and with which words it waits."""
        if job.account is None:
            return {}
        return {name: waits for name, (_, waits) in self._refusals(job.partitions, job.account).items()}

    def bars_account(self, job: LimitedJob, partition: Partition) -> bool:
        """Whether a partition does not take a job's account."""
        return job.account is not None and not self._takes_account(partition, job.account)

    def _refusals(self, partitions: Sequence[Partition], account: Account) -> dict[str, tuple[str, str]]:
        """By partition that does not take a job: the words that refuse it, and those with which it waits."""
        found = {partition.name: self._refusal(partition, account) for partition in partitions}
        return {name: words for name, words in found.items() if words is not None}

    def _refusal(self, partition: Partition, account: Account) -> tuple[str, str] | None:
        stated = self._stated[partition.name]
        if not self._takes_account(partition, account):
            allowed, denied = stated.allow_accounts, stated.deny_accounts
            words = _not_permitted("account", partition.name, account.account, allowed, denied)
            return NO_ACCOUNT, PARTITION_CONFIG if self._rules.ACCOUNTS_SHOW_THE_CODE else words
        qos = account.quality.qos.name if account.quality is not None else ""
        if _admits({qos}, stated.allow_qos, stated.deny_qos):
            return None
        words = f"{NO_QOS} (partition {partition.name} does not allow QOS {qos or 'none'})"
        return words, _not_permitted("QOS", partition.name, qos or "none", stated.allow_qos, stated.deny_qos)

    def _takes_account(self, partition: Partition, account: Account) -> bool:
        stated, names = self._stated[partition.name], {account.account}
        if self._rules.ACCOUNTS_MEAN_THOSE_BELOW:
            names.update(share.association.account for share in account.line)
        return _admits(names, stated.allow_accounts, stated.deny_accounts)


def _not_permitted(what: str, partition: str, name: str, allowed: Sequence[str] | None, denied: Sequence[str]) -> str:
    """In which words a job waits whose account or quality of service a partition does not take."""
    listed = ",".join(denied if allowed is None else allowed)
    why = f"denies_{listed}_including_{name}" if allowed is None else f"allows_{listed}_not_{name}"
    return f"Job's_{what}_not_permitted_to_use_this_partition_({partition}_{why})"


def _admits(names: Set[str], allowed: Sequence[str] | None, denied: Sequence[str]) -> bool:
    if allowed is not None:
        return not names.isdisjoint(one.lower() for one in allowed)
    return names.isdisjoint(one.lower() for one in denied)
