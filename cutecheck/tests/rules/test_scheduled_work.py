"""Kernels whose blocks are told by memory what their part of the work is."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Move = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, float>{},
    Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
using Read = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _4>>{}));
using Rows = Layout<Shape<_32, _64, _2>, Stride<Int<72>, _1, Int<32 * 72>>>;
struct Part { int first, last, begin, end; };
struct Params {
  float const* in;
  float* out;
  Part const* parts;
  int const* lengths;
  int items;
};
__device__ void item(Params const& p, int at, int begin, int end) {
  __shared__ alignas(16) float tiles[cosize_v<Rows>];
  auto whole = make_layout(make_shape(_32{}, _64{}, end), make_stride(_64{}, _1{}, _2048{}));
  Tensor g = make_tensor(make_gmem_ptr(p.in + at * 65536), whole);
  Tensor out = make_tensor(make_gmem_ptr(p.out + at * 2048), make_layout(make_shape(_32{}, _64{}), GenRowMajor{}));
  Tensor s = make_tensor(make_smem_ptr(tiles), Rows{});
  int const lane = threadIdx.x % 128;
  auto t = Move{}.get_slice(lane);
  auto r = Read{}.get_slice(lane);
  Tensor part = make_fragment_like(r.partition_S(s(_, _, 0)));
  Tensor sum = make_fragment_like(part);
  clear(sum);
  if (ROLE(1)) {
    copy(Move{}, t.partition_S(g(_, _, begin)), t.partition_D(s(_, _, 0)));
    cp_async_fence();
    cp_async_wait<0>();
  }
  HOLD;
  for (int i = begin, stage = 0; i < end; ++i, stage ^= 1) {
    if (ROLE(1) && i + 1 < end) {
      copy(Move{}, t.partition_S(g(_, _, i + 1)), t.partition_D(s(_, _, stage ^ 1)));
      cp_async_fence();
    }
    if (ROLE(0)) {
      copy(Read{}, r.partition_S(s(_, _, stage)), part);
      axpby(1.f, part, 1.f, sum);
    }
    if (ROLE(1)) cp_async_wait<0>();
    HOLD;
  }
  if (ROLE(0)) copy(Read{}, sum, r.partition_D(out));
}
__global__ void __launch_bounds__(THREADS) total(Params const p) {
  Part const mine = p.parts[blockIdx.x];
  if (mine.first >= p.items) return;
  for (int i = mine.first; i <= mine.last; ++i) {
    int const begin = i == mine.first ? mine.begin : 0;
    int const end = i == mine.last ? mine.end : p.lengths[i] / 32;
    item(p, i, begin, end);
  }
}
void run(Params const& p, int blocks) {
  total<<<blocks, THREADS>>>(p);
}
"""
TEAMS = {
    "THREADS": "256",
    "ROLE(1)": "(threadIdx.x / 128 == 1)",
    "ROLE(0)": "(threadIdx.x / 128 == 0)",
    "HOLD": "cutlass::arch::NamedBarrier::sync(256, 2)",
}
ONE_WAY = {"THREADS": "128", "ROLE(1)": "true", "ROLE(0)": "true", "HOLD": "__syncthreads()"}


@pytest.mark.parametrize("roles", [TEAMS, ONE_WAY])
@pytest.mark.parametrize(
    "old, new, codes",
    [
        ("", "", set()),
        ("s(_, _, stage ^ 1)", "s(_, _, stage)", {"CUT212"}),
        ("true) cp_async_wait<0>();\n    __sync", "true) ;\n    __sync", {"CUT213"}),
    ],
)
def test_mistake(roles: dict[str, str], old: str, new: str, codes: set[str], tmp_path: Path) -> None:
    text = PREAMBLE + "#include <cutlass/arch/barrier.h>\n" + KERNEL
    for name, meaning in roles.items():
        text = text.replace(name, meaning)
    codes = codes if not old or old in text else set()
    (tmp_path / "total.cu").write_text(text.replace(old, new))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT2",), cache=False))
    assert not report.failures
    assert {f.code for f in report.findings} & {"CUT212", "CUT213"} >= codes
    assert codes or not report.findings


COMBINE = """
using Move = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_1, _128>>{}, Layout<Shape<_1, _4>>{}));
__global__ void __launch_bounds__(128) combine(float const* parts, float* out, int const* splits) {
  int const first = splits[blockIdx.x], many = splits[blockIdx.x + 1] - first;
  auto whole = make_layout(make_shape(_1{}, _512{}, many), make_stride(_512{}, _1{}, _512{}));
  Tensor g = make_tensor(make_gmem_ptr(parts + first * 512), whole);
  Tensor o = make_tensor(make_gmem_ptr(out + blockIdx.x * 512), Layout<Shape<_1, _512>, Stride<_512, _1>>{});
  auto t = Move{}.get_slice(threadIdx.x);
  Tensor part = make_fragment_like(t.partition_S(g(_, _, 0)));
  Tensor sum = make_fragment_like(part);
  clear(sum);
  for (int i = 0; i < many; ++i) {
    copy(Move{}, t.partition_S(g(_, _, i)), part);
    axpby(1.f, part, 1.f, sum);
  }
  copy(Move{}, sum, t.partition_D(o));
}
void run(float const* parts, float* out, int const* splits, int rows) { combine<<<rows, 128>>>(parts, out, splits); }
"""


@pytest.mark.parametrize("tile, codes", [("_, i)", set()), ("_, i + 1)", {"CUT210"})])
def test_a_loop_that_memory_says_the_length_of(tile: str, codes: set[str], tmp_path: Path) -> None:
    (tmp_path / "combine.cu").write_text(PREAMBLE + COMBINE.replace("_, i)", tile))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT2",), cache=False))
    assert not report.failures
    assert {f.code for f in report.findings} == codes


OF_NUMBERS = {
    "Part const* parts;": "int const* parts;",
    "Part const mine = p.parts[blockIdx.x];": """int const* told = p.parts + blockIdx.x * 4;
  Part const mine{__ldg(told), __ldg(told + 2), __ldg(told + 1), __ldg(told + 3)};""",
}
OF_VECTOR = {
    "Part const* parts;": "int* parts;",
    "Part const mine = p.parts[blockIdx.x];": """int4 const told = __ldg((int4*)(p.parts + blockIdx.x * 8));
  Part const mine{told.x, told.z, told.y, told.w};""",
}


@pytest.mark.parametrize(
    "told, stage, codes",
    [(OF_VECTOR, "stage ^ 1", set()), (OF_VECTOR, "stage", {"CUT212"}), (OF_NUMBERS, "stage", {"CUT212"})],
)
def test_a_part_that_is_told_by_numbers(told: dict[str, str], stage: str, codes: set[str], tmp_path: Path) -> None:
    text = PREAMBLE + "#include <cutlass/arch/barrier.h>\n" + KERNEL
    for name, meaning in {**TEAMS, **told}.items():
        assert name in text
        text = text.replace(name, meaning)
    (tmp_path / "total.cu").write_text(text.replace("s(_, _, stage ^ 1)", f"s(_, _, {stage})"))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT2",), cache=False))
    assert not report.failures
    assert {f.code for f in report.findings} == codes


EXCHANGE = """
using Values = Layout<Shape<Shape<_2, _2>, _128, _1, _8>>;
__global__ void __launch_bounds__(256) exchange(float const* in, float* out) {
  constexpr int tiles = 12;
  __shared__ alignas(16) float memory[cosize_v<Values>];
  int const thread = threadIdx.x % 128;
  Tensor own = make_tensor(make_smem_ptr(memory), Values{})(_, thread, _, _);
  Tensor g = make_tensor(make_gmem_ptr(in), make_shape(_32{}, _128{}, tiles));
  Tensor o = make_tensor(make_gmem_ptr(out), make_shape(_32{}, _128{}, tiles));
  for (int i = 0; i < tiles; ++i) {
    Tensor r = make_tensor<float>(own.layout().shape());
    if (threadIdx.x < 128) {
      copy(g(_, thread, i), r);
      copy(r, own);
      cutlass::arch::NamedBarrier::arrive(256, 1);
    } else {
      cutlass::arch::NamedBarrier::sync(256, 1);
      copy(own, r);
      copy(r, o(_, thread, i));
    }
    LAST;
  }
}
void run(float const* in, float* out) { exchange<<<1, 256>>>(in, out); }
"""


@pytest.mark.parametrize("last, codes", [("__syncthreads()", set()), ("", {"CUT212", "CUT217"})])
def test_all_blocks_of_a_threads_values(last: str, codes: set[str], tmp_path: Path) -> None:
    text = PREAMBLE + "#include <cutlass/arch/barrier.h>\n" + EXCHANGE.replace("LAST", last)
    (tmp_path / "exchange.cu").write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT2",), cache=False))
    assert not report.failures
    assert {f.code for f in report.findings} == codes


def test_a_named_barrier_that_others_hold_back_at_the_blocks(tmp_path: Path) -> None:
    once_more = "if (i == 11 && threadIdx.x >= 128) cutlass::arch::NamedBarrier::sync(256, 1);"
    text = EXCHANGE.replace("LAST", f"{once_more} __syncthreads()")
    (tmp_path / "exchange.cu").write_text(PREAMBLE + "#include <cutlass/arch/barrier.h>\n" + text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT217",), cache=False))
    assert not report.failures
    (found,) = report.findings
    assert found.message.startswith("128 threads come to a named barrier that counts 256")
