"""GoogleTest's macros as the classes and functions they stand for.

``TEST_F(Fixture, Name) {...}`` is a class derived from the fixture with the body as its ``TestBody``, and a function
that calls it; ``TYPED_TEST(Suite, Name)`` the same as templates, instantiated for every type of the list that
``TYPED_TEST_SUITE(Suite, Types)`` gives (gtest/internal/gtest-internal.h, gtest/gtest-typed-test.h).
"""

from __future__ import annotations

from cutecheck.facts.span import Span
from cutecheck.source.cpp.words import words
from cutecheck.source.eval import ir

FIXTURES = words("TEST_F TEST_P")
TYPED = words("TYPED_TEST TYPED_TEST_P")
SUITES = {  # macro: places of the suite and of the types among its arguments
    "TYPED_TEST_SUITE": (0, 1), "TYPED_TEST_CASE": (0, 1),
    "INSTANTIATE_TYPED_TEST_SUITE_P": (1, 2), "INSTANTIATE_TYPED_TEST_CASE_P": (1, 2),
}  # fmt: skip
_PARAMETER = "TypeParam"


def suite(macro: str, args: tuple[ir.Expr, ...], span: Span, full: Span) -> list[ir.Decl]:
    """``TYPED_TEST_SUITE(Suite, Types);``: the list of types under a name that the suite's tests ask for."""
    places = SUITES.get(macro)
    if places is None or len(args) <= max(places):
        return []
    named = args[places[0]]
    if not isinstance(named, ir.Name):
        return []
    return [ir.Alias(_types_of(named.ident), None, args[places[1]], span, full)]


def _types_of(suite_name: str) -> str:
    return f"gtest_type_params_{suite_name}_"


def with_fixture(macro: str, fixture: str, name: str, body: ir.Lazy, span: Span, full: Span) -> list[ir.Decl]:
    """The declarations of a test with a fixture; ``full`` spans the whole definition."""
    typed = macro in TYPED
    own = f"{fixture}_{name}_Test"
    function = f"{macro}_{fixture}_{name}"
    parameter = ir.Name(_PARAMETER, None, span)
    targs: tuple[ir.Expr, ...] | None = (parameter,) if typed else None
    tparams = (ir.TParam(_PARAMETER, "type", None, None, False, span),) if typed else None
    base = ir.Name(fixture, targs, span)
    void = ir.Name("void", None, span)
    members: list[ir.Decl] = [ir.Function("TestBody", None, None, (), void, body, frozenset(), span, full)]
    if typed:
        members.insert(0, ir.Alias("TestFixture", None, base, span, full))
    declared: list[ir.Decl] = [
        ir.Class(own, "class", tparams, None, (base,), tuple(members), None, span, full),
        ir.Function(
            function, tparams, None, (), void, ir.Lazy(lambda: _calling(own, targs, span)), frozenset(), span, full
        ),
    ]
    if typed:
        declared.append(ir.Instantiate(ir.Name(function, None, span), span, ir.Name(_types_of(fixture), None, span)))
    return declared


def _calling(own: str, targs: tuple[ir.Expr, ...] | None, span: Span) -> ir.Block:
    """``Own<TypeParam> test; test.TestBody();``"""
    test = ir.Variable("test", ir.Name(own, targs, span), None, None, frozenset(), None, span, span)
    call = ir.Call(ir.Attr(ir.Name("test", None, span), "TestBody", None, span), (), span)
    return ir.Block((ir.Local(test, span), ir.ExprStmt(call, span)), span)
