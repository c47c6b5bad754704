"""The layouts that cutecheck suggests for the bank conflicts of the cases, as probes before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cutecheck.config import Settings
from cutecheck.engine.run import extract_facts
from cutecheck.exec.gpu.from_facts import operand, probe_of
from cutecheck.exec.gpu.from_facts_copies import NoProbeError
from cutecheck.exec.gpu.gemm import GemmProbe, Operand
from cutecheck.exec.gpu.probe import CopyProbe, Tile
from cutecheck.facts import Facts
from cutecheck.model.algebra import composition
from cutecheck.model.atoms import copy_op
from cutecheck.model.ints import CuteError, known_value
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout, Swizzle
from cutecheck.model.prove import Options
from cutecheck.model.tiled import TiledCopy, TiledMMA, make_tiled_copy_A, make_tiled_copy_B
from cutecheck.rules.derive.buffers import Suggestion, groups, offered, suggestions


@dataclass(frozen=True)
class Pair:
    """One access of a buffer with a bank conflict: the layout as written, and the one suggested."""

    name: str
    suggestion: str
    before: Any
    after: Any


@dataclass(frozen=True)
class Unpaired:
    """A buffer with bank conflicts for which nothing is measured, and why."""

    name: str
    reason: str


def pairs(paths: Sequence[Path], arch: str) -> Iterator[Pair | Unpaired]:
    """Every access of a buffer for which a layout is suggested, and a GEMM around it where it reads an operand."""
    for path in paths:
        facts = extract_facts([path], replace(Settings(), arch=(arch,)))
        for group in groups(facts):
            for found in suggestions(group, facts, Options(cache={})):
                if isinstance(found, str) or not found.conflicts:
                    continue
                place = group.known[0].event.span.line if group.known else 0
                name = f"{path.parent.name}/{path.name}:{place} {group.buffer}"
                if not offered(found.synthesis):
                    yield Unpaired(name, found.text)
                    continue
                made = list(_pairs(path, found, facts))
                yield from made
                if not made:
                    yield Unpaired(name, f"{found.text}; no reference kernel stands for its accesses")


def _pairs(path: Path, found: Suggestion, facts: Facts) -> Iterator[Pair]:
    for access in found.group.known:
        try:
            probe = probe_of(access.event, facts.events)
        except NoProbeError:
            continue
        if not isinstance(probe, CopyProbe):
            continue
        name = f"{path.parent.name}/{path.name}:{access.event.span.line}"
        changed = _changed(probe, found)
        if changed is None:
            continue
        yield Pair(f"{name} {access.tensor.name}", found.text, probe, changed)
        mma = next((s.value for s in facts.sites if isinstance(s.value, TiledMMA)), None)
        if mma is None or changed.src is None or changed.dst is not None:
            continue
        around = [_gemm(mma, p) for p in (probe, changed)]
        if all(around):
            yield Pair(f"{name} {access.tensor.name}, GEMM", found.text, around[0], around[1])


def _changed(probe: CopyProbe, found: Suggestion) -> CopyProbe | None:
    sides = {}
    for side in ("src", "dst"):
        tile = getattr(probe, side)
        if tile is not None and tile.memory == "smem":
            layout = _fixed(tile.layout, found)
            if layout is None:
                return None
            sides[side] = Tile("smem", layout)
    return replace(probe, **sides)


def _fixed(layout: AnyLayout, found: Suggestion) -> AnyLayout | None:
    plain = layout.b if isinstance(layout, ComposedLayout) else layout
    if not isinstance(plain, Layout):
        return None
    synthesis = found.synthesis
    if synthesis.plain:
        return plain
    if synthesis.swizzle is not None:
        made = composition(Swizzle(synthesis.swizzle.bits, synthesis.swizzle.base, synthesis.swizzle.shift), plain)
        return made if isinstance(made, (Layout, ComposedLayout)) else None
    if synthesis.padding is not None:
        old, new = synthesis.padding.pitch - synthesis.padding.extra, synthesis.padding.pitch
        return Layout(plain.shape, _pitched(plain.stride, old, new))
    return None


def _pitched(stride: Any, old: int, new: int) -> Any:
    if isinstance(stride, tuple):
        return tuple(_pitched(s, old, new) for s in stride)
    return stride // old * new if stride % old == 0 else stride


def _gemm(mma: TiledMMA, probe: CopyProbe) -> GemmProbe | None:
    """The reference GEMM whose A (or B) operand is read as the probe reads, the other operand from plain rows."""
    assert probe.src is not None and isinstance(probe.tiled, TiledCopy)
    for letter, make in (("A", make_tiled_copy_A), ("B", make_tiled_copy_B)):
        try:
            if make(probe.tiled.atom, mma) != probe.tiled:
                continue
            dtype = mma.atom.val_types[0 if letter == "A" else 1]
            checked = operand(mma, dtype, probe.src.layout, probe.tiled, None)
            other = _other(mma, "B" if letter == "A" else "A", checked)
        except (CuteError, ValueError, AssertionError):
            continue
        a, b = (checked, other) if letter == "A" else (other, checked)
        rows: list[Any] = [o.gmem.shape[0] for o in (a, b)]  # type: ignore[index]
        return GemmProbe(mma, a, b, mma.atom.val_types[3], Layout((rows[0], rows[1]), (rows[1], 1)))
    return None


def _other(mma: TiledMMA, letter: str, checked: Operand) -> Operand:
    dtype = mma.atom.val_types[0 if letter == "A" else 1]
    assert dtype.bits is not None
    depth: Any = checked.gmem.shape[1]  # type: ignore[index]
    rows = (known_value(mma.tile_size(0 if letter == "A" else 1)) or 16) * 2
    make = make_tiled_copy_A if letter == "A" else make_tiled_copy_B
    pad = 128 // int(dtype.bits)
    return operand(
        mma, dtype, Layout((rows, depth), (depth + pad, 1)), make(copy_op("UniversalCopy", (dtype,), dtype), mma), None
    )
