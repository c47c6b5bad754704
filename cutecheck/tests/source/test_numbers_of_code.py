"""Numbers, their types and sizes, as g++ 12 prints them."""

from pathlib import Path

import pytest

from cutecheck.tests.source.shown import kernel, number

KERNEL = kernel("""#include <cute/tensor.hpp>
using namespace cute;
enum E8 : uint8_t { e0 = 250, e1 }; enum class S8 : int8_t { a = -1, b, c }; enum En { n0 = -2, n1, n2 = 16 };
template <class T> __device__ int bytes() { return sizeof(T); }
__device__ int taken(S8) { return 1; } __device__ int taken(int) { return 2; } __device__ int taken(E8) { return 3; }
struct Small { uint8_t v; int8_t w = 0; bool b = false; };
struct WithEnums { E8 e; int i; S8 s; };
struct A { int a; char b; }; struct B : A { char c; };
struct Virtual { virtual int f() { return 1; } int x; }; struct Derived : Virtual { int y; };
struct Late : A { virtual void g() {} };
struct Bits { unsigned a : 3; int b : 4; };
struct Empty {}; struct Twice : Empty { Empty e; }; struct Once : Empty { int x; };
struct Referring { int& r; char c; }; struct Shapes { char c; Shape<int, int> s; }; struct D3 { char c; dim3 d; };
struct OfOther : std::array<int, 4> { int x; };
template <int A, int B> constexpr int larger = A > B ? A : B;
namespace other { enum Mode { M0, M1 }; using R = int&; }
""")


@pytest.mark.parametrize(
    ("body", "shown", "value"),
    [
        (r"int c = '\101' + '\x10';", "c", 81),
        (r"int c = '\0' + '\12' + '\n';", "c", 20),
        (r"int c = '\x80';", "c + 200", 72),
        ("", 'sizeof("abc")', 4),
        ("", "sizeof(x++) + x", 4),
        ("int q = sizeof(y = 3);", "y * 10 + q", 84),
        ("decltype(++x) q = y; q = 5;", "x * 10 + y", 5),
        ("float f = 16777217;", "int(f) - 16777210", 6),
        ("", "int(float(1 << 24) + 1.f) - (1 << 24)", 0),
        ("float f = 0.1f * 3;", "f == 0.3", 0),
        ("float f = 1.f / 3;", "f * 3 == 1", 1),
        ("int v = 0.1f * 30;", "v", 3),
        ("half_t h(2049);", "int(h)", 2048),
        ("int v = 1.0f + 1e-9f == 1.0f;", "v", 1),
        ("auto v = y ? 1 : 2L;", "sizeof(v)", 8),
        ("Small w; w.w = 200;", "w.w + 100", 44),
        ("", "bytes<E8>() + bytes<S8>() * 10 + bytes<En>() * 100", 411),
        ("", "sizeof(E8) + sizeof(S8) * 10 + sizeof(En) * 100", 411),
        ("", "sizeof(WithEnums)", 12),
        ("S8 e = static_cast<S8>(255);", "int(e) + 5", 4),
        ("S8 e{};", "int(e)", 0),
        ("E8 e = E8(3);", "int(e)", 3),
        ("", "taken(S8::a) * 100 + taken(e0) * 10 + taken(3)", 132),
        ("using namespace other; Mode v = M1;", "int(v)", 1),
        ("namespace w = other;", "int(w::M1)", 1),
        ("using namespace other; R r = x; r = 5;", "x", 5),
        ("namespace w = other; w::R r = x; r = 5;", "x", 5),
        ("using other::R; R r = x; r = 5;", "x", 5),
        ("", "larger<3, 7> + 1", 8),
        ("int v = larger<3, 7> - larger<1, 2>;", "v", 5),
        ("int v = y<9 && 3 > x;", "v", 1),
        ("", "sizeof(A)", 8),
        ("", "sizeof(Virtual) * 100 + sizeof(Late)", 1616),
        ("", "sizeof(Once)", 4),
        ("", "sizeof(Referring) * 10 + alignof(Referring)", 168),
        ("", "sizeof(Shapes)", 12),
        ("", "sizeof(D3)", 16),
    ],
)
def test_the_number_that_a_compiled_program_prints(tmp_path: Path, body: str, shown: str, value: int) -> None:
    assert number(tmp_path, KERNEL, body, shown) == value


@pytest.mark.parametrize("shown", ["sizeof(B)", "sizeof(Twice)", "sizeof(OfOther)", "int(bfloat16_t(257))"])
def test_what_is_not_worked_out_is_not_known(tmp_path: Path, shown: str) -> None:
    assert number(tmp_path, KERNEL, "", shown) is None
