"""All checks of a plugin, but with less of each: for tests that are not about the checks themselves."""

from __future__ import annotations

import os

import pytest

from emulator.testing.conformance import clusters, running
from emulator.testing.conformance.subject import Policy, Subject


def quick_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shorter queue, each kind of job twice on clusters, few random workloads.

    And but in CI only the policy with the most other plugins.
    """
    monkeypatch.setattr(running, "LONG", 200)
    monkeypatch.setattr(running, "EXAMPLES", 3)
    monkeypatch.setattr(clusters, "COUNT", 2 * len(clusters.JOBS))
    if os.environ.get("CI"):
        return
    policies = Subject.policies

    def last(subject: Subject) -> list[Policy]:
        return policies(subject)[-1:]

    monkeypatch.setattr(Subject, "policies", last)
