import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor

M, N, K, STAGES, THREADS = 128, 128, 64, 3, 128


@cute.kernel
def gemm_kernel(
    mA: cute.Tensor,
    mB: cute.Tensor,
    mC: cute.Tensor,
    layout_a: cute.ComposedLayout,
    layout_b: cute.ComposedLayout,
    layout_c: cute.ComposedLayout,
    g2s: cute.TiledCopy,
    s2g: cute.TiledCopy,
    mma: cute.TiledMma,
):
    tid, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    memory = cutlass.memory.SmemAllocator()
    sA = memory.allocate_tensor(cutlass.Float16, layout_a, byte_alignment=128)
    sB = memory.allocate_tensor(cutlass.Float16, layout_b, byte_alignment=128)
    gA = cute.local_tile(mA, (M, K), (bx, None))
    gB = cute.local_tile(mB, (N, K), (by, None))
    gC = cute.local_tile(mC, (M, N), (bx, by))

    thr_g2s = g2s.get_slice(tid)
    tAgA, tAsA = thr_g2s.partition_S(gA), thr_g2s.partition_D(sA)
    tBgB, tBsB = thr_g2s.partition_S(gB), thr_g2s.partition_D(sB)

    thr_mma = mma.get_slice(tid)
    tCrA = mma.make_fragment_A(thr_mma.partition_A(sA[None, None, 0]))
    tCrB = mma.make_fragment_B(thr_mma.partition_B(sB[None, None, 0]))
    acc = mma.make_fragment_C(thr_mma.partition_shape_C((M, N)))
    acc.fill(0.0)

    load_a = cute.make_copy_atom(cute.nvgpu.warp.LdMatrix8x8x16bOp(False, 4), cutlass.Float16)
    load_b = cute.make_copy_atom(cute.nvgpu.warp.LdMatrix8x8x16bOp(False, 4), cutlass.Float16)
    s2r_a = cute.make_tiled_copy_A(load_a, mma)
    s2r_b = cute.make_tiled_copy_B(load_b, mma)
    thr_s2r_a, thr_s2r_b = s2r_a.get_slice(tid), s2r_b.get_slice(tid)
    tXsA, tXrA = thr_s2r_a.partition_S(sA), thr_s2r_a.retile(tCrA)
    tXsB, tXrB = thr_s2r_b.partition_S(sB), thr_s2r_b.retile(tCrB)

    k_tiles = cute.size(tAgA, mode=[3])
    for stage in cutlass.range_constexpr(STAGES - 1):
        cute.copy(g2s, tAgA[None, None, None, stage], tAsA[None, None, None, stage])
        cute.copy(g2s, tBgB[None, None, None, stage], tBsB[None, None, None, stage])
        cute.arch.cp_async_commit_group()

    read = cutlass.Int32(0)
    write = cutlass.Int32(STAGES - 1)
    for k_tile in cutlass.range(k_tiles):
        cute.arch.cp_async_wait_group(STAGES - 2)
        cute.arch.sync_threads()
        if k_tile + STAGES - 1 < k_tiles:
            k_next = k_tile + STAGES - 1
            cute.copy(g2s, tAgA[None, None, None, k_next], tAsA[None, None, None, write])
            cute.copy(g2s, tBgB[None, None, None, k_next], tBsB[None, None, None, write])
        cute.arch.cp_async_commit_group()
        for k in cutlass.range_constexpr(cute.size(tCrA, mode=[2])):
            cute.copy(s2r_a, tXsA[None, None, k, read], tXrA[None, None, k])
            cute.copy(s2r_b, tXsB[None, None, k, read], tXrB[None, None, k])
            cute.gemm(mma, acc, tCrA[None, None, k], tCrB[None, None, k], acc)
        write = read
        read = read + 1
        if read == STAGES:
            read = cutlass.Int32(0)

    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    sC = cute.make_tensor(sA.iterator, layout_c)
    out = cute.make_fragment_like(acc, cutlass.Float16)
    out.store(acc.load().to(cutlass.Float16))
    store = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=32)
    r2s = cute.make_tiled_copy_C(store, mma)
    thr_r2s = r2s.get_slice(tid)
    cute.copy(r2s, thr_r2s.retile(out), thr_r2s.partition_D(sC))
    cute.arch.sync_threads()
    thr_s2g = s2g.get_slice(tid)
    tDsC, tDgC = thr_s2g.partition_S(sC), thr_s2g.partition_D(gC)
    regs = cute.make_fragment_like(tDsC)
    cute.copy(s2g, tDsC, regs)
    cute.copy(s2g, regs, tDgC)


@cute.jit
def gemm(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    rows = cute.make_layout((8, K), stride=(K, 1))
    atom = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, rows)
    layout_a = cute.tile_to_shape(atom, (M, K, STAGES), (0, 1, 2))
    layout_b = cute.tile_to_shape(atom, (N, K, STAGES), (0, 1, 2))
    rows_c = cute.make_layout((8, 64), stride=(64, 1))
    layout_c = cute.tile_to_shape(cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, rows_c), (M, N), (0, 1))
    fill = cute.make_copy_atom(
        cute.nvgpu.cpasync.CopyG2SOp(cache_mode=cute.nvgpu.cpasync.LoadCacheMode.GLOBAL),
        cutlass.Float16,
        num_bits_per_copy=128,
    )
    g2s = cute.make_tiled_copy_tv(fill, cute.make_layout((16, 8), stride=(8, 1)), cute.make_layout((1, 8)))
    wide = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128)
    s2g = cute.make_tiled_copy_tv(wide, cute.make_layout((8, 16), stride=(16, 1)), cute.make_layout((1, 8)))
    op = cute.nvgpu.warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)), permutation_mnk=(32, 32, 16))
    grid = (cute.size(mC, mode=[0]) // M, cute.size(mC, mode=[1]) // N, 1)
    gemm_kernel(mA, mB, mC, layout_a, layout_b, layout_c, g2s, s2g, mma).launch(grid=grid, block=(THREADS, 1, 1))


def operand(rows, columns):
    return make_fake_tensor(cutlass.Float16, (rows, columns), stride=(columns, 1), assumed_align=16)


cute.compile(gemm, operand(1024, 512), operand(1024, 512), operand(1024, 1024))
