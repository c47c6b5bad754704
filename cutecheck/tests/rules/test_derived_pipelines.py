"""A class of the program's own that derives from a pipeline of CUTLASS's, as for kernels without a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.tests.rules.test_cpp_pipelines import BYTES, DATA, DONE, RELEASE, WAIT, codes

PIPE = "using Pipe = cutlass::PipelineTmaAsync<kStages>;\n"
DERIVED = """template <int Stages, class Base = cutlass::PipelineTmaAsync<Stages>>
class AloneIn : public Base {
 public:
  using SharedStorage = typename Base::SharedStorage;
  using PipelineState = typename Base::PipelineState;
  using Params = typename Base::Params;
  template <class Cluster>
  CUTE_DEVICE AloneIn(SharedStorage& s, Params p, Cluster)
      : Base(s, p, Shape<_1, _1, _1>{}, cute::false_type{}, cute::false_type{}), empty_(&s.empty_barrier_[0]) {
    if (threadIdx.x == 0)
      for (int i = 0; i < Stages; ++i) {
        s.full_barrier_[i].init(1);
        s.empty_barrier_[i].init(p.num_consumers / 128);
      }
    cutlass::arch::fence_barrier_init();
  }
  CUTE_DEVICE void consumer_release(PipelineState state) { consumer_release(state.index()); }

 private:
  cutlass::arch::ClusterBarrier* const empty_ = nullptr;
  CUTE_DEVICE void consumer_release(uint32_t stage) { empty_[stage].arrive(0, threadIdx.x % 128 == 0); }
};
using Pipe = AloneIn<kStages>;
"""
OTHER = "sizeof(half_t) + 2048"  # bytes


@pytest.mark.parametrize("include", [(), (DATA / "pipelines",)])
@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ((), ""),
        (((WAIT, ""),), "CUT214"),
        (((RELEASE, ""),), "CUT214"),
        (((DONE + RELEASE, RELEASE + DONE),), "CUT215"),
        (((BYTES, BYTES.replace("sizeof(half_t)", OTHER)),), "CUT805"),
    ],
)
def test_a_step_of_it(
    edits: tuple[tuple[str, str], ...], expected: str, include: tuple[Path, ...], tmp_path: Path
) -> None:
    assert codes(tmp_path, ((PIPE, DERIVED), *edits), include) == expected
