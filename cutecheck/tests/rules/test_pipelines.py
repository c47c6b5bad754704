"""Pipelined loops of cp.async, pass by pass, against a queue of groups that is run by hand for a number of tiles."""

import itertools
from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.records import record
from cutecheck.rules.examples import PREAMBLE

HEAD = """
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, float>{},
    Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
using Store = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
"""
KERNEL = """
__global__ void __launch_bounds__(128) %(name)s(float const* in, float* out, int n) {
  using Tiles = Layout<Shape<_8, _64, Int<%(ahead)s + 1>>, Stride<_64, _1, _512>>;
  __shared__ alignas(16) float smem[cosize_v<Tiles>];
  Tensor g = make_tensor(make_gmem_ptr(in), make_layout(make_shape(_8{}, _64{}, n), make_stride(_64{}, _1{}, 512)));
  Tensor o = make_tensor(make_gmem_ptr(out), make_layout(make_shape(_8{}, _64{}, n), make_stride(_64{}, _1{}, 512)));
  Tensor s = make_tensor(make_smem_ptr(smem), Tiles{});
  auto t = Load{}.get_slice(threadIdx.x);
  auto r = Store{}.get_slice(threadIdx.x);
  Tensor tg = t.partition_S(g);
  Tensor ts = t.partition_D(s);
  Tensor rs = r.partition_S(s);
  Tensor ro = r.partition_D(o);
  for (int i = 0; i < %(ahead)s; ++i) {
    copy(Load{}, tg(_, _, _, i), ts(_, _, _, i));
    %(commits)s
  }
  int read = 0, write = %(ahead)s;
  for (int i = 0; i < %(passes)s; ++i) {
    %(before)s
    %(wait)s
    __syncthreads();
    copy(Store{}, rs(_, _, _, read), ro(_, _, _, i));
    read = read + 1 == %(ahead)s + 1 ? 0 : read + 1;
    __syncthreads();
    %(after)s
    write = write + 1 == %(ahead)s + 1 ? 0 : write + 1;
  }
  %(drain)s
}
"""
DRAIN = """
  for (int i = 0; i < %(ahead)s; ++i) {
    cp_async_wait<%(left)s>();
    __syncthreads();
    copy(Store{}, rs(_, _, _, read), ro(_, _, _, n - %(ahead)s + i));
    read = read + 1 == %(ahead)s + 1 ? 0 : read + 1;
  }
"""


@record(frozen=True, slots=True)
class Pipeline:
    """``ahead`` tiles before the loop, ``commits`` groups for each; ``early``: a pass copies before it waits.

    ``style``: the last passes copy nothing and commit nothing (``tail``) or empty groups (``empty``); or the loop ends
    before them, and another reads the last tiles, waiting for all but ``left`` groups (``drain``).
    """

    ahead: int
    commits: int
    looped: int
    early: bool
    wait: int | None
    style: str
    left: int = 0

    def source(self, name: str) -> str:
        more = f"i + {self.ahead} < n"
        fill = f"copy(Load{{}}, tg(_, _, _, i + {self.ahead}), ts(_, _, _, write));"
        fence = "cp_async_fence();" * self.looped
        body = {
            "tail": f"if ({more}) {{ {fill} {fence} }}",
            "empty": f"if ({more}) {{ {fill} }} {fence}",
            "drain": f"{fill} {fence}",
        }[self.style]
        given = {
            "name": name, "ahead": self.ahead, "commits": "cp_async_fence();" * self.commits, "left": self.left,
            "passes": f"n - {self.ahead}" if self.style == "drain" else "n", "before": body if self.early else "",
            "after": "" if self.early else body,
            "wait": "" if self.wait is None else f"cp_async_wait<{self.wait}>();",
        }  # fmt: skip
        return KERNEL % (given | {"drain": DRAIN % given if self.style == "drain" else ""})

    def right(self, tiles: int) -> bool:
        """Every tile has arrived when it is read: groups arrive oldest first, and only what is waited for."""
        groups: list[set[int]] = []
        here: set[int] = set()

        def wait(left: int) -> None:
            while len(groups) > left:
                here.update(groups.pop(0))

        def fill(tile: int) -> None:
            if tile < tiles or self.style != "tail":
                groups.append({tile})
                groups.extend(set() for _ in range(self.looped - 1))

        for tile in range(self.ahead):
            groups.append({tile})
            groups.extend(set() for _ in range(self.commits - 1))
        for at in range(tiles - self.ahead if self.style == "drain" else tiles):
            if self.early:
                fill(at + self.ahead)
            if self.wait is not None:
                wait(self.wait)
            if at not in here:
                return False
            if not self.early:
                fill(at + self.ahead)
        if self.style == "drain":
            for at in range(tiles - self.ahead, tiles):
                wait(self.left)
                if at not in here:
                    return False
        return True


ALL = [
    Pipeline(*c)
    for c in itertools.product((1, 2, 3), (1, 2), (1, 2), (False, True), (0, 1, 2, 3), ("tail", "empty"), (0,))
] + [
    Pipeline(*c)
    for c in itertools.product((1, 2), (1, 2), (1, 2), (False, True), (0, 1, 2), ("drain",), (0, 1, 2))
]  # fmt: skip


@pytest.mark.parametrize("part", range(6))
def test_every_tile_has_arrived(part: int, tmp_path: Path) -> None:
    mine = {f"pipe{i}": p for i, p in enumerate(ALL) if i % 6 == part}
    path = tmp_path / "pipes.cu"
    path.write_text(PREAMBLE + HEAD + "".join(p.source(name) for name, p in mine.items()))
    report = check(inputs([str(path)]), Settings(arch=("sm_80",)))
    assert not report.failures and not report.errors
    found = {f.enclosing for f in report.findings}
    assert {f.code for f in report.findings} <= {"CUT213"}
    wrong = {name for name, p in mine.items() if not all(p.right(tiles) for tiles in range(p.ahead + 1, p.ahead + 6))}
    assert {mine[n] for n in found ^ wrong} == set()
    assert found and len(found) < len(mine)
