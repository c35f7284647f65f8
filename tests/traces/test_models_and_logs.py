"""The models against the logs from which their constants are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from emulator import Workload, read_swf
from emulator.workload.models import jann97, tsafrir05

CTC = "CTC-SP2-1996-3.1-cln.swf.gz"
LOGS = (CTC, "SDSC-SP2-1998-4.2-cln.swf.gz", "SDSC-BLUE-2000-4.2-cln.swf.gz")
LARGEST_OF_CTC = 64800.0


def log(traces: Path, name: str, **options: object) -> Workload:
    read: Workload = read_swf(traces / "swf" / name, **options)  # type: ignore[arg-type]
    return read


def test_the_bundled_parameters_are_the_fit_to_the_log(traces: Path) -> None:
    fitted, bundled = jann97.fit(log(traces, CTC, machine=430)), jann97.ctc()
    assert bundled.source == fitted.source
    for one, other in zip(bundled.ranges, fitted.ranges, strict=True):
        assert (one.sizes, one.jobs) == (other.sizes, other.jobs)
        for mine, theirs in ((one.gaps, other.gaps), (one.runs, other.runs)):
            moments = [[each.moment(number) for number in (1, 2, 3)] for each in (mine, theirs)]
            assert moments[0] == pytest.approx(moments[1], rel=1e-9)


@pytest.mark.parametrize("name", ["KTH-SP2-1996-2.1-cln.swf.gz", CTC])
def test_an_imitation_is_like_its_log(traces: Path, name: str) -> None:
    original = log(traces, name)
    machine = original.machine or 0
    fitted = jann97.fit(original)
    assert {each.matched for part in fitted.ranges for each in (part.gaps, part.runs)} == {3}
    made = jann97.generate(len(original), machine, 1, parameters=fitted)
    for one, other in zip(jann97.moments_by_range(original), jann97.moments_by_range(made), strict=True):
        # Standard errors of means of this many values, for log and imitation each.
        for before, after in ((one.gaps, other.gaps), (one.runs, other.runs)):
            error = before[1] * before[0] * (1 / one.jobs + 1 / other.jobs) ** 0.5
            assert abs(after[0] - before[0]) < 4.5 * error


def test_popular_estimates_are_those_of_the_logs(traces: Path) -> None:
    shares: dict[str, dict[float, float]] = {}
    for name in LOGS:
        limits = log(traces, name, filter="none").time_limit
        counts = Counter(limits.tolist())
        shares[name] = {time: count / len(limits) for time, count in counts.most_common(20)}
    common = set.intersection(*(set(each) for each in shares.values()))
    assert common == set(map(float, tsafrir05.POPULAR))

    def mean_share(time: float) -> float:
        counted = [each[time] for name, each in shares.items() if (name, time) != (CTC, LARGEST_OF_CTC)]
        return float(np.mean(counted))

    assert sorted(common, key=mean_share, reverse=True) == list(map(float, tsafrir05.POPULAR))
