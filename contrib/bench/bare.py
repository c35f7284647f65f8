"""EASY as a bare loop: no hooks, no views, no validation, no records. The bench's yardstick.

The same schedule as ``sched/easy`` with ``passes=batch``, written flat for speed in
plain Python, as one would who needs nothing else. As a program it reads a log, cleans it
as the filter ``standard`` does, and writes start and end of each job:
``python bare.py TRACE PROCESSORS OUT``.
"""

from __future__ import annotations

import gzip
import sys
from bisect import bisect_left, insort
from heapq import heappop, heappush


def easy(submit: list[int], processors: list[int], run: list[int], limit: list[int], machine: int) -> list[int]:
    """Start times of jobs given in the order of (submit, id); ``run <= limit``.

    Args:
        submit, run, limit: whole seconds.
        processors: of each job, at most ``machine``.
        machine: size of the machine.
    """
    count = len(submit)
    start = [0] * count
    free = machine
    queue: list[int] = []
    ends: list[tuple[int, int]] = []
    running: list[tuple[int, int]] = []
    arrival = 0
    shadow = extra = 0
    never = 1 << 62
    while arrival < count or ends:
        now = submit[arrival] if arrival < count else never
        if ends and ends[0][0] <= now:
            now = ends[0][0]
        ended = False
        while ends and ends[0][0] == now:
            job = heappop(ends)[1]
            entry = (start[job] + limit[job], job)
            del running[bisect_left(running, entry)]
            free += processors[job]
            ended = True
        blocked = bool(queue) and not ended
        first_new = len(queue)
        while arrival < count and submit[arrival] == now:
            queue.append(arrival)
            arrival += 1
        position = 0
        if not blocked:
            # Start the head of the queue while it fits; then reserve for it.
            while position < len(queue) and processors[queue[position]] <= free:
                job = queue[position]
                position += 1
                free -= processors[job]
                start[job] = now
                heappush(ends, (now + run[job], job))
                insort(running, (now + limit[job], job))
            del queue[:position]
            if not queue:
                continue
            needed = processors[queue[0]] - free
            shadow = -1
            for end, job in running:
                if needed <= 0 and end > shadow:
                    break
                needed -= processors[job]
                shadow = end
            extra = -needed
            first_new = 1
        if not free:
            continue
        position = first_new
        while position < len(queue):
            job = queue[position]
            wanted = processors[job]
            if wanted <= free:
                if now + limit[job] > shadow:
                    if wanted > extra:
                        position += 1
                        continue
                    extra -= wanted
                del queue[position]
                free -= wanted
                start[job] = now
                heappush(ends, (now + run[job], job))
                insort(running, (now + limit[job], job))
                if not free:
                    break
            else:
                position += 1
    return start


def read(path: str, machine: int) -> list[tuple[int, int, int, int, int]]:
    """(submit, id, processors, run, limit) of the jobs of a log, in order."""
    jobs = []
    with gzip.open(path, "rt", encoding="latin-1") as lines:
        for line in lines:
            if line.startswith(";"):
                continue
            fields = line.split()
            run, processors, limit = int(float(fields[3])), int(fields[4]), int(float(fields[8]))
            if run <= 0 or not 0 < processors <= machine:
                continue
            limit = limit if limit > 0 else run
            jobs.append((int(float(fields[1])), int(fields[0]), processors, min(run, limit), limit))
    jobs.sort()
    return jobs


def main() -> None:
    path, machine, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    jobs = read(path, machine)
    submit, ids, processors, run, limit = (list(column) for column in zip(*jobs, strict=True))
    start = easy(submit, processors, run, limit, machine)
    with open(out, "w") as stream:
        stream.writelines(f"{id},{begin},{begin + work}\n" for id, begin, work in zip(ids, start, run, strict=True))


if __name__ == "__main__":
    main()
