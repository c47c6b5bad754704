import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


class Loader:
    def __init__(self, rows, cols, pad):
        self.rows, self.cols, self.pad = rows, cols, pad

    @cute.jit
    def __call__(self, src: cute.Tensor):
        atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), src.element_type, num_bits_per_copy=128)
        vec = 128 // src.element_type.width
        tiled = cute.make_tiled_copy_tv(
            atom, cute.make_layout((self.rows, self.cols // vec), stride=(self.cols // vec, 1)), cute.make_layout((1, vec))
        )
        smem_layout = cute.make_layout((self.rows, self.cols), stride=(self.cols + self.pad, 1))
        self.kernel(src, smem_layout, tiled).launch(grid=(1, 1, 1), block=(tiled.size, 1, 1))

    @cute.kernel
    def kernel(self, src: cute.Tensor, smem_layout: cute.Layout, tiled: cute.TiledCopy):
        tid, _, _ = cute.arch.thread_idx()
        smem = cutlass.memory.SmemAllocator().allocate_tensor(src.element_type, smem_layout, byte_alignment=16)
        thr = tiled.get_slice(tid)
        cute.copy(tiled, thr.partition_S(src), thr.partition_D(smem))


cute.compile(Loader(16, 64, 2), make_fake_tensor(cutlass.Float16, (16, 64), stride=(64, 1), assumed_align=16))
