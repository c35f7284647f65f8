"""What of a policy can be said in a plugin of Slurm: a number for a job, or which runs may go, and in which order."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from emulator.port.formula import Formula, Term, UntranslatableError, body_of

WIDE = 65535
"""The most that each of two parts of an order can be."""


@dataclass(frozen=True, slots=True)
class Order:
    """Which runs may be preempted.

    Attributes:
        test: a condition on ``running`` and ``waiting``.
        keys: the lowest go first: one number, or two of at most :data:`WIDE`.
    """

    test: str
    keys: tuple[Term, ...]


def job_facts(name: str, record: str) -> dict[str, Term]:
    """What a waiting or running job knows of itself, in both versions.

    Args:
        name: of the job in the policy.
        record: of its record in C.
    """
    numbers = {
        "id": f"{record}->job_id",
        "processors": f"cpus_of({record})",
        "nodes": f"{record}->node_cnt",
        "requests[0].cpus": f"cpus_of({record})",
        "requests[0].nodes": f"{record}->details->min_nodes",
        "requeues": f"{record}->restart_cnt",
        "priority": f"{record}->priority",
        "runs_in.tier": f"{record}->part_ptr->priority_tier",
        "requests[0].partition.tier": f"{record}->part_ptr->priority_tier",
        **dict.fromkeys(
            ("time_limit", "planned", "planned_queue", "planned_running", "longest"), f"limit_of({record})"
        ),
    }
    shifted = {"nice": f"{record}->details->nice", "site": f"{record}->site_factor"}
    texts = {
        "account": f"{record}->account",
        "partition": f"{record}->part_ptr->name",
        "runs_in.name": f"{record}->part_ptr->name",
        "requests[0].partition.name": f"{record}->part_ptr->name",
        "qos.name": f"qos_of({record})",
    }
    times = dict.fromkeys(("submit", "queued"), f"{record}->details->submit_time")
    found = {key: Term(f"(double) {text}", "number", True, True) for key, text in numbers.items()}
    found |= {key: Term(f"((double) {text} - NICE_OFFSET)", "number", False, True) for key, text in shifted.items()}
    found |= {key: Term(text, "text") for key, text in texts.items()}
    found |= {key: Term(f"(double) {text}", "time", True) for key, text in times.items()}
    both = {f"{name}.{key}": term for key, term in found.items()}
    return both | {f"{name}.job.{key}": term for key, term in found.items()}


def number_of(plugin: object, hook: str) -> Term:
    """The formula of ``priority_set`` or ``site_factor``, of a record ``job`` and a second ``now``.

    Raises:
        UntranslatableError: the hook does not answer ``[FORMULA for job in view.to_set]``.
    """
    formula = Formula({}, plugin, constants(plugin, hook))
    answer = _answer(body_of(plugin, hook), formula)
    if not isinstance(answer, ast.ListComp) or len(answer.generators) != 1:
        raise UntranslatableError(f"{hook} does not answer [FORMULA for job in view.to_set]")
    each = answer.generators[0]
    if not isinstance(each.target, ast.Name) or ast.unparse(each.iter) != "view.to_set" or each.ifs:
        raise formula.unknown(each)
    formula.facts = {"view.now": Term("now", "time", True), **job_facts(each.target.id, "job")}
    term = formula.of(answer.elt)
    if term.kind != "number":
        raise formula.unknown(answer.elt)
    return term


def order_of(plugin: object) -> Order:
    """What ``preempt_candidates`` says of each run, as far as it says it of each by itself.

    Raises:
        UntranslatableError: it is no ``sorted`` list of runs of ``view.running``, under conditions.
    """
    formula = Formula(_preempt_facts("run"), plugin, constants(plugin, "preempt_candidates"))
    answer = _answer(body_of(plugin, "preempt_candidates"), formula)
    keys: tuple[Term, ...] = ()
    if isinstance(answer, ast.Call) and ast.unparse(answer.func) == "sorted" and len(answer.args) == 1:
        if len(answer.keywords) != 1 or answer.keywords[0].arg != "key":
            raise formula.unknown(answer)
        keys = _keys(answer.keywords[0].value, formula)
        answer = answer.args[0]
    test, usual = _runs(answer, formula)
    if not (keys or usual):
        raise UntranslatableError("preempt_candidates says no order; return sorted(runs, key=...)")
    return Order(test, keys or usual)


def _runs(node: ast.expr, formula: Formula) -> tuple[str, tuple[Term, ...]]:
    """The condition under which a run is among those of an expression, and the order in which they come."""
    words = ast.unparse(node)
    if words == "view.running":
        return "true", ()
    if words == "view.outranked()":
        return "(waiting->priority > running->priority)", (Term("(double) running->priority", "number", True, True),)
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("list", "tuple") and len(node.args) == 1:
        return _runs(node.args[0], formula)
    if not isinstance(node, ast.ListComp | ast.GeneratorExp) or len(node.generators) != 1:
        raise formula.unknown(node)
    each = node.generators[0]
    if not isinstance(each.target, ast.Name) or ast.unparse(node.elt) != each.target.id:
        raise formula.unknown(node)
    test, order = _runs(each.iter, formula)
    formula.facts = _preempt_facts(each.target.id)
    conditions = [one for one in (test, *map(formula.truth, each.ifs)) if one not in ("true", "1")]
    return " && ".join(conditions) or "true", order


def _keys(node: ast.expr, formula: Formula) -> tuple[Term, ...]:
    """The parts of a sort key, but for the id that is always last."""
    if not isinstance(node, ast.Lambda) or len(node.args.args) != 1:
        raise formula.unknown(node)
    name = node.args.args[0].arg
    formula.facts = _preempt_facts(name)
    whole = formula.whole(node.body)
    parts = list(whole.elts) if isinstance(whole, ast.Tuple) else [whole]
    if len(parts) > 1 and ast.unparse(parts[-1]) in (f"{name}.job.id", f"{name}.sequence"):
        parts.pop()
    if len(parts) > 2:
        raise UntranslatableError("an order of more than two numbers cannot be said in one; Slurm asks for one")
    terms = tuple(_key(part, formula) for part in parts)
    if len(terms) == 2 and not all(term.positive for term in terms):
        raise UntranslatableError("of two numbers of an order one may be below 0; Slurm asks for one from 0")
    return terms


def _key(node: ast.expr, formula: Formula) -> Term:
    """One number of an order; the later of two times has the lower one if that is what its sign says."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = formula.of(node.operand)
        if value.kind in ("time", "number") and value.positive:
            return Term(f"(UINT32_MAX - {value.text})", "number", True, value.whole)
    term = formula.of(node)
    if term.kind not in ("number", "time"):
        raise formula.unknown(node)
    return term


def _preempt_facts(name: str) -> Mapping[str, Term]:
    now = Term("now", "time", True)
    held = {
        f"{name}.processors": Term("(double) running->total_cpus", "number", True, True),
        f"{name}.start": Term("(double) running->start_time", "time", True),
        f"{name}.planned_end": Term("(double) running->end_time", "time", True),
        f"{name}.partition.tier": Term("(double) running->part_ptr->priority_tier", "number", True, True),
        f"{name}.partition.name": Term("running->part_ptr->name", "text"),
        # What Slurm has not asked about shares no nodes.
        f"view.shares_nodes({name})": Term("1", "truth"),
        f"view.unsaved({name})": Term("(now - (double) running->start_time)", "number", True, True),
    }
    waits = job_facts("view.preemptor", "waiting")
    tier = {"view.partition.tier": waits["view.preemptor.runs_in.tier"]}
    return {"view.now": now, **job_facts(name, "running"), **waits, **tier, **held}


def _answer(body: list[ast.stmt], formula: Formula) -> ast.expr:
    """The expression that a hook returns, with its names put in."""
    for statement in body[:-1]:
        if not isinstance(statement, ast.Assign | ast.AnnAssign):
            raise formula.unknown(statement)
        formula.assign(statement)
    last = body[-1]
    if not isinstance(last, ast.Return) or last.value is None:
        raise formula.unknown(last)
    return formula.whole(last.value)


def text_of(plugin: object, hook: str) -> str:
    """The text of a policy, or of its hook alone; empty if it cannot be had."""
    for thing in (type(plugin), getattr(type(plugin), hook, None)):
        try:
            return textwrap.dedent(inspect.getsource(thing))  # type: ignore[arg-type]
        except (OSError, TypeError):
            continue
    return ""


def constants(plugin: object, hook: str) -> Mapping[str, Any]:
    """What the names of the policy's module stand for."""
    return getattr(getattr(type(plugin), hook, None), "__globals__", {})
