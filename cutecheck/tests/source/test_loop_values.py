"""What is said of a value in a loop covers every value that running the loop gives it: random programs, run by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import z3
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cutecheck.facts import Unknown
from cutecheck.model.expr import Expr, Op
from cutecheck.model.ints import as_expr
from cutecheck.model.prove.domains import per_thread
from cutecheck.source.extract import ExtractRequest, extract

NAMES = ("x", "y", "z")
LANES = (0, 1, 5, 16, 31)
HEAD = """
#include <cute/tensor.hpp>
using namespace cute;
struct Counter { int at = 0; CUTE_HOST_DEVICE void advance(int by) { at += by; } };
template <class T> __device__ void seen(half_t* s, int x, T) {
  auto S = make_tensor(make_smem_ptr(s) + x, Layout<_8>{});
  auto r = make_tensor<half_t>(Layout<_8>{});
  copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{}, S, r);
}
__global__ void k(int n, int m) {
  __shared__ alignas(128) half_t s[65536];
  int x = 0; int y = 8; int z = threadIdx.x * 8; Counter c;
"""


@dataclass
class Lane:
    """One thread that runs a program: its variables and what it showed, by line and iteration."""

    thread: int
    n: int
    m: int
    values: dict[str, int] = field(default_factory=lambda: {"x": 0, "y": 8})
    seen: dict[tuple[int, tuple[int, ...]], int] = field(default_factory=dict)
    at: tuple[int, ...] = ()

    def number(self, e: Any) -> int:
        kind = e[0]
        if kind == "const":
            return e[1]
        if kind == "name":
            return {
                **self.values,
                "threadIdx.x": self.thread,
                "n": self.n,
                "m": self.m,
                "i": self.at[-1] if self.at else 0,
            }[e[1]]
        if kind == "select":
            return self.number(e[2]) if self.number(e[1]) else self.number(e[3])
        left, right = self.number(e[1]), self.number(e[2])
        return {
            "+": left + right,
            "-": left - right,
            "*": left * right,
            "<": int(left < right),
            "==": int(left == right),
        }[kind]


class Next(Exception):
    """A ``continue``, or a ``break`` where it is so."""

    def __init__(self, leaves: bool) -> None:
        self.leaves = leaves


def run(lane: Lane, body: list[Any]) -> None:
    for s in body:
        kind = s[0]
        if kind == "set":
            lane.values[s[1]] = lane.number(s[2])
        elif kind == "advance":
            lane.values["c.at"] += s[1]
        elif kind == "see":
            lane.seen[s[1][0], lane.at] = lane.number(s[2])
        elif kind == "if":
            run(lane, s[2] if lane.number(s[1]) else s[3])
        elif kind == "jump":
            if lane.number(s[1]):
                raise Next(s[2])
        elif kind == "loop":
            outer = lane.at
            for i in range(max(lane.number(s[1]), s[3] == "do")):
                lane.at = (*outer, i)
                try:
                    run(lane, s[2])
                except Next as jump:
                    if jump.leaves:
                        break
            lane.at = outer


def text(e: Any) -> str:
    if e[0] in ("const", "name"):
        return str(e[1])
    if e[0] == "select":
        return f"({text(e[1])} ? {text(e[2])} : {text(e[3])})"
    return f"({text(e[1])} {e[0]} {text(e[2])})"


def spell(body: list[Any], lines: list[str], depth: int) -> None:
    for s in body:
        kind = s[0]
        if kind == "set":
            lines.append(f"{s[1]} = {text(s[2])};")
        elif kind == "advance":
            lines.append(f"c.advance({s[1]});")
        elif kind == "see":
            lines.append(f"seen(s, {text(s[2])}, Int<{len(lines)}>{{}});")
            s[1][0] = len(lines) - 1
        elif kind == "if":
            lines.append(f"if ({text(s[1])}) {{")
            spell(s[2], lines, depth)
            lines.append("} else {")
            spell(s[3], lines, depth)
            lines.append("}")
        elif kind == "jump":
            lines.append(f"if ({text(s[1])}) {'break' if s[2] else 'continue'};")
        elif s[3] == "for":
            lines.append(f"for (int i = 0; i < {text(s[1])}; ++i) {{")
            spell(s[2], lines, depth + 1)
            lines.append("}")
        else:
            lines.append(f"{{ int i = -1; int left = {text(s[1])};")
            lines.append("do { ++i;" if s[3] == "do" else "while (left-- > 0) { ++i;")
            spell(s[2], lines, depth + 1)
            lines.append("} while (--left > 0); }" if s[3] == "do" else "} }")


NUMBERS = st.one_of(
    st.sampled_from([0, 8, 16, 24, 256, -8]).map(lambda v: ("const", v)),
    st.sampled_from([*NAMES, "c.at", "threadIdx.x", "m"]).map(lambda v: ("name", v)),
)
CONDITIONS = st.one_of(
    st.tuples(st.just("<"), st.just(("name", "threadIdx.x")), st.just(("const", 16))),
    st.tuples(st.just("<"), st.just(("name", "m")), st.just(("const", 3))),
    st.tuples(
        st.just("=="),
        st.sampled_from([("name", "x"), ("name", "c.at")]),
        st.sampled_from([("const", 8), ("const", 16)]),
    ),
    st.tuples(st.just("<"), st.just(("name", "i")), st.just(("const", 2))),
)
VALUES = st.one_of(
    NUMBERS,
    st.tuples(st.sampled_from(["+", "+", "-"]), NUMBERS, NUMBERS),
    st.tuples(st.just("*"), NUMBERS, st.sampled_from([("const", 2), ("const", 8)])),
    st.tuples(st.just("select"), CONDITIONS, NUMBERS, NUMBERS),
)
SEE = st.sampled_from([*NAMES, "c.at"]).map(lambda v: ("see", [0], ("name", v)))
GROW = st.tuples(st.sampled_from(NAMES), st.sampled_from([8, 16, -8])).map(
    lambda p: ("set", p[0], ("+", ("name", p[0]), ("const", p[1])))
)
PLAIN = st.one_of(
    SEE, GROW, st.tuples(st.just("set"), st.sampled_from(NAMES), VALUES),
    st.sampled_from([8, 16]).map(lambda v: ("advance", v)),
)  # fmt: skip


def bodies(inner: Any, size: int = 3) -> Any:
    return st.lists(inner, min_size=1, max_size=size)


IN_LOOP = st.one_of(
    PLAIN, PLAIN,
    st.tuples(st.just("if"), CONDITIONS, bodies(PLAIN, 2), bodies(PLAIN, 1)),
    st.tuples(st.just("jump"), CONDITIONS, st.booleans()),
)  # fmt: skip
COUNTS = st.sampled_from([("name", "m"), ("const", 3)])
WAYS = st.sampled_from(["for", "for", "while", "do"])
INNERMOST = st.tuples(st.just("loop"), COUNTS, bodies(IN_LOOP, 2), WAYS)
INNER = st.tuples(st.just("loop"), COUNTS, bodies(st.one_of(IN_LOOP, IN_LOOP, IN_LOOP, INNERMOST), 3), WAYS)
LOOP = st.tuples(
    st.just("loop"),
    st.sampled_from([("name", "n"), ("const", 4), ("name", "threadIdx.x")]),
    bodies(st.one_of(IN_LOOP, IN_LOOP, INNER), 5),
    WAYS,
)
PROGRAMS = st.tuples(bodies(PLAIN, 2), LOOP, SEE, SEE).map(lambda p: [*p[0], p[1], p[2], p[3]])


@cache
def covered(e: Expr, lanes: tuple[tuple[int, int], ...]) -> bool:
    """Whether the expression takes the lanes' values together: uniform variables once, those of each thread in each."""
    solver = z3.Solver()
    solver.set("timeout", 5000)

    def variable(name: str, domain: Any, thread: int) -> Any:
        if name == "threadIdx.x":
            return z3.IntVal(thread)
        v = z3.Int(f"{name}@{thread}" if per_thread(name) else name)
        low, high = domain.bounds()
        solver.add(*([v >= low] if low is not None else []), *([v <= high] if high is not None else []))
        if domain.values is not None:
            solver.add(z3.Or([v == x for x in domain.values]))
        elif domain.step > 1:
            solver.add(v % domain.step == 0)
        return v

    def lower(e: Expr, thread: int) -> Any:
        total: Any = z3.IntVal(0)
        for monomial, factor in e.terms:
            product: Any = z3.IntVal(factor)
            for atom in monomial:
                product = product * (
                    operation(atom, thread) if isinstance(atom, Op) else variable(atom.name, atom.domain, thread)
                )
            total = total + product
        return total

    def operation(op: Op, thread: int) -> Any:
        """Division as in C++, towards zero."""
        if op.kind not in ("div", "mod"):
            raise NotImplementedError(op.kind)
        a, b = (lower(x, thread) for x in op.args)
        size = z3.If(a < 0, -a, a) / z3.If(b < 0, -b, b)
        quotient = z3.If((a < 0) == (b < 0), size, -size)
        return quotient if op.kind == "div" else a - quotient * b

    for thread, value in lanes:
        solver.add(lower(e, thread) == value)
    return bool(solver.check() != z3.unsat)  # products of unknowns may be too hard to tell


FOLLOWS_ANOTHER = [  # a variable of all threads alike comes to what each has of its own
    ("loop", ("const", 4), [
        ("see", [0], ("name", "x")),
        ("set", "z", ("+", ("name", "z"), ("const", 8))),
        ("set", "x", ("name", "z")),
    ], "for"),
]  # fmt: skip
ASKED_ONCE_A_PASS = [  # a condition that counts is asked once in each of two passes
    ("loop", ("const", 2), [
        ("set", "y", ("name", "x")),
        ("set", "x", ("name", "z")),
        ("set", "z", ("name", "y")),
        ("see", [0], ("name", "x")),
    ], "do"),
]  # fmt: skip


@given(program=PROGRAMS, n=st.integers(0, 4), m=st.integers(0, 4))
@example(program=FOLLOWS_ANOTHER, n=0, m=0)
@example(program=ASKED_ONCE_A_PASS, n=0, m=0)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_what_a_loop_may_do_is_covered(tmp_path: Path, program: list[Any], n: int, m: int) -> None:
    lines: list[str] = []
    spell(program, lines, 0)
    source = HEAD + "\n".join(lines) + "\n}\nvoid host(int n, int m) { k<<<1, 32>>>(n, m); }\n"
    (tmp_path / "k.cu").write_text(source)
    said: dict[int, list[Expr]] = {}
    for event in extract(ExtractRequest((tmp_path,), ("sm_80",))).events:
        line = int(event.enclosing.rsplit("<", 1)[1].strip(">").removeprefix("_").removeprefix("C<").rstrip(">"))
        offset = event.operands[0].offset
        if not isinstance(offset, Unknown):
            said.setdefault(line, []).append(as_expr(offset))  # type: ignore[arg-type]
        else:
            said.setdefault(line, [])
    lanes = []
    for thread in LANES:
        lane = Lane(thread, n, m)
        lane.values.update({"z": thread * 8, "c.at": 0})
        run(lane, program)
        lanes.append(lane)
    for line, at in sorted({key for lane in lanes for key in lane.seen}):
        values = {lane.thread: lane.seen[line, at] for lane in lanes if (line, at) in lane.seen}
        assert line in said, f"{lines[line]} has no event\n{source}"
        if said[line]:
            assert any(covered(e, tuple(values.items())) for e in said[line]), (
                f"{lines[line]}: {values} at {at}, said {said[line]}\n{source}"
            )
