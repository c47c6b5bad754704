"""CUT209 under conditions: what they may leave out is not reported."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.facts import SmemBuffer
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Dyn
from cutecheck.model.layout import ComposedLayout, Layout, MixedBits, SmemPtrFlag, Swizzle, SwizzleUnit
from cutecheck.model.prove.engines.concrete import offsets, swizzle
from cutecheck.model.units import Bits, Bytes
from cutecheck.rules.derive.places import placed
from cutecheck.rules.examples import PREAMBLE
from cutecheck.tests.rules.build import HALF, SPAN, copy_event, tensor, universal

KERNEL = """
using Rows = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
__global__ void __launch_bounds__(128) k(float* out) {
  __shared__ alignas(16) float smem[8 * 64];
  Tensor s = make_tensor(make_smem_ptr(smem), Layout<Shape<_8, _64>, Stride<_64, _1>>{});
  Tensor o = make_tensor(make_gmem_ptr(out), Layout<Shape<_8, _64>, Stride<_64, _1>>{});
  auto t = Rows{}.get_slice(threadIdx.x);
  Tensor mine = t.partition_S(s);
  Tensor other = make_tensor(mine.data() + 64, mine.layout());
  int row = threadIdx.x / 16;
  %s copy(Rows{}, other, t.partition_D(o));
}
"""


@pytest.mark.parametrize(
    ("condition", "codes"), [("", {"CUT209"}), ("if (row == 0)", set()), ("if (out[row] > 1)", set())]
)
def test_a_condition_that_may_leave_out_threads(tmp_path: Path, condition: str, codes: set[str]) -> None:
    (tmp_path / "k.cu").write_text(PREAMBLE + KERNEL % condition)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
    assert {f.code for f in report.findings} & {"CUT209"} == codes
    unknown = [
        o.reason for o in report.outcomes if o.obligation.property == "fits-allocation" and o.verdict.value == "unknown"
    ]
    assert bool(unknown) is bool(condition)


WARPGROUPS = """
using Rows = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
__global__ void __launch_bounds__(384) k(float* out, int n) {
  __shared__ alignas(16) float smem[SIZE];
  Tensor s = make_tensor(make_smem_ptr(smem), Layout<Shape<_8, _64>, Stride<_64, _1>>{});
  Tensor o = make_tensor(make_gmem_ptr(out), Layout<Shape<_8, _64>, Stride<_64, _1>>{});
  int const wg = threadIdx.x / 128;
  if (wg == 2 && n > 3) {
    auto t = Rows{}.get_slice(THREAD);
    copy(Rows{}, t.partition_S(s), t.partition_D(o));
  }
}
"""


@pytest.mark.parametrize("thread", ["threadIdx.x - 256", "int(threadIdx.x) - 256"])
@pytest.mark.parametrize(("size", "expected"), [("8 * 64", "proved"), ("8 * 64 - 4", "unknown")])
def test_a_slice_counted_from_a_later_thread_is_taken_by_the_threads_from_there_on(
    tmp_path: Path, size: str, expected: str, thread: str
) -> None:
    (tmp_path / "k.cu").write_text(PREAMBLE + WARPGROUPS.replace("SIZE", size).replace("THREAD", thread))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
    (outcome,) = [o for o in report.outcomes if o.obligation.property == "fits-allocation"]
    assert outcome.verdict.value == expected


INNER = Layout((8, (64, 2)), (64, (1, 512)))


def buffer(alignment: int) -> SmemBuffer:
    return SmemBuffer("b", "b", SPAN, "sm_90", "kernel", Bytes(4096), Bytes(alignment), Bits(16))


@pytest.mark.parametrize(("bits", "base", "shift"), [(3, 4, 3), (2, 4, 3), (1, 4, 3), (3, 3, 4), (3, 4, -3)])
def test_a_swizzle_on_addresses_is_one_on_offsets_where_the_buffer_is_aligned(bits: int, base: int, shift: int) -> None:
    event = copy_event(
        universal(128, HALF, "(_16,_8):(_8,_1)", "(_1,_8):(_8,_1)"), HALF, ("smem", "(_16,_64):(_64,_1)"), None
    )
    bytewise = Swizzle(bits, base, shift, SwizzleUnit.BYTE)
    part = tensor("s", "smem", ComposedLayout(bytewise, SmemPtrFlag(Bits(16)), INNER), HALF, 24)
    period = 1 << bits + base + abs(shift)
    found = placed(event, part, buffer(period))
    assert found is not None
    layout, offset = found
    assert isinstance(layout, ComposedLayout) and isinstance(layout.a, Swizzle) and offset.constant == 24
    elements = [swizzle(layout.a, 24 + x) for x in offsets(INNER, {})]
    for start in (0, period, 5 * period):
        addresses = [swizzle(bytewise, start + 2 * (24 + x)) for x in offsets(INNER, {})]
        assert [a - start for a in addresses] == [2 * e for e in elements]
    lower = placed(event, part, buffer(period // 2))  # what is moved depends on where the buffer starts
    assert lower is not None and lower[0] == part.layout


def test_mixed_bits_are_the_number_they_stand_for() -> None:
    thread = Dyn.named("threadIdx.x", Domain(0, 127)).expr
    mixed = MixedBits(512, 127, thread)
    event = copy_event(
        universal(128, HALF, "(_16,_8):(_8,_1)", "(_1,_8):(_8,_1)"), HALF, ("smem", "(_16,_64):(_64,_1)"), None
    )
    part = tensor("s", "smem", ComposedLayout(Swizzle(3, 3, 3), mixed, INNER), HALF, 1024)
    found = placed(event, part, buffer(128))
    assert found is not None and isinstance(found[0], ComposedLayout) and isinstance(found[0].offset, Dyn)
    assert [found[0].offset.expr.evaluate({"threadIdx.x": t}) for t in range(128)] == [512 + t for t in range(128)]
