"""Checks of what a plugin's class says of itself."""

from __future__ import annotations

from emulator.testing.conformance.report import Nonconformity
from emulator.testing.conformance.subject import Subject
from slurm_sim_plugins.errors import ConfigurationError, PluginError
from slurm_sim_plugins.manager import check_hooks, make_plugin


def loads(subject: Subject) -> None:
    """It is a class with a plugin's name, and instances can be made of it."""
    try:
        info = subject.info
        make_plugin(info, dict(subject.options), seed=0)
    except ConfigurationError as error:
        raise Nonconformity(str(error)) from error
    except PluginError as error:
        if isinstance(error.__cause__, TypeError) and not subject.options:
            missing = [name for name, option in info.options().items() if option.default is option.empty]
            if missing:
                raise Nonconformity(
                    f"{error}; give {', '.join(missing)} a default, or a value to be checked with"
                ) from error
        raise


def hooks(subject: Subject) -> None:
    """Its hooks have names and arguments that the specifications know, and are marked."""
    check_hooks(subject.info)
