"""The fixtures, as a plugin author's tests have them."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

# Imported here once for all, so that the runs within this process do not each import numpy.
import emulator.api
import emulator.testing.simulating

BOTH = ("-p", "slurm_sim_plugins.testing.pytest_plugin", "-p", "emulator.testing.pytest_plugin")
"""Named, so that it does not matter whether the installed distribution is older than the entry points."""
OPTIONS = ("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest", *BOTH)

PLAYING = """
    from slurm_sim_plugins.sched.easy import Easy

    def test_easy(cluster, job, play):
        here = cluster(10).running(job(6, planned=100), since=-20).waiting(job(8), job(4, limit=60))
        assert play(Easy, here).started == {expected}
"""


def run(pytester: pytest.Pytester, source: str, *options: str) -> pytest.RunResult:
    pytester.makepyfile(source)
    return pytester.runpytest_inprocess(*OPTIONS, *options)


def test_a_pass_is_played(pytester: pytest.Pytester) -> None:
    run(pytester, PLAYING.format(expected="[3]")).assert_outcomes(passed=1)


def test_a_failing_test_shows_the_schedule(pytester: pytest.Pytester) -> None:
    failed = run(pytester, PLAYING.format(expected="[2]"))
    failed.assert_outcomes(failed=1)
    failed.stdout.fnmatch_lines(
        [
            "*Schedule*",
            "10 processors; a column is 2 s; now is 0",
            "job  size   on  -20*",
            "  1     6  0-5  ==========-----* -20 to 80 planned",
            "  3     4  6-9            ------*  0 to 60 planned",
            "  2     8 *waits, reserved at 80",
        ]
    )


ON_NODES = """
    from slurm_sim_plugins.sched.easy import Easy

    def test_pass(cluster, job, play):
        assert play(Easy, cluster(nodes=2, cpus=4).waiting(job(4), job(8))).started == [9]

    def test_hook(cluster, job, call_hook):
        from slurm_sim_plugins.priority.sjf import Sjf
        assert call_hook(Sjf, "priority_set", cluster(nodes=2, cpus=4).waiting(job(4))) == [0]
"""


def test_a_failing_test_on_nodes_shows_what_the_pass_made_of_it(pytester: pytest.Pytester) -> None:
    failed = run(pytester, ON_NODES)
    failed.assert_outcomes(failed=2)
    failed.stdout.fnmatch_lines(["*Schedule*", "*column is*", "*waits*"])


def test_what_cannot_be_drawn_is_said(pytester: pytest.Pytester) -> None:
    source = """
        from slurm_sim_plugins.testing.pytest_plugin import remember

        def test_it(request):
            remember(request, 5)
            assert False
    """
    failed = run(pytester, source)
    failed.assert_outcomes(failed=1)
    failed.stdout.fnmatch_lines(["*Schedule*", "cannot be drawn: AttributeError: *"])


def test_a_passing_test_draws_nothing(pytester: pytest.Pytester) -> None:
    run(pytester, PLAYING.format(expected="[3]"), "-rP").stdout.no_fnmatch_line("*a column is*")


def test_one_hook_is_called(pytester: pytest.Pytester) -> None:
    source = """
        from slurm_sim_plugins.priority.sjf import Sjf

        def test_shortest_first(cluster, job, call_hook):
            assert call_hook(Sjf, "priority_set", cluster().waiting(job(limit=50), job(limit=7))) == [-50, -7]
    """
    run(pytester, source).assert_outcomes(passed=1)


SIMULATING = """
    from slurm_sim_plugins import hookimpl

    class Largest:
        name = "priority/largest"

        @hookimpl
        def priority_set(self, view):
            return [job.processors for job in view.to_set]

    def jobs(job):
        later = [job(2, submit=1, run=10), job(9, submit=1, run=10), job(1, submit=1, run=5, user="ann")]
        return [job(10, run=50), *later]

    def test_largest_first(simulate_jobs, job):
        done = simulate_jobs(jobs(job), 10, plugins=[Largest], priority="priority/largest")
        assert done.starts == {1: 0, 2: 60, 3: 50, 4: 50}
        assert done.ends[2] == 70
        assert done.runs[0] == (1, 0, 50, "COMPLETED")
        assert [line["job"] for line in done.events if line["event"] == "start"] == [1, 3, 4, 2]

    def test_the_calls(simulate_jobs, hook_calls, job):
        simulate_jobs(jobs(job), plugins=[Largest], priority="priority/largest")
        asked = [call for call in hook_calls if call.hook == "priority_set"]
        assert [(call.time, call.about, call.answer) for call in asked] == [(0, (1,), [10]), (1, (2, 3, 4), [2, 9, 1])]

    def test_the_timeline(simulate_jobs, timeline, job):
        drawn = timeline(simulate_jobs([job(4, run=10), job(8, run=10, submit=5)]))
        assert drawn.splitlines()[2].split()[-4:] == ["=" * 20, "0", "to", "10"]

    def test_it_fails(simulate_jobs, job):
        assert simulate_jobs([job(4, run=10)]).starts == {1: 5}
"""


def test_small_simulations(pytester: pytest.Pytester) -> None:
    done = run(pytester, SIMULATING)
    done.assert_outcomes(passed=3, failed=1)
    done.stdout.fnmatch_lines(["*Schedule*", "10 processors; a column is *", "  1     4  0-3  =====* 0 to 10"])


def test_installed_plugins_are_not_there(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    def looked(group: str = "") -> list[object]:
        raise AssertionError(f"{group} was looked for")

    pytester.makepyfile("def test_one(simulate_jobs, job):\n    assert simulate_jobs([job(run=5)]).ends == {1: 5}\n")
    monkeypatch.setattr(emulator.api, "discover", looked)
    pytester.runpytest_inprocess(*OPTIONS).assert_outcomes(passed=1)


def test_starting_up_imports_nothing_heavy(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_light():
            assert "slurm_sim_plugins.testing.pytest_plugin" in sys.modules
            assert "emulator.testing.pytest_plugin" in sys.modules
            heavy = {"numpy", "pandas", "pyarrow", "emulator.api", "slurm_sim_plugins.testing.drawing"}
            assert not heavy & set(sys.modules)
        """
    )
    pytester.runpytest_subprocess(*OPTIONS).assert_outcomes(passed=1)


def test_who_names_the_modules_again_has_them_once(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        "pytest_plugins = ['slurm_sim_plugins.testing.pytest_plugin', 'emulator.testing.pytest_plugin']"
    )
    run(pytester, PLAYING.format(expected="[3]")).assert_outcomes(passed=1)


def test_entry_points_are_called_what_they_are() -> None:
    import tomllib

    file = Path(__file__).parents[2] / "pyproject.toml"
    entries = tomllib.loads(file.read_text(encoding="utf-8"))["project"]["entry-points"]["pytest11"]
    assert all(name == target for name, target in entries.items())
    for target in entries:
        assert importlib.import_module(target).__doc__
