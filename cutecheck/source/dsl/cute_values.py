"""CuTe's values in Python: attributes, methods, indexing, operators, and how arguments reach the device."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model import algebra as alg
from cutecheck.model import expr as ex
from cutecheck.model.atoms import MMAAtom
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.expr import Domain
from cutecheck.model.integers import whole_domain_of
from cutecheck.model.ints import Dyn, Sym, as_expr
from cutecheck.model.layout import ComposedLayout, Layout, SmemPtrFlag, Swizzle, SwizzleUnit
from cutecheck.model.swizzle import offset_value
from cutecheck.model.tiled import TiledMMA
from cutecheck.source.dsl import coordinates, modules, replays, storage
from cutecheck.source.dsl.cute_attributes import ENUMERATIONS, INTEGERS, arch_number, attribute
from cutecheck.source.dsl.values import (
    SPREAD,
    BuiltinType,
    HostCute,
    HostTensor,
    Module,
    TmaInfo,
)
from cutecheck.source.eval import ir
from cutecheck.source.eval.intrinsics.dsl_show import alignment
from cutecheck.source.eval.intrinsics.registry import METHODS, Call
from cutecheck.source.eval.threads import some, varies
from cutecheck.source.eval.undetermined import part
from cutecheck.source.eval.values import (
    EnumVal,
    Extern,
    Object,
    Pointer,
    Scalar,
    ScalarType,
    Slice,
    TensorVal,
    Value,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.record.replay import Replaying

_INTEGER_TYPES = frozenset({"Int8", "Int16", "Int32", "Int64", "Uint8", "Uint16", "Uint32", "Uint64"})
_ALGEBRA = frozenset({"Shape", "Stride", "Coord", "Tile", "IntTuple"})


def to_device(t: ScalarType, v: Value, run: Replaying | None = None) -> Value:
    """``Int32(v)``: a number of the device; in a ``run`` of a kernel what is true stays so."""
    if isinstance(v, (Unknown, Extern)):
        return v
    if run is not None and t.dtype.name == "bool" and isinstance(v, (int, Dyn, Scalar)):
        return bool(v) if isinstance(v, int) else v
    if t.dtype.name in INTEGERS:
        if isinstance(v, bool):
            return Dyn.of(int(v))
        if isinstance(v, int):
            return Dyn.of(v)
        if isinstance(v, Dyn):
            return v
        return Scalar(None, t.dtype.name)
    return Scalar(None, t.dtype.name)


def run_time(m: Machine, name: str, wide: bool = False) -> Dyn:
    made = m.fresh(name)
    return Dyn.named(str(made.expr) + ":i64") if wide else made


def moved_in_loop(m: Machine, t: TensorVal, name: str) -> TensorVal:
    """A tensor that a loop assigns: of the same type in every iteration (layout and alignment), from anywhere."""
    if t.pointer is None:
        own = varies(t)
        offset = tuple(some(m, name, ex.ANY, own) for _ in t.offset) if isinstance(t.offset, tuple) else t.offset
        return replace(t, offset=offset)
    known, bits = alignment(t), t.dtype.bits if t.dtype is not None else None
    step = max(1, known * 8 // int(bits)) if known is not None and bits else 1
    return replace(t, offset=some(m, f"{name}.offset", Domain(step=step), varies(t)))


def to_parameter(m: Machine, v: Value, kind: str, convert: bool, name: str) -> Value:
    """An argument as the device function sees it; ``convert``: it comes from the host or crosses into a kernel."""
    if isinstance(v, HostTensor):
        from cutecheck.source.dsl.torch import as_dynamic

        v = as_dynamic(m, v)
    if isinstance(v, HostCute):
        return tensor_of(m, v, name)
    if not convert or kind == "constexpr":
        return v
    if kind in _ALGEBRA and isinstance(v, (int, Sym, tuple, list)):
        return _varying(m, v, name)  # what is an integer of Python stays one
    if isinstance(v, bool):
        return Scalar(None, "bool")
    wide = kind in ("Int64", "Uint64")
    if isinstance(v, (int, Dyn)):
        fixed = isinstance(v, int) or v.expr.constant is not None or part(v) is not None
        return run_time(m, name, wide) if fixed else v
    if isinstance(v, Sym) or (isinstance(v, Scalar) and v.value is None and v.ctype in ("int", *INTEGERS)):
        return run_time(m, name, wide)  # which number the host has is not known, and no matter
    if kind in _INTEGER_TYPES and isinstance(v, Scalar) and v.value is None:
        return run_time(m, name, wide)  # the annotation says what it becomes
    if kind in _INTEGER_TYPES and not m.recorder.open and isinstance(v, (Unknown, Extern)):
        return v if isinstance(v, Unknown) and v.rejected else run_time(m, name, wide)
    if isinstance(v, float):
        return Scalar(None, "float")
    if isinstance(v, tuple):
        return tuple(to_parameter(m, x, kind, convert, f"{name}.{i}") for i, x in enumerate(v))
    if isinstance(v, list):
        return [to_parameter(m, x, kind, convert, f"{name}.{i}") for i, x in enumerate(v)]
    plain = isinstance(v, Object) and (v.cls.memo.get("namedtuple") or v.cls.memo.get("dataclass"))
    if plain and any(isinstance(x, (HostTensor, HostCute)) for x in v.fields.values()):
        made = Object(v.cls)
        for key, x in v.fields.items():
            inner = isinstance(x, (HostTensor, HostCute))
            made.fields[key] = to_parameter(m, x, kind, convert, key) if inner else x
        return made
    return v


def _varying(m: Machine, v: Value, name: str) -> Value:
    """A tuple whose device integers, whatever value the host gave them, vary from call to call."""
    if isinstance(v, (tuple, list)):
        return type(v)(_varying(m, x, f"{name}.{i}") for i, x in enumerate(v))
    return m.fresh(name) if isinstance(v, Dyn) and v.expr.constant is not None else v


def tensor_of(m: Machine, t: HostCute, name: str) -> TensorVal | Unknown:
    """A host tensor as a view of global memory."""
    for x in (*t.shape, *t.stride):
        if not isinstance(x, (int, Dyn, tuple)):
            return x if isinstance(x, Unknown) else Unknown("a shape that is not known")
    if not isinstance(t.dtype, ScalarType):
        return t.dtype if isinstance(t.dtype, Unknown) else Unknown("an element type that is not known")
    layout = Layout(tuple(t.shape), tuple(t.stride))
    if (name_ := part(layout)) is not None:
        return Unknown(f"which number `{name_}` is, is not known")
    pointer = Pointer(name, "gmem", t.dtype, 0, t.align)
    return TensorVal(layout, pointer, "gmem", t.dtype.dtype, 0, "view", name=name)


def set_attribute(m: Machine, base: Value, name: str, value: Value) -> None:
    if isinstance(base, HostCute) and name == "element_type":
        if isinstance(base.dtype, ScalarType) and isinstance(value, ScalarType):
            pass
        base.dtype = value


# -------------------------------------------------------------------- calls, indices, operators


def call(m: Machine, fn: Value, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value | None:
    if isinstance(fn, (Layout, ComposedLayout)) and args:
        from cutecheck.source.eval.intrinsics import guarded
        from cutecheck.source.eval.intrinsics.layouts import call_layout

        return m.dialect.from_model(
            guarded(m, "layout", span, lambda: call_layout(fn, [m.dialect.to_model(a) for a in args]))
        )
    if isinstance(fn, Module):
        return Unknown(f"a call of module `{fn.name}`", span)
    return None


def tiled_method(m: Machine, owner: Value, name: str, args: list[Value], span: Span) -> Value:
    """``tiled.get_slice``, partitions, fragments and retiles: the evaluator's own methods."""
    from cutecheck.source.eval.intrinsics import guarded, kind_of

    if name in ("set", "with_"):
        _accumulates(m, owner, args if name == "set" else [])
        return owner
    for a in args:
        if isinstance(a, Unknown) and name != "get_slice":
            return a
    obj = owner.tiled if isinstance(owner, Slice) else owner
    if name == "get_slice":
        index = args[0] if args else Unknown("no thread index", span)
        return Slice(obj, _index_number(m, index, True))
    if name == "get_tile_size" and isinstance(obj, TiledMMA):
        return obj.tile_size(args[0])
    if name.startswith("_thrfrg_") and args and isinstance(args[0], TensorVal):
        return Unknown(f"{name} of a tensor", span)
    name = name.removeprefix("_")
    if name == "retile" and isinstance(obj, MMAAtom):
        return Unknown("retile of an MMA", span)
    if args and isinstance(args[0], Extern):
        return Unknown(f"{name} of `{args[0].what}`", span)
    part = m.dialect.to_model(args[0]) if args else None
    if name.startswith("make_fragment") and isinstance(part, (tuple, int)):
        from cutecheck.source.eval.intrinsics.dsl_layouts import number

        call, given = Call(m, name, (), [part], span), part
        part = guarded(m, name, span, lambda: alg.make_layout(number(call, given)))
        if isinstance(part, Unknown):
            return part
    if name.startswith("make_fragment") and isinstance(part, TensorVal):
        part = byte_swizzled(part)
    run = METHODS.get((kind_of(owner), name)) or METHODS.get((kind_of(obj), name))
    if name.startswith("partition_shape"):
        owner = obj
    if run is None:
        return Unknown(f"`{name}` is not modelled here", span)
    c = Call(m, name, (), [owner, part, *[m.dialect.to_model(a) for a in args[1:]]], span, {}, [owner, *args])
    value = guarded(m, name, span, lambda: run(c))
    if name.startswith(("make_fragment", "partition_A", "partition_B", "partition_C")):
        m.recorder.called(m, Call(m, name, (), [obj, part], span), value)
    return m.dialect.from_model(value)


def _accumulates(m: Machine, owner: Value, args: list[Value]) -> None:
    """``mma.set(Field.ACCUMULATE, value)``: whether the next products of this variable are added to what is there."""
    obj = owner.tiled if isinstance(owner, Slice) else owner
    if len(args) != 2 or not isinstance(obj, (TiledMMA, MMAAtom)):
        return
    node = m.recorder.call
    base = node.fn.base if node is not None and isinstance(node.fn, ir.Attr) else None
    of_sum = str(getattr(args[0], "name", getattr(args[0], "what", args[0]))).endswith("ACCUMULATE")
    if of_sum and isinstance(base, ir.Name):
        adds = m.dialect.truth(args[1])
        m.recorder.scaled(base.ident, obj, Scalar(None, "bool") if adds is None else Scalar(int(adds), "bool"))


def byte_swizzled(t: TensorVal) -> TensorVal:
    """A tensor whose pointer's swizzle is written as C++ does: on bytes, around an unset shared-memory pointer."""
    if t.pointer is None or not isinstance(t.pointer.swizzle, Swizzle) or not isinstance(t.layout, Layout):
        return t
    if t.dtype is None or t.dtype.bits is None or t.pointer.swizzle.bits == 0:
        return t
    sw = t.pointer.swizzle
    swizzle = Swizzle(sw.bits, sw.base, sw.shift, SwizzleUnit.BYTE)
    layout = ComposedLayout(swizzle, SmemPtrFlag(t.dtype.bits), t.layout)
    return replace(t, layout=layout, pointer=replace(t.pointer, swizzle=None))


def _index_number(m: Machine, v: Value, of_thread: bool = False) -> Value:
    if isinstance(v, (Scalar, Extern)):
        return some(m, "index", ex.ANY, of_thread or isinstance(v, Scalar))
    return v


def _inside(m: Machine, coord: Any, layout: Any) -> Any:
    """Run-time coordinates that might be negative, as far as they index what the tensor has: 0 to the extent."""
    shape = layout.shape if isinstance(layout, Layout) else getattr(getattr(layout, "b", None), "shape", None)
    if not isinstance(coord, tuple) or not isinstance(shape, tuple) or len(coord) != len(shape):
        return coord
    out = []
    for x, mode in zip(coord, shape, strict=True):
        if isinstance(x, Dyn):
            low, _ = ex.bounds(as_expr(x))
            last = alg.size(mode)
            if (low is None or low < 0) and isinstance(last, int):
                x = _index(m, x, last)
        out.append(x)
    return tuple(out)


def _index(m: Machine, x: Dyn, extent: int) -> Dyn:
    """The number as an index of so many: of the same number the same one."""
    run = m.dialect.replaying
    known = None if run is None else run.number(x.expr)
    if known is not None:
        return x
    made: dict[tuple[ex.Expr, int], Dyn] = modules.state(m).setdefault("indices", {})
    key = (x.expr, extent)
    if key not in made:
        made[key] = some(m, "index", Domain(0, extent - 1, ex.divisor(x.expr) or 1), varies(x))
    return made[key]


def _whole_modes(key: Value, rank: int) -> Value:
    """Python's words for modes that are taken whole, ``:`` and ``...``, as CuTe's: what trees teach tensors to take."""
    parts = key if type(key) is tuple else (key,)
    if not any(isinstance(part, (str, slice)) for part in parts):
        return key
    missing = rank - len(parts) + 1
    modes = [p for part in parts for p in ((None,) * missing if isinstance(part, str) and part == "..." else (part,))]
    whole = tuple(None if mode == slice(None) else mode for mode in modes)
    return whole if type(key) is tuple or len(whole) != 1 else whole[0]


def index(m: Machine, base: Value, key: Value, span: Span) -> Value | None:
    if isinstance(base, TensorVal):
        from cutecheck.source.eval.intrinsics import guarded
        from cutecheck.source.eval.intrinsics.dsl_layouts import number
        from cutecheck.source.eval.intrinsics.tensors import sliced

        if isinstance(key, Unknown):
            return key
        if isinstance(base.layout, Unknown):
            return base.layout
        c = Call(m, "tensor", (), [], span)
        place = "" if varies(key) else read_by_all(base)
        if isinstance(key, tuple) and SPREAD in key:
            missing = alg.rank(base.layout) - len(key) + 1
            at = key.index(SPREAD)
            key = (*key[:at], *(m.fresh("coordinate") for _ in range(missing)), *key[at + 1 :])
        key = _whole_modes(key, alg.rank(base.layout))

        def run() -> Value:
            coord = _inside(m, number(c, m.dialect.to_model(key)), base.layout)
            if isinstance(coord, TensorVal):
                return Scalar(None, "vector")
            coordinates.past(c, base, coord)
            if base.pointer is not None and isinstance(base.layout, Layout):
                _touched(c, base, coord, False)
            known = None if alg.has_underscore(coord) else replays.loaded(m, base, coord)
            if known is not None:
                return known
            if isinstance(coord, tuple) and not alg.has_underscore(coord) and base.pointer is not None:
                return Scalar(None, base.dtype.name if base.dtype is not None else "value")
            return sliced(c, base, coord)

        found = m.dialect.from_model(guarded(m, "tensor index", span, run))
        if not isinstance(found, TensorVal):
            m.recorder.takes_element(base, span)
            if base.space == "rmem" and not isinstance(found, Unknown):
                m.recorder.element(base, False, span)
        return element_of(m, found.ctype, place) if isinstance(found, Scalar) and found.value is None else found
    if isinstance(base, TmaInfo) and key in (0, 1):
        return base.tma_tensor if key else base.atom
    if isinstance(base, HostTensor):
        from cutecheck.source.dsl.torch import index as host_index

        return host_index(base, key, span)
    if isinstance(base, (Layout, ComposedLayout)):
        if isinstance(key, int):
            from cutecheck.source.eval.intrinsics import guarded

            return guarded(m, "layout index", span, lambda: alg.get(base, key))
        return Unknown("an index of a layout", span)
    if isinstance(base, BuiltinType) and base.name in ("MemRange", "Align"):
        return storage.typed(m, base, key, span)
    if isinstance(base, BuiltinType) and base.name in ENUMERATIONS and isinstance(key, str):
        return EnumVal(base.name, key, None)
    if isinstance(base, Scalar):
        return Scalar(None, base.ctype)
    if isinstance(base, Pointer):
        return element_of(m, base.type.dtype.name) if isinstance(base.type, ScalarType) else Extern("element", span)
    return None


def read_by_all(t: TensorVal) -> str:
    """The buffer of which all threads have the same elements: none of registers, nor of a part that each has taken."""
    return t.pointer.buffer if t.space in ("gmem", "smem") and t.pointer is not None and not varies(t) else ""


def element_of(m: Machine, kind: str, place: str = "") -> Value:
    """What memory or registers hold: any number of the type, of each thread its own unless all read one ``place``."""
    if kind not in INTEGERS:
        return Scalar(None, kind)
    return some(m, f"*{place}" if place else "element", whole_domain_of(kind), not place)


def stored(m: Machine, t: TensorVal, key: Value, value: Value, span: Span) -> None:
    """``t[key] = value``: registers are written; shared memory outside of copies makes its accesses incomplete."""
    replays.written(m, t, span)
    m.recorder.sets(t, span)
    if key is None or (isinstance(key, tuple) and all(k is None for k in key)):
        m.recorder.computed(t, span)
    elif t.space == "gmem":
        m.recorder.takes((t,))
    if t.space == "smem":
        m.recorder.escape(m, [t], span)
    if t.space in ("smem", "gmem") and t.pointer is not None and not isinstance(t.layout, Unknown):
        if isinstance(key, Unknown) or (t.space == "gmem" and not m.recorder.in_kernel()):
            return
        from cutecheck.source.eval.intrinsics import guarded
        from cutecheck.source.eval.intrinsics.dsl_layouts import number

        c = Call(m, "tensor", (), [], span)

        def run() -> Value:
            coord = _inside(m, number(c, m.dialect.to_model(key)), t.layout)
            if t.space == "smem":
                coordinates.past(c, t, coord)
            return _touched(c, t, coord, True)

        guarded(m, "tensor index", span, run)


def _touched(c: Call, t: TensorVal, coord: Any, written: bool) -> Value:
    """Note an element of shared memory, and one that is stored to global memory; not what a coordinate leaves open."""
    whole = not alg.has_underscore(coord) and not isinstance(coord, TensorVal)
    noted = t.space == "smem" or (written and t.space == "gmem")
    if noted and whole and not isinstance(t.layout, Unknown):
        at = offset_value(alg.apply_layout(t.layout, coord))
        if not isinstance(t.offset, Unknown) and isinstance(at, (int, Dyn)) and isinstance(t.offset, (int, Dyn)):
            one = t.derive(Layout(1, 0), t.offset + at, t.provenance)
            if t.space == "smem":
                c.m.recorder.element(one, written, c.span)
            else:
                c.m.recorder.of_memory(one, c.span)
    return None


def operator(m: Machine, op: str, left: Value, right: Value, span: Span) -> Value | None:
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return left if isinstance(left, Unknown) else right
    if isinstance(left, EnumVal) and isinstance(right, EnumVal) and left.enum == right.enum == "Arch":
        a, b = arch_number(left.name), arch_number(right.name)
        order = {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}
        return order.get(op)
    if op == "+" and isinstance(right, Pointer) and not isinstance(left, Pointer):
        left, right = right, left
    if isinstance(left, Pointer) and op in ("+", "-"):
        from cutecheck.source.eval.intrinsics import advance

        return advance(m, left, _index_number(m, right if op == "+" else m.dialect.unary("-", right, span)), span)
    if isinstance(left, HostTensor) or isinstance(right, HostTensor):
        from cutecheck.source.dsl.torch_ops import binary

        return binary(m, op, left, right, span)
    if isinstance(left, TensorVal) or isinstance(right, TensorVal):
        t = left if isinstance(left, TensorVal) else right
        return Scalar(None, t.dtype.name if t.dtype is not None else "value")
    if isinstance(left, ScaledBasis) or isinstance(right, ScaledBasis):
        from cutecheck.model import inttuple as it
        from cutecheck.source.eval.intrinsics import guarded

        if op in ("+", "*"):
            f = it.plus if op == "+" else it.times
            return guarded(m, f"operator {op}", span, lambda: f(left, right))
    if isinstance(left, (Scalar, Extern)) and isinstance(right, (Scalar, Extern)):
        return Scalar(None, "bool") if op in ("<", "<=", ">", ">=") else None
    return None


__all__ = ["ENUMERATIONS", "arch_number", "attribute"]
