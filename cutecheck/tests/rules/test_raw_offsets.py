"""Tensors and arrays at offsets of one buffer that lie over one another while both are in use."""

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

HEAD = """#include <cute/tensor.hpp>
using namespace cute;
using Square = Layout<Shape<_64, _64>, Stride<_64, _1>>;
using Move = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
"""
KERNEL = """
__global__ void __launch_bounds__(128) NAME(half_t const* in, half_t* out, float* sums) {
  extern __shared__ alignas(128) char raw[];
  half_t* tiles = reinterpret_cast<half_t*>(raw);
  Tensor x = make_tensor(make_smem_ptr(tiles), Square{});
  Tensor y = make_tensor(make_smem_ptr(tiles + SECOND), Square{});
  float* kept = reinterpret_cast<float*>(raw + KEPT);
  auto to = Move{}.get_slice(threadIdx.x);
  auto from = Move{}.get_slice(127 - threadIdx.x);
  kept[threadIdx.x] = float(threadIdx.x);
  copy(Move{}, to.partition_S(make_tensor(make_gmem_ptr(in), Square{})), to.partition_D(x));
  BETWEEN
  copy(Move{}, to.partition_S(make_tensor(make_gmem_ptr(in + 4096), Square{})), to.partition_D(y));
  __syncthreads();
  BEHIND
  copy(Move{}, from.partition_S(y), from.partition_D(make_tensor(make_gmem_ptr(out + 4096), Square{})));
  sums[threadIdx.x] = kept[127 - threadIdx.x];
}
"""
TAKE = "copy(Move{}, from.partition_S(x), from.partition_D(make_tensor(make_gmem_ptr(out), Square{})));"
AGAIN = "__syncthreads(); kept[threadIdx.x] = 0; __syncthreads();"
PLAIN = {"SECOND": "4096", "KEPT": "16384", "BETWEEN": "", "BEHIND": TAKE}
KERNELS: dict[str, tuple[dict[str, str], set[str]]] = {
    "apart": (PLAIN, set()),
    "in_turn": (
        PLAIN | {"SECOND": "2048", "BETWEEN": f"__syncthreads(); {TAKE} __syncthreads();", "BEHIND": ""},
        set(),
    ),
    "kept_anew": (PLAIN | {"KEPT": "12288", "BEHIND": TAKE + TAKE.replace("(x)", "(y)") + AGAIN}, set()),
    "half_a_tile": (PLAIN | {"SECOND": "2048"}, {"CUT209"}),
    "one_row": (PLAIN | {"SECOND": "4096 - 64"}, {"CUT209"}),
    "kept_in_the_second": (PLAIN | {"KEPT": "12288"}, {"CUT209"}),
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    folder = tmp_path_factory.mktemp("offsets")
    text, runs = HEAD, ""
    for name, (words, _) in KERNELS.items():
        kernel = KERNEL.replace("NAME", name)
        for word, new in words.items():
            kernel = kernel.replace(word, new)
        text += kernel
        runs += f"  {name}<<<1, 128, 16896>>>(in, out, sums);\n"
    (folder / "k.cu").write_text(f"{text}void run(half_t const* in, half_t* out, float* sums) {{\n{runs}}}\n")
    made = check(inputs([str(folder)]), Settings(cache=False, arch=("sm_80",), select=("CUT209",)))
    assert not made.failures
    assert not made.errors
    return {name: {f.code for f in made.findings if f.enclosing == name} for name in KERNELS}


@pytest.mark.parametrize("name", KERNELS)
def test_what_lies_over_what(name: str, found: dict[str, set[str]]) -> None:
    assert found[name] == KERNELS[name][1]
