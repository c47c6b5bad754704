import cutlass
import cutlass.cute as cute


@cute.kernel
def epilogue(tiled_mma: cute.TiledMma, layout: cute.ComposedLayout):
    tid, _, _ = cute.arch.thread_idx()
    sC = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Float16, layout, byte_alignment=128)
    thr_mma = tiled_mma.get_slice(tid)
    acc = cute.make_fragment(tiled_mma.partition_shape_C((64, 64)), cutlass.Float32)
    acc.fill(0.0)
    out = cute.make_fragment_like(acc, cutlass.Float16)
    out.store(acc.load().to(cutlass.Float16))
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=32)
    r2s = cute.make_tiled_copy_C(atom, tiled_mma)
    thr = r2s.get_slice(tid)
    cute.copy(r2s, thr.retile(out), thr.partition_D(sC))


@cute.jit
def host():
    op = cute.nvgpu.warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    tiled_mma = cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)), permutation_mnk=(32, 32, 16))
    rows = cute.make_layout((8, 64), stride=(64, 1))
    layout = cute.tile_to_shape(cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, rows), (64, 64), (0, 1))
    epilogue(tiled_mma, layout).launch(grid=(1, 1, 1), block=(tiled_mma.size, 1, 1))


cute.compile(host)
