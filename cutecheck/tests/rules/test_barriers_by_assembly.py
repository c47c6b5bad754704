"""Barriers that a program initialises, arrives at and waits for by instructions of its own; all of it compiles."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.model.prove import prove
from cutecheck.rules.base import Context
from cutecheck.rules.examples import PREAMBLE
from cutecheck.rules.replayed import reported
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

OWN = r"""
namespace own {
__device__ uint32_t shared(void const* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ void init(uint32_t bar, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(bar), "r"(count));
}
__device__ void arrive(uint32_t bar) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory"); }
__device__ void expect(uint32_t bar, uint32_t n) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(n) : "memory");
}
__device__ bool over(uint32_t bar, uint32_t parity) {
  uint32_t ok;
  asm volatile("{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n selp.b32 %0, 1, 0, p;\n}\n"
               : "=r"(ok) : "r"(bar), "r"(parity) : "memory");
  return ok != 0;
}
__device__ void wait(uint32_t bar, uint32_t parity) { while (!over(bar, parity)) __nanosleep(20); }
__device__ void bulk(uint32_t to, void const* from, uint32_t n, uint32_t bar) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               ::"r"(to), "l"(from), "r"(n), "r"(bar) : "memory");
}
__device__ bool elected() {
  uint32_t p = 0;
  asm volatile("{ .reg .pred q; elect.sync _|q, 0xffffffff; @q mov.s32 %0, 1; }" : "+r"(p));
  return p != 0;
}
struct Barrier {
  uint64_t raw;
  __device__ void init(uint32_t n) { own::init(shared(&raw), n); }
  __device__ void arrive() { own::arrive(shared(&raw)); }
  __device__ void expect(uint32_t n) { own::expect(shared(&raw), n); }
  __device__ void wait(uint32_t p) { own::wait(shared(&raw), p); }
  __device__ uint32_t at() { return shared(&raw); }
};
struct State {
  int index = 0;
  uint32_t phase = 0;
  __device__ void next() { if (++index == 3) { index = 0; phase ^= 1; } }
};
}
using Tiles = Layout<Shape<_32, _64, _3>, Stride<_64, _1, _2048>>;
using Read = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, Layout<Shape<_8, _16>,
    Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
"""
RING = """
struct Shared { alignas(128) float data[3 * 2048]; own::Barrier full[3], empty[3]; };
__global__ void __launch_bounds__(160) ring(float const* in, float* out, int rows) {
  int const tiles = rows / 64;
  extern __shared__ char memory[];
  Shared& s = *reinterpret_cast<Shared*>(memory);
  if (threadIdx.x == 0) {
    for (int i = 0; i < 3; ++i) {
      s.full[i].init(1);
      s.empty[i].init(128);
    }
  }
  __syncthreads();
  own::State at;
  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128) {
      for (int t = 0; t < tiles; ++t) {
        s.empty[at.index].wait(at.phase ^ 1);
        s.full[at.index].expect(8192);
        own::bulk(own::shared(s.data + at.index * 2048), in + t * 2048, 8192, s.full[at.index].at());
        at.next();
      }
    }
    return;
  }
  Tensor ts = Read{}.get_slice(threadIdx.x).partition_S(make_tensor(make_smem_ptr(s.data), Tiles{}));
  Tensor r = make_fragment_like(ts(_, _, _, 0));
  for (int t = 0; t < tiles; ++t) {
    s.full[at.index].wait(at.phase);
    copy(Read{}, ts(_, _, _, at.index), r);
    s.empty[at.index].arrive();
    at.next();
    out[threadIdx.x] = r(0);
  }
}
void run(float const* in, float* out, int tiles) { ring<<<8, 160, sizeof(Shared)>>>(in, out, tiles); }
"""
RELEASE = "    s.empty[at.index].arrive();\n"
READS = "    copy(Read{}, ts(_, _, _, at.index), r);\n"
MISTAKES = {
    "right": ("", "", ""),
    "full_not_waited_for": ("    s.full[at.index].wait(at.phase);\n", "", "CUT213"),
    "empty_not_waited_for": ("        s.empty[at.index].wait(at.phase ^ 1);\n", "", "CUT213"),
    "phase_of_the_producer": ("wait(at.phase ^ 1)", "wait(at.phase)", "CUT217"),
    "one_phase": ("wait(at.phase);", "wait(0);", "CUT217"),
    "not_released": (RELEASE, "", "CUT217"),
    "released_before_it_is_read": (READS + RELEASE, RELEASE + READS, "CUT212"),
    "too_many_counted": ("init(128)", "init(160)", "CUT217"),
    "not_initialised": ("      s.empty[i].init(128);\n", "", "CUT217"),
    "no_bytes": ("        s.full[at.index].expect(8192);\n", "", "CUT217"),
    "elements_for_bytes": ("expect(8192)", "expect(2048)", "CUT805"),
    "phase_not_flipped": ("index = 0; phase ^= 1;", "index = 0;", "CUT217"),
}


def codes(tmp_path: Path, text: str, arch: str = "sm_90a") -> set[str]:
    path = tmp_path / "own.cu"
    path.write_text(PREAMBLE + text)
    report = check(inputs([str(path)]), Settings(arch=(arch,), cache=False))
    assert not report.failures and not report.errors
    return {f.code for f in report.findings if f.code.startswith(("CUT2", "CUT7", "CUT8"))}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_ring_of_stages(name: str, tmp_path: Path) -> None:
    old, new, code = MISTAKES[name]
    text = OWN + RING
    assert old in text
    found = codes(tmp_path, text.replace(old, new) if old else text)
    assert code in found if code else not found


ONE_PHASE = ("wait(at.phase);", "wait(0);")  # which later passes show
LOADED = """__device__ float loaded(float const* p) {
  float x;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "l"(__cvta_generic_to_shared(p)));
  return x;
}
"""
WRITTEN = {
    "barriers_are_objects_that_say_where_they_are": (
        ("own::init(shared(&raw), n)", "own::init(shared(this), n)"),
        ("own::wait(shared(&raw), p)", "own::wait(shared(this), p)"),
        ("uint32_t at() { return shared(&raw); }", "uint32_t at() { return shared(this); }"),
    ),
    "a_part_is_loaded_by_assembly": (
        ("struct Shared {", "struct Shared { alignas(128) char all[24624]; };\nstruct Parts {"),
        ("Shared& s = *reinterpret_cast<Shared*>(memory);", "Parts& s = *reinterpret_cast<Parts*>(memory);"),
        (READS, READS + "    out[0] = loaded(reinterpret_cast<float*>(memory) + at.index * 2048 + threadIdx.x);\n"),
    ),
    "a_long_loop_that_numbers_of_the_source_end": (
        ("rows / 64", "rows / 192"),
        (READS, "    for (int i = 0; i < 28; ++i) copy(Read{}, ts(_, i % 4, 0, at.index), r(_, i % 4, 0));\n"),
    ),
    "blocks_share_the_tiles": (
        ("ring(float const* in, float* out, int rows) {", "ring(float const* in, float* out, int* lens, int parts) {"),
        ("int const tiles = rows / 64;", "int const all = lens[blockIdx.y] / 64, share = (all + parts - 1) / parts,\n"
         "      first = blockIdx.x * share, tiles = min(first + share, all) - first;"),
        ("out, int tiles)", "out, int* tiles, int parts)"),
        ("out, tiles)", "out, tiles, parts)"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_the_same_ring_in_other_words(name: str, tmp_path: Path) -> None:
    text = OWN + LOADED + RING
    for old, new in WRITTEN[name]:
        assert text.count(old) == 1
        text = text.replace(old, new)
    assert not codes(tmp_path, text)
    assert "CUT213" in codes(tmp_path, text.replace(*ONE_PHASE))


def test_a_header_with_configurations_alone_is_told_of_its_barriers(tmp_path: Path) -> None:
    """Where a barrier is initialised no copy, load or wait need stand."""
    (tmp_path / "own.cuh").write_text(f"#pragma once\n{PREAMBLE}" + OWN)
    (tmp_path / "ring.cu").write_text('#include "own.cuh"\n' + RING)
    facts = extract(ExtractRequest((tmp_path,), ("sm_90a",)))
    assert {p.rpartition("/")[2] for p in reported(Context(facts, prove))} == {"own.cuh", "ring.cu"}


RIGHT = """
// memory carved by hand, addresses as numbers, parity by division; a lane waits and arrives for its warp
__global__ void __launch_bounds__(160) carved(float const* in, float* out, int rows) {
  int const tiles = rows / 64;
  extern __shared__ char memory[];
  float* data = reinterpret_cast<float*>(memory);
  uint32_t const full = own::shared(memory + 3 * 8192), empty = full + 24;
  int const lane = threadIdx.x % 32;
  if (threadIdx.x == 128) {
    for (int i = 0; i < 3; ++i) { own::init(full + i * 8, 1); own::init(empty + i * 8, 4); }
  }
  __syncthreads();
  if (threadIdx.x >= 128) {
    if (own::elected()) {
      for (int t = 0; t < tiles; ++t) {
        int const i = t % 3;
        own::wait(empty + i * 8, ((t / 3) & 1) ^ 1);
        own::expect(full + i * 8, 8192);
        own::bulk(own::shared(data + i * 2048), in + t * 2048, 4096, full + i * 8);
        own::bulk(own::shared(data + i * 2048 + 1024), in + t * 2048 + 1024, 4096, full + i * 8);
      }
    }
  } else {
    Tensor ts = Read{}.get_slice(threadIdx.x).partition_S(make_tensor(make_smem_ptr(data), Tiles{}));
    Tensor r = make_fragment_like(ts(_, _, _, 0));
    for (int t = 0; t < tiles; ++t) {
      int const i = t % 3;
      if (lane == 0) own::wait(full + i * 8, (t / 3) & 1);
      __syncwarp();
      copy(Read{}, ts(_, _, _, i), r);
      __syncwarp();
      if (lane == 0) own::arrive(empty + i * 8);
      out[threadIdx.x] = r(0);
    }
  }
}
// stages that are structs with barriers of their own, asked before they are waited for
struct Stage { alignas(128) float tile[2048]; own::Barrier full, empty; };
struct Stages { Stage stage[2]; };
__global__ void __launch_bounds__(128) structs(float const* in, float* out, int rows) {
  int const tiles = rows / 64;
  extern __shared__ char memory[];
  Stages& s = *reinterpret_cast<Stages*>(memory);
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) { s.stage[i].full.init(1); s.stage[i].empty.init(128); }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2 && i < tiles; ++i) {
      s.stage[i].full.expect(8192);
      own::bulk(own::shared(s.stage[i].tile), in + i * 2048, 8192, s.stage[i].full.at());
    }
  }
  uint32_t phase = 0;
  for (int t = 0; t < tiles; ++t) {
    Stage& st = s.stage[t & 1];
    if (!own::over(st.full.at(), phase)) {
      while (!own::over(st.full.at(), phase)) {}
    }
    Tensor whole = make_tensor(make_smem_ptr(st.tile), Layout<Shape<_32, _64>, Stride<_64, _1>>{});
    Tensor ts = Read{}.get_slice(threadIdx.x).partition_S(whole);
    Tensor r = make_fragment_like(ts);
    copy(Read{}, ts, r);
    st.empty.arrive();
    out[threadIdx.x] = r(0);
    if (threadIdx.x == 0 && t + 2 < tiles) {
      st.empty.wait(phase);
      st.full.expect(8192);
      own::bulk(own::shared(st.tile), in + (t + 2) * 2048, 8192, st.full.at());
    }
    if (t & 1) phase ^= 1;
  }
}
// the next tile is loaded while this one is used; barriers that are initialised one by one
__global__ void __launch_bounds__(128) next(float const* in, float* out, int rows) {
  int const tiles = rows / 64;
  __shared__ alignas(128) float tile[2][2048];
  __shared__ own::Barrier bar[2];
  if (threadIdx.x == 0) { bar[0].init(1); bar[1].init(1); }
  __syncthreads();
  auto load = [&](int t) {
    bar[t % 2].expect(8192);
    own::bulk(own::shared(tile[t % 2]), in + t * 2048, 8192, bar[t % 2].at());
  };
  if (threadIdx.x == 0) load(0);
  for (int t = 0; t < tiles; ++t) {
    if (threadIdx.x == 0 && t + 1 < tiles) load(t + 1);
    while (true) { if (own::over(bar[t % 2].at(), (t / 2) % 2)) break; }
    out[threadIdx.x] = tile[t % 2][threadIdx.x];
    __syncthreads();
  }
}
void run(float const* in, float* out, int tiles) {
  carved<<<8, 160, 3 * 8192 + 48>>>(in, out, tiles);
  structs<<<8, 128, sizeof(Stages)>>>(in, out, tiles);
  next<<<8, 128>>>(in, out, tiles);
}
"""


def test_right_kernels(tmp_path: Path) -> None:
    assert not codes(tmp_path, OWN + RIGHT) - {"CUT209"}


PRODUCT = r"""
__device__ uint64_t descriptor(uint32_t address) {
  return uint64_t((address & 0x3FFFF) >> 4) | uint64_t(1) << 16 | uint64_t(64) << 32 | uint64_t(1) << 62;
}
__device__ void multiply(float (&d)[4], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
}
__device__ void box(uint32_t to, void const* map, uint32_t bar, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
               ::"r"(to), "l"(map), "r"(bar), "r"(x), "r"(y) : "memory");
}
using Smem = Layout<Shape<_64, _64, _3>, Stride<_64, _1, _4096>>;
struct Shared { alignas(1024) half_t a[3 * 4096]; alignas(1024) half_t b[3 * 512]; own::Barrier full[3], empty[3]; };
__global__ void __launch_bounds__(256) products(void const* map, float* out, int rows) {
  int const tiles = rows / 64;
  extern __shared__ char memory[];
  Shared& s = *reinterpret_cast<Shared*>(memory);
  if (threadIdx.x == 0) {
    for (int i = 0; i < 3; ++i) { s.full[i].init(1); s.empty[i].init(1); }
  }
  __syncthreads();
  own::State at;
  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128) {
      for (int t = 0; t < tiles; ++t) {
        s.empty[at.index].wait(at.phase ^ 1);
        s.full[at.index].expect(9216);
        box(own::shared(s.a + at.index * 4096), map, s.full[at.index].at(), t * 64, 0);
        box(own::shared(s.b + at.index * 512), map, s.full[at.index].at(), t * 64, 64);
        at.next();
      }
    }
    return;
  }
  float d[4] = {};
  for (int t = 0; t < tiles; ++t) {
    s.full[at.index].wait(at.phase);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int k = 0; k < 4; ++k) {
      uint32_t const b = own::shared(s.b + at.index * 512);
      multiply(d, descriptor(own::shared(s.a + at.index * 4096 + k * 16)), descriptor(b));
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    if (threadIdx.x == 0) s.empty[at.index].arrive();
    at.next();
  }
  Tensor r = make_tensor(&d[0], Layout<_4>{});
  copy(r, make_tensor(make_gmem_ptr(out + threadIdx.x * 4), Layout<_4>{}));
}
void run(void const* map, float* out, int tiles) { products<<<8, 256, sizeof(Shared)>>>(map, out, tiles); }
"""
DONE = "    if (threadIdx.x == 0) s.empty[at.index].arrive();\n"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", set[str]()),
        ("    s.full[at.index].wait(at.phase);\n", "", {"CUT213"}),
        ("    s.full[at.index].wait(at.phase);\n", "    s.full[at.index].wait(at.phase);\n" + DONE, {"CUT212"}),
        ("init(1); }", "init(128); }", {"CUT217"}),
    ],
)
def test_operands_by_descriptors(old: str, new: str, expected: set[str], tmp_path: Path) -> None:
    text = PRODUCT.replace(DONE, "") if DONE in new else PRODUCT
    found = codes(tmp_path, OWN + (text.replace(old, new) if old else text))
    assert expected <= found and (expected or not found)
