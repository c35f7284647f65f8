"""``scontrol update`` of the generic resources of a job: ``Gres=gpu:2``, ``TresPerJob=gres:gpu:4``."""

from __future__ import annotations

from dataclasses import replace

from emulator.config.slurm.model import GresCount
from emulator.state.asked import INVALID_GRES, MIXED_GRES, mixes_types
from emulator.workload.sbatch import BatchOptions, with_option

INVALID_TRES = "Invalid Trackable RESource (TRES) specification"
MARKS = ("gres:", "gres/")
"""How a value begins that names generic resources as such; 22.05 knows the first."""


def gres_of_types(options: BatchOptions, value: str) -> BatchOptions:
    """Other generic resources on each node in 22.05, where a type is a kind of its own.

    Raises:
        ValueError: as for :func:`gres`, or some of a name have a type and others not.
    """
    stated = _counted(options, value)
    if stated and mixes_types((*options.gres, *stated)):
        raise ValueError(MIXED_GRES)
    kinds = {(one.name, one.type) for one in stated}
    return replace(options, gres=(*(one for one in options.gres if (one.name, one.type) not in kinds), *stated))


def gres(options: BatchOptions, value: str) -> BatchOptions:
    """Other generic resources on each node, of the names that are stated.

    Raises:
        ValueError: they are not understood, or it has GPUs in all.
    """
    stated = _counted(options, value)
    names = {one.name for one in stated}
    return replace(options, gres=(*(one for one in options.gres if one.name not in names), *stated))


def of_node(options: BatchOptions, value: str) -> BatchOptions:
    """Others on each node, in the words of trackable resources."""
    return gres(options, _unmarked(value, MARKS))


def of_job(options: BatchOptions, value: str) -> BatchOptions:
    """Other GPUs in all."""
    return _gpus(options, "gpus", _unmarked(value, MARKS))


def of_task(options: BatchOptions, value: str) -> BatchOptions:
    """Other GPUs of each task."""
    return _gpus(options, "gpus-per-task", _unmarked(value, MARKS))


def of_node_typed(options: BatchOptions, value: str) -> BatchOptions:
    """Others on each node in 22.05."""
    return gres_of_types(options, _unmarked(value, MARKS[:1]))


def of_job_typed(options: BatchOptions, value: str) -> BatchOptions:
    """Other GPUs in all in 22.05."""
    return _gpus(options, "gpus", _unmarked(value, MARKS[:1]))


def of_task_typed(options: BatchOptions, value: str) -> BatchOptions:
    """Other GPUs of each task in 22.05."""
    return _gpus(options, "gpus-per-task", _unmarked(value, MARKS[:1]))


def _counted(options: BatchOptions, value: str) -> tuple[GresCount, ...]:
    """What a value states; an empty one or a count of 0 changes nothing (asked of 22.05 and 24.11)."""
    stated = with_option(BatchOptions(), "gres", value).gres if value else ()
    if stated and options.gpus:
        raise ValueError(INVALID_GRES)
    return tuple(one for one in stated if one.count)


def _unmarked(value: str, marks: tuple[str, ...]) -> str:
    """A value without the mark with which it begins.

    Raises:
        ValueError: it has none. (22.05 says nothing of that to a job which has some of the kind; it changes nothing.)
    """
    for mark in marks:
        if value.startswith(mark):
            return value.removeprefix(mark)
    raise ValueError(INVALID_TRES)


def _gpus(options: BatchOptions, option: str, value: str) -> BatchOptions:
    name, _, count = value.partition(":")
    if name != "gpu":
        raise ValueError(INVALID_GRES)
    return with_option(options, option, count or "1")
