"""Kernels whose epilogue loads C by a ``PipelineTransactionAsync``, where a factor is not 0: run by role."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.tests.rules.test_pipeline_arrivals import ASYNC, HEADER, KERNEL, MET, STORAGE

CLASS = (
    ASYNC.rpartition("}  // namespace")[0]
    .replace("PipelineAsync", "PipelineTransactionAsync")
    .replace("    uint32_t dst_blockid", "    uint32_t transaction_bytes = 0;\n    uint32_t dst_blockid")
    .replace(
        "  void producer_commit",
        "  void producer_expect_transaction(PipelineState state) {}\n"
        "  uint64_t* producer_get_barrier(PipelineState state) { return &full_barrier_ptr_[state.index()]; }\n"
        "  void producer_commit",
    )
)
PARAMS = """  Load::Params both;
  both.producer_arv_count = 32;
  both.consumer_arv_count = 256;
  both.transaction_bytes = 128 * 32 * sizeof(half_t);
  Load load(sh.load, both);
  bool const scaled = factors.of[1] != 0.0f;
"""
PRODUCER = """    if (warp == 1 && scaled) {
      auto at = cutlass::make_producer_start_state<Load>();
      for (int i = 0; i < 4; ++i) {
        auto* bar = load.producer_get_barrier(at);
        load.producer_acquire(at);
        if (lane) {
          copy(tma_c.with(*bar), tCg(_, i), tCs(_, at.index()));
          load.producer_expect_transaction(at);
        }
        load.producer_commit(at);
        ++at;
      }
    }
"""
CONSUMER = """    cutlass::PipelineState<2> at;
    for (int i = 0; i < 4 && scaled; ++i) {
      load.consumer_wait(at);
      Tensor mine = sC(threadIdx.x % 128, _, at.index());
      Tensor c = make_fragment_like(mine);
      copy(mine, c);
      acc(i) += factors.of[1] * float(c(0));
      load.consumer_release(at);
      ++at;
    }
"""
EDITS = (
    (STORAGE, STORAGE + "  Load::SharedStorage load;\n  alignas(1024) half_t c[cosize_v<SmemC>];\n"),
    (
        "struct Shared {",
        "using Load = cutlass::PipelineTransactionAsync<2>;\n"
        "using SmemC = decltype(tile_to_shape(GMMA::Layout_K_SW64_Atom<half_t>{}, Shape<BM, _32, _2>{}));\n"
        "struct Factors { float of[2]; };\nstruct Shared {",
    ),
    ("template <class TmaA, class TmaB>", "template <class TmaA, class TmaB, class TmaC>"),
    ("TmaB const tma_b,", "TmaB const tma_b, CUTE_GRID_CONSTANT TmaC const tma_c, Factors const factors,"),
    (MET, PARAMS + MET),
    (
        "  auto [tBgB",
        "  Tensor sC = make_tensor(make_smem_ptr(sh.c), SmemC{});\n"
        "  Tensor gL = local_tile(tma_c.get_tma_tensor(make_shape(M, N)), Shape<BM, _32>{}, make_coord(blockIdx.x, _));"
        "\n  auto [tCg, tCs] = tma_partition(tma_c, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sC), "
        "group_modes<0, 2>(gL));\n"
        "  auto [tBgB",
    ),
    ("  } else {\n", PRODUCER + "  } else {\n"),
    ("    copy(acc, tCgC);", CONSUMER + "    copy(acc, tCgC);"),
    ("half_t* C, int M, int N, int K) {\n  Tensor", "half_t* C, Factors f, int M, int N, int K) {\n  Tensor"),
    (
        "  auto* kernel",
        "  Tensor gC = make_tensor(make_gmem_ptr((half_t const*)C), make_shape(M, N), make_stride(N, _1{}));\n"
        "  auto tma_c = make_tma_atom(SM90_TMA_LOAD{}, gC, SmemC{}(_, _, 0), Shape<BM, _32>{});\n  auto* kernel",
    ),
    ("decltype(tma_b)>", "decltype(tma_b), decltype(tma_c)>"),
    ("(tma_a, tma_b, C,", "(tma_a, tma_b, tma_c, f, C,"),
)  # fmt: skip
CASES = {
    "right": ("", "", ""),
    "no acquire": ("        load.producer_acquire(at);\n", "", "CUT21"),
    "no commit": ("        load.producer_commit(at);\n", "", "CUT217"),
    "no bytes": ("          load.producer_expect_transaction(at);\n", "", "CUT21"),
    "no wait": ("      load.consumer_wait(at);\n", "", "CUT213"),
    "no release": ("      load.consumer_release(at);\n", "", "CUT217"),
    "one commit counted": ("producer_arv_count = 32", "producer_arv_count = 1", "CUT217"),
    "half of the readers counted": ("consumer_arv_count = 256", "consumer_arv_count = 128", "CUT217"),
    "first stage": ("tCs(_, at.index())", "tCs(_, 0)", "CUT21"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_transactions(name: str, tmp_path: Path) -> None:
    text = KERNEL
    for before, after in EDITS:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    old, new, code = CASES[name]
    assert not old or text.count(old) == 1
    header = tmp_path / "include" / "cutlass" / "pipeline" / "sm90_pipeline.hpp"
    header.parent.mkdir(parents=True)
    header.write_text(HEADER[: HEADER.rindex("\n}  // namespace")] + CLASS + "}  // namespace cutlass\n")
    (tmp_path / "kernel.cu").write_text(text.replace(old, new) if old else text)
    settings = Settings(cache=False, arch=("sm_90a",), include=(tmp_path / "include",), select=("CUT2", "CUT8"))
    report = check(inputs([str(tmp_path / "kernel.cu")]), settings)
    assert not report.failures and not report.errors
    said = [f"{f.code} {f.message}" for f in report.findings]
    assert any(s.startswith(code) for s in said) if code else not said, said
