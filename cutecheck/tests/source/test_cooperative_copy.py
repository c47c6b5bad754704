"""``cooperative_copy``: what each thread copies, against CuTe itself run thread by thread on the host."""

from pathlib import Path

import pytest

from cutecheck.facts import Event, TensorFact
from cutecheck.model import algebra as alg
from cutecheck.model.ints import as_expr, known_value
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle
from cutecheck.model.notation import show
from cutecheck.tests.source.real import lines_of
from cutecheck.tests.source.test_extract import run

LINEAR = "Layout<Shape<_64, _32>, Stride<_32, _1>>"
COLUMN = "Layout<Shape<_64, _32>>"
PADDED = "Layout<Shape<_64, _32>, Stride<_40, _1>>"
ELEMENTWISE = f"decltype(composition(Swizzle<2, 3, 3>{{}}, {LINEAR}{{}}))"
GMMA = "decltype(tile_to_shape(GMMA::Layout_K_SW64_Atom<uint16_t>{}, Shape<_64, _32>{}))"
CASES = [  # source, target, element, threads, widest vector in bits (0: not written)
    (LINEAR, LINEAR, "uint16_t", 128, 128),
    (LINEAR, COLUMN, "uint16_t", 128, 128),
    (PADDED, LINEAR, "uint16_t", 64, 64),
    (LINEAR, ELEMENTWISE, "uint16_t", 128, 128),
    (LINEAR, GMMA, "uint16_t", 128, 128),
    (COLUMN, GMMA, "uint16_t", 32, 128),
    (LINEAR, GMMA, "uint16_t", 128, 0),
    (LINEAR, LINEAR, "uint32_t", 512, 128),
    ("Layout<Shape<_128>>", "Layout<Shape<_128>>", "uint32_t", 128, 128),
    ("Layout<Shape<Int<100>>>", "Layout<Shape<Int<100>>>", "uint32_t", 96, 128),
    ("Layout<Shape<Int<100>>>", "Layout<Shape<Int<100>>>", "uint32_t", 96, 32),
    ("Layout<Shape<Int<300>>, Stride<_2>>", "Layout<Shape<Int<300>>>", "uint16_t", 128, 64),
    ("Layout<Shape<_4, _16>, Stride<_16, _1>>", "Layout<Shape<_4, _16>, Stride<Int<20>, _1>>", "uint16_t", 16, 128),
    ("Layout<Shape<_8, _4, _2>, Stride<_4, _1, _64>>", "Layout<Shape<_8, _4, _2>>", "uint32_t", 32, 64),
]
PROGRAM = """
#include <cstdio>
#include <cute/tensor.hpp>
#include <cute/algorithm/cooperative_copy.hpp>
#include <cute/arch/mma_sm90_desc.hpp>
#include <cute/atom/mma_traits_sm90_gmma.hpp>
using namespace cute;
alignas(4096) static unsigned char from[1 << 14], to[1 << 14];
template <class T, unsigned Threads, unsigned... Bits, class A, class B> void one(int number, A a, B b) {
  T* f = reinterpret_cast<T*>(from); T* t = reinterpret_cast<T*>(to);
  for (unsigned i = 0; i < sizeof(from) / sizeof(T); ++i) f[i] = T(i + 1);
  for (unsigned tid = 0; tid < Threads; ++tid) {
    for (unsigned i = 0; i < sizeof(to) / sizeof(T); ++i) t[i] = 0;
    auto g = make_tensor(make_gmem_ptr(f), a);
    auto s = make_tensor(make_smem_ptr(t), b);
    cooperative_copy<Threads, Bits...>(tid, g, s);
    for (unsigned i = 0; i < sizeof(to) / sizeof(T); ++i)
      if (t[i]) std::printf("%d %u %u %u\\n", number, tid, unsigned(t[i]) - 1, i);
  }
}
int main() {
"""

Moves = set[tuple[int, int, int]]  # thread, element read, element written


def call(case: tuple[str, str, str, int, int]) -> str:
    return f"<{case[3]}, {case[4]}>" if case[4] else f"<{case[3]}>"


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> list[Moves]:
    """What CuTe moves, for each case."""
    calls = "".join(
        f"one<{t}, {n}{f', {w}' if w else ''}>({i}, {a}{{}}, {b}{{}});\n" for i, (a, b, t, n, w) in enumerate(CASES)
    )
    moves: list[Moves] = [set() for _ in CASES]
    for line in lines_of(tmp_path_factory.mktemp("cooperative"), PROGRAM + calls + "}\n", "-DNDEBUG"):
        case, *move = map(int, line.split())
        moves[case].add((move[0], move[1], move[2]))
    return moves


def elements(t: TensorFact, tid: int, bits: int) -> list[int]:
    """The elements (of the original width) that a thread's part holds, in order."""
    wide = int(t.dtype.bits) // bits if t.dtype is not None and t.dtype.bits is not None else 1
    layout = t.layout.b if isinstance(t.layout, ComposedLayout) else t.layout
    assert isinstance(layout, Layout)
    start = as_expr(t.offset).substitute({"threadIdx.x": as_expr(tid)}).constant
    assert start is not None
    swizzle = t.layout.a if isinstance(t.layout, ComposedLayout) else None
    out = []
    for i in range(known_value(alg.size(layout)) or 0):
        at = (start + (known_value(alg.apply_layout(layout, i)) or 0)) * wide
        if swizzle is not None:  # on addresses of a buffer that is aligned to all its bits
            assert isinstance(swizzle, Swizzle)
            at = (known_value(alg.apply_layout(swizzle, at * bits // 8)) or 0) * 8 // bits
        out += range(at, at + wide)
    return out


def moved(events: list[Event], threads: int, bits: int) -> Moves:
    out: Moves = set()
    for e in events:
        for tid in range(threads if e.threads is None else min(threads, known_value(e.threads) or 0)):
            out |= {(tid, s, d) for s, d in zip(*(elements(o, tid, bits) for o in e.operands), strict=True)}
    return out


@pytest.mark.parametrize("number", range(len(CASES)))
def test_each_thread_copies_what_it_does_in_cute(tmp_path: Path, number: int, real: list[Moves]) -> None:
    case = CASES[number]
    source, target, element, threads, _ = case
    facts = run(
        tmp_path,
        f"""
__global__ void k({element}* g) {{
  extern __shared__ {element} s[];
  cooperative_copy{call(case)}(threadIdx.x, make_tensor(make_gmem_ptr(g), {source}{{}}),
                               make_tensor(make_smem_ptr(s), {target}{{}}));
}}
int main() {{ k<<<1, {threads}, 16384>>>(nullptr); }}
""",
    )
    assert [e.reason for e in facts.events if e.reason is not None] == []
    assert moved(list(facts.events), threads, 16 if "16" in element else 32) == real[number]


def test_a_copy_to_shared_memory_that_may_be_asynchronous_is(tmp_path: Path) -> None:
    facts = run(
        tmp_path,
        """
__global__ void k(half_t* g, float* f) {
  __shared__ alignas(16) half_t s[4096];
  __shared__ alignas(16) float t[128];
  auto L = Layout<Shape<_64, _32>, Stride<_32, _1>>{};
  cooperative_copy<128, 128>(threadIdx.x, make_tensor(make_gmem_ptr(g), L), make_tensor(make_smem_ptr(s), L),
                             AutoCopyAsync{});
  cooperative_copy<128, 32>(threadIdx.x, make_tensor(make_gmem_ptr(f), Layout<_128>{}),
                            make_tensor(make_smem_ptr(t), Layout<_128>{}), AutoCopyAsync{});
  cooperative_copy<128, 128>(threadIdx.x, make_tensor(make_smem_ptr(s), L), make_tensor(make_gmem_ptr(g), L),
                             AutoCopyAsync{});
}
int main() { k<<<1, 128>>>(nullptr, nullptr); }
""",
    )
    assert {show(o.root_layout) for e in facts.events for o in e.operands} == {"(_64,_32):(_32,_1)", "_128:_1"}
    ops = [e.tiled.op for e in facts.events if e.tiled is not None]
    assert ops[:2] == ["SM80_CP_ASYNC_CACHEGLOBAL", "SM80_CP_ASYNC_CACHEALWAYS"]
    assert ops[2].startswith("AutoVectorizingCopy")


def test_tensors_whose_elements_are_taken_in_turn_and_stand_at_unequal_distances_are_not_known(tmp_path: Path) -> None:
    facts = run(
        tmp_path,
        """
__global__ void k(half_t* g) {
  __shared__ half_t s[4096];
  cooperative_copy<96, 16>(threadIdx.x, make_tensor(make_gmem_ptr(g), Layout<Shape<_10, _10>, Stride<_16, _1>>{}),
                           make_tensor(make_smem_ptr(s), Layout<Shape<_10, _10>, Stride<_16, _1>>{}));
}
int main() { k<<<1, 96>>>(nullptr); }
""",
    )
    (event,) = facts.events
    assert event.reason is not None and "in turn" in event.reason.reason
