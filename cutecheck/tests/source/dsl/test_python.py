"""Python itself: what the evaluator computes is what the interpreter computes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecheck.facts import Unknown
from cutecheck.source.dsl import lower_expression, lower_unit
from cutecheck.source.eval import ir
from cutecheck.tests.source.dsl.run import variables

PROGRAMS = [
    "x = [i * i for i in range(7) if i % 2]\ny = {k: v for k, v in zip('ab', (1, 2))}\nz = sum(x) + y['b']",
    "a, (b, *c) = 1, (2, 3, 4)\nd = c[::-1]\ne = a if b > 1 else None",
    "def f(x, *rest, k=3, **more):\n    return x + sum(rest) * k + more.get('q', 0)\nr = f(1, 2, 3, k=2, q=5)",
    "t = 0\nfor i in range(5):\n    if i == 3:\n        break\n    t += i\nn = 10\nwhile n > 3:\n    n -= 4",
    "s = f'{1 + 1}x' + 'y'.upper()\nu = s[1:]\nv = 'a-b'.split('-')\nw = '_'.join(v)",
    "from functools import partial, reduce\nadd = lambda a, b=2: a + b\np = partial(add, 5)()\nq = reduce(add, [1, 2])",
    "import math\nm = int(math.log2(64)) + math.ceil(7 / 2)\nk = max(3, min(8, 5)) // 2\nb = not (k in (1, 2))",
    "def f():\n    n = 1\n    def g():\n        nonlocal n\n        n += 1\n        return n\n    return g()\nr = f()",
    "x = y = 3\nz = (x := 5) + x\nl = [1]\nl.append(2)\nl.extend([3])\nl[0] = 9\nd = {}\nd['a'] = 1\nd.update(b=2)",
    "o = 7 // -2\np = -7 % 3\nq = 2 ** 10\nr = 1 << 4 | 3\ns = ~5 & 0xFF\nt = 1 < 2 < 3",
    "match 3:\n    case 1 | 2:\n        r = 'low'\n    case 3:\n        r = 'three'\n    case _:\n        r = 'other'",
]


@pytest.mark.parametrize("text", PROGRAMS)
def test_as_python_computes(text: str, tmp_path: Path) -> None:
    expected: dict[str, object] = {}
    exec(text, expected)  # our own text
    found = variables(tmp_path, text)
    for name, value in expected.items():
        if name.startswith("__") or callable(value) or type(value).__name__ == "module":
            continue
        assert found[name] == value, name


CLASSES = """
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

class Kind(Enum):
    A = 1
    B = 2
    def twice(self):
        return self.value * 2
    @staticmethod
    def first():
        return Kind.A

@dataclass(frozen=True)
class Config:
    tile: tuple
    stages: int = 3
    names: list = field(default_factory=list)
    def size(self):
        return self.tile[0] * self.stages

class Pair(NamedTuple):
    a: int
    b: int = 4

class Base:
    depth = 1
    def __init__(self, n):
        self.n = n
        self.setup()
    def setup(self):
        self.kind = "base"
    @property
    def double(self):
        return self.n * 2
    @classmethod
    def make(cls, n):
        return cls(n)

class Derived(Base):
    def __init__(self, n):
        super().__init__(n + 1)
        self.extra = self.depth
    def setup(self):
        self.kind = "derived"

c = Config((4, 5), stages=2)
d = Derived.make(1)
p = Pair(1)
r = [Kind.B.twice(), Kind(1) is Kind.A, Kind.first().name, c.size(), c.names, d.kind, d.double, d.extra, p.b, p[0]]
a, b = p
r += [a + b, isinstance(d, Base), len(list(Kind))]
"""


def test_classes(tmp_path: Path) -> None:
    expected: dict[str, object] = {}
    exec(CLASSES, expected)
    assert variables(tmp_path, CLASSES)["r"] == expected["r"]


def test_modules_of_the_tree(tmp_path: Path) -> None:
    found = variables(
        tmp_path,
        "import pkg.one as one\nfrom pkg import two\nfrom pkg.two import value as v\nr = [one.twice(3), two.value, v]",
        pkg____init__="",
        pkg__one="from .two import value\n\ndef twice(x):\n    return x * 2 + value\n",
        pkg__two="from . import one\nvalue = 10\n",
    )
    assert found["r"] == [16, 10, 10]


def test_nothing_scanned_is_run(tmp_path: Path) -> None:
    mark = tmp_path / "made"
    variables(tmp_path, f"import os\nos.mkdir({str(mark)!r})\nopen({str(mark)!r}, 'w')\nexec('1/0')\n")
    assert not mark.exists()


def test_driver_defaults(tmp_path: Path) -> None:
    found = variables(
        tmp_path,
        """
        import argparse
        r = None
        def parse(text):
            return tuple(int(x) for x in text.split(","))
        if __name__ == "__main__":
            parser = argparse.ArgumentParser(description="x")
            parser.add_argument("--mnk", type=parse, default="8,4,2")
            parser.add_argument("--tile-size", type=int, default=7)
            parser.add_argument("--fast", action="store_true")
            args = parser.parse_args()
            r = (args.mnk, args.tile_size, args.fast)
        """,
    )
    assert found["r"] == ((8, 4, 2), 7, False)


def test_branches_of_unknown_conditions_join(tmp_path: Path) -> None:
    found = variables(tmp_path, "import foreign\nx = 1\ny = 2\nif foreign.f():\n    x = 5\n    y = 2\n")
    assert found["y"] == 2
    assert found["x"] != 1 and found["x"] != 5


def test_loops_over_foreign_items_forget(tmp_path: Path) -> None:
    found = variables(tmp_path, "import foreign\nn = 0\nfor i in foreign.items():\n    n = n + 1\n")
    assert not isinstance(found["n"], int)


def test_endless_loops_and_recursion_end(tmp_path: Path) -> None:
    variables(tmp_path, "def f(n):\n    return f(n + 1)\nx = f(0)\nwhile True:\n    y = 1\n")


@pytest.mark.parametrize("text", ["def f(:\n  pass\n", "x = = 3\ny = 2\n", "(" * 3000, "\0", "@", "class", "x = '\\"])
def test_syntax_errors_leave_one_note(text: str) -> None:
    unit = lower_unit("bad.py", text)
    assert len([n for n in unit.notes if n.kind == "error"]) <= 1
    assert unit.language == "dsl"


_NUMBERS = st.integers(-50, 50).map(str)
_TEXTS = st.recursive(
    _NUMBERS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "<", "==", "and", "or"]), inner).map(
            lambda t: f"({' '.join(t)})"
        ),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
        st.lists(inner, min_size=1, max_size=3).map(lambda t: f"max([{', '.join(t)}])"),
        inner.map(lambda t: f"(not {t})"),
    ),
    max_leaves=8,
)


@given(_TEXTS)
@settings(max_examples=60, deadline=None)
def test_expressions_as_python(text: str) -> None:
    from cutecheck.source.dsl.drivers import Driver
    from cutecheck.source.dsl.modules import Library
    from cutecheck.source.eval.limits import Limits

    m = Driver(Library({}), "sm_80", Limits()).machine
    node = lower_expression(text)
    assert not isinstance(node, ir.Opaque)
    value = m.eval(node, m.program.root.env)
    assert value == eval(text)  # our own text


def test_spans_count_characters() -> None:
    unit = lower_unit("u.py", "é = 'ü' ; x = make_swizzle(1, 2, 3)\n")
    assert [(s.column, s.end_column) for s, _ in unit.calls] == [(15, 27)]


def test_opaque_is_unknown(tmp_path: Path) -> None:
    assert isinstance(variables(tmp_path, "def g():\n    yield 1\nx = (yield)\n").get("x"), (Unknown, type(None)))


STARS = """
def first(a, b):
    return a, *(x + 1 for x in b), *b


def second(a, b):
    if a:
        return 0, *(b[:1])
    return *b, a


x, y, z = first(1, (2, 3)), second(0, (4, 5)), second(1, (6, 7))
"""


def test_stars_in_a_return(tmp_path: Path) -> None:
    v = variables(tmp_path, STARS)
    assert (v["x"], v["y"], v["z"]) == ((1, 3, 4, 2, 3), (4, 5, 0), (0, 6))
