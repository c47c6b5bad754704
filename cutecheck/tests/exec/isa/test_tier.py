"""The ISA tier: predictions from layouts, what contradicts them, and real compilers where there is one."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from cutecheck.cli.app import run as cutecheck
from cutecheck.exec.gpu.compile import Compiler, NoCompiler, find_compiler
from cutecheck.exec.isa import compile as compiling
from cutecheck.exec.isa import predict, tier
from cutecheck.exec.isa.compile import Bench, Emitted, Kernel, emitted, find_disassembler
from cutecheck.exec.isa.from_facts import NoCallError, call_of
from cutecheck.exec.isa.probe import CopyCall, MmaCall
from cutecheck.facts import Facts, Site, Span
from cutecheck.model.algebra import offsets
from cutecheck.model.atoms import copy_op, mma_op
from cutecheck.model.dtype import dtype
from cutecheck.model.layout import Layout
from cutecheck.model.tiled import TiledCopy, make_tiled_copy, make_tiled_mma
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

FOUND = find_compiler()
REAL = pytest.mark.skipif(isinstance(FOUND, NoCompiler), reason=getattr(FOUND, "reason", "compiler found"))
HALF = dtype("half_t")
assert HALF is not None

SOURCE = """
#include <cute/tensor.hpp>
using namespace cute;
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
using Copy = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
                                      Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
__global__ void __launch_bounds__(128) work(half_t const* in, half_t* out, int ld) {
  __shared__ half_t smem[128 * 64];
  auto g = make_tensor(make_gmem_ptr(in), make_layout(Shape<_128, _64>{}, make_stride(ld, _1{})));
  auto rows = composition(Swizzle<3, 3, 3>{}, Layout<Shape<_128, _64>, Stride<_64, _1>>{});
  auto s = make_tensor(make_smem_ptr(smem), rows);
  Copy copier;
  auto thr = copier.get_slice(threadIdx.x);
  copy(copier, thr.partition_S(g), thr.partition_D(s));
  Mma mma;
  auto read = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  auto from = read.get_slice(threadIdx.x);
  auto a = mma.get_slice(threadIdx.x).partition_fragment_A(s);
  copy(read, from.partition_S(s), from.retile_D(a));
  auto r = make_tensor<half_t>(Layout<Shape<_8, _2>>{});
  copy(make_tensor(make_smem_ptr(smem), Layout<Shape<_8, _2>, Stride<_1, _64>>{}), r);
  auto row = make_tensor(make_gmem_ptr(out), make_layout(Shape<_8, _2>{}, make_stride(_1{}, ld)));
  copy(r, row);
  auto b = make_tensor<half_t>(Layout<Shape<_4, _8, _4>>{});
  auto c = make_tensor<float>(Layout<Shape<_4, _4, _8>>{});
  gemm(mma, a, b, c);
}
"""
# by hand: 128*64 halves over 128 threads are 64 each, 8 a 16-byte copy; A is 128x64 by 32x16 tiles: 4*4 ldmatrix.x4; a
# static plain copy takes 16 bytes, one with a run-time stride goes element by element; 4 * 8 * 4 MMAs
EXPECTED = [
    {("LDGSTS", "128"): 8}, {("LDSM", "4"): 16}, {("LDS", "128"): 2}, {("STG", "16"): 16}, {("MMA", "m16n8k16"): 128},
]  # fmt: skip


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    file = tmp_path_factory.mktemp("isa") / "work.cu"
    file.write_text(SOURCE)
    return extract(ExtractRequest(paths=(file,), archs=("sm_80",)))


def predicted(call: CopyCall | MmaCall) -> Counter[tuple[str, str]]:
    return predict.copied(call) if isinstance(call, CopyCall) else predict.multiplied(call)


def test_predictions_by_hand(facts: Facts) -> None:
    assert [dict(predicted(call_of(e))) for e in facts.events] == EXPECTED


@pytest.mark.parametrize("threads", [(16, 8), (32, 4), (4, 8)])
@pytest.mark.parametrize("values", [1, 2, 4, 8])
def test_a_site_moves_its_tile_once(threads: tuple[int, int], values: int) -> None:
    """Brute force: bits of all predicted accesses of all threads are the bits of the tile."""
    width = copy_op("UniversalCopy", (dtype(f"uint{16 * values}_t"),), HALF)
    tiled = make_tiled_copy(width, Layout(threads, (threads[1], 1)), Layout((2, 8), (8, 1)))
    here = Span("made.hpp", 1, 1, 1, 2)
    call = call_of(Site("made", "tiled_copy", "made", here, here, (), "sm_80", "resolved", tiled))
    counted = predicted(call)
    assert set(counted) == {("LDG", str(16 * values))}
    moved = sum(n * int(bits) for (_, bits), n in counted.items()) * threads[0] * threads[1]
    assert moved == 16 * len(set(offsets(tiled.layout_tv)))


def test_a_site_of_an_mma_is_every_atom_once() -> None:
    mma = make_tiled_mma(mma_op("SM80_16x8x16_F32F16F16F32_TN"), Layout((2, 2, 1), (1, 2, 4)), (64, 32, 32))
    here = Span("made.hpp", 1, 1, 1, 2)
    call = call_of(Site("made", "tiled_mma", "made", here, here, (), "sm_80", "resolved", mma))
    # 64x32x32 by warps of 2x2 atoms of 16x8x16: 2 * 2 * 2 atoms a warp
    assert dict(predicted(call)) == {("MMA", "m16n8k16"): 8}


def test_what_emits_nothing_says_so(facts: Facts) -> None:
    here = Span("made.hpp", 1, 1, 1, 2)
    layout = Site("made", "layout", "made", here, here, (), "sm_80", "resolved", Layout(8, 1))
    with pytest.raises(NoCallError, match="a layout has no instructions"):
        call_of(layout)
    coordinates = replace(facts.events[0].operands[0], space="coord")
    with pytest.raises(NoCallError, match="coordinates"):
        call_of(replace(facts.events[0], operands=(coordinates, facts.events[0].operands[1])))


def test_a_wrong_width_or_count_is_contradicted(facts: Facts) -> None:
    """Mutation: one instruction more, another width, another kind; in PTX alone and in SASS alone."""
    call = call_of(facts.events[0])
    right = predicted(call)
    same = Emitted(dict(right), dict(right))
    assert tier.judged("sm_80", call, right, same).status == "confirmed"
    wrong: list[dict[tuple[str, str], int]] = [
        {("LDGSTS", "128"): 9}, {("LDGSTS", "64"): 8}, {("LDGSTS", "128"): 8, ("LDS", "32"): 1}, {},
        {("LDG", "128"): 8, ("STS", "128"): 8},
    ]  # fmt: skip
    for other in wrong:
        for mutated in (Emitted(other, dict(right)), Emitted(dict(right), other)):
            result = tier.judged("sm_80", call, right, mutated)
            assert result.status == "contradicted" and "predicted 8 LDGSTS.128" in result.reason


def test_without_a_compiler_it_is_unavailable(facts: Facts) -> None:
    results = tier.confirm(facts, "no NVRTC here")
    assert {r.status for r in results} == {"unavailable"}
    assert "no NVRTC here" in {r.reason for r in results}


def test_an_atom_of_one_architecture_is_compiled_for_it_alone(facts: Facts, tmp_path: Path) -> None:
    mma = make_tiled_mma(mma_op("SM90::GMMA::MMA_64x64x16_F32F16F16_SS", ("GMMA::Major::K", "GMMA::Major::K")))
    here = Span("made.hpp", 1, 1, 1, 2)
    plan = tier._plan(Site("made", "tiled_mma", "made", here, here, (), "sm_90a", "resolved", mma))
    assert not isinstance(plan, str)
    assert plan.archs(tier.ARCHS) == ["sm_90a"]
    assert dict(plan.predicted) == {("WGMMA", "m64n64k16"): 1}


def test_kernels_are_shared_out_to_as_many_compilers_as_there_are_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    units: list[int] = []

    def chunk(kernels: list[Kernel], arch: str, bench: Bench) -> dict[Kernel, Emitted]:
        units.append(len(kernels))
        return {k: Emitted({("LDG", k.body): 1}) for k in kernels}

    monkeypatch.setattr(compiling, "_chunk", chunk)
    (tmp_path / "nvcc").touch()
    nvcc = Compiler("nvcc", str(tmp_path / "nvcc"), (str(tmp_path),), "4.7.0")
    asked = [Kernel(str(i), 32) for i in range(5)]
    made = emitted([*asked, asked[0]], "sm_80", Bench(nvcc, None, tmp_path, 2))
    assert sorted(units) == [2, 3]
    assert [dict(one.ptx) for one in made] == [{("LDG", str(i)): 1} for i in (0, 1, 2, 3, 4, 0)]


# ---------------------------------------------------------------- with a device compiler


@REAL
def test_the_compiler_emits_what_is_predicted(facts: Facts, tmp_path: Path) -> None:
    assert not isinstance(FOUND, NoCompiler)
    results = tier.confirm(facts, Bench(FOUND, find_disassembler(), tmp_path, 1), tier.IsaOptions(("sm_80",)))
    events = results[len(facts.sites) :]
    assert [(r.status, dict(r.predicted)) for r in events] == [("confirmed", e) for e in EXPECTED]
    assert all(r.status == "confirmed" for r in results if r.fact.kind in ("tiled_copy", "tiled_mma"))
    # a second run reads what was kept, and a mutated prediction is contradicted by it
    call = call_of(facts.events[1])
    kept = emitted([Kernel(tier.codegen.body(call), 128)], "sm_80", Bench(FOUND, find_disassembler(), tmp_path, 1))
    mutated = Counter({("LDSM", "2"): 32})
    assert tier.judged("sm_80", call, mutated, kept[0]).status == "contradicted"


@REAL
def test_a_kernel_that_does_not_compile_is_set_apart(tmp_path: Path) -> None:
    assert not isinstance(FOUND, NoCompiler)
    good = Kernel("  static_cast<int*>(at.q)[0] = static_cast<int*>(at.p)[1];", 32)
    bad = Kernel('  static_assert(sizeof(at) == 1, "not so");', 32)
    made = emitted([bad, good], "sm_80", Bench(FOUND, None, tmp_path, 1))
    assert "not so" in made[0].failure
    assert made[1].failure == "" and dict(made[1].ptx) == {("LDG", "32"): 1, ("STG", "32"): 1}


@REAL
def test_an_architecture_that_the_compiler_lacks_is_unavailable(tmp_path: Path) -> None:
    assert not isinstance(FOUND, NoCompiler)
    made = emitted([Kernel("", 32)], "sm_60", Bench(FOUND, None, tmp_path, 1))
    assert made[0].failure == "the compiler has no sm_60"


def test_the_command_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from cutecheck.exec.gpu import compile as device

    monkeypatch.setattr(device, "cutlass_directories", lambda _environ: iter(()))
    file = tmp_path / "work.cu"
    file.write_text(SOURCE)
    command = ["confirm", "--isolated", "--no-cache", "--arch", "sm_80", "--tier", "isa", str(file)]
    assert cutecheck([*command, "--output-format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["summary"]["events"] == {"confirmed": 0, "contradicted": 0, "unavailable": 5}
    assert all("no CuTe headers found" in r["reason"] for r in document["results"] if r["fact"] == "event")
    assert cutecheck([*command, "--unavailable", "error"]) == 1


def test_a_tiler_with_gaps_gets_a_tile_that_reaches_as_far() -> None:
    """Columns 0..7, 8..15, 64..79: a tile of 32 columns would make the copy touch some twice."""
    tiler = (64, Layout((8, 2, 2), (1, 64, 8)))
    tv = Layout(((4, 8, 4, 2), ((2, 2), (1, 2))), ((128, 1, 16, 512), ((64, 8), (0, 1024))))
    tiled = TiledCopy(copy_op("AutoVectorizingCopyWithAssumedAlignment", (128,), HALF), tv, tiler)
    here = Span("made.hpp", 1, 1, 1, 2)
    call = call_of(Site("made", "tiled_copy", "made", here, here, (), "sm_80", "resolved", tiled))
    assert isinstance(call, CopyCall)
    touched = offsets(call.src.layout)
    assert len(set(touched)) == len(touched) == 32
    assert predicted(call) == {("LDG", "32"): 16}
