"""`cutecheck eval` against what real CuTe printed for the same C++ text."""

import json
from pathlib import Path

import pytest

from cutecheck.facts import Unknown
from cutecheck.model.notation import show
from cutecheck.source.evaluate import evaluate

DATA = Path(__file__).parent.parent / "data"


def printed(expression: str) -> str:
    value = evaluate(expression)
    return f"unknown: {value}" if isinstance(value, Unknown) else show(value).rstrip("\n")


@pytest.mark.parametrize(
    "case", json.loads((DATA / "cpp_articles.json").read_text())["cases"], ids=lambda c: c["source"]
)
def test_articles(case: dict[str, str]) -> None:
    assert printed(case["expr"]) == case["printed"].rstrip("\n")


def test_algebra_as_cpp_text() -> None:
    cases = json.loads((DATA / "cpp_algebra.json").read_text())["cases"]
    wrong = [(c["cpp"], got, c["result"]) for c in cases if (got := printed(c["cpp"])) != c["result"]]
    assert not wrong
    assert len(cases) > 500


@pytest.mark.parametrize(
    "expression",
    [
        "make_layout(",
        "foo(1)",
        "make_tiled_copy(1, 2, 3)",
        "Layout<Shape<_8>>{}(_1{}, _2{}, _3{})",
        "1 / 0",
        "*",
        "",
        "a" * 5000,
    ],
)
def test_nonsense_is_unknown_with_a_reason(expression: str) -> None:
    value = evaluate(expression)
    assert isinstance(value, Unknown)
    assert value.reason


def test_what_cute_refuses_is_said_to_be_refused() -> None:
    value = evaluate(
        "make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, half_t>{},"
        " Layout<Shape<_16,_8>>{}, Layout<Shape<_4,_1>>{})"
    )
    assert isinstance(value, Unknown)
    assert value.rejected


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("7 / 2 * 2 + 7 % 4", "9"),
        ("-7 / 2", "-3"),
        ("1u - 2u", "4294967295"),
        ("sizeof(half_t) * 3", "6"),
        ("Int<7>{} / Int<2>{}", "_3"),
        ("std::conditional_t<(3 > 2), _1, _2>{}", "_1"),
        ("cosize_v<Layout<Shape<_4,_8>,Stride<_9,_1>>>", "35"),
    ],
)
def test_cpp_arithmetic(expression: str, text: str) -> None:
    assert printed(expression) == text
