import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def stage(src: cute.Tensor, tiled: cute.TiledCopy):
    tid, _, _ = cute.arch.thread_idx()
    padded = cute.make_layout((16, 64), stride=(72, 1))
    smem = cutlass.memory.SmemAllocator()
    ptr = smem.allocate_array(cutlass.Float16, num_elems=cute.size(padded), byte_alignment=16)
    sA = cute.make_tensor(ptr, padded)
    thr = tiled.get_slice(tid)
    cute.copy(tiled, thr.partition_S(src), thr.partition_D(sA))


@cute.jit
def host(src: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float16, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((16, 8), stride=(8, 1)), cute.make_layout((1, 8)))
    stage(src, tiled).launch(grid=(1, 1, 1), block=(128, 1, 1))


cute.compile(host, make_fake_tensor(cutlass.Float16, (16, 64), stride=(64, 1), assumed_align=16))
