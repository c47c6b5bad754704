import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.cute.runtime import make_fake_tensor


class Reader:
    def __init__(self, rows: int, depth: int):
        self.rows, self.depth = rows, depth
        self.transpose = True

    @cute.jit
    def __call__(self, out: cute.Tensor):
        op = warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
        mma = cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)), permutation_mnk=(32, 32, 16))
        swizzled = cute.make_composed_layout(
            cute.make_swizzle(3, 3, 3), 0, cute.make_layout((8, self.depth), stride=(self.depth, 1))
        )
        layout = cute.tile_to_shape(swizzled, (self.rows, self.depth), (0, 1))
        self.kernel(out, mma, layout).launch(grid=(1, 1, 1), block=(128, 1, 1))

    @cute.kernel
    def kernel(self, out: cute.Tensor, mma: cute.TiledMma, layout: cute.ComposedLayout):
        tid, _, _ = cute.arch.thread_idx()
        sA = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float16, layout, byte_alignment=128)
        frag = mma.make_fragment_A(mma.get_slice(tid).partition_A(sA))
        atom = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(self.transpose, 4), cutlass.Float16)
        s2r = cute.make_tiled_copy_A(atom, mma)
        mine = s2r.get_slice(tid)
        src, dst = mine.partition_S(sA), mine.retile(frag)
        for k in cutlass.range_constexpr(cute.size(src, mode=[2])):
            cute.copy(s2r, src[None, None, k], dst[None, None, k])
        out[tid] = frag[0]


cute.compile(Reader(64, 64), make_fake_tensor(cutlass.Float16, (128,), stride=(1,), assumed_align=16))
