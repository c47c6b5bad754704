"""CUT223: modes of a matrix, and matrices of blocks, that lie over each other by a factor of their strides."""

from itertools import product
from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.facts import Launch, Span, TensorFact
from cutecheck.model import expr as ex
from cutecheck.model.dtype import dtype
from cutecheck.model.expr import Domain, Expr
from cutecheck.model.ints import Dyn
from cutecheck.model.layout import Layout
from cutecheck.model.units import Bits
from cutecheck.rules.derive.lying_over import lying_over
from cutecheck.rules.examples import PREAMBLE

SPAN = Span("k.cu", 1, 1, 1, 2)
M, N, H, B = (ex.var(name, Domain(1, None)) for name in "mnhb")
X, Y, Z = (ex.var(f"blockIdx.{axis}") for axis in "xyz")


def times(*factors: Expr | int) -> Expr:
    whole = ex.const(1)
    for f in factors:
        whole = ex.mul(whole, ex.const(f) if isinstance(f, int) else f)
    return whole


def tensor(shape: list[Expr | int], stride: list[Expr | int], start: Expr | None = None) -> TensorFact:
    def of(numbers: list[Expr | int]) -> tuple[int | Dyn, ...]:
        return tuple(n if isinstance(n, int) else Dyn(n) for n in numbers)

    begins = ex.const(0) if start is None else start
    return TensorFact(
        "t", SPAN, "gmem", Layout(of(shape), of(stride)), dtype("float"), "p", Dyn(begins),
        root_layout=Layout(of(shape), of(stride)), root_start_bits=Dyn(ex.mul(begins, ex.const(32))),
        root_bits=Bits(32),
    )  # fmt: skip


def launch(*grid: Expr | int) -> list[Launch]:
    return [Launch("k", SPAN, "sm_80", 128, grid=tuple(g if isinstance(g, int) else Dyn(g) for g in grid))]


RIGHT = [
    tensor([M, N], [N, 1]),
    tensor([M, N, B], [N, 1, times(M, N)]),
    tensor([times(B, H), 64, M], [64, 1, times(B, H, 64)]),
    tensor([M, N, H], [N, 1, N]),  # windows of rows
    tensor([M, N, H], [times(H, N), 1, N]),
    tensor([times(B, M), times(H, N)], [times(H, N), 1], times(Y, N)),  # each block has its columns
    tensor([M, N], [N, 1], times(X, 64, N)),
    tensor([M, N], [N, 1], ex.add(times(Z, M, N, H), times(Y, M, N))),
    tensor([M, N], [N, 1], times(ex.op("div", Y, H), N)),
    tensor([M, N], [N, 1], times(Z, ex.var("batch_stride"))),
    tensor([M], [1], times(Z, 128, ex.op("div", ex.add(M, ex.const(127)), ex.const(128)))),  # rounded up
]
WRONG = [
    tensor([M, N, B], [N, 1, M]),
    tensor([M, N, B], [N, 1, times(M, M)]),
    tensor([times(B, H), 64, M], [64, 1, times(B, 64)]),
    tensor([M, N], [N, 1], times(Z, M)),
    tensor([M, N], [N, 1], ex.add(times(Z, M, N, M), times(Y, M, N))),
    tensor([times(128, ex.op("div", ex.add(M, ex.const(127)), ex.const(128)))], [1], times(Z, M)),
]


@pytest.mark.parametrize("of", RIGHT)
def test_right_strides(of: TensorFact) -> None:
    assert lying_over(of, launch(4, H, B)) is None


@pytest.mark.parametrize("of", WRONG)
def test_wrong_strides(of: TensorFact) -> None:
    assert lying_over(of, launch(4, H, B)) is not None


def _addresses(of: TensorFact, values: dict[str, int], grid: list[Expr | int]) -> list[int]:
    """All elements of all blocks, one by one."""

    def number(e: object) -> int:
        return e if isinstance(e, int) else e.expr.evaluate(values)  # type: ignore[attr-defined, no-any-return]

    root = of.root_layout
    assert isinstance(root, Layout) and isinstance(root.shape, tuple) and isinstance(root.stride, tuple)
    shape, stride = [number(s) for s in root.shape], [number(s) for s in root.stride]
    begins = of.offset
    assert isinstance(begins, Dyn)
    used = {v.name for v in begins.expr.variables()}
    names = [f"blockIdx.{a}" for a in "xyz"]
    blocks = [range(number(Dyn(g)) if isinstance(g, Expr) else g) if n in used else range(1)
              for n, g in zip(names, grid, strict=True)]  # fmt: skip
    return [
        begins.expr.evaluate({**values, **dict(zip(names, at, strict=True))})
        + sum(i * d for i, d in zip(where, stride, strict=True))
        for at in product(*blocks)
        for where in product(*map(range, shape))
    ]


@pytest.mark.parametrize("of", WRONG)
def test_elements_of_wrong_strides_lie_over_each_other(of: TensorFact) -> None:
    """For some numbers; for others there are gaps between them."""
    found = [
        _addresses(of, dict(zip("mnhb", numbers, strict=True)), [4, H, B]) for numbers in ((3, 4, 2, 5), (2, 4, 3, 5))
    ]
    assert any(len(set(addresses)) < len(addresses) for addresses in found)


@pytest.mark.parametrize("of", [*RIGHT[:3], RIGHT[7]])
def test_elements_of_right_strides_do_not(of: TensorFact) -> None:
    addresses = _addresses(of, {"m": 3, "n": 4, "h": 2, "b": 5}, [1, H, B])
    assert len(set(addresses)) == len(addresses)


KERNEL = """
__global__ void __launch_bounds__(128) split(float const* A, float* W, int m, int n, int splits) {
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, n), make_stride(n, _1{}));
  Tensor mW = make_tensor(make_gmem_ptr(W + STEP), make_shape(m, n), make_stride(n, _1{}));
  Tensor gA = local_tile(mA, Shape<_16, _32>{}, make_coord(blockIdx.x, blockIdx.y));
  Tensor gW = local_tile(mW, Shape<_16, _32>{}, make_coord(blockIdx.x, blockIdx.y));
  Tensor cW = local_tile(make_identity_tensor(shape(mW)), Shape<_16, _32>{}, make_coord(blockIdx.x, blockIdx.y));
  auto threads = Layout<Shape<_4, _32>, Stride<_32, _1>>{};
  Tensor from = local_partition(gA, threads, threadIdx.x), to = local_partition(gW, threads, threadIdx.x);
  Tensor at = local_partition(cW, threads, threadIdx.x);
  for (int i = 0; i < size(to); ++i) {
    if (elem_less(at(i), shape(mW))) to(i) = from(i);
  }
}
void run(float const* A, float* W, int m, int n, int splits) {
  split<<<dim3((m + 15) / 16, (n + 31) / 32, splits), 128>>>(A, W, m, n, splits);
}
"""


@pytest.mark.parametrize(
    ("step", "many"), [("blockIdx.z * m * n", 0), ("int64_t(blockIdx.z) * (m * n)", 0), ("blockIdx.z * m", 1)]
)
def test_a_workspace_of_splits(step: str, many: int, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(PREAMBLE + KERNEL.replace("STEP", step))
    report = check(inputs([tmp_path]), Settings(select=("CUT223",), arch=("sm_80",), cache=False, jobs=1))
    assert not report.failures and not report.errors
    assert len(report.findings) == many
    assert all("blockIdx.z" in f.message and "take up `m*n`" in f.message for f in report.findings)
