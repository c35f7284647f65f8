"""Which jobs a live plugin is responsible for: those with one of some marks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from emulator.live.sight import Sight
from slurm_sim_plugins.errors import ConfigurationError

KEYS = ("qos", "partition", "comment", "user")


@dataclass(frozen=True, slots=True)
class Marks:
    """Values by key, of which a job must have one for each key.

    Attributes:
        wanted: values by one of :data:`KEYS`; none stands for all jobs.
    """

    wanted: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, text: str | None) -> Marks:
        """Read ``qos=NAME,user=ANN,user=BOB``.

        Raises:
            ConfigurationError: it is written otherwise.
        """
        wanted: dict[str, frozenset[str]] = {}
        for word in (text or "").split(",") if text is not None else ():
            key, equals, value = word.strip().partition("=")
            if key not in KEYS or not equals or not value:
                raise ConfigurationError(
                    f"--only {text}: write it as KEY=VALUE, or several with commas between them; keys are "
                    f"{', '.join(KEYS)}"
                )
            wanted[key] = wanted.get(key, frozenset()) | {value}
        return cls(wanted)

    def __bool__(self) -> bool:
        """Whether any job is left out."""
        return bool(self.wanted)

    def fit(self, job: Sight) -> bool:
        """Whether a job is one of those; of one in several partitions all must be named."""
        for key, values in self.wanted.items():
            has = job.partition.split(",") if key == "partition" else [getattr(job, key)]
            if not values.issuperset(has):
                return False
        return True
