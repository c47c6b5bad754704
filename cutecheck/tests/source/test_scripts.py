"""Python files that are evaluated side by side come to what they come to one after another."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from cutecheck.facts import Facts
from cutecheck.source import scripts
from cutecheck.source.collect import Collected
from cutecheck.source.extract import INTERRUPTED, extract
from cutecheck.source.request import ExtractRequest

SHARED = """
import cutlass
import cutlass.cute as cute


@cute.kernel
def double(a: cute.Tensor, rows: cutlass.Constexpr):
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((rows, 8)), 16)
    cute.copy(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32), a, s)


@cute.jit
def run(a: cute.Tensor, rows: cutlass.Constexpr):
    double(a, rows).launch(grid=(1, 1, 1), block=(32, 1, 1))
"""
SCRIPT = """
import cutlass
from cutlass.cute.runtime import make_fake_compact_tensor
from shared import run

run(make_fake_compact_tensor(cutlass.Float32, (%d, 8)), %d)
"""


def tree(folder: Path) -> Path:
    (folder / "shared.py").write_text(SHARED)
    for i in range(6):
        rows = 16 if i % 2 else 8 * (i + 1)  # some launch what others have launched
        (folder / f"main{i}.py").write_text(SCRIPT % (rows, rows))
    (folder / "broken.py").write_text("import cutlass.cute as cute\ndef f(:\n")
    return folder


def facts(folder: Path, processes: int) -> Facts:
    return extract(ExtractRequest((folder,), jobs=processes))


@pytest.mark.parametrize("processes", [2, 5])
def test_files_side_by_side_come_to_the_same(tmp_path: Path, processes: int) -> None:
    whole = facts(tree(tmp_path), 1)
    assert {str(e.operands[1].layout) for e in whole.events} >= {
        "(_8,_8):(_1,_8)",
        "(_16,_8):(_1,_16)",
        "(_24,_8):(_1,_24)",
    }
    assert [e.path for e in whole.errors] == ["broken.py"]
    assert facts(tmp_path, processes) == whole


@pytest.mark.parametrize("how", ["dies", "does not travel", "does not arrive"])
def test_what_another_process_does_not_bring_is_evaluated_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    whole = facts(tree(tmp_path), 1)
    one, parent, met = scripts._Work.one, os.getpid(), []

    def broken(self: scripts._Work, path: str) -> Collected:
        part = one(self, path)
        if path == "main3.py":
            met.append(path)
            if os.getpid() != parent:
                if how == "dies":
                    os.kill(os.getpid(), signal.SIGKILL)
                part.internals.append(("", None, (lambda: 0) if how == "does not travel" else _Lost()))  # type: ignore[arg-type]
        return part

    monkeypatch.setattr(scripts._Work, "one", broken)
    assert facts(tmp_path, 2) == whole
    assert met == ["main3.py"]  # in this process, too


def test_an_interrupt_ends_the_others_and_shows_what_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: object) -> Collected:
        raise KeyboardInterrupt

    (tree(tmp_path) / "kernel.cu").write_text(
        "#include <cute/tensor.hpp>\nusing namespace cute;\n"
        "__global__ void k(float* p) { auto t = make_tensor(p, Layout<_8>{}); copy(t, t); }\n"
    )
    monkeypatch.setattr(scripts._Work, "_received", interrupted)
    found = facts(tmp_path, 2)
    assert {e.span.path for e in found.events} == {"kernel.cu"}
    assert INTERRUPTED in [e.message for e in found.errors]


class _Lost:
    """Goes into a pipe and does not come out."""

    def __reduce__(self) -> tuple[type[_Lost], tuple[int]]:
        return _Lost, (1,)
