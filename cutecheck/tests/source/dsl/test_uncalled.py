"""Code of a tree that nothing calls: what its host functions call with known values is a call like any other."""

from __future__ import annotations

from pathlib import Path

from cutecheck.tests.source.dsl.run import driver, sites

SCRIPT = """
import functools
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_ptr

TILE = 64
_compiled = None

@cute.kernel
def kernel(mA: cute.Tensor):
    cute.local_tile(mA, (TILE, TILE), (0, 0))

@cute.jit
def gemv(p: cute.Pointer, size: tuple):
    m, k = size
    kernel(cute.make_tensor(p, cute.make_layout((m, k), stride=(k, 1)))).launch(grid=(1, 1, 1), block=(64, 1, 1))

class Gemm:
    def __init__(self, tile):
        self.tile = tile

    @cute.jit
    def __call__(self, mA: cute.Tensor):
        self._setup()
        self.type = mA.element_type

    def _setup(self):
        cute.make_layout(self.tile)

def compile_kernel():
    global _compiled
    if _compiled is not None:
        return _compiled
    p = make_ptr(cutlass.Float16, 0, cute.AddressSpace.gmem, assumed_align=16)
    _compiled = cute.compile(gemv, p, (0, 0))
    return _compiled

@functools.lru_cache(maxsize=None)
def plain(rows, cols):
    cute.make_layout((rows, cols, 3))

def custom_kernel(data):
    a, b, c = data
    run = compile_kernel()
    run(make_ptr(cutlass.Float16, a.data_ptr(), cute.AddressSpace.gmem), tuple(a.shape))
    plain(2, 5)
    plain(a.shape[0], 5)
    cute.compile(Gemm((128, TILE)), a)

    def inner():
        cute.make_layout((a.shape[0], 7))

    inner()
    return c

class NeverMade:
    def __init__(self, tile):
        self.tile = tile

    @cute.jit
    def host(self, mA: cute.Tensor):
        self.type = cutlass.Float16
        self.helper()

    def helper(self):
        cute.make_layout((self.tile, 9))
"""


def test_what_uncalled_code_calls(tmp_path: Path) -> None:
    made = driver(tmp_path, SCRIPT)
    assert not made.cut, made.cut
    found = {s.span.line: (s.status, s.result) for s in sites(made)}
    lines = SCRIPT.split("\n")

    def of(text: str) -> object:
        return found[next(i for i, line in enumerate(lines, 1) if text in line)]

    status, tile = of("local_tile(mA")  # type: ignore[misc]
    assert (status, tile["layout"], tile["dtype"]) == ("resolved", "(64,64):(?,1)", "Float16")
    assert of("(m, k), stride") == ("resolved", "(?,?):(?,1)")
    assert of("make_layout((rows") == ("resolved", "(2,5,3):(1,2,10)")
    assert of("make_layout(self.tile") == ("resolved", "(128,64):(1,128)")  # only the tensors are not known
    assert of("a.shape[0], 7") == ("unbound", None)
    assert of("(self.tile, 9)") == ("unbound", None)  # a field that is set does not make its object


CONFTEST = """
import pytest

def pytest_addoption(parser):
    group = parser.getgroup("sizes")
    group.addoption("--rows", type=int, default=None)
    parser.addoption("--cols", type=int, default="6")

@pytest.fixture
def problem(request):
    return {"rows": request.config.getoption("--rows") or 12, "cols": request.config.getoption("--cols")}
"""
KEPT_MARKS = """
import pytest
import cutlass.cute as cute

pytestmark = [pytest.mark.L0, pytest.mark.parametrize("depth", [2])]
WIDTHS = pytest.mark.parametrize("width", [4, 8])
MARKS = (pytest.mark.parametrize("kind,size", [pytest.param("a", 1, id="one"), pytest.param("b", 2, id="two")]), WIDTHS)

def with_marks(func):
    for mark in reversed(MARKS):
        func = mark(func)
    return func

@pytest.mark.L0
@with_marks
def test_by_decorator(kind, size, width, depth, problem, request):
    scale = request.config.getoption("--scale", default=3)
    cute.make_layout((size, width, depth, problem["rows"], problem["cols"], scale))

@WIDTHS
def test_by_name(width, depth, pytestconfig):
    cute.make_layout((width, depth, pytestconfig.getoption("cols")))
"""


def test_marks_that_are_kept_and_options(tmp_path: Path) -> None:
    made = driver(tmp_path, KEPT_MARKS, conftest=CONFTEST)
    assert not made.cut, made.cut
    found = {str(s.result).partition(":")[0] for s in sites(made)}
    assert found == {
        "(1,4,2,12,6,3)", "(2,4,2,12,6,3)", "(1,8,2,12,6,3)", "(4,2,6)", "(8,2,6)",
    }  # fmt: skip


WRAPPERS = """
import torch
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack, make_fake_compact_tensor

@cute.jit
def host(x: cute.Tensor):
    cute.local_tile(x, (1, 256), (0, 0))

def run(rows: int, cols: int, dtype=torch.float16):
    x = torch.randn(rows, cols, dtype=dtype, device="cuda")
    cute.compile(host, from_dlpack(x, assumed_align=16).mark_layout_dynamic(leading_dim=1))
    cute.make_layout((rows, cols))
    other(rows)

def other(rows):
    cute.make_layout((rows, 3))

class Op:
    _cache = {}

    def __init__(self, dtype=cutlass.BFloat16):
        self.dtype = dtype

    def __call__(self, x: torch.Tensor):
        if x.dtype not in self._cache:
            fake = make_fake_compact_tensor(self.dtype, (cute.sym_int(), 512), stride_order=(1, 0))
            self._cache[x.dtype] = cute.compile(host, fake)
        return self._cache[x.dtype](x)
"""


def test_numbers_and_defaults_of_uncalled_code(tmp_path: Path) -> None:
    made = driver(tmp_path, WRAPPERS)
    assert not made.cut, made.cut
    found = [(s.call.rpartition(".")[2], s.status, s.result) for s in sites(made)]
    tiles = {(r["dtype"], r["layout"]) for call, _, r in found if call == "local_tile"}  # type: ignore[index]
    assert tiles == {("Float16", "(1,256):(0,1)"), ("BFloat16", "(1,256):(0,1)")}
    # which numbers a caller has is not known, and they may be constants
    assert [(status, r) for call, status, r in found if call == "make_layout"] == [("unbound", None)] * 2
