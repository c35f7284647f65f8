"""Slurm's words for a limit of resources that keeps a job waiting (observation E1; squeue, "JOB REASON CODES").

They do not follow one rule: a table says how each resource is called in each kind of reason.
"""

from __future__ import annotations

from emulator.limits.tres import BILLING, CPU, MEMORY, NODE, LicenseIndex

_CALLED = {
    "AssocGrp": "AssocGrp{}",
    "AssocGrpMinutes": "AssocGrp{}Minutes",
    "AssocGrpRunMinutes": "AssocGrp{}RunMinutes",
    "AssocMaxMinutesPerJob": "AssocMax{}MinutesPerJob",
    "AssocMaxPerJob": "AssocMax{}PerJob",
    "AssocMaxPerNode": "AssocMax{}PerNode",
    "QOSGrp": "QOSGrp{}",
    "QOSGrpMinutes": "QOSGrp{}Minutes",
    "QOSGrpRunMinutes": "QOSGrp{}RunMinutes",
    "QOSMaxMinutesPerJob": "QOSMax{}MinutesPerJob",
    "QOSMaxPerJob": "QOSMax{}PerJob",
    "QOSMaxPerNode": "QOSMax{}PerNode",
    "QOSMaxPerUser": "QOSMax{}PerUser",
    "QOSMin": "QOSMin{}",
    "PerAccount": "Max{}PerAccount",
    "RunMinutesPerAccount": "Max{}RunMinsPerAccount",
    "RunMinutesPerUser": "Max{}RunMinsPerUser",
}
"""The rule, as far as there is one."""
_GENERIC, _LICENSE = "GRES", "License"
_EXCEPTIONS = {
    ("AssocGrp", CPU): "AssocGrpCpuLimit",
    ("AssocGrp", MEMORY): "AssocGrpMemLimit",
    ("AssocGrp", NODE): "AssocGrpNodeLimit",
    ("AssocGrpMinutes", CPU): "AssocGrpCPUMinutesLimit",
    ("AssocGrpRunMinutes", CPU): "AssocGrpCPURunMinutesLimit",
    ("AssocMaxMinutesPerJob", CPU): "AssocMaxCpuMinutesPerJobLimit",
    ("AssocMaxPerJob", CPU): "AssocMaxCpuPerJobLimit",
    ("AssocMaxPerJob", NODE): "AssocMaxNodePerJobLimit",
    ("QOSGrp", CPU): "QOSGrpCpuLimit",
    ("QOSGrp", MEMORY): "QOSGrpMemLimit",
    ("QOSGrp", NODE): "QOSGrpNodeLimit",
    ("QOSGrpMinutes", CPU): "QOSGrpCPUMinutesLimit",
    ("QOSGrpRunMinutes", CPU): "QOSGrpCPURunMinutesLimit",
    ("QOSMaxMinutesPerJob", CPU): "QOSMaxCpuMinutesPerJobLimit",
    ("QOSMaxPerJob", CPU): "QOSMaxCpuPerJobLimit",
    ("QOSMaxPerJob", NODE): "QOSMaxNodePerJobLimit",
    ("QOSMaxPerUser", CPU): "QOSMaxCpuPerUserLimit",
    ("QOSMaxPerUser", NODE): "QOSMaxNodePerUserLimit",
    ("QOSMin", CPU): "QOSMinCpuNotSatisfied",
}
_SHORT = {CPU: "Cpu", MEMORY: "Mem", NODE: "Node", BILLING: "Billing"}
_LONG_MEMORY = (
    *("QOSMaxMinutesPerJob", "QOSMaxPerJob", "QOSMaxPerNode", "QOSMaxPerUser", "QOSMin"),
    *("PerAccount", "RunMinutesPerAccount", "RunMinutesPerUser"),
)
"""Where memory is not cut short."""
OF_JOBS = (
    "AssocGrpJobsLimit",
    "AssocGrpWallLimit",
    "AssocMaxJobsLimit",
    "AssocMaxWallDurationPerJobLimit",
    "MaxJobsPerAccount",
    "QOSGrpJobsLimit",
    "QOSGrpWallLimit",
    "QOSMaxJobsPerUserLimit",
    "QOSUsageThreshold",
    "QOSMaxWallDurationPerJobLimit",
)
"""Reasons that are not about resources."""


def reason(kind: str, index: int) -> str:
    """Slurm's word for a limit.

    Args:
        kind: which limit, such as ``QOSMaxPerUser``.
        index: which resource.
    """
    found = _EXCEPTIONS.get((kind, index))
    if found is None:
        name = _SHORT.get(index, _LICENSE if isinstance(index, LicenseIndex) else _GENERIC)
        if index == MEMORY and kind in _LONG_MEMORY:
            name = "Memory"
        found = _CALLED[kind].format(name)
    return found


_EACH = (CPU, MEMORY, NODE, BILLING, BILLING + 1, LicenseIndex(BILLING + 1))
REASONS = frozenset([*OF_JOBS, *(reason(kind, index) for kind in _CALLED for index in _EACH)])
"""All of them."""
_OF_THE_PAST = ("AssocGrpMinutes", "QOSGrpMinutes")
FADING = frozenset(
    ["AssocGrpWallLimit", "QOSGrpWallLimit", "QOSUsageThreshold"]
    + [reason(kind, index) for kind in _OF_THE_PAST for index in _EACH]
)
"""Of limits on past usage, which decays."""
