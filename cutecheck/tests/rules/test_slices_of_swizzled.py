"""Slices of swizzled tiles at run-time coordinates, which leave a part of the offset outside of the swizzle."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from cutecheck.engine.check import check_facts
from cutecheck.model.prove import Verdict, prove
from cutecheck.rules import RULES
from cutecheck.tests.source.test_extract import run

SOURCE = """
__global__ void k(int tiles, half_t* out) {
  __shared__ half_t raw[128 * 32 * 3];
  using Plain = Layout<Shape<_128, _32, _3>, Stride<_1, _128, _4096>>;
  Tensor s = make_tensor(make_smem_ptr(raw), composition(Swizzle<SWIZZLE>{}, Plain{}));
  auto mma = make_tiled_mma(SM80_16x8x16_F16F16F16F16_TN{}, Layout<Shape<_2, _2, _1>>{}, Tile<_32, _32, _16>{});
  auto part = mma.get_slice(threadIdx.x).partition_A(s);
  auto r = mma.get_slice(threadIdx.x).partition_fragment_A(s(_, _, 0));
  int stage = 0;
  for (int t = 0; t < tiles; ++t) {
    auto now = part(_, _, _, stage);
    for (int i = 0; i < 2; ++i) {
      auto next = (i + 1) % 2;
      copy(now(_, _, next), r(_, _, next));
    }
    stage = (stage + 1) % 3;
  }
  out[threadIdx.x] = r(0);
}
void host(half_t* p, int n) { k<<<1, 128>>>(n, p); }
"""


def wavefronts(bits: int, base: int, shift: int) -> int:
    """Of the worst load, by the addresses of each lane: A's fragment of ``m16n8k16`` element by element."""
    worst = 0
    for warp in range(4):
        for where in range(64):  # two of a pair, the lower rows, the upper columns, tiles of 32 rows, and k
            pair, low, high, tile, k = where & 1, where >> 1 & 1, where >> 2 & 1, where >> 3 & 3, where >> 5
            banks = defaultdict(set)
            for lane in range(32):
                m = 32 * tile + 16 * (warp % 2) + 8 * low + lane // 4
                at = m + 128 * (16 * k + 8 * high + 2 * (lane % 4) + pair)
                at ^= (at >> shift) & (((1 << bits) - 1) << base)
                banks[at // 2 % 32].add(at // 2)
            worst = max(worst, *map(len, banks.values()))
    return worst


@pytest.mark.parametrize(
    ("swizzle", "counted"),
    [((2, 3, 4), 2), ((5, 0, 7), 4), ((2, 3, 5), 1), ((2, 4, 4), 1), ((3, 3, 6), 2)],
)
def test_a_part_of_the_offset_outside_of_the_swizzle(
    tmp_path: Path, swizzle: tuple[int, int, int], counted: int
) -> None:
    """Counted by CuTe's own addresses, too: 2 and 4 for the first two."""
    facts = run(tmp_path, SOURCE.replace("SWIZZLE", ", ".join(map(str, swizzle))))
    report = check_facts(facts, RULES, prove, lambda _: None)
    banks = [o for o in report.outcomes if o.obligation.property == "bank-conflict-free"]
    assert wavefronts(*swizzle) == counted
    assert [o.verdict for o in banks] == [Verdict.PROVED if counted == 1 else Verdict.REFUTED]
    told = [f.message for f in report.findings if f.code == "CUT101"]
    assert len(told) == (counted > 1)
    assert all(f"takes {counted} wavefronts" in m for m in told)
