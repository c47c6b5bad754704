"""Host code as CPython runs it: every piece is run by both, and what depends on the unknown is not told."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cutecheck.facts import Span, Unknown
from cutecheck.source.eval.containers import Lost, Shared, unsure
from cutecheck.source.eval.journal import Journal
from cutecheck.source.eval.statements import exits
from cutecheck.source.eval.values import Value
from cutecheck.tests.source.dsl import (
    python_branches,
    python_branching_calls,
    python_classes,
    python_library,
    python_protocols,
    python_values,
)
from cutecheck.tests.source.dsl.run import driver, results, variables

UNKNOWN = "import os\nU = int(os.urandom(1)[0] > 7)\n"
DEFINITE = (int, float, str, type(None))


def bodies(*modules: Any) -> list[str]:
    pieces = [b for module in modules for b in re.split(r"\n\s*\n(?=\S)", module.BODIES)]
    return [b.strip("\n") for b in pieces if b.strip()]


BRANCHING = bodies(python_branches, python_branching_calls)


def by_python(body: str, u: int) -> Any:
    names: dict[str, Any] = {"__name__": "__main__", "U": u}
    exec(compile(body, "body", "exec"), names)
    return names["R"]


@pytest.mark.parametrize("body", bodies(python_values, python_library, python_classes, python_protocols))
def test_results_are_those_of_python(tmp_path: Path, body: str) -> None:
    assert variables(tmp_path, body)["R"] == by_python(body, 0)


def refuted(value: Value, expected: list[Any]) -> bool:
    """Whether a value says something definite that is not so for each of the results."""
    if isinstance(value, DEFINITE):
        return any(value != e for e in expected)
    if isinstance(value, (tuple, list)) and unsure(value) is None:
        parts = [e for e in expected if isinstance(e, (tuple, list)) and len(e) == len(value)]
        return len(parts) < len(expected) or any(refuted(v, [e[i] for e in parts]) for i, v in enumerate(value))
    return False


@pytest.mark.parametrize("body", BRANCHING)
def test_what_depends_on_the_unknown_is_not_told(tmp_path: Path, body: str) -> None:
    either = [by_python(body, u) for u in (0, 1)]
    assert not refuted(variables(tmp_path, UNKNOWN + body)["R"], either)


def _wrong(tmp_path: Path) -> int:
    made = [driver(tmp_path, UNKNOWN + b) for b in BRANCHING]
    found = [d.machine.functions["dsl modules"]["scopes"]["__main__ main"].env.vars.get("R") for d in made]
    truth = [[by_python(b, u) for u in (0, 1)] for b in BRANCHING]
    return sum(refuted(v, t) for v, t in zip(found, truth, strict=True))


@pytest.mark.parametrize(
    ("where", "name", "broken"),
    [
        (Journal, "touch", lambda self, where, name: None),  # containers are written, and nobody notes it
        (exits.Exits, "leave", lambda self, m, varying: None),  # states where a function is left are lost
    ],
)
def test_the_pieces_tell_a_broken_evaluator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: Any, name: str, broken: Callable[..., None]
) -> None:
    monkeypatch.setattr(where, name, broken)
    assert _wrong(tmp_path) > 0


def test_comprehensions_of_device_code_go_through_pythons_ranges(tmp_path: Path) -> None:
    text = """
    import cutlass.cute as cute

    @cute.jit
    def host():
        a, b = (cute.make_layout((4, 2 + i)) for i in range(2))

    host()
    """
    found = results(driver(tmp_path, text))
    assert [str(r) for r in found[6, "make_layout"]] == ["(4,2):(1,4)", "(4,3):(1,4)"]


def test_an_exception_in_a_caller_lets_both_ways_be_walked(tmp_path: Path) -> None:
    text = """
    import cutlass.cute as cute

    def check(n):
        if n % 3:
            raise ValueError(n)

    try:
        check(4)
        cute.make_layout((4, 2))
    except ValueError:
        cute.make_layout((8, 2))
    """
    assert set(results(driver(tmp_path, text))) == {(10, "make_layout"), (12, "make_layout")}


def test_what_stands_for_lost_items_leaves_the_evaluator_as_a_reason() -> None:
    """Facts go to other processes: what a reason was made of, closures among it, does not."""
    span = Span("a.py", 1, 1, 1, 2)
    for reason in (Lost("lost", span), Shared.of([[lambda: 3], {}], "shared", span)):
        assert pickle.loads(pickle.dumps(reason)) == Unknown(reason.reason, span)


def test_modules_answer_for_names_themselves_and_may_be_patched(tmp_path: Path) -> None:
    text = """
    import cutlass.cute as cute
    import pkg
    from pkg import tile
    import sub.inner

    original = cute.make_layout
    cute.make_layout = lambda n: original((n, 2))
    cute.make_layout(tile)
    sub.inner._size = 16
    cute.make_layout(pkg.size())
    """
    package = """
    import importlib
    _LAZY = {"tile": ".inner", "size": ".inner"}

    def __getattr__(name):
        if name in _LAZY:
            return getattr(importlib.import_module(_LAZY[name], "sub"), name)
        raise AttributeError(name)
    """
    inner = """
    tile, _size = 8, 4

    def size():
        return _size
    """
    made = driver(tmp_path, text, pkg=package, sub__inner=inner)
    assert [str(r) for r in results(made)[8, "make_layout"]] == ["(8,2):(1,8)", "(16,2):(1,16)"]
