"""Which rules of accounts hold, as a configuration says."""

from __future__ import annotations

from emulator.config.slurm.model import SlurmConf


def enforced(conf: SlurmConf) -> frozenset[str]:
    """Which rules of the accounts hold, with those that others bring along (``AccountingStorageEnforce``)."""
    words = {word.upper() for word in conf.parameters.words("AccountingStorageEnforce")}
    if words & {"ALL"}:
        words |= {"ASSOCIATIONS", "LIMITS", "QOS", "SAFE"}
    if words & {"SAFE", "2"}:
        words |= {"LIMITS"}
    if words & {"LIMITS", "QOS", "1", "WCKEYS"}:
        words |= {"ASSOCIATIONS"}
    return frozenset(words)
