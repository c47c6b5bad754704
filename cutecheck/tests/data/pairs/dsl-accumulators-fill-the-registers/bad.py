import cutlass
import cutlass.cute as cute
import cutlass.utils.hopper_helpers as sm90_utils
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def mainloop(mma: cute.TiledMma, out: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    acc = mma.make_fragment_C(mma.partition_shape_C((128, 256)))
    acc.fill(0.0)
    out[tid] = acc[0]


@cute.jit
def host(out: cute.Tensor):
    mma = sm90_utils.make_trivial_tiled_mma(
        cutlass.Float16, cutlass.Float16,
        cute.nvgpu.OperandMajorMode.K, cute.nvgpu.OperandMajorMode.K,
        cutlass.Float32, (1, 1, 1), tiler_mn=(64, 256))
    mainloop(mma, out).launch(grid=(1, 1, 1), block=(mma.size, 1, 1))


cute.compile(host, make_fake_tensor(cutlass.Float32, (256,), stride=(1,), assumed_align=16))
