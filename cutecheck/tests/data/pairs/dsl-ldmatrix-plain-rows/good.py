import cutlass
import cutlass.cute as cute


@cute.kernel
def feed(tiled_mma: cute.TiledMma, smem_layout: cute.ComposedLayout):
    tid, _, _ = cute.arch.thread_idx()
    sA = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Float16, smem_layout, byte_alignment=128)
    thr_mma = tiled_mma.get_slice(tid)
    rA = tiled_mma.make_fragment_A(thr_mma.partition_A(sA))
    atom = cute.make_copy_atom(cute.nvgpu.warp.LdMatrix8x8x16bOp(False, 4), cutlass.Float16)
    s2r = cute.make_tiled_copy_A(atom, tiled_mma)
    thr = s2r.get_slice(tid)
    cute.copy(s2r, thr.partition_S(sA), thr.retile(rA))


@cute.jit
def host():
    op = cute.nvgpu.warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    tiled_mma = cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)), permutation_mnk=(32, 32, 16))
    rows = cute.make_layout((8, 64), stride=(64, 1))
    atom = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, rows)
    layout = cute.tile_to_shape(atom, (64, 64), (0, 1))
    feed(tiled_mma, layout).launch(grid=(1, 1, 1), block=(tiled_mma.size, 1, 1))


cute.compile(host)
