"""CUT222 in kernels of the Python DSL: what they copy or compute and never read."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
from dataclasses import dataclass
from types import SimpleNamespace
import cutlass
import cutlass.cute as cute
import elsewhere


@dataclass
class Held:
    t: cute.Tensor


@cute.jit
def put(held, to):
    cute.autovec_copy(held.t, to)


@cute.jit
def total(t: cute.Tensor):
    s = 0.0
    for i in cutlass.range_constexpr(cute.size(t)):
        s += t[i]
    return s


@cute.kernel
def scale(gX: cute.Tensor, gY: cute.Tensor, gZ: cute.Tensor, tv: cute.Layout, tiler: cute.Shape):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    smem = cutlass.utils.SmemAllocator()
    sX = smem.allocate_tensor(cutlass.Float32, cute.make_layout(1024), 16)
    x = cute.composition(gX[((None, None), bidx)], tv)[tidx, None]
    y = cute.composition(gY[((None, None), bidx)], tv)[tidx, None]
    z = cute.composition(gZ[((None, None), bidx)], tv)[tidx, None]
    r = cute.make_fragment_like(x)
    out = cute.make_fragment_like(y)
    cute.autovec_copy(x, r)
    out.store(r.load() * 2.0)
    cute.autovec_copy(x, z)
    sR = cute.composition(sX, tv)[tidx, None]
    STORE


@cute.jit
def run(mX: cute.Tensor, mY: cute.Tensor, mZ: cute.Tensor):
    tiler, tv = cute.make_layout_tv(cute.make_layout((4, 32), stride=(32, 1)), cute.make_layout((4, 4), stride=(4, 1)))
    gX, gY, gZ = cute.zipped_divide(mX, tiler), cute.zipped_divide(mY, tiler), cute.zipped_divide(mZ, tiler)
    scale(gX, gY, gZ, tv, tiler).launch(grid=[cute.size(gX, mode=[1]), 1, 1], block=[cute.size(tv, mode=[0]), 1, 1])


def main():
    import torch
    from cutlass.cute.runtime import from_dlpack
    a, b, c = (from_dlpack(torch.empty(1024, 1024, device="cuda")) for _ in range(3))
    cute.compile(run, a, b, c)


main()
"""


def found(folder: Path, store: str) -> list[str]:
    (folder / "k.py").write_text(KERNEL.replace("STORE", store))
    report = check(inputs([str(folder)]), Settings(select=("CUT222",), arch=("sm_90a",)))
    assert not report.failures
    assert any(e.kind == "copy" and e.reason is None for e in report.facts.events)
    return [f.message.split("`")[1] for f in report.findings]


@pytest.mark.parametrize(
    "store",
    [
        "cute.autovec_copy(out, y)",
        "y.store(out.load())",
        "y[None] = out.load()",
        "put(Held(out), y)",
        "y[0] = total(out)",
        "for i in range(16):\n        y[i] = out[i]",
        "for i in cutlass.range_constexpr(16):\n        y[i] = out[i]",
        "if tidx == 127:\n        cute.autovec_copy(out, y)",
        "cute.print_tensor(out)",
        "elsewhere.store(out, y)",
        "elsewhere.store(SimpleNamespace(t=out), y)",
        "elsewhere.store([out], {'to': y})",
        "elsewhere.later(lambda: cute.autovec_copy(out, y))",
        "flat = cute.make_tensor(out.iterator, cute.make_layout(16))\n    cute.autovec_copy(flat, y)",
        "both = cute.recast_tensor(out, cutlass.Float16)\n    y[0] = both[0].to(cutlass.Float32)",
        "n = SimpleNamespace(t=out)\n    cute.autovec_copy(n.t, y)",
        "cute.autovec_copy(cute.coalesce(out), cute.coalesce(y))",
        "cute.autovec_copy(out, sR)\n    cute.arch.sync_threads()\n    y[0] = sX[tidx]",
        "cute.autovec_copy(out, sR)\n    cute.arch.sync_threads()\n    cute.autovec_copy(sR, y)",
        "cute.autovec_copy(out, sR)\n    cute.arch.sync_threads()\n    y.store(sR.load())",
        "cute.autovec_copy(out, sR)\n    elsewhere.reduce(sX.iterator, y)",
        "cute.gemm(elsewhere.mma, z, [r, out], [r, r], z)",
    ],
)
def test_what_something_reads(tmp_path: Path, store: str) -> None:
    assert found(tmp_path, store) == []


@pytest.mark.parametrize(
    ("store", "names"),
    [
        ("pass", ["out"]),
        ("cute.autovec_copy(r, y)", ["out"]),
        ("y[0] = cutlass.Float32(cute.size(out))", ["out"]),
        ("cute.autovec_copy(out, sR)", ["sR"]),
        ("last = cute.make_fragment_like(out)\n    cute.autovec_copy(out, last)", ["last"]),
    ],
)
def test_what_nothing_reads(tmp_path: Path, store: str, names: list[str]) -> None:
    assert found(tmp_path, store) == names


WRITERS = [
    "w.fill(0.0)",
    "w.store(r.load())",
    "w[None] = r.load()",
    "w[0] = cutlass.Float32(1.0)",
    "for i in range(16):\n        w[i] = r[i]",
    "for i in cutlass.range_constexpr(16):\n        w[i] = r[i]",
    "cute.autovec_copy(x, w)",
    "if tidx < 64:\n        cute.autovec_copy(x, w)",
    "elsewhere.load(w, x)",
    "elsewhere.load(SimpleNamespace(t=w))",
    "put(Held(x), w)",
    "flat = cute.make_tensor(w.iterator, cute.make_layout(16))\n    cute.autovec_copy(x, flat)",
    "cute.autovec_copy(cute.coalesce(x), cute.coalesce(w))",
]


@pytest.mark.parametrize("writer", [*WRITERS, "pass"])
def test_what_something_writes(tmp_path: Path, writer: str) -> None:
    """CUT221: a fragment that is copied to memory is written somewhere."""
    store = f"w = cute.make_fragment_like(y)\n    {writer}\n    cute.autovec_copy(w, y)\n    cute.autovec_copy(out, z)"
    (tmp_path / "k.py").write_text(KERNEL.replace("STORE", store))
    report = check(inputs([str(tmp_path)]), Settings(select=("CUT221",), arch=("sm_90a",)))
    assert not report.failures
    assert [f.message.split("`")[1] for f in report.findings] == (["w"] if writer == "pass" else [])


VIEWED = """
    out = cute.make_fragment_like(y)
    rows = cute.make_tensor(out.iterator, cute.make_layout((2, 8)))
    FILL
    cute.autovec_copy(cute.make_tensor(out.iterator, y.layout), y)
"""


@pytest.mark.parametrize(
    ("fill", "codes"),
    [
        ("pass", ["CUT221"]),
        ("rows.fill(0.0)", []),
        ("rows[0, None] = r.load()[0]", []),
        ("elsewhere.fill(out.iterator)", []),
        ("elsewhere.fill(cute.make_tensor(out.iterator, 16).iterator)", []),
        ("p = out.iterator\n    elsewhere.fill(p)\n    rows = cute.make_tensor(p, 16)", []),
        ("rows = cute.make_tensor(elsewhere.filled(out.iterator), 16)", []),
        ("cute.autovec_copy(x, cute.make_tensor(out.iterator, y.layout))", []),
    ],
)
def test_a_view_of_registers_takes_no_pointer_to_them(tmp_path: Path, fill: str, codes: list[str]) -> None:
    text = KERNEL.replace("    out.store(r.load() * 2.0)\n", "")
    (tmp_path / "k.py").write_text(text.replace("    STORE\n", VIEWED.replace("FILL", fill)))
    report = check(inputs([str(tmp_path)]), Settings(select=("CUT221",), arch=("sm_90a",)))
    assert not report.failures and [f.code for f in report.findings] == codes


SUMS = """
    out = cute.make_fragment_like(y)
    CLEAR
    for k in cutlass.range(8):
        for i in cutlass.range_constexpr(2):
            part = cute.make_tensor(out.iterator, cute.make_layout((2, 8)))[i, None]
            part.store(part.load() * 0.5 + 1.0)
    cute.autovec_copy(out, y)
"""


@pytest.mark.parametrize(
    ("clear", "codes"),
    [
        ("pass", ["CUT221"]),
        ("out.fill(0.0)", []),
        ("cute.autovec_copy(x, out)", []),
        ("for i in range(16): out[i] = 0.0", []),
        ("elsewhere.clear(out)", []),
        ("cute.autovec_copy(elsewhere.source(), out)", []),
        ("elsewhere.clear(out.iterator)", []),
        ("if bidx > 3: out.fill(0.0)", []),
        ("out.store(x.load())", []),
        ("for k in cutlass.range(2):\n        cute.autovec_copy(x, out)\n        z.store(out.load())", []),
    ],
)
def test_what_is_scaled_in_place_is_set_before(tmp_path: Path, clear: str, codes: list[str]) -> None:
    text = KERNEL.replace("    out.store(r.load() * 2.0)\n", "")
    (tmp_path / "k.py").write_text(text.replace("    STORE\n", SUMS.replace("CLEAR", clear)))
    report = check(inputs([str(tmp_path)]), Settings(select=("CUT221",), arch=("sm_90a",)))
    assert not report.failures and [f.code for f in report.findings] == codes


@pytest.mark.parametrize("guard", ["if k > 0:", "if k == 0: out.fill(0.0)\n        if cutlass.const_expr(True):"])
def test_what_the_first_pass_sets_or_does_not_read(tmp_path: Path, guard: str) -> None:
    text = KERNEL.replace("    out.store(r.load() * 2.0)\n", "")
    loop = f"""
    out = cute.make_fragment_like(y)
    for k in cutlass.range(8):
        {guard}
            out.store(out.load() * 0.5)
        cute.autovec_copy(x, out)
    cute.autovec_copy(out, y)
"""
    (tmp_path / "k.py").write_text(text.replace("    STORE\n", loop))
    report = check(inputs([str(tmp_path)]), Settings(select=("CUT221",), arch=("sm_90a",)))
    assert not report.failures and not report.findings
