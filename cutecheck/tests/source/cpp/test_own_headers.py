"""Of CuTe's own headers what stands outside ``namespace cute`` is read, and the using-declarations."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

import pytest

from cutecheck.source.cpp import load
from cutecheck.source.cpp.outline import says_nothing, without_namespace
from cutecheck.source.eval import ir

PARTS = (
    "struct S%d { int x[3] = {1, 2}; using U = int; using S::S; };",
    "template <class T> void f%d(T t) { if (t) { using std::swap; g('{', \"}\"); } }",
    "using cutlass::half_%d;",
    "using namespace std%d;",
    "using V%d = int;",
    "namespace k%d = cutlass::arch;",
    'char const* c%d = R"x(namespace cute { using a::b; )x";',
    "enum class E%d { a, b };",
    "constexpr int n%d = 1'000;",
    "namespace n%d { using x::y; void h() {} }",
    "namespace a%d::b { void h() {} using z::w; }",
    'extern "C" { void e%d(); }',
    "static_assert(1 < 2, \"{%d\");",
)  # fmt: skip


def text(pick: random.Random, depth: int) -> str:
    lines = []
    for _ in range(pick.randrange(1, 6)):
        name = pick.choice(("cute", "cute", "other", "", "cute::detail"))
        if depth and pick.random() < 0.4:
            lines.append(f"namespace {name} {{\n{text(pick, depth - 1)}\n}}")
        else:
            lines.append(pick.choice(PARTS) % pick.randrange(100))
    return "\n".join(lines)


def outside(decls: Iterable[ir.Decl], within: tuple[str, ...] = ()) -> Counter[object]:
    """The using-declarations, and what is declared outside ``cute``, each with its namespaces."""
    found: Counter[object] = Counter()
    for decl in decls:
        if isinstance(decl, ir.Namespace):
            found += outside(decl.members, (*within, *decl.name.split("::")))
        elif "cute" not in within[:1] or isinstance(decl, ir.Using):
            found[within, decl.span if not isinstance(decl, ir.TopLevel) else decl] += 1
    return found


@pytest.mark.parametrize("seed", range(60))
def test_what_is_left_is_what_the_whole_text_declares_outside(seed: int) -> None:
    source = text(random.Random(seed), 3)
    less = without_namespace(source, "cute")
    assert len(less) == len(source)
    assert [len(line) for line in less.split("\n")] == [len(line) for line in source.split("\n")]
    # a namespace `cute` within another is not CuTe's
    whole, left = outside(load("whole.hpp", source).decls), outside(load("whole.hpp", less).decls)
    assert set(left) <= set(whole)
    assert {key for key in whole if "cute" not in key[0]} <= set(left)  # type: ignore[index]
    assert {key for key in whole if key[0][:1] == ("cute",)} <= set(left)  # type: ignore[index]


def test_what_is_in_it_goes() -> None:
    source = "namespace cute { struct A { int x; }; namespace b { using c::d; int e; } } int f;"
    left = " ".join(without_namespace(source, "cute").split())
    assert left == "namespace cute { namespace b { using c::d; } } int f;"


@pytest.mark.parametrize("source", ["namespace cute { struct A {", "} namespace cute { int x; }", "{ namespace cute {"])
def test_braces_that_do_not_match_leave_the_text(source: str) -> None:
    assert without_namespace(source, "cute") == source


def test_empty_namespaces_say_nothing() -> None:
    assert says_nothing(" namespace cute {\n namespace detail::x { } \n} namespace\n{ } ")
    assert says_nothing("")
    assert not says_nothing("namespace cute { using a::b; }")
    assert not says_nothing("namespace cute { } int x;")


def test_a_header_of_cute_s_is_read_so_and_one_of_another_is_not() -> None:
    source = "namespace cute { struct A {}; using cutlass::half_t; } namespace std { struct B {}; }"
    assert load("other/cute.h", source).decls[0].members[0].name == "A"  # type: ignore[union-attr]
    own = load("include/cute/layout.hpp", source).decls
    assert [type(m) for d in own for m in d.members] == [ir.Using, ir.Class]  # type: ignore[union-attr]
    assert load("include/cute/layout.hpp", "namespace cute { struct A {}; }").decls == ()
