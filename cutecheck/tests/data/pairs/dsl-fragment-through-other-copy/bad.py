import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def epilogue(tiled_mma: cute.TiledMma, gC: cute.Tensor, store: cute.TiledCopy):
    tid, _, _ = cute.arch.thread_idx()
    acc = tiled_mma.make_fragment_C(tiled_mma.partition_shape_C((64, 64)))
    acc.fill(0.0)
    thr = store.get_slice(tid)
    cute.copy(store, thr.retile(acc), thr.partition_D(gC))


@cute.jit
def host(gC: cute.Tensor):
    op = cute.nvgpu.warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    tiled_mma = cute.make_tiled_mma(op, cute.make_layout((4, 1, 1)), permutation_mnk=(64, 16, 16))
    other = cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)), permutation_mnk=(64, 16, 16))
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=64)
    store = cute.make_tiled_copy_C(atom, other)
    epilogue(tiled_mma, gC, store).launch(grid=(1, 1, 1), block=(128, 1, 1))


cute.compile(host, make_fake_tensor(cutlass.Float32, (64, 64), stride=(64, 1), assumed_align=16))
