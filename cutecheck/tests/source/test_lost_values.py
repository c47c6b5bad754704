"""What is lost in one place and another is lost once; what is joined twice is joined once; host numbers stay short."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.facts import Facts, Span
from cutecheck.model import expr as ex
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.source.eval.statements.joins import cover
from cutecheck.source.eval.threads import varies
from cutecheck.source.evaluate import machine
from cutecheck.source.extract import ExtractRequest, extract

HEAD = """
#include <cute/tensor.hpp>
using namespace cute;
__device__ void other(int& x);
struct Cell {
  int at;
  __device__ void go(int n) { GO }
};
__global__ void k(int n, int m) {
  __shared__ alignas(128) half_t s[65536];
  Cell c{8 * int(threadIdx.x)};
  int y = 8 * int(threadIdx.x);
  BODY
  auto S = make_tensor(make_smem_ptr(s) + OFFSET, Layout<_8>{});
  auto r = make_tensor<half_t>(Layout<_8>{});
  copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{}, S, r);
}
void f(int n, int m) { k<<<1, 32>>>(n, m); }
"""
SPAN = Span("a.cu", 1, 1, 1, 2)


def offset(tmp_path: Path, offset: str, body: str = "", go: str = "") -> Expr:
    source = tmp_path / "a.cu"
    source.write_text(HEAD.replace("GO", go).replace("BODY", body).replace("OFFSET", offset))
    facts: Facts = extract(ExtractRequest((source,)))
    (event,) = facts.events
    return as_expr(event.operands[0].offset)


def values(e: Expr, thread: int) -> set[int]:
    """What an expression may be in one thread: its other variables are bits."""
    found = {()}
    names = [v.name for v in e.variables() if v.name != "threadIdx.x"]
    for _ in names:
        found = {(*bits, b) for bits in found for b in (0, 1)}
    return {e.evaluate({"threadIdx.x": thread, **dict(zip(names, bits, strict=True))}) for bits in found}


@pytest.mark.parametrize("exits", [1, 2, 12])
def test_exits_that_leave_the_same_are_joined_once(tmp_path: Path, exits: int) -> None:
    leave = "".join(f"if (n == {i}) return;\n" for i in range(exits))
    e = offset(tmp_path, "c.at", "c.go(n);", f"{leave} at = 16 * int(threadIdx.x) + 8;")
    assert len([v for v in e.variables() if v.name != "threadIdx.x"]) == 1
    for thread in (0, 1, 5, 31):
        assert values(e, thread) == {8 * thread, 16 * thread + 8}


def test_exits_that_leave_something_else_are_joined_as_well(tmp_path: Path) -> None:
    go = "if (n == 1) return; at = 16 * int(threadIdx.x); if (n == 2) return; if (n == 3) return; at = 8;"
    e = offset(tmp_path, "c.at", "c.go(n);", go)
    for thread in (0, 1, 5, 31):
        assert values(e, thread) >= {8 * thread, 16 * thread, 8}


def test_what_is_lost_on_both_ways_is_any_number(tmp_path: Path) -> None:
    once = offset(tmp_path, "8 * y", "if (n) { other(y); } else { other(y); }")
    (v,) = once.variables()
    assert (v.domain, len(once.terms), varies(once)) == (ex.ANY, 1, True)
    many = offset(tmp_path, "8 * y", "if (n) { other(y); } if (m) { other(y); } if (n > m) { y = 8; }")
    assert len(many.terms) == 1 and ex.divisor(many) == 8
    assert many.variables()[0].domain == ex.ANY


def test_what_every_iteration_loses_is_any_number_in_it_and_after_it(tmp_path: Path) -> None:
    for where in (
        "for (int i = 0; i < n; ++i) { other(y); }",
        "unsigned z = 8; while (n > int(z)) { other(y); z += y; }",
    ):
        e = offset(tmp_path, "8 * y", where)
        (v,) = e.variables()
        assert (v.domain, len(e.terms), varies(e)) == (ex.ANY, 1, True)


def _long(name: str) -> Dyn:
    terms = (ex.mul(ex.const(8), ex.var(f"{name}{i}")) for i in range(100))
    total = ex.mul(ex.const(8), ex.var("threadIdx.x", ex.NATURAL))
    for term in terms:
        total = ex.add(total, term)
    return Dyn(total)


def test_numbers_of_host_code_are_short_though_threads_differ_in_them(monkeypatch: pytest.MonkeyPatch) -> None:
    m = machine()
    a, b = _long("a"), _long("b")
    assert len(as_expr(cover(m, a, b, "x", SPAN)).terms) > 100
    monkeypatch.setattr(m.recorder, "on_host", lambda: True)
    found = as_expr(cover(m, a, b, "x", SPAN))
    assert len(found.terms) == 1 and varies(found) and ex.divisor(found) == 8


def test_what_is_written_to_a_launch_attribute_is_in_no_variable_that_is_pointed_at(tmp_path: Path) -> None:
    """CUTLASS's launcher fills an array of them, after a kernel's parameters were pointed at."""
    text = """
struct Launch { cudaLaunchAttribute attributes[2]; };
void host(int n) {
  Cell c{4}; Cell* p = &c; Launch l; auto& attributes = l.attributes; Undeclared others[2];
  attributes[0].val.clusterDim = {1, 1, 1};
  auto kept = make_layout(p->at);
  others[0].val.at = 5;
  auto lost = make_layout(p->at);
}
"""
    source = tmp_path / "b.cu"
    source.write_text(HEAD.replace("GO", "").replace("BODY", "").replace("OFFSET", "y") + text)
    found = {s.symbol.rsplit("::", 1)[-1]: str(s.value) for s in extract(ExtractRequest((source,))).sites}
    assert found["kept"] == "4:_1"
    assert found["lost"] != "4:_1"
