"""CuTe through the DSL: values as the DSL itself computed them (nvidia-cutlass-dsl 4.8.1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cutecheck.model.layout import ComposedLayout
from cutecheck.source.evaluate import evaluate
from cutecheck.tests.source.dsl.run import HEAD, driver, events, results, variables

GUIDE = (
    HEAD
    + """
@cute.kernel
def kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, mma: cute.TiledMma, cta_tiler: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    gA = cute.local_tile(mA, cta_tiler, (bx, by, None), proj=(1, None, 1))
    gB = cute.local_tile(mB, cta_tiler, (bx, by, None), proj=(None, 1, 1))
    gC = cute.local_tile(mC, cta_tiler, (bx, by, None), proj=(1, 1, None))
    thr = mma.get_slice(tidx)
    a = mma.make_fragment_A(thr.partition_A(gA)[None, None, None, 0])
    b = mma.make_fragment_B(thr.partition_B(gB)[None, None, None, 0])
    c = mma.make_fragment_C(thr.partition_C(gC))
    la = cute.make_layout(a.shape)
    lb = cute.make_layout(b.shape)
    lc = cute.make_layout(c.shape)
    cute.gemm(mma, c, a[None, None, 0], b[None, None, 0], c)


@cute.jit
def host(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    op = cute.nvgpu.warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)), permutation_mnk=(32, 32, 16))
    kernel(mA, mB, mC, mma, (128, 128, 32)).launch(grid=(4, 4, 1), block=(128, 1, 1))


a = make_fake_tensor(cutlass.Float16, (512, 256), stride=(256, 1), assumed_align=16)
b = make_fake_tensor(cutlass.Float16, (512, 256), stride=(256, 1), assumed_align=16)
c = make_fake_tensor(cutlass.Float32, (512, 512), stride=(512, 1), assumed_align=16)
cute.compile(host, a, b, c)
"""
)


def test_the_running_example_of_the_mma_guide(tmp_path: Path) -> None:
    made = driver(tmp_path, GUIDE)
    found = results(made)
    lines = GUIDE.split("\n")

    def of(text: str, call: str) -> list[Any]:
        return found[next(i for i, line in enumerate(lines, 1) if text in line), call]

    assert [r.split(":")[0] for r in of("la = ", "make_layout")] == ["((2,2,2),4,2)"]
    assert [r.split(":")[0] for r in of("lb = ", "make_layout")] == ["((2,2),8,2)"]
    assert [r.split(":")[0] for r in of("lc = ", "make_layout")] == ["((2,2),4,8)"]
    (mma,) = of("mma = ", "make_tiled_mma")
    assert mma["size"] == 128 and mma["permutation_mnk"] == ["32:1", "32:1", "16:1"]
    assert mma["thr_layout_vmnk"] == "(32,2,2,1):(1,32,64,0)"
    (gemm,) = events(made)
    assert gemm.kind == "gemm" and gemm.threads == 128 and len(gemm.operands) == 4


RECIPE = (
    HEAD
    + """
import math

def atom(dtype, row_major, tiler, copy_bits=128):
    size = min(tiler[1] if row_major else tiler[0], 128 * 8 // dtype.width)
    bits = min(int(math.log2(size * dtype.width // copy_bits)), 3)
    swizzle = cute.make_swizzle(bits, int(math.log2(copy_bits // 8)), int(math.log2(copy_bits // dtype.width)))
    shape, stride = ((8, size), (size, 1)) if row_major else ((size, 8), (1, size))
    outer = cute.make_layout(shape, stride=stride)
    return cute.tile_to_shape(outer, tiler, (0, 1)), swizzle

r = [atom(cutlass.Float16, True, (128, 32)), atom(cutlass.Float16, True, (128, 64)),
     atom(cutlass.Float16, False, (64, 8)), atom(cutlass.Float8E4M3FN, True, (128, 256))]
"""
)


def test_the_swizzle_recipe_of_the_ampere_gemm(tmp_path: Path) -> None:
    from cutecheck.model.notation_dsl import show_dsl

    found = [(show_dsl(layout), show_dsl(swizzle)) for layout, swizzle in variables(tmp_path, RECIPE)["r"]]
    assert found == [
        ("((8,16),(32,1)):((32,256),(1,0))", "S<2,4,3>"),
        ("((8,16),(64,1)):((64,512),(1,0))", "S<3,4,3>"),
        ("((64,1),(8,1)):((1,0),(64,0))", "S<3,4,3>"),
        ("((8,16),(128,2)):((128,1024),(1,16384))", "S<3,4,4>"),
    ]


COPY = (
    HEAD
    + """
@cute.kernel
def fill(src: cute.Tensor, layout: cute.ComposedLayout):
    tid, _, _ = cute.arch.thread_idx()
    smem = cutlass.memory.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float16, layout.outer, byte_alignment=1024, swizzle=layout.inner)
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float16, num_bits_per_copy=128)
    cp = cute.make_tiled_copy_tv(atom, cute.make_ordered_layout((16, 8), order=(1, 0)), cute.make_layout((1, 8)))
    thr = cp.get_slice(tid)
    cute.copy(cp, thr.partition_S(src), thr.partition_D(s))


@cute.jit
def host(src: cute.Tensor):
    atom = cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, cute.make_layout((8, 64), stride=(64, 1)))
    fill(src, cute.tile_to_shape(atom, (64, 64), order=(0, 1))).launch(grid=(1, 1, 1), block=[128, 1, 1])


cute.compile(host, make_fake_tensor(cutlass.Float16, (64, 64), stride=(64, 1), assumed_align=16))
"""
)


def test_a_copy_into_swizzled_shared_memory(tmp_path: Path) -> None:
    made = driver(tmp_path, COPY)
    (copy,) = events(made)
    source, target = copy.operands
    assert copy.reason is None and copy.threads == 128
    assert source.space == "gmem" and source.alignment_bytes == 16
    assert target.space == "smem" and isinstance(target.layout, ComposedLayout)
    # the swizzle acts on bytes beside the pointer: in elements of two bytes its base is one less
    assert (target.layout.a.bits, target.layout.a.base, target.layout.a.shift) == (3, 3, 3)  # type: ignore[union-attr]
    (buffer,) = made.recorder.buffer_facts()
    assert (buffer.size_bytes, buffer.alignment_bytes, len(buffer.accesses)) == (8192, 1024, 1)


STRUCT = (
    HEAD
    + """
@cute.kernel
def k():
    @cute.struct
    class Storage:
        bar: cute.struct.MemRange[cutlass.Int64, 4]
        a: cute.struct.Align[cute.struct.MemRange[cutlass.Float16, 256], 1024]
        b: cute.struct.MemRange[cutlass.Float32, 8]
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate(Storage)
    t = s.a.get_tensor(cute.make_layout((16, 16)))
    n = cute.make_layout(Storage.size_in_bytes())
    u = cute.make_layout(s.b.get_tensor(cute.make_layout(8)).shape)


@cute.jit
def host():
    k().launch(grid=(1, 1, 1), block=(32, 1, 1))


cute.compile(host)
"""
)


def test_struct_storage(tmp_path: Path) -> None:
    made = driver(tmp_path, STRUCT)
    line = next(i for i, text in enumerate(STRUCT.split("\n"), 1) if "size_in_bytes" in text)
    assert results(made)[line, "make_layout"] == ["2048:1"]  # 32 + padding to 1024, 512, 32, rounded to 1024
    found = {b.name: (b.size_bytes, b.alignment_bytes) for b in made.recorder.buffer_facts()}
    assert found == {"a": (512, 1024), "b": (32, 512)}


def test_host_tensors_and_their_marks(tmp_path: Path) -> None:
    text = HEAD + (
        "import torch\nfrom cutlass.cute.runtime import from_dlpack\n"
        "@cute.jit\ndef f(t: cute.Tensor, u: cute.Tensor, v: cute.Tensor):\n"
        "    cute.select(t.layout, mode=[0, 1, 2])\n    cute.select(u.layout, mode=[0, 1, 2])\n"
        "    cute.select(v.layout, mode=[0, 1])\n"
        "def make():\n    return torch.empty((2, 32, 64), dtype=torch.float16).permute(1, 2, 0)\n"
        "t = from_dlpack(make(), assumed_align=16).mark_layout_dynamic(leading_dim=1)\n"
        "u = from_dlpack(make()).mark_layout_dynamic(leading_dim=1)\n"
        "u.mark_compact_shape_dynamic(mode=1, stride_order=(2, 0, 1), divisibility=8)\n"
        "f(t, u, from_dlpack(torch.zeros(4, 8)))\n"
    )
    found = results(driver(tmp_path, text))
    assert sorted(str(r) for group in found.values() for r in group) == [
        "(4,8):(8,1)",
        "(?,?,?):(?{i64},1,?{i64})",
        "(?,?{div=8},?):(?{i64 div=8},1,?{i64 div=8})",
    ]


def test_device_loops_and_constexpr_loops(tmp_path: Path) -> None:
    text = HEAD + (
        "@cute.jit\ndef f():\n    for i in cutlass.range_constexpr(3):\n        cute.make_layout(i + 1)\n"
        "    for j in range(3):\n        cute.make_layout(j)\n"
        "    for k in cutlass.range(2):\n        cute.make_layout((k, 4))\n"
        "f()\n"
    )
    found = results(driver(tmp_path, text))
    assert sorted(str(r) for group in found.values() for r in group) == ["(?,4):(1,?)", "1:0", "2:1", "3:1", "?:1"]


@pytest.mark.parametrize(
    ("op", "why"),
    [
        ("cute.nvgpu.warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 32))", "(16, 8, 16)"),
        ("cute.nvgpu.warp.MmaF16BF16Op(cutlass.BFloat16, cutlass.Float16, (16, 8, 16))", "Float32 when"),
    ],
)
def test_operations_without_an_atom(op: str, why: str, tmp_path: Path) -> None:
    made = driver(tmp_path, HEAD + f"m = cute.make_tiled_mma({op})\n")
    (site,) = [s for s in made.recorder.sites.values() if s.call.endswith("make_tiled_mma")]
    assert site.status == "unknown" and site.reason is not None and why in site.reason.reason


def test_crashing_inputs_are_answers(tmp_path: Path) -> None:
    text = HEAD + (
        "cute.make_layout(0)\ncute.zipped_divide(cute.make_layout(8), 0)\ncute.composition(cute.make_layout(4), 0)\n"
        "cute.make_swizzle(3, 4, 2)\ncute.tile_to_shape(cute.make_layout((8, 64)), (100, 64), (0, 1))\n"
        "cute.make_layout((4, (2, 0)), stride=(0, (0, 1)))\ncute.right_inverse(cute.make_layout(0))\n"
    )
    found = results(driver(tmp_path, text))
    assert ["S<0,4,3>"] in found.values()


def test_eval_of_the_dsls_table_notation() -> None:
    from cutecheck.facts import Unknown
    from cutecheck.model.notation_dsl import show_dsl

    made = evaluate('{"func": "cute.zipped_divide", "args": ["(?,?):(?{i64},1)", "(16, 128)"], "kwargs": {}}', "dsl")
    assert show_dsl(made) == "((16,128),(?,?)):((?{i64},1),(?{i64 div=16},128))"

    for bad in ("", "{}", '{"func": "nothing", "args": []}', '{"func": "size", "args": ["(8"]}', "[1]"):
        assert isinstance(evaluate(bad, "dsl"), Unknown)


def test_quotients_of_wide_extents_are_wide() -> None:
    from cutecheck.model.notation_dsl import show_dsl
    from cutecheck.source.eval.intrinsics.dsl_show import without_quotients

    args = '["(?{i64},?{div=8}):(?{i64 div=8},1)", "(4, 256)"]'
    made = evaluate('{"func": "cute.zipped_divide", "args": ' + args + ', "kwargs": {}}', "dsl")
    assert show_dsl(without_quotients(made)) == "((4,256),(?{i64},?)):((?{i64 div=8},1),(?{i64 div=32},256))"


COMPUTED = {  # as the DSL prints them
    "n * 3": "?{div=12}:1", "n + 4": "?{div=4}:1", "n + 3": "?:1", "n * s": "?{div=32}:1", "n * m": "?{div=4}:1",
    "m * 4": "?:1", "cute.ceil_div(n, 2)": "?:1", "n + s": "?{div=4}:1", "cute.size(a) * 2": "?{div=1024}:1",
    "cutlass.min(n, s)": "?:1", "cute.assume(m, divby=8) * 2": "?{div=16}:1", "w * 3": "?{i64 div=24}:1",
    "cute.arch.block_idx()[0] * 64": "?:1",
}  # fmt: skip


def test_numbers_of_tensors_carry_their_divisors_through_arithmetic(tmp_path: Path) -> None:
    from cutecheck.model.notation_dsl import show_dsl

    script = HEAD + "@cute.jit\ndef f(a: cute.Tensor, m: cutlass.Int32):\n"
    script += "    n, s, w = a.shape[0], a.stride[0], a.stride[1]\n"
    first = script.count("\n") + 1
    script += "".join(f"    cute.make_layout({text})\n" for text in COMPUTED)
    script += (
        "d = cute.sym_int(divisibility=4), 64, 2\ns = cute.sym_int(divisibility=8), cute.sym_int64(divisibility=8), 1\n"
    )
    script += "cute.compile(f, make_fake_tensor(cutlass.Float32, d, stride=s), cutlass.Int32(5))\n"
    found = results(driver(tmp_path, script))
    texts = [show_dsl(found[first + i, "make_layout"][0]) for i in range(len(COMPUTED))]
    assert dict(zip(COMPUTED, texts, strict=True)) == COMPUTED


HELPERS = (
    HEAD
    + """
import cutlass.utils as utils
import cutlass.utils.hopper_helpers as h
from cutlass.cute.nvgpu import OperandMajorMode
row, col = utils.LayoutEnum.ROW_MAJOR, utils.LayoutEnum.COL_MAJOR
a = h.make_smem_layout_a(row, (128, 128, 64), cutlass.BFloat16, 4)
b = h.make_smem_layout_b(col, (128, 256, 32), cutlass.Float16, 3)
e = h.make_smem_layout_epi(cutlass.Float16, row, (64, 32), 2)
k = h.get_smem_layout_atom(row, cutlass.BFloat16, 32)
m = h.make_trivial_tiled_mma(cutlass.BFloat16, cutlass.BFloat16, OperandMajorMode.K, OperandMajorMode.K,
                             cutlass.Float32, (2, 1, 1), tiler_mn=(64, 128))
"""
)


def test_hopper_helpers_without_the_package(tmp_path: Path) -> None:
    found = {call: group[0] for (_, call), group in results(driver(tmp_path, HELPERS, arch="sm_90a")).items()}
    assert found["make_smem_layout_a"] == "S<3,4,3> o 0 o ((8,16),(64,1),(1,4)):((64,512),(1,0),(0,8192))"
    assert found["make_smem_layout_b"] == "S<3,4,3> o 0 o ((64,4),(8,4),(1,3)):((1,2048),(64,512),(0,8192))"
    assert found["make_smem_layout_epi"] == "S<2,4,3> o 0 o ((8,8),(32,1),(1,2)):((32,256),(1,0),(0,2048))"
    assert found["get_smem_layout_atom"] == "SmemLayoutAtomKind.K_SW64"
    mma: Any = found["make_trivial_tiled_mma"]
    assert mma["type"] == (
        "!cute.tiled_mma<!cute_nvgpu.sm90.mma<64x128x16, ab_major = (k, k), elem_type = (bf16, bf16, f32), "
        'frag_kind = ss>, atom_layout_MNK = <"(2,1,1):(1,0,0)">, permutation_MNK = <"[_;_;_]">>'
    )


def test_operations_of_tensor_memory(tmp_path: Path) -> None:
    text = HEAD + (
        "from cutlass.cute.nvgpu import OperandMajorMode, tcgen05\n"
        "op = tcgen05.MmaF16BF16Op(cutlass.BFloat16, cutlass.Float32, (128, 128, 16), tcgen05.CtaGroup.ONE,\n"
        "                          tcgen05.OperandSource.SMEM, OperandMajorMode.K, OperandMajorMode.K)\n"
        "m = cute.make_tiled_mma(op)\n"
        "c = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition(32)), cutlass.Float32)\n"
        "d = cute.dice((128, 64, 32), (1, None, 1))\n"
        "e = cute.make_ordered_layout(m.tv_layout_A.stride, order=(0, 1))\n"
    )
    found = {call: group[0] for (_, call), group in results(driver(tmp_path, text, arch="sm_100a")).items()}
    mma: Any = found["make_tiled_mma"]
    assert mma["type"] == (
        "!cute.tiled_mma<!cute_nvgpu.sm100.mma<128x128x16, num_cta = 1, ab_major = (k, k), elem_type = (bf16, bf16, "
        'f32), frag_kind = ss, c_scale_exp = 0>, atom_layout_MNK = <"(1,1,1):(0,0,0)">, permutation_MNK = <"[_;_;_]">>'
    )
    assert mma["tv_layout_A"] == "(1,(128,16)):(128,(1,128))"
    assert found["make_ordered_layout"] == "(128,(1,128)):(1,(0,128))"
    assert mma["tv_layout_C_tiled"] == "(1,((128,128),(1,1))):(0,((1,128),(0,0)))"
    load: Any = found["make_copy_atom"]
    assert load["type"] == "!cute_nvgpu.atom.tmem_load<f32, 32 DP, 32 bit, x32>"
    assert (load["layout_src_tv"], load["layout_dst_tv"]) == ("(32,1024):(0,1)", "(32,32):(32,1)")


def test_helpers_of_blackwell_without_the_package_say_what_is_missing(tmp_path: Path) -> None:
    """Hopper's helpers of the same name are known, and are others."""
    text = (
        HEAD
        + """
import cutlass.utils.blackwell_helpers as sm100
import cutlass.utils.hopper_helpers as sm90
cute.cosize(sm100.make_smem_layout_a(None, (128, 128, 64), cutlass.Float16, 3))
"""
    )
    made = driver(tmp_path, text, arch="sm_100a")
    (site,) = made.recorder.sites.values()
    assert "blackwell_helpers.make_smem_layout_a`: the source of the DSL's package" in str(site.reason)
