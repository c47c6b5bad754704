"""Supposed calls: what nothing in a tree calls is called with arguments that its own assertions allow."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.facts import Facts
from cutecheck.report.data import Report
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

HEAD = """
import torch
import cutlass
import cutlass.cute as cute
from typing import Literal, Optional, Tuple, Type
from torch import Tensor
from cutlass.cute.runtime import from_dlpack
"""
SCALE = (
    HEAD
    + """
@cute.kernel
def scale_kernel(mX: cute.Tensor, n: cutlass.Constexpr):
    cute.make_layout((n, 8))
    cute.local_tile(mX, (8, 128), (cute.arch.block_idx()[0], 0))

@cute.jit
def launch(mX, n: cutlass.Constexpr):
    scale_kernel(mX, n).launch(grid=[cute.ceil_div(mX.shape[0], 8), 1, 1], block=[32, 1, 1])

def scale(
    x: Tensor, gain: Tensor, index: Tensor, out: Optional[Tensor], mode: str, width: int, kind: Literal["fast", "slow"]
):
    {checks}
    launch(from_dlpack(x, assumed_align=16).mark_layout_dynamic(leading_dim=1), x.shape[1])
"""
)
ALL = """
    assert x.dim() == 2 and x.is_cuda
    rows, columns = x.shape
    if mode not in ("sum", "mean"):
        raise ValueError(mode)
    if columns > 2048 or columns % 24 != 0:
        raise ValueError("too wide")
    assert x.dtype in [torch.float16, torch.float32]
    assert gain.shape == (columns,) and gain.dtype == torch.float32
    assert index.ndim == 1 and index.dtype in (torch.int32, torch.int64)
    assert all(t.shape[0] == rows for t in (x, index))
    assert width * 2 <= 64, "a warp"
"""


def facts(folder: Path, **files: str) -> Facts:
    written(folder, files)
    return extract(ExtractRequest((folder,)))


def written(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))


def report(folder: Path, suppose: bool = True, **files: str) -> Report:
    written(folder, files)
    return check(inputs([str(folder)]), Settings(suppose=suppose, cache=False, jobs=1))


def test_arguments_are_what_the_function_asks_for(tmp_path: Path) -> None:
    found = facts(tmp_path, scale=SCALE.format(checks=ALL))
    texts = [c.text for c in found.supposed]
    assert texts[0] == (
        "scale(x=Tensor(4096, 2040, Float16), gain=Tensor(2040, Float32), index=Tensor(4096, Int32), out=None, "
        "mode='sum', width=32, kind='fast')"
    )
    assert "out=Tensor(4096, 2040, Float16)" in texts[1]  # what may be left out is given, too
    assert texts[2].startswith("scale(x=Tensor(128, 120, Float32)")  # and others have other numbers and types
    # of bytes none, which are refused
    assert [c.told for c in found.supposed] == [True, False, True, True]  # how many modes `out` has is not asked
    site = next(s for s in found.sites if s.symbol.endswith("scale_kernel<supposed scale.scale>"))
    assert (site.status, dict(site.bindings)["supposed"]) == ("resolved", texts[0])
    shape = next(x for x in found.launches if x.kernel.endswith("<supposed scale.scale>")).grid[0]
    assert "shape[0]" in str(shape)  # what is marked as dynamic stays so


MANY = SCALE.split("def scale(")[0]
ASKED = {
    "assert x.ndim == 3 and x.shape[2] == 64": "Tensor(4096, 4096, 64, BFloat16)",
    # with one mode the kernel's tile of two is refused
    "if not (len(x.shape) == 1 or x.dim() in (3,)): raise ValueError": "Tensor(4096, 4096, 4096, BFloat16)",
    "assert x.stride(0) == 1": "Tensor(4096, 4096, BFloat16, stride 1 of mode 0)",
    "t = x.detach(); b, s, h, d = t.shape; assert d <= 200": "Tensor(4096, 4096, 4096, 128, BFloat16)",
    "assert x.shape[0] // 4 == 100 and 2 * x.shape[1] == 768": "Tensor(400, 384, BFloat16)",
    "n = x.shape[1]; wide = n * 2; assert wide <= x.shape[0] and x.shape[0] <= 512": "Tensor(512, 256, BFloat16)",
    "assert x.shape[-1] % 100 == 0": "Tensor(4096, 4000, BFloat16)",
    "assert x.dtype != torch.bfloat16": "Tensor(4096, 4096, Float16)",
    "if x.size(1) >= 1000 or x.shape[1] < 512: raise ValueError": "Tensor(4096, 512, BFloat16)",
}


def test_conditions_are_read_backwards(tmp_path: Path) -> None:
    functions = [f"def f{i}(x: Tensor):\n    {check}\n    launch(from_dlpack(x), 8)\n" for i, check in enumerate(ASKED)]
    found = facts(tmp_path, many=MANY + "\n".join(functions))
    texts = {c.tag: c.text for c in found.supposed}
    assert [texts.get(f"supposed many.f{i}") for i in range(len(ASKED))] == [
        f"f{i}(x={shown})" for i, shown in enumerate(ASKED.values())
    ]
    assert not any(tag.startswith("supposed many.f1 ") for tag in texts)  # once is enough of a kernel that is known
    assert texts["supposed many.f0 bytes"] == "f0(x=Tensor(256, 256, 64, Float8E4M3FN))"


OP = """
class {name}:
    def __init__(self, N: int):
        self.n = N

    def {method}(self, x: Tensor):
        launch(from_dlpack(x), self.n)
"""


def test_objects_of_the_host_are_called_too(tmp_path: Path) -> None:
    layer = OP.format(name="Layer(torch.nn.Module)", method="forward")
    found = facts(tmp_path, ops=MANY + OP.format(name="Op", method="__call__"), layers=MANY + layer)
    texts = {c.tag: c.text for c in found.supposed}
    assert texts["supposed ops.Op"] == "Op(N=4096)(x=Tensor(4096, 4096, BFloat16))"
    assert texts["supposed layers.Layer"] == "Layer(N=4096)(x=Tensor(4096, 4096, BFloat16))"
    wrapped = "\ndef op(x: Tensor, n: int):\n    launch(from_dlpack(x), n)\n"  # which comes to all that the class does
    found = facts(tmp_path, ops=MANY + OP.format(name="Op", method="__call__") + wrapped)
    assert "supposed ops.Op" not in {c.tag for c in found.supposed}


def test_what_is_not_told_is_given_up(tmp_path: Path) -> None:
    unmet = "assert mode in ('a',)\n    assert x.shape[0] == 7 * x.shape[0] + 1"
    no_words = SCALE.format(checks="pass")  # `mode` may be any text
    found = facts(tmp_path, one=SCALE.format(checks=unmet), two=no_words)
    assert not found.supposed and "resolved" not in {s.status for s in found.sites}
    line = SCALE[: SCALE.index("{checks}")].count("\n") + 2
    assert [n for n in found.notes if "supposed" in n] == [
        f"no call could be supposed of `one.scale`: the assertion at one.py:{line} does not hold; "
        "`two.scale`: nothing says what a text may be (`--instantiate 'one.scale(...)'` binds one)"
    ]


def test_nothing_is_supposed_beside_real_callers_or_where_it_is_switched_off(tmp_path: Path) -> None:
    driver = (
        "import torch\nfrom scale import scale\n\ndef test_scale():\n"
        "    scale(torch.empty(64, 48, dtype=torch.float32), None, None, None, 'sum', 8, 'fast')\n"
    )
    text = SCALE.format(checks="pass")
    assert not facts(tmp_path, scale=text, test_scale=driver).supposed
    (tmp_path / "test_scale.py").unlink()
    off = report(tmp_path, suppose=False, scale=SCALE.format(checks=ALL))
    assert not off.facts.supposed and {s.status for s in off.facts.sites} == {"unbound"}


GEMM = (
    HEAD
    + """
class Sum:
    def __init__(self, kind: Type[cutlass.Numeric], warps: int, tile: Tuple[int, int] = (64, 32)):
        if kind not in (cutlass.Float16, cutlass.Float32):
            raise TypeError(kind)
        self.kind, self.tile, self.threads = kind, tile, 32 * warps

    @cute.jit
    def __call__(self, mX: cute.Tensor, mY: cute.Tensor, stream):
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), self.kind, num_bits_per_copy=128)
        vec = 128 // self.kind.width
        row = self.tile[1] // vec
        thr = cute.make_layout((self.threads // row, row), stride=({step}, 1))
        copy = cute.make_tiled_copy_tv(atom, thr, cute.make_layout((1, vec)))
        self.kernel(mX, mY, copy).launch(grid=[1, 1, 1], block=[self.threads, 1, 1], stream=stream)

    @cute.kernel
    def kernel(self, mX: cute.Tensor, mY: cute.Tensor, copy: cute.TiledCopy):
        tidx, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator()
        sX = smem.allocate_tensor(self.kind, cute.make_layout(self.tile, stride=(self.tile[1], 1)), 16)
        thr = copy.get_slice(tidx)
        for k in cutlass.range(cute.size(mX, mode=[1]) // self.tile[1]):
            gX = cute.local_tile(mX, self.tile, (0, k))
            cute.copy(copy, thr.partition_S(gX), thr.partition_D(sX))
            cute.arch.sync_threads()
            r = cute.make_fragment_like(thr.partition_D(sX))
            cute.copy(copy, thr.partition_D(sX), r)
            cute.arch.sync_threads()
"""
)


def test_a_class_is_made_and_called_and_what_each_call_has_is_said(tmp_path: Path) -> None:
    right = report(tmp_path, lib=GEMM.format(step="row"))
    assert not right.findings
    assert [c.text for c in right.facts.supposed] == [
        "Sum(kind=Float16, warps=4)(mX=Tensor(4096, 4096, Float16), mY=Tensor(4096, 4096, Float16))",
        "Sum(kind=Float32, warps=4)(mX=Tensor(128, 128, Float32), mY=Tensor(128, 128, Float32))",
        "Sum(kind=Float16, warps=4)(mX=Tensor(32768, 32768, Float16), mY=Tensor(32768, 32768, Float16))",
    ]
    assert not any(c.told for c in right.facts.supposed)  # how many modes a tensor of CuTe has is nowhere asked
    assert any("the supposed call `Sum(kind=Float16" in a for o in right.outcomes for a in o.assumptions)
    wrong = report(tmp_path, lib=GEMM.format(step="row + 1"))
    said = {(f.code, f.severity) for f in wrong.findings}
    assert said == {("CUT201", "error"), ("CUT202", "error"), ("CUT209", "error")}  # and not how wide its copies are
    assert not report(tmp_path, lib=GEMM.format(step="row + 1").replace("64, 32", "2048, 128")).findings  # does not fit
    where = "(under each supposed call that comes here, as `Sum(kind=Float16, warps=4)"
    assert all(where in f.message for f in wrong.findings)


def test_a_kernel_that_something_launches_is_not_supposed(tmp_path: Path) -> None:
    driver = "import torch\nfrom scale import launch\n\ndef test_it():\n    launch(torch.empty(64, 48), 48)\n"
    again = "\nfrom scale import launch\n\ndef again(x: Tensor):\n    launch(from_dlpack(x), 8)\n"
    found = facts(tmp_path, scale=MANY, test_it=driver, lib=GEMM.format(step="row") + again)
    assert {c.tag.partition(" ")[2] for c in found.supposed} == {"lib.Sum", "lib.Sum 2", "lib.Sum 3"}


ROWS = (
    HEAD
    + """
@cute.kernel
def rows_kernel(mX: cute.Tensor, n: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    sX = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, n), stride=(n, 1)), 16)
    r = cute.make_fragment((n,), cutlass.Float32)
    for k in cutlass.range(8):
        cute.autovec_copy(sX[tidx, None], r)

@cute.jit
def rows_launch(mX, n: cutlass.Constexpr):
    rows_kernel(mX, n).launch(grid=[1, 1, 1], block=[32, 1, 1])

def {name}(x{annotation}):
    if x.dtype != torch.float32:
        raise TypeError("float")
    {shape}
    rows_launch(from_dlpack(x), 8 if x.shape[0] < 2048 else 4)
"""
)


@pytest.mark.parametrize(
    ("name", "annotation", "shape", "expected"),
    [
        ("rows", ": Tensor", "assert x.ndim == 2", True),
        ("_rows", ": Tensor", "assert x.ndim == 2", False),  # who calls what is private may ask more
        ("rows", ": Tensor", "pass", False),  # and how many modes it has is not said
    ],
)
def test_what_one_call_has_is_a_note_where_its_arguments_are_told(
    tmp_path: Path, name: str, annotation: str, shape: str, expected: bool
) -> None:
    found = report(tmp_path, rows=ROWS.format(name=name, annotation=annotation, shape=shape)).findings
    of_banks = [f for f in found if f.code == "CUT101"]
    assert [f.severity for f in of_banks] == (["note"] if expected else [])
    assert all("(under the supposed call `rows(x=Tensor(128, 128, Float32))`)" in f.message for f in of_banks)


CONFIGURED = (
    HEAD
    + """
import enum
from dataclasses import dataclass

class Order(enum.Enum):
    ROWS = 8
    COLUMNS = 16

@dataclass(frozen=True)
class Config:
    rows: int = 4
    order: Order = Order.COLUMNS

class Needy:
    def __init__(self, rows):
        self.rows = rows

@cute.kernel
def kernel(mX: cute.Tensor, config: cutlass.Constexpr, order: cutlass.Constexpr):
    cute.make_layout((config.rows, order.value, config.order.value))

@cute.jit
def launch(mX, config: cutlass.Constexpr, order: cutlass.Constexpr):
    kernel(mX, config, order).launch(grid=[mX.shape[0], 1, 1], block=[32, 1, 1])

def scale(x: Tensor, config: Config, order: Order):
    assert x.dim() == 2
    launch(from_dlpack(x), config, order)

def needy(x: Tensor, config: Needy):
    launch(from_dlpack(x), config, Order.ROWS)
"""
)


def test_configurations_that_need_nothing_are_made(tmp_path: Path) -> None:
    found = facts(tmp_path, ops=CONFIGURED)
    assert found.supposed[0].text == "scale(x=Tensor(4096, 4096, BFloat16), config=Config(), order=Order.ROWS)"
    assert {str(s.result) for s in found.sites if s.status == "resolved"} == {"(4,8,16):(1,4,32)"}
    assert any("`ops.needy`: nothing says what `config` takes" in note for note in found.notes)
