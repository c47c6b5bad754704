"""What kernels do that launch and copy by hand: operations' own functions, addresses of elements, kernels in tables."""

from pathlib import Path

import pytest

from cutecheck.facts import TensorFact
from cutecheck.tests.source.test_extract import run

COPIED = """
__global__ void k(half_t* g, int row, const __grid_constant__ CUtensorMap map) {{
  __shared__ alignas(128) half_t s[64 * 72];
  __shared__ uint64_t bar;
  Tensor t = make_tensor(make_smem_ptr(s), Layout<Shape<_64, _64>, Stride<_72, _1>>{{}});
  Tensor m = make_tensor(make_gmem_ptr(g), make_layout(make_shape(row, _64{{}}), LayoutRight{{}}));
  Tensor r = make_tensor<half_t>(Layout<_8>{{}});
  {}
}}
int main() {{ k<<<1, 32>>>(nullptr, 5, CUtensorMap{{}}); }}
"""


@pytest.mark.parametrize(
    ("source", "space", "offset"),
    [
        ("make_smem_ptr(&t(row, _0{}))", "smem", "360"),
        ("make_smem_ptr(&t(threadIdx.x, 8))", "smem", "72*threadIdx.x + 8"),
        ("make_smem_ptr(&t[5])", "smem", "360"),
        ("make_gmem_ptr(&m(threadIdx.x, 0))", "gmem", "64*threadIdx.x"),
        ("&r(0)", "rmem", "0"),
    ],
)
def test_the_address_of_an_element_of_a_tensor(tmp_path: Path, source: str, space: str, offset: str) -> None:
    facts = run(tmp_path, COPIED.format(f"copy(make_tensor({source}, Layout<_8>{{}}), r);"), arch="sm_90a")
    (event,) = facts.events
    operand = event.operands[0]
    assert event.reason is None and isinstance(operand, TensorFact)
    assert (operand.space, str(operand.offset)) == (space, offset)
    assert operand.dtype is not None and operand.dtype.name == "half_t"


def test_the_address_of_an_element_of_a_swizzled_tensor_is_not_followed(tmp_path: Path) -> None:
    swizzled = "Tensor w = make_tensor(make_smem_ptr(s), GMMA::Layout_K_SW128_Atom<half_t>{});"
    text = COPIED.format(f"{swizzled} copy(make_tensor(make_smem_ptr(&w(row, 0)), Layout<_8>{{}}), r);")
    (event,) = run(tmp_path, text, arch="sm_90a").events
    assert event.reason is not None


@pytest.mark.parametrize("first", ["float acc[8] = {0};", "float acc[8] = {};", "float acc[8];"])
@pytest.mark.parametrize("pointer", ["acc", "&acc[0]", "make_rmem_ptr(&acc[4])"])
def test_an_array_of_floats_in_registers(tmp_path: Path, first: str, pointer: str) -> None:
    text = COPIED.format(f"{first} Tensor a = make_tensor({pointer}, Layout<_4>{{}}); copy(a, m(_, 0));")
    (event,) = run(tmp_path, text, arch="sm_90a").events
    operand = event.operands[0]
    assert isinstance(operand, TensorFact) and operand.space == "rmem"
    assert operand.dtype is not None and operand.dtype.name == "float"
    assert str(operand.offset) == ("4" if "4" in pointer else "0")


def test_what_an_operation_itself_does_is_no_copy_of_tensors(tmp_path: Path) -> None:
    text = COPIED.format("""
      cute::SM90_TMA_LOAD_2D::copy(&map, &bar, 0, s, 1, 2);
      SM90_TMA_STORE_2D::copy(&map, s, 1, 2);
      cute::SM90_BULK_COPY_S2G::copy(s, g, 128);
      cute::copy(t(_, 0), m(_, 0));
    """)
    (event,) = run(tmp_path, text, arch="sm_90a").events
    assert event.reason is None


NAMED = """
template <int N, class T> __global__ void k(T* g) {
  __shared__ T s[N];
  copy(make_tensor(make_gmem_ptr(g), Layout<Int<N>>{}), make_tensor(make_smem_ptr(s), Layout<Int<N>>{}));
}
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("static void __instantiate_kernel() { auto ptr = reinterpret_cast<void*>(&k<64, half_t>); }", {"_64:_1"}),
        ("void* table[] = {(void*)k<32, half_t>, (void*)&k<64, float>};", {"_32:_1", "_64:_1"}),
        ("void set() { cudaFuncSetAttribute(k<128, half_t>, cudaFuncAttributeMaxDynamicSharedMemorySize, 9); }",
         {"_128:_1"}),
        ("void set() { auto f = k<16, half_t>; cudaFuncSetAttribute(k<16, half_t>, 0, 9); f<<<1, 32>>>(nullptr); }",
         {"_16:_1"}),
    ],
)  # fmt: skip
def test_a_kernel_whose_address_is_taken_is_instantiated(tmp_path: Path, text: str, expected: set[str]) -> None:
    events = run(tmp_path, NAMED + text).events
    assert {str(e.operands[0].layout) for e in events} == expected
    assert len(events) == len(expected)
