"""CUDA's device functions that return an integer: of most only the range is known."""

from __future__ import annotations

from cutecheck.facts import Unknown
from cutecheck.model.expr import ANY, NATURAL
from cutecheck.model.ints import Dyn, known_value
from cutecheck.source.eval import vectors
from cutecheck.source.eval.intrinsics.registry import Call, Unsupported, function
from cutecheck.source.eval.symbolic import symbolic
from cutecheck.source.eval.threads import some, varies
from cutecheck.source.eval.values import Pointer, Scalar, ScalarType, Value

_RANGES = {
    "__umulhi": NATURAL, "__umul64hi": NATURAL, "__umul24": NATURAL, "__brev": NATURAL, "__byte_perm": NATURAL,
    "__mulhi": ANY, "__mul24": ANY, "__float_as_int": ANY, "__float_as_uint": NATURAL, "__float2int_rn": ANY,
    "__float2int_rz": ANY, "__float2int_rd": ANY, "__float2int_ru": ANY, "__double2int_rn": ANY,
}  # fmt: skip


@function(*_RANGES, tolerant=True)
def _number(c: Call) -> Value:
    """The same in all threads where the arguments are."""
    apart = any(varies(a) or isinstance(a, Unknown) for a in c.raw)
    domain = _RANGES[c.name]
    return Scalar(some(c.m, c.name.strip("_"), domain, apart), "unsigned" if domain is NATURAL else "int")


@function(*(f"make_{of}{n}" for of in vectors.ELEMENTS for n in range(1, 5)))
def _vector(c: Call) -> Value:
    """``make_int4(a, b, c, d)``: as ``int4 v = {a, b, c, d}``, its components."""
    made = vectors.filled(c.m, c.name[len("make_") :], c.raw, c.span) if len(c.raw) == int(c.name[-1]) else None
    if made is None:
        raise Unsupported(f"`{c.name}` of {len(c.raw)} arguments")
    return made


@function("atomicAdd", "atomicSub", "atomicExch", "atomicCAS", "atomicMax", "atomicMin", "atomicInc", "atomicDec")
def _atomic(c: Call) -> Value:
    """What stood there before: each thread may get another number."""
    p = c.arg(0)
    if isinstance(p, Pointer) and isinstance(p.type, ScalarType) and "int" in p.type.dtype.name:
        replay = c.m.recorder.acts()
        more = c.m.dialect.to_model(c.raw[1]) if c.name == "atomicAdd" and len(c.raw) > 1 else None
        added = known_value(more) if isinstance(more, (int, Dyn)) else None
        ticket = replay.ticket(p.buffer, added) if replay is not None and p.space != "smem" else None
        if ticket is not None:
            return symbolic(c.m, p.type, ticket, c.span)
        return Scalar(some(c.m, c.name, ANY, True), p.type.dtype.name)
    raise Unsupported(f"what {c.name} found is not known")
