"""CUT209 under conditions: what they may leave out is not reported."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.facts import SmemBuffer
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Dyn
from cutecheck.model.layout import ComposedLayout, Layout, MixedBits, SmemPtrFlag, Swizzle, SwizzleUnit
from cutecheck.model.prove import Verdict
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
    ("condition", "verdict"),
    [("", Verdict.REFUTED), ("if (row == 0)", Verdict.PROVED), ("if (out[row] > 1)", Verdict.UNKNOWN)],
)
def test_a_condition_that_may_leave_out_threads(tmp_path: Path, condition: str, verdict: Verdict) -> None:
    (tmp_path / "k.cu").write_text(PREAMBLE + KERNEL % condition)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
    assert ("CUT209" in {f.code for f in report.findings}) is (verdict is Verdict.REFUTED)
    (found,) = {o.verdict for o in report.outcomes if o.obligation.property == "fits-allocation"}
    assert found is verdict


REACHED = """
__global__ void __launch_bounds__(128) k(float* out, int a, int b) {
  __shared__ alignas(16) float smem[256];
  Tensor r = make_tensor<float>(Layout<Shape<_8>>{});
  BODY;
  Tensor s = make_tensor(make_smem_ptr(smem + at), Layout<Shape<_8>>{});
  copy(s, r);
}
"""


@pytest.mark.parametrize(
    ("body", "beyond"),
    [
        ("int at = threadIdx.x * 4; if (at > 248) return", False),
        ("int at = threadIdx.x * 4; if (at > 300) return", True),
        ("int at = threadIdx.x * 4; at = at > 248 ? 248 : at", False),
        ("int at = a ? -8 : 8; if (at < 0) return", False),
        ("int at = a ? 300 : 0; if (a) return", False),
        ("int at = 300; if (a) at = 0; if (!a) return", False),
        ("int at = a ? 300 : 8; if (at > 256) at = 16", False),
        ("int at = 64 * (threadIdx.x / 32); if (a) at += 256; if (at >= 256) at -= 256", False),
        ("int at = 0; if (a > 0) at += 128; if (b > 0) at += 128; if (at == 256) return", False),
        ("int at = a ? 300 : 8", True),
        ("int at = a ? 300 : 260; if (b) return", True),
    ],
)
def test_what_is_past_the_end_is_reached(tmp_path: Path, body: str, beyond: bool) -> None:
    """Ranges around the values of several ways, and places that a condition leaves out, refute nothing."""
    (tmp_path / "k.cu").write_text(PREAMBLE + REACHED.replace("BODY", body))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
    assert ("CUT209" in {f.code for f in report.findings}) is beyond
    (found,) = {o.verdict for o in report.outcomes if o.obligation.property == "fits-allocation"} or {None}
    assert (found is Verdict.REFUTED) is beyond


AHEAD = """
using Rows = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
__global__ void __launch_bounds__(128) k(float* out) {
  __shared__ alignas(16) float smem[8 * 256];
  Tensor s = make_tensor(make_smem_ptr(smem), Layout<Shape<_8, _256>, Stride<_1, _8>>{});
  Tensor mine = local_partition(s, Layout<_8>{}, threadIdx.x / 16);
  Tensor held = make_tensor<float>(_1{});
  for (int i = 0; i < size<1>(mine); ++i) { %s { copy(mine(_, i + 1), held); } }
}
"""


@pytest.mark.parametrize(
    ("condition", "verdict"),
    [
        ("if (i < size<1>(mine) - 1)", "proved"),
        ("if (!(i + 1 >= size<1>(mine)) && out)", "proved"),
        ("if (i + 1 == size<1>(mine)) {} else", "proved"),
        ("if (i < size<1>(mine))", "refuted"),
        ("", "refuted"),
    ],
)
def test_a_condition_on_the_loop_says_which_of_its_passes_copy_ahead(
    tmp_path: Path, condition: str, verdict: str
) -> None:
    (tmp_path / "k.cu").write_text(PREAMBLE + AHEAD.replace("%s", condition))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
    (outcome,) = [o for o in report.outcomes if o.obligation.property == "fits-allocation"]
    assert outcome.verdict.value == verdict


OVER_BOTH = """
using Rows = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
struct Shared { alignas(16) float a[8 * 64]; alignas(16) float b[8 * 64]; };
__global__ void __launch_bounds__(128) k(float* out) {
  __shared__ Shared shared;
  Tensor o = make_tensor(make_gmem_ptr(out), Layout<Shape<_8, _64>, Stride<_64, _1>>{});
  Tensor s = make_tensor(make_smem_ptr(shared.a), Layout<Shape<_8, _64>, Stride<_64, _1>>{});
  Tensor b = make_tensor(make_smem_ptr(shared.b), s.layout());
  Tensor w = make_tensor(make_smem_ptr(shared.a), Layout<Shape<_8, ROWS>, Stride<ROWS, _1>>{});
  auto t = Rows{}.get_slice(threadIdx.x);
  FIRST copy(Rows{}, t.partition_S(b), t.partition_D(o));
  copy(Rows{}, t.partition_S(w), t.partition_D(make_tensor(make_gmem_ptr(out), w.layout())));
}
"""
TO_A = "copy(Rows{}, t.partition_S(s), t.partition_D(o));"


@pytest.mark.parametrize(
    ("first", "rows", "verdict"),
    [(TO_A, "_64", "proved"), (TO_A, "_128", "unknown"), (TO_A, "_192", "refuted"), ("", "_128", "refuted")],
)
def test_a_tensor_over_several_members_of_a_structure(tmp_path: Path, first: str, rows: str, verdict: str) -> None:
    (tmp_path / "k.cu").write_text(PREAMBLE + OVER_BOTH.replace("FIRST", first).replace("ROWS", rows))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
    found = {o.verdict.value for o in report.outcomes if o.obligation.property == "fits-allocation"}
    assert found == {"proved", verdict}


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
def test_a_swizzle_on_addresses_is_one_on_offsets_from_where_the_buffer_starts(
    bits: int, base: int, shift: int
) -> None:
    event = copy_event(
        universal(128, HALF, "(_16,_8):(_8,_1)", "(_1,_8):(_8,_1)"), HALF, ("smem", "(_16,_64):(_64,_1)"), None
    )
    bytewise = Swizzle(bits, base, shift, SwizzleUnit.BYTE)
    part = tensor("s", "smem", ComposedLayout(bytewise, SmemPtrFlag(Bits(16)), INNER), HALF, 24)
    period, block = 1 << bits + base + abs(shift), 1 << bits + base + max(0, -shift)
    for alignment in (2, 16, block // 2, block, period // 2, period, 2 * period):
        found = placed(event, part, buffer(alignment))
        assert found is not None
        layout, offset = found.layout, found.offset
        assert isinstance(layout, ComposedLayout) and isinstance(layout.a, Swizzle) and offset.constant == 24
        assert bool(found.starts()) is (alignment < period)
        assert found.assumption == ("" if alignment >= block else f"`b` starts at a multiple of {block} bytes")
        for start in found.starts() or (0,):
            elements = [swizzle(layout.a, start + 24 + x) - start for x in offsets(INNER, {})]
            for at in (2 * start, 2 * start + 5 * period):
                addresses = [swizzle(bytewise, at + 2 * (24 + x)) for x in offsets(INNER, {})]
                assert [a - at for a in addresses] == [2 * e for e in elements]
        if found.starts():
            asked = found.base.variables()[0].domain
            assert asked.lo == 0 and asked.hi == (period - max(alignment, block)) // 2
            assert 2 * asked.step == max(alignment, block)
            assert [s for s in found.starts() if s in asked] == list(range(0, period // 2, asked.step))
            assert 2 * found.least == min(max(alignment, 16), max(alignment, block))


STORED = """
using Rows = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_32, _4>, Stride<_4, _1>>{}, Layout<Shape<_1, _8>>{}));
using Tile = ComposedLayout<Swizzle<3, 4, 3>, smem_ptr_flag_bits<16>, Layout<Shape<_64, COLUMNS>, Stride<_64, _1>>>;
__global__ void __launch_bounds__(128) k(half_t* out) {
  __shared__ DECLARED half_t smem[SIZE];
  Tensor s = make_tensor(make_smem_ptr(smem), Tile{});
  Tensor o = make_tensor(make_gmem_ptr(out), Layout<Shape<_64, COLUMNS>, Stride<_64, _1>>{});
  auto t = Rows{}.get_slice(threadIdx.x);
  copy(Rows{}, t.partition_S(s), t.partition_D(o));
}
"""


@pytest.mark.parametrize(
    ("declared", "columns", "size", "expected"),
    [
        ("alignas(1024)", "_64", 4096, "proved"),
        ("alignas(128)", "_64", 4096, "proved"),
        ("alignas(16)", "_64", 4096, "assumed"),
        ("", "_64", 4096, "assumed"),
        ("alignas(1024)", "_64", 4096 - 8, "refuted"),
        ("alignas(128)", "_64", 4096 - 64, "refuted"),
        ("", "_64", 4096 - 64, "refuted"),
        ("alignas(1024)", "_32", 4096 - 8, "refuted"),  # row 63 puts columns 0 to 31 into its last half
        ("alignas(128)", "_32", 4096 - 8, "open"),  # in its first half where smem starts at 128
    ],
)
def test_a_tile_with_its_swizzle_on_addresses(
    tmp_path: Path, declared: str, columns: str, size: int, expected: str
) -> None:
    text = STORED.replace("DECLARED", declared).replace("COLUMNS", columns).replace("SIZE", str(size))
    (tmp_path / "k.cu").write_text(PREAMBLE + text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",)))
    (outcome,) = [o for o in report.outcomes if o.obligation.property == "fits-allocation"]
    starts = [a for a in outcome.assumptions if a.startswith("`smem` starts at a multiple of 128 bytes")]
    verdict = {"assumed": "proved", "open": "unknown"}.get(expected, expected)
    assert outcome.verdict.value == verdict, outcome
    assert ("CUT209" in {f.code for f in report.findings}) is (expected == "refuted")
    if expected in ("proved", "assumed"):
        assert bool(starts) is (expected == "assumed")
    if expected == "open":
        assert outcome.reason == "whether it goes past the end depends on where `smem` starts"


def test_mixed_bits_are_the_number_they_stand_for() -> None:
    thread = Dyn.named("threadIdx.x", Domain(0, 127)).expr
    mixed = MixedBits(512, 127, thread)
    event = copy_event(
        universal(128, HALF, "(_16,_8):(_8,_1)", "(_1,_8):(_8,_1)"), HALF, ("smem", "(_16,_64):(_64,_1)"), None
    )
    part = tensor("s", "smem", ComposedLayout(Swizzle(3, 3, 3), mixed, INNER), HALF, 1024)
    found = placed(event, part, buffer(128))
    assert found is not None and isinstance(found.layout, ComposedLayout) and isinstance(found.layout.offset, Dyn)
    assert [found.layout.offset.expr.evaluate({"threadIdx.x": t}) for t in range(128)] == [512 + t for t in range(128)]


OVERLAID = """
struct Storage {
  union {
    struct { array_aligned<float, 8 * 64> a; array_aligned<float, %d> b; };
    array_aligned<float, 32 * 64> c;
  };
};
__global__ void __launch_bounds__(128) k(float* out) {
  %s
  auto fill = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, Layout<Shape<_8, _16>, Stride<_16, _1>>{},
                              Layout<Shape<_1, _4>>{});
  auto t = fill.get_slice(threadIdx.x);
  Layout<Shape<_8, _64>, Stride<_64, _1>> rows;
  Tensor g = t.partition_S(make_tensor(make_gmem_ptr(out), rows));
  copy(fill, g, t.partition_D(make_tensor(make_smem_ptr(s.a.data()), rows)));
  copy(fill, g, t.partition_D(make_tensor(make_smem_ptr(s.b.data()), rows)));
  __syncthreads();
  Layout<Shape<_32, _64>, Stride<_64, _1>> all;
  Tensor h = t.partition_S(make_tensor(make_gmem_ptr(out), all));
  copy(fill, h, t.partition_D(make_tensor(make_smem_ptr(s.c.data()), all)));
}
void run(float* out) { k<<<1, 128, %s>>>(out); }
"""
STATIC = ("__shared__ Storage s;", "0")
DYNAMIC = ("extern __shared__ char raw[]; Storage& s = *reinterpret_cast<Storage*>(raw);", "sizeof(Storage)")
SMALL = (DYNAMIC[0], "4096")


@pytest.mark.parametrize(
    ("b", "memory", "codes"),
    [
        (8 * 64, STATIC, set()),
        (8 * 64, DYNAMIC, set()),
        (8 * 64, SMALL, {"CUT209"}),
        (7 * 64, STATIC, {"CUT209"}),
        (11 * 1024, STATIC, set()),  # 47,104 bytes, and 55,296 were its members one after the other
        (12 * 1024, STATIC, {"CUT702"}),
    ],
)
def test_members_of_a_union_and_of_a_static_structure(
    tmp_path: Path, b: int, memory: tuple[str, str], codes: set[str]
) -> None:
    (tmp_path / "k.cu").write_text(PREAMBLE + OVERLAID % (b, *memory))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
    assert {f.code for f in report.findings} & {"CUT209", "CUT702"} == codes


STAGED = """
using Rows = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
__global__ void __launch_bounds__(128) k(float* out, int n) {
  __shared__ alignas(16) float smem[2 * 512];
  Tensor s = make_tensor(make_smem_ptr(smem), Layout<Shape<_8, _64, _3>, Stride<_64, _1, _512>>{});
  Tensor o = make_tensor(make_gmem_ptr(out), Layout<Shape<_8, _64>, Stride<_64, _1>>{});
  auto t = Rows{}.get_slice(threadIdx.x);
  for (int i = 0; i < n; ++i) { %s copy(Rows{}, t.partition_S(s)(_, _, _, %s), t.partition_D(o)); }
}
"""


@pytest.mark.parametrize(
    ("condition", "stage", "verdict"),
    [
        ("", "i % 3", "refuted"),
        ("", "(i + 1) % 3", "refuted"),
        ("", "(i % 6) / 2", "refuted"),
        ("", "i % 2", "proved"),
        ("", "1 - (i & 1)", "proved"),
        ("", "i / 2 % 3", ""),  # not a remainder of the index
        ("", "(i - 1) % 3", ""),  # a remainder of what may be negative
        ("", "i", "refuted"),  # each stage that the layout has
        ("if (i < 2)", "i", ""),
        ("if (i < 2)", "i % 3", ""),
    ],
)
def test_stages_of_a_loop_whose_end_is_not_known(tmp_path: Path, condition: str, stage: str, verdict: str) -> None:
    (tmp_path / "k.cu").write_text(PREAMBLE + STAGED % (condition, stage))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
    found = [o for o in report.outcomes if o.obligation.property == "fits-allocation"]
    assert [o.verdict.value for o in found] == [verdict] * bool(verdict)
    assert ({"CUT209"} if verdict == "refuted" else set()) == {f.code for f in report.findings} & {"CUT209"}
    assumed = "`i` comes to be each of 3" if stage == "i" else "loop over `i` makes"
    assert all(assumed in a for o in found for a in o.obligation.assumptions)


MOVED = """
template <int = 0> __global__ void __launch_bounds__(128) k(float* C, int n) {
  __shared__ float in[SIZE];
  in[threadIdx.x % 96] = 1.f;
  MOVE
  __syncthreads();
  Tensor s = make_tensor(make_smem_ptr(START), Layout<Shape<_128, _3>, Stride<_1, _128>>{})(_, STAGE);
  Tensor o = make_tensor(make_gmem_ptr(C), Layout<_128>{});
  copy(local_partition(s, Layout<_128>{}, threadIdx.x), local_partition(o, Layout<_128>{}, threadIdx.x));
}
void run(float* C, int n) { k<<<1, 128>>>(C, n); }
"""


@pytest.mark.parametrize(
    ("size", "move", "start", "stage", "found"),
    [
        (192, "", "in + n", "0", False),  # as far as the host says
        (192, "float* p = in; other::moves(p);", "p", "0", False),
        (192, "Unknown u; u.fill(in, 1);", "in", "0", False),  # an array starts where it does
        (96, "Unknown u; u.fill(in, 1);", "in", "0", True),
        (256, "", "in", "n", True),  # each stage that the layout has
    ],
)
def test_where_a_tensor_starts_is_no_stage(
    tmp_path: Path, size: int, move: str, start: str, stage: str, found: bool
) -> None:
    text = MOVED.replace("SIZE", str(size)).replace("MOVE", move).replace("START", start).replace("STAGE", stage)
    (tmp_path / "k.cu").write_text(PREAMBLE + text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT209",)))
    assert bool(report.findings) == found
