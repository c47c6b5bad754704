"""The algebra against tables that real CuTe printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cutecheck.model import algebra
from cutecheck.model.dtype import dtype
from cutecheck.model.ints import CuteError, Dyn, known_value
from cutecheck.model.notation import parse, show

DATA = Path(__file__).parent.parent / "data"
TABLE = json.loads((DATA / "cpp_algebra.json").read_text())


def evaluate(case: dict[str, Any]) -> Any:
    """Run one row: its arguments are in printed notation, template arguments come last."""
    args = [parse(a) for a in case["args"]]
    name = case["fn"]
    template = [t for t in case.get("template_args", "").strip("<>").split(",") if t]
    if name == "swizzle_apply":
        return args[0](args[1])
    if name == "slice":
        return algebra.slice(args[1], args[0])
    if name == "recast_layout":
        return algebra.recast_layout(args[0], *map(dtype, template))
    return getattr(algebra, name)(*args, *map(int, template))


@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda c: f"{c['id']}-{c['fn']}")
def test_as_cute_prints(case: dict[str, Any]) -> None:
    result = evaluate(case)
    assert show(result) == case["result"]
    if "size" not in case:
        return
    assert known_value(algebra.size(result)) == case["size"]
    assert show(algebra.cosize(result)) == case["cosize"]
    assert show(algebra.rank(result)) == case["rank"]
    assert show(algebra.depth(result)) == case["depth"]
    if "offsets_fnv1a64" in case:
        assert algebra.offsets_hash(result) == case["offsets_fnv1a64"]
    values = case.get("offsets")
    if values and isinstance(values[0], int):
        assert algebra.offsets(result) == values
        assert [known_value(result(i)) for i in range(case["size"])] == values
    elif values:
        assert [show(result(Dyn.of(i))) for i in range(case["size"])] == values


def read_layout(cpp: str) -> Any:
    """The few C++ spellings that the table's rejected rows use as arguments."""
    names: dict[str, Any] = {
        "make_shape": lambda *a: a,
        "make_tile": lambda *a: a,
        "Shape": lambda *a: a,
        "Stride": lambda *a: a,
        "make_identity_layout": algebra.make_identity_layout,
        "composition": algebra.composition,
        "Layout": algebra.make_layout,
        "Swizzle": lambda b, m, s: parse(f"Sw<{b},{m},{s}>"),
        "Int": lambda n: n,
        "_": parse("_"),
    }
    return eval(cpp.replace("{}", "").replace("<", "(").replace(">", ")"), {"__builtins__": {}}, names)


# The harness that wrote the table could not hash these two results (rank-1 layouts over a coordinate); CuTe itself
# compiles and prints them.
HARNESS_ONLY = {"invalid cast from type ‘cute::ScaledBasis<int, 1>’ to type ‘int’"}


@pytest.mark.parametrize("case", TABLE["rejected"], ids=lambda c: f"{c['id']}-{c['fn']}")
def test_refused_where_cute_refuses(case: dict[str, Any]) -> None:
    if case["error"] in HARNESS_ONLY:
        pytest.skip("CuTe compiles this row; only the table's harness refused it")
    with pytest.raises(CuteError) as caught:
        args = [read_layout(a) for a in case["args_cpp"]]
        template = [int(t) for t in case["template_args"].strip("<>").split(",") if t]
        getattr(algebra, case["fn"])(*args, *template)
    if case["by"] == "CuTe static_assert":
        wanted = case["error"].removeprefix("static assertion failed: ").rstrip(".").split(" (")[0]
        assert wanted.split(": ")[-1] in str(caught.value)
