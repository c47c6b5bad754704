"""Multistage cp.async GEMM, fp16, TN, sm_80."""
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor

BM, BN, BK, STAGES, THREADS = 128, 128, 32, 3, 128


def smem_layout(rows, cols, stages):
    atom = cute.make_composed_layout(cute.make_swizzle(2, 4, 3), 0, cute.make_layout((8, 32), stride=(32, 1)))
    return cute.tile_to_shape(atom, (rows, cols, stages), (0, 1, 2))


@cute.kernel
def gemm_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, la: cute.ComposedLayout, lb: cute.ComposedLayout,
                lc: cute.ComposedLayout, cpA: cute.TiledCopy, cpB: cute.TiledCopy, cpC: cute.TiledCopy,
                mma: cute.TiledMma):
    tidx, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    smem = cutlass.utils.SmemAllocator()
    sA = smem.allocate_tensor(mA.element_type, la.outer, 1024, la.inner)
    sB = smem.allocate_tensor(mB.element_type, lb.outer, 1024, lb.inner)
    gA = cute.local_tile(mA, (BM, BN, BK), (bx, by, None), proj=(1, None, 1))
    gB = cute.local_tile(mB, (BM, BN, BK), (bx, by, None), proj=(None, 1, 1))
    gC = cute.local_tile(mC, (BM, BN, BK), (bx, by, None), proj=(1, 1, None))
    thrA = cpA.get_slice(tidx)
    thrB = cpB.get_slice(tidx)
    tAgA = thrA.partition_S(gA)
    tAsA = thrA.partition_D(sA)
    tBgB = thrB.partition_S(gB)
    tBsB = thrB.partition_D(sB)
    n_tiles = cute.size(tAgA, mode=[3])
    k_index = cutlass.Int32(0)
    for s in cutlass.range_constexpr(STAGES - 1):
        cute.copy(cpA, tAgA[None, None, None, k_index], tAsA[None, None, None, s])
        cute.copy(cpB, tBgB[None, None, None, k_index], tBsB[None, None, None, s])
        cute.arch.cp_async_commit_group()
        k_index = k_index + 1
    thr = mma.get_slice(tidx)
    tCsA = thr.partition_A(sA)
    tCsB = thr.partition_B(sB)
    tCgC = thr.partition_C(gC)
    tCrA = mma.make_fragment_A(tCsA[None, None, None, 0])
    tCrB = mma.make_fragment_B(tCsB[None, None, None, 0])
    acc = mma.make_fragment_C(tCgC)
    acc.fill(0.0)
    ld = cute.make_copy_atom(cute.nvgpu.warp.LdMatrix8x8x16bOp(False, 4), mA.element_type)
    s2rA = cute.make_tiled_copy_A(ld, mma)
    s2rB = cute.make_tiled_copy_B(ld, mma)
    tXsA = s2rA.get_slice(tidx).partition_S(sA)
    tXrA = s2rA.get_slice(tidx).retile(tCrA)
    tXsB = s2rB.get_slice(tidx).partition_S(sB)
    tXrB = s2rB.get_slice(tidx).retile(tCrB)
    read = 0
    write = STAGES - 1
    tXsA_p = tXsA[None, None, None, read]
    tXsB_p = tXsB[None, None, None, read]
    nk = cute.size(tCrA, mode=[2])
    if nk > 1:
        cute.arch.cp_async_wait_group(STAGES - 2)
        cute.arch.sync_threads()
        cute.copy(s2rA, tXsA_p[None, None, 0], tXrA[None, None, 0])
        cute.copy(s2rB, tXsB_p[None, None, 0], tXrB[None, None, 0])
    for kt in range(n_tiles):
        for kb in cutlass.range(nk, unroll_full=True):
            if kb == nk - 1:
                tXsA_p = tXsA[None, None, None, read]
                tXsB_p = tXsB[None, None, None, read]
                cute.arch.cp_async_wait_group(STAGES - 2)
                cute.arch.sync_threads()
            nxt = (kb + 1) % nk
            cute.copy(s2rA, tXsA_p[None, None, nxt], tXrA[None, None, nxt])
            cute.copy(s2rB, tXsB_p[None, None, nxt], tXrB[None, None, nxt])
            if kb == 0:
                if kt + STAGES - 1 < n_tiles:
                    cute.copy(cpA, tAgA[None, None, None, k_index], tAsA[None, None, None, write])
                    cute.copy(cpB, tBgB[None, None, None, k_index], tBsB[None, None, None, write])
                k_index = k_index + 1
                cute.arch.cp_async_commit_group()
                write = read
                read = read + 1
                if read == STAGES:
                    read = 0
            cute.gemm(mma, acc, tCrA[None, None, kb], tCrB[None, None, kb], acc)
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    sC = cute.make_tensor(cute.recast_ptr(sA.iterator, lc.inner, dtype=mC.element_type), lc.outer)
    tCsC = thr.partition_C(sC)
    out = cute.make_fragment_like(acc, mC.element_type)
    out.store(acc.load().to(mC.element_type))
    cute.autovec_copy(out, tCsC)
    cute.arch.sync_threads()
    thrC = cpC.get_slice(tidx)
    tDsC = thrC.partition_S(sC)
    tDgC = thrC.partition_D(gC)
    regs = cute.make_fragment_like(tDsC)
    cute.autovec_copy(tDsC, regs)
    cute.copy(cpC, regs, tDgC)


@cute.jit
def gemm(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    la = smem_layout(BM, BK, STAGES)
    lb = smem_layout(BN, BK, STAGES)
    lc = cute.tile_to_shape(
        cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, cute.make_layout((8, 64), stride=(64, 1))),
        (BM, BN), (0, 1))
    atom = cute.make_copy_atom(
        cute.nvgpu.cpasync.CopyG2SOp(cache_mode=cute.nvgpu.cpasync.LoadCacheMode.GLOBAL), mA.element_type,
        num_bits_per_copy=128)
    tA = cute.make_layout((THREADS // 4, 4), stride=(4, 1))
    cpA = cute.make_tiled_copy_tv(atom, tA, cute.make_layout((1, 8)))
    cpB = cute.make_tiled_copy_tv(atom, tA, cute.make_layout((1, 8)))
    st = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), mC.element_type, num_bits_per_copy=128)
    cpC = cute.make_tiled_copy_tv(st, cute.make_layout((THREADS // 16, 16), stride=(16, 1)), cute.make_layout((1, 8)))
    op = cute.nvgpu.warp.MmaF16BF16Op(mA.element_type, cutlass.Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)), permutation_mnk=(32, 32, 16))
    grid = cute.ceil_div(mC.shape, (BM, BN))
    gemm_kernel(mA, mB, mC, la, lb, lc, cpA, cpB, cpC, mma).launch(grid=(*grid, 1), block=(THREADS, 1, 1))


def fake(rows, cols, m, n):
    return make_fake_tensor(cutlass.Float16, (cute.sym_int(divisibility=m), cute.sym_int(divisibility=n)),
                            stride=(cute.sym_int64(divisibility=n), 1), assumed_align=16)


if __name__ == "__main__":
    cute.compile(gemm, fake("m", "k", BM, BK), fake("n", "k", BN, BK), fake("m", "n", BM, BN))
