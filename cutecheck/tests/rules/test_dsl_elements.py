"""Single elements of shared memory in kernels of the Python DSL, CUT212."""

from pathlib import Path

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNELS = """
import cutlass
import cutlass.cute as cute


@cute.kernel
def pingpong(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((256, 2)), 16)
    for i in range(n):
        s[tidx, i % 2] = x[tidx + i * 256]
        cute.arch.sync_threads()
        y[tidx + i * 256] = s[255 - tidx, i % 2]


@cute.kernel
def pingpong2(x: cute.Tensor, y: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((256, 2)), 16)
    s[tidx, 0] = x[tidx]
    cute.arch.sync_threads()
    for i in cutlass.range(4):
        s[tidx, (i + 1) % 2] = x[tidx + i * 256]
        y[tidx + i * 256] = s[255 - tidx, i % 2]
        cute.arch.sync_threads()


@cute.kernel
def stage(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((256, 2)), 16)
    st = cutlass.Int32(0)
    for i in range(n):
        s[tidx, st] = x[tidx + i * 256]
        cute.arch.sync_threads()
        y[tidx + i * 256] = s[255 - tidx, st]
        st = st ^ 1


@cute.kernel
def constexpr(x: cute.Tensor, y: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((256, 2)), 16)
    for i in cutlass.range_constexpr(4):
        s[tidx, i % 2] = x[tidx + i * 256]
        cute.arch.sync_threads()
        y[tidx + i * 256] = s[255 - tidx, i % 2]


@cute.jit
def block_reduce(v, red):
    tidx, _, _ = cute.arch.thread_idx()
    warp, lane = tidx // 32, tidx % 32
    v = cute.arch.warp_reduction_sum(v)
    if lane == 0:
        red[warp] = v
    cute.arch.barrier()
    r = 0.0
    if lane < 8:
        r = red[lane]
    return cute.arch.warp_reduction_sum(r)


@cute.kernel
def two(x: cute.Tensor, y: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    red = smem.allocate_tensor(cutlass.Float32, cute.make_layout((8, 2)), 16)
    a = block_reduce(x[tidx], red[None, 0])
    b = block_reduce(x[tidx] - a, red[None, 1])
    y[tidx] = b


@cute.kernel
def two_synced(x: cute.Tensor, y: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    red = smem.allocate_tensor(cutlass.Float32, cute.make_layout(8), 16)
    a = block_reduce(x[tidx], red)
    cute.arch.barrier()
    b = block_reduce(x[tidx] - a, red)
    y[tidx] = b


@cute.kernel
def two_wrong(x: cute.Tensor, y: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    red = smem.allocate_tensor(cutlass.Float32, cute.make_layout(8), 16)
    a = block_reduce(x[tidx], red)
    b = block_reduce(x[tidx] - a, red)
    y[tidx] = b


@cute.kernel
def named(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout(256), 16)
    for i in range(n):
        s[tidx] = x[tidx + i * 256]
        cute.arch.barrier(barrier_id=1, number_of_threads=256)
        y[tidx + i * 256] = s[255 - tidx]
        cute.arch.barrier(barrier_id=2, number_of_threads=256)


@cute.kernel
def own_warp(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, 8)), 16)
    w, l = tidx // 32, tidx % 32
    for i in range(w, n, 8):
        s[l, w] = x[l + i * 32]
        cute.arch.sync_warp()
        y[l + i * 32] = s[31 - l, w]


@cute.kernel
def flag(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Int32, cute.make_layout(1), 16)
    i = cutlass.Int32(0)
    go = True
    while go:
        if tidx == 0:
            s[0] = i
        cute.arch.sync_threads()
        j = s[0]
        cute.arch.sync_threads()
        y[tidx] = j
        i = i + 1
        go = i < n


@cute.jit
def either_reduce(v, red):
    tidx, _, _ = cute.arch.thread_idx()
    warp, lane = tidx // 32, tidx % 32
    v = cute.arch.warp_reduction(v, cute.arch.fmax)
    if cutlass.const_expr(hasattr(v, "shape")):
        return v
    if lane == 0:
        red[warp] = v
    r = 0.0
    if lane < 8:
        r = red[lane]
    return r


@cute.kernel
def either_wrong(x: cute.Tensor, y: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    red = smem.allocate_tensor(cutlass.Float32, cute.make_layout(8), 16)
    y[tidx] = either_reduce(cute.arch.rcp_approx(x[tidx]), red)


@cute.kernel
def named_wrong(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout(256), 16)
    for i in range(n):
        s[tidx] = x[tidx + i * 256]
        cute.arch.barrier(barrier_id=1, number_of_threads=256)
        y[tidx + i * 256] = s[255 - tidx]


@cute.jit
def run(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    pingpong(x, y, n).launch(grid=[1, 1, 1], block=[256, 1, 1])
    pingpong2(x, y).launch(grid=[1, 1, 1], block=[256, 1, 1])
    stage(x, y, n).launch(grid=[1, 1, 1], block=[256, 1, 1])
    constexpr(x, y).launch(grid=[1, 1, 1], block=[256, 1, 1])
    two(x, y).launch(grid=[1, 1, 1], block=[256, 1, 1])
    two_synced(x, y).launch(grid=[1, 1, 1], block=[256, 1, 1])
    two_wrong(x, y).launch(grid=[1, 1, 1], block=[256, 1, 1])
    named(x, y, n).launch(grid=[1, 1, 1], block=[256, 1, 1])
    either_wrong(x, y).launch(grid=[1, 1, 1], block=[256, 1, 1])
    named_wrong(x, y, n).launch(grid=[1, 1, 1], block=[256, 1, 1])
    own_warp(x, y, n).launch(grid=[1, 1, 1], block=[256, 1, 1])
    flag(x, y, n).launch(grid=[1, 1, 1], block=[256, 1, 1])


def main():
    x = cute.make_tensor(cute.make_ptr(cutlass.Float32, 0, cute.AddressSpace.gmem), cute.make_layout(8192))
    run(x, x, 4)


main()
"""


def test_found_where_a_barrier_is_missing(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(KERNELS)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
    assert not report.failures
    assert not report.errors
    found = sorted((f.code, f.enclosing, f.message.rpartition("(called by `")[2][:-2]) for f in report.findings)
    assert [f[:2] for f in found] == [("CUT212", f"k::{n}") for n in ("block_reduce", "either_reduce", "named_wrong")]
    assert found[0][2] == "k::two_wrong"


TRANSPOSE = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor


@cute.kernel
def kernel(a: cute.Tensor, b: cute.Tensor, threads: cute.Layout):
    tid, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, 32), stride=(33, 1)), 128)
    gA, gB = cute.local_tile(a, (32, 32), (by, bx)), cute.local_tile(b, (32, 32), (bx, by))
    cA = cute.local_tile(cute.make_identity_tensor(a.shape), (32, 32), (by, bx))
    cB = cute.local_tile(cute.make_identity_tensor(b.shape), (32, 32), (bx, by))
    tAg, tAs, tAc = (cute.local_partition(t, threads, tid) for t in (gA, s, cA))
    for i in cutlass.range_constexpr(cute.size(tAg)):
        if cute.elem_less(tAc[i], a.shape):
            tAs[i] = tAg[i]
    cute.arch.sync_threads()
    turned = cute.composition(s, cute.make_layout((32, 32), stride=(32, 1)))
    tBg, tBs, tBc = (cute.local_partition(t, threads, tid) for t in (gB, turned, cB))
    for i in cutlass.range_constexpr(cute.size(tBg)):
        if cute.elem_less(tBc[i], b.shape):
            tBg[i] = tBs[i]


@cute.jit
def host(a: cute.Tensor, b: cute.Tensor):
    kernel(a, b, cute.make_layout((8, 32), stride=(32, 1))).launch(grid=(8, 8, 1), block=(256, 1, 1))


m, n = cute.sym_int(), cute.sym_int()
cute.compile(host, *(make_fake_compact_tensor(cutlass.Float32, s, stride_order=(1, 0)) for s in ((m, n), (n, m))))
"""


def test_elements_inside_of_matrices_of_any_size(tmp_path: Path) -> None:
    for text, codes in (
        (TRANSPOSE, []),
        (TRANSPOSE.replace("    cute.arch.sync_threads()\n", ""), ["CUT212"]),
        # each warp has rows of its own
        (TRANSPOSE.replace("    cute.arch.sync_threads()\n", "").replace("(32, 32), stride=(32, 1)", "(32, 32)"), []),
    ):
        (tmp_path / "kernel.py").write_text(text)
        report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), select=("CUT212",), cache=False))
        assert not report.errors
        assert sorted({f.code for f in report.findings}) == codes


COMPARED = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor


@cute.kernel
def turned(a: cute.Tensor, b: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, 32), stride=(33, 1)), 128)
    m, n = a.shape
    for j in cutlass.range_constexpr(0, 32, 8):
        r, c = by * 32 + ty + j, bx * 32 + tx
        if r < m and c < n:
            s[ty + j, tx] = a[r, c]
    cute.arch.sync_threads()
    for j in cutlass.range_constexpr(0, 32, 8):
        r, c = bx * 32 + ty + j, by * 32 + tx
        if r < n and c < m:
            b[r, c] = s[tx, ty + j]


@cute.jit
def host(a: cute.Tensor, b: cute.Tensor):
    turned(a, b).launch(grid=(8, 8, 1), block=(32, 8, 1))


m, n = cute.sym_int(), cute.sym_int()
cute.compile(host, *(make_fake_compact_tensor(cutlass.Float32, s, stride_order=(1, 0)) for s in ((m, n), (n, m))))
"""


def test_elements_under_comparisons_of_rows_and_columns_with_the_extents(tmp_path: Path) -> None:
    bare = COMPARED.replace("    cute.arch.sync_threads()\n", "")
    for text, codes in (
        (COMPARED, []),
        (bare, ["CUT212"]),
        # what else is asked is not known: these may be the threads of one warp
        (bare.replace("if r < m and c < n", "if r < m and c < n and a[r, 0] > 0.0"), []),
        (bare.replace("if r < m and c < n", "if r < m or c < n"), []),
        # at most a warp, for all that is known
        (bare.replace("r, c = by * 32 + ty + j, bx * 32 + tx", "r, c = ty + j, tx"), []),
        (bare.replace("if r < n and c < m", "if r >= n and c < m"), []),
    ):
        (tmp_path / "kernel.py").write_text(text)
        report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), select=("CUT212",), cache=False))
        assert not report.errors
        assert sorted({f.code for f in report.findings}) == codes, text
