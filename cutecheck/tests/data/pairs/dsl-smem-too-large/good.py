import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


class Gemm:
    def __init__(self, stages):
        self.stages = stages

    @cute.jit
    def __call__(self, a: cute.Tensor):
        layout = cute.make_layout((128, 64, self.stages), stride=(64, 1, 128 * 64))
        atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float16, num_bits_per_copy=128)
        tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((16, 8), stride=(8, 1)), cute.make_layout((1, 8)))
        self.kernel(a, layout, tiled).launch(grid=(1, 1, 1), block=(128, 1, 1))

    @cute.kernel
    def kernel(self, a: cute.Tensor, layout: cute.Layout, tiled: cute.TiledCopy):
        tid, _, _ = cute.arch.thread_idx()
        smem = cutlass.memory.SmemAllocator()
        sA = smem.allocate_tensor(cutlass.Float16, layout, byte_alignment=128)
        sB = smem.allocate_tensor(cutlass.Float16, layout, byte_alignment=128)
        thr = tiled.get_slice(tid)
        cute.copy(tiled, thr.partition_S(a), thr.partition_D(sA)[None, None, None, 0])
        cute.copy(tiled, thr.partition_S(a), thr.partition_D(sB)[None, None, None, 0])


cute.compile(Gemm(4), make_fake_tensor(cutlass.Float16, (128, 64), stride=(64, 1), assumed_align=16))
