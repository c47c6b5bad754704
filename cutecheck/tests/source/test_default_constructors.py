"""Objects that are made of nothing hold what their class says, also where it has constructors that take something."""

from pathlib import Path

from cutecheck.model.notation import show
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

STATES = """#include <cute/tensor.hpp>
using namespace cute;
struct Plain { int i = 4; };
struct Listed { int i = 4; int j; Listed() : i(6), j(0) {} };
struct Kept { int i = 5; Kept() = default; explicit Kept(int x) : i(x) {} };
struct Set { int i; Set() { i = 7; } Set(int x) : i(x) {} };
struct Given { int i; Given(int x = 9) : i(x) {} };
struct Calls { int i = 3; Calls() { note(this); } void note(Calls*); };
struct D { int i = 3; D() noexcept = default; explicit D(int x) : i(x) {} };
struct From : Kept { int j = 2; From() = default; From(int x) : Kept(x), j(x) {} };
struct Whole { Plain a; Listed b; Kept c; Set d; Given e; };
struct Made { Plain a; Listed b; Kept c; Set d; Given e; Made() {} };
__global__ void kernel(float* p) {
  Kept kept; D noexcept_; From from; Whole whole; Made made; Calls calls;
  auto own = make_layout(make_shape(kept.i, noexcept_.i, from.i, from.j));
  auto members = make_layout(make_shape(whole.a.i, whole.b.i, whole.c.i, whole.d.i, whole.e.i));
  auto of_made = make_layout(make_shape(made.a.i, made.b.i, made.c.i, made.d.i, made.e.i));
  auto open = make_layout(calls.i);
}
int main() { kernel<<<1, 32>>>(nullptr); }
"""


def test_objects_and_members_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(STATES)
    sites = {s.symbol.rpartition("::")[2]: s for s in extract(ExtractRequest((tmp_path,))).sites}
    assert show(sites["own"].value) == "(5,3,5,2):(_1,5,15,75)"
    assert show(sites["members"].value) == "(4,6,5,7,9):(_1,4,24,120,840)"
    assert show(sites["of_made"].value) == show(sites["members"].value)
    assert show(sites["open"].value) != "3:_1"
