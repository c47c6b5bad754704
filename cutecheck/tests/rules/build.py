"""Facts built from model objects, as the front end would: for testing rules without sources."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cutecheck.engine.check import check_facts
from cutecheck.facts import Event, Facts, Site, Span, TensorFact
from cutecheck.findings import Finding
from cutecheck.model.algebra import make_fragment_like
from cutecheck.model.atoms import copy_op, mma_op
from cutecheck.model.dtype import DType, dtype
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Dyn
from cutecheck.model.notation import parse
from cutecheck.model.prove import Outcome, prove
from cutecheck.model.tiled import TiledCopy, TiledMMA, make_tiled_copy, make_tiled_mma
from cutecheck.rules import selected

HALF, FLOAT = dtype("half_t"), dtype("float")
SPAN = Span("k.cu", 10, 3, 10, 20)


def layout(text: str) -> Any:
    return parse(text)


def atom(name: str, element: DType | None, *args: Any) -> Any:
    return copy_op(name, args, element)


def hmma(atoms: str = "(_2,_2,_1):(_1,_2,_0)", tile: Any = (32, 32, 16)) -> TiledMMA:
    return make_tiled_mma(mma_op("SM80_16x8x16_F32F16F16F32_TN"), layout(atoms), tile)


def universal(bits: int, element: DType | None, thr: str, val: str) -> TiledCopy:
    return make_tiled_copy(atom("UniversalCopy", element, dtype(f"uint{bits}_t")), layout(thr), layout(val))


def thread(count: int) -> Dyn:
    return Dyn.named("threadIdx.x", Domain(0, count - 1))


def tensor(name: str, space: str, value: Any, element: DType | None, offset: Any = 0, **more: Any) -> TensorFact:
    return TensorFact(name, SPAN, space, value, element, name, offset, **more)  # type: ignore[arg-type]


def copy_event(  # one copy of a tile between memory and a fragment, or between two memories
    tiled: TiledCopy,
    element: DType | None,
    src: tuple[str, str] | None,
    dst: tuple[str, str] | None,
    **more: Any,
) -> Event:
    """``src`` and ``dst`` are (space, printed layout of the whole tile); None is a fragment like the other side."""
    threads = tiled.num_thr
    assert isinstance(threads, int)
    parts: list[TensorFact | None] = []
    for side, given in (("S", src), ("D", dst)):
        if given is None:
            parts.append(None)
            continue
        root = layout(given[1])
        partition = tiled.partition_S if side == "S" else tiled.partition_D
        part, offset = partition(root, thread(threads))
        known: dict[str, Any] = {
            "alignment_bytes": 128,
            "provenance": "partition",
            "source": tiled,
            "root_layout": root,
            "tile_layout": root,
        }
        parts.append(tensor("sA" if given[0] == "smem" else "gA", given[0], part, element, offset, **known))
    known_part = next(p for p in parts if p is not None)
    fragment = tensor("r", "rmem", make_fragment_like(known_part.layout), element, 0, provenance="fragment")
    operands = tuple(fragment if p is None else p for p in parts)
    event = Event("e1", "copy", "copy", SPAN, tiled, SPAN, operands, None, False, "kernel", "sm_90", threads=threads)
    return replace(event, **more)


def site(kind: str, value: Any, **more: Any) -> Site:
    made = Site("s1", kind, "Thing", SPAN, SPAN, (), "sm_90", "resolved", value)  # type: ignore[arg-type]
    return replace(made, **more)


def findings(facts: Facts) -> list[Finding]:
    report = check_facts(facts, selected(), prove, lambda _: None)
    assert not report.failures, report.failures
    return list(report.findings)


def outcomes(facts: Facts) -> list[Outcome]:
    return list(check_facts(facts, selected(), prove, lambda _: None).outcomes)


def codes(facts: Facts) -> list[str]:
    return [f.code for f in findings(facts)]
