"""Which copy or GEMM of the reference kernels stands for an event of a source."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cutecheck.exec.gpu import codegen, copies, predict
from cutecheck.exec.gpu.compile import Compiler, NoCompiler, compile_units, find_compiler
from cutecheck.exec.gpu.from_facts import probe_of
from cutecheck.exec.gpu.from_facts_copies import NoProbeError
from cutecheck.exec.gpu.gemm import GemmProbe
from cutecheck.exec.gpu.measure import unit_of
from cutecheck.exec.gpu.plain import PlainCopy
from cutecheck.exec.gpu.probe import CopyProbe
from cutecheck.facts import Event
from cutecheck.model.layout import ComposedLayout, SmemPtrFlag
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

SOURCE = """
#include <cute/tensor.hpp>
using namespace cute;
using Mma = decltype(make_tiled_mma(SM90_64x64x16_F16F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}));
using Swizzled = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{}));
using Fill = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, half_t>{},
                                      Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
__global__ void __launch_bounds__(128) kernel(half_t const* src, half_t* out) {
  __shared__ alignas(1024) half_t a[4096];
  __shared__ alignas(1024) half_t c[4096];
  Tensor g = make_tensor(make_gmem_ptr(src), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  Tensor sA = make_tensor(make_smem_ptr(a), Swizzled{});
  Fill fill;
  auto thr = fill.get_slice(threadIdx.x);
  copy(fill, thr.partition_S(g), thr.partition_D(as_position_independent_swizzle_tensor(sA)));
  cp_async_fence();
  cp_async_wait<0>();
  __syncthreads();
  Mma mma;
  auto t = mma.get_slice(threadIdx.x);
  Tensor rC = partition_fragment_C(mma, Shape<_64, _64>{});
  clear(rC);
  warpgroup_arrive();
  gemm(mma, t.make_fragment_A(t.partition_A(sA)), t.make_fragment_B(t.partition_B(sA)), rC);
  warpgroup_commit_batch();
  warpgroup_wait<0>();
  Tensor sC = make_tensor(make_smem_ptr(c), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  auto store = make_tiled_copy_C(Copy_Atom<UniversalCopy<uint32_t>, half_t>{}, mma);
  auto to = store.get_slice(threadIdx.x);
  Tensor from = to.retile_S(rC);
  Tensor part = to.partition_D(sC);
  copy(store, from(_, 0, 0), part(_, 0, 0));
}
"""
COMPILER = find_compiler()


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> tuple[Event, ...]:
    file = tmp_path_factory.mktemp("wgmma") / "wgmma.cu"
    file.write_text(SOURCE)
    return extract(ExtractRequest(paths=(file,), archs=("sm_90a",))).events


def test_an_operand_has_the_layout_that_its_descriptors_were_made_from(events: tuple[Event, ...]) -> None:
    """It is filled through a view whose swizzle is one of offsets: the same places, of which WGMMA takes no layout."""
    (gemm,) = (e for e in events if e.kind == "gemm")
    probe = probe_of(gemm, events)
    assert isinstance(probe, GemmProbe)
    for operand in (probe.a, probe.b):
        assert isinstance(operand.smem, ComposedLayout) and isinstance(operand.smem.offset, SmemPtrFlag)
        assert operand.copy.atom.kind == "cp_async"


def test_a_slice_without_its_modes_of_one_element_is_the_whole_fragment(events: tuple[Event, ...]) -> None:
    (store,) = (e for e in events if e.kind == "copy" and e.operands[0].space == "rmem")
    probe = probe_of(store, events)
    assert isinstance(probe, CopyProbe) and probe.fragment is not None and len(probe.fragment.shape) == 3  # type: ignore[arg-type]


PLAIN = """
#include <cute/tensor.hpp>
using namespace cute;
__global__ void __launch_bounds__(256) kernel(float const* in, float* out, half_t* other, int ld) {
  __shared__ float smem[128 * 8];
  Tensor all = make_tensor(make_gmem_ptr(in), make_shape(_128{}, _8{}, gridDim.x), make_stride(ld, _1{}, 128 * ld));
  Tensor g = all(_, _, blockIdx.x);
  Tensor s = make_tensor(make_smem_ptr(smem), Layout<Shape<_128, _8>>{});
  Tensor from = local_partition(g, Layout<Shape<_32, _8>, Stride<_8, _1>>{}, threadIdx.x);
  Tensor to = local_partition(s, Layout<Shape<_32, _8>, Stride<_8, _1>>{}, threadIdx.x);
  copy(from, to);
  Tensor r = make_fragment_like(to);
  copy(to, r);
  if (threadIdx.x < 128) copy(r, from);
  copy(from, make_tensor(make_gmem_ptr(other), from.layout()));
}
__global__ void __launch_bounds__(64) fours(int ld) {
  __shared__ alignas(16) float smem[256];
  auto p = make_smem_ptr(smem) + 4 * threadIdx.x;
  Tensor r = make_tensor<float>(Shape<_4, _1>{});
  copy(make_tensor(p, Layout<Shape<_4, _1>>{}), r);
  copy(make_tensor(p, make_layout(Shape<_4, _1>{}, make_stride(_1{}, ld))), r);
}
using Wide = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
                                      Layout<Shape<_32, _2>, Stride<_2, _1>>{}, Layout<Shape<_1, _4>>{}));
__global__ void __launch_bounds__(64) slices(float const* in, int rows, int ld) {
  Tensor g = make_tensor(make_gmem_ptr(in), make_shape(rows, _8{}), make_stride(ld, _1{}));
  Tensor part = Wide{}.get_slice(threadIdx.x).partition_S(local_tile(g, Shape<_64, _8>{}, make_coord(blockIdx.x, 0)));
  Tensor r = make_fragment_like(part(_, 0, _));
  copy(Wide{}, part(_, 1, _), r);
}
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[Event, ...]:
    file = tmp_path_factory.mktemp("plain") / "plain.cu"
    file.write_text(PLAIN)
    return extract(ExtractRequest(paths=(file,), archs=("sm_90a",))).events


def test_a_plain_copy_is_what_each_thread_has(plain: tuple[Event, ...]) -> None:
    """Against the definition of local_partition: thread t has row t / 8 + 32 i of column t % 8."""
    probe = probe_of(plain[0])
    assert isinstance(probe, CopyProbe) and isinstance(probe.tiled, PlainCopy) and not probe.tiled.static
    sides = copies.sides(probe)
    ld = max(sides.src) // 127  # what was taken for the run-time stride: the last row's first element is 127 of it
    assert sides.src == [(t // 8 + 32 * i) * ld + t % 8 for i in range(4) for t in range(256)]
    assert sides.dst == [t // 8 + 32 * i + 128 * (t % 8) for i in range(4) for t in range(256)]
    counts = predict.traffic(probe).done()
    assert (counts["inst_st"], counts["wavefronts_st"], counts["ideal_st"]) == (32, 256, 32)  # 8 columns: 8 of a bank
    load = probe_of(plain[1])
    assert isinstance(load, CopyProbe) and load.dst is None and copies.sides(load).src == sides.dst


def test_a_slice_by_its_own_atom(plain: tuple[Event, ...]) -> None:
    """Thread t has four elements of row t / 2 of the second 32 rows."""
    (event,) = (e for e in plain if e.enclosing == "slices")
    probe = probe_of(event)
    assert isinstance(probe, CopyProbe) and isinstance(probe.tiled, PlainCopy) and probe.dst is None
    table = copies.sides(probe).src
    ld = table[0] // 32
    assert ld >= 256 and table == [(32 + t // 2) * ld + t % 2 * 4 + v for v in range(4) for t in range(64)]
    assert predict.traffic(probe).done()["sectors_ld"] == 32  # of 32 bytes, one of each row
    assert "uint128_t>, float>{}, from, to)" in codegen.unit(probe).text


def test_layouts_that_are_not_static_are_copied_element_by_element(plain: tuple[Event, ...]) -> None:
    """cute/algorithm/copy.hpp: pointers are taken to be aligned to 16 bytes only where both layouts are static."""
    loads = [predict.traffic(probe).done()["inst_ld"] for e in plain if e.enclosing == "fours"
             if isinstance(probe := probe_of(e), CopyProbe)]  # fmt: skip
    assert loads == [2, 8]


def test_plain_copies_that_are_not_run_say_why(plain: tuple[Event, ...]) -> None:
    for event, why in zip(plain[2:4], ("under a condition", "converts elements"), strict=True):
        with pytest.raises(NoProbeError, match=why):
            probe_of(event)


@pytest.mark.skipif(isinstance(COMPILER, NoCompiler), reason=getattr(COMPILER, "reason", ""))
def test_they_compile(events: tuple[Event, ...], plain: tuple[Event, ...], tmp_path: Path) -> None:
    """All in one unit: most of the time CuTe's headers are read."""
    assert isinstance(COMPILER, Compiler)
    probes = [*(probe_of(e, events) for e in events), *(probe_of(e) for e in (*plain[:2], *plain[4:]))]
    units = [unit for probe in probes if (unit := unit_of(probe)) is not None]
    assert len(units) == 8 and all(unit.text.startswith('#include "') for unit in units)
    text = "\n".join(re.sub(r"\bChecked", f"Checked{i}_", unit.text) for i, unit in enumerate(units))
    (made,) = compile_units([codegen.Unit("all", text)], "sm_90a", COMPILER, tmp_path)
    assert made.failure == "" and made.cubin is not None
    assert all(f".text.{unit.kernel}\0".encode() in made.cubin.read_bytes() for unit in units)
