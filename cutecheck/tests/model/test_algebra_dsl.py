"""The DSL's variant of the algebra against a table that the DSL itself printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cutecheck.model import algebra
from cutecheck.model.algebra import dsl
from cutecheck.model.ints import CuteError
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.model.notation_dsl import parse_dsl, show_dsl

TABLE = json.loads((Path(__file__).parent.parent / "data" / "dsl_algebra.json").read_text())


def evaluate(case: dict[str, Any]) -> Any:
    args = [parse_dsl(a) for a in case["args"]]
    kwargs = {k: parse_dsl(v) for k, v in case.get("kwargs", {}).items()}
    return dsl.call(case["func"], args, kwargs)


@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda c: c["func"])
def test_as_the_dsl_prints(case: dict[str, Any]) -> None:
    if "raises" in case:
        with pytest.raises((CuteError, TypeError)):
            evaluate(case)
        return
    result = evaluate(case)
    assert show_dsl(result) == case["result"]
    if "size" in case and isinstance(result, (Layout, ComposedLayout)):
        assert show_dsl(algebra.size(result)) == case["size"]
        assert show_dsl(algebra.cosize(result)) == case["cosize"]


@pytest.mark.parametrize(
    "text",
    ["(?,?{div=8},?):(?{i64 div=8},1,?{i64})", "S<3,4,3> o 0 o (8,64):(64,1)", "(1@0,1@1@1)", "S<0,4,3>", "(8):(1)"],
)
def test_notation_round_trip(text: str) -> None:
    assert show_dsl(parse_dsl(text)) == text


def test_run_time_integers_keep_divisor_and_width() -> None:
    layout = parse_dsl("(?,?):(?{i64},1)")
    tile = (16, 128)
    assert (
        show_dsl(dsl.call("zipped_divide", [layout, tile], {})) == "((16,128),(?,?)):((?{i64},1),(?{i64 div=16},128))"
    )
    row = parse_dsl("(?,256):(?{i64 div=8},1)")
    assert show_dsl(dsl.call("zipped_divide", [row, (1, 256)], {})).startswith("((1,256),(?,1)):((0,1),(?{i64 div=8},")


def test_what_the_dsl_accepts_silently() -> None:
    assert show_dsl(dsl.make_swizzle(3, 4, 2)) == "S<0,4,3>"
    assert show_dsl(dsl.make_swizzle(-1, 4, 3)) == "S<0,4,3>"
    atom = parse_dsl("(8,64):(64,1)")
    assert show_dsl(dsl.tile_to_shape(atom, (100, 64), (0, 1))) == "((8,13),(64,1)):((64,512),(1,0))"


@pytest.mark.parametrize(
    ("func", "a", "b", "result"),
    [
        ("tiled_divide", "(8):(1)", "(4)", "((4),2):((1),4)"),
        ("tiled_divide", "8:1", "(4)", "((4),2):((1),4)"),
        ("tiled_divide", "S<3,3,3> o 0 o (64):(1)", "(8)", "S<3,3,3> o 0 o ((8),8):((1),8)"),
        ("flat_divide", "(8):(1)", "(4)", "(4,2):(1,4)"),
        ("flat_divide", "(8,6):(1,8)", "(4)", "(4,2,6):(1,4,8)"),
        ("flat_divide", "(8):(1)", "(2):(1)", "(2,4):(1,2)"),
        ("flat_divide", "S<3,3,3> o 0 o (64):(1)", "(8)", "S<3,3,3> o 0 o (8,8):(1,8)"),
        ("tiled_product", "(4):(1)", "(2):(1)", "((4),2):((1),4)"),
        ("tiled_product", "4:1", "(2):(1)", "(4,2):(1,4)"),
        ("tiled_product", "(4,2):(1,4)", "((2,2)):((1,2))", "((4,2),(2,2)):((1,4),(8,16))"),
        ("flat_product", "((4,2)):((1,4))", "(2):(1)", "((4,2),2):((1,4),8)"),
        ("flat_product", "(4,(2)):(1,(4))", "(2,(3)):(1,(2))", "(4,(2),2,(3)):(1,(4),8,(16))"),
    ],
)
def test_a_tuple_of_one_mode_is_taken_apart(func: str, a: str, b: str, result: str) -> None:
    """As the DSL 4.8.1 prints them."""
    assert show_dsl(dsl.call(func, [parse_dsl(a), parse_dsl(b)], {})) == result


@pytest.mark.parametrize("given", [(0, 2, 0), (0, 3, 3), (0, 0, 0), (0, 4, 1)])
def test_a_swizzle_of_no_bits_is_the_one_that_does_nothing(given: tuple[int, int, int]) -> None:
    assert show_dsl(dsl.make_swizzle(*given)) == "S<0,4,3>"  # as nvidia-cutlass-dsl 4.8.1 prints
