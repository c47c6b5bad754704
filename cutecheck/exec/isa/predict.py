"""What a thread issues for a copy or an MMA, from the layouts alone: kind, width, count."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from cutecheck.exec.isa.counts import Key
from cutecheck.exec.isa.probe import CopyCall, FragmentCall, IsaCall, MmaCall, Side
from cutecheck.model import inttuple as it
from cutecheck.model.algebra import filter_zeros, rank, shape, size
from cutecheck.model.atoms import CopyAtom
from cutecheck.model.ints import known_value
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout, SmemPtrFlag
from cutecheck.model.tiled.instructions import Instruction, automatic_bits, instruction
from cutecheck.model.units import Bits

_TMEM = re.compile(r"tcgen05\.(ld|st)\.sync\.aligned\.(\d+x\d+b)\.(x\d+)")
_SPACE = {"gmem": "G", "smem": "S"}


class NoPredictionError(ValueError):
    """The model says nothing of what the call emits; the message says why."""


def instructions(call: IsaCall, dsl: bool = False) -> Counter[Key]:
    """What one thread issues for a call; NoPredictionError where the model says nothing of it."""
    if isinstance(call, FragmentCall):
        return Counter()  # descriptors are numbers
    return copied(call, dsl) if isinstance(call, CopyCall) else multiplied(call)


def copied(call: CopyCall, dsl: bool = False) -> Counter[Key]:
    """Memory instructions of one thread's ``copy``; NoPredictionError where the model names none.

    ``dsl``: as the Python DSL compiles it, whose swizzled pointers keep their memory.
    """
    out: Counter[Key] = Counter()
    if call.atom is not None and (found := _TMEM.match(call.atom.ptx[0] if call.atom.ptx else "")):
        out["LDTM" if found[1] == "ld" else "STTM", f"{found[2]}.{found[3]}"] += _calls(call, call.atom, "dst")
        return out
    for side in ("src", "dst"):
        place = call.src if side == "src" else call.dst
        used = _used(call, side)
        if used is None or place.space not in _SPACE:
            continue
        key, each = _key(used, place, dsl)
        if key is None:
            continue
        count = _vectors(call, int(used.bits)) if call.automatic else each * _calls(call, call.atom, side)
        out[key] += count
    if not out:
        raise NoPredictionError("no instruction of the model stands for this copy")
    return out


def _used(call: CopyCall, side: str) -> Instruction | None:
    """The instruction of one side with its width settled."""
    atom = call.atom
    if atom is not None:
        bits = atom.src_bits if side == "src" else atom.dst_bits
        found = instruction(atom.op, atom.ptx, bits, "src" if side == "src" else "dst")
        if found is None or not found.automatic:
            return found
    width = automatic_bits(call.src.layout, call.dst.layout, call.element_bits, Bits(call.limit))
    return Instruction("ld" if side == "src" else "st", width, automatic=True)


def _key(used: Instruction, place: Side, dsl: bool) -> tuple[Key | None, int]:
    """The key of an instruction and how many of them one call of the atom is."""
    bits = int(used.bits)
    if used.kind in ("ldmatrix", "stmatrix"):
        return ("LDSM" if used.kind == "ldmatrix" else "STSM", str(used.matrices)), 1
    if used.kind.startswith("cp.async"):
        return ("LDGSTS", str(bits)), 1
    if used.kind == "ld" and used.name.startswith("SM80_CP_ASYNC"):
        return None, 0  # the destination's LDGSTS is the access
    space = _SPACE[place.space]
    if not dsl and isinstance(place.layout, ComposedLayout) and isinstance(place.layout.offset, SmemPtrFlag):
        space = ""  # a pointer swizzle computes with the generic address, and the compiler loses sight of its space
    widest = 128
    if bits > widest and bits % widest == 0:
        return (used.kind.upper() + space, str(widest)), bits // widest
    return (used.kind.upper() + space, str(bits)), 1


def _calls(call: CopyCall, atom: CopyAtom | None, side: str) -> int:
    """How often the atom is called: values of a thread by values of the atom."""
    assert atom is not None
    layout = call.dst.layout
    held = _number(size(_filtered(layout, keep_first=True))) * int(call.element_bits)
    each = _number(atom.num_val_dst) * int(atom.value_type.bits or 0)
    if not each or held % each:
        raise NoPredictionError(f"{held} bits of a thread are no whole number of {each}-bit copies")
    return held // each


def _vectors(call: CopyCall, bits: int) -> int:
    """Accesses of ``bits`` for the elements of a thread; plain copies do an element of a stride-0 mode once."""
    layout = call.dst.layout if call.atom is not None else _filtered(call.dst.layout)
    held = _number(size(layout)) * int(call.element_bits)
    if held % bits:
        raise NoPredictionError(f"{held} bits of a thread are no whole number of {bits}-bit accesses")
    return held // bits


def _filtered(layout: AnyLayout, keep_first: bool = False) -> AnyLayout:
    """Stride-0 modes made 1: CuTe does them once. ``keep_first``: all but the first mode, which is the atom's."""
    inner = layout.b if isinstance(layout, ComposedLayout) else layout
    if not isinstance(inner, Layout):
        raise NoPredictionError("a nested composed layout")
    if not keep_first or rank(inner) == 1 or not isinstance(inner.shape, tuple):
        return inner if keep_first else filter_zeros(inner)
    stride: Any = inner.stride
    rest = filter_zeros(Layout(inner.shape[1:], stride[1:]))
    assert isinstance(rest, Layout)
    return Layout((inner.shape[0], rest.shape), (stride[0], rest.stride))


def multiplied(call: MmaCall) -> Counter[Key]:
    """MMA instructions of one ``gemm``: (V, M, K) by (V, N, K) takes M times N times K of them."""
    atom = call.mma.atom
    count = _extent(call.a, 1) * _extent(call.b, 1) * _extent(call.a, 2)
    if atom.kind == "fma":
        kind = {"float": "32", "double": "64"}.get(atom.val_types[3].name)
        if kind is None:
            raise NoPredictionError(f"a scalar multiply-add of {atom.val_types[3].name} is no one instruction")
        return Counter({("FMA", kind): count * _extent(call.c, 0)})
    if atom.kind == "umma":
        return Counter({("UMMA", ""): count})
    if atom.kind not in ("mma", "wgmma"):
        raise NoPredictionError(f"the model does not say what {atom.op} emits")
    m, n, k = (_number(x) for x in it.flatten_to_tuple(atom.shape_mnk))
    return Counter({("WGMMA" if atom.kind == "wgmma" else "MMA", f"m{m}n{n}k{k}"): count})


def _extent(layout: AnyLayout, mode: int) -> int:
    return _number(size(shape(layout, mode))) if mode < rank(layout) else 1


def _number(value: object) -> int:
    found = known_value(value)  # type: ignore[arg-type]
    if found is None:
        raise NoPredictionError(f"{value} is not known")
    return found


def different(predicted: Counter[Key], emitted: Counter[Key], kinds: Sequence[str]) -> bool:
    """Whether instructions of these kinds differ in width or count."""
    return {k: n for k, n in predicted.items() if n} != {k: n for k, n in emitted.items() if n and k[0] in kinds}
