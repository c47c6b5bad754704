"""The examples of the rules: whole sources, but for what every C++ source of CuTe begins with."""

from __future__ import annotations

import inspect

PREAMBLE = """#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

"""


def is_python(example: str) -> bool:
    """True for an example in the Python DSL."""
    return inspect.cleandoc(example).startswith("import ")


def source(example: str) -> str:
    """The example as a file that can be checked; its own indentation and the class's are removed."""
    text = inspect.cleandoc(example) + "\n"
    return text if is_python(example) or "#include" in text else PREAMBLE + text


def file_name(example: str) -> str:
    """A name whose suffix tells the front end which language it is."""
    return "example.py" if is_python(example) else "example.cu"


# a product of two tiles: where the result is stored, and the grid
PRODUCT = """
        using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
        using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
            Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
        using Smem = decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_128, _64>, Stride<_64, _1>>{}));
        __global__ void __launch_bounds__(128) product(half_t const* A, half_t const* B, float* C, int m, int n) {
          __shared__ alignas(128) half_t a[cosize_v<Smem>], b[cosize_v<Smem>];
          Tensor mA = make_tensor(make_gmem_ptr(A), make_layout(make_shape(m, _64{}), LayoutRight{}));
          Tensor mB = make_tensor(make_gmem_ptr(B), make_layout(make_shape(n, _64{}), LayoutRight{}));
          Tensor mC = make_tensor(make_gmem_ptr(C), make_shape(m, n), make_stride(n, _1{}));
          Tensor gA = local_tile(mA, Shape<_128, _64>{}, make_coord(blockIdx.x, 0));
          Tensor gB = local_tile(mB, Shape<_128, _64>{}, make_coord(blockIdx.y, 0));
          Tensor gC = local_tile(mC, Shape<_128, _128>{}, make_coord(%s));
          Tensor sA = make_tensor(make_smem_ptr(a), Smem{}), sB = make_tensor(make_smem_ptr(b), Smem{});
          auto load = Load{}.get_slice(threadIdx.x);
          copy(Load{}, load.partition_S(gA), load.partition_D(sA));
          copy(Load{}, load.partition_S(gB), load.partition_D(sB));
          cp_async_fence();
          cp_async_wait<0>();
          __syncthreads();
          auto thr = Mma{}.get_slice(threadIdx.x);
          Tensor rA = thr.partition_fragment_A(sA), rB = thr.partition_fragment_B(sB);
          auto readA = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, Mma{});
          auto readB = make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, Mma{});
          auto ra = readA.get_slice(threadIdx.x);
          auto rb = readB.get_slice(threadIdx.x);
          copy(readA, ra.partition_S(sA), ra.retile_D(rA));
          copy(readB, rb.partition_S(sB), rb.retile_D(rB));
          Tensor tCgC = thr.partition_C(gC);
          Tensor acc = thr.make_fragment_C(tCgC);
          clear(acc);
          gemm(Mma{}, rA, rB, acc);
          copy(acc, tCgC);
        }
        void run(half_t const* A, half_t const* B, float* C, int m, int n) {
          product<<<dim3(%s), 128>>>(A, B, C, m, n);
        }
        """
