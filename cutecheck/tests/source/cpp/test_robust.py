"""Hostile input: every text ends in a unit, quickly."""

from __future__ import annotations

import random
import time

import pytest

from cutecheck.source.cpp import Defines, load, lower_expression
from cutecheck.source.eval import ir
from cutecheck.tests.source.cpp.show import walk

SAMPLE = """
#include <cute/tensor.hpp>
#define SWITCH(C, NAME, ...) [&] { if (C) { constexpr bool NAME = true; return __VA_ARGS__(); } }()
using namespace cute;
template <class T, int N = 2, class... Ts> struct Traits : Base<T, N>::template Inner<Ts...> {
  using Copy = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, T>{},
                                        Layout<Shape<_16, Int<N / 2>>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
  static constexpr int k = N < 3 ? 1 : (sizeof(T) >> 1);
};
template <class K> __global__ void __launch_bounds__(128) kernel(half_t const* __restrict__ p, int n) {
  extern __shared__ char smem[];
  Tensor s = make_tensor(make_smem_ptr(reinterpret_cast<half_t*>(smem)), typename K::Layout{});
  CUTE_UNROLL
  for (int i = 0; i < size<0>(s) && i > -1; ++i) { copy(K{}, s(_, i), s(_, _, 0)); }
  SWITCH(n > 1, B, [&] { launch<B, 3><<<dim3(1, 2), 128, sizeof(K)>>>(p, n); });
  switch (n) { case 1: return; default: break; }
  auto [a, b] = f<K>(n); // cutecheck: assume n % 8 == 0
}
"""
PIECES = [
    "<",
    ">",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ";",
    ",",
    '"',
    "'",
    "::",
    "template",
    "#if 1\n",
    "#endif\n",
    "/*",
    "\\\n",
]


def everything(text: str) -> int:
    return sum(1 for _ in walk(load("x.cu", text.encode(), Defines("sm_80")).decls))


@pytest.mark.parametrize("seed", range(8))
def test_mutants(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(25):
        text = SAMPLE
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(text))
            if rng.random() < 0.5:
                text = text[:at] + rng.choice(PIECES) * rng.choice([1, 1, 2, 50]) + text[at:]
            else:
                text = text[:at] + text[at + rng.randint(1, 60) :]
        everything(text)


def test_the_sample_itself_is_understood() -> None:
    unit = load("x.cu", SAMPLE.encode(), Defines("sm_80"))
    assert [n for n in unit.notes if n.kind == "error"] == []
    assert [n for n in walk(unit.decls) if isinstance(n, ir.Opaque)] == []


@pytest.mark.parametrize(
    "text",
    [
        "A<" * 3000 + ">" * 3000 + " x;",
        "int x = " + "(" * 3000 + "1" + ")" * 3000 + ";",
        "void f() " + "{" * 3000 + "}" * 3000,
        "namespace a {" * 3000 + "}" * 3000,
        "struct A {" * 3000 + "};" * 3000,
        "void f() { " + "if (a) " * 3000 + "; }",
        "void f() { x = " + "a ? b : " * 3000 + "c; }",
        "void f() { x = " + "-" * 3000 + "c; }",
        "void f() { x = " + "a = " * 3000 + "c; }",
        "void f() { x = " + "[&]{ return " * 500 + "1" + ";}()" * 500 + "; }",
        "using X = " + "Y<" * 30 + "a < b > c" + ">" * 29 + ";",
        "#define A B B\n#define B C C\n#define C D D\n" + "#define D E E\n" * 30 + "int x = A;",
        "".join(f"#define M{i} M{i + 1} M{i + 1}\n" for i in range(40)) + "int x = M0;",
        "#define F(x) F(x) x\nint x = " + "F(" * 200 + "1" + ")" * 200 + ";",
        "#define F(x) (x)\nint x = " + "F(" * 3000 + "1" + ")" * 3000 + ";",
        "#if " + "(" * 3000 + "1" + ")" * 3000 + "\nint x;\n#endif",
        "#if 1\n" * 2000 + "int x;\n" + "#endif\n" * 2000,
        "a" * 200_000,
        '"' * 20_001,
        "'" * 20_001,
        "<" * 20_000,
        "template " * 5000,
        "::" * 10_000,
        "operator " * 5000,
    ],
    ids=lambda text: text[:24],
)
def test_nesting_and_repetition(text: str) -> None:
    began = time.process_time()
    everything(text)
    lower_expression(text)
    assert time.process_time() - began < 10


def test_lowering_does_not_depend_on_the_depth_of_the_caller() -> None:
    unit = load("x.cu", SAMPLE.encode(), Defines("sm_80"))
    expected = len(list(walk(load("x.cu", SAMPLE.encode(), Defines("sm_80")).decls)))
    kernel = next(d for d in unit.decls if isinstance(d, ir.Function))
    traits = next(d for d in unit.decls if isinstance(d, ir.Class))
    assert kernel.body is not None

    def deep(body: ir.Lazy, levels: int) -> int:
        """Ask at the last moment before the stack is full."""
        try:
            return deep(body, levels + 1)
        except RecursionError:
            try:
                return len(body.get().body) + len(traits.members)
            except RecursionError:
                return 0

    deep(kernel.body, 0)
    assert len(list(walk(unit.decls))) == expected


def test_a_large_generated_header() -> None:
    """One megabyte of specialisations: linear time, bodies untouched."""
    one = "template <> struct MMA_Traits<OP_{0}> {{ using ThrID = Layout<_{1}>; static constexpr int k = {0} < 3; }};\n"
    text = "".join(one.format(i, i % 64) for i in range(9000))
    began = time.process_time()
    unit = load("big.h", text.encode())
    assert len(unit.decls) == 9000
    assert time.process_time() - began < 8


def test_text_whose_folded_part_is_all_of_it_costs_its_own_statement_alone() -> None:
    unit = load("x.cu", b"void f() { const int t = u$s(l % 4) + 1; g(3); }", Defines("sm_80"))
    (fn,) = unit.decls
    assert isinstance(fn, ir.Function) and fn.body is not None
    block = fn.body.get()
    assert isinstance(block, ir.Block)
    last = block.body[-1]
    assert isinstance(last, ir.ExprStmt) and isinstance(last.expr, ir.Call)
