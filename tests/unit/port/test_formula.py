"""Formulas in C and Lua give what they give in Python."""

from __future__ import annotations

import math
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from emulator.port import write_port
from emulator.port.formula import Formula, Term, UntranslatableError, quoted
from emulator.port.policy import number_of, order_of
from slurm_sim_plugins import Reject, Submission, hookimpl
from slurm_sim_plugins.submission import SubmitView
from tests.builders.slurm_tree import slurm_tree

EXPRESSIONS = (
    "a + 2 * b - c",
    "(a - b) ** 2 / (c + 1)",
    "a // 7 + a % 7 + (-a) // 7 + (-a) % 7",
    "min(a, b, c) + max(a, b)",
    "int(a / 3) - int(-a / 3) + abs(b - a)",
    "round(a / 2) if a > b else math.floor(b / 3) + math.ceil(c / 7)",
    "math.sqrt(a) + math.log(b + 1) + math.exp(c / 100)",
    "(a < b <= c) + 2 * (not a == b) + (a in (1, 5, 17))",
    "1 if a and not b or c > 3 else 0",
    "1e3 * True + self.weight * WEIGHT",
    "self.points.get(word, 0) + self.points.get('x\"y', 3)",
    "7 if word == 'abc' and word != 'd' else 2",
    "3 if word in ('abc', 'q') else 4",
)
WEIGHT = 2.5
VALUES = [(1.0, 2.0, 3.0), (17.0, 5.0, 0.0), (100.0, 100.0, 250.0), (3.0, 0.0, 4.0)]
WORDS = ("abc", 'x"y', "")
FACTS = {name: Term(name, "number", True) for name in "abc"} | {"word": Term("word", "text")}


class Plugin:
    weight = 4
    points: ClassVar[dict[str, float]] = {"abc": 10, 'x"y': -2.5}


def in_python(expression: str, values: tuple[float, ...], word: str) -> float:
    names = dict(zip("abc", values, strict=True)) | {"word": word, "self": Plugin(), "WEIGHT": WEIGHT, "math": math}
    return float(eval(expression, names))


def translated(expression: str, lua: bool = False) -> str:
    import ast

    formula = Formula(FACTS, Plugin(), {"WEIGHT": WEIGHT}, lua)
    return formula._number(formula.whole(ast.parse(expression, mode="eval").body)).text


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_c_gives_what_python_gives(tmp_path: Path) -> None:
    cases = [(one, values, word) for one in EXPRESSIONS for values in VALUES for word in WORDS]
    functions = "\n".join(
        f"static double f{number}(double a, double b, double c, const char *word) {{ return {translated(one)}; }}"
        for number, one in enumerate(EXPRESSIONS)
    )
    calls = "\n".join(
        f'printf("%.17g\\n", f{EXPRESSIONS.index(one)}({", ".join(map(repr, values))}, {quoted(word)}));'
        for one, values, word in cases
    )
    (tmp_path / "all.c").write_text(
        "#include <math.h>\n#include <stdio.h>\n#include <string.h>\n#define xstrcmp strcmp\n"
        f"{functions}\nint main(void) {{\n{calls}\nreturn 0; }}\n"
    )
    subprocess.run(["cc", "-o", tmp_path / "all", tmp_path / "all.c", "-lm"], check=True)
    told = subprocess.run([tmp_path / "all"], capture_output=True, text=True, check=True).stdout.split()
    assert [float(one) for one in told] == pytest.approx([in_python(*case) for case in cases], rel=1e-15)


def test_lua_gives_what_python_gives() -> None:
    lupa = pytest.importorskip("lupa.lua51", reason="the extra lua is not installed")
    runtime = lupa.LuaRuntime()
    for one in (each for each in EXPRESSIONS if "round" not in each):
        found = runtime.eval(f"function(a, b, c, word) return {translated(one, lua=True)} end")
        for values in VALUES:
            for word in WORDS:
                assert found(*values, word) == pytest.approx(in_python(one, values, word)), one


@pytest.mark.parametrize(
    "words", ["open('x')", "job.fact('user')", "[a]", "a @ b", "a if word else 'x'", "f'{a}'", "self.nothing", "1e999"]
)
def test_what_has_no_counterpart_is_said(words: str) -> None:
    with pytest.raises(UntranslatableError):
        translated(words)


def test_a_time_alone_is_no_number() -> None:
    def policy(answer: str) -> Any:
        names: dict[str, Any] = {}
        exec(f"class Policy:\n  def priority_set(self, view):\n    {answer}\n", names)
        import linecache

        text = f"class Policy:\n  def priority_set(self, view):\n    {answer}\n"
        name = f"<{answer}>"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        exec(compile(text, name, "exec"), names)
        return names["Policy"]()

    assert number_of(policy("return [view.now - job.submit for job in view.to_set]"), "priority_set").positive
    for answer in (
        "return [job.submit for job in view.to_set]",
        "return [1 for job in view.queue]",
        "return [1 for job in view.to_set if job.id]",
        "return {job: 1 for job in view.to_set}",
        "yield 3",
    ):
        with pytest.raises(UntranslatableError):
            number_of(policy(answer), "priority_set")


class Youngest:
    def preempt_candidates(self, view: Any) -> Any:
        return sorted(
            (run for run in view.running if run.partition.name != "safe"),
            key=lambda run: (run.partition.tier, run.nodes, run.job.id),
        )


class Outranked:
    def preempt_candidates(self, view: Any) -> Any:
        return [run for run in view.outranked() if run.processors < view.preemptor.processors]


class Last:
    def preempt_candidates(self, view: Any) -> Any:
        return sorted(view.running, key=lambda run: -run.start)


class Unordered:
    def preempt_candidates(self, view: Any) -> Any:
        return [run for run in view.running if run.nodes > 1]


def test_orders_of_victims() -> None:
    youngest = order_of(Youngest())
    assert len(youngest.keys) == 2
    assert 'xstrcmp(running->part_ptr->name, "safe") != 0' in youngest.test
    outranked = order_of(Outranked())
    assert outranked.test.startswith("(waiting->priority > running->priority) && ")
    assert outranked.keys[0].text == "(double) running->priority"
    assert order_of(Last()).keys[0].text == "(UINT32_MAX - (double) running->start_time)"
    with pytest.raises(UntranslatableError, match="says no order"):
        order_of(Unordered())


class Queues:
    name: ClassVar[str] = "job_submit/queues"
    most = 7200.0

    @hookimpl
    def job_submit(self, view: SubmitView) -> Submission | Reject | None:
        """Long jobs go elsewhere."""
        job = view.submission
        if job.time_limit is None:
            if job.account in ("a", "b"):
                return job._replace(time_limit=90)
            return Reject('say "how long" \\ 100%')
        if job.time_limit > self.most and "long" not in job.partitions:
            return job._replace(partitions=("long",), time_min=job.time_limit / 2, name=job.account)
        if job.tasks is not None and not job.partitions and job.tasks % 3 == 0:
            return job._replace(tasks=job.tasks * 2, min_nodes=None, qos="big")
        return None


def test_a_script_judges_as_the_policy_does(tmp_path: Path) -> None:
    pytest.importorskip("lupa", reason="the extra lua is not installed")
    from slurm_sim_plugins.job_submit.lua import Lua

    made = write_port("job_submit", slurm_tree(tmp_path / "tree"), tmp_path, "queues", Queues(), lua=True)
    assert made.exact
    script = Lua(str(made.folder / "job_submit.lua"))
    told = set()
    for limit in (None, 60.0, 7260.0):
        for account in ("", "a", "c"):
            for partitions in ((), ("long", "x"), ("longer",)):
                for tasks in (None, 3, 4):
                    job = Submission(1, 0.0, "u", account=account, partitions=partitions, tasks=tasks, time_limit=limit)
                    view: Any = SimpleNamespace(submission=job, partitions=[], now=0.0, slurm_version="")
                    wanted, found = Queues().job_submit(view), script.job_submit(view)
                    if isinstance(wanted, Reject):
                        assert isinstance(found, Reject)
                        assert found.reason.splitlines()[0] == wanted.reason
                    else:
                        expected = wanted or job
                        minutes = {
                            name: None if value is None else math.ceil(value / 60) * 60
                            for name in ("time_limit", "time_min")
                            for value in [getattr(expected, name)]
                        }
                        assert found == expected._replace(**minutes)
                    told.add(type(wanted))
    assert told == {Reject, Submission, type(None)}
