"""Copies of the DSL as events, and the width the compiler gives a copy that names none."""

from __future__ import annotations

import math
from dataclasses import replace

from cutecheck.facts import Unknown
from cutecheck.model import algebra as alg
from cutecheck.model import atoms
from cutecheck.model import inttuple as it
from cutecheck.model.atoms import CopyAtom
from cutecheck.model.basis import Underscore
from cutecheck.model.dtype import DType
from cutecheck.model.ints import CuteError, NotModelledError, UndecidedError, known_value
from cutecheck.model.layout import Layout
from cutecheck.model.tiled import TiledCopy
from cutecheck.model.tiled.copy import unchecked
from cutecheck.model.tiled.instructions import COMMON_VECTOR
from cutecheck.model.units import Bits
from cutecheck.source.eval.intrinsics.dsl_ops import OpValue
from cutecheck.source.eval.intrinsics.dsl_show import alignment, chosen_by_compiler
from cutecheck.source.eval.intrinsics.dsl_tensors import addressed
from cutecheck.source.eval.intrinsics.registry import Call, function
from cutecheck.source.eval.values import Slice, TensorVal, Value

_UNSET = Underscore()  # as None is
_LOADS = {  # what a copy by these operations is given besides its tensors
    "CopyBulkTensorTileG2SOp": ("tma_bar_ptr",),
    "CopyBulkTensorTileG2SMulticastOp": ("tma_bar_ptr", "mcast_mask"),
}
_WIDEST = Bits(128)
_WIDEST_GLOBAL = Bits(256)  # of global memory, from sm_100 on


@function("dsl.copy", "dsl.basic_copy", "dsl.basic_copy_if", "dsl.autovec_copy", "dsl.copy_atom_call",
          "dsl.prefetch", "dsl.cooperative_copy", tolerant=True)  # fmt: skip
def _copy(c: Call) -> Value:
    args = list(c.args)
    tiled: Value = None
    if c.name in ("dsl.copy", "dsl.copy_atom_call", "dsl.prefetch"):
        first = args.pop(0) if args else c.kwargs.get("atom")
        tiled = first.tiled if isinstance(first, Slice) else first
    predicate = c.kwargs.get("pred")
    if isinstance(predicate, Underscore):
        predicate = None
    if c.name == "dsl.basic_copy_if" and args:
        predicate = args.pop(0)
    for name in ("src", "dst"):
        if name in c.kwargs:
            args.append(c.kwargs[name])
    if c.name == "dsl.prefetch" or len(args) < 2:
        return None
    args = [_data(a) for a in args]
    if tiled is not None and not isinstance(tiled, (TiledCopy, CopyAtom)) and not isinstance(tiled, Unknown):
        tiled = Unknown("a copy operation that is not modelled", c.span)
    reason = _without_its_barrier(c) if c.name == "dsl.copy" else None
    if reason is not None:
        c.m.recorder.called(c.m, Call(c.m, "copy", (), [], c.span), Unknown(reason, c.span, True))
    if c.name == "dsl.autovec_copy":
        tiled = _automatic(c, *args[:2])
    elif isinstance(tiled, (TiledCopy, CopyAtom)):
        tiled = _widened(c, tiled, *args[:2])
    call = Call(c.m, "copy", (), args, c.span, {}, c.raw)
    bar = c.kwargs.get("tma_bar_ptr", c.kwargs.get("mbar_ptr"))  # of a bulk copy without a descriptor
    told = c.m.dialect.barriers(bar)
    replay = c.m.recorder.acts()
    if replay is not None:
        replay.telling = bar
    c.m.recorder.event(c.m, "copy", call, tiled, [addressed(a) for a in args[:2]], predicate, signals=told)
    c.m.recorder.multicast(tiled, c.span, c.kwargs.get("mcast_mask"))
    return None


def _data(operand: Value) -> Value:
    """Of several tensors of one side the one that holds the tile: a load that reduces has its results beside it."""
    several = isinstance(operand, tuple) and len(operand) > 0 and all(isinstance(t, TensorVal) for t in operand)
    return operand[0] if several else operand


def _without_its_barrier(c: Call) -> str | None:
    """What the DSL misses of a copy by a TMA descriptor: a load has a barrier, one to several CTAs a mask of them."""
    op = getattr(c.raw[0], "op", None) if c.raw else None
    if not isinstance(op, OpValue) or op.name not in _LOADS or "**" in c.m.recorder.text(c.span):
        return None
    missing = [k for k in _LOADS[op.name] if isinstance(c.kwargs.get(k, _UNSET), Underscore)]
    return f"the DSL rejects copy: {op.name} takes {' and '.join(f'`{k}`' for k in missing)}" if missing else None


def _automatic(c: Call, src: Value, dst: Value) -> Value:
    """The width of ``autovec_copy``: what layouts and addresses allow; None where static layouts alone decide.

    Run-time strides do not keep it from vectors: what is known of the addresses says how wide they are.
    """
    if not isinstance(src, TensorVal) or not isinstance(dst, TensorVal) or src.dtype is None:
        return None
    layouts = [addressed(t).layout for t in (src, dst)]
    bits = src.dtype.bits
    if bits is None or all(
        not isinstance(x, Layout) or all(isinstance(d, int) for d in it.leaves(x.stride)) for x in layouts
    ):
        return _narrowed(src, dst)
    known = [(t, alignment(t)) for t in (src, dst) if t.space in ("gmem", "smem")]
    try:
        common = known_value(alg.max_common_vector(*layouts))
        most = [known_value(alg.max_alignment(x)) for x in layouts]
    except (CuteError, NotModelledError, UndecidedError, TypeError):
        return None
    unaligned = next((t for t, a in known if a is None), None)
    if common is None or None in most or unaligned is not None:
        what = "its layouts" if unaligned is None else f"the alignment of `{unaligned.name}`"
        return Unknown(f"the width that the DSL gives this copy follows from {what}, not known here", c.span)
    widest = _WIDEST_GLOBAL if {src.space, dst.space} == {"gmem", "rmem"} and _number(c.m.arch) >= 100 else _WIDEST
    adjacent = math.gcd(common, *(n for n in most if n is not None)) * int(bits)
    width = math.gcd(adjacent, int(widest), *(int(a) * 8 for _, a in known if a is not None))
    return _by_common_vector(Bits(width), src.dtype) if width >= int(bits) else None


def _narrowed(src: Value, dst: Value) -> CopyAtom | None:
    """``autovec_copy`` takes no wider vectors than both addresses are known to allow; None where layouts decide."""
    if not isinstance(src, TensorVal) or not isinstance(dst, TensorVal) or src.dtype is None:
        return None
    bits = src.dtype.bits
    known = [a for a in (alignment(src), alignment(dst)) if a is not None]
    if bits is None or isinstance(src.layout, Unknown) or isinstance(dst.layout, Unknown) or not known:
        return None
    try:
        common = known_value(alg.max_common_vector(src.layout, dst.layout))
    except (CuteError, UndecidedError):
        return None
    allowed = int(min(known)) * 8
    if common is None or allowed >= min(128, common * int(bits)) or allowed < int(bits):
        return None
    return _by_common_vector(Bits(allowed), src.dtype)


def _by_common_vector(bits: Bits, element: DType) -> CopyAtom:
    """The copy of ``autovec_copy``: of elements that are adjacent on both sides, whichever modes they lie along."""
    return replace(_universal(bits, element), extra=((COMMON_VECTOR, "autovec_copy"),))


def _widened(c: Call, tiled: TiledCopy | CopyAtom, src: Value, dst: Value) -> Value:
    """A copy whose atom names no width (``num_bits_per_copy``), with the width that the compiler takes.

    The most elements that are adjacent on both sides among the values of one atom (the first mode of the partitioned
    tensors), as far as both addresses are aligned to them. Compared with the PTX of nvidia-cutlass-dsl 4.8.1.
    """
    atom = tiled.atom if isinstance(tiled, TiledCopy) else tiled
    if not chosen_by_compiler(atom) or not isinstance(src, TensorVal) or not isinstance(dst, TensorVal):
        return tiled
    bits = src.dtype.bits if src.dtype is not None else None
    if bits is None or src.dtype is None or isinstance(src.layout, Unknown) or isinstance(dst.layout, Unknown):
        return tiled
    try:
        first = [alg.get(addressed(t).layout, 0) if alg.rank(t.layout) > 1 else addressed(t).layout for t in (src, dst)]
        common = known_value(alg.max_common_vector(*first))
    except (CuteError, NotModelledError, UndecidedError, TypeError, IndexError):
        common = None
    known = [(t, alignment(t)) for t in (src, dst) if t.space in ("gmem", "smem")]
    unaligned = next((t for t, a in known if a is None), None)
    if common is None or unaligned is not None:
        what = "its layouts" if unaligned is None else f"the alignment of `{unaligned.name}`"
        return Unknown(f"the width that the compiler gives this copy follows from {what}, not known here", c.span)
    spaces = {src.space, dst.space}
    widest = _WIDEST_GLOBAL if spaces == {"gmem", "rmem"} and _number(c.m.arch) >= 100 else _WIDEST
    aligned = min((a for _, a in known if a is not None), default=int(widest) // 8) * 8
    width = math.gcd(common * int(bits), int(widest), 1 << (aligned.bit_length() - 1))
    if width <= int(bits):
        return tiled
    made = replace(_universal(Bits(width), src.dtype), extra=atom.extra)
    if not isinstance(tiled, TiledCopy):
        return made
    with unchecked():
        return TiledCopy(made, tiled.layout_tv, tiled.tiler_mn)


def _universal(bits: Bits, element: DType) -> CopyAtom:
    return atoms.copy_op("UniversalCopy", (DType(f"uint{bits}_t", bits),), element)


def _number(arch: str) -> int:
    digits = "".join(ch for ch in arch if ch.isdigit())
    return int(digits) if digits else 0
