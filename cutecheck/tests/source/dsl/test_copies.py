"""The width of copies that name none, as the PTX of nvidia-cutlass-dsl 4.8.1 has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.model.dtype import DType
from cutecheck.model.expr import Domain, bounds, var
from cutecheck.model.ints import as_expr
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.model.units import Bits
from cutecheck.rules.derive.accesses import atom_of, side_instruction
from cutecheck.source.eval.intrinsics.dsl_ops import OpValue, copy_atom
from cutecheck.tests.source.dsl.run import HEAD, driver, events, results

KERNEL = (
    HEAD
    + """
    @cute.kernel
    def move(g: cute.Tensor, o: cute.Tensor):
        t, _, _ = cute.arch.thread_idx()
        memory = cutlass.utils.SmemAllocator()
        s = memory.allocate_tensor({type}, cute.make_layout((32, 32), stride=(32, 1)), 128, {swizzle})
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), {declared}{bits})
        copy = cute.make_tiled_copy_tv(atom, cute.make_layout((32, 1)), cute.make_layout((1, {values})))
        mine = copy.get_slice(t)
        source = mine.partition_S(g)
        r = cute.make_rmem_tensor(source.shape, {type})
        cute.copy(copy, source, r)
        cute.copy(copy, r, mine.partition_D(s))
        cute.copy(copy, mine.partition_S(s), r)
        cute.copy(copy, r, mine.partition_D(o))

    @cute.jit
    def host(g, o):
        move(g, o).launch(grid=(1, 1, 1), block=(32, 1, 1))

    def fake():
        return make_fake_tensor({type}, (32, 32), stride=({stride}, 1), assumed_align={align})

    cute.compile(host, fake(), fake())
    """
)
DEFAULTS = {
    "type": "cutlass.Float16", "declared": "", "values": 32, "align": 16, "stride": 32, "swizzle": "None", "bits": "",
}  # fmt: skip


def _dynamic(divisibility: int) -> str:
    return f"cute.sym_int64(divisibility={divisibility})"


@pytest.mark.parametrize(
    "given, in_global, in_shared",
    [
        ({}, 128, 128),
        ({"align": 2}, 16, 128),
        ({"align": 4}, 32, 128),
        ({"align": 8}, 64, 128),
        ({"align": 32}, 128, 128),
        ({"align": 32, "arch": "sm_100a"}, 256, 128),
        ({"align": 4, "type": "cutlass.Float32"}, 32, 128),
        ({"align": 8, "type": "cutlass.Float32"}, 64, 128),
        ({"align": 32, "type": "cutlass.Float32", "arch": "sm_100a"}, 256, 128),
        ({"values": 1}, 16, 16),
        ({"values": 2}, 32, 32),
        ({"values": 4}, 64, 64),
        ({"values": 16}, 128, 128),
        ({"swizzle": "cute.make_swizzle(2, 4, 3)"}, 128, 128),
        ({"swizzle": "cute.make_swizzle(2, 3, 3)"}, 128, 64),
        ({"swizzle": "cute.make_swizzle(2, 2, 3)"}, 128, 32),
        ({"stride": _dynamic(1)}, 16, 128),
        ({"stride": _dynamic(2)}, 32, 128),
        ({"stride": _dynamic(4)}, 64, 128),
        ({"stride": _dynamic(8)}, 128, 128),
        ({"declared": "cutlass.Float32"}, 128, 128),  # the atom is recast to the tensors
        ({"bits": ", num_bits_per_copy=16"}, 16, 16),
    ],
)
def test_the_width_is_the_compilers(given: dict[str, object], in_global: int, in_shared: int, tmp_path: Path) -> None:
    fields = {**DEFAULTS, **given}
    arch = str(fields.pop("arch", "sm_90a"))
    fields["declared"] = fields["declared"] or fields["type"]
    made = driver(tmp_path, KERNEL.format(**fields), arch=arch)
    widths = []
    for event in events(made):
        assert event.reason is None, event.reason
        side = "src" if event.operands[1].space == "rmem" else "dst"
        used = side_instruction(event, side)  # type: ignore[arg-type]
        assert used is not None and atom_of(event.tiled) is not None
        widths.append(used.bits)
    assert widths == [Bits(in_global), Bits(in_shared), Bits(in_shared), Bits(in_global)]


def test_of_several_tensors_of_a_side_the_first_holds_the_tile(tmp_path: Path) -> None:
    text = KERNEL.format(**DEFAULTS | {"declared": "cutlass.Float16"})
    more = "cute.copy(copy, source, (r, cute.make_rmem_tensor((1,), r.element_type)))"
    several = text.replace("cute.copy(copy, source, r)", more)
    assert several != text
    plain, beside = (
        [(e.reason, [str(t.layout) for t in e.operands]) for e in events(driver(tmp_path, x, arch="sm_90a"))]
        for x in (text, several)
    )
    assert plain == beside


def test_an_address_that_is_not_known_leaves_the_width_open(tmp_path: Path) -> None:
    text = KERNEL.format(**DEFAULTS | {"declared": "cutlass.Float16"}).replace("fake(), fake()", "fake(), unknown()")
    kinds = [e.reason.reason if e.reason is not None else "" for e in events(driver(tmp_path, text, arch="sm_90a"))]
    assert len(kinds) == 4 and all(not k for k in kinds[:3]) and kinds[3]


GROUPS = (
    HEAD
    + """
    @cute.kernel
    def kernel(stages):
        t, _, _ = cute.arch.thread_idx()
        memory = cutlass.utils.SmemAllocator()
        layout = cute.make_layout((64, 32, 4), stride=(32, 1, 2048))
        s = memory.allocate_tensor(cutlass.Float16, layout, 1024, cute.make_swizzle(2, 4, 3))
        atom = cute.make_copy_atom(cute.nvgpu.warp.StMatrix8x8x16bOp(False, 4), cutlass.Float16)
        copy = cute.make_tiled_copy(atom, cute.make_layout((128, 16), stride=(16, 1)), (64, 32))
        mine = copy.get_slice(t - 128).partition_D(s)
        r = cute.make_rmem_tensor(mine.shape[0:3], cutlass.Float16)
        cute.copy(copy, r, mine[(None, None, None, (stages - 1) % 4)])

    @cute.jit
    def host(stages):
        kernel(stages).launch(grid=(1, 1, 1), block=(256, 1, 1))

    cute.compile(host, cutlass.Int32(3))
    """
)


def test_threads_of_a_later_group_count_from_zero(tmp_path: Path) -> None:
    """No address is below its buffer: neither of the threads 128 to 255, nor of a stage that might be negative.

    Threads before those have no slice, as in C++ CuTe.
    """
    (event,) = events(driver(tmp_path, GROUPS, arch="sm_90a"))
    target = event.operands[1]
    start = target.layout.offset if isinstance(target.layout, ComposedLayout) else target.offset  # type: ignore[union-attr]
    assert str(target.thread) == "threadIdx.x - 128"  # type: ignore[union-attr]
    of_group = {"threadIdx.x": var("threadIdx.x", Domain(128, 255))}
    low, high = bounds(as_expr(start).substitute(of_group))  # type: ignore[arg-type]
    assert low == 0 and high is not None and high < 4 * 2048


@pytest.mark.parametrize(
    ("divisor", "align", "part", "whole"),  # as nvidia-cutlass-dsl 4.8.1 has it
    [
        (None, 16, 16, 64), (2, 16, 32, 128), (4, 16, 64, 128), (8, 16, 128, 128), (8, 4, 32, 32), (2, 2, 16, 16),
        (None, 4, 16, 32),
    ],
)  # fmt: skip
def test_automatic_vectors_of_tensors_with_run_time_strides(
    tmp_path: Path, divisor: int | None, align: int, part: int, whole: int
) -> None:
    """Strides that are not known keep no copy from vectors: the addresses alone do."""
    text = (
        HEAD
        + f"""
@cute.kernel
def kernel(a: cute.Tensor, tc: cute.TiledCopy):
    t, _, _ = cute.arch.thread_idx()
    b, _, _ = cute.arch.block_idx()
    x = tc.get_slice(t).partition_S(cute.local_tile(a, (64, 64), (b, 0)))
    cute.autovec_copy(x, cute.make_fragment_like(x))
    y = cute.local_tile(a, (4, 8), (b, t))
    cute.autovec_copy(y, cute.make_fragment_like(y))


@cute.jit
def host(a: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128)
    tc = cute.make_tiled_copy_tv(atom, cute.make_layout((16, 8), stride=(8, 1)), cute.make_layout((1, 8)))
    kernel(a, tc).launch(grid=(1, 1, 1), block=(128, 1, 1))


n, s = cute.sym_int(), cute.sym_int64(divisibility={divisor or 1})
host(make_fake_tensor(cutlass.Float16, (n, n), stride=(s, 1), assumed_align={align}))
"""
    )
    found = [int(side_instruction(e, "src").bits) for e in events(driver(tmp_path, text))]
    assert found == [part, whole]


@pytest.mark.parametrize(
    ("key", "layout"),
    [("..., 0", "(64,32):(128,4)"), ("0, ...", "(32,4):(4,1)"), (":, 3, :", "(64,4):(128,1)"),
     ("...", "(64,32,4):(128,4,1)"), (":, (1, ...), 0", None)],
)  # fmt: skip
def test_whole_modes_in_the_words_of_python(tmp_path: Path, key: str, layout: str | None) -> None:
    """CuTe of the DSL refuses them; trees replace ``__getitem__`` of its tensors, and mean this."""
    text = f"""
@cute.jit
def host(a: cute.Tensor):
    cute.make_layout(a[{key}].shape, stride=a[{key}].stride)

cute.compile(host, make_fake_tensor(cutlass.Float16, (64, 32, 4), stride=(128, 4, 1)))
"""
    found = results(driver(tmp_path, HEAD + text))
    assert [str(v) for made in found.values() for v in made] == ([] if layout is None else [layout])


@pytest.mark.parametrize(("type_", "bits"), [("Float4E2M1FN", 4), ("Float6E3M2FN", 6), ("Float8E4M3FN", 8)])
def test_a_copy_without_a_width_takes_elements_of_less_than_a_byte(tmp_path: Path, type_: str, bits: int) -> None:
    """nvidia-cutlass-dsl 4.8.1 prints (1,1):(0,0) for all of them, where C++'s UniversalCopy refuses the first two."""
    text = f"""
@cute.jit
def host():
    cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.{type_})

host()
"""
    ((atom,),) = results(driver(tmp_path, HEAD + text, arch="sm_120a")).values()
    assert isinstance(atom, dict) and atom["layout_src_tv"] == atom["layout_dst_tv"] == "(1,1):(0,0)"
    automatic = copy_atom(OpValue("CopyUniversalOp"), DType(type_, Bits(bits)), None)
    assert automatic.src_bits == automatic.dst_bits == Layout((1, bits), (0, 1))


def test_pointers_that_go_back(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
@cute.kernel
def kernel():
    start = cutlass.utils.SmemAllocator().allocate_array(cutlass.Float32, 64)
    held = cute.make_rmem_tensor((4, 1), cutlass.Float32)
    for at in (start + 64 - 4, 60 + start, start + 60, (start + 64) + -4):
        cute.autovec_copy(cute.make_tensor(at, cute.make_layout((4, 1))), held)

@cute.jit
def host():
    kernel().launch(grid=(1, 1, 1), block=(1, 1, 1))

cute.compile(host)
"""
    )
    found = events(driver(tmp_path, text))
    assert {str(e.operands[0].offset) for e in found} == {"60"}
