"""What kernels take of a multiprocessor: numbers worked out by hand for whole kernels and for small ones."""

from dataclasses import asdict
from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.facts.resources import KernelResources, resources
from cutecheck.rules.examples import PREAMBLE
from cutecheck.source.extract import ExtractRequest, extract

LOOPS = Path(__file__).parents[1] / "data" / "mainloops"


def taken(path: Path, arch: str) -> list[KernelResources]:
    return list(resources(extract(ExtractRequest((path,), (arch,)))))


@pytest.mark.parametrize(
    ("name", "arch", "expected"),
    [
        # 128x128 floats over 128 threads; 128x64 halves of A over 64 threads (two warps along N share them), B alike;
        # three stages of two tiles of 128x64 halves
        ("ampere_gemm.cu", "sm_80", (128, 0, 3 * 2 * 128 * 64 * 2, 128, 2 * 64)),
        ("dsl_gemm.py", "sm_80", (128, 0, 3 * 2 * 128 * 64 * 2, 128, 2 * 64)),
        # four stages, eight barriers, the struct as long as a multiple of 1024; operands stay in shared memory
        ("hopper_gemm.cu", "sm_90a", (128, 0, 4 * 2 * 128 * 64 * 2 + 1024, 128, 0)),
    ],
)
def test_whole_kernels(name: str, arch: str, expected: tuple[int, ...], tmp_path: Path) -> None:
    (kernel,) = taken(LOOPS / name, arch)
    assert tuple(asdict(kernel).values())[3:] == (*expected, None, None)
    assert kernel.arch == arch


TMEM = """
using Mma = decltype(make_tiled_mma(SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 256,
    UMMA::Major::K, UMMA::Major::K>{}));
__global__ void __launch_bounds__(128) multiply(int* out) {
  __shared__ uint32_t base;
  __shared__ float spare[100];
  TMEM::Allocator1Sm allocator{};
  allocator.allocate(%s, &base);
  Mma mma;
  Tensor acc = partition_fragment_C(mma, Shape<_128, _512>{});
  out[threadIdx.x] = int(size(acc)) + int(spare[0]);
}
"""


def test_tensor_memory_and_static_arrays(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text(PREAMBLE + TMEM % "TMEM::Allocator1Sm::Sm100TmemCapacityColumns")
    (kernel,) = taken(path, "sm_100a")
    assert (kernel.tmem_columns, kernel.tmem_allocated) == (512, 512)
    assert (kernel.threads, kernel.static_smem_bytes, kernel.dynamic_smem_bytes) == (128, 404, None)


@pytest.mark.parametrize(("asked", "expected"), [("512", []), ("256", ["CUT707"]), ("96", ["CUT707", "CUT707"])])
def test_allocations_are_held_against_accumulators(asked: str, expected: list[str], tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text(PREAMBLE + TMEM % asked)
    report = check(inputs([str(path)]), Settings(arch=("sm_100a",)))
    assert not report.errors and [f.code for f in report.findings] == expected


def test_what_is_open_is_no_number(tmp_path: Path) -> None:
    text = "template <int N> __global__ void k(float* p) { __shared__ float s[N]; s[0] = p[0]; copy(p[0], s[0]); }"
    path = tmp_path / "k.cu"
    path.write_text(PREAMBLE + text + "\nvoid run(float* p, int t, int b) { k<8><<<1, t, b>>>(p); }")
    (kernel,) = taken(path, "sm_80")
    assert (kernel.threads, kernel.dynamic_smem_bytes, kernel.static_smem_bytes) == (None, None, 32)
    assert kernel.accumulator_registers is None


def test_every_size_of_launch_is_a_row(tmp_path: Path) -> None:
    text = "template <int N> __global__ void k(float* p) { __shared__ float s[N]; s[0] = p[0]; copy(p[0], s[0]); }"
    launches = "k<8><<<1, 64, 512>>>(p); k<8><<<1, 256>>>(p); k<8><<<2, 64, 512>>>(p); k<4><<<1, 64, 256>>>(p);"
    path = tmp_path / "k.cu"
    path.write_text(PREAMBLE + text + f"\nvoid run(float* p) {{\n {launches}\n}}")
    rows = [(k.kernel, k.threads, k.dynamic_smem_bytes, k.static_smem_bytes) for k in taken(path, "sm_80")]
    assert rows == [("k<4>", 64, 256, 16), ("k<8>", 64, 512, 32), ("k<8>", 256, 0, 32)]
