"""CUDA's vector types in host structs and kernels: their components are numbers, and what writes one is seen."""

import re
from pathlib import Path

import pytest

from cutecheck.tests.source.test_extract import printed, run

TEXT = """
struct P { int4 meta; int3 t; uint2 u; dim3 d; longlong2 l; };
__device__ void set(int& a) { a = 64; }
__device__ void declared(int& a);
struct Box {
  template <class... Ts>
  CUTE_DEVICE static auto of(tuple<Ts...> const& t, uint2 const& u) { return u.y + get<0>(t); }
};
template <class T> CUTE_DEVICE auto kind(T const&) { return Int<(sizeof(T))>{}; }
CUTE_DEVICE int pick(uint2 v) { return v.x; }
CUTE_DEVICE int pick(int2 v) { return 100 + v.y; }
__global__ void k(P p, int4 q, float4 f, half_t* in) {
  auto show = [&](auto... n) {
    auto to = make_tensor<half_t>(Layout<_8>{});
    copy(make_tensor(make_gmem_ptr(in), make_layout(make_shape(n...), LayoutRight{})), to);
  };
  BODY
}
void host(P p, int4 q) { k<<<1, 32>>>(p, q, make_float4(0, 0, 0, 0), nullptr); }
"""


@pytest.mark.parametrize(
    ("body", "shape"),
    [
        ("show(q.x, q.w, p.meta.z);", "(q.x,q.w,p.meta.z)"),
        ("show(p.t.z, p.u.y, p.l.x, p.d.x);", "(p.t.z,p.u.y,p.l.x,p.d.x)"),
        ("int4 v = make_int4(64, 8, p.meta.x, 1); show(v.x, v.y, v.z);", "(64,8,p.meta.x)"),
        ("int3 w{1, 2, 3}; int2 z = {5, 6}; show(w.y, z.x);", "(2,5)"),
        ("q.x = 32; show(q.x, q.y);", "(32,q.y)"),
        ("int4 t = q; t.x = 3; auto s = t; s.y = 1; show(t.x, t.y, s.x, s.y, q.x);", "(3,q.y,3,1,q.x)"),
        ("p.meta.y = threadIdx.x; p.t.x = 7; show(p.meta.y, p.meta.x, p.t.x);", "(threadIdx.x,p.meta.x,7)"),
        ("int4 u = make_int4(8, 8, 8, 8); u.x += 4; ++u.y; for (int i = 0; i < 4; ++i) u.w += i; show(u.x, u.y, u.w);",
         "(12,9,14)"),
        ("uint2 u = {q.x, 5}; show(Box::of(make_tuple(_1{}, _2{}), u), u.x);", "(6,q.x)"),
        ("int2 z{5, 6}; uint2 u = make_uint2(7, 8); show(pick(z), pick(u), kind(z));", "(106,7,_8)"),
        ("uint3 u = {4}; u.y -= 1; show(u.x, u.y, u.z + 1);", "(4,4294967295,1)"),
        ("int4 v = make_int4(8, 8, 8, 8); int& r = v.y; r = 5; show(v.x, v.y);", None),
        ("int4 v = make_int4(8, 8, 8, 8); set(v.z); show(v.z, _1{});", None),
        ("int4 v = make_int4(8, 8, 8, 8); declared(v.z); show(v.z, _1{});", None),
        ("int4 v = make_int4(8, 8, 8, 8); if (in) v.z = 2; show(v.z, _1{});", None),
        ("int4 v = make_int4(8, 8, 8, 8); reinterpret_cast<int*>(&v)[2] = 3; show(v.z, _1{});", None),
        ("int4 v = make_tensor<int4>(Layout<_8>{})(0); show(v.z, _1{});", "of each thread"),
    ],
)  # fmt: skip
def test_components(tmp_path: Path, body: str, shape: str | None) -> None:
    facts = run(tmp_path, TEXT.replace("BODY", body))
    assert not facts.errors
    (event,) = facts.events
    found = str(event.operands[0].layout).partition(":")[0]
    if shape == "of each thread":
        assert "~" in found
    elif shape is None:
        assert "8" not in re.sub(r"[#~]\d+", "", found)
    else:
        assert found == shape


def test_a_structure_is_laid_out_as_the_compiler_does(tmp_path: Path) -> None:
    text = "struct S { char c; int3 a; char d; int4 b; uint3 e; }; using L = Layout<Int<sizeof(S)>, Int<alignof(S)>>;"
    assert [str(s.value) for s in run(tmp_path, text).sites] == ["_64:_16"]


def test_an_element_of_an_array_of_strides_behind_a_pointer_is_a_stride(tmp_path: Path) -> None:
    text = """
    using Batched = cute::tuple<_0, _8, int64_t>;
    struct P { Batched d[2]; };
    __global__ void k(P const* p) {
      auto l = make_layout(Shape<_4, _2>{}, make_stride(get<1>(p->d[1]), get<0>(p->d[0])));
    }
    """
    assert printed(run(tmp_path, text), "l") == "(_4,_2):(_8,_0)"
