"""Public names that are imported when they are first used."""

from __future__ import annotations

import importlib
import re

import pytest

PACKAGES = ("emulator", "emulator.config.slurm", "emulator.testing", "slurm_sim_plugins", "slurm_sim_plugins.testing")


@pytest.mark.parametrize("name", PACKAGES)
def test_each_public_name_is_found(name: str) -> None:
    package = importlib.import_module(name)
    assert all(getattr(package, public) is not None for public in package.__all__)


@pytest.mark.parametrize("name", PACKAGES)
def test_a_name_that_is_not_there_is_an_error(name: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(f"module {name!r} has no attribute 'nothing_such'")):
        importlib.import_module(name).nothing_such  # noqa: B018 - it is asked for


def test_the_error_names_what_may_be_meant() -> None:
    with pytest.raises(AttributeError, match="did you mean 'simulate'"):
        importlib.import_module("emulator").simulat  # noqa: B018 - it is asked for
