"""Folding keeps the value of an expression: random trees against plain integers."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cutecheck.cache.codec import decode, encode
from cutecheck.facts.touch import compare
from cutecheck.model import expr as ex
from cutecheck.model.expr import NATURAL, Domain, terms
from cutecheck.model.expr.terms import OpKind, Var
from cutecheck.model.expr_compile import compiled
from cutecheck.model.units import Elements

DOMAINS = {
    "t": Domain(lo=0, hi=127),
    "m": Domain(lo=16, hi=256, step=16),
    "n": Domain(values=(32, 64, 128)),
    "k": Domain(lo=1),
    "x": Domain(),
}
SAMPLES = {
    "t": [0, 1, 5, 31, 64, 127],
    "m": [16, 48, 256],
    "n": [32, 64, 128],
    "k": [1, 2, 7, 40],
    "x": [-9, -1, 0, 3, 50],
}

leaves = st.one_of(st.sampled_from(list(DOMAINS)), st.integers(-20, 40))
kinds = st.sampled_from(["add", "sub", "mul", "div", "mod", "div", "mod", "min", "max", "and", "xor", "shr", "abs"])
trees = st.recursive(leaves, lambda inner: st.tuples(kinds, inner, inner), max_leaves=7)


def build(tree: Any) -> ex.Expr:
    if isinstance(tree, int):
        return ex.const(tree)
    if isinstance(tree, str):
        return ex.var(tree, DOMAINS[tree])
    kind, a, b = tree
    left, right = build(a), build(b)
    if kind in ("add", "sub", "mul"):
        return {"add": ex.add, "sub": ex.sub, "mul": ex.mul}[kind](left, right)
    return ex.op(kind, left) if kind == "abs" else ex.op(kind, left, right)


def value(tree: Any, point: dict[str, int]) -> int:
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return point[tree]
    kind, a, b = tree
    x, y = value(a, point), value(b, point)
    if kind in ("div", "mod"):
        quotient = abs(x) // abs(y) * (1 if (x >= 0) == (y >= 0) else -1)
        return quotient if kind == "div" else x - y * quotient
    if kind == "shr":
        if not 0 <= y < 64:
            raise ZeroDivisionError
        return x >> y
    plain = {"add": x + y, "sub": x - y, "mul": x * y, "min": min(x, y), "max": max(x, y), "and": x & y}
    return abs(x) if kind == "abs" else x ^ y if kind == "xor" else plain[kind]


@settings(max_examples=400, deadline=None)
@given(trees, st.data())
def test_folding_keeps_the_value(tree: Any, data: st.DataObject) -> None:
    point = {name: data.draw(st.sampled_from(SAMPLES[name])) for name in SAMPLES}
    try:
        expected = value(tree, point)
        e = build(tree)
    except (ZeroDivisionError, ValueError):
        assume(False)
        return
    assert e.evaluate(point) == expected
    lo, hi = ex.bounds(e)
    assert (lo is None or lo <= expected) and (hi is None or expected <= hi)
    d = ex.divisor(e)
    assert expected % d == 0 if d else expected == 0
    names = tuple(point)
    assert compiled(e, names)(*point.values()) == expected
    bound = e.substitute({name: ex.const(v) for name, v in point.items()})
    assert bound.constant == expected


def test_what_tilings_need_is_decided() -> None:
    m, n, t = (ex.var(name, DOMAINS[name]) for name in "mnt")
    one = ex.const(1)

    def ceil_div(a: ex.Expr, b: ex.Expr) -> ex.Expr:
        return ex.op("div", ex.sub(ex.add(a, b), one), b)

    assert ceil_div(m, m) == one
    assert ex.op("mod", m, m) == ex.const(0)
    assert ex.mul(ex.const(8), ceil_div(m, ex.const(8))) == m
    assert ceil_div(ex.mul(m, n), n) == m
    assert ceil_div(ex.mul(ex.const(4), ex.mul(m, n)), ex.mul(m, n)) == ex.const(4)
    assert ex.op("mod", ex.const(4), m) == ex.const(4)
    assert ex.op("div", ex.add(t, ex.mul(ex.const(128), m)), ex.const(128)) == m
    assert ex.op("mod", ex.add(t, ex.mul(ex.const(128), m)), ex.const(128)) == t


def test_an_expression_means_the_same_in_another_process() -> None:
    e = ex.op("mod", ex.var("t", Domain(lo=0)), ex.var("n", Domain(lo=1)))
    code = (
        "import pickle, sys; from cutecheck.model import expr as ex; from cutecheck.model.expr import Domain;"
        "e = pickle.loads(bytes.fromhex(sys.argv[1]));"
        "print({ex.op('mod', ex.var('t', Domain(lo=0)), ex.var('n', Domain(lo=1))): 'found'}.get(e))"
    )
    for seed in ("1", "2"):
        child = subprocess.run(
            [sys.executable, "-c", code, pickle.dumps(e).hex()],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert child.stdout.strip() == "found"


def test_variables_of_one_name_and_domain_are_one_object_wherever_they_come_from() -> None:
    domain = Domain(lo=0, step=8)
    v = Var("made", domain)
    assert Var("made", Domain(0, None, 8)) is v and Var("made") is not v and Var("made") != v
    assert Var("free", Domain()) is Var("free")
    assert pickle.loads(pickle.dumps(v)) is v and copy.deepcopy(v) is v and replace(v, name="made") is v
    assert decode(encode(v)) is v
    terms._sweep()
    held = len(terms._VARIABLES)  # by what other tests have left in caches
    for i in range(2 * held + (1 << 17)):  # more than are kept when nothing holds them
        Var(f"gone{i}")
    assert Var("made", domain) is v and len(terms._VARIABLES) <= max(1 << 16, 2 * (held + 1)) + 1


def test_numbers_of_an_expression_have_no_unit() -> None:
    eight = ex.const(Elements(8))
    assert ex.mul(eight, eight).constant == 64 and type(eight.constant) is int


@pytest.mark.parametrize("kind", ["and", "or", "xor"])
@pytest.mark.parametrize(("a", "b"), [(8, 12), (6, 4), (16, 0), (3, 5), (40, 952)])
def test_bit_operations_are_divisible_by_what_their_low_bits_say(kind: OpKind, a: int, b: int) -> None:
    x, y = ex.var("x", NATURAL), ex.var("y", NATURAL)
    operation = ex.op(kind, ex.mul(x, ex.const(a)), ex.add(ex.mul(y, ex.const(a)), ex.const(b)))
    step = ex.divisor(operation)
    values = [operation.evaluate({"x": i, "y": j}) for i in range(9) for j in range(9)]
    assert all(v % step == 0 if step else v == 0 for v in values)
    assert step % (a & -a if b % (a & -a) == 0 else 1) == 0


def test_the_largest_value_of_bits_keeps_the_low_zeros() -> None:
    t = ex.var("t", Domain(0, 127))
    row, column = ex.op("div", t, ex.const(16)), ex.op("mod", t, ex.const(8))
    swizzled = ex.op("xor", ex.mul(ex.const(8), column), ex.mul(ex.const(64), row))
    assert ex.bounds(swizzled) == (0, 504) and max(swizzled.evaluate({"t": i}) for i in range(128)) == 504


def test_what_an_expression_has_many_times_is_evaluated_once() -> None:
    at, value = ex.var("t", Domain(0, 1 << 20)), 1_000_003
    for _ in range(48):  # each of the index before, twice over
        at = ex.op("xor", ex.op("div", at, ex.const(3)), ex.op("mod", at, ex.const(1 << 19)))
        value = value // 3 ^ value % (1 << 19)
    assert at.evaluate({"t": 1_000_003}) == value
    compare(at, {})
    for evaluated in (compare, ex.Expr.evaluate):
        with pytest.raises(KeyError):
            evaluated(ex.op("opaque", at, ex.const(value), label="eq"), {"t": 1_000_003})
