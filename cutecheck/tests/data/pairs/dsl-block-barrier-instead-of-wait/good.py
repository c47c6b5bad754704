"""A tile that cp.async fills is read after a wait for its group and a barrier of the block (`cute.arch.barrier`)."""

import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def move(src: cute.Tensor, dst: cute.Tensor, g2s: cute.TiledCopy, s2g: cute.TiledCopy):
    tid, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(
        cutlass.Float32, cute.make_layout((32, 64), stride=(64, 1)), byte_alignment=16
    )
    g = cute.local_tile(src, (32, 64), (block, 0))
    o = cute.local_tile(dst, (32, 64), (block, 0))
    load, store = g2s.get_slice(tid), s2g.get_slice(tid)
    cute.copy(g2s, load.partition_S(g), load.partition_D(tile))
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.barrier()
    part = store.partition_S(tile)
    regs = cute.make_fragment_like(part)
    cute.copy(s2g, part, regs)
    cute.copy(s2g, regs, store.partition_D(o))


@cute.jit
def host(src: cute.Tensor, dst: cute.Tensor):
    threads, values = cute.make_layout((8, 16), stride=(16, 1)), cute.make_layout((1, 4))
    fill = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=128)
    wide = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
    g2s = cute.make_tiled_copy_tv(fill, threads, values)
    s2g = cute.make_tiled_copy_tv(wide, threads, values)
    move(src, dst, g2s, s2g).launch(grid=(src.shape[0] // 32, 1, 1), block=(128, 1, 1))


x = make_fake_tensor(cutlass.Float32, (1024, 64), stride=(64, 1), assumed_align=16)
cute.compile(host, x, x)
