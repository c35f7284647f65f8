"""``scontrol update`` of the generic resources of a job: ``Gres=gpu:2``, ``TresPerJob=gres:gpu:4``."""

from __future__ import annotations

from dataclasses import replace

from emulator.config.slurm.model import GresCount
from emulator.state.asked import INVALID_GRES, MIXED_GRES, mixes_types
from emulator.workload.sbatch import GPU, BatchOptions, with_option

INVALID_TRES = "Invalid Trackable RESource (TRES) specification"
NONE = "none"
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
    """All other generic resources on each node from 24.11 on: what is not stated goes.

    Raises:
        ValueError: they are not understood, or there are GPUs among them beside GPUs in all.
    """
    stated = _counted(options, value)
    return replace(options, gres=stated) if stated else options


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


def all_of_node(options: BatchOptions, value: str) -> BatchOptions:
    """The same from 26.05 on, where nothing may be stated, too.

    Raises:
        ValueError: they are not understood.
    """
    if value.lower() == NONE:
        raise ValueError(INVALID_GRES)
    stated = with_option(BatchOptions(), "gres", value).gres if value else ()
    return replace(options, gres=tuple(one for one in stated if one.count))


def all_of_node_marked(options: BatchOptions, value: str) -> BatchOptions:
    """The same in the words of trackable resources; none without a mark."""
    return all_of_node(options, _if_marked(value))


def all_of_job(options: BatchOptions, value: str) -> BatchOptions:
    """All GPUs that it asks for in all, from 26.05 on; none without a mark."""
    return _gpus(replace(options, gpus=()), "gpus", _if_marked(value))


def all_of_task(options: BatchOptions, value: str) -> BatchOptions:
    """All GPUs of each task, from 26.05 on; none without a mark."""
    return _gpus(replace(options, gpus_per_task=()), "gpus-per-task", _if_marked(value))


def _if_marked(value: str) -> str:
    """A value without the mark with which it begins, or nothing, where Slurm says that it is invalid."""
    return next((value.removeprefix(mark) for mark in MARKS if value.startswith(mark)), "")


def _counted(options: BatchOptions, value: str) -> tuple[GresCount, ...]:
    """What a value states; an empty one or a count of 0 changes nothing (asked of 22.05 and 24.11)."""
    stated = with_option(BatchOptions(), "gres", value).gres if value else ()
    if options.gpus and any(one.name == GPU for one in stated):
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
    if not value or count == "0":
        return options
    if name != "gpu":
        raise ValueError(INVALID_GRES)
    return with_option(options, option, count or "1")
