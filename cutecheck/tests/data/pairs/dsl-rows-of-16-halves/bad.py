import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def product(src: cute.Tensor, dst: cute.Tensor, load: cute.TiledCopy, read: cute.TiledCopy):
    tid, _, _ = cute.arch.thread_idx()
    layout = cute.make_layout((64, 16), stride=(16, 1))
    sA = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Float16, layout, byte_alignment=128, swizzle=None)
    thr = load.get_slice(tid)
    cute.copy(load, thr.partition_S(src), thr.partition_D(sA))
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.barrier()
    thr_read = read.get_slice(tid)
    mine = thr_read.partition_S(sA)
    held = cute.make_fragment_like(mine)
    cute.copy(read, mine, held)


@cute.jit
def host(src: cute.Tensor, dst: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float16, num_bits_per_copy=128)
    load = cute.make_tiled_copy_tv(atom, cute.make_layout((64, 2), stride=(2, 1)), cute.make_layout((1, 8)))
    mma = cute.make_tiled_mma(cute.nvgpu.warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16)), cute.make_layout((4, 1, 1)))
    read = cute.make_tiled_copy_A(cute.make_copy_atom(cute.nvgpu.warp.LdMatrix8x8x16bOp(False, 4), cutlass.Float16), mma)
    product(src, dst, load, read).launch(grid=(1, 1, 1), block=(128, 1, 1))


x = make_fake_tensor(cutlass.Float16, (64, 16), stride=(16, 1), assumed_align=16)
cute.compile(host, x, x)
