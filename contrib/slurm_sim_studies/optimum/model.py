"""The offline problem as a model of OR-Tools' CP-SAT.

A job has a first part and, if it can be preempted, an optional second one; a block is
chosen by one of its literals. What makes it fast is said at each of :class:`Ideas`, with
the reason why no best schedule is lost that way; what each brought is in docs/optimum.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slurm_sim_studies.optimum.problem import Job, Problem
from slurm_sim_studies.optimum.schedule import Part, Schedule, Stay
from slurm_sim_studies.optimum.symmetry import cliques, exchanges, pieces
from slurm_sim_studies.optimum.weights import LARGEST_SUM, Weights, weights

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, CpSolver, IntervalVar, IntVar, LiteralT

Linear = Any
"""A variable, a sum of variables with factors, or a number: what the solver takes for it."""


@dataclass(frozen=True)
class Ideas:
    """What is done to prove an optimum sooner; each can be left out to see what it brings.

    Attributes:
        incumbent: the solver begins with a schedule of :mod:`slurm_sim_studies.optimum.climb` that
            it has to beat, and need not find it.
        subsets: jobs of which the best schedules are found first, this many batch jobs at a
            time, together with all real-time jobs. Leaving jobs out makes no other job
            worse, so in every schedule of all jobs their slowdowns add up to no less.
        more_subsets: if the whole problem is not done soon, subsets of more jobs, all but one
            in the end, and then the whole problem again. Few problems need it; those that do
            hardly ever end without it.
        propagation: the solver draws all conclusions from disjunctions that it can. It is
            an option of its own that is off by default.
        symmetry: of schedules that differ by an exchange of equal parts of the machine, one
            is looked at: where the first job that the exchange moves is on the part that
            comes first.
        preemption: a job is preempted only at an instant at which another job starts, on a
            machine of blocks on midplanes of its own block. Otherwise it could go on until
            then: a first part that is stretched, or moved, up to the next such start leaves
            less, or no less, to the second, and where nothing else starts in between the two
            can be joined. Who starts was submitted after the preempted job's start, if it
            takes the very same room (block, or number of processors), is not preempted itself
            and no second part: otherwise the two could be exchanged, by which it would be done
            sooner and the preempted job no later. On processors that holds only if the
            preempted job goes on no sooner than the other part is over, as it may go on beside it.
        cliques: jobs that exclude one another wherever they run make up a disjunction,
            beside those of single midplanes.
    """

    incumbent: bool = True
    subsets: int = 2
    more_subsets: bool = True
    propagation: bool = True
    symmetry: bool = True
    preemption: bool = True
    cliques: bool = True


@dataclass(frozen=True)
class Cut:
    """The weighted slowdowns of some batch jobs add up to no less than this.

    Attributes:
        jobs: their ids.
        least: in the units of the weights.
    """

    jobs: tuple[int, ...]
    least: int


@dataclass
class PartVars:
    """One part of a job in the model; ``present`` is None for a part that always is."""

    start: Linear
    length: Linear
    end: Linear
    present: IntVar | None


@dataclass
class JobVars:
    """One job in the model; ``preempted`` is None for a job that is in one part."""

    job: Job
    parts: list[PartVars]
    preempted: IntVar | None
    blocks: dict[int, IntVar] = field(default_factory=dict)
    intervals: list[IntervalVar] = field(default_factory=list)

    @property
    def first(self) -> PartVars:
        """The part that always is."""
        return self.parts[0]

    @property
    def end(self) -> Linear:
        """When the job is done."""
        return self.parts[-1].end


class Model:
    """The problem as a model, ready to be solved.

    Args:
        problem: what to schedule.
        ideas: which of them to use.
        weighed: the weights of the batch jobs' slowdowns; those of a larger problem fit
            each of its subsets.
        cuts: what is known of some jobs.
        below: the weighted sum is to be less; None for no such demand.
    """

    def __init__(
        self,
        problem: Problem,
        ideas: Ideas,
        weighed: Weights,
        cuts: Sequence[Cut] = (),
        below: int | None = None,
    ) -> None:
        from ortools.sat.python import cp_model

        self.problem = problem
        self.ideas = ideas
        self._model: CpModel = cp_model.CpModel()
        self._horizon = problem.horizon
        self._jobs = {job.id: self._job(job) for job in problem.jobs}
        self._use_machine()
        if ideas.cliques:
            self._use_cliques()
        if ideas.symmetry and not isinstance(problem.machine, int):
            self._break_symmetry()
        if ideas.preemption:
            for jobvars in self._jobs.values():
                if jobvars.preempted is not None:
                    self._preempt_at_a_start(jobvars)
        self._keep_bound()
        self._costs: dict[int, Linear] = {
            job.id: (self._jobs[job.id].end - job.submit) * weighed.of[job.id] for job in problem.batch
        }
        self._minimise(cuts, below)

    @property
    def proto(self) -> CpModel:
        """The solver's own model."""
        return self._model

    def schedule(self, solver: CpSolver) -> Schedule:
        """The schedule that the solver found."""
        found = {}
        for number, jobvars in self._jobs.items():
            present = [part for part in jobvars.parts if part.present is None or solver.value(part.present)]
            parts = tuple(Part(int(solver.value(part.start)), int(solver.value(part.end))) for part in present)
            block = next((block for block, chosen in jobvars.blocks.items() if solver.value(chosen)), None)
            found[number] = Stay(parts, block)
        return found

    # Jobs ---------------------------------------------------------------------------------

    def _job(self, job: Job) -> JobVars:
        jobvars = self._preemptible(job) if self.problem.preemptible(job) else self._whole(job)
        jobvars.blocks = {block: self._model.new_bool_var("") for block in self.problem.blocks_for(job)}
        if jobvars.blocks:
            self._model.add_exactly_one(jobvars.blocks.values())
        return jobvars

    def _whole(self, job: Job) -> JobVars:
        start = self._instant(job.submit, self._horizon - job.run)
        part = PartVars(start, job.run, start + job.run, None)
        return JobVars(job, [part], None, intervals=[self._model.new_fixed_size_interval_var(start, job.run, "")])

    def _preemptible(self, job: Job) -> JobVars:
        """Both parts pay for the checkpoint: the first writes it, the second reads it."""
        model, cost, least = self._model, job.checkpoint or 0, self.problem.least(job)
        preempted = model.new_bool_var("")
        start, stop = self._instant(job.submit, self._horizon), self._instant(job.submit, self._horizon)
        resume = self._instant(job.submit, self._horizon)
        end = self._instant(job.submit + job.run, self._horizon)
        length = model.new_int_var(least, job.run + cost, "")
        model.add(length == job.run).only_enforce_if(~preempted)
        model.add_linear_constraint(length, least + cost, job.run - least + cost).only_enforce_if(preempted)
        left = job.run + 2 * cost - length
        model.add(end == stop).only_enforce_if(~preempted)
        model.add(resume == stop).only_enforce_if(~preempted)
        away = self._shortest_absence(job)
        model.add(resume >= stop + away).only_enforce_if(preempted)
        model.add(end >= start + job.run + (2 * cost + away) * preempted)
        first = model.new_interval_var(start, length, stop, "")
        second = model.new_optional_interval_var(resume, left, end, preempted, "")
        parts = [PartVars(start, length, stop, None), PartVars(resume, left, end, preempted)]
        return JobVars(job, parts, preempted, intervals=[first, second])

    def _instant(self, first: int, last: int) -> IntVar:
        return self._model.new_int_var(first, last, "")

    def _shortest_absence(self, job: Job) -> int:
        """How long a preempted job is away at least: some part of another is on its block meanwhile.

        On a machine of processors it may go on as soon as any other job ends.
        """
        if not self.ideas.preemption or isinstance(self.problem.machine, int):
            return 0
        return min((self._shortest_part(other) for other in self.problem.jobs if other is not job), default=0)

    def _shortest_part(self, job: Job) -> int:
        if not self.problem.preemptible(job):
            return job.run
        return min(job.run, self.problem.least(job) + (job.checkpoint or 0))

    # Machine ------------------------------------------------------------------------------

    def _use_machine(self) -> None:
        if isinstance(self.problem.machine, int):
            intervals = [interval for jobvars in self._jobs.values() for interval in jobvars.intervals]
            sizes = [jobvars.job.size for jobvars in self._jobs.values() for _ in jobvars.intervals]
            self._model.add_cumulative(intervals, sizes, self.problem.machine)
            return
        on: dict[int, list[IntervalVar]] = {piece: [] for piece in pieces(self.problem)}
        for jobvars in self._jobs.values():
            for block, chosen in jobvars.blocks.items():
                present = [self._on(jobvars, number, chosen) for number in range(len(jobvars.parts))]
                for piece, intervals in on.items():
                    if piece & self.problem.takes(block):
                        intervals += present
        for intervals in on.values():
            self._model.add_no_overlap(intervals)

    def _on(self, jobvars: JobVars, number: int, chosen: IntVar) -> IntervalVar:
        """A part, where a block is chosen."""
        if len(jobvars.blocks) == 1:
            return jobvars.intervals[number]
        model, part = self._model, jobvars.parts[number]
        there = chosen
        if part.present is not None:
            there = model.new_bool_var("")
            model.add_bool_and(chosen, part.present).only_enforce_if(there)
            model.add_bool_or(~chosen, ~part.present, there)
        return model.new_optional_interval_var(part.start, part.length, part.end, there, "")

    def _use_cliques(self) -> None:
        for clique in cliques(self.problem):
            self._model.add_no_overlap([interval for job in clique for interval in self._jobs[job.id].intervals])

    def _break_symmetry(self) -> None:
        order = sorted(self._jobs.values(), key=lambda jobvars: (-jobvars.job.size, jobvars.job.id))
        for exchange in exchanges(self.problem):
            moved: list[IntVar] = []
            for jobvars in order:
                own = [block for block in jobvars.blocks if block in exchange]
                for block in own:
                    if exchange[block] < block:
                        self._model.add_bool_or(~jobvars.blocks[block], *moved)
                moved += [jobvars.blocks[block] for block in own]

    # Preemption ---------------------------------------------------------------------------

    def _preempt_at_a_start(self, preempted: JobVars) -> None:
        assert preempted.preempted is not None
        reasons = []
        for other in self._jobs.values():
            if other is not preempted:
                reasons += [self._starts_then(preempted, other, part) for part in range(len(other.parts))]
        self._model.add_bool_or(~preempted.preempted, *reasons)

    def _starts_then(self, preempted: JobVars, other: JobVars, number: int) -> IntVar:
        """A literal: this part of the other job starts at the instant of the preemption."""
        assert preempted.preempted is not None
        model, part = self._model, other.parts[number]
        then = model.new_bool_var("")
        model.add_implication(then, preempted.preempted)
        if part.present is not None:
            model.add_implication(then, part.present)
        model.add(part.start == preempted.first.end).only_enforce_if(then)
        if not isinstance(self.problem.machine, int):
            model.add(preempted.parts[1].start >= part.end).only_enforce_if(then)
            self._on_the_same_midplanes(preempted, other, then)
        if self._same_room(preempted.job, other.job):
            self._not_exchangeable(preempted, other, number, then)
        return then

    def _on_the_same_midplanes(self, one: JobVars, other: JobVars, then: IntVar) -> None:
        takes = self.problem.takes
        for block, chosen in one.blocks.items():
            meeting = [there for beside, there in other.blocks.items() if takes(block) & takes(beside)]
            if len(meeting) < len(other.blocks):
                self._model.add_bool_or(~then, ~chosen, *meeting)

    def _same_room(self, one: Job, other: Job) -> bool:
        """Whether two jobs, of which one starts where the other stops, take the very same room."""
        if isinstance(self.problem.machine, int):
            return one.size == other.size
        blocks, takes = self.problem.blocks_for(one), self.problem.takes
        apart = all(not takes(a) & takes(b) for a in blocks for b in blocks if a != b)
        return apart and blocks == self.problem.blocks_for(other)

    def _not_exchangeable(self, preempted: JobVars, other: JobVars, number: int, then: IntVar) -> None:
        """The other part could not have gone before the first part that it ends."""
        model, start = self._model, preempted.first.start
        conditions: list[LiteralT] = [then]
        counted = isinstance(self.problem.machine, int)
        if counted:
            beside = model.new_bool_var("")
            model.add(preempted.parts[1].start <= other.parts[number].end - 1).only_enforce_if(beside)
            conditions.append(~beside)
        if number == 1:
            # It could, as soon as its own first part is over; on one block it always is.
            if counted:
                model.add(start <= other.first.end - 1).only_enforce_if(conditions)
            else:
                model.add_bool_or(~then)
            return
        by_number = not counted and other.job.id < preempted.job.id
        if other.preempted is not None and not by_number:
            # Two first parts could be exchanged again and again; on one block their ids decide.
            conditions.append(~other.preempted)
        model.add(start <= other.job.submit - 1).only_enforce_if(conditions)

    # Bound and objective ------------------------------------------------------------------

    def _keep_bound(self) -> None:
        """A solution may exceed the bound by as much as rounding explains, which is less than the check allows."""
        realtime = self.problem.realtime
        if not realtime:
            return
        weighed = weights(realtime, self._horizon)
        most = self.problem.bound * len(realtime) + weighed.error
        total = sum((self._jobs[job.id].end - job.submit) * weighed.of[job.id] for job in realtime)
        # No sum is larger than that, whatever the bound allows.
        self._model.add(total <= min(int(most * weighed.scale), LARGEST_SUM))

    def _minimise(self, cuts: Sequence[Cut], below: int | None) -> None:
        for cut in cuts:
            self._model.add(sum(self._costs[job] for job in cut.jobs) >= cut.least)
        total = sum(self._costs.values())
        if below is not None:
            self._model.add(total <= below - 1)
        self._model.minimize(total)


PORTFOLIO = ("max_lp", "default_lp", "reduced_costs", "quick_restart", "pseudo_costs", "no_lp", "core", "probing")
"""Of the solver's strategies those that can prove an optimum; what only looks for schedules is left out."""


def solve(model: Model, workers: int, seconds: float, work: float = math.inf) -> tuple[CpSolver, str]:
    """Solve a model.

    Args:
        model: it.
        workers: threads, each with a strategy of its own; no more are used than there are
            strategies. One takes the solver's default.
        seconds: how long at most.
        work: how much at most, in what the solver calls deterministic time: the same on every
            machine, and of the order of a second.

    Returns:
        The solver, with what it found, and its outcome: ``OPTIMAL``, ``FEASIBLE``,
        ``INFEASIBLE`` or ``UNKNOWN``.
    """
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    told = solver.parameters
    told.max_time_in_seconds = seconds
    told.max_deterministic_time = work
    told.num_workers = min(workers, len(PORTFOLIO))
    if workers > 1:
        told.subsolvers.extend(PORTFOLIO[:workers])
        told.use_lns = False
        told.use_feasibility_jump = False
        told.num_violation_ls = 0
    if model.ideas.propagation:
        told.use_strong_propagation_in_disjunctive = True
        told.use_dynamic_precedence_in_disjunctive = True
        told.linearization_level = 2
    outcome = solver.solve(model.proto)
    return solver, str(solver.status_name(outcome))
