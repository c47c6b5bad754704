"""Numbers that would take gigabytes to write down: what shares its parts is small to compute with, and not to print."""

from __future__ import annotations

from pathlib import Path

from cutecheck.facts import Unknown
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
struct Conv { int n, p, q, k; half_t* y; };
__global__ void __launch_bounds__(128) fprop(Conv a) {
  TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>> mma;
  auto mY = make_tensor(make_gmem_ptr(a.y), make_layout(make_shape(make_shape(a.q, a.p, a.n), a.k),
                        make_stride(make_stride(a.k, a.q * a.k, a.p * a.q * a.k), _1{})));
  auto gY = local_tile(mY, Shape<_128, _64>{}, make_coord(int(blockIdx.x), int(blockIdx.y)));
  auto rC = partition_fragment_C(mma, Shape<_128, _64>{});
  copy(rC, mma.get_slice(threadIdx.x).partition_C(gY));
}
void run(Conv const& a) { fprop<<<1, 128>>>(a); }
"""


def test_a_tile_of_three_run_time_modes(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(KERNEL)
    (event,) = extract(ExtractRequest((tmp_path,))).events
    registers, memory = event.operands
    assert str(registers.layout) == "((_2,_2),_4,_4):((_1,_2),_4,_16)"
    assert isinstance(memory.layout, Unknown)
    assert "too long" in memory.layout.reason
    assert (memory.space, memory.dtype is not None and memory.dtype.name) == ("gmem", "half_t")
