"""Formulas of a policy, from Python to C or Lua: what is arithmetic on facts of jobs means the same there.

Names that the hook assigns are put in where they are used; attributes of the plugin (``self._power``) are the numbers
that they are when it is made. What is not understood is an :class:`UntranslatableError` with its words.
"""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["number", "time", "text", "truth"]
LARGEST_TABLE = 200
"""Entries of a dictionary that becomes a chain of comparisons."""
FUNCTIONS = {"abs": "fabs", "sqrt": "sqrt", "exp": "exp", "log": "log", "log2": "log2", "log10": "log10"}
"""Functions of one number, in C."""
IN_LUA = {"fabs": "math.abs", "floor": "math.floor", "ceil": "math.ceil", "fmin": "math.min", "fmax": "math.max"}
IN_LUA |= {name: f"math.{name}" for name in ("sqrt", "exp", "log", "log10")}
WHOLE = ("floor", "ceil", "rint")
COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


class UntranslatableError(Exception):
    """Words of a policy that have no counterpart."""


@dataclass(frozen=True, slots=True)
class Term:
    """A translated expression.

    Attributes:
        text: in the other language, in brackets where it needs some.
        kind: what it is; a ``time`` counts from another second there, so only differences of two mean the same.
        positive: whether it is known to be 0 or more.
        whole: whether it is known to be a whole number.
    """

    text: str
    kind: Kind = "number"
    positive: bool = False
    whole: bool = False


@dataclass
class Formula:
    """Translates expressions.

    Args:
        facts: what attribute chains such as ``job.processors`` are.
        plugin: the policy, for its own numbers.
        constants: names of its module.
        lua: whether to Lua; else to C.
        names: expressions of the names that were assigned.
    """

    facts: Mapping[str, Term]
    plugin: object = None
    constants: Mapping[str, Any] = field(default_factory=dict)
    lua: bool = False
    names: dict[str, ast.expr] = field(default_factory=dict)

    def assign(self, statement: ast.Assign | ast.AnnAssign) -> None:
        """Remember what names stand for."""
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if len(targets) != 1 or statement.value is None:
            raise self.unknown(statement)
        target, value = targets[0], statement.value
        if isinstance(target, ast.Name):
            self.names[target.id] = self.whole(value)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            values = [self.whole(one) for one in value.elts]
            for name, one in zip(target.elts, values, strict=True):
                if not isinstance(name, ast.Name):
                    raise self.unknown(statement)
                self.names[name.id] = one
        else:
            raise self.unknown(statement)

    def whole(self, node: ast.expr) -> ast.expr:
        """An expression with what its names stand for in their place."""
        names = self.names

        class Put(ast.NodeTransformer):
            def visit_Name(self, name: ast.Name) -> ast.expr:
                return names.get(name.id, name)

        return Put().visit(ast.parse(ast.unparse(node), mode="eval").body)  # type: ignore[no-any-return]

    def of(self, node: ast.expr) -> Term:
        """The translation of an expression.

        Raises:
            UntranslatableError: it has none.
        """
        return self._of(self.whole(node))

    def truth(self, node: ast.expr) -> str:
        """The translation of a condition."""
        return self._truth(self._of(self.whole(node)), node)

    def unknown(self, node: ast.AST) -> UntranslatableError:
        """What is said of words that are not understood."""
        return UntranslatableError(ast.unparse(node).partition("\n")[0][:120])

    def _of(self, node: ast.expr) -> Term:
        fact = self.facts.get(ast.unparse(node))
        if fact is not None:
            return fact
        value = self._own(node)
        if value is not None:
            return self._constant(value, node)
        kinds: dict[type, Callable[[Any], Term]] = {
            ast.Constant: lambda one: self._constant(one.value, one),
            ast.BinOp: self._binary,
            ast.UnaryOp: self._unary,
            ast.Compare: self._compare,
            ast.BoolOp: self._both,
            ast.IfExp: self._either,
            ast.Call: self._call,
        }
        translate = kinds.get(type(node))
        if translate is None:
            raise self.unknown(node)
        return translate(node)

    def _own(self, node: ast.expr) -> Any:
        """The value of an attribute of the plugin, or of a name of its module; None if it is neither."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            return getattr(self.plugin, node.attr, None)
        return self.constants.get(node.id) if isinstance(node, ast.Name) else None

    def _constant(self, value: object, node: ast.AST) -> Term:
        if isinstance(value, bool):
            return Term(("true" if value else "false") if self.lua else str(int(value)), "truth")
        if isinstance(value, int | float) and math.isfinite(value) and abs(value) < 1e300:
            return Term(repr(float(value)), "number", value >= 0, value == round(value))
        if isinstance(value, str):
            return Term(quoted(value, self.lua), "text")
        raise self.unknown(node)

    def _number(self, node: ast.expr) -> Term:
        term = self._of(node)
        if term.kind == "truth":
            return Term(f"({term.text} and 1 or 0)" if self.lua else f"({term.text} ? 1.0 : 0.0)", "number", True, True)
        if term.kind != "number":
            raise self.unknown(node)
        return term

    def _binary(self, node: ast.BinOp) -> Term:
        left, right = self._of(node.left), self._of(node.right)
        if left.kind == right.kind == "time" and isinstance(node.op, ast.Sub):
            # What was is before what is now: a time in the queue, or of a run.
            return Term(f"({left.text} - {right.text})", "number", left.text == "now", True)
        left, right = self._number(node.left), self._number(node.right)
        positive, whole = left.positive and right.positive, left.whole and right.whole
        a, b = left.text, right.text
        signs = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
        sign = signs.get(type(node.op))
        if sign is not None:
            return Term(f"({a} {sign} {b})", "number", positive and sign != "-", whole and sign != "/")
        if isinstance(node.op, ast.FloorDiv):
            return Term(self._call_of("floor", f"{a} / {b}"), "number", positive, True)
        if isinstance(node.op, ast.Mod):
            return Term(f"({a} - {b} * {self._call_of('floor', f'{a} / {b}')})", "number", right.positive, whole)
        if isinstance(node.op, ast.Pow):
            return Term(
                f"({a}) ^ ({b})" if self.lua else f"pow({a}, {b})", "number", left.positive, whole and right.positive
            )
        raise self.unknown(node)

    def _unary(self, node: ast.UnaryOp) -> Term:
        if isinstance(node.op, ast.Not):
            return Term(self._not(self._truth(self._of(node.operand), node)), "truth")
        value = self._number(node.operand)
        if isinstance(node.op, ast.USub):
            return Term(f"(-{value.text})", "number", False, value.whole)
        if isinstance(node.op, ast.UAdd):
            return value
        raise self.unknown(node)

    def _compare(self, node: ast.Compare) -> Term:
        values = [node.left, *node.comparators]
        parts = [self._pair(a, op, b, node) for a, op, b in zip(values, node.ops, values[1:], strict=False)]
        return Term(f"({(' and ' if self.lua else ' && ').join(parts)})", "truth")

    def _pair(self, left: ast.expr, op: ast.cmpop, right: ast.expr, node: ast.AST) -> str:
        if isinstance(op, ast.In | ast.NotIn) and isinstance(right, ast.Tuple | ast.List | ast.Set):
            each = [self._pair(left, ast.Eq(), one, node) for one in right.elts]
            found = f"({(' or ' if self.lua else ' || ').join(each)})" if each else self._constant(False, node).text
            return self._not(found) if isinstance(op, ast.NotIn) else found
        sign = COMPARISONS.get(type(op))
        if sign is None:
            raise self.unknown(node)
        a, b = self._of(left), self._of(right)
        if a.kind == b.kind == "text" and sign in ("==", "!="):
            if self.lua:
                return f"({a.text} {'~=' if sign == '!=' else sign} {b.text})"
            return f"(xstrcmp({a.text}, {b.text}) {sign} 0)"
        if a.kind == b.kind == "time":
            return f"({a.text} {self._sign(sign)} {b.text})"
        return f"({self._number(left).text} {self._sign(sign)} {self._number(right).text})"

    def _both(self, node: ast.BoolOp) -> Term:
        words = {True: (" and ", " or "), False: (" && ", " || ")}[self.lua]
        parts = [self._truth(self._of(one), one) for one in node.values]
        if isinstance(node.op, ast.And):
            parts = [part for part in parts if part != self._yes] or [self._yes]
        return Term(f"({words[isinstance(node.op, ast.Or)].join(parts)})", "truth")

    @property
    def _yes(self) -> str:
        return "true" if self.lua else "1"

    def _either(self, node: ast.IfExp) -> Term:
        test, yes, no = self._truth(self._of(node.test), node), self._of(node.body), self._of(node.orelse)
        if yes.kind != no.kind:
            raise self.unknown(node)
        text = f"({test} and {yes.text} or {no.text})" if self.lua else f"({test} ? {yes.text} : {no.text})"
        return Term(text, yes.kind, yes.positive and no.positive, yes.whole and no.whole)

    def _call(self, node: ast.Call) -> Term:
        name = ast.unparse(node.func).removeprefix("math.")
        given = node.args
        if node.keywords:
            raise self.unknown(node)
        if name in ("min", "max") and len(given) > 1:
            terms = [self._number(one) for one in given]
            text = terms[0].text
            for term in terms[1:]:
                text = self._call_of(f"f{name}", f"{text}, {term.text}")
            positive = any(one.positive for one in terms) if name == "max" else all(one.positive for one in terms)
            return Term(text, "number", positive, all(one.whole for one in terms))
        if name in ("int", "float", "floor", "ceil", "round", "str", *FUNCTIONS) and len(given) == 1:
            return self._of_one(name, given[0])
        if name.endswith(".get") and isinstance(node.func, ast.Attribute) and len(given) == 2:
            return self._looked_up(node.func.value, given[0], given[1])
        raise self.unknown(node)

    def _of_one(self, name: str, given: ast.expr) -> Term:
        if name == "str":
            term = self._of(given)
            if term.kind != "text":
                raise self.unknown(given)
            return term
        value = self._number(given)
        if name == "float":
            return value
        if name == "int":
            cut = self._call_of("floor", value.text)
            return Term(cut if value.positive else self._cut(value.text), "number", value.positive, True)
        if name == "round" and self.lua:
            raise self.unknown(given)
        # In C, too, halves are rounded to even.
        word = {"round": "rint", **FUNCTIONS}.get(name, name)
        return Term(
            self._call_of(word, value.text), "number", value.positive or name in ("abs", "sqrt", "exp"), word in WHOLE
        )

    def _looked_up(self, table: ast.expr, key: ast.expr, other: ast.expr) -> Term:
        """What a dictionary of the plugin says of a text."""
        values = self._own(table)
        word, found = self._of(key), self._number(other)
        if not isinstance(values, Mapping) or word.kind != "text" or len(values) > LARGEST_TABLE:
            raise self.unknown(table)
        text, positive, whole = found.text, found.positive, found.whole
        for name, value in reversed(list(values.items())):
            term = self._constant(value, table)
            if not isinstance(name, str) or term.kind != "number":
                raise self.unknown(table)
            same = (
                f"({word.text} == {quoted(name, self.lua)})"
                if self.lua
                else f"(xstrcmp({word.text}, {quoted(name, self.lua)}) == 0)"
            )
            text = f"({same} and {term.text} or {text})" if self.lua else f"({same} ? {term.text} : {text})"
            positive, whole = positive and term.positive, whole and term.whole
        return Term(text, "number", positive, whole)

    def _truth(self, term: Term, node: ast.AST) -> str:
        if term.kind == "truth":
            return term.text
        if term.kind == "number":
            return f"({term.text} {'~=' if self.lua else '!='} 0)"
        if term.kind == "text":
            return f'(({term.text} or "") ~= "")' if self.lua else f"({term.text} && *{term.text})"
        raise self.unknown(node)

    def _not(self, text: str) -> str:
        return f"(not {text})" if self.lua else f"!{text}"

    def _sign(self, sign: str) -> str:
        return "~=" if self.lua and sign == "!=" else sign

    def _cut(self, text: str) -> str:
        return f"({text} < 0 and math.ceil({text}) or math.floor({text}))" if self.lua else f"trunc({text})"

    def _call_of(self, name: str, given: str) -> str:
        if self.lua:
            if name not in IN_LUA:
                raise UntranslatableError(f"{name}: Lua has no such function")
            return f"{IN_LUA[name]}({given})"
        return f"{name}({given})"


def body_of(plugin: object, hook: str) -> list[ast.stmt]:
    """The statements of a hook of a policy, without its docstring.

    Raises:
        UntranslatableError: its text cannot be had.
    """
    try:
        text = textwrap.dedent(inspect.getsource(getattr(type(plugin), hook)))
        tree = ast.parse(text)
    except (OSError, TypeError, SyntaxError, AttributeError) as error:
        raise UntranslatableError(f"the text of {hook} cannot be read: {error}") from error
    function = tree.body[0]
    if not isinstance(function, ast.FunctionDef):
        raise UntranslatableError(f"{hook} is no plain function")
    body = function.body
    if (
        isinstance(body[0], ast.Expr)
        and isinstance(body[0].value, ast.Constant)
        and isinstance(body[0].value.value, str)
    ):
        body = body[1:]
    return body


def quoted(text: str, lua: bool = False) -> str:
    """A text in quotes; each byte that is no plain letter as three digits, octal in C and decimal in Lua."""
    form = "\\{:03d}" if lua else "\\{:03o}"
    return '"' + "".join(chr(one) if chr(one) in _PLAIN else form.format(one) for one in text.encode()) + '"'


_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 _.,:;+*/=()<>@!#&|~-")
