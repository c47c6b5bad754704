"""Programs of public repositories that run on one GPU and leave their results in buffers, which are compared."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_TUTORIAL = "cutlass/examples/cute/tutorial"
_LEARNING = "Cute-Learning/gemm"
_LEIMAO = "CUTLASS-Examples/examples"
_CFX = "cfx-article-src"
_BOTH = ("512 384 128 N T", "512 384 128 T N")
_ONCE = (("timing_iterations = 100", "timing_iterations = 1"),)


@dataclass(frozen=True, slots=True)
class Program:
    """``mutated``: files in which mistakes are made; ``frees``: of buffers, after which it ends (0: at its end)."""

    name: str
    folder: str
    main: str
    mutated: tuple[str, ...] = ()
    runs: tuple[str, ...] = ("",)
    element: str = "f16"
    frees: int = 0
    edits: tuple[tuple[str, str], ...] = ()
    driver: str = ""  # written to ``main``
    only: tuple[str, ...] = ()
    besides: tuple[tuple[str, str], ...] = ()  # files written beside it

    @property
    def files(self) -> tuple[str, ...]:
        return self.mutated or (self.main,)


_GEMM = """#include "{file}"
#include <cstdio>
#include <cstdlib>
#include <vector>
int main(int, char** argv) {{
  using T = {element};
  int m = 256, n = 384, k = 128;
  char ta = argv[1][0], tb = argv[2][0];
  std::vector<T> A(m * k), B(n * k), C(m * n);
  for (auto& x : A) x = T(float(rand() % 17 - 8) / 8);
  for (auto& x : B) x = T(float(rand() % 17 - 8) / 8);
  for (auto& x : C) x = T(1.0f);
  T *a, *b, *c;
  cudaMalloc(&a, sizeof(T) * m * k);
  cudaMalloc(&b, sizeof(T) * n * k);
  cudaMalloc(&c, sizeof(T) * m * n);
  cudaMemcpy(a, A.data(), sizeof(T) * m * k, cudaMemcpyHostToDevice);
  cudaMemcpy(b, B.data(), sizeof(T) * n * k, cudaMemcpyHostToDevice);
  cudaMemcpy(c, C.data(), sizeof(T) * m * n, cudaMemcpyHostToDevice);
  int la = ta == 'N' ? m : k, lb = tb == 'N' ? k : n;
  auto e = {launch}(ta, tb, m, n, k, 1.0f, (T const*)a, la, (T const*)b, lb, 0.5f, c, m, 0);
  cudaDeviceSynchronize();
  printf("%s\\n", cudaGetErrorString(e));
  cudaFree(a);
  cudaFree(b);
  cudaFree(c);
}}
"""
_MATRIX = """#include "{file}"
#include <cstdio>
#include <vector>
int main() {{
  unsigned m = 256, n = 384;
  std::vector<float> A(m * n);
  for (size_t i = 0; i < A.size(); ++i) A[i] = float(i % 4001);
  float *a, *b;
  cudaMalloc(&a, 4 * m * n);
  cudaMalloc(&b, 4 * m * n);
  cudaMemcpy(a, A.data(), 4 * m * n, cudaMemcpyHostToDevice);
  cudaMemset(b, 0, 4 * m * n);
  auto e = {launch}<float>(a, b, m, n, 0);
  cudaDeviceSynchronize();
  printf("%s\\n", cudaGetErrorString(e));
  cudaFree(a);
  cudaFree(b);
}}
"""
_LT = """#pragma once
template <class T, class C = T> struct CublasLtGemm { void init(T*, T*, T*, int, int, int) {} void run() {} };
"""


def _tutorial(name: str, runs: tuple[str, ...], element: str) -> Program:
    folder, _, file = f"{_TUTORIAL}/{name}".rpartition("/")
    return Program(file.removesuffix(".cu"), folder, file, runs=runs, element=element, edits=_ONCE)


def _learning(name: str) -> Program:
    return Program(f"learning_{name.rpartition('/')[2]}", f"{_LEARNING}/{name}", "gemm.cu", frees=3)


def _leimao(kind: str, element: str) -> Program:
    file, of = f"cute_general_matrix_multiplication_{kind}.cu", kind.removeprefix("naive_").removeprefix("tensor_core_")
    return Program(
        f"leimao_{of}", f"{_LEIMAO}/cute_general_matrix_multiplication", "driver.cu",
        (file, "cute_general_matrix_multiplication.cuh"), ("T N", "N T"), "f16" if "half" in element else "f32",
        edits=(("\ntemplate cudaError_t", "\n#define MUTANTS_END\n#if 0\ntemplate cudaError_t"),),
        driver=_GEMM.format(file=file, element=element, launch=f"launch_gemm_{kind}"),
        only=(f"general_matrix_multiplication_{of}", f"gemm_base_{of}", f"launch_gemm_{kind}", "gemm_nt", "gemm_tn"),
    )  # fmt: skip


def _matrix(name: str, folder: str, file: str, launch: str, only: tuple[str, ...] = ()) -> Program:
    driver = _MATRIX.format(file=file, launch=launch)
    return Program(
        f"leimao_{name}", f"{_LEIMAO}/{folder}", "driver.cu", (file,), element="f32", driver=driver, only=only
    )


def _flash(kind: str, runs: tuple[str, ...], frees: int, only: tuple[str, ...], *files: str) -> Program:
    drivers = Path(__file__).parent / "drivers"
    return Program(
        f"flash_{kind}", "flash-attention/csrc/flash_attn/src", "driver.cu", files, runs, frees=frees, only=only,
        driver=(drivers / f"flash_{kind}.cu").read_text(),
        besides=(("flash_common.h", (drivers / "flash_common.h").read_text()),),
    )  # fmt: skip


_TRANSPOSE = "launch_matrix_transpose_shared_memory_"
PROGRAMS = (
    _tutorial("sgemm_1.cu", _BOTH, "f32"),
    _tutorial("sgemm_2.cu", _BOTH, "f32"),
    _tutorial("sgemm_sm70.cu", _BOTH, "f32"),
    _tutorial("sgemm_sm80.cu", _BOTH[1:], "f16"),
    _tutorial("hopper/wgmma_sm90.cu", ("512 384 256 N T", "512 384 256 T N"), "f16"),
    _tutorial("hopper/wgmma_tma_sm90.cu", ("512 384 512 N T", "512 384 512 T N"), "f16"),
    *map(_learning, ("gemm_v1", "gemm_v2", "gemm_v3", "gemm_v4", "gemm_split_shm")),
    *map(_learning, ("hopper/gemm_wgmma_ss", "hopper/gemm_wgmma_rs")),
    Program(
        "gemm_multi_stage", "cute-gemm", "gemm-multi-stage.cu",
        edits=(("int M = 81920", "int M = 2048"), ("int nt = 11", "int nt = 1"),
               ("int enable_cublaslt = 1", "int enable_cublaslt = 0")),
        besides=(("detail/cublaslt-gemm.h", _LT),),
    ),
    Program("gemm_simple", "cute-gemm", "gemm-simple.cu", edits=(("nt = 100", "nt = 1"),)),
    Program(
        "cfx_transpose", f"{_CFX}/transpose-cute", "main.cu",
        ("include/transpose_smem.h", "include/transpose_tmastore_vectorized.h", "include/copy_smem.h",
         "include/transpose_naive.h"),
        ("--M=512 --N=512 --iterations=1",), "f32",
    ),
    Program("cfx_multistage", f"{_CFX}/pipeline-gemm", "sm90_gemm_multistage.cu", runs=("512 384 512",)),
    Program(
        "cfx_ws", f"{_CFX}/pipeline-gemm", "sm90_gemm_ws.cu",
        tuple(f"hopper-gemm-ws/{f}" for f in (
            "mainloop_sm90_tma_gmma_ws.hpp", "epilogue_sm90_tma_ws.hpp", "hopper_gemm_kernel.h", "kernel_traits.h")),
        ("512 384 512",),
    ),
    Program(
        "cfx_tma", f"{_CFX}/tma", "main.cu", ("tma_copy.h", "tma_copy_multicast.h", "scale_tma_kernel.h"),
        ("--M=512 --N=512 --iterations=1",), "f32",
    ),
    _leimao("tensor_core_gmem_tiled_copy_smem_tiled_copy_tiled_mma_sm80_pipeline", "cute::half_t"),
    _leimao("tensor_core_gmem_tiled_copy_tiled_mma", "cute::half_t"),
    _leimao("naive_gmem_tiled_copy_tiled_mma_sm70_pipeline", "float"),
    _matrix("vectorized_swizzled", "cute_matrix_transpose", "cute_matrix_transpose_shared_memory.cu",
            f"{_TRANSPOSE}vectorized_swizzled",
            ("matrix_transpose_shared_memory_vectorized", f"{_TRANSPOSE}vectorized_swizzled")),
    _matrix("padded", "cute_matrix_transpose", "cute_matrix_transpose_shared_memory.cu", f"{_TRANSPOSE}padded",
            ("matrix_transpose_shared_memory", f"{_TRANSPOSE}padded")),
    _flash("fwd", ("256 256 0", "200 328 1"), 1, ("compute_attn_1rowblock", "gemm", "gemm_rs", "copy", "Flash_fwd_kernel_traits"),
           "flash_fwd_kernel.h", "utils.h", "kernel_traits.h"),
    _flash("split", ("128 768 0", "72 700 0"), 1, ("compute_attn_1rowblock_splitkv", "combine_attn_seqk_parallel"),
           "flash_fwd_kernel.h"),
    _flash("bwd", ("256 256 0", "200 328 1"), 4, ("compute_dq_dk_dv_1colblock", "convert_dQ", "Flash_bwd_kernel_traits"),
           "flash_bwd_kernel.h", "flash_bwd_preprocess_kernel.h", "kernel_traits.h"),
    _matrix("tma_copy", "cute_tma_copy", "cute_tma_copy.cu", "launch_matrix_copy"),
)  # fmt: skip
