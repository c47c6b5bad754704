"""The printed notation, both ways."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecheck.model import algebra
from cutecheck.model import expr as ex
from cutecheck.model.basis import ScaledBasis, X
from cutecheck.model.ints import CuteError, Dyn, Sym
from cutecheck.model.layout import ComposedLayout, Layout, MixedBits, SmemPtrFlag, Swizzle, SwizzleUnit
from cutecheck.model.notation import NotationError, parse, parse_expression, show

TEXTS = [
    "_8",
    "_-3",
    "8",
    "-3",
    "_",
    "()",
    "(_8)",
    "(_8,(_4,_2))",
    "_8:_1",
    "(_8):(_1)",
    "((_8,_16),_3):((_32,_256),_0)",
    "(_8,lda):(_1,threadIdx.x)",
    "(_kBlockM,_{2*kBlockN}):(_1,{8*q + 1})",
    "(_4:_1,_8,_,(_2,_4):(_1,_2))",
    "_1@0@1",
    "(_8,(_4,_1)):(_1@0,(_1@0@1,_1@1@1))",
    "(4@0,0)",
    "Sw<3,3,3>",
    "Sw<1,2,-3>",
    "Sw<3,3,3> o _0 o (_8,_64):(_64,_1)",
    "Sw<3,4,3> o smem_ptr[16b](unset) o ((_8,_16),(_64,_2)):((_64,_512),(_1,_8192))",
    "Sw<2,4,3> o smem_sparse<2>_ptr[8b](unset) o (_8,_64):(_64,_1)",
    "Sw<3,3,3> o M_8|(16&48)=24 o (_8,_64):(_64,_1)",
    "_32:_1 o _-64 o Sw<3,3,3>",
    "Sw<1,0,3> o _0 o Sw<2,4,3> o _8 o (_4):(_1)",
    "LayoutRight",
]


@pytest.mark.parametrize("text", TEXTS)
def test_round_trip(text: str) -> None:
    value = parse(text)
    assert show(value) == text
    assert parse(show(value)) == value


@pytest.mark.parametrize("text", [t for t in TEXTS if t != "LayoutRight"])
def test_values_copy_and_pickle(text: str) -> None:
    value = parse(text)
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.deepcopy(value) == value
    assert hash(value) == hash(parse(text))
    assert pickle.loads(pickle.dumps(X)) is X


def test_what_the_parts_mean() -> None:
    assert parse("(_8,lda):(_1,8)") == Layout((8, Dyn.named("lda")), (1, Dyn.of(8)))
    assert parse("_kBlockM") == Sym.named("kBlockM")
    assert parse("_3@0@1") == ScaledBasis(3, (1, 0))
    flagged = parse("Sw<3,4,3> o smem_ptr[16b](unset) o _8:_1")
    assert flagged == ComposedLayout(Swizzle(3, 4, 3, SwizzleUnit.BYTE), SmemPtrFlag(16), Layout(8, 1))
    assert parse("(_1,?)") != parse("(_1,?)")  # every ? is another integer
    assert show(parse("(_1,?)")) == "(_1,?)"
    mixed = parse("Sw<3,3,3> o M_8|(16&48)=24 o _8:_1")
    assert isinstance(mixed, ComposedLayout) and mixed.offset == MixedBits(8, 48, ex.const(16))


@pytest.mark.parametrize(
    "text",
    ["", "(", "(_8", "_8:", ":_1", "(_8,_4):(_1,_8", "_8 _4", "Sw<3,3>", "Sw<3,3,3> o _0", "Sw<3,3,3> o _8:_1 o _8:_1",
     "(_8;_4)", "_8::_1", "{1 +}", "8 o _0 o _8:_1", "\N{SNOWMAN}"],
)  # fmt: skip
def test_bad_text_names_the_offset(text: str) -> None:
    with pytest.raises(NotationError) as caught:
        parse(text)
    assert 0 <= caught.value.position <= len(text)


def test_parameters_that_are_no_swizzle() -> None:
    with pytest.raises(CuteError, match="abs"):
        parse("Sw<3,4,2>")


def test_expressions() -> None:
    text = "((threadIdx.x / 8) % 4) + 64*k + min(a, b) - 3"
    e = parse_expression(text)
    assert parse_expression(str(e)) == e
    point = {"threadIdx.x": 45, "k": 3, "a": 7, "b": 5}
    assert e.evaluate(point) == 45 // 8 % 4 + 192 + 5 - 3


shapes = st.recursive(
    st.one_of(st.integers(-4, 600), st.integers(-4, 600).map(Dyn.of), st.sampled_from("abc").map(Dyn.named)),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(shapes)
def test_any_tuple_round_trips(shape: object) -> None:
    assert parse(show(shape)) == shape


def test_every_layout_of_the_kernels_round_trips_and_maps_as_cute_says() -> None:
    rows = json.loads((Path(__file__).parent.parent / "data" / "cpp_layouts.json").read_text())
    assert len(rows) > 100
    for row in rows:
        layout = parse(row["text"])
        assert show(layout) == row["text"]
        assert show(algebra.size(layout)) == row["size"]
        assert show(algebra.cosize(layout)) == row["cosize"]  # type: ignore[arg-type]
        assert show(algebra.rank(layout)) == row["rank"]
        assert algebra.offsets_hash(layout) == row["offsets_fnv1a64"]
