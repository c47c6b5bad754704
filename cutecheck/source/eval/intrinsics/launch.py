"""Kernel launches that are function calls: ``launch_kernel_on_cluster``, ``cudaLaunchKernelEx``, ``kernel_launch``."""

from __future__ import annotations

from cutecheck.facts import Span, Unknown
from cutecheck.model.expr.ranges import bounds
from cutecheck.model.ints import Dyn, Sym, as_expr
from cutecheck.source.eval import classes, ir
from cutecheck.source.eval.chosen import OneOf
from cutecheck.source.eval.intrinsics.registry import CONSTANTS, Call, function
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import ClassInst, Entry, Env
from cutecheck.source.eval.tuples import Elements
from cutecheck.source.eval.types import spell, type_of
from cutecheck.source.eval.values import (
    LAUNCH_ATTRIBUTE,
    Address,
    FuncSet,
    Intrinsic,
    Object,
    ObjectPointer,
    Scalar,
    Value,
    constant,
)

_NOWHERE = Span("", 1, 1, 1, 1)
# aggregates of the libraries that programs fill: member names and types, in order
_RECORDS: dict[str, tuple[tuple[str, str], ...]] = {
    "ClusterLaunchParams": (
        ("grid_dims", "dim3"), ("block_dims", "dim3"), ("cluster_dims", "dim3"), ("smem_size_in_bytes", "int"),
        ("cuda_stream", "cudaStream_t"),
    ),
    "cudaLaunchConfig_t": (
        ("gridDim", "dim3"), ("blockDim", "dim3"), ("dynamicSmemBytes", "size_t"), ("stream", "cudaStream_t"),
        ("attrs", "cudaLaunchAttribute*"), ("numAttrs", "unsigned"),
    ),
    LAUNCH_ATTRIBUTE: (("id", "int"), ("val", "cudaLaunchAttributeValue")),
    "cudaLaunchAttributeValue": (("clusterDim", "dim3"), ("cooperative", "int"), ("priority", "int")),
}  # fmt: skip

ATTRIBUTES = {  # of launches, as CUDA's headers number them
    f"cudaLaunchAttribute{name}": i
    for i, name in enumerate(
        (
            "Ignore", "AccessPolicyWindow", "Cooperative", "SynchronizationPolicy", "ClusterDimension",
            "ClusterSchedulingPolicyPreference", "ProgrammaticStreamSerialization", "ProgrammaticEvent", "Priority",
            "MemSyncDomainMap", "MemSyncDomain", "PreferredClusterDimension",
        )
    )
}  # fmt: skip
CONSTANTS.update((name, Scalar(value, "int")) for name, value in ATTRIBUTES.items())
_MOST_ATTRIBUTES = 16


def record_type(m: Machine, name: str) -> ClassInst | None:
    """An aggregate of CUTLASS or the CUDA runtime as a class; None for other names."""
    members = _RECORDS.get(name)
    if members is None:
        return None
    key = ("record", name)
    if key not in m.instances:
        decls = [ir.Variable(n, _written(t), None, None, frozenset(), None, _NOWHERE, _NOWHERE) for n, t in members]
        decl = ir.Class(name, "struct", None, None, (), decls, None, _NOWHERE, _NOWHERE)
        env = Env(m.program.root.env, "class")
        inst = ClassInst(Entry(decl, m.program.root.env, ir.Unit("", "cpp", ())), decl, env, (), None, None)
        inst.ident = len(m.instances) + 1
        env.cls = inst
        m.instances[key] = inst
    found: ClassInst = m.instances[key]
    return found


def _written(type_: str) -> ir.Expr:
    named = ir.Name(type_.rstrip("*"), None, _NOWHERE)
    return ir.TypeMod("ptr", named, _NOWHERE) if type_.endswith("*") else named


def _part(c: Call, params: Value, name: str, position: int) -> Value:
    """A member of the launch parameters, by name or by its place in a braced list."""
    if isinstance(params, Object):
        return classes.get_field(c.m, params, name, c.span)
    if isinstance(params, tuple) and position < len(params):
        return params[position]
    return Unknown("the launch parameters are not known", c.span)


@function("launch_kernel_on_cluster", tolerant=True)
def _cluster(c: Call) -> Value:
    params, kernel, *args = c.raw
    names = ("grid_dims", "block_dims", "cluster_dims", "smem_size_in_bytes")
    grid, block, cluster, smem = (_part(c, params, n, i) for i, n in enumerate(names))
    return _launched(c, kernel, [grid, block, smem], args, cluster)


@function("launch_cluster", "launch_fallback_cluster", tolerant=True)
def _of_launcher(c: Call) -> Value:
    """``cutlass::ClusterLauncher::launch(grid, cluster, block, smem, stream, kernel, addresses, ...)``; of one with a
    cluster to fall back on it is not known which is taken."""
    grid, cluster, *rest = c.raw
    if c.name == "launch_fallback_cluster":
        cluster, rest = None, rest[1:]
    block, smem, _, kernel, addresses = rest[:5]
    return _launched(c, kernel, [grid, block, smem], _behind(c, kernel, addresses), cluster)


@function("cudaLaunchKernelEx", tolerant=True)
def _runtime(c: Call) -> Value:
    params, kernel, *args = c.raw
    names = ("gridDim", "blockDim", "dynamicSmemBytes")
    config = [_part(c, params, n, i) for i, n in enumerate(names)]
    return _launched(c, kernel, config, args, _cluster_of(c, params))


@function("cudaLaunchKernelExC", "cudaLaunchKernel", "cudaLaunchCooperativeKernel", tolerant=True)
def _untyped(c: Call) -> Value:
    """The arguments are an array of addresses: of variables, or only their types are known, from the kernel."""
    if c.name != "cudaLaunchKernelExC":
        kernel, grid, block, addresses, *rest = c.raw
        return _launched(c, kernel, [grid, block, *rest[:1]], _behind(c, kernel, addresses), None)
    params, kernel, *more = c.raw
    names = ("gridDim", "blockDim", "dynamicSmemBytes")
    config = [_part(c, params, n, i) for i, n in enumerate(names)]
    return _launched(c, kernel, config, _behind(c, kernel, more[0]) if more else None, _cluster_of(c, params))


def _cluster_of(c: Call, params: Value) -> Value:
    """The blocks of a cluster as the attributes of the launch say; None where it has none that says so."""
    from cutecheck.source.eval.intrinsics.operators import dereference, index

    attributes, many = _part(c, params, "attrs", 4), c.m.dialect.to_model(_part(c, params, "numAttrs", 5))
    least = bounds(as_expr(many))[0] if isinstance(many, (int, Dyn, Sym)) else None  # more may be under a condition
    for i in range(min(least or 0, _MOST_ATTRIBUTES)):
        at = Scalar(i, "int")
        pointed = isinstance(attributes, (ObjectPointer, Address)) and i == 0
        one = dereference(c.m, attributes, c.span) if pointed else index(c.m, attributes, [at], c.span)
        kind = constant(classes.get_field(c.m, one, "id", c.span)) if isinstance(one, Object) else None
        if kind is None:
            return None  # it may be any
        if kind == ATTRIBUTES["cudaLaunchAttributeClusterDimension"]:
            value = classes.get_field(c.m, one, "val", c.span)
            return classes.get_field(c.m, value, "clusterDim", c.span) if isinstance(value, Object) else None
    return None


def _behind(c: Call, kernel: Value, addresses: Value) -> list[Value] | None:
    """What an array of addresses leads to: where that is not a variable of the parameter's type, any value of this."""
    from cutecheck.source.eval.intrinsics.operators import dereference
    from cutecheck.source.eval.kernels import symbolic_arguments

    if not isinstance(addresses, Elements) or not isinstance(kernel, FuncSet):
        return None
    args = symbolic_arguments(c.m, kernel, c.span)
    if len(args) > len(addresses):
        return None
    for i, (address, any_value) in enumerate(zip(addresses, args, strict=False)):
        if isinstance(address, (ObjectPointer, Address)):
            value = dereference(c.m, address, c.span)
            if not isinstance(value, Unknown) and _type(value) == _type(any_value):
                args[i] = value
    return args


def _type(value: Value) -> str:
    return spell(type_of(value)).replace("const", "").replace(" ", "")


@function("kernel_launch", tolerant=True)
def _kernel_launch(c: Call) -> Value:
    """``cutlass::kernel_launch<Kernel>(grid, block, smem, stream, params, ...)``."""
    grid, block, smem, _, params = c.raw[:5]
    return _launched(c, Intrinsic("device_kernel", c.targs), [grid, block, smem], [params], None)


def _launched(c: Call, kernel: Value, config: list[Value], args: list[Value] | None, cluster: Value) -> Value:
    if not isinstance(kernel, (FuncSet, Intrinsic)):
        if args:
            c.m.recorder.escape(c.m, args, c.span)
        behind = kernel if isinstance(kernel, OneOf) else Unknown("a kernel behind a pointer", c.span)
        c.m.recorder.launch(c.m, behind, config, args, c.span, cluster)
        return Scalar(None, "Status")
    c.m.recorder.launch(c.m, kernel, config, args, c.span, cluster)
    return Scalar(None, "Status")


@function("cudaFuncSetAttribute", "hipFuncSetAttribute", tolerant=True)
def _set_attribute(c: Call) -> Value:
    """Kept where it may be about dynamic shared memory; what else is set stays out of the facts."""
    kernel, attribute, *value = c.raw
    shown = str(getattr(attribute, "what", None) or getattr(attribute, "name", None) or attribute)
    if "Carveout" not in shown:
        name = kernel.name if isinstance(kernel, FuncSet) else ""
        given = c.m.dialect.to_model(value[0]) if value else None
        c.m.recorder.allowed(name, c.span, given if isinstance(given, (int, Dyn, Sym)) else None)
    return Scalar(None, "Status")


@function("device_kernel", tolerant=True)
def _device_kernel(c: Call) -> Value:
    return Unknown("a kernel is launched, not called", c.span)
