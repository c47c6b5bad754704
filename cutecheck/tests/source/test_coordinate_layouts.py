"""``ComposedLayout{layout, coordinate, coordinates}``: a matrix over a tensor of more modes. As g++ printed it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.facts import Unknown
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

KERNEL = """
#include <cute/tensor.hpp>
#include <cute/layout_composed.hpp>
using namespace cute;
struct Gather { int const* at; __device__ int operator()(int i) const { return at[i]; } };
__global__ void k(half_t* x, Gather gather) {
  auto coordinates = make_layout(make_shape(make_shape(28, 28, 8), make_shape(Int<64>{}, Int<3>{}, Int<3>{})),
      make_stride(make_stride(E<1>{}, E<2>{}, E<3>{}), make_stride(E<0>{}, E<1>{}, E<2>{})));
  auto whole = make_layout(make_shape(Int<64>{}, 30, 30, 8),
      make_stride(_1{}, Int<64>{}, 30 * Int<64>{}, 900 * Int<64>{}));
  auto t = make_tensor(make_gmem_ptr(x), ComposedLayout{WHOLE, as_arithmetic_tuple(repeat<4>(_0{})), coordinates});
  auto g = local_tile(t, Shape<_128, _32>{}, make_coord(1, _));
  auto tiled = make_tiled_copy(Copy_Atom<UniversalCopy<half_t>, half_t>{}, Layout<Shape<_4, _32>, Stride<_32, _1>>{},
                               Layout<Shape<_1, _1>>{});
  auto part = tiled.get_slice(33).partition_S(g);
  copy(SHOWN, SHOWN);
}
void run() { k<<<1, 128>>>(nullptr, {}); }
"""
TENSOR = "(_64,30,30,8):(_1,_64,1920,57600)"


def _shown(tmp_path: Path, tensor: str, whole: str = "whole") -> object:
    (tmp_path / "k.cu").write_text(KERNEL.replace("SHOWN", tensor).replace("WHOLE", whole))
    (event,) = extract(ExtractRequest((tmp_path,))).events
    return event.operands[0].layout


@pytest.mark.parametrize(
    ("tensor", "shown"),
    [
        ("t", "(_0,_0,_0,_0) o ((28,28,8),(_64,_3,_3)):((_1@1,_1@2,_1@3),(_1@0,_1@1,_1@2))"),
        ("g", "(_0,0,5,0) o ((28,4,1),_32,(_2,_3,_3)):((_1@1,1@2,1@3),_1@0,(_32@0,_1@1,_1@2))"),
        ("part", "(1,1,5,0) o ((_1,_1),(7,4,1),_1,(_2,_3,_3)):((_0,_0),(_4@1,1@2,1@3),_0,(_32@0,_1@1,_1@2))"),
        ("part(_, _, _, 2)", "(1,2,5,0) o ((_1,_1),(7,4,1),_1):((_0,_0),(_4@1,1@2,1@3),_0)"),
    ],
)
def test_a_matrix_of_coordinates(tmp_path: Path, tensor: str, shown: str) -> None:
    assert str(_shown(tmp_path, tensor)) == f"{TENSOR} o {shown}"


def test_a_function_of_the_program_is_not_guessed(tmp_path: Path) -> None:
    assert isinstance(_shown(tmp_path, "t", "gather"), Unknown)
