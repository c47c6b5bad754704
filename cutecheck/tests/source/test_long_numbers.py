"""Numbers of loops in loops whose expressions would grow without end are short, and what divides them is kept."""

from __future__ import annotations

from functools import reduce
from math import gcd

from cutecheck.model import expr as ex
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.source.eval.factors import short
from cutecheck.source.eval.threads import varies
from cutecheck.source.evaluate import machine
from cutecheck.source.extract import ExtractRequest, extract


def _sum(names: int, factor: int) -> Dyn:
    return Dyn(reduce(ex.add, (ex.mul(ex.const(factor), ex.var(f"v{i}")) for i in range(names))))


def test_a_number_that_is_short_stays() -> None:
    number = _sum(60, 8)
    assert short(machine(), number, "x") is number
    assert short(machine(), 7, "x") == 7


def test_a_long_number_keeps_what_divides_it_and_whether_threads_differ() -> None:
    m = machine()
    uniform = as_expr(short(m, _sum(100, 24), "x"))
    assert len(uniform.terms) == 1
    assert ex.divisor(uniform) == gcd(*[24] * 100)
    assert not varies(uniform)
    own = Dyn(ex.add(_sum(100, 24).expr, ex.mul(ex.const(16), ex.var("threadIdx.x", ex.NATURAL))))
    lane = as_expr(short(m, own, "x"))
    assert ex.divisor(lane) == gcd(24, 16)
    assert varies(lane)


def test_a_long_number_keeps_the_strides_that_it_is_made_of() -> None:
    """``row * (24 * v0 + ...) + lda * (...) + 5``: of the sums no more is known than their divisors."""
    row, lda = ex.var("row"), ex.var("lda")
    whole = ex.add(ex.add(ex.mul(row, _sum(50, 24).expr), ex.mul(lda, _sum(50, 6).expr)), ex.const(5))
    left = as_expr(short(machine(), Dyn(whole), "x"))
    assert len(left.terms) == 3 and left.evaluate({v.name: 0 for v in left.variables()}) == 5
    for stride, step in ((row, 24), (lda, 6)):
        (times,) = {v for monomial, _ in left.terms for v in monomial if stride.variables()[0] in monomial} - {
            *stride.variables()
        }
        assert times.domain.step == step and not varies(left)


def test_sums_of_products_in_nested_loops_are_judged_by_what_divides_them(tmp_path) -> None:  # type: ignore[no-untyped-def]
    names = "abcdefgh"
    source = tmp_path / "a.cu"
    loops = "".join(f"for (int {c}{c} = 0; {c}{c} < {c}; ++{c}{c}) {{ x = x * {c} + 8 * {c}{c};\n" for c in names)
    source.write_text(
        "#include <cute/tensor.hpp>\nusing namespace cute;\n"
        f"__global__ void k({', '.join(f'int {c}' for c in names)}) {{\n__shared__ alignas(128) half_t s[65536];\n"
        f"int x = 0;\n{loops}{'}' * len(names)}\n"
        + "int y = 8 * x;\n".replace("8 * x", "*".join(f"(x + {c})" for c in names) + " * 8")
        + "auto S = make_tensor(make_smem_ptr(s) + y, Layout<_8>{});\nauto r = make_tensor<half_t>(Layout<_8>{});\n"
        "copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{}, S, r);\n}\n"
        "void f() { k<<<1, 32>>>(" + ", ".join("1" for _ in names) + "); }\n"
    )
    facts = extract(ExtractRequest((source,)))
    (event,) = facts.events
    offset = event.operands[0].offset
    assert len(as_expr(offset).terms) <= 64
    assert ex.divisor(as_expr(offset)) % 8 == 0
