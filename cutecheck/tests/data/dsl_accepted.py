import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import cpasync, tcgen05, warp, OperandMajorMode

F16, F32, BF16 = cutlass.Float16, cutlass.Float32, cutlass.BFloat16


@cute.jit
def tv():
    wide = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), F16, num_bits_per_copy=128)
    c1 = cute.make_tiled_copy_tv(wide, cute.make_layout((20, 5), stride=(5, 1)), cute.make_layout((1, 8)))
    c2 = cute.make_tiled_copy_tv(wide, cute.make_layout((16, 8), stride=(8, 1)), cute.make_layout((1, 12)))
    c3 = cute.make_tiled_copy_tv(wide, cute.make_layout((16, 8), stride=(8, 0)), cute.make_layout((1, 8)))
    c4 = cute.make_tiled_copy_tv(wide, cute.make_layout((16, 8), stride=(8, 1)), cute.make_layout((1, 8), stride=(0, 2)))
    c5 = cute.make_tiled_copy(wide, cute.make_layout((32, 8), stride=(8, 1)), (16, 64))
    c6 = cute.make_tiled_copy(wide, cute.make_layout((128, 8), stride=(1, 256)), (16, 64))
    ld = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), F16)
    c7 = cute.make_tiled_copy(ld, cute.make_layout((48, 8), stride=(8, 1)), (16, 24))


@cute.jit
def mma():
    op = warp.MmaF16BF16Op(F16, F32, (16, 8, 16))
    m1 = cute.make_tiled_mma(op, cute.make_layout((2, 2)))


@cute.jit
def mma2():
    op = warp.MmaF16BF16Op(F16, F32, (16, 8, 16))
    m2 = cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)), permutation_mnk=(32, 24, 16))
    m3 = cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)), permutation_mnk=(32, 16, 8))
    m4 = cute.make_tiled_mma(
        op, cute.make_layout((2, 2, 1)),
        permutation_mnk=(32, cute.make_layout((8, 2, 2), stride=(1, 0, 8)), 16),
    )
    m5 = cute.make_tiled_mma(op, cute.make_layout((2, 2, 1), stride=(1, 0, 0)))
    m6 = cute.make_tiled_mma(op, cute.make_layout((2, 1, 2)))
    m7 = cute.make_tiled_mma(warp.MmaFP8Op(cutlass.Float8E4M3FN, F32, (16, 8, 32)), cute.make_layout((2, 2, 1)))
    k8 = cute.make_tiled_mma(warp.MmaF16BF16Op(F16, F32, (16, 8, 8)), cute.make_layout((2, 2, 1)))
    ld = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), F16)
    m8 = cute.make_tiled_copy_A(ld, k8)


@cute.jit
def op1():
    o = warp.MmaF16BF16Op(F16, F32, (16, 8, 32))
    t = cute.make_tiled_mma(o)


@cute.jit
def op2():
    o = warp.MmaF16BF16Op(BF16, F16, (16, 8, 16))
    t = cute.make_tiled_mma(o)


@cute.jit
def op3():
    o = tcgen05.MmaF16BF16Op(
        F16, F32, (128, 128, 16), tcgen05.CtaGroup.ONE, tcgen05.OperandSource.SMEM, OperandMajorMode.K, OperandMajorMode.K
    )
    t = cute.make_tiled_mma(o)


@cute.jit
def atoms():
    a1 = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), F32)
    a3 = cute.make_copy_atom(cpasync.CopyG2SOp(), F16, num_bits_per_copy=16)


@cute.jit
def atoms2():
    a2 = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 3), F16)


@cute.jit
def atoms3():
    a4 = cute.make_copy_atom(cpasync.CopyG2SOp(), F16)


@cute.jit
def atoms4():
    a5 = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), F16, num_bits_per_copy=24)


@cute.jit
def layouts():
    atom = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_layout((8, 64), stride=(64, 1)))
    l1 = cute.tile_to_shape(cute.make_layout((8, 64), stride=(64, 1)), (100, 64), (0, 1))
    l2 = cute.make_composed_layout(cute.make_swizzle(3, 0, 3), 0, cute.make_layout((8, 64), stride=(64, 1)))
    l4 = cute.composition(cute.make_layout((4, 3), stride=(1, 10)), cute.make_layout((2, 2), stride=(4, 1)))


@cute.jit
def layouts2():
    l3 = cute.make_swizzle(-1, 4, 3)


@cute.jit
def layouts3():
    l5 = cute.complement(cute.make_layout((4, 4), stride=(1, 2)), 64)


@cute.jit
def layouts4():
    l6 = cute.make_layout((8, -1), stride=(1, 128))
    l7 = cute.make_layout((16, 0))
    l8 = cute.make_layout((16, (2, 2)), stride=(8, 1))
    l9 = cute.make_layout((16, ()), stride=(8, ()))


tv()
mma()
mma2()
op1()
op2()
op3()
atoms()
atoms2()
atoms3()
atoms4()
@cute.jit
def divides():
    d1 = cute.logical_divide(cute.make_layout((100, 64), stride=(64, 1)), 32)
    d2 = cute.zipped_divide(cute.make_layout((10, 8)), (4, 4))
    d3 = cute.flat_divide(cute.make_layout((12, 8)), cute.make_layout(5))
    d4 = cute.zipped_divide(cute.make_layout((12, 8)), (4, 4))
    d5 = cute.logical_divide(cute.make_layout((6, 4), stride=(1, 8)), 4)


@cute.jit
def divides2():
    d6 = cute.zipped_divide(cute.make_layout((12, 8)), 5)


divides()
divides2()
layouts()
layouts2()
layouts3()
layouts4()
