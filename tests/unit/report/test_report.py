"""Tables and plots: what they say, that they are safe, and that their bytes are always the same."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table

from emulator.metrics.summary import METRICS, summarise
from emulator.report import plots
from emulator.report.caption import caption, is_oracle, joint_caption
from emulator.report.numbers import duration_text, instant_text, printable, value_text
from emulator.report.table import best, compare_table, run_table
from emulator.report.timeaxis import bins, time_axis
from slurm_sim_plugins.lanes import assign_lanes
from tests.builders.records import A10, ABOUT, EMPTY, HOSTILE, NAN, many, records_of, strange


def shown(table: Table, width: int = 120) -> str:
    stream = io.StringIO()
    Console(file=stream, width=width).print(table)
    return stream.getvalue()


# Numbers


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0:00:00"),
        (59.6, "0:01:00"),
        (6890.577, "1:54:51"),
        (262194, "72:49:54"),
        (345600, "4 d 0:00:00"),
        (28763776, "332 d 21:56:16"),
        (-13, "-0:00:13"),
        (-0.2, "0:00:00"),
        (NAN, "\N{EN DASH}"),
    ],
)
def test_durations_are_written_as_clock_time(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "epoch", "text"),
    [
        (0.0, 843480031, "1996-09-23 12:00:31"),
        (0.25, 0, "1970-01-01 00:00:00.25"),
        (12345.0, None, "12,345"),
        (0.5, None, "0.5"),
        (2.0**43, 0, "8,796,093,022,208"),
        (-1e12, 0, "-1,000,000,000,000"),
        (NAN, 0, "\N{EN DASH}"),
    ],
)
def test_instants_are_dates_in_utc_where_the_epoch_is_known(seconds: float, epoch: int | None, text: str) -> None:
    assert instant_text(seconds, epoch) == text


def test_values_are_written_with_the_digits_that_suit_them() -> None:
    values = {"jobs": 28467, "mean_wait": 6890.577, "max_wait": 262194.0, "mbs": 92.8424, "load": 0.69897, "mwbs": NAN}
    texts = [value_text(METRICS[key], value) for key, value in values.items()]
    assert texts == ["28,467", "6,890.58", "262,194", "92.842", "69.90 %", "\N{EN DASH}"]


def test_control_characters_do_not_reach_a_terminal() -> None:
    assert (
        printable("a\x1b[31m\u202eb\n")
        == "a\N{REPLACEMENT CHARACTER}[31m\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}"
    )


# Captions


def test_a_caption_names_timing_passes_and_kill_rule() -> None:
    assert caption(ABOUT) == "4 processors, ideal timing, passes=batch, killed at the limit"
    other = {"simulation": {"passes": "event", "kill_at_limit": False}, "run": {"status": "failed"}}
    assert caption(other) == "passes=event, not killed at the limit, failed: the run broke off"
    assert caption({}) == ""
    assert caption({"simulation": "nonsense", "plugins": 3, "run": None}) == ""


@pytest.mark.parametrize("about", [{"run": {"oracle": True}}, {"plugins": {"a/b": {"oracle": True}, "c/d": 3}}])
def test_an_oracle_is_always_named(about: dict[str, Any]) -> None:
    assert is_oracle(about)
    assert "oracle" in caption(about)
    assert "oracle" in shown(run_table(summarise(A10), about))
    assert "oracle" in shown(compare_table({"x": summarise(A10)}, {"x": about}))


def test_several_runs_share_a_caption_unless_they_differ() -> None:
    event = {**ABOUT, "simulation": {**ABOUT["simulation"], "passes": "event"}}
    assert joint_caption({"a": ABOUT, "b": ABOUT}) == caption(ABOUT)
    assert joint_caption({"a": ABOUT, "b": event}) == f"a: {caption(ABOUT)}\nb: {caption(event)}"
    assert joint_caption({}) == ""


# Tables


def test_the_table_of_a_run_shows_every_metric() -> None:
    text = shown(run_table(summarise(A10), ABOUT))
    for metric in METRICS.values():
        assert metric.title in text
    assert "sched/easy on KTH-SP2" in text
    assert "64.81 %" in text
    assert caption(ABOUT) in " ".join(text.split())


def test_names_are_no_markup() -> None:
    text = shown(compare_table({"[bold]x[/bold]": summarise(A10), HOSTILE: summarise(A10)}, title="[red]t"), 200)
    assert "[bold]x[/bold]" in text
    assert "[red]t" in text
    assert "\x1b" not in text


def test_the_best_of_a_row_is_marked_where_lower_is_better() -> None:
    slow = records_of({1: (0, 1, 10), 2: (0, 1, 10)}, {1: [(0, 10)], 2: [(3610, 3620)]}, 1)
    quick = records_of({1: (0, 1, 10), 2: (0, 1, 10)}, {1: [(0, 10)], 2: [(10, 20)]}, 1)
    text = shown(compare_table({"slow": summarise(slow), "quick": summarise(quick)}, note="threshold 10 s"))
    lines = {line.strip().partition("  ")[0]: line for line in text.splitlines()}
    assert re.search(r"1,805\s+5\*", lines["mean wait (s)"])
    assert "1:00:10" in text
    assert "*" not in lines["utilisation"]
    assert "*" not in lines["jobs"]
    assert "best of the row" in text
    assert "threshold 10 s" in text


def test_nothing_is_best_among_equals() -> None:
    wait, load = METRICS["mean_wait"], METRICS["load"]
    assert best(wait, [1.0, 2.0, 1.0]) == {0, 2}
    assert best(wait, [1.001, 1.002]) == set()  # both are shown as 1.00
    assert best(wait, [NAN, 1.0, 2.0]) == {1}
    assert best(wait, [NAN, 1.0]) == set()
    assert best(wait, [NAN]) == set()
    assert best(load, [1.0, 2.0]) == set()
    assert "best" not in shown(compare_table({"x": summarise(A10), "y": summarise(A10)}))


def test_tables_of_nothing_are_tables() -> None:
    assert "mean wait" in shown(run_table(summarise(EMPTY)))
    assert "mean wait" in shown(compare_table({"a": summarise(EMPTY), "b": summarise(EMPTY)}, {"a": {}, "b": {}}))
    assert shown(compare_table({}))


# Lanes


@st.composite
def runs_on_lanes(draw: st.DrawFn) -> list[tuple[float, float, int]]:
    rows = draw(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 8), st.integers(1, 9)), max_size=14))
    return [(float(start), float(start + length), size) for start, length, size in sorted(rows)]


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(runs_on_lanes())
def test_runs_at_one_time_never_share_a_lane(rows: list[tuple[float, float, int]]) -> None:
    lanes = assign_lanes(*(list(column) for column in zip(*rows, strict=True))) if rows else []
    most = 0
    for place, (start, end, size) in enumerate(rows):
        assert sum(high - low for low, high in lanes[place]) == size
        assert all(one[1] < other[0] for one, other in zip(lanes[place], lanes[place][1:], strict=False))
        mine = {lane for low, high in lanes[place] for lane in range(low, high)}
        for other, (began, ended, _) in enumerate(rows[:place]):
            if began < end and start < ended:
                assert not mine & {lane for low, high in lanes[other] for lane in range(low, high)}
        held = sum(count for began, ended, count in rows[:place] if ended > start)
        most = max(most, held + size)
        assert max(mine) < most


def test_a_run_takes_the_first_free_lanes() -> None:
    assert assign_lanes([0, 0, 0, 5], [5, 9, 5, 9], [2, 1, 1, 4]) == [[(0, 2)], [(2, 3)], [(3, 4)], [(0, 2), (3, 5)]]


# Plots


SINGLE = (plots.utilisation, plots.queue_length, plots.waits_by_size, plots.gantt)


@pytest.mark.slow
@pytest.mark.parametrize("name", strange())
def test_strange_runs_have_plots(name: str) -> None:
    for draw in SINGLE:
        figure = draw(strange()[name])
        assert figure is not None
        assert plots.picture_bytes(figure).startswith(b"<?xml")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["svg", "png"])
def test_pictures_are_the_same_bytes_each_time(kind: Any) -> None:
    records = many(300, epoch=843480031)
    for draw in SINGLE if kind == "svg" else (plots.gantt,):
        first, again = draw(records), draw(records)
        assert first is not None
        assert again is not None
        assert plots.picture_bytes(first, kind) == plots.picture_bytes(again, kind) == plots.picture_bytes(first, kind)
    pictures = [plots.picture_bytes(plots.compare_picture({"a": records, "b": A10}), kind) for _ in range(2)]
    assert pictures[0] == pictures[1]


def test_the_users_own_settings_neither_matter_nor_change() -> None:
    plain = plots.picture_bytes(plots.utilisation(A10))
    with matplotlib.rc_context(
        {"font.size": 20, "axes.facecolor": "red", "svg.hashsalt": "x", "timezone": "Asia/Tokyo"}
    ):
        assert plots.picture_bytes(plots.utilisation(A10)) == plain
        assert matplotlib.rcParams["font.size"] == 20


@pytest.mark.slow
def test_plots_do_not_load_pyplot() -> None:
    code = (
        "from emulator.report import plots; from tests.builders.records import A10; import sys;"
        "plots.picture_bytes(plots.gantt(A10)); print('matplotlib.pyplot' in sys.modules)"
    )
    root = Path(__file__).resolve().parents[3]
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert answer.stdout.strip() == "False"


@pytest.mark.slow
def test_long_runs_are_averaged_and_keep_their_area() -> None:
    records = many(3000)
    svg = plots.picture_bytes(plots.queue_length(records))
    assert len(svg) < 300_000
    figure = plots.utilisation(records)
    assert "mean over each" in figure.axes[0].get_title(loc="left")


@pytest.mark.slow
def test_too_many_jobs_have_no_gantt_chart() -> None:
    assert plots.gantt(many(30), most=29) is None
    assert plots.gantt(many(30), most=30) is not None


def test_a_gantt_chart_holds_every_run() -> None:
    figure = plots.gantt(A10)
    assert figure is not None
    area = 0.0
    for collection in figure.axes[0].collections:
        for path in collection.get_paths():
            box = path.get_extents()
            area += box.width * box.height
    assert area == pytest.approx(70)


@pytest.mark.slow
@pytest.mark.parametrize(
    "labels", [[HOSTILE, "$x_{", "_hidden"], ["\N{CJK UNIFIED IDEOGRAPH-4E2D}", "", " "], [], list("abcdefghijk")]
)
def test_any_names_can_be_compared(labels: list[str]) -> None:
    figure = plots.compare_picture(dict.fromkeys(labels, A10), title="$y^{")
    assert plots.picture_bytes(figure, "png").startswith(b"\x89PNG")
    assert plots.picture_bytes(figure, "svg")


def test_comparing_runs_without_jobs_says_so() -> None:
    figure = plots.compare_picture({"none": EMPTY, "some": A10})
    assert "no job" in [text.get_text() for text in figure.axes[1].texts]


def test_the_worst_policy_does_not_hide_the_others() -> None:
    slow = records_of({1: (0, 1, 10)}, {1: [(90_000, 90_010)]}, 1)
    assert plots.compare_picture({"a": A10, "b": slow}).axes[1].get_xscale() == "log"
    assert plots.compare_picture({"a": A10, "b": A10}).axes[1].get_xscale() == "linear"


def test_sizes_end_at_the_machine() -> None:
    records = records_of({1: (0, 1, 9), 2: (0, 70, 9), 3: (0, 3, 9)}, {j: [(0, 9)] for j in (1, 2, 3)}, 100)
    labels = [text.get_text().partition("\n")[0] for text in plots.waits_by_size(records).axes[0].get_xticklabels()]
    assert labels == ["1", "3\N{EN DASH}4", "65\N{EN DASH}100"]


@pytest.mark.parametrize(
    ("length", "label"),
    [(300, "seconds"), (3600, "minutes"), (86400, "hours"), (10**7, "days")],
)
def test_time_is_in_a_unit_that_suits_it(length: float, label: str) -> None:
    assert time_axis(50, 50 + length, None).label == f"{label} since the first submission"
    assert time_axis(50, 50 + length, 0).label == "date (UTC)"


@settings(deadline=None)
@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e11), st.none() | st.integers(-(10**9), 2 * 10**9), st.integers(1, 400))
def test_bins_ascend_from_end_to_end(first: float, length: float, epoch: int | None, most: int) -> None:
    last = first + length
    if last <= first:
        return
    edges, words = bins(first, last, epoch, most)
    assert edges[0] == first
    assert edges[-1] == last
    assert (np.diff(edges) > 0).all()
    assert len(edges) <= most + 3
    assert words


def test_bins_of_a_day_are_calendar_days() -> None:
    edges, words = bins(0, 300 * 86400, 843480031, 360)
    assert words == "day"
    assert (edges[1:-1] + 843480031).tolist()[0] % 86400 == 0
