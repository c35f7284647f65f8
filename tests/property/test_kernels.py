"""Both forms of the kernels of nodes, in one process: whatever is asked, every number that they leave is the same.

What could differ is varied on purpose: numbers that overflow, negative ones that are divided, one node, no runs, no
slots, many kinds of generic resources, arrays that are full.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.scheduling.run_kernel import span
from emulator.scheduling.run_rows import NODE
from emulator.scheduling.select_compiled import machine_table
from emulator.scheduling.select_rows import MACHINE_CORES, SETS
from emulator.scheduling.window_rows import COUNT, DELAY, LEFT, PARTS, RESERVED, SIZES, STARTS, UNKNOWN, USED
from slurm_sim_plugins.nodes import FAR, Machine
from slurm_sim_plugins.priority.price_rows import NUMBER, TOTAL
from tests.builders.kernels import NEEDS_KERNELS, forms, plain
from tests.builders.random_trees import random_tree

pytestmark = [NEEDS_KERNELS, pytest.mark.compiled]
OUTLOOK = "emulator.scheduling.outlook_kernel"
PRICE = "slurm_sim_plugins.priority.price_kernel"
SELECT, WINDOWS = "emulator.scheduling.select_kernel", "emulator.scheduling.windows_kernel"
OF_SEARCHES = WINDOWS, OUTLOOK, SELECT, "emulator.scheduling.stretches"
USAGE = "emulator.limits.usage_kernel"
HUGE = 2**62
MODEST = {"min_nodes": 1, "cpus": 3, "memory_per_node": 0, "memory_per_cpu": 0, "all_memory": 0, "gres": 0}
MODEST |= {"per_task": 1, "on_node": 1, "given": 1, "big": 1, "many_big": 0}
"""What most nodes have, so that most searches find a place."""


def small(draws: np.random.Generator, *numbers: int) -> int:
    return int(draws.choice(numbers))


def numbers_of(draws: np.random.Generator) -> dict[str, int]:
    """Of a request, by the names of :class:`Code`: also such as :func:`encode` would not write."""
    nodes, per_task = int(draws.integers(1, 4)), int(draws.integers(1, 4))
    return {
        "min_nodes": nodes,
        "most_nodes": small(draws, FAR, nodes, nodes + 1),
        "cpus": int(draws.integers(1, 25)),
        "per_task": per_task,
        "on_node": small(draws, 1, per_task, per_task + 1),
        "given": small(draws, 1, per_task, per_task + 1),
        "per_node": small(draws, FAR, 2 * per_task, 5),
        "ranked": small(draws, FAR, 2 * per_task, 4),
        "per_core": small(draws, FAR, 1, 2),
        "whole": small(draws, 0, 0, 1),
        "memory_per_node": small(draws, 0, 0, 300, HUGE),
        "memory_per_cpu": small(draws, 0, 0, 7, 100, HUGE // 2),
        "memory_of_core": small(draws, 0, 1, FAR),
        "all_memory": small(draws, 0, 0, 0, 1),
        "gres": small(draws, 0, 0, 1, 2),
        "gres_kinds": small(draws, 1, 3, 2**61, 2**62 - 1),
        "last_first": small(draws, 0, 0, 0, 1),
        "first_node": small(draws, 0, 0, 0, 1),
        "singly": small(draws, 0, 1, 2, 9),
        "big": int(draws.integers(1, 9)),
        "many_big": int(draws.integers(0, 3)),
        "highest": int(draws.integers(1, 17)),
        "plain": small(draws, 0, 1),
        "whole_tasks": small(draws, 1, per_task),
        "steady": small(draws, 0, 1),
    }


def table_of(size: int, draws: np.random.Generator) -> tuple[Machine, Any]:
    """A machine, and its rows."""
    ones = np.ones(size, dtype=np.int64)
    units, threads = draws.integers(1, 9, size), draws.integers(1, 4, size)
    weights = draws.integers(1, 1 + small(draws, 1, 3), size)
    memory = draws.choice([1000, 1000, HUGE], size)
    tree = random_tree(size, draws) if draws.random() < 0.4 else None
    names, features = [f"n{number}" for number in range(size)], [frozenset[str]()] * size
    machine = Machine(names, units, memory, units * threads, threads, ones, weights, ones > 0, features, tree=tree)
    return machine, machine_table(machine)


def free_of(machine: Machine, kinds: int, draws: np.random.Generator) -> Any:
    """Rows of what is free, some of it negative: more was given away than there is."""
    size = len(machine)
    free = np.empty((3 + kinds, size), dtype=np.int64)
    free[0] = draws.integers(-1, machine.units + 1)
    free[1] = draws.integers(-300, 1001, size)
    free[2] = draws.integers(0, 2, size)
    free[3:] = draws.integers(0, 4, (kinds, size))
    return free


def arrays(draws: np.random.Generator, size: int) -> dict[str, Any]:
    """Room to work in, full of what was there before."""
    return {
        "capacity": draws.integers(0, 9, size),
        "sets": draws.integers(0, size, (SETS, size)),
        "taken": draws.integers(0, size, (2, size)),
    }


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_the_same_nodes_are_taken_and_tasks_dealt(seed: int) -> None:
    draws = np.random.default_rng(seed)
    machine, rows = table_of(small(draws, 1, 2, 7, 8, 9, 30), draws)
    kinds = small(draws, 0, 1, 62)
    numbers = {**numbers_of(draws), "rows": 3 + kinds}
    numbers["gres"] *= kinds > 0
    free, room = free_of(machine, kinds, draws), arrays(draws, len(machine))
    usable = draws.integers(0, 2, len(machine), dtype=np.uint8)
    left = []
    for form in forms(SELECT):
        code, table = form.Code(**numbers), rows.copy()
        own = {name: array.copy() for name, array in room.items()}
        given = [*own.values()]
        own["room"] = np.full(len(machine), seed % 3 - 1)
        with np.errstate(over="ignore"):
            found = form.choose(code, usable, table, machine.weights, free.copy(), *given)
            assert not (found and form.are_too_few(code, free))
            if found:
                cpus = dict(zip(*own["taken"][:, :found].tolist(), strict=True))
                form.put_in_order(found, own["taken"], own["room"])
                assert own["taken"][:, :found].tolist() == [sorted(cpus), [cpus[node] for node in sorted(cpus)]]
                each = form.give(code, table, found, own["taken"], own["room"])
                nodes, dealt = own["taken"][:, :found].tolist()
                assert form.nodes_of(found, own["taken"], [*range(len(machine))]) == tuple(nodes)
                assert each == (dealt[0] if len({*dealt}) == 1 else 0)
        left.append([found, table.tolist(), own["capacity"].tolist(), own["taken"][:, :found].tolist()])
    assert left[0] == left[1]


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32))
def test_of_pieces_those_nodes_are_taken_that_are_of_single_nodes(seed: int) -> None:
    draws = np.random.default_rng(seed)
    machine, rows = table_of(small(draws, 1, 2, 7, 8), draws)
    wide = draws.integers(1, 5, len(machine))
    owner, behind = np.repeat(np.arange(len(machine)), wide), np.cumsum(wide)
    table = np.ascontiguousarray(rows[: MACHINE_CORES + 1, owner])
    pieces, capacity = np.zeros(len(owner), dtype=np.int64), draws.integers(0, 9, len(owner))
    pieces[behind - wide] = behind
    single = capacity[behind - wide][owner]
    numbers = {**numbers_of(draws), "rows": 3}
    numbers["cpus"] = small(draws, 1, numbers["cpus"])
    left = []
    for form in forms(SELECT):
        code, one, other = form.Code(**numbers), arrays(draws, len(owner)), arrays(draws, len(owner))
        room, given = np.empty(len(owner), dtype=np.int64), (one["sets"], one["taken"])
        begins = np.array([*(behind - wide), len(owner)])
        found = form.pick_pieces(code, table, machine.weights, begins, pieces, capacity.copy(), room, *given)
        left.append([found, one["taken"][:, :found].tolist()])
        found = form.pick(code, table, machine.weights, single.copy(), other["sets"], other["taken"])
        left.append([found, other["taken"][:, :found].tolist()])
    assert left[0] == left[1] == left[2] == left[3]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32))
def test_the_same_is_added_to_nodes(seed: int) -> None:
    draws = np.random.default_rng(seed)
    size = small(draws, 1, 7, 30)
    nodes = tuple(np.flatnonzero(draws.integers(0, 2, size)).tolist())
    units, memory = (tuple(draws.integers(0, 9, len(nodes)).tolist()) for _ in range(2))
    table = draws.integers(0, 9, (4, size))
    sign, jobs, shared = small(draws, 1, -1), small(draws, 1, 0, -1), bool(draws.integers(0, 2))
    expected = table.copy()
    for row, more in enumerate((np.array(units) * sign * (not shared), np.array(memory) * sign, jobs)):
        expected[row, list(nodes)] += np.asarray(more, dtype=np.int64)
    for form in forms("slurm_sim_plugins.node_table"):
        own = table.copy()
        form.add(own, nodes, units, memory, sign, jobs, shared)
        assert own.tolist() == expected.tolist()


def make_alike(draws: np.random.Generator, *tables: Any) -> None:
    """Some neighbours have what the first of them has, in all tables."""
    size = tables[0].shape[-1]
    begins = np.unique([0, *draws.integers(0, size, small(draws, 0, 2, 6))])
    first = np.repeat(begins, np.diff([*begins, size]))
    for table in tables:
        table[...] = table[..., first]


class Scene:
    """A search in one form, on arrays of its own.

    Args:
        kernels: the module, and those of which it takes what is found on nodes, which nodes, and which are alike.
        seed: says what it is about.
        apart: whether each node is looked at by itself.
    """

    def __init__(self, kernels: Iterable[ModuleType], seed: int, apart: bool = False) -> None:
        form, outlook, select, stretches = kernels
        draws = np.random.default_rng(seed)
        nodes, rows = table_of(small(draws, 1, 3, 9, 20, 700), draws)
        size, kinds = len(nodes), small(draws, 0, 0, 2)
        self.form, free = form, free_of(nodes, kinds, draws)
        usable, there = draws.integers(0, 4, size, dtype=np.uint8), draws.integers(0, 3, size, dtype=np.uint8)
        usable[usable > 1] = 1
        if draws.random() < 0.6 or size > 100:
            make_alike(draws, rows[:5, :size], free, usable)
        numbers = {**numbers_of(draws), "rows": 3 + kinds}
        numbers["gres"] *= kinds > 0
        if draws.random() < 0.8:
            numbers |= MODEST
        running = int(draws.integers(0, 8))
        widths = draws.integers(1, size + 1, running)
        parts = np.zeros((running, 3), dtype=np.int64)
        parts[:, 0], parts[:, 1] = np.cumsum(widths) - widths, widths
        entries = draws.integers(0, 3, (NODE + 4 + kinds, max(int(widths.sum()), 1)))
        for (first, many, _), _ in zip(parts, widths, strict=True):
            entries[NODE, first : first + many] = draws.permutation(size)[:many]
            if draws.random() < 0.7:
                start = int(draws.integers(0, size - many + 1))
                entries[:, first : first + many] = entries[:, [first]]
                entries[NODE, first : first + many] = range(start, start + many)
            span(entries, first, many)
        planned = np.sort(np.round(draws.random(running) * 4000, 3)), parts, entries
        fixed, heads = np.zeros((2, size), dtype=np.uint8)
        wide, self.owner, pieces, each = np.zeros((4, size), dtype=np.int64)
        cuts, begins = np.zeros((2, size), dtype=np.int64), np.zeros(size + 1, dtype=np.int64)
        alike = stretches.Stretches(fixed, heads, wide, self.owner, pieces, cuts, each, begins)
        if apart:
            fixed[:] = 1
        else:
            stretches.tell_apart(alike, rows, 5)
        of_runs = np.zeros((2, entries.shape[1]), np.int64), np.zeros((running, 2), np.int64)
        machine = outlook.Machine(rows, nodes.weights, free, outlook.Runs(*planned), alike, *of_runs)
        outlook.look_later(machine, machine.runs)
        if stretches.mixes(alike, usable):
            outlook.look_later(machine, machine.runs)
        room, members = small(draws, 2, 4, 40), small(draws, 3, 30, 400, 20 * size)
        self.left = {
            "sizes": np.zeros(SIZES, dtype=np.int64),
            "times": np.zeros((2, room)),
            "order": np.zeros((2, room), dtype=np.int64),
            "parts": np.zeros((PARTS, room), dtype=np.int64),
            "members": np.zeros(members, dtype=np.int64),
            "ranges": np.zeros((2, members), dtype=np.int64),
            "marks": np.zeros(2 * room),
            "turns": np.zeros((2, 2 * room), dtype=np.int64),
            "names": np.random.default_rng(seed).integers(1, 2**40, size),
            "others": np.sort(draws.integers(0, 4000, small(draws, 0, 0, 2)).astype(float)),
            "until": np.full(size, np.inf),
            "over": np.full(size, -np.inf),
        }
        self.slots = form.Columns(*self.left.values(), alike)
        own = {"kept": np.zeros(size, dtype=np.int64), "room": np.zeros(size, np.int64)}
        work = arrays(draws, size)
        own["capacity"], self.starts, self.cpus = work["capacity"], np.zeros(8), np.zeros(8)
        counts = select.Counts()
        marked = np.zeros(size, dtype=np.int64)
        self.work = form.Work(*own.values(), counts, work["sets"], work["taken"], marked, self.starts, self.cpus)
        self.left |= {**own, "marked": marked, "starts": self.starts, "cpus": self.cpus}
        self.taken, self.counts = work["taken"], counts
        now, grain, most = 100.0, float(small(draws, 1, 60)), small(draws, 3, 500)
        code = select.Code(**numbers)
        known = {name: np.zeros(size, dtype=np.int64) for name in ("first", "last")}
        known |= {name: np.zeros(entries.shape[1], dtype=np.int64) for name in ("before", "after")}
        known |= {name: np.zeros(running + 1, dtype=np.int64) for name in ("touched", "cpus", "nodes")}
        seen = outlook.Outlook(code, usable, machine, machine.runs, np.zeros_like(free), *known.values())
        outlook.look(seen, code)
        for _ in range(running // 2):
            outlook.look_on(seen)
        if draws.random() < 0.8:
            # Nothing is left in the room of what was seen before.
            outlook.look_later(machine, outlook.Runs(*planned))
            form.cut_again(self.slots)
        self.left |= known
        later, own_ends, news = float(small(draws, 0, 0, 59)), small(draws, 0, 1), small(draws, 0, 1)
        self.length, self.work_sets = float(small(draws, 30, 600, 90000)), work["sets"]
        near = np.flatnonzero(draws.integers(0, 2, small(draws, 0, 0, 1))).astype(np.int64)
        by_tries, goes_on, within = small(draws, 0, 1, 2), small(draws, 0, 1), small(draws, 0, 999) / 1000
        grows = float(small(draws, -1, 0, 45))
        phase = draws.choice((0.0, 0.0, 0.004, 0.5))
        sizes, kinds = (grain, phase, later), (own_ends, most, news, by_tries, goes_on)
        terms = form.Terms(now, now + 3000.0, *sizes, *kinds, within, grows)
        self.request, self.numbers = form.Request(code, seen, self.length, terms, near, there), numbers
        self.longer = form.Request(code, seen, self.length + small(draws, 0, 60, 3000), terms, near, there)
        self.work.tried = self.work.time = float(small(draws, 100, 100, 160, 2000))

    def search(self, goes_on: bool, most: int) -> list[Any]:
        """Search once; all that is left behind."""
        placed, outcome, found = self.form.place(self.request, self.slots, self.work, goes_on, most)
        taken = self.taken[:, :found].tolist()
        clock = (
            self.work.tried,
            self.work.time,
            self.work.planned,
            self.counts.cpus,
            self.counts.nodes,
            self.counts.big,
        )
        return [placed, outcome, found, taken, clock, {name: array.tolist() for name, array in self.left.items()}]

    def starts_now(self) -> bool:
        """Whether the job may start beside the slots that there are."""
        room = np.zeros_like(self.left["capacity"])
        return bool(self.form.may_start(self.request, self.slots, room, self.work_sets, self.taken))

    def marked(self) -> list[bool]:
        """What is said of the slots that there are: whether one delayed a start, and whether they keep what is idle."""
        slots, jobs = self.slots, np.arange(len(self.left["until"])) % 3
        kept = self.left["members"][: self.left["sizes"][1]]
        either = [bool(self.form.any_kept(slots, 0, jobs, some)) for some in (True, False)]
        assert either == [bool((jobs[kept] > 0).any()), bool((jobs[kept] == 0).any())]
        behind = [bool(self.form.any_kept(slots, 1, jobs, some)) for some in (True, False)]
        assert behind == [bool((jobs[kept[1:]] > 0).any()), bool((jobs[kept[1:]] == 0).any())]
        return [bool(self.left["sizes"][DELAY]), *either, *behind, bool(self.form.any_of(jobs))]


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_the_same_holes_are_found(seed: int) -> None:
    kernels = zip(*map(forms, OF_SEARCHES), strict=True)
    scenes = [Scene(those, seed) for those in kernels]
    draws, goes_on = np.random.default_rng(seed), False
    for _ in range(4):
        most = small(draws, 0, 1, 3, 8)
        with np.errstate(over="ignore"):
            may_start = [scene.starts_now() for scene in scenes]
            left = [scene.search(goes_on, most) for scene in scenes]
        assert left[0] == left[1]
        assert may_start[0] == may_start[1]
        assert scenes[0].marked() == scenes[1].marked()
        # What is found to start is not said to be unable to, unless a run is planned to end at this very moment.
        assert may_start[0] or left[0][1] != STARTS or scenes[0].work.runs
        if left[0][1] == 5 or np.isinf(scenes[0].work.tried):  # there is no more room, or never a place
            break
        goes_on = True


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_quick_looks_say_nothing_that_full_ones_do_not(seed: int) -> None:
    scene, draws = Scene(map(plain, OF_SEARCHES), seed), np.random.default_rng(seed)
    form, request, slots, work = scene.form, scene.request, scene.slots, scene.work
    with np.errstate(over="ignore"):
        scene.search(False, 8)
    for _ in range(8):
        nodes = draws.permutation(len(slots.until))[: small(draws, 1, 1, 3)]
        if slots.sizes[COUNT] == slots.times.shape[1] or slots.sizes[USED] + len(nodes) > len(slots.members):
            break  # there is no more room
        begin, time = draws.integers(0, 3000, 2).astype(float)
        form.keep(begin, begin + small(draws, 60, 600), nodes, len(nodes), slots)
        reserved = form._reserved(request, slots, time)
        for slot in range(slots.sizes[RESERVED], slots.sizes[COUNT]):
            known = slots.parts[LEFT, slot]
            quick = form._leaves_any(request, slots, slot, time, reserved, work)
            slots.parts[LEFT, slot] = UNKNOWN
            assert quick == form._leaves_any(request, slots, slot, time, True, work), known
        assert not work.marked.any()
    work.kept[:] = draws.integers(0, 2, len(work.kept))
    outlook = request.outlook
    runs, seen = range(len(outlook.runs.ends)), outlook.seen
    quick = [bool(form._counts(request, work, run)) for run in runs]
    outlook.seen = 0
    assert quick == [bool(form._counts(request, work, run)) for run in runs], seen


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32))
def test_nodes_together_give_what_single_ones_do(seed: int) -> None:
    of_pieces = {"kept", "room", "capacity", "first", "last", "before", "after", "touched"}
    scenes = [Scene([forms(name)[0] for name in OF_SEARCHES], seed, apart) for apart in (False, True)]
    draws, goes_on, left = np.random.default_rng(seed), False, list[Any]()
    for _ in range(4):
        most = small(draws, 0, 1, 3, 8)
        may_start = [scene.starts_now() for scene in scenes]
        left = [scene.search(goes_on, most) for scene in scenes]
        for *_, arrays_left in left:
            for name in of_pieces:
                del arrays_left[name]
        assert left[0] == left[1]
        assert may_start[0] == may_start[1]
        if left[0][1] == 5 or np.isinf(scenes[0].work.tried):
            break
        goes_on = True


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32))
def test_a_job_could_start_as_long_as_nothing_keeps_where(seed: int) -> None:
    kernels = zip(*map(forms, OF_SEARCHES), strict=True)
    said = []
    for scene in [Scene(those, seed) for those in kernels]:
        draws, form, size = np.random.default_rng(seed), scene.form, len(scene.left["until"])
        room, witness = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        where = room, scene.work_sets, scene.taken
        with np.errstate(over="ignore"):
            found = form.may_start(scene.request, scene.slots, *where)
            alone = found > 0 and form.fits_alone(scene.request, found, *where, witness)
            said.append([found, alone, witness.tolist()])
            for _ in range(2):
                begin, node = float(draws.integers(0, 3000)), draws.integers(0, size, 1)
                form.keep(begin, begin + 60.0, node, 1, scene.slots)
                left = alone and form.are_left(scene.request, scene.slots, witness, found)
                may = form.may_start(scene.request, scene.slots, *where)
                said.append([left, may])
                assert may > 0 or not left
                said.append([form.may_start(scene.longer, scene.slots, *where)])
                now, lasts = scene.request.terms.now, scene.length
                there = scene.left["first"][scene.owner][scene.left["until"] >= now + lasts]
                big = int((there >= scene.numbers["big"]).sum()) >= scene.numbers["many_big"]
                some = int((there > 0).sum()) >= scene.numbers["min_nodes"] and there.sum() >= scene.numbers["cpus"]
                assert (may != 0) <= (some and big)
                assert scene.numbers["steady"] or (may == -1) == (some and big)
    assert said[: len(said) // 2] == said[len(said) // 2 :]


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_jobs_are_priced_alike(seed: int) -> None:
    draws = np.random.default_rng(seed)
    many, kinds = int(draws.integers(0, 30)), int(draws.integers(1, 5))
    facts = np.vstack([draws.integers(-9, 9, many), draws.integers(0, kinds, (2, many))])
    rows = draws.permutation(many)
    of_accounts, of_requests = draws.normal(size=(2, 3, kinds)) * 10.0 ** draws.integers(0, 20)
    waited = np.where(draws.random(many) < 0.2, np.nan, draws.normal(size=many) * 1e5)
    weight = float(draws.choice([0.0, 70_000.0, 0.1]))
    left = []
    for form in forms(PRICE):
        ages, priced = np.full(many, -1.0), np.full((NUMBER + 1, many), -1)
        exact = form.price(rows, facts, of_accounts, of_requests, waited, 86_400.0, weight, ages, priced)
        left.append((bool(exact), ages.tolist(), priced.tolist()))
        assert not exact or priced[:TOTAL].tolist() == facts[:, rows].tolist()
    assert left[0] == left[1]


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_jobs_are_charged_alike(seed: int) -> None:
    draws = np.random.default_rng(seed)
    many, kinds = int(draws.integers(1, 9)), int(draws.integers(1, 5))
    rows = draws.permutation(many)[: int(draws.integers(0, many + 1))]
    decay, amounts = draws.choice([1.0, 0.999, 0.0], many), draws.normal(size=kinds) * 10.0 ** draws.integers(0, 20)
    seconds = float(draws.choice([0.5, 300.0, 1e7]))
    left = []
    for form in forms(USAGE):
        tres, wall = np.ones((many, kinds)), np.ones(many)
        form.charge(tres, wall, decay, rows, amounts, seconds)
        form.add(tres, rows, amounts, -seconds)
        form.count(wall, rows, -1.0)
        left.append((tres.tolist(), wall.tolist()))
    assert left[0] == left[1]
    decayed = (seconds * decay**seconds)[rows]
    expected = np.ones((many, kinds))
    expected[rows] += decayed[:, None] * amounts
    expected[rows] -= amounts * seconds
    assert np.allclose(left[0][0], expected, rtol=1e-12)


def test_jobs_are_found_at_their_places() -> None:
    known = [object(), object(), object()]
    for form in forms(PRICE):
        assert form.are_at(known[1:], known, np.array([1, 2]))
        assert not form.are_at(known[1:], known, np.array([1, 0]))
        assert not form.are_at(known[:1], known, np.array([-3]))
        assert not form.are_at(known[:1], known, np.array([3]))
