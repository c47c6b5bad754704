"""Pieces of one macro's body have one place in the file, and are told apart: the fragments that they make, say."""

import random
import re
from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE
from cutecheck.source.cpp.text import Origin, Piece, Source
from cutecheck.source.extract import ExtractRequest, extract

TEXT = """
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
using Smem = Layout<Shape<_64, _64>, Stride<Int<72>, _1>>;
#define FRAGMENTS(s, t)                                                         \\
  Mma mma;                                                                      \\
  auto thr = mma.get_slice(threadIdx.x);                                        \\
  Tensor rA = thr.partition_fragment_A(s);                                      \\
  Tensor rB = thr.partition_fragment_B(t);                                      \\
  Tensor acc = partition_fragment_C(mma, Shape<_64, _64>{});                    \\
  clear(acc);                                                                   \\
  auto readA = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);  \\
  auto readB = make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma)
__global__ void __launch_bounds__(128) product(half_t const* A, half_t const* B, float* C) {
  __shared__ alignas(16) half_t a[cosize_v<Smem>], b[cosize_v<Smem>];
  for (int i = threadIdx.x; i < 64 * 64; i += 128) {
    a[i / 64 * 72 + i % 64] = A[i];
    b[i / 64 * 72 + i % 64] = B[i];
  }
  __syncthreads();
  Tensor sA = make_tensor(make_smem_ptr(a), Smem{});
  Tensor sB = make_tensor(make_smem_ptr(b), Smem{});
  FRAGMENTS(sA, sB);
  auto ra = readA.get_slice(threadIdx.x);
  auto rb = readB.get_slice(threadIdx.x);
  copy(readA, ra.partition_S(sA), ra.retile_D(rA));
  copy(readB, rb.partition_S(sB), rb.retile_D(rB));
  gemm(mma, rA, rB, acc);
  copy(acc, thr.partition_C(make_tensor(make_gmem_ptr(C), Layout<Shape<_64, _64>, Stride<_64, _1>>{})));
}
"""


BY_ARGUMENT = (
    TEXT.replace("#define FRAGMENTS(s, t)", "#define FRAGMENTS(thr, s, t)")
    .replace("FRAGMENTS(sA, sB)", "FRAGMENTS(lane, sA, sB)")
    .replace("auto thr = mma", "auto lane = mma")
    .replace("copy(acc, thr.", "copy(acc, lane.")
)


@pytest.mark.parametrize("text", [TEXT, BY_ARGUMENT])
def test_fragments_of_one_macro(tmp_path: Path, text: str) -> None:
    (tmp_path / "k.cu").write_text(PREAMBLE + text)
    facts = extract(ExtractRequest((tmp_path,), ("sm_80",)))
    (product,) = (e for e in facts.events if e.kind == "gemm")
    assert len({t.buffer for t in product.operands}) == 3
    assert len({c.span.line for c in facts.calls if "partition_fragment" in c.function}) == 1
    assert {s.symbol for s in facts.sites} >= {"product::readA", "product::readB"}


@pytest.mark.parametrize("text", [TEXT, BY_ARGUMENT])
def test_fragments_of_one_macro_are_each_of_their_operand(tmp_path: Path, text: str) -> None:
    (tmp_path / "k.cu").write_text(PREAMBLE + text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT2", "CUT6")))
    assert not report.failures and [f.message for f in report.findings] == []


def test_a_fragment_of_a_macro_in_the_place_of_another(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(PREAMBLE + TEXT.replace("gemm(mma, rA, rB, acc)", "gemm(mma, rB, rA, acc)"))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT602",)))
    assert [f.code for f in report.findings] == ["CUT602"]


def test_places_of_pieces() -> None:
    """Of ``B(T(k))``, where ``T(f)`` is ``f(1);f(2)`` and ``B(x)`` is ``{x}{x}``: calls of one body are apart, those of
    an argument that stands twice are not."""
    text, own, outer = "", (2, 6), (0, 7)
    pieces = []
    for what in "{", "k", "(1);", "k", "(2)", "}{", "k", "(1);", "k", "(2)", "}":
        place = (4, 5, True) if what == "k" else (*(outer if "{" in what or "}" in what else own), False)
        pieces.append(Piece(len(text), *place))
        text += what
    source = Source(Origin("k.cu", "B(T(k))"), text, tuple(pieces))
    calls = [source.span(m.start(), m.end()) for m in re.finditer(r"k\(\d\)", text)]
    assert [c.part for c in calls] == [1, 6, 1, 6] and calls[0] == calls[2]
    assert source.span(1, 2).part == 0 and str(source.span(1, 2)) == "k.cu:1:5"


def _part_by_walking(pieces: tuple[Piece, ...], begin: int, end: int) -> int:
    """``Span.part`` piece by piece."""
    at = max(i for i, piece in enumerate(pieces) if piece.start <= begin)
    bodies = [p for p in pieces[at:] if not p.copied and p.origin != p.origin_end]
    if not bodies or (bodies[0] is not pieces[at] and bodies[0].start >= end):
        return 0
    use, start = bodies[0], at
    if not use.origin <= pieces[at].origin < use.origin_end:
        return 0
    while start and use.origin <= pieces[start - 1].origin < use.origin_end:
        start -= 1
    return begin - pieces[start].start + 1


@pytest.mark.parametrize("seed", range(20))
def test_parts_are_those_of_a_walk_over_the_pieces(seed: int) -> None:
    rng = random.Random(seed)
    pieces: list[Piece] = []
    for start in range(0, 120, 3):
        use = rng.randrange(0, 60, 20)
        body = rng.random() < 0.5
        pieces.append(Piece(start, use if body else use + rng.randrange(20), use + 20 * rng.randrange(2), not body))
    source = Source(Origin("a.cu", "x" * 200), "y" * 120, tuple(pieces))
    for begin in rng.sample(range(119), 119):
        end = rng.randrange(begin + 1, 121)
        assert source.span(begin, end).part == _part_by_walking(source.pieces, begin, end)
