"""Replay of counterexamples about WGMMA descriptors and tensor maps; see ``replay``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutecheck.model.layout import Layout, Swizzle, SwizzleUnit
from cutecheck.model.prove import properties as p
from cutecheck.model.prove.obligation import Witness
from cutecheck.model.prove.replay_layouts import extent, number, place

Values = dict[str, int]


def tma_limits(m: p.TmaLimits, values: Values) -> Witness | None:
    """The first limit that the numbers break, in the words of the driver's documentation."""
    box = [number(b, values) for b in m.box]
    broken: list[tuple[str, int]] = []
    if not 0 < len(box) < 6:
        broken.append((f"a box of rank {len(box)}, allowed are 1 to 5", len(box)))
    broken += [(f"box extent {b} of mode {i}, allowed are 1 to 256", b) for i, b in enumerate(box) if not 0 < b < 257]
    inner = box[0] * int(m.element_bits) // 8 if box else 0
    if box and box[0] * int(m.element_bits) % 128:
        broken.append((f"the box's inner mode is {inner} bytes, not a multiple of 16", inner))
    if int(m.swizzle_bytes) not in (0, 32, 64, 128):
        broken.append((f"no swizzle of {int(m.swizzle_bytes)} bytes", int(m.swizzle_bytes)))
    elif int(m.swizzle_bytes) and inner > int(m.swizzle_bytes):
        broken.append((f"the box's inner mode is {inner} bytes, the swizzle spans {int(m.swizzle_bytes)}", inner))
    step = number(m.inner_stride, values)
    if step != 1:
        broken.append((f"the inner mode has stride {step}, not 1", step))
    for i, s in enumerate(number(s, values) for s in m.global_strides_bytes):
        if s % 16:
            broken.append((f"the global stride of mode {i + 1} is {s} bytes, not a multiple of 16", s))
        if s >= 1 << 40:
            broken.append((f"the global stride of mode {i + 1} is {s} bytes, not under 2^40", s))
    if m.global_alignment is not None and int(m.global_alignment) % 16:
        broken.append((f"the global address is aligned to {m.global_alignment} bytes, not 16", m.global_alignment))
    copies, cluster = number(m.multicast, values), number(m.cluster, values)
    if copies < 1 or copies > 16 or cluster % copies:
        broken.append((f"multicast to {copies} of a cluster of {cluster}", copies))
    if not broken:
        return None
    parameters = tuple((n, v) for n, v in sorted(values.items()) if n != "item")
    given = f" with {', '.join(f'{n} = {v}' for n, v in parameters)}" if parameters else ""
    return Witness(broken[0][0] + given, (*parameters, ("value", broken[0][1])), tuple(text for text, _ in broken[1:]))


def gmma_canonical(g: p.GmmaCanonical, values: Values) -> Witness | None:
    layout, bits, deep = g.layout, 0, 8
    if not isinstance(layout, Layout):
        sw = layout.a
        if not isinstance(sw, Swizzle) or not isinstance(layout.b, Layout):
            return None
        if sw.bits and sw.unit is SwizzleUnit.ELEMENT:
            return Witness(f"{sw} permutes elements; WGMMA's swizzles permute bytes of the address")
        pieces = g.engine == "UMMA" and g.major == "MN" and (sw.bits, sw.base, sw.shift) == (2, 5, 2)
        if sw.bits and (sw.base, sw.shift) != (4, 3) and not pieces:
            return Witness(f"{sw} is none of Sw<1,4,3>, Sw<2,4,3>, Sw<3,4,3>")
        layout, bits = layout.b, sw.bits
        if pieces:
            bits, deep = 3, 4
    t, span = 128 // int(g.element_bits), (128 // int(g.element_bits)) << bits
    if not isinstance(layout.shape, tuple) or not isinstance(layout.stride, tuple) or len(layout.shape) != 2:
        return Witness("the operand's layout is not (MN, K)")
    (rows, columns), (down, across) = layout.shape, layout.stride
    depth = extent(columns, values)
    if depth not in p.operand_depths(g) or extent(rows, values) % 8:
        return Witness(
            f"one instruction takes a multiple of 8 rows by {2 * t} elements of K ({4 * t} of a sparse MMA's B), not "
            f"{extent(rows, values)} by {extent(columns, values)}"
        )
    x, k = values["mn"], values["k"]

    def at(i: int, j: int) -> int:
        return place(rows, down, i, values) + place(columns, across, j, values)

    if g.major == "K":
        block = min(1 << bits, depth // t) * t
        want = x % 8 * span + x // 8 * at(8, 0) + k % block + (k // block * at(0, block) if k >= block else 0)
    else:
        want = x % span + x // span * at(span, 0) + k % deep * span + k // deep * at(0, deep)
    if at(x, k) == want:
        return None
    name = "no swizzle" if bits == 0 else f"the {16 << bits}-byte swizzle"
    return Witness(
        f"element ({x},{k}) is at offset {at(x, k)}; the {g.major}-major canonical layout with {name} has it at {want}",
        (("mn", x), ("k", k), ("offset", at(x, k)), ("expected", want)),
    )


HARDWARE_REPLAYS: dict[type[object], Callable[[Any, Values], Witness | None]] = {
    p.TmaLimits: tma_limits,
    p.GmmaCanonical: gmma_canonical,
}
