"""The two sides of a copy by ldmatrix or stmatrix, given to a plain copy (CUT602)."""

from pathlib import Path

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F16F16F16F16_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
using S = decltype(tile_to_shape(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}),
                                 Shape<_64, _64>{}));
__global__ void move(half_t* out) {
  __shared__ half_t memory[cosize_v<S>];
  auto s = make_tensor(make_smem_ptr(memory), S{});
  auto g = make_tensor(make_gmem_ptr(out), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  auto rA = thr.partition_fragment_A(s);
  auto acc = partition_fragment_C(mma, Shape<_64, _64>{});
  clear(acc);
  auto load = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  auto plain = make_tiled_copy_A(Copy_Atom<UniversalCopy<half_t>, half_t>{}, mma);
  auto store = make_tiled_copy_C(Copy_Atom<SM90_U32x4_STSM_N, half_t>{}, mma);
  auto l = load.get_slice(threadIdx.x);
  auto p = plain.get_slice(threadIdx.x);
  auto t = store.get_slice(threadIdx.x);
  copy(l.partition_S(s), l.retile_D(rA));  // wrong
  copy(l.partition_D(s), l.retile_D(rA));
  copy(load, l.partition_S(s), l.retile_D(rA));
  copy(p.partition_S(s), p.retile_D(rA));
  copy(thr.partition_A(s), rA);
  copy(t.retile_S(acc), t.partition_D(s));  // wrong
  copy(store, t.retile_S(acc), t.partition_D(s));
  copy(t.partition_D(s), t.partition_D(g));
}
void run(half_t* out) { move<<<1, 128>>>(out); }
"""


def test_a_plain_copy_of_what_a_matrix_instruction_takes(tmp_path: Path) -> None:
    text = PREAMBLE + KERNEL
    (tmp_path / "move.cu").write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), select=("CUT602",)))
    assert not report.failures
    wrong = [number for number, line in enumerate(text.split("\n"), 1) if "// wrong" in line]
    assert [f.span.line for f in report.findings] == wrong
