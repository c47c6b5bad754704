"""Launches of a kernel with equal arguments are walked once, all others each."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cutecheck.model.expr import Domain
from cutecheck.model.ints import Dyn
from cutecheck.model.layout import Layout
from cutecheck.source.dsl.likeness import likeness
from cutecheck.source.eval.values import Object, Pointer
from cutecheck.tests.source.dsl.run import HEAD, driver

KERNEL = (
    HEAD
    + """
class Kernel:
    def __init__(self, rows, fn=None):
        self.rows, self.fn, self.launches = rows, fn, 0

    @cute.kernel
    def kernel(self, n: cutlass.Int32):
        helper(self.rows)
        cute.make_layout((self.rows, n))
        CHANGE

    @cute.jit
    def __call__(self, n: cutlass.Int32):
        self.kernel(n).launch(grid=(1, 1, 1), block=(32, 1, 1))

def helper(rows):
    return rows

def shift(by):
    def add(x):
        return x + by
    return add

for given in [CALLS]:
    given(cutlass.Int32(4))
"""
)


def walked(folder: Path, calls: str) -> int:
    """How many launches of the kernel were walked."""
    text = KERNEL.replace("CALLS", calls).replace("CHANGE", "pass")
    made = driver(folder, text)
    assert not made.cut
    line = next(i for i, x in enumerate(text.split("\n"), 1) if "cute.make_layout" in x)
    seen = [s for s in made.recorder.sites.values() if s.span.line == line]
    assert seen and all(s.status == "resolved" for s in seen)
    return len(made.library.launches)


@pytest.mark.parametrize(
    ("calls", "count"),
    [
        ("Kernel(8), Kernel(8)", 1),
        ("Kernel(8), Kernel(16), Kernel(8)", 2),
        ("Kernel(8, shift(1)), Kernel(8, shift(1))", 1),
        ("Kernel(8, shift(1)), Kernel(8, shift(2))", 2),
        ("Kernel(8, lambda x: x), Kernel(8, helper)", 2),
        ("Kernel(8, cutlass.Float16), Kernel(8, cutlass.Float32)", 2),
    ],
)
def test_equal_arguments_are_walked_once(calls: str, count: int, tmp_path: Path) -> None:
    assert walked(tmp_path, calls) == count


def test_a_kernel_that_changes_its_object_is_walked_each_time(tmp_path: Path) -> None:
    text = KERNEL.replace("CALLS", "made := Kernel(8), made").replace("CHANGE", "self.launches = self.launches + 1")
    made = driver(tmp_path, text)
    scope = made.machine.functions["dsl modules"]["scopes"]["__main__ main"]
    assert scope.env.vars["made"].fields["launches"] == 2
    assert not made.library.launches


def test_functions_that_only_a_kernel_calls_are_not_called_again_with_nothing(tmp_path: Path) -> None:
    """The second run of a file finds its launches walked; its helpers are still no uncalled functions."""
    text = (
        KERNEL.replace("CALLS", "Kernel(8)")
        .replace("CHANGE", "pass")
        .replace("    return rows\n", "    cute.make_layout((rows, 2))\n    return rows\n", 1)
    )
    first = driver(tmp_path, text)
    again = type(first)(first.library, "sm_80", first.limits)
    again.run(tmp_path / "main.py", "main.py")
    assert [s for s in again.recorder.sites.values() if s.status != "resolved"] == []
    assert again.spent < first.spent


def _object(**fields: Any) -> Object:
    return Object(SimpleNamespace(decl=None, name="Class"), fields)  # type: ignore[arg-type]


def test_names_of_run_time_numbers_and_buffers_do_not_tell() -> None:
    def one(a: str, b: str) -> Any:
        x, y = Dyn.named(a, Domain(0, None, 8)), Dyn.named(b)
        return likeness([Layout((x, y), (1, x)), Pointer(f"tensor of {a}", "gmem", None)])

    assert one("size3", "size4:i64") == one("size17", "size18:i64")
    assert one("size3", "size4") != one("size3", "size4:i64")
    assert one("size3", "size4") != one("size3", "size3")
    assert one("size3", "size4") != one("size3", "count4")
    assert one("a.shape[0]", "a.stride[1]:i64") == one("x.y:2.shape[0]", "x.y:2.stride[1]:i64")
    assert one("a.shape[0]", "a.shape[1]") != one("a.shape[0]", "a.stride[1]")


def test_which_objects_are_one_tells() -> None:
    one, other = _object(n=1), _object(n=1)
    assert likeness([one, one]) == likeness([other, other]) != likeness([one, other])
    one.fields["self"], other.fields["self"] = one, other
    assert likeness([one]) == likeness([other])
    assert likeness([(1, 2)]) != likeness([[1, 2]])
    assert likeness([1]) != likeness([True]) != likeness([1.0])


def test_arguments_without_end_are_like_none() -> None:
    assert likeness([list(range(30_000))]) is None
    deep: Any = ()
    for _ in range(5000):
        deep = (deep,)
    assert likeness([deep]) is None
    assert likeness([bytearray(b"x")]) is None
