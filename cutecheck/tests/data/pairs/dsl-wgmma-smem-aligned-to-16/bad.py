import cutlass
import cutlass.cute as cute
import cutlass.utils.hopper_helpers as sm90_utils
from cutlass.cute.nvgpu import warpgroup
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def make_descriptors(mma: cute.TiledMma, layout: cute.ComposedLayout, out: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    alloc = cutlass.memory.SmemAllocator()
    sA = alloc.allocate_tensor(cutlass.Float16, layout.outer, byte_alignment=16, swizzle=layout.inner)
    thr = mma.get_slice(tid)
    frag_a = mma.make_fragment_A(thr.partition_A(sA))
    out[tid] = cute.size(frag_a)


@cute.jit
def host(out: cute.Tensor):
    mma = sm90_utils.make_trivial_tiled_mma(
        cutlass.Float16, cutlass.Float16,
        cute.nvgpu.OperandMajorMode.K, cute.nvgpu.OperandMajorMode.K,
        cutlass.Float32, (1, 1, 1), tiler_mn=(64, 64))
    atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW128, cutlass.Float16)
    layout = cute.tile_to_shape(atom, (64, 64), order=(0, 1))
    make_descriptors(mma, layout, out).launch(grid=(1, 1, 1), block=(128, 1, 1))


cute.compile(host, make_fake_tensor(cutlass.Float32, (128,), stride=(1,), assumed_align=16))
