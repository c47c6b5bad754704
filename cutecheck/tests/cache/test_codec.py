"""What is written is read back, to the type; what was not written is refused."""

from __future__ import annotations

import contextlib
import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecheck.cache.codec import DecodeError, decode, encode
from cutecheck.facts import Site, Span, Unknown
from cutecheck.model.basis import ScaledBasis, X
from cutecheck.model.expr import Domain, var
from cutecheck.model.ints import Dyn, Typed
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle, SwizzleUnit
from cutecheck.model.units import Bits
from cutecheck.source.translate import Part

N = Dyn.named("n", Domain(0, None, 8))
SPAN = Span("a.cu", 1, 2, 3, 4)
LAYOUT = Layout((8, (N, 2)), (1, (8, N * 8 + 3)))
RATIO = Layout((4, 2), (ScaledBasis(Fraction(3, 4), (0,)), Fraction(1, 2)))
VALUES = [
    None, True, 1, 1.0, "Ω\ud800", (True, 1, 1.0, (1,), ("1",)), {"a": {1: 2}, ("k", 1): {3}}, frozenset({1, 2}), X,
    LAYOUT, RATIO, ComposedLayout(Swizzle(3, 3, 3, SwizzleUnit.BYTE), 0, LAYOUT), Bits(16), (Bits(16), 16), N % 3,
    Site("i", "layout", "s", SPAN, SPAN, (("M", "8"),), "sm_80", "resolved", LAYOUT, Unknown("why", SPAN)), Part(),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_there_and_back(value: object) -> None:
    back = decode(encode(value))
    assert repr(back) == repr(value) and type(back) is type(value)
    if not isinstance(value, Part):
        assert back == value


def test_integers_of_another_type_are_plain_ones() -> None:
    """Facts say nothing of the type, and one without it is no value that anything may ask for its type."""
    number = Typed(var("n"), "unsigned")
    found = decode(encode((number, 1)))
    assert found == (number, 1)
    assert type(found[0]) is Dyn


def test_equal_parts_are_one_object() -> None:
    a, b = decode(encode((Layout((8, 4), (1, 8)), Layout((8, 4), (1, 8)))))
    assert a is b


def test_long_texts_are_written_once() -> None:
    long = "kernel<128, 64, 32>" * 20
    text = encode((long, [long], {long: (long, "short", "short")}))
    assert text.count(long) == 1 and decode(text) == (long, [long], {long: (long, "short", "short")})


def test_values_of_no_known_kind_are_not_written() -> None:
    for value in (object(), len, Exception("x"), 1j):
        with pytest.raises(TypeError):
            encode((1, value))


NAMES = st.sampled_from(
    ["t", "d", "s", "_", "/", "os:system", "builtins:eval", "cutecheck.model.layout:Layout",
     "cutecheck.model.layout:os", "cutecheck.facts.span:Span", "cutecheck.facts.span:Span.path",
     "cutecheck.cache.store:Store", "subprocess:Popen"]
)  # fmt: skip
FIELDS = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 9), st.text(max_size=3), st.lists(st.integers(-1, 5), max_size=2)
)
NODES = st.lists(st.lists(FIELDS, max_size=4), max_size=5)


@given(st.lists(NAMES, max_size=4), NODES, FIELDS)
def test_any_other_text_decodes_to_plain_values_or_not_at_all(
    names: list[str], nodes: list[object], root: object
) -> None:
    with contextlib.suppress(DecodeError):
        decode(json.dumps([names, nodes, root]))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "null",
        "[[],[],[0]]",
        '[["os:system"],[[0,"true"]],[0]]',
        "[" * 10**5,
        '[["/"],[[0,"1e999999999"]],[0]]',
        '[["/"],[[0,1,0]],[0]]',
    ],
)
def test_no_value(text: str) -> None:
    with pytest.raises(DecodeError):
        decode(text)
