"""A number that Python has and cutecheck does not know is no run-time number of a layout."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.facts import Unknown
from cutecheck.model.ints import Dyn
from cutecheck.source.eval.undetermined import part
from cutecheck.tests.rules.test_dsl_copies import found as findings
from cutecheck.tests.source.dsl.run import HEAD, driver, events, results, sites, variables

CHOOSES = """
import os
from cutlass.cute.nvgpu import warp

def by_branch():
    n = 8
    if os.getpid():
        n = 16
    return n

def by_return():
    if os.getpid():
        return 8
    return 16

def by_loop():
    n = 8
    for _ in os.getpid():
        n = n * 2
    return n

def by_or():
    return os.getpid() or 16
"""


@pytest.mark.parametrize("how", ["by_branch", "by_return", "by_loop", "by_or"])
def test_a_number_of_the_host_that_is_not_known_makes_no_layout(how: str, tmp_path: Path) -> None:
    made = driver(tmp_path, HEAD + CHOOSES + f"n = {how}()\nmade = cute.make_layout((n, 4))\n")
    site = next(s for s in sites(made) if s.call == "cute.make_layout")
    assert site.status == "unknown"
    assert "which number" in str(site.reason)


def test_arguments_that_cannot_be_known_are_no_finding(tmp_path: Path) -> None:
    """C++ refuses a permutation or thread layout with run-time extents; these are constants of Python."""
    text = (
        HEAD
        + CHOOSES
        + """
@cute.jit
def host(n: cutlass.Constexpr):
    op = warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)), permutation_mnk=(n * 2, 32, 16))
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128)
    threads = cute.make_ordered_layout((128 // n, n), order=(1, 0))
    cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 8)))

cute.compile(host, by_branch())
"""
    )
    assert findings(text, tmp_path) == []


def test_a_condition_of_the_device_makes_a_run_time_number(tmp_path: Path) -> None:
    made = driver(tmp_path, HEAD + """
@cute.kernel
def kernel(n: cutlass.Int32):
    rows = 8
    if n > 3:
        rows = 16
    cute.make_layout((rows, 4))

@cute.jit
def host(n: cutlass.Int32):
    kernel(n).launch(grid=(1, 1, 1), block=(32, 1, 1))

cute.compile(host, cutlass.Int32(5))
""")  # fmt: skip
    assert [v for (_, call), v in results(made).items() if call == "make_layout"] == [["(?,4):(1,?)"]]


def test_part_names_the_number(tmp_path: Path) -> None:
    found = variables(tmp_path, "import os\nn = 3\nfor _ in os.getpid():\n    n = n + 1\nm = (1, (n * 2, 4))\n")
    assert isinstance(found["n"], Dyn)
    assert part(found["m"]) == part(found["n"]) == "n"
    assert part((1, Dyn.named("n"))) is None
    assert part(Unknown("n")) is None


POINTERS = (
    HEAD
    + """
@cute.jit
def moved(p: cute.Pointer, mask: cutlass.Constexpr):
    return cute.make_ptr(p.dtype, p.toint() ^ mask, p.memspace, assumed_align=16)

@cute.kernel
def kernel():
    tidx, _, _ = cute.arch.thread_idx()
    s = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float16, cute.make_layout((32, 64), stride=(64, 1)), 16)
    row = s[tidx, None]
    at = cute.make_tensor({pointer}, cute.make_layout(8))
    r = cute.make_rmem_tensor(8, cutlass.Float16)
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128)
    cute.copy(atom, at, r)

@cute.jit
def host():
    kernel().launch(grid=(1, 1, 1), block=(32, 1, 1))

cute.compile(host)
"""
)


@pytest.mark.parametrize(("pointer", "codes"), [("row.iterator", ["CUT101"]), ("moved(row.iterator, 64)", [])])
def test_a_pointer_made_of_an_address_is_of_each_thread_its_own(pointer: str, codes: list[str], tmp_path: Path) -> None:
    text = POINTERS.replace("{pointer}", pointer)
    assert [f.code for f in findings(text, tmp_path)] == codes
    copies = [e for e in events(driver(tmp_path, text)) if e.kind == "copy"]
    assert [e.reason for e in copies] == [None]


def test_a_foreign_tiler_is_not_refused(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
import somewhere
tiler = somewhere.shape()
cute.zipped_divide(cute.make_layout((64, 64)), tiler)
cute.make_layout((somewhere.rows, 4))
"""
    )
    assert findings(text, tmp_path) == []
    last = [s for s in sites(driver(tmp_path, text)) if s.span.line in (7, 8)]
    assert {(s.call, s.status) for s in last} >= {("cute.zipped_divide", "unknown"), ("cute.make_layout", "unknown")}


CHOSEN = """
class Rows:
    def __init__(self, dim: int):
        self.dim = dim

    @cute.jit
    def __call__(self, x: cute.Tensor):
        VEC
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=32 * vec)
        cute.make_tiled_copy_tv(atom, cute.make_layout((4, 32), stride=(32, 1)), cute.make_layout((1, vec)))
"""


@pytest.mark.parametrize(
    "vec",
    [
        "vec = 4 if self.dim % 128 == 0 else (2 if self.dim % 64 == 0 else 1)",
        "vec = 1\n        if self.dim % 128 == 0 and self.dim > 256:\n            vec = 4",
        "vec = 2 if not self.dim < 64 else 1",
    ],
)
def test_a_number_of_python_that_is_chosen_by_one_that_is_not_known(vec: str, tmp_path: Path) -> None:
    """The code of a class that nothing makes an object of: the DSL has a constant there, and no run-time number."""
    assert findings(HEAD + CHOSEN.replace("VEC", vec), tmp_path) == []
