"""Parameters that are to have another value than the files say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from emulator.config.slurm.lines import Pair
from emulator.config.slurm.location import Findings, Location
from emulator.config.slurm.model import SlurmConf, known_to
from emulator.config.slurm.parameters import PARAMETERS
from emulator.config.slurm.records import LINES
from emulator.config.slurm.settings import Setting, Settings, latest, read_pairs
from emulator.config.slurm.vocabulary import Word
from slurm_sim_plugins.errors import meant

Change = str | int | float | bool
"""A value as it would be written; true and false are Slurm's YES and NO, of an option that it is there or not."""
LOCATION = Location("set", 0)
"""A change stands on no line of a file."""
LINES_OF_FILES = (*LINES, "Include")


def changed(stated: Sequence[Setting], changes: Mapping[str, Change], findings: Findings) -> list[Setting]:
    """The settings that replace those of the same names.

    Args:
        stated: parameters as the files state them.
        changes: values by name: ``KillWait``, or ``SchedulerParameters.bf_window`` for an option of
            a parameter whose other options stay.
        findings: where problems and notices go.
    """
    texts = {setting.name: setting.text for setting in stated if not setting.part_of}
    pairs: dict[str, Pair] = {}
    for name, value in changes.items():
        pair = _pair(name, value, texts, findings)
        if pair is not None:
            texts[pair.key] = pair.value
            pairs[pair.key] = pair
    return read_pairs(pairs.values(), PARAMETERS, findings)


def with_changes(conf: SlurmConf, changes: Mapping[str, Change]) -> SlurmConf:
    """A configuration whose file states other values of some parameters.

    Args:
        conf: as it was read.
        changes: as for :func:`changed`.

    Raises:
        InputError: there is no such parameter, or it does not take the value.
    """
    findings = Findings()
    settings = changed([setting for kind, setting in conf.entries if not kind], changes, findings)
    findings.check()
    entries = (*without(conf.entries, settings), *(("", setting) for setting in settings))
    parameters = latest([setting for kind, setting in entries if not kind], findings)
    return replace(conf, parameters=known_to(conf.version, Settings(PARAMETERS, parameters)), entries=entries)


def without(stated: Sequence[tuple[str, Setting]], settings: Sequence[Setting]) -> list[tuple[str, Setting]]:
    """What else was stated: without the parameters of some settings, and without options of those."""
    names = {setting.name for setting in settings if not setting.part_of}
    return [(kind, each) for kind, each in stated if kind or not {each.name, each.part_of} & names]


def _pair(name: str, value: Change, texts: Mapping[str, str], findings: Findings) -> Pair | None:
    """A parameter with its new value; None, and a problem, if it cannot be."""
    parameter, dot, option = name.partition(".")
    word = PARAMETERS.find(parameter)
    if parameter.lower() in (line.lower() for line in LINES_OF_FILES):
        findings.problem(LOCATION, f"{parameter} is a line of its own; write a changed copy of the file")
    elif word is None:
        findings.problem(LOCATION, f"{parameter} is no parameter of slurm.conf{PARAMETERS.meant(parameter)}")
    elif not dot:
        return Pair(word.name, _text(value), LOCATION)
    else:
        return _with_option(word, option, value, texts, findings)
    return None


def _with_option(word: Word, option: str, value: Change, texts: Mapping[str, str], findings: Findings) -> Pair | None:
    """A parameter whose options are what they were, but for one."""
    options = PARAMETERS.options.get(word.name)
    wanted = options.find(option) if options is not None else None
    if options is None or wanted is None:
        known = meant(option, (each.name for each in options or ()))
        findings.problem(LOCATION, f"{option} is no option of {word.name}{known}")
        return None
    written = texts.get(word.name, word.default).split(",")
    kept = [each for each in written if each and options.find(each.partition("=")[0].strip()) is not wanted]
    if value is not False:
        kept.append(wanted.name if value is True else f"{wanted.name}={_text(value)}")
    return Pair(word.name, ",".join(kept), LOCATION)


def _text(value: Change) -> str:
    """As it would be written."""
    return str(value) if not isinstance(value, bool) else "YES" if value else "NO"
