"""Fixes of code that is spelled as people spell it: helpers, aliases of several users, raw accesses beside layouts."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.fixes.apply import FixRun
from cutecheck.engine.run import check_and_fix, inputs

HEAD = """#include <cute/tensor.hpp>
using namespace cute;
using Elem = half_t;
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
"""
FEED = """__global__ void feed(Elem const* p, Elem* o) {
  __shared__ alignas(128) Elem a[64 * 64];
  auto layout = LAYOUT;
  Tensor sA = make_tensor(make_smem_ptr(a), layout);
  Tensor gA = make_tensor(make_gmem_ptr(p), GMEM);
  auto ld = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, Elem>{}, Layout<Shape<_16, _8>, Stride<_8, _1>>{},
                            Layout<Shape<_1, _8>>{});
  auto l = ld.get_slice(threadIdx.x);
  copy(ld, l.partition_S(gA), l.partition_D(sA));
  __syncthreads();
  Mma mma;
  Tensor rA = mma.get_slice(threadIdx.x).partition_fragment_A(sA);
  auto cp = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, Elem>{}, mma);
  auto t = cp.get_slice(threadIdx.x);
  copy(cp, t.partition_S(sA), t.retile_D(rA));
  o[threadIdx.x] = READ;
}
void run(Elem const* p, Elem* o) { feed<<<1, 128>>>(p, o); }
"""
ROWS = "Layout<Shape<_64, _64>, Stride<_64, _1>>"
SWIZZLED = f"decltype(composition(Swizzle<3, 3, 3>{{}}, {ROWS}{{}}))"


def feed(before: str, layout: str, gmem: str = ROWS + "{}", read: str = "rA(0)") -> str:
    return HEAD + before + FEED.replace("LAYOUT", layout).replace("GMEM", gmem).replace("READ", read)


def run(folder: Path, text: str, unsafe: bool = False, name: str = "a.cu") -> tuple[FixRun, str]:
    file = folder / name
    file.write_text(text)
    found = check_and_fix(inputs([str(file)]), Settings(arch=("sm_80",), cache=False), unsafe)
    assert found.report.failures == () and not found.report.errors
    return found, next(iter(found.contents.values()), text.encode()).decode()


@pytest.mark.parametrize(
    ("before", "layout", "old", "new"),
    [
        (f"typedef {ROWS} Smem;\n", "Smem{}", f"typedef {ROWS}", f"typedef {SWIZZLED}"),
        ("template <int M, int K>\nconstexpr auto rows() {\n  return make_layout(Shape<Int<M>, Int<K>>{}, "
         "Stride<Int<K>, _1>{});\n}\n", "rows<64, 64>()",
         "return make_layout(Shape<Int<M>, Int<K>>{}, Stride<Int<K>, _1>{})",
         "return composition(Swizzle<3, 3, 3>{}, make_layout(Shape<Int<M>, Int<K>>{}, Stride<Int<K>, _1>{}))"),
        (f"using Rows = {ROWS};\nusing Smem = Rows;\nusing Gmem = Rows;\n", "Smem{}", "using Smem = Rows",
         "using Smem = decltype(composition(Swizzle<3, 3, 3>{}, Rows{}))"),
        ("#define TILE(R, C) Layout<Shape<R, C>, Stride<C, _1>>\nusing Smem = TILE(_64, _64);\n", "Smem{}",
         "using Smem = TILE(_64, _64)", "using Smem = decltype(composition(Swizzle<3, 3, 3>{}, TILE(_64, _64){}))"),
        (f"struct Traits {{ using Rows = {ROWS}; using Gmem = Rows; }};\ntypedef typename Traits::Rows Smem;\n"
         "using Gmem = Traits::Rows;\n", "Smem{}", "typedef typename Traits::Rows",
         "typedef decltype(composition(Swizzle<3, 3, 3>{}, typename Traits::Rows{}))"),
    ],
    ids=["typedef", "function", "alias", "macro", "member"],
)  # fmt: skip
def test_where_a_layout_is_written(tmp_path: Path, before: str, layout: str, old: str, new: str) -> None:
    text = feed(before, layout, "Gmem{}" if "Gmem" in before else ROWS + "{}")
    found, after = run(tmp_path, text)
    assert after == text.replace(old, new) != text and [a.fix.safe for a in found.applied] == [True]
    assert not found.report.findings


def test_a_layout_of_global_memory_too_stays(tmp_path: Path) -> None:
    text = feed(f"using Rows = {ROWS};\n", "Rows{}", "Rows{}")
    for unsafe in (False, True):
        found, after = run(tmp_path, text, unsafe)
        assert after == text and not found.applied
        assert not any(fix for f in found.report.findings for fix in f.fixes)


@pytest.mark.parametrize(
    "read",
    ["rA(0) + a[threadIdx.x * 64 + 3]", "rA(0) + *(a + threadIdx.x)", "rA(0); Elem const* q = a; o[0] = q[threadIdx.x]",
     "rA(0); Elem* q = &sA(0, 0); o[0] = q[threadIdx.x]", "rA(0); o[0] = raw_pointer_cast(sA.data())[threadIdx.x]"],
    ids=["indexed", "dereferenced", "pointer", "address of an element", "pointer of the tensor"],
)  # fmt: skip
def test_elements_that_are_read_past_the_layout(tmp_path: Path, read: str) -> None:
    """After a swizzle the kernel would read others: only on demand."""
    text = feed(f"using Rows = {ROWS};\n", "Rows{}", read=read)
    assert run(tmp_path, text)[1] == text
    found, after = run(tmp_path, text, unsafe=True)
    assert after == text.replace(f"using Rows = {ROWS}", f"using Rows = {SWIZZLED}")
    assert [a.fix.safe for a in found.applied] == [False]


@pytest.mark.parametrize(
    "asked",
    ["stride<0>(Rows{})", "stride<1>(sA.layout())", "get<0>(sA.stride())", "size(append(Rows{}, Layout<_2, _1>{}))"],
)
def test_what_a_swizzled_layout_does_not_have(tmp_path: Path, asked: str) -> None:
    """After the edit this would not compile."""
    text = feed(f"using Rows = {ROWS};\n", "Rows{}", read=f"rA(0); o[200] = Elem(int({asked}))")
    for unsafe in (False, True):
        found, after = run(tmp_path, text, unsafe)
        assert after == text and {f.code for f in found.report.findings} == {"CUT101"}


def test_an_array_of_another_kernel_that_is_read_past_the_layout(tmp_path: Path) -> None:
    other = FEED.replace("feed", "other").replace(" a[", " b[").replace("(a)", "(b)").replace("LAYOUT", "Rows{}")
    other = other.replace("GMEM", ROWS + "{}").replace("READ", "rA(0) + b[threadIdx.x]")
    both = feed(f"using Rows = {ROWS};\n", "Rows{}") + other
    assert run(tmp_path, both)[1] == both
    assert run(tmp_path, both.replace("+ b[threadIdx.x]", ""))[1] != both


HELPER = (
    HEAD
    + """template <class S>
__device__ void stage(float const* p, S stride, float* out) {
  Copy_Atom<UniversalCopy<float>, float> atom;
  auto cp = make_tiled_copy(atom, Layout<Shape<_32, _8>>{}, Layout<Shape<_1, _1>>{});
  Tensor g = make_tensor(make_gmem_ptr(p), make_shape(_64{}, _64{}), stride);
  Tensor src = cp.get_slice(threadIdx.x).partition_S(g);
  Tensor reg = make_fragment_like(src);
  copy(cp, src, reg);
  out[threadIdx.x] = reg(0);
}
__global__ void __launch_bounds__(256) both(float const* a, float const* b, float* out) {
  stage(a, make_stride(_1{}, 4096), out);
  stage(b, make_stride(4096, _1{}), out + 256);
}
void run(float const* a, float* o) { both<<<1, 256>>>(a, a, o); }
"""
)


def test_what_helps_one_use_and_harms_another(tmp_path: Path) -> None:
    found, after = run(tmp_path, HELPER, unsafe=True)
    assert after == HELPER and {f.code for f in found.report.findings} == {"CUT104"}
    one = HELPER.replace("  stage(a, make_stride(_1{}, 4096), out);\n", "")
    found, after = run(tmp_path, one, unsafe=True)
    assert after != one and not found.report.findings


UNIT = (
    HEAD
    + """template <class P> auto rows(P p, int m, int n, int ld) {
  return make_tensor(make_gmem_ptr(p), make_layout(make_shape(m, n), make_stride(ld, 1)));
}
using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, Elem>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
__global__ void load(Elem const* A, Elem* B, int m, int n, int ld) {
  // cutecheck: assume ld % 8 == 0
  Tensor gA = local_tile(rows(A, m, n, ld), Shape<_64, _64>{}, make_coord(blockIdx.x, blockIdx.y));
  Tensor gB = local_tile(rows(B, m, n, ld), Shape<_64, _64>{}, make_coord(blockIdx.x, blockIdx.y));
  Load cp;
  auto t = cp.get_slice(threadIdx.x);
  Tensor src = t.partition_S(gA);
  Tensor reg = make_fragment_like(src);
  copy(cp, src, reg);
  copy(cp, reg, t.partition_D(gB));
}
"""
)


def test_one_edit_for_two_findings(tmp_path: Path) -> None:
    """The better remedy of one is that of the other: nobody's vectors become narrower."""
    found, after = run(tmp_path, UNIT, unsafe=True)
    assert after == UNIT.replace("make_stride(ld, 1)", "make_stride(ld, Int<1>{})")
    assert not [f for f in found.report.findings if f.code == "CUT401"]


READ = """#include <cute/tensor.hpp>
using namespace cute;
using Elem = float;
constexpr int kM = 128;
DECLARED
using S2R = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, Elem>{}, Layout<Shape<_32, _8>>{},
                                     Layout<Shape<_4, _1>>{}));
__global__ void read_a(Elem* out) {
  ARRAY
  Tensor sA = make_tensor(make_smem_ptr(NAME), SmemA{});
  S2R cp;
  Tensor src = cp.get_slice(threadIdx.x).partition_S(sA);
  Tensor reg = make_fragment_like(src);
  copy(cp, src, reg);
  out[threadIdx.x] = reg(0);
}
"""


def test_padding_by_a_constant(tmp_path: Path) -> None:
    text = READ.replace("DECLARED", "using SmemA = Layout<Shape<Int<kM>, _8>, Stride<_1, Int<kM + 1>>>;")
    text = text.replace("ARRAY", "__shared__ alignas(16) Elem smem[cosize_v<SmemA>];").replace("NAME", "smem")
    found, after = run(tmp_path, text, unsafe=True)
    assert after == text.replace("Int<kM + 1>", "Int<(kM + 1) + 3>") and not found.report.findings


def test_a_member_that_starts_too_early(tmp_path: Path) -> None:
    declared = "using SmemA = Layout<Shape<_128, _8>>;\nstruct Storage { int flag; Elem a[1024]; };"
    text = READ.replace("DECLARED", declared).replace("ARRAY", "__shared__ Storage s;").replace("NAME", "s.a")
    found, after = run(tmp_path, text)
    assert after == text.replace("Elem a[1024]", "alignas(16) Elem a[1024]") and not found.report.findings


STORE = (
    HEAD
    + """__global__ void epilogue(float* C) {
  auto tiled = Mma{};
  Tensor gC = make_tensor(make_gmem_ptr(C), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  auto thr = tiled.get_slice(threadIdx.x);
  Tensor acc = thr.make_fragment_C(thr.partition_C(gC));
  clear(acc);
  Copy_Atom<UniversalCopy<float>, float> atom;
  auto store = make_tiled_copy(atom, Layout<Shape<_16, _8>>{}, Layout<Shape<_1, _1>>{});
  copy(store, acc, store.get_slice(threadIdx.x).partition_D(gC));
}
"""
)


def test_a_fragment_of_a_slice_is_retiled(tmp_path: Path) -> None:
    found, after = run(tmp_path, STORE, unsafe=True)
    assert "make_tiled_copy_C(atom, tiled)" in after
    assert "store.get_slice(threadIdx.x).retile_S(acc)" in after and not found.report.findings
    # not known where it comes from: the order of its copy's threads is left alone, too
    hidden = STORE.replace("auto store = make_tiled_copy(", "#define MADE make_tiled_copy\n  auto store = MADE(")
    found, after = run(tmp_path, hidden.replace("store.get_slice(threadIdx.x).partition_D", "thr2.partition_D").replace(
        "  copy(store", "  auto thr2 = store.get_slice(threadIdx.x);\n  copy(store"), unsafe=True)  # fmt: skip
    assert not found.applied and {f.code for f in found.report.findings} >= {"CUT602"}


DSL = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import warp
from cutlass.cute.runtime import make_fake_tensor

THREADS = 128


def rows(m, k):
    return cute.make_layout((m, k), stride=(k, 1))


@cute.kernel
def kernel(src: cute.Tensor, out: cute.Tensor, mma: cute.TiledMma):
    tid, _, _ = cute.arch.thread_idx()
    sA = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float16, rows(64, 64), byte_alignment=128)
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128)
    load = cute.make_tiled_copy_tv(atom, cute.make_layout((16, 8), stride=(8, 1)), cute.make_layout((1, 8)))
    t = load.get_slice(tid)
    cute.copy(load, t.partition_S(src), t.partition_D(sA))
    cute.arch.sync_threads()
    rA = mma.make_fragment_A(mma.get_slice(tid).partition_A(sA))
    s2r = cute.make_tiled_copy_A(cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), cutlass.Float16), mma)
    s = s2r.get_slice(tid)
    cute.copy(s2r, s.partition_S(sA), s.retile(rA))
    out[tid] = rA[0]


@cute.jit
def host(src: cute.Tensor, out: cute.Tensor):
    op = warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(op, (2, 2, 1), permutation_mnk=(32, 32, 16))
    kernel(src, out, mma).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


src = make_fake_tensor(cutlass.Float16, (64, 64), stride=(64, 1), assumed_align=16)
cute.compile(host, src, make_fake_tensor(cutlass.Float16, (THREADS,), stride=(1,), assumed_align=16))
"""
READ_BACK = "out[tid] = rA[0]"
PLAIN = "cute.make_layout((m, k), stride=(k, 1))"
FREE = f"cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, {PLAIN})"


@pytest.mark.parametrize(
    ("broken", "unsafe"),
    [([], False), ([("byte_alignment=128", "byte_alignment=4")], False), ([("THREADS = 128", "THREADS = 256")], True)],
    ids=["swizzle", "alignment", "block"],
)
def test_the_dsl(tmp_path: Path, broken: list[tuple[str, str]], unsafe: bool) -> None:
    """A row of conflicts that a low alignment has hidden is no news."""
    text = DSL
    for right, wrong in broken:
        assert right in text
        text = text.replace(right, wrong)
    found, after = run(tmp_path, text, unsafe, "kernel.py")
    assert after == DSL.replace(PLAIN, FREE) and not found.report.findings


NAMED = """#include <cute/tensor.hpp>
using namespace cute;
__global__ void __launch_bounds__(32) read(float const* p, float* out) {
  Tensor g = make_tensor(make_gmem_ptr(p), Shape<_4, _8>{});
  auto threads = make_layout(make_shape(_4{}, _8{}), make_stride(_1{}, Int<16>{}));
  auto cp = make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, threads, Layout<Shape<_1, _1>>{});
  Tensor src = cp.get_slice(threadIdx.x).partition_S(g);
  Tensor reg = make_fragment_like(src);
  copy(cp, src, reg);
  out[threadIdx.x] = reg(0);
}
"""


def test_a_thread_layout_with_a_name(tmp_path: Path) -> None:
    found, after = run(tmp_path, NAMED, unsafe=True)
    assert after == NAMED.replace(", make_stride(_1{}, Int<16>{})", "") and not found.report.findings


@pytest.mark.parametrize(
    ("read", "offered"),
    [("rA[0] + (sA.iterator + tid).load()", True), ("rA[0] + sA.layout.stride[0]", False)],
    ids=["pointer", "stride"],
)
def test_the_dsl_past_the_layout(tmp_path: Path, read: str, offered: bool) -> None:
    text = DSL.replace(READ_BACK, f"out[tid] = {read}")
    assert run(tmp_path, text, False, "kernel.py")[1] == text
    assert (run(tmp_path, text, True, "kernel.py")[1] == text.replace(PLAIN, FREE)) == offered
