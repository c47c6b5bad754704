import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def fill(src: cute.Tensor, tiled: cute.TiledCopy):
    tid, _, _ = cute.arch.thread_idx()
    smem = cutlass.memory.SmemAllocator().allocate_tensor(
        cutlass.Float32, cute.make_layout((8, 64), stride=(64, 1)), byte_alignment=16
    )
    thr = tiled.get_slice(tid)
    cute.copy(tiled, thr.partition_S(src), thr.partition_D(smem))


@cute.jit
def host(src: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((8, 16), stride=(16, 1)), cute.make_layout((1, 4)))
    fill(src, tiled).launch(grid=(1, 1, 1), block=(256, 1, 1))


cute.compile(host, make_fake_tensor(cutlass.Float32, (8, 64), stride=(64, 1), assumed_align=16))
