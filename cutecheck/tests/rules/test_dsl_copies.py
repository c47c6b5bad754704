"""Copies of the Python DSL as its compiler emits them: joined elements, threads that start later, open widths."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.findings import Finding

HEAD = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor
"""

FILL = (
    HEAD
    + """
@cute.kernel
def fill(mA: cute.Tensor, load: cute.TiledCopy):
    tid, _, _ = cute.arch.thread_idx()
    gA = cute.local_tile(mA, (32, 64), (0, 0))
    layout = cute.make_layout((32, 64), stride=(ROW, 1))
    sA = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Float16, layout, byte_alignment=16)
    thr = load.get_slice(tid)
    cute.copy(load, thr.partition_S(gA), thr.partition_D(sA))

@cute.jit
def host(mA: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16BITS)
    threads = cute.make_layout((32, 8), stride=(8, 1))
    load = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 8), stride=(8, 1)))
    fill(mA, load).launch(grid=(1, 1, 1), block=(256, 1, 1))

cute.compile(host, make_fake_compact_tensor(cutlass.Float16, (64, 64), stride_order=(1, 0)ALIGN))
"""
)


def found(source: str, folder: Path, *archs: str) -> list[Finding]:
    path = folder / "kernel.py"
    path.write_text(source)
    report = check(inputs([str(path)]), Settings(arch=archs or ("sm_80",)))
    assert not report.failures and not report.errors
    return list(report.findings)


def filled(folder: Path, row: int, bits: str, align: str) -> list[Finding]:
    return found(FILL.replace("ROW", str(row)).replace("BITS", bits).replace("ALIGN", align), folder)


def test_adjacent_elements_are_one_access_where_the_compiler_sees_them_aligned(tmp_path: Path) -> None:
    assert filled(tmp_path, 64, "", ", assumed_align=16") == []  # st.shared.v4.b32: 8 lanes a phase, 128 bytes


def test_rows_of_68_halves_are_stored_8_bytes_at_a_time(tmp_path: Path) -> None:
    assert filled(tmp_path, 68, "", ", assumed_align=16") == []  # st.shared.v2.b32: two rows fill the banks in turn


def test_rows_of_65_halves_are_stored_one_at_a_time(tmp_path: Path) -> None:
    load, store = sorted(filled(tmp_path, 65, "", ", assumed_align=16"), key=lambda f: f.code, reverse=True)
    assert load.code == "CUT104" and "a 2-byte load of" in load.message  # both sides move what both allow
    assert "a 2-byte store to `thr.partition_D(sA)` takes 2 wavefronts" in store.message


def test_a_pointer_of_unknown_alignment_is_read_element_by_element(tmp_path: Path) -> None:
    [load] = filled(tmp_path, 64, "", "")
    assert load.code == "CUT104" and "a 2-byte load of `thr.partition_S(gA)` touches 16 sectors" in load.message
    assert "assumed_align=16 makes these accesses 16 bytes wide" in load.help


def test_the_width_that_is_given_is_the_width_of_global_accesses(tmp_path: Path) -> None:
    [load] = filled(tmp_path, 64, ", num_bits_per_copy=16", ", assumed_align=16")
    assert load.code == "CUT104" and "a 2-byte load of" in load.message
    assert "let consecutive threads walk the contiguous mode" in load.help


STORE = (
    HEAD
    + """
@cute.kernel
def store(rows: cute.TiledCopy, layout: cute.ComposedLayout):
    tid, _, _ = cute.arch.thread_idx()
    plain, swizzle = layout.outer, layout.inner
    alloc = cutlass.memory.SmemAllocator()
    sC = alloc.allocate_tensor(cutlass.Float16, plain, byte_alignment=1024, swizzle=swizzle)
    thr = rows.get_slice(tidFIRST)
    to = thr.partition_D(sC)
    regs = cute.make_fragment_like(to)
    regs.fill(0.0)
    cute.copy(rows, regs, to)

@cute.jit
def host():
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128)
    threads = cute.make_layout((8, 16), stride=(1, 8))
    rows = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 8), stride=(8, 1)))
    layout = cute.make_composed_layout(
        cute.make_swizzle(3, 4, 3), 0, cute.make_layout((8, 128), stride=(STRIDE, 1))
    )
    store(rows, layout).launch(grid=(1, 1, 1), block=(256, 1, 1))

cute.compile(host)
"""
)


@pytest.mark.parametrize("first", ["", " - 128", " - 32"])
def test_a_copy_of_later_threads_counts_them_from_its_first(first: str, tmp_path: Path) -> None:
    made = found(STORE.replace("FIRST", first).replace("STRIDE", "64"), tmp_path)
    assert [f for f in made if f.code != "CUT208"] == []  # its rows lie over one another
    [conflict] = found(STORE.replace("FIRST", first).replace("STRIDE", "512"), tmp_path)
    assert conflict.code == "CUT102" and conflict.witness is not None
    assert "-" not in conflict.witness.summary  # no address below the tile


def test_a_slice_from_inside_a_warp_is_not_judged(tmp_path: Path) -> None:
    assert found(STORE.replace("FIRST", " - 8").replace("STRIDE", "512"), tmp_path) == []


TENSOR_MEMORY = (
    HEAD
    + """
from cutlass.cute.nvgpu import tcgen05

@cute.kernel
def kernel(mma: cute.TiledMma):
    holder = cutlass.memory.SmemAllocator().allocate(4)
    cute.arch.alloc_tmem(COLUMNS, holder)
    acc = mma.make_fragment_C(cute.append(mma.partition_shape_C((128, 256)), STAGES))
    cute.arch.dealloc_tmem(cute.arch.retrieve_tmem_ptr(cutlass.Float32, 16, holder), COLUMNS)

@cute.jit
def host():
    op = tcgen05.MmaF16BF16Op(
        cutlass.Float16, cutlass.Float32, (128, 256, 16), tcgen05.CtaGroup.ONE, tcgen05.OperandSource.SMEM,
        tcgen05.OperandMajorMode.K, tcgen05.OperandMajorMode.K,
    )
    kernel(cute.make_tiled_mma(op)).launch(grid=(1, 1, 1), block=(128, 1, 1))

cute.compile(host)
"""
)


@pytest.mark.parametrize(
    ("columns", "stages", "message"),
    [
        (512, 2, None),
        (256, 1, None),
        (256, 2, "the accumulator takes 512 columns of tensor memory, the kernel allocates 256"),
        (512, 4, "the accumulator takes 1024 columns of tensor memory, a multiprocessor has 512; CuTe stops with"),
        (500, 1, "500 columns of tensor memory are asked for: an allocation is a power of two from 32 to 512"),
        (16, 1, "16 columns of tensor memory are asked for"),
    ],
)
def test_tensor_memory(columns: int, stages: int, message: str | None, tmp_path: Path) -> None:
    text = TENSOR_MEMORY.replace("COLUMNS", str(columns)).replace("STAGES", str(stages))
    messages = [f.message for f in found(text, tmp_path, "sm_100a")]
    assert messages == [] if message is None else messages[0].startswith(message)


@pytest.mark.parametrize(("sync", "codes"), [("cute.arch.sync_threads()", []), ("pass", ["CUT212"])])
def test_barriers_of_two_scripts_that_launch_one_kernel_are_two(sync: str, codes: list[str], tmp_path: Path) -> None:
    """The second walk has other copies and the same barrier, at the same step of its own: another configuration."""
    kernel = (
        HEAD
        + """
class Through:
    def __init__(self, dtype):
        self.dtype = dtype

    @cute.kernel
    def kernel(self):
        tid, _, _ = cute.arch.thread_idx()
        s = cutlass.memory.SmemAllocator().allocate_tensor(self.dtype, cute.make_layout((32, 32)), byte_alignment=16)
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), self.dtype, num_bits_per_copy=32)
        columns = cute.make_tiled_copy_tv(atom, cute.make_layout((32, 4)), cute.make_layout((1, 1)))
        rows = cute.make_tiled_copy_tv(atom, cute.make_layout((4, 32), stride=(32, 1)), cute.make_layout((1, 1)))
        to, at = columns.get_slice(tid).partition_D(s), rows.get_slice(tid).partition_S(s)
        cute.copy(columns, cute.make_rmem_tensor_like(to), to)
        SYNC
        cute.copy(rows, at, cute.make_rmem_tensor_like(at))

    @cute.jit
    def __call__(self):
        self.kernel().launch(grid=(1, 1, 1), block=(128, 1, 1))
"""
    )
    (tmp_path / "kernel.py").write_text(kernel.replace("SYNC", sync))
    for name, dtype in (("first", "Float32"), ("second", "Int32")):
        run = f"import cutlass\nimport cutlass.cute as cute\nfrom kernel import Through\nThrough(cutlass.{dtype})()\n"
        (tmp_path / f"{name}.py").write_text(run)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT212",)))
    copies = [e for e in report.facts.events if e.kind == "copy"]
    assert len(copies) == 4 and all(e.reason is None for e in copies)
    assert [f.code for f in report.findings] == codes * 2
    assert {e.kernel.rpartition("::")[2] for e in copies} == {"kernel", "kernel<configuration 2>"}


WHOLE_ROWS = (
    HEAD
    + """
@cute.kernel
def kernel(x: cute.Tensor, copy: cute.TiledCopy):
    tid, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128)
    gX, cX = [cute.local_tile(t, (1, TILE), (row, 0)) for t in (x, cute.make_identity_tensor(x.shape))]
    thr = copy.get_slice(tid)
    tX, tC = thr.partition_S(gX), thr.partition_S(cX)
    shape = (cute.size(tC, mode=[0, 1]), cute.size(tC, mode=[1]), cute.size(tC, mode=[2]))
    pred = cute.make_rmem_tensor(cute.make_layout(shape, stride=(shape[2], 0, 1)), cutlass.Boolean)
    for v in cutlass.range_constexpr(shape[0]):
        for k in cutlass.range_constexpr(shape[2]):
            pred[v, 0, k] = cute.elem_less(tC[(0, v), 0, k][1], x.shape[1])
    regs = cute.make_fragment_like(tX)
    cute.copy(atom, tX, regs, pred=pred)

@cute.jit
def host(x: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128)
    copy = cute.make_tiled_copy_tv(atom, cute.make_layout((1, 128), stride=(128, 1)), cute.make_layout((1, 8)))
    kernel(x, copy).launch(grid=(64, 1, 1), block=(128, 1, 1))

cute.compile(host, make_fake_compact_tensor(cutlass.Float16, (64, 2048), stride_order=(1, 0), assumed_align=16))
"""
)


@pytest.mark.parametrize("tile", [2048, 1024])
def test_a_block_for_each_row_walks_the_rows(tile: int, tmp_path: Path) -> None:
    """A whole row is as far as the next row: the block index walks the mode that has another tile."""
    path = tmp_path / "rows.py"
    path.write_text(WHOLE_ROWS.replace("TILE", str(tile)))
    report = check(inputs([str(path)]), Settings(arch=("sm_80",), cache=False))
    assert not report.failures and not report.errors
    assert [f.message for f in report.findings] == []


SOME_WARPS = (
    HEAD
    + """
@cute.kernel
def scales(out: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    regs = cute.make_rmem_tensor((1,), cutlass.Int8)
    regs.fill(0)
    rows = cute.make_tensor(out.iterator, cute.make_layout(((32, 4), 4), stride=((16, 4), 1)))
    if WARPS:
        cute.autovec_copy(regs, cute.local_tile(rows[ROW, None], (1,), (1,)))

@cute.jit
def host(out: cute.Tensor):
    scales(out).launch(grid=(1, 1, 1), block=(256, 1, 1))

cute.compile(host, make_fake_compact_tensor(cutlass.Int8, (128, 8), stride_order=(1, 0), assumed_align=16))
"""
)


@pytest.mark.parametrize(
    ("warps", "row", "count"),
    [("warp < 4", "tid", 4), ("warp < 2", "tid", 2), ("warp >= 5", "tid % 128", 3), ("tid < 128", "tid", 4)],
)
def test_a_copy_is_judged_by_the_warps_that_come_to_it(warps: str, row: str, count: int, tmp_path: Path) -> None:
    """Of warps that do not, the places are those of other rows, or none: a lane past a row touches one sector more."""
    [it] = found(SOME_WARPS.replace("WARPS", warps).replace("ROW", row), tmp_path, "sm_90a")
    assert it.code == "CUT104" and "touches 16 sectors" in it.message and f"{count} warps" in it.help


APART = (
    HEAD
    + """
@cute.kernel
def spread(out: cute.Tensor, n: cutlass.Int64):
    layout = cute.make_layout(LAYOUT)
    memory = cute.make_tensor(out.iterator, layout)
    regs = cute.make_rmem_tensor_like(memory)
    regs.fill(2)
    cute.autovec_copy(regs, memory)

@cute.jit
def host(out: cute.Tensor, n: cutlass.Int64):
    spread(out, n).launch(grid=(1, 1, 1), block=(1, 1, 1))

cute.compile(host, make_fake_compact_tensor(cutlass.Int8, (4096,), assumed_align=ALIGN), cutlass.Int64(512))
"""
)


@pytest.mark.parametrize("align", ["2", "4", "16"])
@pytest.mark.parametrize(
    "layout",
    [
        "(2, 2, 2, 2), stride=(128, 1, 8, 2)",  # st.global.b32: 1, 3 are adjacent, and so they are in the registers
        "(2, 2, 2, (2, 3)), stride=(128, 1, 8, (2, n))",
        "((1, (1, 2, 1)), 1, 2, 2, (2, 3)), stride=((0, (0, 128, 0)), 0, 1, 8, (2, n))",
        "(2, 2, 2), stride=(1, 8, 2)",
        "(3, 4), stride=(n, 1)",
    ],
)
def test_a_vector_of_autovec_copy_may_lie_along_any_modes(layout: str, align: str, tmp_path: Path) -> None:
    """All of these compile, to what `align` allows; nothing fails to vectorize."""
    text = APART.replace("LAYOUT", layout).replace("ALIGN", align)
    assert [f for f in found(text, tmp_path, "sm_90a") if f.code.startswith("CUT4")] == []
