"""What Python and the DSL decide for themselves: numbers, truth, names, attributes, calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.model import ints
from cutecheck.model.expr import Domain, atom_expr, bounds
from cutecheck.model.ints import Dyn
from cutecheck.source.dsl import (  # noqa: F401  (some register their functions only)
    barriers,
    builtins,
    classes,
    containers,
    cute_values,
    defining,
    elementwise,
    enumerations,
    experimental,
    flow,
    functions,
    functions_of_python,
    indexing,
    int_tuples,
    iteration,
    launching,
    modules,
    package,
    pipelines,
    piping,
    protocol,
    reclassed,
    reflection,
    replays,
    stdlib,
    tables,
    text,
    torch,
    torch_ops,
    type_tests,
    unrolled,
    vectors,
)
from cutecheck.source.dsl.assertions import repeatable
from cutecheck.source.dsl.library import Library
from cutecheck.source.dsl.operands import Operands, contained
from cutecheck.source.dsl.statements import spelled
from cutecheck.source.dsl.supposed.supposition import Supposition
from cutecheck.source.dsl.torch_views import rows
from cutecheck.source.dsl.values import (
    NONE,
    SPREAD,
    Builtin,
    HostTensor,
    Iterated,
    RunTimeRange,
    TmaInfo,
)
from cutecheck.source.eval import ir
from cutecheck.source.eval.containers import Lost, changes, unsure
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.statements.loops import iterate
from cutecheck.source.eval.threads import varies
from cutecheck.source.eval.undetermined import undetermined
from cutecheck.source.eval.values import (
    Extern,
    Object,
    TensorVal,
    Value,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.record.replay import Replaying
    from cutecheck.source.eval.scope import Env
    from cutecheck.source.eval.statements.done import Done

_TRIES = (".mbarrier_try_wait", ".mbarrier_test_wait")


class DslDialect(Operands):
    """Python's numbers are themselves; run-time numbers of the device are ``Dyn``, others ``Scalar(None, type)``."""

    name = "dsl"
    block_scope = False
    supposing: Supposition | None = None

    def __init__(self, library: Library) -> None:
        super().__init__()
        self.library = library
        self.machine: Machine | None = None  # that which runs a program, which some truths ask

    # ---------------------------------------------------------------- scalars

    # ---------------------------------------------------------------- hooks

    def name_value(self, m: Machine, ident: str, env: Env, span: Span) -> Value:
        if ident == "super":
            cls, frame = env.find_var("__class__"), env.frame
            if cls is not None and frame is not None and frame.function is not None and frame.function.params:
                first = env.find_var(frame.function.params[0].name)
                if first is not None:
                    return Builtin("super", (cls.vars["__class__"], first.vars[frame.function.params[0].name]))
        if ident in reflection.SEEING:
            return Builtin(f"{ident} here", env)
        found = builtins.name(ident)
        if found is not None:
            return found
        return Unknown(f"`{ident}` is not defined", span)

    @contained
    def attribute(self, m: Machine, base: Value, name: str, span: Span) -> Value:
        if isinstance(base, Unknown):
            return base
        for look in (
            modules.attribute,
            classes.attribute,
            vectors.attribute,
            cute_values.attribute,
            builtins.attribute,
        ):
            found = look(m, base, name, span)
            if found is not None:
                return None if found is NONE else found
        if isinstance(base, Extern):
            if self.replaying is not None and self.replaying.by_source:
                known = piping.instead(m, Extern(f"{base.what}.{name}", span), span)
                if known is not None:
                    return known
            own = reclassed.foreign_attribute(m, base, name, span)
            own = own if own is not None else pipelines.number(m, base, name)
            return (None if own is NONE else own) if own is not None else Extern(f"{base.what}.{name}", span)
        return Unknown(f"no attribute `{name}` is known of {builtins.describe(base)}", span)

    @contained
    def apply(self, m: Machine, fn: Value, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        run = self.replaying
        if run is not None and run.by_source:
            return self._applied(m, run, fn, args, kwargs, span)
        pipelines.used(m, fn, args, kwargs, span)
        barriers.applied(m, fn, args, kwargs, span)
        return pipelines.created(m, fn, args, kwargs, functions.apply(m, fn, args, kwargs, span), span)

    def _applied(
        self, m: Machine, run: Replaying, fn: Value, args: list[Value], kwargs: dict[str, Value], span: Span
    ) -> Value:
        """A call in a run thread by thread: pipelines of the package are those of a prelude."""
        known = piping.instead(m, fn, span)
        if known is not None:
            fn = known
            run.known.add(span)
        if isinstance(fn, Extern) and fn.what.endswith(_TRIES):
            run.known.add(span)
            return 0  # it may fail each time: then what comes after it waits
        for taken in _looked_at(fn, args, kwargs):
            m.recorder.element(taken, False, span)
        if isinstance(fn, Extern) and fn.what.endswith("inline_asm"):
            run.by_assembly(span)
        if isinstance(fn, Extern) and fn.what.endswith(".block_idx_in_cluster"):
            return 0  # the run is that of the first block
        if not piping.inside(fn):
            pipelines.handed(m, run, fn, args, kwargs)
            barriers.applied(m, fn, args, kwargs, span)
            return functions.apply(m, fn, args, kwargs, span)
        args = [a if (v := piping.instead(m, a, span)) is None else v for a in args]
        kwargs = {k: a if (v := piping.instead(m, a, span)) is None else v for k, a in kwargs.items()}
        frame = m.recorder.frame
        with run.calling(span, "" if frame is None else frame.symbol):
            return functions.apply(m, fn, args, kwargs, span)

    def barriers(self, value: Value) -> str:
        return pipelines.subject(value)

    @contained
    def index(self, m: Machine, base: Value, args: list[Value], span: Span) -> Value:
        if isinstance(base, Unknown):
            return base
        return indexing.index(m, base, args[0], span) if args else Unknown("an empty index", span)

    def declare(self, m: Machine, decl: ir.Decl, env: Env) -> bool:
        return functions.declare(m, decl, env)

    def assign(self, m: Machine, target: ir.Expr, value: Value, env: Env, span: Span) -> bool:
        return functions.assign(m, target, value, env, span)

    def binding(self, m: Machine, env: Env, name: str) -> Env | None:
        at = functions.bound_in(env, name)
        return at if name in at.vars else None

    def items(self, m: Machine, value: Value, span: Span) -> list[Value] | Value | None:
        bad = unsure(value)
        if bad is not None:
            return bad
        if isinstance(value, Iterated):
            given = list(value)
            if given:
                changes(m, value)
                value.clear()
            return given
        if isinstance(value, (list, tuple)):
            return list(value)
        if isinstance(value, (Object, ClassInst)):
            found = protocol.items(m, value, span)
            return (
                None if found is None else found if isinstance(found, (list, Unknown)) else self.items(m, found, span)
            )
        if isinstance(value, str):
            return list(value)
        if isinstance(value, TmaInfo):
            return [value.atom, value.tma_tensor]
        if isinstance(value, HostTensor):
            return rows(value, span)
        if isinstance(value, RunTimeRange):
            return Unknown("a loop that runs on the device", span)
        return None

    def spread(self, m: Machine, value: Value, span: Span) -> list[Value]:
        if isinstance(value, Object) and value.cls.memo.get("namedtuple"):
            return list(value.fields.values())
        if isinstance(value, (range, dict)) and not isinstance(items := iterate(m, value, span), Unknown):
            return list(items)
        if isinstance(value, (Extern, Unknown)):
            return [SPREAD]  # as many as the indexed tensor has modes left
        found = self.items(m, value, span)
        return found if isinstance(found, list) else [Lost("unpacking of an unknown sequence", span)]

    def answers_early(self, node: ir.Expr) -> bool:
        return isinstance(node, ir.Call) and spelled(node).rpartition(".")[2] == "const_expr"

    def unrolls(self, m: Machine, env: Env, node: ir.Loop) -> bool:
        if node.cond is not None and self.answers_early(node.cond):  # `while const_expr(...)` is run when tracing
            return True
        return not functions.in_device_body(m)

    def loop_item(self, m: Machine, iterable: Value, node: ir.Loop, env: Env) -> Value | None:
        if isinstance(iterable, RunTimeRange):
            low = ints.known_value(iterable.start) if isinstance(iterable.start, (int, Dyn)) else None
            high = None
            if isinstance(iterable.stop, (int, Dyn)):
                high = ints.known_value(iterable.stop)
            step = iterable.step if isinstance(iterable.step, int) and iterable.step > 0 else 1
            aligned = step if low is not None and low % step == 0 else 1
            if functions.in_device_body(m) and isinstance(iterable.step, int) and _of_thread(iterable.start):
                passed = m.fresh("iteration", Domain(0, None))  # as in C++: each thread begins at its own number
                return iterable.start + iterable.step * passed
            name = node.target.ident if isinstance(node.target, ir.Name) else "i"
            domain = Domain(low, None if high is None else high - 1, aligned)
            return m.fresh(name, domain) if functions.in_device_body(m) else undetermined(m, name, domain)
        return None

    def all_enter(self, iterable: Value) -> bool:
        if not isinstance(iterable, RunTimeRange) or not _of_thread(iterable.start):
            return False
        stop, furthest = ints.known_value(iterable.stop), bounds(ints.as_expr(iterable.start))[1]
        return stop is not None and furthest is not None and furthest < stop

    def counts_all(self, iterable: Value, item: Value) -> str:
        if not isinstance(iterable, RunTimeRange) or not isinstance(item, Dyn) or type(iterable.start) is not int:
            return ""
        limits = (iterable.stop, iterable.step)
        if any(not isinstance(x, (int, Dyn)) or (isinstance(x, Dyn) and varies(x)) for x in limits):
            return ""
        names = [v.name for v in item.expr.variables()]
        return names[0] if len(names) == 1 and item.expr == atom_expr(next(iter(item.expr.variables()))) else ""

    def passes(self, m: Machine, iterable: Value, node: ir.Loop, env: Env) -> list[Value] | None:
        return unrolled.passes(m, iterable, node) if functions.in_device_body(m) else None

    def replayed(self, m: Machine, iterable: Value, node: ir.Loop) -> list[Value] | None:
        return replays.items(m, iterable, node) if isinstance(iterable, RunTimeRange) else None

    def repeats(self, m: Machine, node: ir.Loop, env: Env) -> bool:
        return functions.in_device_body(m) and elementwise.repeats(m, node, env)

    def configured(self, m: Machine, fn: ir.Function) -> tuple[str, ...]:
        return launching.configuration(m, fn)

    def owner(self, m: Machine, fn: ir.Function) -> str:
        return defining.owner(m, fn)

    def no_value(self, span: Span) -> Value:
        return None

    def asserted(self, m: Machine, node: ir.Assert, env: Env) -> bool:
        if self.supposing is not None:
            self.supposing.asserted(m, node, env)
        if m.attempts is None and self.supposing is None and not repeatable(node.cond):
            return False  # what it changes would be changed twice
        if self.truth(m.eval(node.cond, env)) is not False:
            return False
        flow.fails(m, "AssertionError", "an assertion does not hold", node.span)
        return True

    def listed(self, value: Value) -> Value:
        if isinstance(value, RunTimeRange):
            limits = (value.start, value.stop, value.step)
            return range(*limits) if all(isinstance(x, int) for x in limits) else value
        return value

    def generated(self, items: list[Value]) -> Value:
        return Iterated(items)

    def within(self, m: Machine, item: Value, body: Callable[[Value], Done], span: Span) -> Done:
        return flow.within(m, item, body, span)

    def default(self, m: Machine, p: ir.Param, env: Env) -> Value:
        return flow.default(m, p, env)

    def closed(self, m: Machine, params: tuple[ir.Param, ...], env: Env) -> Env:
        return flow.closed(m, params, env)

    def augmented(self, m: Machine, op: str, old: Value, value: Value, span: Span) -> Value:
        return functions.augmented(m, op, old, value, span)


__all__ = ["DslDialect"]


def _of_thread(start: Value) -> bool:
    return isinstance(start, Dyn) and any(v.name.startswith("threadIdx.") for v in start.expr.variables())


def _looked_at(fn: Value, args: list[Value], kwargs: dict[str, Value]) -> list[TensorVal]:
    """Registers whose numbers a call takes: ``accumulators.load()``, or what goes to a library that is not read."""
    if isinstance(fn, Builtin) and fn.name == "tensor_value.load":
        given: list[Value] = [fn.self_]
    else:
        given = [*args, *kwargs.values()] if isinstance(fn, Extern) else []
    return [v for v in given if isinstance(v, TensorVal) and v.space == "rmem"]
