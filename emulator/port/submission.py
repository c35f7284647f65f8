"""What of a ``job_submit`` policy can be said in C or Lua: conditions on a submission, refusals, and other values.

Understood are ``if`` with such conditions, names for expressions, ``return None``, ``return Reject("...")`` and
``return view.submission._replace(field=...)``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from emulator.port.formula import Formula, Term, UntranslatableError, body_of, quoted
from emulator.port.policy import constants


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a submission in ``job_desc``.

    Attributes:
        name: there, in C and in Lua.
        unset: what it holds where nothing is stated, in C; in Lua with ``slurm.`` before it. Empty for texts.
        unit: how many of ours are one there.
    """

    name: str
    unset: str = ""
    unit: int = 1


FIELDS: Mapping[str, Field] = {
    "time_limit": Field("time_limit", "NO_VAL", 60),
    "time_min": Field("time_min", "NO_VAL", 60),
    "tasks": Field("num_tasks", "NO_VAL"),
    "min_nodes": Field("min_nodes", "NO_VAL"),
    "max_nodes": Field("max_nodes", "NO_VAL"),
    "cpus_per_task": Field("cpus_per_task", "NO_VAL16"),
    "tasks_per_node": Field("ntasks_per_node", "NO_VAL16"),
    "account": Field("account"),
    "qos": Field("qos"),
    "name": Field("name"),
    "reservation": Field("reservation"),
    "constraint": Field("features"),
    "partitions": Field("partition"),
}
"""Those that can be asked and changed; lists are texts with commas there."""
ASKED = ("dependency",)
"""Texts that can be asked only."""
SUBMISSION = "view.submission"


@dataclass(frozen=True)
class Judge:
    """Translates the body of ``job_submit``.

    Args:
        formula: translates expressions; its facts are the submission's.
    """

    formula: Formula

    def lines(self, body: list[ast.stmt], depth: int = 1) -> Iterator[str]:
        """Lines of C or Lua."""
        for statement in body:
            if isinstance(statement, ast.Assign | ast.AnnAssign) and depth == 1:
                self.formula.assign(statement)
            elif isinstance(statement, ast.If):
                yield from self._if(statement, depth)
            elif isinstance(statement, ast.Return):
                yield from ("    " * depth + line for line in self._answer(statement))
            elif not isinstance(statement, ast.Pass):
                raise self.formula.unknown(statement)

    def _if(self, statement: ast.If, depth: int) -> Iterator[str]:
        test, indent = self._test(statement.test), "    " * depth
        lua = self.formula.lua
        yield f"{indent}if {test} then" if lua else f"{indent}if {test} {{"
        yield from self.lines(statement.body, depth + 1)
        if statement.orelse:
            yield f"{indent}else" if lua else f"{indent}}} else {{"
            yield from self.lines(statement.orelse, depth + 1)
        yield f"{indent}end" if lua else f"{indent}}}"

    def _test(self, node: ast.expr) -> str:
        text = self._condition(self.formula.whole(node))
        return text if self.formula.lua else f"({text})"

    def _condition(self, node: ast.expr) -> str:
        """A condition; None and partitions are what only submissions have."""
        lua = self.formula.lua
        if isinstance(node, ast.BoolOp):
            words = (" or " if lua else " || ") if isinstance(node.op, ast.Or) else (" and " if lua else " && ")
            return f"({words.join(map(self._condition, node.values))})"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return f"not ({self._condition(node.operand)})" if lua else f"!({self._condition(node.operand)})"
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            special = self._special(node.left, node.ops[0], node.comparators[0])
            if special:
                return special
        return self.formula.truth(node)

    def _special(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> str:
        """What is asked of None, or of the list of partitions; empty for another comparison."""
        field = self._field(left)
        lua = self.formula.lua
        if field is not None and isinstance(right, ast.Constant) and right.value is None and field.unset:
            sign = "==" if isinstance(op, ast.Is) else "~=" if lua else "!="
            there = f"job_desc.{field.name} {sign} slurm." if lua else f"job_desc->{field.name} {sign} "
            return f"({there}{field.unset})"
        if isinstance(op, ast.In | ast.NotIn) and isinstance(left, ast.Constant) and isinstance(left.value, str):
            of = self._field(right)
            if of is not None and of.name == "partition":
                named = f"names_word({_holder(lua)}partition, {quoted(left.value, lua)})"
                return named if isinstance(op, ast.In) else f"not {named}" if lua else f"!{named}"
        return ""

    def _field(self, node: ast.expr) -> Field | None:
        words = ast.unparse(node)
        return FIELDS.get(words.removeprefix(f"{SUBMISSION}.")) if words.startswith(f"{SUBMISSION}.") else None

    def _answer(self, statement: ast.Return) -> Iterator[str]:
        lua = self.formula.lua
        value = None if statement.value is None else self.formula.whole(statement.value)
        end = "" if lua else ";"
        if value is not None and not (isinstance(value, ast.Constant) and value.value is None):
            if not isinstance(value, ast.Call):
                raise self.formula.unknown(value)
            called = ast.unparse(value.func)
            if called == "Reject" and len(value.args) == 1 and isinstance(value.args[0], ast.Constant):
                said = quoted(str(value.args[0].value), lua)
                yield f'slurm.log_user("%s", {said})' if lua else f"*err_msg = xstrdup({said});"
                yield "return slurm.ERROR" if lua else "return SLURM_ERROR;"
                return
            if called != f"{SUBMISSION}._replace" or value.args:
                raise self.formula.unknown(value)
            yield from self._changes(value.keywords)
        yield f"return {'slurm.' if lua else 'SLURM_'}SUCCESS{end}"

    def _changes(self, changes: list[ast.keyword]) -> Iterator[str]:
        """Assignments; all values are worked out before the first is written."""
        lua, written = self.formula.lua, []
        for change in changes:
            field = FIELDS.get(change.arg or "")
            if field is None:
                raise UntranslatableError(f"the field {change.arg} of a submission cannot be written by this program")
            value = self._value(change.value, field)
            name = f"new_{field.name}"
            if lua:
                yield f"local {name} = {value}"
                written.append(f"job_desc.{field.name} = {name}")
                continue
            yield f"double {name} = {value};" if field.unset else f"char *{name} = xstrdup({value});"
            written += [] if field.unset else [f"xfree(job_desc->{field.name});"]
            written.append(f"job_desc->{field.name} = {name};")
        yield from written

    def _value(self, node: ast.expr, field: Field) -> str:
        lua = self.formula.lua
        if isinstance(node, ast.Constant) and node.value is None and field.unset:
            return f"{'slurm.' if lua else ''}{field.unset}"
        if field.name == "partition":
            if not isinstance(node, ast.Tuple) or not all(isinstance(one, ast.Constant) for one in node.elts):
                raise self.formula.unknown(node)
            return quoted(",".join(str(one.value) for one in node.elts if isinstance(one, ast.Constant)), lua)
        term = self.formula.of(node)
        if (term.kind == "text") is bool(field.unset):
            raise self.formula.unknown(node)
        if not field.unset:
            return term.text
        # Slurm rounds a limit up to whole minutes.
        return term.text if field.unit == 1 else f"{'math.' if lua else ''}ceil({term.text} / {field.unit})"


def _holder(lua: bool) -> str:
    return "job_desc." if lua else "job_desc->"


def judged(policy: object, lua: bool) -> list[str]:
    """The lines of a function that judges a submission as a policy does.

    Raises:
        UntranslatableError: something in it is not understood.
    """
    facts = dict(_facts(lua))
    judge = Judge(Formula(facts, policy, constants(policy, "job_submit"), lua))
    lines = list(judge.lines(body_of(policy, "job_submit")))
    if not lines or not lines[-1].startswith("    return"):
        lines.append("    return slurm.SUCCESS" if lua else "    return SLURM_SUCCESS;")
    return lines


def _facts(lua: bool) -> Iterator[tuple[str, Term]]:
    for ours, field in [*FIELDS.items(), *((name, Field(name)) for name in ASKED)]:
        there = f"{_holder(lua)}{field.name}"
        if field.unset:
            text = there if field.unit == 1 else f"({there} * {field.unit}{'' if lua else '.0'})"
            yield f"{SUBMISSION}.{ours}", Term(text, "number", True, True)
        else:
            yield f"{SUBMISSION}.{ours}", Term(f'({there} or "")' if lua else f"said({there})", "text")
