import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.cute.runtime import make_fake_tensor


TILE = 32
PAD = 1
THREADS = 256


@cute.kernel
def transpose(a: cute.Tensor, b: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    smem = cutlass.utils.SmemAllocator()
    buffer = smem.allocate_tensor(cutlass.Float32, cute.make_layout((TILE, TILE), stride=(TILE + PAD, 1)))
    turned = cute.make_tensor(buffer.iterator, cute.make_layout((TILE, TILE), stride=(1, TILE + PAD)))
    rows = cute.make_layout((THREADS // TILE, TILE), stride=(TILE, 1))
    mine_in = cute.local_partition(cute.local_tile(a, (TILE, TILE), (by, bx)), rows, tid)
    mine_out = cute.local_partition(cute.local_tile(b, (TILE, TILE), (bx, by)), rows, tid)
    cute.autovec_copy(mine_in, cute.local_partition(buffer, rows, tid))
    cute.arch.sync_threads()
    cute.autovec_copy(cute.local_partition(turned, rows, tid), mine_out)


@cute.jit
def run(a: cute.Tensor, b: cute.Tensor):
    transpose(a, b).launch(grid=(a.shape[1] // TILE, a.shape[0] // TILE, 1), block=(THREADS, 1, 1))


m = make_fake_tensor(cutlass.Float32, (512, 512), stride=(512, 1), assumed_align=16)
cute.compile(run, m, m)
