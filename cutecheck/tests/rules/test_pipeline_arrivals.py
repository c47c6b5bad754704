"""How many threads arrive at the barriers of CUTLASS's pipelines, and how many these count."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

DATA = Path(__file__).parents[1] / "data"
KERNEL = (DATA / "mainloops" / "cpp_pipeline.cu").read_text()
HEADER = (DATA / "pipelines" / "cutlass" / "pipeline" / "sm90_pipeline.hpp").read_text()
ASYNC = """
template <int Stages_>
class PipelineAsync {
public:
  static constexpr uint32_t Stages = Stages_;
  using PipelineState = cutlass::PipelineState<Stages>;
  struct SharedStorage {
    uint64_t full_barrier_[Stages];
    uint64_t empty_barrier_[Stages];
  };
  struct Params {
    uint32_t producer_arv_count = 1;
    uint32_t consumer_arv_count = 1;
    uint32_t dst_blockid = cute::block_rank_in_cluster();
  };
  PipelineAsync(SharedStorage& storage, Params params)
      : full_barrier_ptr_(&storage.full_barrier_[0]), empty_barrier_ptr_(&storage.empty_barrier_[0]), params_(params) {}
  void producer_acquire(PipelineState state) {}
  void producer_commit(PipelineState state) {}
  void consumer_wait(PipelineState state) {}
  void consumer_release(PipelineState state) {}

private:
  uint64_t* full_barrier_ptr_;
  uint64_t* empty_barrier_ptr_;
  Params params_;
};

}  // namespace cutlass
"""
UMMA = (
    ASYNC.replace(
        "template <int Stages_>", "template <int Stages_, class Atom = cute::Shape<cute::_1, cute::_1, cute::_1>>"
    )
    .replace("class PipelineAsync", "class PipelineUmmaAsync")
    .replace(
        "PipelineAsync(SharedStorage& storage, Params params)",
        "template <class Cluster> PipelineUmmaAsync(SharedStorage& storage, Params params, Cluster)",
    )
)
COMMITS = """    if (warp == 1) {
      auto at = cutlass::make_producer_start_state<Told>();
      for (int k = 0; k < k_tiles; ++k) {
        told.producer_acquire(at);
        told.producer_commit(at);
        ++at;
      }
    }
"""
RELEASES = """      told.consumer_wait(at);
      told.consumer_release(at);
      ++at;
"""
READ, WAIT = "    cutlass::PipelineState<kStages> read;\n", "      pipe.consumer_wait(read);\n"
STORAGE, MET = "  typename Pipe::SharedStorage pipe;\n", "  __syncthreads();\n"
MADE = "  Told::Params both;\n  both.producer_arv_count = 32;\n  both.consumer_arv_count = 256;\n"
TOLD = (
    (STORAGE, STORAGE + "  Told::SharedStorage told;\n"),
    ("struct Shared {", "using Told = cutlass::PipelineAsync<2>;\nstruct Shared {"),
    (MET, MADE + "  Told told(sh.told, both);\n" + MET),
    ("  } else {\n", COMMITS + "  } else {\n"),
    (READ, READ + "    cutlass::PipelineState<2> at;\n"),
    (WAIT, RELEASES + WAIT),
)
BY_MMA = (
    *TOLD[:1], ("struct Shared {", "using Told = cutlass::PipelineUmmaAsync<2>;\nstruct Shared {"),
    (MET, MADE.replace("= 32", "= 1") + "  Told told(sh.told, both, Shape<_1, _1, _1>{});\n" + MET), *TOLD[3:],
)  # fmt: skip
CASES = {
    "right": ((), ""),
    "of_mmas": (BY_MMA, ""),
    "mmas_count_a_warp": ((*BY_MMA, ("producer_arv_count = 1", "producer_arv_count = 32")), "producer_commit"),
    "readers_of_mmas_count_the_block": (
        (*BY_MMA, ("consumer_arv_count = 256", "consumer_arv_count = 384")), "consumer_release",
    ),
    "mmas_do_not_commit": ((*BY_MMA, ("        told.producer_commit(at);\n", "")), "CUT214"),
    "more_consumers": ((("num_consumers = 256", "num_consumers = 384"),), "consumer_release"),
    "one_thread_of_each_warp": (
        (
            ("num_consumers = 256", "num_consumers = 8"),
            ("      pipe.consumer_release(read);", "      if (threadIdx.x % 32 == 0) pipe.consumer_release(read);"),
        ),
        "",
    ),
    "in_a_cluster": (
        (("num_consumers = 256", "num_consumers = 384"), ("Shape<_1, _1, _1>{});", "Shape<_2, _1, _1>{});")), "",
    ),
    "of_threads": (TOLD, ""),
    "producer_counts_a_warpgroup": (
        (*TOLD, ("producer_arv_count = 32", "producer_arv_count = 128")), "producer_commit",
    ),
    "producer_counts_one": ((*TOLD, ("producer_arv_count = 32", "producer_arv_count = 1")), "producer_commit"),
    "consumers_count_one_warpgroup": (
        (*TOLD, ("consumer_arv_count = 256", "consumer_arv_count = 128")), "consumer_release",
    ),
    "consumers_count_the_block": (
        (*TOLD, ("consumer_arv_count = 256", "consumer_arv_count = 384")), "consumer_release",
    ),
    "one_lane_commits": (
        (
            *TOLD, ("producer_arv_count = 32", "producer_arv_count = 1"),
            ("        told.producer_commit(at);", "        if (lane) told.producer_commit(at);"),
        ),
        "",
    ),
    "nobody_releases": ((*TOLD, ("      told.consumer_release(at);\n", "")), "CUT214"),
    "all_lanes_load": ((("if (warp == 0 && lane) {", "if (warp == 0) {"),), "several threads of one warp"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_arrivals(name: str, tmp_path: Path) -> None:
    text = KERNEL
    for old, new in CASES[name][0]:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    header = tmp_path / "include" / "cutlass" / "pipeline" / "sm90_pipeline.hpp"
    header.parent.mkdir(parents=True)
    header.write_text(HEADER[: HEADER.rindex("\n}  // namespace")] + ASYNC.rpartition("}  // namespace")[0] + UMMA)
    (tmp_path / "kernel.cu").write_text(text)
    settings = Settings(cache=False, arch=("sm_90a",), include=(tmp_path / "include",), select=("CUT2",))
    report = check(inputs([str(tmp_path / "kernel.cu")]), settings)
    assert not report.failures and not report.errors
    said = [f"{f.code} {f.message}" for f in report.findings]
    if CASES[name][1]:
        assert said and all(CASES[name][1] in message for message in said), said
    else:
        assert not said
