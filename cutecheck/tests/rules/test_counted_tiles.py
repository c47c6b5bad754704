"""Tiles that TMA loads in as many passes as an extent decides (CUT218), WGMMAs without a fence (CUT215), and
coordinates of TMA for another tensor than the descriptor's (CUT223)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.facts import Span
from cutecheck.facts.replayed import Along, Place, Step, Thread
from cutecheck.rules.derive.accumulators import by_one_path
from cutecheck.rules.derive.tma_walks import not_counted
from cutecheck.rules.examples import PREAMBLE

SPAN = Span("k.cu", 1, 1, 1, 1)


def load(buffer: str, row: int, at: int, extent: str = "k") -> Step:
    walk = Along(64 * row, 64, 384, "m"), Along(32 * at, 32, 192, extent)
    target = Place(buffer, SPAN, "smem", buffer, 0, root=(0, 8))
    return Step("load", SPAN, "", "bar", 0, (Place(f"g{buffer}", SPAN, "coord", "", 0, walk=walk), target))


def counted(tiles: str, decided: tuple[str, ...] | None, extent: str = "k", *more: Step) -> str | None:
    steps = tuple(load(b, 0, int(at), extent) for at in tiles for b in "ab") + more
    found = not_counted((Thread(0, steps, True, decided=decided), Thread(1, (), True)))
    return None if found is None else found.kind


@pytest.mark.parametrize(
    ("tiles", "decided", "expected"),
    [
        ("012345", ("k",), None),
        ("01234", ("k",), "missed"),
        ("12345", ("k",), "missed"),
        ("012", ("k",), None),  # a part of the work, as of one of several blocks
        ("01234", None, None),  # decided by the block's index
        ("01234", ("k", "splits"), None),
        ("01234", ("k_tiles",), None),
        ("0123456", ("k",), None),  # past the end there are zeros
        ("012345", ("m",), "miscounted"),
    ],
)
def test_passes_that_an_extent_decides(tiles: str, decided: tuple[str, ...] | None, expected: str | None) -> None:
    assert counted(tiles, decided) == expected


def test_what_goes_along_the_mode_that_decides() -> None:
    rows = tuple(load("c", row, 0) for row in range(6))
    assert counted("012345", ("m",), "k", *rows) is None


@pytest.mark.parametrize(("order", "expected"), [("copy arrive gemm", []), ("arrive copy gemm", ["unordered"])])
def test_a_fence_before_a_copy_to_registers_of_a(order: str, expected: list[str]) -> None:
    a, acc = (Place(n, SPAN, "rmem", n, 0) for n in ("a", "acc"))
    shared = Place("s", SPAN, "smem", "s", 0)
    steps = {
        "copy": Step("copy", SPAN, "", "copy", None, (shared, a)),
        "arrive": Step("call", SPAN, "", "warpgroup_arrive"),
        "gemm": Step("gemm", SPAN, "", "wgmma", None, (acc, a, shared, acc), True, adds=True),
    }
    assert [kind for kind, *_ in by_one_path(tuple(steps[name] for name in order.split()))] == expected


TWO = """
using Smem = Layout<Shape<_64, _64>, Stride<_64, _1>>;
using Full = cutlass::arch::ClusterTransactionBarrier;
template <class TmaA, class TmaB>
__global__ void __launch_bounds__(128) take(CUTE_GRID_CONSTANT TmaA const tma_a, CUTE_GRID_CONSTANT TmaB const tma_b,
                                            float* out, int m, int n, int k) {
  __shared__ alignas(128) half_t a[cosize_v<Smem>], b[cosize_v<Smem>];
  __shared__ alignas(8) uint64_t full;
  Tensor gA = local_tile(tma_a.get_tma_tensor(make_shape(m, k)), Shape<_64, _64>{}, make_coord(blockIdx.x, 0));
  Tensor gB = local_tile(tma_b.get_tma_tensor(make_shape(n, k)), Shape<_64, _64>{}, make_coord(blockIdx.y, 0));
  auto of_a = tma_a.get_slice(0);
  auto of_b = tma_b.get_slice(0);
  if (threadIdx.x == 0) {
    Full::init(&full, 1);
    Full::arrive_and_expect_tx(&full, 16384);
    copy(tma_a.with(full), of_a.partition_S(gA), of_a.partition_D(make_tensor(make_smem_ptr(a), Smem{})));
    copy(tma_b.with(full), of_b.partition_S(gB), of_b.partition_D(make_tensor(make_smem_ptr(b), Smem{})));
  }
  __syncthreads();
  Full::wait(&full, 0);
  Tensor mC = make_tensor(make_gmem_ptr(out), make_shape(m, n), make_stride(n, _1{}));
  Tensor gC = local_tile(mC, Shape<_64, _64>{}, make_coord(blockIdx.x, blockIdx.y));
  Tensor part = local_partition(gC, Layout<Shape<_2, _64>, Stride<_64, _1>>{}, threadIdx.x);
  Tensor sums = make_fragment_like(part);
  for (int i = 0; i < size(sums); ++i) sums(i) = float(a[threadIdx.x]) * float(b[threadIdx.x]);
  copy(sums, part);
}
void run(half_t const* A, half_t const* B, float* out, int m, int n, int k) {
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, k), make_stride(k, _1{}));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(n, k), make_stride(k, _1{}));
  auto tma_a = make_tma_copy(SM90_TMA_LOAD{}, mA, Smem{});
  auto tma_b = make_tma_copy(SM90_TMA_LOAD{}, mB, Smem{});
  take<<<dim3(m / 64, n / 64), 128>>>(tma_a, tma_b, out, m, n, k);
}
"""


def _found(folder: Path, text: str) -> int:
    (folder / "k.cu").write_text(PREAMBLE + text)
    report = check(inputs([folder]), Settings(select=("CUT223",), arch=("sm_90a",), cache=False, jobs=1))
    assert not report.failures and not report.errors
    return len({f.span.line for f in report.findings})


def test_descriptors_of_padded_tensors(tmp_path: Path) -> None:
    text = TWO.replace("int m, int n, int k)", "int m, int n, int k, int rows)").replace("m, n, k);", "m, n, k, rows);")
    kernel, host = text.split("void run")
    kernel = re.sub(r"make_shape\([mn], ", "make_shape(rows, ", kernel)
    assert _found(tmp_path, f"{kernel}void run{host.replace('make_shape(n, k)', 'make_shape(m, k)')}") == 0


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("", "", 0),
        ("SM90_TMA_LOAD{}, mB,", "SM90_TMA_LOAD{}, mA,", 1),
        ("(tma_a, tma_b, out", "(tma_b, tma_a, out", 2),
        ("make_shape(m, k)", "make_shape(rows, k)", 0),  # a number of its own, as many for all that is known
    ],
)
def test_a_descriptor_of_another_tensor(tmp_path: Path, old: str, new: str, lines: int) -> None:
    text = TWO.replace(old, new) if old else TWO
    if "rows" in new:
        text = TWO.replace(f"tma_a.get_tma_tensor({old})", f"tma_a.get_tma_tensor({new})")
        text = text.replace("int m, int n, int k)", "int m, int n, int k, int rows)").replace(
            "m, n, k);", "m, n, k, rows);"
        )
    assert _found(tmp_path, text) == lines
