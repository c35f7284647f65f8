"""The words that ``sacctmgr`` takes for associations and qualities of service.

Names and meanings are those of Slurm's documentation (sacctmgr, "Specifications for Accounts", "for
QOS"). Older names and abbreviations are understood, in any case.
"""

from __future__ import annotations

from collections.abc import Iterator

from emulator.config.slurm.values import Kind
from emulator.config.slurm.vocabulary import HONOURED, Vocabulary, Word, ignored, vocabulary

_COUNT, _TRES, _TIME = Kind.LIMIT_COUNT, Kind.TRES, Kind.TIME
_FEWEST_LETTERS = 4
"""So many letters of a word are needed where it is cut short."""


def _older(names: str, means: str, kind: Kind) -> Iterator[Word]:
    """Other names of one word; they have blanks between them."""
    for name in names.split():
        yield Word(name, HONOURED, f"the same as {means}", kind, means=means)


_GROUP = (
    Word("GrpJobs", HONOURED, "most jobs that run at a time", _COUNT),
    Word("GrpSubmitJobs", HONOURED, "most jobs that wait or run", _COUNT),
    *_older("GrpSubmit", "GrpSubmitJobs", _COUNT),
    Word("GrpTRES", HONOURED, "most resources in use at a time", _TRES),
    Word("GrpTRESMins", HONOURED, "most minutes of resources used in all, past usage decays", _TRES),
    Word("GrpTRESRunMins", HONOURED, "most minutes of resources that running jobs may still use", _TRES),
    Word("GrpWall", HONOURED, "most run time in all, past usage decays", _TIME),
    Word("GrpJobsAccrue", HONOURED, "most jobs that grow older in the queue", _COUNT),
)
_JOB = (
    Word("MaxTRESPerJob", HONOURED, "most resources of a job", _TRES),
    *_older("MaxTRES MaxTRESPJ", "MaxTRESPerJob", _TRES),
    Word("MaxTRESPerNode", HONOURED, "most resources of a job on a node, on average", _TRES),
    *_older("MaxTRESPN", "MaxTRESPerNode", _TRES),
    Word("MaxTRESMinsPerJob", HONOURED, "most minutes of resources of a job", _TRES),
    *_older("MaxTRESMins MaxTRESMinsPJ", "MaxTRESMinsPerJob", _TRES),
    Word("MaxWall", HONOURED, "longest limit of a job, and the limit of one that states none", _TIME),
    *_older("MaxWallDurationPerJob MaxWallDuration MaxWallPJ", "MaxWall", _TIME),
    Word("MinPrioThreshold", HONOURED, "least priority of a job that reserves resources", _COUNT),
    *_older("MinPrioThres", "MinPrioThreshold", _COUNT),
)
_ASSOCIATION = (
    Word("Fairshare", HONOURED, "shares among siblings, or parent for those of the account", default="1"),
    *_older("Shares Share RawShares", "Fairshare", Kind.TEXT),
    Word("RawUsage", HONOURED, "0 alone: past usage is forgotten, also that of those below", Kind.COUNT),
    Word("Parent", HONOURED, "the account above", default="root"),
    Word("Priority", HONOURED, "what the association factor of priorities comes from", Kind.COUNT),
    Word("QOS", HONOURED, "qualities of service that may be asked for; +=, -= add and take away", Kind.WORDS),
    *_older("QOSLevel QosList", "QOS", Kind.WORDS),
    Word("DefaultQOS", HONOURED, "quality of service of a job that names none"),
    *_older("DefQOS", "DefaultQOS", Kind.TEXT),
    Word("MaxJobs", HONOURED, "most jobs of a user that run at a time", _COUNT),
    *_older("MaxJobsPerUser", "MaxJobs", _COUNT),
    Word("MaxSubmitJobs", HONOURED, "most jobs of a user that wait or run", _COUNT),
    *_older("MaxSubmit MaxSubmitJobsPerUser", "MaxSubmitJobs", _COUNT),
    Word("MaxJobsAccrue", HONOURED, "most jobs of a user that grow older in the queue", _COUNT),
    *_older("GrpCPUs GrpNodes GrpMemory", "GrpTRES", Kind.WHOLE),
    *_older("GrpCPUMins", "GrpTRESMins", Kind.WHOLE),
    *_older("GrpCPURunMins", "GrpTRESRunMins", Kind.WHOLE),
    *_older("MaxCPUs MaxCPUsPerJob MaxNodes MaxNodesPerJob", "MaxTRESPerJob", Kind.WHOLE),
    *_older("MaxCPUMins MaxCPUMinsPerJob", "MaxTRESMinsPerJob", Kind.WHOLE),
)
_QOS = (
    Word("Priority", HONOURED, "what the QOS factor of priorities comes from", Kind.COUNT, "0"),
    Word("Flags", HONOURED, "what is special about it; +=, -= add and take away", Kind.WORDS),
    Word("UsageFactor", HONOURED, "what usage is multiplied by", Kind.NUMBER, "1"),
    Word("Preempt", HONOURED, "qualities of service whose jobs it preempts; +=, -= add and take away", Kind.WORDS),
    Word(
        "PreemptMode",
        HONOURED,
        "what becomes of its preempted jobs; CHECKPOINT is the emulator's extension",
        Kind.WORDS,
        choices=("CANCEL", "CHECKPOINT", "CLUSTER", "GANG", "OFF", "REQUEUE", "SUSPEND", "WITHIN"),
    ),
    Word("PreemptExemptTime", HONOURED, "how long its jobs run before they can be preempted", _TIME),
    Word("GraceTime", HONOURED, "between the choice of a victim and its end", Kind.SECONDS, "0"),
    Word("MaxJobsPerUser", HONOURED, "most jobs of a user that run at a time", _COUNT),
    *_older("MaxJobs MaxJobsPU", "MaxJobsPerUser", _COUNT),
    Word("MaxJobsPerAccount", HONOURED, "most jobs of an account that run at a time", _COUNT),
    *_older("MaxJobsPA", "MaxJobsPerAccount", _COUNT),
    Word("MaxSubmitJobsPerUser", HONOURED, "most jobs of a user that wait or run", _COUNT),
    *_older("MaxSubmitJobs MaxSubmit MaxSubmitPU MaxSubmitJobsPU", "MaxSubmitJobsPerUser", _COUNT),
    Word("MaxSubmitJobsPerAccount", HONOURED, "most jobs of an account that wait or run", _COUNT),
    *_older("MaxSubmitPA MaxSubmitJobsPA", "MaxSubmitJobsPerAccount", _COUNT),
    Word("MaxTRESPerUser", HONOURED, "most resources of a user in use at a time", _TRES),
    *_older("MaxTRESPU", "MaxTRESPerUser", _TRES),
    Word("MaxTRESPerAccount", HONOURED, "most resources of an account in use at a time", _TRES),
    *_older("MaxTRESPA", "MaxTRESPerAccount", _TRES),
    Word("MinTRESPerJob", HONOURED, "fewest resources of a job", _TRES),
    *_older("MinTRES MinTRESPJ", "MinTRESPerJob", _TRES),
    Word("MaxTRESRunMinsPerUser", HONOURED, "most minutes of resources that a user's running jobs may use", _TRES),
    *_older("MaxTRESRunMinsPU", "MaxTRESRunMinsPerUser", _TRES),
    Word("MaxTRESRunMinsPerAccount", HONOURED, "the same of an account", _TRES),
    *_older("MaxTRESRunMinsPA", "MaxTRESRunMinsPerAccount", _TRES),
    Word("MaxJobsAccruePerUser", HONOURED, "most jobs of a user that grow older in the queue", _COUNT),
    *_older("MaxJobsAccruePU", "MaxJobsAccruePerUser", _COUNT),
    Word("MaxJobsAccruePerAccount", HONOURED, "the same of an account", _COUNT),
    *_older("MaxJobsAccruePA", "MaxJobsAccruePerAccount", _COUNT),
    Word(
        "UsageThreshold",
        HONOURED,
        "least fair-share factor with which jobs may run, with EnforceUsageThreshold",
        Kind.NUMBER,
    ),
    *_older("UsageThres", "UsageThreshold", Kind.NUMBER),
    Word("RawUsage", HONOURED, "0 alone: past usage is forgotten", Kind.COUNT),
    Word("LimitFactor", HONOURED, "what GrpTRES and MaxTRES of associations are multiplied by", Kind.NUMBER),
)
_RUN_MINS = ignored("of running minutes GrpTRESRunMins and those of QOS are looked at", "MaxTRESRunMins MaxCPURunMins")
_PEOPLE = (
    *ignored("words for people", "Comment Description Organization Classification Flavor Lineage"),
    *ignored("who may give a command is not checked", "AdminLevel Coordinator"),
    *ignored("workload characterisation keys are only labels", "DefaultWCKey WCKey WCKeys"),
)

FLAGS = {
    "DENYONLIMIT": HONOURED,
    "NODECAY": HONOURED,
    "NORESERVE": HONOURED,
    "OVERPARTQOS": HONOURED,
    "ENFORCEUSAGETHRESHOLD": HONOURED,
    "PARTITIONMAXNODES": HONOURED,
    "PARTITIONMINNODES": HONOURED,
    "PARTITIONTIMELIMIT": HONOURED,
    "RELATIVE": HONOURED,
    "REQUIRESRESERVATION": HONOURED,
    "REQUIRERESV": HONOURED,
    "USAGEFACTORSAFE": HONOURED,
}
"""Flags of a quality of service, in upper case."""

ASSOCIATION = vocabulary("an association", _ASSOCIATION, _GROUP, _JOB, _RUN_MINS, _PEOPLE)
"""What is said of an account, or of a user in an account."""
QOS = vocabulary("a QOS", _QOS, _GROUP, _JOB, _PEOPLE)
"""What is said of a quality of service."""
INHERITED = (
    *("MaxJobs", "MaxJobsAccrue", "MaxSubmitJobs", "MaxTRESPerJob", "MaxTRESPerNode", "MaxTRESMinsPerJob", "MaxWall"),
    "MinPrioThreshold",
)
"""Limits that an association has from its account where it has none of its own."""
LISTS = ("QOS", "Flags", "Preempt")
"""Words to which ``+=`` adds and from which ``-=`` takes away."""
OLD_RESOURCES = {"cpu": "CPU", "node": "Node", "mem": "Mem"}
"""Older words name the resource: ``GrpCPUs=8`` is ``GrpTRES=cpu=8``."""


def find(words: Vocabulary, name: str) -> Word | None:
    """The word of a name, which may be cut short as far as it is still clear what is meant."""
    found = words.find(name)
    if found is not None or len(name) < _FEWEST_LETTERS:
        return found
    longer = [word for word in words if word.name.lower().startswith(name.lower())]
    meanings = {word.means or word.name for word in longer}
    return longer[0] if len(meanings) == 1 else None
