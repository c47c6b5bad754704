"""CUTLASS pipelines: the stage a pipeline state stands at, and the sizes of warps and warpgroups."""

from __future__ import annotations

from cutecheck.model.expr import Domain
from cutecheck.source.eval.intrinsics.registry import CONSTANTS, Call, function, method_of
from cutecheck.source.eval.values import Extern, ExternType, Scalar, Value, constant

NUMBERS = ("index", "phase", "count")
for _name, _value in (
    ("NumThreadsPerWarp", 32), ("NumThreadsPerWarpGroup", 128), ("NumWarpsPerWarpGroup", 4),
    ("NumThreadsPerHalfWarp", 16),
):  # fmt: skip
    CONSTANTS[_name] = Scalar(_value, "int")


def is_state(v: Extern) -> bool:
    """True for a ``cutlass::PipelineState``."""
    return isinstance(v.type, ExternType) and v.type.name.rsplit("::", 1)[-1] == "PipelineState"


@function("make_producer_start_state", tolerant=True)
def _start(c: Call) -> Value:
    of = c.targs[0] if c.targs else None
    stages = of.args[:1] if isinstance(of, ExternType) else ()
    made = Extern("PipelineState", c.span, ExternType("cutlass::PipelineState", stages))
    return c.m.dialect.constructed(c.m, made, [Scalar(n, "int") for n in (0, 1, 0)], c.span)


@method_of("Extern", *NUMBERS)
def _number(c: Call) -> Value:
    """The stage (below the number of stages, where the type states it), the phase bit or the count of a state."""
    state = c.arg(0)
    stages = constant(state.type.args[0]) if state.type.args else None
    last = 1 if c.name == "phase" else stages - 1 if c.name == "index" and stages else None
    return Scalar(c.m.fresh(c.name, Domain(0, last)), "int" if c.name == "index" else "uint32_t")
