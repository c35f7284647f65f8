"""Numbers of jobs as a real controller gives them: a task of an array gets one of its own when it starts."""

from __future__ import annotations

import re

from emulator.engine.arrivals import NEW_RECORD
from emulator.engine.controller import Controller

NAMED = re.compile(r"(?i)((?:JobId=|scancel |hold |release |requeue |suspend |resume ))(\d+)")
"""The number of a job in a command."""


def with_numbers_of_tasks(command: str, controller: Controller) -> str:
    """A command in which the number that Slurm gave a task of an array is the one that the task has here."""
    named = NAMED.search(command)
    if named is None or int(named[2]) in _given(controller):
        return command
    number = _of_tasks(controller).get(int(named[2]))
    takes = controller.parameters.rules.NUMBERS_OF_TASKS_CANCEL or not named[1].startswith("scancel")
    if number is None or not takes:
        # Tasks have numbers here before they have them there.
        number = max(controller.cluster.jobs, default=0) + 1
    return f"{command[: named.start(2)]}{number}{command[named.end(2) :]}"


def _given(controller: Controller) -> set[int]:
    """Numbers of submissions: a task has its array's."""
    jobs = controller.cluster.jobs.values()
    return {job.request.array or job.id for job in jobs} | controller.cluster.refused


def _of_tasks(controller: Controller) -> dict[int, int]:
    """Ids of tasks that have started, by the next number that was free then; the last of an array keeps its own.

    Submissions that were refused once Slurm had made a record of them took one, too.
    """
    jobs = controller.cluster.jobs.values()
    came = [(job.request.submit, False, 0, job.request.array or job.id) for job in jobs]
    came += [(one.submit, False, 0, 0) for one, words in controller.rejected if words.endswith(NEW_RECORD)]
    for tasks in controller.cluster.tasks.values():
        begun = sorted((task.runs[0].start, True, task.request.task, task.id) for task in tasks if task.runs)
        came += begun if len(begun) < len(tasks) else begun[:-1]
    highest, found = 0, dict[int, int]()
    for _, starts, _, number in sorted(came):
        if starts or not number:
            highest += 1
        if starts:
            found[highest] = number
        else:
            highest = max(highest, number)
    return found
