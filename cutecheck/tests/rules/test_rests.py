"""What is left of a mode from its last tile on, of another matrix, and of modes that one copy of several forgets."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.facts import Bound, Predicate, Span
from cutecheck.model import expr as ex
from cutecheck.model.ints import Dyn
from cutecheck.rules.derive.coordinates import Guarded
from cutecheck.rules.derive.rests import limits_of
from cutecheck.rules.examples import PREAMBLE

ATTENTION = """
using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
template <class S, class D, class C, class P>
__device__ void move(S const& s, D&& d, C const& c, P const& p, int rows) {
  CUTE_UNROLL
  for (int m = 0; m < size<1>(s); ++m) {
    if (get<0>(c(0, m, 0)) < rows) {
      for (int k = 0; k < size<2>(s); ++k) { if (p(k)) { copy(Load{}, s(_, m, k), d(_, m, k)); } }
    }
  }
}
template <class S, class D, class P>
__device__ void move_rows(S const& s, D&& d, P const& p) {
  for (int m = 0; m < size<1>(s); ++m)
    for (int k = 0; k < size<2>(s); ++k) { if (p(k)) { copy(Load{}, s(_, m, k), d(_, m, k)); } }
}
template <class S, class D, class C>
__device__ void move_columns(S const& s, D&& d, C const& c, int rows) {
  for (int m = 0; m < size<1>(s); ++m) {
    if (get<0>(c(0, m, 0)) < rows) { for (int k = 0; k < size<2>(s); ++k) { copy(Load{}, s(_, m, k), d(_, m, k)); } }
  }
}
__global__ void __launch_bounds__(128) attend(half_t const* Q, half_t const* K, half_t const* V, half_t* O,
                                              int rows, int keys, int d, int ldq, int ldk, int ldv, int flag) {
  // cutecheck: assume ldq % 8 == 0
  // cutecheck: assume ldk % 8 == 0
  // cutecheck: assume ldv % 8 == 0
  __shared__ alignas(128) half_t smem[3 * 64 * 64];
  Tensor mQ = make_tensor(make_gmem_ptr(Q), make_shape(rows, d), make_stride(ldq, _1{}));
  Tensor mK = make_tensor(make_gmem_ptr(K), make_shape(keys, d), make_stride(ldk, _1{}));
  Tensor mV = make_tensor(make_gmem_ptr(V), make_shape(keys, d), make_stride(ldv, _1{}));
  Tensor mO = make_tensor(make_gmem_ptr(O), make_shape(rows, d), make_stride(ldq, _1{}));
  Tensor gQ = local_tile(mQ, Shape<_64, _64>{}, make_coord(blockIdx.x, 0));
  Tensor gO = local_tile(mO, Shape<_64, _64>{}, make_coord(blockIdx.x, 0));
  Tensor gK = local_tile(mK, Shape<_64, _64>{}, make_coord(_, 0));
  Tensor gV = local_tile(mV, Shape<_64, _64>{}, make_coord(_, 0));
  auto tile = Layout<Shape<_64, _64>, Stride<_64, _1>>{};
  Tensor sQ = make_tensor(make_smem_ptr(smem), tile);
  Tensor sK = make_tensor(make_smem_ptr(smem + 64 * 64), tile);
  Tensor sV = make_tensor(make_smem_ptr(smem + 2 * 64 * 64), tile);
  auto thr = Load{}.get_slice(threadIdx.x);
  Tensor c = thr.partition_S(make_identity_tensor(Shape<_64, _64>{}));
  Tensor tKgK = thr.partition_S(gK), tVgV = thr.partition_S(gV), tQgQ = thr.partition_S(gQ);
  Tensor tKsK = thr.partition_D(sK), tVsV = thr.partition_D(sV), tQsQ = thr.partition_D(sQ);
  Tensor p = make_tensor<bool>(make_shape(size<2>(tQgQ)));
  for (int k = 0; k < size(p); ++k) { p(k) = get<1>(c(0, 0, k)) < d; }
  int n = ceil_div(keys, 64) - 1;
  move(tQgQ, tQsQ, c, p, rows - blockIdx.x * 64);
  move(tKgK(_, _, _, n), tKsK, c, p, keys - n * 64);
  move(tVgV(_, _, _, n), tVsV, c, p, keys - n * 64);
  __syncthreads();
  move(thr.partition_S(sQ), thr.partition_D(gO), c, p, rows - blockIdx.x * 64);
}
"""
Q = "move(tQgQ, tQsQ, c, p, rows - blockIdx.x * 64)"
K = "move(tKgK(_, _, _, n), tKsK, c, p, keys - n * 64)"
WRONG = [
    ((Q, "move(tQgQ, tQsQ, c, p, keys - blockIdx.x * 64)"), "an extent of"),
    ((K, "move(tKgK(_, _, _, n), tKsK, c, p, rows - n * 64)"), "an extent of"),
    ((K, "move(tKgK(_, _, _, n), tKsK, c, p, keys)"), "another tile"),
    ((K, "move(tKgK(_, _, _, n), tKsK, c, p, keys - blockIdx.x * 64)"), "another tile"),
    ((K, "move_rows(tKgK(_, _, _, n), tKsK, p)"), "nothing bounds mode 0"),
    ((K, "move_columns(tKgK(_, _, _, n), tKsK, c, keys - n * 64)"), "nothing bounds mode 1"),
    # the second call of a helper with the operands of the first
    ((K, K + "; move(tKgK(_, _, _, n), tKsK, c, p, rows - n * 64)"), "an extent of"),
]
RIGHT = [
    ("", ""),
    ("int n = ceil_div(keys, 64) - 1;", "int n = min(ceil_div(keys, 64), int(blockIdx.x) + 1) - 1;"),
    # tiles before the last one are whole
    (K, K + "; if (n > 0) { move_rows(tKgK(_, _, _, n - 1), tKsK, p); }"),
    (K, K + "; for (int i = n - 1; i >= 0; --i) { move_rows(tKgK(_, _, _, i), tKsK, p); }"),
    # the host says which way: what it knows is not known here
    (K, f"if (flag) {{ move_rows(tKgK(_, _, _, n), tKsK, p); }} else {{ {K}; }}"),
    # one length for all, by an assumption
    ("// cutecheck: assume ldq", "// cutecheck: assume rows == keys\n  // cutecheck: assume ldq"),
    # whole matrices of coordinates
    (K, "move(tKgK(_, _, _, n), tKsK, thr.partition_S(local_tile(make_identity_tensor(shape(mK)), Shape<_64, _64>{}, "
        "make_coord(n, 0))), p, keys)"),
    # a result that has more rows than are told, of which the first are stored again: its tiles start as those of Q do
    ("make_gmem_ptr(O), make_shape(rows, d)", "make_gmem_ptr(O), make_shape(flag, d)"),
    (Q, Q + "; Tensor mP = make_tensor(make_gmem_ptr(O), make_shape(flag, d), make_stride(ldq, _1{}));"
        "Tensor gP = local_tile(mP, Shape<_64, _64>{}, make_coord(blockIdx.x, 0));"
        "move(thr.partition_S(gP), tQsQ, c, p, flag - blockIdx.x * 64); __syncthreads();"
        "move(thr.partition_S(gP), tKsK, c, p, rows - blockIdx.x * 64)"),
    # a tensor that is as wide as its tile, whatever the others are
    ("Tensor mK = make_tensor(make_gmem_ptr(K), make_shape(keys, d)",
     "Tensor mK = make_tensor(make_gmem_ptr(K), make_shape(keys, _64{})"),
]  # fmt: skip


def reported(tmp_path: Path, edit: tuple[str, str]) -> list[str]:
    assert edit[0] in ATTENTION
    (tmp_path / "k.cu").write_text(PREAMBLE + ATTENTION.replace(edit[0], edit[1], 1))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
    return [f.message for f in report.findings if f.code == "CUT604"]


@pytest.mark.parametrize(("edit", "says"), WRONG)
def test_wrong_rests(tmp_path: Path, edit: tuple[str, str], says: str) -> None:
    assert any(says in message for message in reported(tmp_path, edit))


@pytest.mark.parametrize("edit", RIGHT)
def test_right_rests(tmp_path: Path, edit: tuple[str, str]) -> None:
    assert reported(tmp_path, edit) == []


def test_comparisons_of_modes_that_a_tensor_does_not_have_are_none_of_its() -> None:
    """Predicates may be computed of another tensor's coordinates: a mutant of the DSL's attention ended CUT604."""
    coordinates = tuple(Dyn(ex.var(name)) for name in "abc")
    bounds = tuple(Bound(c, Dyn(ex.var("n")), coordinates) for c in coordinates)
    asked = Predicate("p", Span("k.py", 1, 1, 1, 2), bounds, True, "", "sm_80")
    assert sorted(limits_of([asked], Guarded((8, 8), (8, 1), (4, 4), ex.const(0)))) == [0, 1]
