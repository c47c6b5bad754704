"""The layout algebra side by side with pycute and tensor-layouts, in one run: ``python benchmarks/algebra.py``.

Needs ``pip install nvidia-cutlass tensor-layouts`` (pycute comes with the first); without one of them its column is
left out. Every operation runs on the same inputs; the three results are compared first (by their values), then each
is timed: the least CPU time of several rounds, in microseconds a call. Nothing is cached by any of the three.
The command fails when cutecheck is not the fastest of a row.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from cutecheck.model import algebra
from cutecheck.model.layout import Layout, Swizzle

ROUNDS = 9

# (operation, shape and stride of the layout, shape and stride of the other, or an extent)
INPUTS: list[tuple[str, Any, Any]] = [
    ("composition", ((128, 64), (64, 1)), ((32, 4, 8), (4, 1, 128))),
    ("composition", (((8, 16), (64, 2)), ((64, 512), (1, 8192))), ((16, 64), (128, 1))),
    ("logical_divide", ((128, 64), (64, 1)), (16, 2)),
    ("logical_divide", ((8, (4, 16)), (1, (8, 32))), (8, 4)),
    ("complement", (((4, 8), 2), ((2, 32), 1)), 4096),
    ("complement", ((8, 4), (4, 64)), 1024),
    ("coalesce", (((2, 4), (8, (2, 2))), ((1, 2), (8, (64, 128)))), None),
    ("coalesce", ((8, (4, 2), 16), (1, (8, 64), 256)), None),
]


def tile_of(make_layout: Callable[[Any, Any], Any]) -> Any:
    """((8,16),(64,1)):((64,512),(1,0)), the 128x64 tile of the evaluation row."""
    return make_layout(((8, 16), (64, 1)), ((64, 512), (1, 0)))


def pycute_calls() -> dict[str, Callable[..., Any]] | None:
    try:
        pycute = importlib.import_module("pycute")
    except ImportError:
        return None
    tile = pycute.ComposedLayout(pycute.Swizzle(3, 3, 3), 0, tile_of(pycute.Layout))
    return {
        "layout": pycute.Layout,
        "composition": pycute.composition,
        "logical_divide": pycute.logical_divide,
        "complement": pycute.complement,
        "coalesce": pycute.coalesce,
        "evaluate": lambda: [tile(i) for i in range(8192)],
    }


def tensor_layouts_calls() -> dict[str, Callable[..., Any]] | None:
    try:
        tl = importlib.import_module("tensor_layouts")
    except ImportError:
        return None
    tile = tl.compose(tl.Swizzle(3, 3, 3), tile_of(tl.Layout))
    return {
        "layout": tl.Layout,
        "composition": tl.compose,
        "logical_divide": tl.logical_divide,
        "complement": tl.complement,
        "coalesce": tl.coalesce,
        "evaluate": lambda: [tile(i) for i in range(8192)],
    }


def cutecheck_calls() -> dict[str, Callable[..., Any]]:
    tile = algebra.composition(Swizzle(3, 3, 3), tile_of(Layout))
    return {
        "layout": Layout,
        "composition": algebra.composition,
        "logical_divide": algebra.logical_divide,
        "complement": algebra.complement,
        "coalesce": algebra.coalesce,
        "evaluate": lambda: algebra.offsets(tile),
        "evaluate by coordinate": lambda: [tile(i) for i in range(8192)],
    }


def least_times(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Microseconds a call: the least of several rounds, the libraries taking turns so that noise meets them alike."""
    repeats: dict[str, int] = {}
    best: dict[str, float] = {}
    for name, call in calls.items():
        count, elapsed = 1, 0.0
        while elapsed < 0.004:
            start = time.process_time()
            for _ in range(count):
                call()
            elapsed = time.process_time() - start
            count *= 2
        repeats[name] = count // 2
        best[name] = elapsed / repeats[name]
    for _ in range(ROUNDS):
        for name, call in calls.items():
            start = time.process_time()
            for _ in range(repeats[name]):
                call()
            best[name] = min(best[name], (time.process_time() - start) / repeats[name])
    return {name: seconds * 1e6 for name, seconds in best.items()}


def arguments(calls: dict[str, Callable[..., Any]], first: Any, second: Any) -> tuple[Any, ...]:
    made = calls["layout"](*first)
    if second is None:
        return (made,)
    return made, calls["layout"](*second) if isinstance(second, tuple) else second


def main() -> int:
    columns = {"cutecheck": cutecheck_calls(), "pycute": pycute_calls(), "tensor-layouts": tensor_layouts_calls()}
    present = {name: calls for name, calls in columns.items() if calls is not None}
    for name in columns.keys() - present.keys():
        print(f"{name} is not installed: no column")
    print(f"{'microseconds a call':44}" + "".join(f"{name:>16}" for name in present))
    slower = 0
    for operation, first, second in INPUTS:
        prepared = {name: partial(c[operation], *arguments(c, first, second)) for name, c in present.items()}
        results = {name: call() for name, call in prepared.items()}
        count = algebra.size(results["cutecheck"])
        if len({tuple(r(i) for i in range(count)) for r in results.values()}) != 1:
            print(f"  the results of {operation} differ")
            slower += 1
        row = least_times(prepared)
        shown = f"{operation.replace('_', ' ')} {str(Layout(*first)).replace('_', '')}"
        print(f"{shown[:43]:44}" + "".join(f"{t:16.2f}" for t in row.values()))
        slower += row["cutecheck"] > min(row.values())
    assert len({tuple(calls["evaluate"]()) for calls in present.values()}) == 1
    evaluations = {name: calls["evaluate"] for name, calls in present.items()}
    row = least_times({**evaluations, "one by one": present["cutecheck"]["evaluate by coordinate"]})
    one_by_one = row.pop("one by one")
    print(f"{'evaluate a swizzled 128x64 tile':44}" + "".join(f"{t:16.2f}" for t in row.values()))
    print(f"{'  the same, one call a coordinate':44}{one_by_one:16.2f}")
    slower += row["cutecheck"] > min(row.values())
    slower += any(one_by_one > t for name, t in row.items() if name != "cutecheck")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
