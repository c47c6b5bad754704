"""What a conflict costs, at the command line: bytes of excess, in the main loop or not, and what of it fails a run."""

from pathlib import Path

import pytest

from cutecheck.cli import main
from cutecheck.rules.examples import PREAMBLE

# Half a warp reads each of two rows that lie 128 bytes apart: 2 wavefronts for 1, in 8 instructions of 4 warps.
KERNEL = """
using Tile = Layout<Shape<_32, _32>, Stride<_32, _1>>;
using Rows = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
    Layout<Shape<_4, _32>, Stride<_32, _1>>{}, Layout<Shape<_1, _1>>{}));
using Halves = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
    Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _1>>{}));
__global__ void __launch_bounds__(128) sweep(float const* in, float* out, int n) {
  __shared__ float smem[cosize_v<Tile>];
  Tensor g = make_tensor(make_gmem_ptr(in), Tile{});
  Tensor o = make_tensor(make_gmem_ptr(out), Tile{});
  Tensor s = make_tensor(make_smem_ptr(smem), Tile{});
  auto rows = Rows{}.get_slice(threadIdx.x);
  auto halves = Halves{}.get_slice(threadIdx.x);
  copy(Rows{}, rows.partition_S(g), rows.partition_D(s));
  __syncthreads();
  Tensor r = make_fragment_like(rows.partition_S(s));
  Tensor h = make_fragment_like(halves.partition_S(s));
  COLD
  for (int i = 0; i < n; ++i) {
    copy(Rows{}, rows.partition_S(s), r);
    HOT
  }
  copy(Rows{}, r, rows.partition_D(o));
  print_tensor(h);
}
void run(float const* in, float* out) { for (int i = 0; i < 100; ++i) sweep<<<1, 128>>>(in, out, 64); }
"""
READ = "copy(Halves{}, halves.partition_S(s), h);"


@pytest.mark.parametrize(
    ("cold", "hot", "severity", "where", "code"),
    [(READ, "", "note", "outside any loop", 0), ("", READ, "warning", "inside a loop", 1)],
)
def test_cost_and_place(
    cold: str, hot: str, severity: str, where: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "sweep.cu"
    path.write_text(PREAMBLE + KERNEL.replace("COLD", cold).replace("HOT", hot))
    assert main(["check", "--isolated", "--no-cache", "--arch", "sm_90a", str(path)]) == code
    shown = capsys.readouterr().out
    assert f"{severity}[CUT101]" in shown
    assert "2 wavefronts a warp instruction where 1 would do (1 in excess)" in shown
    cost = 1 * 128 * 8 * 4  # bytes of one wavefront, instructions, warps
    assert f"{where}; up to {cost} bytes of extra shared-memory bandwidth each time (8 instructions, 4 warps)" in shown
    assert main(["check", "--isolated", "--no-cache", "--arch", "sm_90a", "--fail-on", "note", str(path)]) == 1


def test_no_cost_no_finding(tmp_path: Path) -> None:
    path = tmp_path / "sweep.cu"
    path.write_text(PREAMBLE + KERNEL.replace("COLD", "").replace("HOT", ""))
    assert main(["check", "--isolated", "--no-cache", "--arch", "sm_90a", "--fail-on", "note", str(path)]) == 0
