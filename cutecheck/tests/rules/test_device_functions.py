"""Kernels that leave their work to a device function: it declares the array, and returns where a block has no work."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<Int<ROWS>, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
using Tile = Layout<Shape<_64, _64>, Stride<_64, _1>>;
struct Storage { array_aligned<half_t, 64 * 64, 128> a; array_aligned<half_t, 64 * 64, 128> b; };
__device__ void work(half_t const* in, half_t* out, int tiles) {
  extern __shared__ __align__(128) char raw[];
  auto& storage = *reinterpret_cast<Storage*>(raw);
  if (tiles - int(blockIdx.x) <= 0) { return; }
  Tensor g = make_tensor(make_gmem_ptr(in), Tile{});
  Tensor o = make_tensor(make_gmem_ptr(out), Tile{});
  Tensor s = make_tensor(make_smem_ptr(storage.b.data()), Tile{});
  auto t = Load{}.get_slice(threadIdx.x);
  copy(Load{}, t.partition_S(g), t.partition_D(s));
  __syncthreads();
  copy(Load{}, t.partition_S(s), t.partition_D(o));
}
__global__ void __launch_bounds__(128) one(half_t const* in, half_t* out, int tiles) { work(in, out, tiles); }
MORE
void run(half_t const* in, half_t* out, int tiles) {
  one<<<tiles, 128, BYTES>>>(in, out, tiles);
  OTHER
}
"""
FITS = "sizeof(Storage)"
MORE = "__global__ void __launch_bounds__(128) two(half_t const* in, half_t* out, int tiles) { work(in, out, tiles); }"
TWO = "two<<<tiles, 128, sizeof(Storage)>>>(in, out, tiles);"


@pytest.mark.parametrize(
    ("rows", "size", "other", "expected"),
    [
        (16, FITS, "", set()),
        (16, "sizeof(Storage) / 2", "", {"CUT209"}),
        (16, "sizeof(Storage) / 2", TWO, {"CUT209"}),  # the other kernel is given enough
        (8, FITS, "", {"CUT706"}),
    ],
)
def test_array_of_a_device_function(tmp_path: Path, rows: int, size: str, other: str, expected: set[str]) -> None:
    text = KERNEL.replace("ROWS", str(rows)).replace("BYTES", size).replace("OTHER", other)
    text = text.replace("MORE", MORE if other else "")
    (tmp_path / "kernel.cu").write_text(PREAMBLE + text)
    made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_80",)))
    assert not made.errors
    assert {f.code for f in made.findings} - {"CUT101", "CUT102", "CUT103"} == expected


def test_threads_that_return_by_themselves(tmp_path: Path) -> None:
    """A condition that threads answer each for itself may leave out those that the copy has no part for."""
    text = KERNEL.replace("ROWS", "8").replace("BYTES", FITS).replace("OTHER", "").replace("MORE", "")
    text = text.replace("if (tiles - int(blockIdx.x) <= 0)", "if (tiles - int(threadIdx.x) <= 0)")
    (tmp_path / "kernel.cu").write_text(PREAMBLE + text)
    made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_80",), select=("CUT706",)))
    assert not made.findings


STORE = """
using Tile = Layout<Shape<_64, _64>, Stride<_64, _1>>;
using Write = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
namespace own {
__device__ void order() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ void close() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N> __device__ void done() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory"); }
}
template <class Tma>
__global__ void __launch_bounds__(128) save(CUTE_GRID_CONSTANT Tma const tma, half_t const* in) {
  __shared__ alignas(128) half_t smem[cosize_v<Tile>];
  Tensor s = make_tensor(make_smem_ptr(smem), Tile{});
  auto thr = Write{}.get_slice(threadIdx.x);
  copy(Write{}, thr.partition_S(make_tensor(make_gmem_ptr(in), Tile{})), thr.partition_D(s));
  own::order();
  __syncthreads();
  Tensor g = local_tile(tma.get_tma_tensor(Shape<_512, _64>{}), Shape<_64, _64>{}, make_coord(blockIdx.x, 0));
  auto cta = tma.get_slice(0);
  if (threadIdx.x == 0) {
    copy(tma, cta.partition_S(s), cta.partition_D(g));
    own::close();
    own::done<0>();
  }
}
void run(half_t* out, half_t const* in) {
  Tensor g = make_tensor(make_gmem_ptr(out), Layout<Shape<_512, _64>, Stride<_64, _1>>{});
  save<<<8, 128>>>(make_tma_copy(SM90_TMA_STORE{}, g, Tile{}), in);
}
"""


@pytest.mark.parametrize("without", ["", "  own::order();\n", "    own::close();\n", "    own::done<0>();\n"])
def test_steps_of_a_store_in_functions_of_other_names(tmp_path: Path, without: str) -> None:
    """Fences, commits and waits are what their assembly says."""
    (tmp_path / "kernel.cu").write_text(PREAMBLE + STORE.replace(without, "") if without else PREAMBLE + STORE)
    made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_90a",), select=("CUT216",)))
    assert not made.errors
    assert {f.code for f in made.findings} == ({"CUT216"} if without else set())


LOAD = """
using Tile = Layout<Shape<_64, _64>, Stride<_64, _1>>;
namespace own {
__device__ void tell(uint64_t* bar, uint32_t bytes) {
  uint32_t at = cast_smem_ptr_to_uint(bar);
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes));
}
}
template <class Tma>
__global__ void __launch_bounds__(128) load(CUTE_GRID_CONSTANT Tma const tma) {
  __shared__ alignas(128) half_t smem[cosize_v<Tile>];
  __shared__ uint64_t bar;
  Tensor s = make_tensor(make_smem_ptr(smem), Tile{});
  Tensor g = local_tile(tma.get_tma_tensor(Shape<_512, _64>{}), Shape<_64, _64>{}, make_coord(blockIdx.x, 0));
  auto cta = tma.get_slice(0);
  if (threadIdx.x == 0) {
    own::tell(&bar, BYTES);
    copy(tma.with(bar), cta.partition_S(g), cta.partition_D(s));
  }
}
void run(half_t* in) {
  Tensor g = make_tensor(make_gmem_ptr(in), Layout<Shape<_512, _64>, Stride<_64, _1>>{});
  auto tma = make_tma_copy(SM90_TMA_LOAD{}, g, Tile{});
  load<<<8, 128>>>(tma);
}
"""


@pytest.mark.parametrize(("size", "expected"), [("sizeof(half_t) * 64 * 64", set()), ("64 * 64", {"CUT805"})])
def test_bytes_that_assembly_tells_a_barrier_of(tmp_path: Path, size: str, expected: set[str]) -> None:
    (tmp_path / "kernel.cu").write_text(PREAMBLE + LOAD.replace("BYTES", size))
    made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_90a",), select=("CUT805",)))
    assert not made.errors
    assert {f.code for f in made.findings} == expected
