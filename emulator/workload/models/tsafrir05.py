"""The model of user run-time estimates by Tsafrir, Etsion and Feitelson (2005).

Source: D. Tsafrir, Y. Etsion and D. G. Feitelson, "Modeling user runtime estimates", Job
Scheduling Strategies for Parallel Processing, LNCS 3834 (2005), 1-35, and the page of the
model in the Parallel Workloads Archive,
https://www.cs.huji.ac.il/labs/parallel/workload/m_tsafrir05/. All constants below are the
published ones unless the text says otherwise.

Users estimate in few, round numbers: 20 popular values, the *head*, hold 89 % of the jobs. The
model makes a histogram of estimates and then pairs estimates with jobs.

* The histogram has K = 0.653566 * jobs^0.547761 values, of which the head has 20.
* The most popular value is the largest that is allowed. Popularity ranks 2 to 20 hold
  14.0491 * exp(-0.177531 * rank) + 0.462513 % of the jobs each; rank 1 holds the rest of 89 %.
* The other values, the *tail*, share 11 % in proportion to rank^-2.267, from rank 21 on, and
  lie at the relative times (a - 1) x / (a - x), for x from 1 / tail to 1 in even steps and
  a = 1 + 12.1039 * K^-0.6026. Which of them has which rank is random.
* A random one of all pairings in which no job outlasts its estimate is taken: from the longest
  job to the shortest, each draws one of the estimates that are left and are long enough.

What the published description leaves open is read as follows:

1. The head is the 15 values that are among the 20 most popular ones of CTC-SP2, SDSC-SP2 and
   SDSC-BLUE (see :data:`POPULAR`), as far as they are below the largest, and, as in
   the authors' program, round values from the largest down to fill it up to 20: multiples of
   200 h, then of 100 h, 50 h, ... 1 min.
2. Their order of popularity is fixed (the authors draw it from four logs): that of
   :data:`POPULAR`, by mean share in those three logs, then that in which they were filled in. So a seed
   changes the jobs, not the habits of the users.
3. Tail values are whole minutes; one that is taken already moves by up to 30 s in steps of 10 s
   and is left out if there is no room for it.
4. Fewer than 20 values (below some 500 jobs) leave no tail: the head holds all jobs. A tail of
   few values, up to some 10,000 jobs, has values that are popular themselves, so the 20 most
   popular ones hold more than 89 %. Shares become jobs by largest remainder.
5. Without ``largest``, the largest estimate is the longest run time, rounded up to whole hours.
6. Known popular values (``popular``) replace default ones of the head from the least
   popular on, and have the shares given; the other values of the head share what is left of
   89 % in proportion to the shares of the first ranks, the largest value first.
7. **Repair**: if too many run times are long, no pairing exists. Then, from the longest job on,
   an estimate that is too short becomes the smallest value of the histogram that is long
   enough; the header says how many. Run times are never cut.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from enum import IntEnum

import numpy as np

from emulator.workload.models import common
from emulator.workload.workload import LARGEST_SECONDS, Floats, Ints, Workload
from slurm_sim_plugins.errors import ConfigurationError

MINUTE, HOUR = 60, 3600

HEAD = 20
"""How many values are popular."""

HEAD_SHARE = 0.89
"""Share of the jobs that use them."""

POPULAR = tuple(MINUTE * each for each in (120, 15, 30, 5, 60, 10, 1080, 180, 240, 20, 360, 720, 600, 480, 300))
"""The values, in seconds, that are among the 20 most popular ones of three logs of the Parallel
Workloads Archive (CTC-SP2-1996-3.1, SDSC-SP2-1998-4.2 and SDSC-BLUE-2000-4.2, cleaned), from the
largest mean share to the smallest. That CTC's 18 h are its largest estimate is left aside:
its share there is not counted."""

ROUND = tuple(MINUTE * each for each in (12_000, 6_000, 3_000, 600, 300, 120, 60, 30, 20, 15, 10, 5, 1))
"""Steps, in seconds, of the round values with which the head is filled up."""

MOST_VALUES = 100_000
"""The largest number of values that can be asked for; the model itself has 60,000 for a billion jobs."""

LEAST_LARGEST = float(MINUTE)
"""The largest estimate cannot be shorter than this, in seconds."""


class _Purpose(IntEnum):
    """One independent random stream each."""

    TAIL = 0
    PAIRS = 1


def assign(
    workload: Workload,
    seed: int,
    *,
    largest: float | None = None,
    popular: Mapping[float, float] | None = None,
    values: int | None = None,
) -> Workload:
    """Give each job an estimate as its time limit, none below its run time.

    Args:
        workload: jobs with run times; their limits are replaced.
        seed: 0 or more.
        largest: the largest estimate in seconds, 60 or more, or None for the longest run time in whole hours.
        popular: known popular estimates, in seconds, with the shares of all jobs that use them;
            20 at most (19 without the largest), together 1 at most.
        values: how many different estimates (K), or None for the model's number.

    Returns:
        The same jobs with new limits; name, header and hash say so.

    Raises:
        ConfigurationError: no jobs, an argument out of its range, or a run time above ``largest``.
    """
    seed = common.whole("seed", seed, 0)
    if len(workload) == 0:
        raise ConfigurationError(f"{workload.name}: a workload without jobs needs no estimates")
    longest = float(workload.run.max())
    top = _round_up(longest, HOUR) if largest is None else float(largest)
    if not LEAST_LARGEST <= top <= LARGEST_SECONDS:
        raise ConfigurationError(f"largest is {top:g} s; an estimate is {LEAST_LARGEST:g} s or more")
    if longest > top:
        job = int(workload.id[np.argmax(workload.run)])
        raise ConfigurationError(
            f"{workload.name}: job {job} runs for {longest:g} s, longer than the largest estimate of {top:g} s; "
            "allow a larger one"
        )
    times, jobs = histogram(len(workload), top, popular=popular, values=values, seed=seed)
    estimates = np.repeat(times, jobs)
    limits, raised = _pair(workload.run, estimates, times, common.stream(seed, "tsafrir05", _Purpose.PAIRS))
    lines = (
        f"seed={seed}",
        f"largest={top!r}",
        f"popular={[(float(time), float(share)) for time, share in sorted((popular or {}).items())]!r}",
        f"values={len(times)}",
    )
    notes = (*lines, f"raised={raised}")
    return replace(
        workload,
        time_limit=limits,
        name=f"{workload.name}-tsafrir05",
        header=(*workload.header, *(f"; Note: tsafrir05 {line}" for line in notes)),
        source_hash=common.digest("tsafrir05", workload.source_hash, *lines),
    )


def histogram(
    jobs: int,
    largest: float,
    *,
    popular: Mapping[float, float] | None = None,
    values: int | None = None,
    seed: int = 0,
) -> tuple[Floats, Ints]:
    """How many jobs have which estimate.

    Args:
        jobs: how many in all.
        largest: the largest estimate, in seconds.
        popular: as in :func:`assign`.
        values: as in :func:`assign`.
        seed: of the order of the tail.

    Returns:
        Estimates in seconds, ascending, and for each the number of jobs (0 for those
        for which there are too few); the numbers add up to ``jobs``.

    Raises:
        ConfigurationError: known popular values that cannot be had.
    """
    known = _known(popular or {}, largest)
    if values is None:
        values = round(0.653566 * jobs**0.547761)
    elif not HEAD <= common.whole("values", values, 1) <= MOST_VALUES:
        raise ConfigurationError(f"values is {values}; the head alone has {HEAD}, and {MOST_VALUES} are the most")
    head = _head(largest, known)
    tail = _tail(values - len(head), values, largest, head)
    in_head = max(HEAD_SHARE, sum(known.values())) if tail else 1.0
    head_shares = _head_shares(head, known, in_head)
    weight = common.stream(seed, "tsafrir05", _Purpose.TAIL).permutation(_tail_weights(len(tail)))
    tail_shares = (1 - head_shares.sum()) * weight / weight.sum() if tail else weight
    times, shares = np.array([*head, *tail], dtype=np.float64), np.concatenate([head_shares, tail_shares])
    order = np.argsort(times)
    return times[order], _whole_jobs(shares[order] / shares.sum(), jobs)


def rank_shares(count: int = HEAD) -> Floats:
    """Shares of all jobs that popularity ranks 1 to ``count`` hold; they add up to 0.89."""
    rank = np.arange(2, count + 1)
    others = (14.0491 * np.exp(-0.177531 * rank) + 0.462513) / 100
    return np.concatenate(([HEAD_SHARE - others.sum()], others))


def _known(popular: Mapping[float, float], largest: float) -> dict[float, float]:
    """Known popular values and shares, checked, from the largest share to the smallest."""
    known = {float(time): float(share) for time, share in popular.items()}
    for time, share in known.items():
        if not (0 < time <= largest and share > 0):
            raise ConfigurationError(
                f"popular: {time:g} s for {share:g} of the jobs; a time is above 0 s and at most the largest "
                f"estimate of {largest:g} s, a share above 0"
            )
    most = HEAD if largest in known else HEAD - 1
    if len(known) > most:
        raise ConfigurationError(f"popular holds {len(known)} values; the head has room for {most}")
    if sum(known.values()) > 1 + 1e-9:
        raise ConfigurationError(f"popular: the shares add up to {sum(known.values()):g}; all jobs are 1")
    return dict(sorted(known.items(), key=lambda item: (-item[1], item[0])))


def _head(largest: float, known: Mapping[float, float]) -> list[float]:
    """The popular values: the largest, then by popularity; fewer than 20 below 20 minutes."""
    head = [largest, *(float(time) for time in POPULAR if time < largest)]
    for step in ROUND:
        top = math.ceil(largest / step) - 1
        for number in range(top, 0, -1):
            if len(head) < HEAD and number * step not in head:
                head.append(float(number * step))
    new = [time for time in known if time not in head]
    for time in reversed(head[1:]):
        if len(head) + len(new) > HEAD and time not in known:
            head.remove(time)
    return head + new


def _head_shares(head: list[float], known: Mapping[float, float], total: float) -> Floats:
    """The share of each value of the head; ``total`` is that of all, if not all are known."""
    shares = np.array([known.get(time, 0.0) for time in head])
    others = np.array([time not in known for time in head])
    if others.any():
        ranks = rank_shares(len(head) + 1)[1:] if head[0] in known else rank_shares(len(head))
        model = ranks[: int(others.sum())]
        shares[others] = max(total - shares.sum(), 0.0) * model / model.sum()
    return shares


def _tail(count: int, values: int, largest: float, head: list[float]) -> list[float]:
    """``count`` unpopular values, or fewer where whole minutes run out."""
    bend = 1 + 12.1039 * values**-0.6026
    taken, tail = set(head), []
    for number in range(1, count + 1):
        x = number / count
        minutes = round((bend - 1) * x / (bend - x) * largest / MINUTE) * MINUTE
        for offset in (0, 10, -10, 20, -20, 30, -30):
            time = float(minutes + offset)
            if 0 < time < largest and time not in taken:
                taken.add(time)
                tail.append(time)
                break
    return tail


def _tail_weights(count: int) -> Floats:
    """Weights of popularity ranks from 21 on."""
    return np.asarray(np.arange(HEAD + 1.0, HEAD + 1.0 + count) ** -2.267, dtype=np.float64)


def _whole_jobs(shares: Floats, jobs: int) -> Ints:
    """Whole numbers of jobs, in all ``jobs``, as near to the shares as can be."""
    exact = shares * jobs
    whole = np.floor(exact).astype(np.int64)
    missing = jobs - int(whole.sum())
    whole[np.argsort(whole - exact, kind="stable")[:missing]] += 1
    return whole


def _pair(run: Floats, estimates: Floats, times: Floats, rng: np.random.Generator) -> tuple[Floats, int]:
    """A random pairing, and how many estimates had to be raised for it (reading 7).

    Whatever an earlier, longer job draws, a later one has the same number of estimates to
    choose from; so every pairing without a job that outlasts its estimate is equally likely.
    """
    longest_first = np.argsort(-run, kind="stable")
    runs = run[longest_first]
    left = np.sort(estimates)[::-1]
    short = left < runs
    left[short] = times[np.searchsorted(times, runs[short])]
    left = np.sort(left)[::-1]
    enough = len(left) - np.searchsorted(left[::-1], runs)
    picks = rng.integers(np.arange(len(runs)), enough).tolist()
    pool = left.tolist()
    for index, pick in enumerate(picks):
        pool[index], pool[pick] = pool[pick], pool[index]
    limits = np.empty_like(run)
    limits[longest_first] = pool
    return limits, int(np.count_nonzero(short))


def _round_up(seconds: float, step: int) -> float:
    return float(max(math.ceil(seconds / step), 1) * step)
