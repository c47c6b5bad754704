"""Kernels whose blocks take over tiles of blocks that have not started; all of it compiles."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE
from cutecheck.tests.rules.test_barriers_by_assembly import OWN

CANCEL = r"""
struct Tile { int x, y, z; uint32_t valid; };
__device__ void cancel(uint32_t response, uint32_t bar) {
  asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];"
               ::"r"(response), "r"(bar) : "memory");
}
__device__ Tile answer(uint32_t response) {
  Tile t{0, 0, 0, 0};
  asm volatile("{ .reg .pred p; .reg .b128 r;\n ld.shared.b128 r, [%4];\n"
               "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, r;\n selp.u32 %3, 1, 0, p;\n"
               "@p clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%0, %1, %2, _}, r; }"
               : "=r"(t.x), "=r"(t.y), "=r"(t.z), "=r"(t.valid) : "r"(response) : "memory");
  return t;
}
struct Two {
  int index = 0;
  uint32_t phase = 0;
  __device__ void next() { if (++index == 2) { index = 0; phase ^= 1; } }
};
"""
KERNEL = """
struct Shared {
  alignas(128) float data[3 * 2048];
  own::Barrier full[3], empty[3];
  alignas(16) uint4 response[2];
  own::Barrier told[2], read[2];
};
__device__ Tile next(Shared& s, Two& at) {
  s.told[at.index].wait(at.phase);
  Tile tile = answer(own::shared(&s.response[at.index]));
  s.read[at.index].arrive();
  at.next();
  return tile;
}
__global__ void __launch_bounds__(192) tiles(float const* in, float* out, int rows) {
  int const parts = rows / 64;
  extern __shared__ char memory[];
  Shared& s = *reinterpret_cast<Shared*>(memory);
  if (threadIdx.x == 0) {
    for (int i = 0; i < 3; ++i) { s.full[i].init(1); s.empty[i].init(128); }
    for (int i = 0; i < 2; ++i) { s.told[i].init(1); s.read[i].init(130); }
  }
  __syncthreads();
  own::State at;
  Two work;
  Tile tile{int(blockIdx.x), 0, 0, 1};
  if (threadIdx.x == 160) {
    Two asked;
    do {
      s.read[asked.index].wait(asked.phase ^ 1);
      s.told[asked.index].expect(16);
      cancel(own::shared(&s.response[asked.index]), s.told[asked.index].at());
      asked.next();
      tile = next(s, work);
    } while (tile.valid);
  } else if (threadIdx.x == 128) {
    do {
      for (int t = 0; t < parts; ++t) {
        s.empty[at.index].wait(at.phase ^ 1);
        s.full[at.index].expect(8192);
        own::bulk(own::shared(s.data + at.index * 2048), in + (tile.x * parts + t) * 2048, 8192, s.full[at.index].at());
        at.next();
      }
      tile = next(s, work);
    } while (tile.valid);
  } else if (threadIdx.x < 128) {
    Tensor ts = Read{}.get_slice(threadIdx.x).partition_S(make_tensor(make_smem_ptr(s.data), Tiles{}));
    Tensor r = make_fragment_like(ts(_, _, _, 0));
    do {
      for (int t = 0; t < parts; ++t) {
        s.full[at.index].wait(at.phase);
        copy(Read{}, ts(_, _, _, at.index), r);
        s.empty[at.index].arrive();
        at.next();
        out[threadIdx.x + tile.x] = r(0);
      }
      tile = next(s, work);
    } while (tile.valid);
  }
}
void run(float const* in, float* out, int rows) { tiles<<<64, 192, sizeof(Shared)>>>(in, out, rows); }
"""
MISTAKES = {
    "right": ("", "", ""),
    "response_not_released": ("  s.read[at.index].arrive();\n", "", "CUT217"),
    "response_of_all_threads": ("s.read[i].init(130)", "s.read[i].init(192)", "CUT217"),
    "phase_of_the_response": ("s.told[at.index].wait(at.phase);", "s.told[at.index].wait(at.phase ^ 1);", "CUT217"),
    "bytes_of_the_response": ("expect(16)", "expect(32)", "CUT"),
    "stages_begin_again_with_a_tile": (
        "      tile = next(s, work);\n    } while (tile.valid);\n  } else if",
        "      tile = next(s, work);\n      at = own::State{};\n    } while (tile.valid);\n  } else if",
        "CUT217",
    ),
    "phases_begin_again_with_a_tile": (
        "        out[threadIdx.x + tile.x] = r(0);\n      }\n",
        "        out[threadIdx.x + tile.x] = r(0);\n      }\n      at.phase = 0;\n",
        "CUT21",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_tiles_of_cancelled_blocks(name: str, tmp_path: Path) -> None:
    old, new, code = MISTAKES[name]
    text = PREAMBLE + OWN + CANCEL + KERNEL
    assert old in text
    path = tmp_path / "tiles.cu"
    path.write_text(text.replace(old, new) if old else text)
    report = check(inputs([str(path)]), Settings(arch=("sm_100a",), cache=False, select=("CUT2", "CUT8")))
    assert not report.failures and not report.errors
    found = {f.code for f in report.findings}
    assert any(c.startswith(code) for c in found) if code else not found, found


OF_LIBRARY = """
using Clc = cutlass::PipelineCLCFetchAsync<1, Shape<_1, _1, _1>>;
struct Own {
  own::Barrier ready;
  typename Clc::SharedStorage clc;
  alignas(16) uint4 response;
};
__global__ void asks(float* out) {
  extern __shared__ char memory[];
  Own& s = *reinterpret_cast<Own*>(memory);
  if (threadIdx.x == 0) s.ready.init(128);
  typename Clc::Params params;
  params.transaction_bytes = 16;
  params.producer_arv_count = 1;
  params.consumer_arv_count = 128;
  Clc clc(s.clc, params, Shape<_1, _1, _1>{});
  __syncthreads();
  typename Clc::PipelineState asked = cutlass::make_producer_start_state<Clc>();
  s.ready.arrive();
  s.ready.wait(0);
  if (threadIdx.x == 0) {
    uint32_t bar = clc.producer_get_barrier(asked);
    clc.producer_acquire(asked);
    cancel(own::shared(&s.response), bar);
    ++asked;
  }
  copy(make_tensor(make_smem_ptr(&s.response), Shape<_1>{}), make_tensor(make_gmem_ptr((uint4*)out), Shape<_1>{}));
}
void run(float* out) { asks<<<64, 128, sizeof(Own)>>>(out); }
"""


def test_barriers_of_a_pipeline_are_worked_by_its_methods(tmp_path: Path) -> None:
    path = tmp_path / "asks.cu"
    path.write_text(PREAMBLE + OWN + CANCEL + OF_LIBRARY)
    report = check(inputs([str(path)]), Settings(arch=("sm_100a",), cache=False, select=("CUT217",)))
    assert not report.failures and not report.errors and not report.findings
