import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def fill(src: cute.Tensor, dst: cute.Tensor, tiled: cute.TiledCopy):
    tid, _, _ = cute.arch.thread_idx()
    thr = tiled.get_slice(tid)
    s = thr.partition_S(src)
    r = cute.make_fragment_like(s)
    cute.copy(tiled, s, r)
    cute.copy(tiled, r, thr.partition_D(dst))


@cute.jit
def host(src: cute.Tensor, dst: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((8, 16), stride=(16, 1)), cute.make_layout((1, 4)))
    fill(src, dst, tiled).launch(grid=(1, 1, 1), block=(128, 1, 1))


x = make_fake_tensor(cutlass.Float32, (8, 64), stride=(64, 1), assumed_align=16)
cute.compile(host, x, x)
