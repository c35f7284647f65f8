"""All checks of a plugin, but with less of each: for tests that are not about the checks themselves."""

from __future__ import annotations

import os

import pytest

from emulator.testing.conformance import running
from emulator.testing.conformance.subject import Policy, Subject


def quick_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shorter queue, few random workloads and, but in CI, only the policy with the most other plugins."""
    monkeypatch.setattr(running, "LONG", 200)
    monkeypatch.setattr(running, "EXAMPLES", 3)
    if os.environ.get("CI"):
        return
    policies = Subject.policies

    def last(subject: Subject) -> list[Policy]:
        return policies(subject)[-1:]

    monkeypatch.setattr(Subject, "policies", last)
