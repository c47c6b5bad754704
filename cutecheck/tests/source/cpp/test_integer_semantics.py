"""Integer expressions of mixed types: value and type are those that a compiler gives."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cutecheck.facts import Span
from cutecheck.model.dtype import DType
from cutecheck.model.expr import Domain, Expr, Op, divisor, trunc_div, trunc_mod
from cutecheck.model.integers import INTEGERS, canonical, common_type, domain_of, promoted, wrapped
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.model.units import Bits
from cutecheck.source.cpp import lower_expression
from cutecheck.source.cpp.semantics import CppDialect
from cutecheck.source.eval.values import Scalar, ScalarType
from cutecheck.source.evaluate import machine

COMPILER = shutil.which("g++")
TYPES = (
    "bool", "char", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned", "long",
    "unsigned long", "long long", "unsigned long long", "long unsigned int", "unsigned short int", "long long unsigned",
)  # fmt: skip
LITERALS = (
    "0", "1", "2", "3", "7", "8", "31", "127", "128", "200", "255", "256", "32767", "65535", "65536", "2147483647",
    "2147483648", "4294967295", "0xFFFFFFFF", "0x80000000", "0x7FFFFFFFFFFFFFFF", "0xFFFFFFFFFFFFFFFF", "1u", "3u",
    "5l", "6ul", "9ull", "4294967295u", "1'000", "017", "0b101", "true", "false", "'a'", "sizeof(int)", "-1", "-8",
)  # fmt: skip


class Expressions:
    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)

    def make(self, depth: int) -> str:
        r = self.r
        kind = r.random()
        if depth <= 0 or kind < 0.12:
            return f"({r.choice(LITERALS)})"
        a = self.make(depth - 1)
        if kind < 0.32:
            t = r.choice(TYPES)
            return f"static_cast<{t}>({a})" if r.random() < 0.6 else f"(({t})({a}))"
        if kind < 0.42:
            return f"({r.choice('-~+!')}{a})"
        if kind < 0.5:
            return f"({a} {r.choice(('<<', '>>'))} ({r.choice(('1', '3u', '7l', '0'))}))"
        if kind < 0.6:
            return f"({a} {r.choice('/%')} ({r.choice(('3', '7u', '-5', '2l', '11ul', '-2ll', 'true'))}))"
        b = self.make(depth - 1)
        if kind < 0.66:
            return f"({self.make(depth - 2)} ? {a} : {b})"
        if kind < 0.8:
            return f"({a} {r.choice(('<', '<=', '>', '>=', '==', '!=', '&&', '||'))} {b})"
        return f"({a} {r.choice(('+', '-', '*', '&', '|', '^'))} {b})"


def compiled(folder: Path, texts: list[str]) -> list[tuple[str, int]]:
    """The type and value of each, by a compiler."""
    shows = "".join(
        f'static void show({t} v) {{ std::printf("{t}|%s%llu\\n", v < 0 ? "-" : "", '
        "v < 0 ? 0ull - (unsigned long long)(long long)v : (unsigned long long)v); }\n"
        for t in dict.fromkeys(canonical(t) for t in INTEGERS)
    )
    lines = "".join(f"  show({t});\n" for t in texts)
    (folder / "a.cpp").write_text(f"#include <cstdio>\n{shows}int main() {{\n{lines}}}\n")
    assert COMPILER is not None
    command = [COMPILER, "-std=c++17", "-w", "-fwrapv", "-O0", str(folder / "a.cpp"), "-o", str(folder / "a")]
    subprocess.run(command, check=True, capture_output=True)
    out = subprocess.run([str(folder / "a")], check=True, capture_output=True, text=True).stdout
    return [(name, int(value)) for name, _, value in (line.partition("|") for line in out.splitlines())]


def said(texts: list[str]) -> list[tuple[str, object]]:
    m = machine()
    found: list[tuple[str, object]] = []
    for text in texts:
        value = m.eval(lower_expression(text), m.program.root.env)
        found.append((canonical(value.ctype), value.value) if isinstance(value, Scalar) else ("", value))
    return found


@pytest.mark.skipif(COMPILER is None, reason="no g++")
def test_constant_expressions_have_the_type_and_value_that_a_compiler_gives_them(tmp_path: Path) -> None:
    made = Expressions(41)
    texts = [made.make(i % 5) for i in range(1500)]
    real, have = compiled(tmp_path, texts), said(texts)
    assert [(t, h, r) for t, h, r in zip(texts, have, real, strict=True) if h != r] == []
    assert len({name for name, _ in real}) > 9


# of variables: names, types and some of their values
VARIABLES = {
    "a#1": ("int", (-9, -1, 0, 1, 7, 30)), "b#2": ("int", (-3, 0, 2, 12)), "u": ("unsigned", (0, 1, 5, 17)),
    "v": ("uint32_t", (0, 2, 9)), "z": ("size_t", (0, 1, 11)), "l#3": ("int64_t", (-6, 0, 13)),
    "c": ("uint8_t", (0, 3, 200, 255)), "d": ("int8_t", (-128, -1, 0, 127)), "h": ("uint16_t", (0, 40000)),
    "t": ("threads", (0, 1, 31, 100)), "n": ("int", (0, 3, 14)),
}  # fmt: skip
CASTS = ("int", "unsigned", "uint8_t", "int8_t", "int16_t", "uint16_t", "int64_t", "uint64_t")


def variable(name: str) -> Scalar:
    ctype, _ = VARIABLES[name]
    if ctype == "threads":
        return Scalar(Dyn.named(name, Domain(0, 127)), "unsigned")
    return Scalar(Dyn.named(name, domain_of(ctype)), ctype)


class Trees:
    """Random typed expressions: the value by the dialect, and by hand for given values of the variables."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.dialect = CppDialect()

    def make(self, depth: int) -> tuple[Any, Callable[[dict[str, int]], tuple[int, str]]]:
        r, dialect = self.r, self.dialect
        kind = r.random()
        if depth <= 0 or kind < 0.1:
            name = r.choice(list(VARIABLES))
            value = variable(name)
            return value, lambda given: (given[name], value.ctype)
        if kind < 0.2:
            number, ctype = r.choice((0, 1, 3, 8, 200, 0xFFFFFFFF)), r.choice(("unsigned", "long", "unsigned long"))
            return Scalar(number, ctype), lambda given: (number, ctype)
        value, by_hand = self.make(depth - 1)
        if kind < 0.45:
            to = r.choice(CASTS)
            return (
                dialect.cast(ScalarType(DType(to, Bits(INTEGERS[to][0]))), value, SPAN),
                lambda given: (wrapped(by_hand(given)[0], to), to),
            )
        if kind < 0.55:
            op = r.choice("-~+")

            def unary(given: dict[str, int]) -> tuple[int, str]:
                number, ctype = by_hand(given)
                return wrapped({"-": -number, "~": ~number, "+": number}[op], promoted(ctype)), promoted(ctype)

            return dialect.unary(op, value, SPAN), unary
        op = r.choice(("+", "-", "*", "&", "|", "^", "<", "==", "/", "%", ">>"))
        if op in ("/", "%", ">>"):
            right, other = Scalar(3, "int"), lambda given: (3, "int")
        else:
            right, other = self.make(depth - 1)

        def both(given: dict[str, int]) -> tuple[int, str]:
            (x, xt), (y, yt) = by_hand(given), other(given)
            to = promoted(xt) if op == ">>" else common_type(xt, yt)
            x, y = wrapped(x, to), wrapped(y, to)
            found = {
                "+": x + y, "-": x - y, "*": x * y, "&": x & y, "|": x | y, "^": x ^ y, "<": int(x < y),
                "==": int(x == y), ">>": x >> 3,
                "/": trunc_div(x, y) if op == "/" else 0, "%": trunc_mod(x, y) if op == "%" else 0,
            }[op]  # fmt: skip
            if op in ("<", "=="):
                return found, "bool"
            if INTEGERS[to][1] and wrapped(found, to) != found:
                raise OverflowError
            if not INTEGERS[to][1] and op in ("+", "*") and found >> INTEGERS[to][0] and x < BIG and y < BIG:
                raise OverflowError  # naturals are taken to fit
            return wrapped(found, to), to

        return dialect.binary(op, value, right, SPAN), both


BIG = 1 << 31
SPAN = Span("a.cu", 1, 1, 1, 1)


def opaque(e: Expr) -> bool:
    return any(
        isinstance(atom, Op) and (atom.kind == "opaque" or any(map(opaque, atom.args)))
        for monomial, _ in e.terms
        for atom in monomial
    )


def test_run_time_expressions_have_the_value_that_their_types_give_them() -> None:
    trees = Trees(7)
    r = random.Random(3)
    checked = 0
    for _ in range(2500):
        value, by_hand = trees.make(r.choice((1, 2, 3, 4)))
        assert isinstance(value, Scalar)
        if value.value is None or isinstance(value.value, float) or opaque(as_expr(value.value)):
            continue
        for _ in range(6):
            given = {name: r.choice(values) for name, (_, values) in VARIABLES.items()}
            try:
                number, ctype = by_hand(given)
            except OverflowError:
                continue
            assert canonical(value.ctype) == canonical(ctype)
            assert as_expr(value.value).evaluate(given) == number, (str(value.value), ctype, given)
            checked += 1
    assert checked > 5000


@pytest.mark.parametrize(
    ("by", "divides"),
    [(3, False), (6, False), (5, False), (2, True), (8, True)],
)
def test_a_multiple_that_may_wrap_is_none_any_more_when_it_is_divided(by: int, divides: bool) -> None:
    """``u * 24u / 3u`` is 1431655637 for u = 357913941: no multiple of 8, which ``8 * u`` would be."""
    dialect = CppDialect()
    for op, expected in (("/", divides), ("%", by in (2, 8))):
        product = dialect.binary("*", variable("u"), Scalar(8 * by, "unsigned"), SPAN)
        value = dialect.binary(op, product, Scalar(by, "unsigned"), SPAN)
        assert isinstance(value, Scalar) and not isinstance(value.value, float) and value.value is not None
        assert (divisor(as_expr(value.value)) % 8 == 0) is expected, str(value.value)
    for name in ("a#1", "z", "t"):  # signed numbers fit, so does what has 64 bits, and a thread's index
        value = dialect.binary("/", dialect.binary("*", variable(name), Scalar(8 * by), SPAN), Scalar(by), SPAN)
        assert isinstance(value, Scalar) and not isinstance(value.value, float) and value.value is not None
        assert divisor(as_expr(value.value)) % 8 == 0, str(value.value)


@pytest.mark.parametrize("op", ["|", "^"])
def test_a_constant_that_sets_the_highest_bit_makes_a_negative_number(op: str) -> None:
    dialect = CppDialect()
    set_ = dialect.binary(op, Scalar(0xFFFFFFFF, "unsigned"), variable("u"), SPAN)
    signed = dialect.cast(ScalarType(DType("int", Bits(32))), set_, SPAN)
    scaled = dialect.binary("*", set_, Scalar(200, "unsigned"), SPAN)
    for u in (0, 5, 17):
        value = 0xFFFFFFFF | u if op == "|" else 0xFFFFFFFF ^ u
        for made, ctype, number in ((signed, "int", value), (scaled, "unsigned", 200 * value)):
            assert isinstance(made, Scalar) and made.value is not None and not isinstance(made.value, float)
            assert as_expr(made.value).evaluate({"u": u}) == wrapped(number, ctype)
