"""What the evaluation leaves behind: sites, events, buffers, launches, hypotheses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from cutecheck.facts import (
    Bindings,
    Bound,
    Event,
    Guard,
    Hypothesis,
    Launch,
    Lint,
    Predicate,
    Site,
    SiteKind,
    SiteStatus,
    SmemBuffer,
    Space,
    Span,
    TensorFact,
    Unknown,
)
from cutecheck.facts.core import Call as CallFact
from cutecheck.model import ints
from cutecheck.model.atoms import CopyAtom, MMAAtom
from cutecheck.model.dtype import DType
from cutecheck.model.expr import Op
from cutecheck.model.ints import Condition, Dyn, Int, Rel, Sym
from cutecheck.model.inttuple import product
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.model.units import Bits, Bytes
from cutecheck.source.eval import ir
from cutecheck.source.eval.scope import ClassInst, Env, Frame
from cutecheck.source.eval.types import class_name, spell
from cutecheck.source.eval.values import (
    ArrayType,
    Closure,
    Extern,
    FuncSet,
    Object,
    Pointer,
    Scalar,
    ScalarType,
    Slice,
    TemplateRef,
    TensorVal,
    Value,
    ValueType,
    constant,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.intrinsics.registry import Call
    from cutecheck.source.eval.machine import Machine

_RESOLVED: SiteStatus = "resolved"
_SYMBOLIC: SiteStatus = "symbolic"
_UNKNOWN: SiteStatus = "unknown"
_UNBOUND: SiteStatus = "unbound"
# a launch places dynamic shared memory on at least this many bytes (taken as an assumption by the rules)
DYNAMIC_ALIGN = 16
_NO_FACTS = (Object, Extern, Pointer, ClassInst, FuncSet, Closure, TemplateRef)  # values of the evaluator alone
CONFIG_TYPES = (TiledCopy, TiledMMA, CopyAtom, MMAAtom, Layout, ComposedLayout)


@dataclass(slots=True)
class _Buffer:
    fact: SmemBuffer
    accesses: list[str] = field(default_factory=list)
    escapes: list[Unknown] = field(default_factory=list)


def site_kind(name: str, value: object) -> SiteKind | None:
    """The kind of configuration a value is, None when it is none."""
    if isinstance(value, TiledCopy):
        return "tiled_copy"
    if isinstance(value, TiledMMA):
        return "tiled_mma"
    if isinstance(value, CopyAtom):
        return "copy_atom"
    if isinstance(value, MMAAtom):
        return "mma_atom"
    if isinstance(value, ComposedLayout):
        return "smem_layout"
    if isinstance(value, Layout):
        return "smem_layout" if "smem" in name.lower() else "layout"
    return None


def has_open(value: object) -> bool:
    """True when a model value contains an open (symbolic) static integer."""
    if isinstance(value, Sym):
        return True
    if isinstance(value, tuple):
        return any(has_open(v) for v in value)
    if hasattr(value, "__dataclass_fields__"):
        return any(has_open(getattr(value, f)) for f in value.__dataclass_fields__)
    return False


class Recorder:
    """Collects facts of one machine. ``source`` gives the text of a file for names in reports."""

    def __init__(self, arch: str, source: Callable[[str], list[str]]) -> None:
        self.arch = arch
        self.source = source
        self.frame: Frame | None = None
        self.call: ir.Call | None = None
        self.sites: dict[tuple[Any, ...], Site] = {}
        self.loose: dict[tuple[Any, ...], tuple[str, Span, Value, Frame | None]] = {}
        self.reached: dict[tuple[str, str], dict[Span, Value]] = {}  # by (path, name)
        self.reached_open: set[Span] = set()  # of these, under template parameters that nothing binds
        self.events: dict[tuple[Any, ...], Event] = {}
        self.buffers: dict[str, _Buffer] = {}
        self.launches: dict[tuple[Any, ...], Launch] = {}
        self.instances: list[ClassInst] = []
        self.internals: list[tuple[str, Span | None, BaseException]] = []
        self.hypotheses: list[Hypothesis] = []
        self.drops: dict[str, int] = {}
        self.symbols = False  # an open static integer exists
        self.calls: dict[tuple[Any, ...], CallFact] = {}
        self.lints: dict[Span, Lint] = {}
        self.predicates: dict[tuple[Any, ...], Predicate] = {}
        self.pending: list[Any] = []
        self.open = False  # evaluating a template whose parameters nothing binds
        self._quiet = 0
        self._clock = 0
        self._events_off = False
        self._loops = 0
        self._guards: list[Guard] = []
        self._threads: dict[str, int] = {}
        self.starts: dict[str, int | None] = {}  # of members of structs in memory: bytes from the start
        self._dims: dict[str, tuple[int, ...]] = {}  # of the blocks of kernels, x first

    # -------------------------------------------------------------- places

    def text(self, node: Any) -> str:
        """The source text of a node, one line, shortened."""
        span = getattr(node, "span", node)
        lines = self.source(span.path)
        if not lines or span.line > len(lines):
            return ""
        if span.line == span.end_line:
            out = lines[span.line - 1][span.column - 1 : span.end_column - 1]
        else:
            middle = lines[span.line : span.end_line - 1]
            out = " ".join(
                [
                    lines[span.line - 1][span.column - 1 :],
                    *middle,
                    lines[min(span.end_line, len(lines)) - 1][: span.end_column - 1],
                ]
            )
        out = " ".join(out.split())
        return out if len(out) <= 160 else out[:157] + "..."

    def _place(self, env: Env) -> tuple[str, Bindings]:
        """The qualified name of the scope of a declaration, and the bindings in force there."""
        at: Env | None = env
        while at is not None:
            if at.kind == "class" and at.cls is not None:
                names = [p.name for p in at.cls.decl.tparams or () if p.name]
                return class_name(at.cls), tuple(zip(names, (spell(a) for a in at.cls.args), strict=False))
            if at.kind == "function" and at.frame is not None:
                return at.frame.symbol, at.frame.bindings
            if at.scope is not None:
                return at.scope.path, ()
            at = at.parent
        return "", ()

    # -------------------------------------------------------------- sites

    def declared(self, m: Machine, decl: ir.Alias | ir.Variable, value: Value, env: Env, unit: ir.Unit | None) -> None:
        """A named alias or variable was evaluated: a configuration site if its value is one."""
        if self._quiet:
            return
        config = value.value if isinstance(value, ValueType) else value
        place, bindings = self._place(env)
        kind = site_kind(decl.name, config)
        own = [k for k, v in self.loose.items() if decl.full_span.holds(v[1])]
        if kind is None:
            if not isinstance(value, Unknown):
                return
            names = [self.loose[k][0] for k in own]
            names += [n for s, n in (unit.calls if unit is not None else ()) if decl.full_span.holds(s)]
            if not names or (isinstance(decl, ir.Variable) and isinstance(value, Unknown) and value.span == decl.span):
                return
            kind = kind_by_name(names[0], decl.name)
        for k in own:
            del self.loose[k]
        self._site(kind, decl.name, place, bindings, decl.span, decl.full_span, value)

    def _site(
        self, kind: SiteKind, name: str, place: str, bindings: Bindings, span: Span, call_span: Span, value: Value
    ) -> None:
        config = value.value if isinstance(value, ValueType) else value
        symbol = f"{place}::{name}" if place and name else name or place
        key = (span.path, span.line, span.column, symbol, bindings)
        if isinstance(config, Unknown):
            status, reason, shown = _UNBOUND if self.open else _UNKNOWN, config, None
        else:
            status, reason, shown = _SYMBOLIC if self.symbols and has_open(config) else _RESOLVED, None, config
        old = self.sites.get(key)
        if old is not None and old.status == "resolved":
            return
        ident = f"{span.path}:{span.line}:{span.column}:{symbol}:{self.arch}"
        self.sites[key] = Site(
            ident, kind, symbol, span, call_span, bindings, self.arch, status, shown, reason, tuple(self.hypotheses)
        )

    def configured(self, m: Machine, name: str, span: Span, value: Value) -> None:
        """A configuration function or type of CuTe was applied somewhere."""
        if not self._quiet or isinstance(value, Unknown):
            self.loose[(span.path, span.line, span.column, span.end_line, span.end_column)] = (
                name,
                span,
                value,
                self.frame,
            )

    def flush_loose(self) -> None:
        """Configurations that no declaration names become sites of their own (called at the end)."""
        by_path: dict[str, list[Span]] = {}
        for s in self.sites.values():
            by_path.setdefault(s.span.path, []).append(s.call_span)
        for name, span, value, frame in self.loose.values():
            if any(c.holds(span) for c in by_path.get(span.path, ())):
                continue
            config = value.value if isinstance(value, ValueType) else value
            kind = site_kind("", config) or kind_by_name(name, "")
            self._site(kind, "", frame.symbol if frame else "", frame.bindings if frame else (), span, span, value)
        self.loose.clear()

    def called(self, m: Machine, c: Call, value: Value) -> None:
        """A function of CuTe that rules look at was called."""
        name = c.name.rsplit("::", 1)[-1]
        refused = isinstance(value, Unknown) and value.rejected and value.span == c.span
        if name not in RECORDED and not refused:
            return
        arguments = tuple(self._fact(a, c.span) for a in c.args)
        where, bindings = (self.frame.symbol, self.frame.bindings) if self.frame is not None else ("", ())
        self._clock += 1
        fact = CallFact(
            name, c.span, arguments, self._fact(value, c.span), where, self.arch, bindings, tuple(self.hypotheses),
            self._clock, tuple(self._guards), self._loops,
        )  # fmt: skip
        self.calls[(c.span, where, bindings)] = fact

    def synchronises(self, m: Machine, name: str, args: list[Value], span: Span) -> None:
        """A barrier, wait or announcement of bytes is called, followed or not."""
        if self._events_off or self.frame is None:
            return
        self._clock += 1
        where, bindings = self.frame.symbol, self.frame.bindings
        given = tuple(self._fact(a, span) for a in args)
        if (span, name, where, bindings) in self.calls:
            return  # walked before: events keep their first order, too
        self.calls[(span, name, where, bindings)] = CallFact(
            name.rsplit("::", 1)[-1].rsplit(".", 1)[-1], span, given, Unknown("a barrier", span), where, self.arch,
            bindings, (), self._clock, tuple(self._guards), self._loops,
        )  # fmt: skip

    def _fact(self, v: Value, span: Span) -> object:
        """A value as facts hold it: model values, tensors, or Unknown."""
        if isinstance(v, TensorVal):
            fact = self._tensor(v, span)
            return replace(fact, name=v.name) if v.name else fact
        if isinstance(v, ValueType):
            v = v.value
        if isinstance(v, Scalar):
            return v.value if v.value is not None else Unknown(f"a {v.ctype} that is not known", span)
        if isinstance(v, Slice):
            return self._fact(v.tiled, span)
        if isinstance(v, tuple) and any(isinstance(x, _NO_FACTS) for x in v):
            return tuple(self._fact(x, span) if isinstance(x, _NO_FACTS) else x for x in v)
        if isinstance(v, _NO_FACTS):
            return Unknown(f"a value of type {type(v).__name__.lower()}", span)
        return v

    def comma(self, node: ir.Expr) -> None:
        """An argument of a CuTe call is a comma expression: all but its last operand is discarded."""
        span = node.span
        self.lints.setdefault(span, Lint("comma-coordinate", span, f"({self.text(node)})"))

    def predicate(self, m: Machine, buffer: str, span: Span, bounds: tuple[Bound, ...], complete: bool) -> None:
        """An element of a register tensor of bools was assigned."""
        if self._events_off or self.frame is None:
            return
        key = (buffer, span, self.frame.symbol, self.frame.bindings)
        self.predicates[key] = Predicate(buffer, span, bounds, complete, self.frame.symbol, self.arch)

    def allowed(self, kernel: str, span: Span, smem: Any) -> None:
        """``cudaFuncSetAttribute`` allows a kernel dynamic shared memory."""
        launch = Launch(kernel, span, self.arch, None, smem, origin="attribute", guards=tuple(self._guards))
        self.launches[("attribute", kernel, span, str(smem))] = launch

    def used(self, m: Machine, ident: str, span: Span, value: Value) -> None:
        """A name was evaluated; the scan of configuration names asks which places were reached."""
        if ident in CONFIG_NAMES:
            if self.open and span not in self.reached.setdefault((span.path, ident), {}):
                self.reached_open.add(span)
            self.reached.setdefault((span.path, ident), {}).setdefault(span, value)

    def instantiated(self, m: Machine, inst: ClassInst) -> None:
        self.instances.append(inst)

    def open_parameter(self, m: Machine, p: ir.TParam) -> Value:
        """A template parameter that nothing binds: an open static integer, or an unknown type."""
        if (
            p.kind == "value"
            and isinstance(p.type, ir.Name)
            and p.type.ident in ("int", "unsigned", "size_t", "uint32_t", "int32_t")
        ):
            self.symbols = True
            return Scalar(Sym.named(p.name), "int")
        return Unknown(f"template parameter `{p.name or '<unnamed>'}` is bound nowhere in the scanned files", p.span)

    def internal(self, name: str, span: Span | None, error: BaseException) -> None:
        self.internals.append((name, span, error))

    # -------------------------------------------------------------- contexts

    @contextmanager
    def unevaluated(self) -> Iterator[None]:
        """Inside decltype and sizeof nothing happens: no events, no escapes."""
        saved, self._events_off = self._events_off, True
        try:
            yield
        finally:
            self._events_off = saved

    @contextmanager
    def guarded(self, guard: Guard, cond: Value, taken: bool) -> Iterator[None]:
        self._guards.append(guard)
        try:
            yield
        finally:
            self._guards.pop()

    @contextmanager
    def looping(self) -> Iterator[None]:
        self._loops += 1
        try:
            yield
        finally:
            self._loops -= 1

    def loop_item(self, m: Machine, node: ir.Loop, env: Env) -> Value:
        return Unknown("the items of this loop are not known", node.span)

    def hypothesis(self, m: Machine, node: ir.Assert, env: Env) -> None:
        """An assertion of the scanned code (never CuTe's own) that dominates what follows."""
        if "include/cute/" in node.span.path:
            return
        for condition in conditions(m, node.cond, env):
            self.hypotheses.append(Hypothesis(condition, node.span, node.kind, self.frame.symbol if self.frame else ""))

    # -------------------------------------------------------------- memory

    def registers(
        self,
        m: Machine,
        layout: Any,
        dtype: DType | None,
        span: Span,
        provenance: Any,
        source: Value,
        space: Space = "rmem",
    ) -> TensorVal:
        """A tensor that owns its elements: registers, or tensor memory."""
        name = f"{space}@{span.line}:{span.column}"
        pointer = Pointer(name, space, ScalarType(dtype) if dtype is not None else None)
        return TensorVal(layout, pointer, space, dtype, 0, provenance, source)

    def array(self, m: Machine, t: ArrayType, span: Span, name: str = "") -> Value:
        return Pointer(name or f"array@{span.line}:{span.column}", "rmem", t, 0, t.align)

    def shared(self, m: Machine, t: Value, decl: ir.Variable, env: Env) -> Value:
        """A ``__shared__`` variable: a buffer."""
        from cutecheck.source.eval.memory import align_bytes, size_bytes

        place, _ = self._place(env)
        ident = f"{place}::{decl.name}" if place else decl.name
        explicit = constant(m.eval(decl.alignas_, env)) if decl.alignas_ is not None else None
        own = align_bytes(m, t, decl.span)
        align = max(explicit or 1, own if isinstance(own, int) else 1)
        dynamic = "extern" in decl.flags
        if dynamic:
            align = max(align, DYNAMIC_ALIGN)
        size = Unknown("dynamic shared memory", decl.span) if dynamic else size_bytes(m, t, decl.span)
        self._buffer(ident, decl.name, decl.span, None if isinstance(size, Unknown) else size, align, t)
        if isinstance(t, ClassInst):
            return Object(t, {}, Pointer(ident, "smem", t, 0, align), ident)
        return Pointer(ident, "smem", t, 0, align)

    def dynamic_shared(self, kernel: str, span: Span) -> Pointer:
        """The dynamic shared memory that a kernel's wrapper passes on: bytes, a buffer."""
        ident = f"{kernel}::smem"
        byte = ScalarType(DType("char", Bits(8)))
        size = Unknown("dynamic shared memory", span)
        self._buffer(ident, "smem", span, None, DYNAMIC_ALIGN, ArrayType(byte, size))
        return Pointer(ident, "smem", ArrayType(byte, size), 0, DYNAMIC_ALIGN)

    def part(
        self, m: Machine, pointer: Pointer, t: Value, base: Pointer, span: Span, decl: ir.Variable, whole: Value
    ) -> None:
        """A member of a shared-storage struct: a buffer of its own, or the whole union it shares."""
        from cutecheck.source.eval.memory import size_bytes

        if pointer.space != "smem" or isinstance(t, (ClassInst, ScalarType)):
            return
        size = size_bytes(m, whole, span)
        known = None if isinstance(size, Unknown) else size
        self._buffer(pointer.buffer, decl.name, decl.span, known, pointer.align, t, self.starts.get(pointer.buffer))

    def _buffer(
        self, ident: str, name: str, span: Span, size: Int | None, align: int | None, t: Value, start: int | None = None
    ) -> None:
        if ident in self.buffers:
            return
        inner = t.inner if isinstance(t, ArrayType) else t
        bits = inner.dtype.bits if isinstance(inner, ScalarType) else None
        where = self.frame.symbol if self.frame is not None else ""
        fact = SmemBuffer(
            ident, name, span, self.arch, where,
            Bytes(size) if isinstance(size, int) else size, None if align is None else Bytes(align), bits,
            start_bytes=None if start is None else Bytes(start),
        )  # fmt: skip
        self.buffers[ident] = _Buffer(fact)

    def escape(self, m: Machine, values: list[Value], span: Span) -> None:
        """Values that reach code which was not followed: shared buffers among them are incomplete."""
        for v in values:
            pointer = v.pointer if isinstance(v, (TensorVal, Object)) else v
            if isinstance(pointer, Pointer) and pointer.buffer in self.buffers:
                self.buffers[pointer.buffer].escapes.append(Unknown("passed to code that was not followed", span))

    # -------------------------------------------------------------- kernels and launches

    def block_threads(self) -> int | None:
        return self._threads.get(self.frame.kernel) if self.frame is not None else None

    def block_extent(self, axis: int) -> int | None:
        """Threads of the block along x, y or z; the launch bounds' for x where the launch is not known."""
        dims = self._dims.get(self.frame.kernel) if self.frame is not None else None
        if dims is None:
            return self.block_threads() if axis == 0 else None
        return dims[axis] if axis < len(dims) else 1

    def kernel(self, m: Machine, fn: ir.Function, env: Env) -> None:
        """A kernel is entered: its launch bounds say how many threads at most."""
        if not fn.launch_bounds or self.frame is None:
            return
        limit = constant(m.eval(fn.launch_bounds[0], env))
        if limit is not None:
            self._threads.setdefault(self.frame.symbol, limit)
            launch = Launch(self.frame.symbol, fn.span, self.arch, limit, origin="launch_bounds")
            self.launches[(self.frame.symbol, fn.span)] = launch

    def launch(
        self,
        m: Machine,
        fn: Value,
        config: list[Value],
        args: list[Value] | None,
        span: Span,
        cluster: Value = None,
    ) -> Value:
        """``kernel<<<grid, block, smem>>>(args)``: the block size holds inside the kernel.

        ``args`` None: the arguments are passed in a way that hides them.
        """
        from cutecheck.source.eval import calls

        block = _threads(m, config[1]) if len(config) > 1 else None
        smem = m.dialect.to_model(config[2]) if len(config) > 2 else 0
        self.pending.append((block, smem, span, _extents(m, config[1]) if len(config) > 1 else None))
        try:
            return calls.launch(
                m, fn, args, block, smem if isinstance(smem, (int, Dyn, Sym)) else None, span, _threads(m, cluster)
            )
        finally:
            self.pending.pop()

    def dropped(self, fn: ir.Function, span: Span) -> None:
        """An instantiation over the limit was not walked."""
        self.drops[fn.name] = self.drops.get(fn.name, 0) + 1

    def launched(self, symbol: str, span: Span, block: Any, smem: Any, cluster: Any = None) -> None:
        if isinstance(block, int):
            self._threads[symbol] = block
            dims = self.pending[-1][3] if self.pending else None
            if dims is not None:
                self._dims[symbol] = dims
        self.launches[(symbol, span)] = Launch(
            symbol, span, self.arch, block, smem, cluster, guards=tuple(self._guards)
        )

    # -------------------------------------------------------------- events

    def event(self, m: Machine, kind: Any, c: Call, tiled: Value, operands: list[Value], predicate: Value) -> None:
        """A copy or gemm happens."""
        if self._events_off or self.frame is None:
            return
        node = self.call
        spans = [a.value.span for a in node.args] if node is not None and node.span == c.span else []
        first = len(c.raw) - len(operands)
        reason = None
        facts: list[TensorFact] = []
        for i, v in enumerate(operands):
            span = spans[first + i] if 0 <= first + i < len(spans) else c.span
            if isinstance(v, TensorVal):
                facts.append(self._tensor(v, span))
            else:
                reason = reason or (
                    v if isinstance(v, Unknown) else Unknown(f"operand {i + 1} is not a tensor cutecheck follows", span)
                )
                facts.append(TensorFact(self.text(span), span, "unknown", reason, None))
        if isinstance(tiled, (Unknown, Extern)):
            reason = reason or (
                tiled if isinstance(tiled, Unknown) else Unknown("the copy object is not known", c.span)
            )
        if self.open and reason is not None:
            return
        threads = self.block_threads()
        self._clock += 1
        ident = f"{kind}:{c.span}:{self.frame.symbol}:{self.arch}"
        event = Event(
            ident, kind, c.name, c.span, tiled if isinstance(tiled, CONFIG_TYPES) else None,
            spans[0] if tiled is not None and spans else None, tuple(facts),
            self._tensor(predicate, c.span) if isinstance(predicate, TensorVal) else None, predicate is not None,
            self.frame.symbol, self.arch, self._loops, tuple(self._guards), threads, reason, tuple(self.hypotheses),
            self._clock,
        )  # fmt: skip
        place = (c.span, self.frame.symbol, self.frame.bindings)
        old = self.events.get(place)
        if old is None or (old.reason is not None and reason is None):
            self.events[place] = event if old is None else replace(event, order=old.order)
        for v in operands:
            if isinstance(v, TensorVal) and v.pointer is not None and v.pointer.buffer in self.buffers:
                self.buffers[v.pointer.buffer].accesses.append(ident)

    def _tensor(self, v: TensorVal, span: Span) -> TensorFact:
        offset: Any = v.offset
        space: Space = v.space
        align = None
        buffer = None
        if v.pointer is not None:
            buffer, align = v.pointer.buffer, None if v.pointer.align is None else Bytes(v.pointer.align)
            space = v.pointer.space if v.pointer.space != "unknown" else v.space
            if isinstance(v.pointer.offset, Unknown) or isinstance(offset, Unknown):
                offset = v.pointer.offset if isinstance(v.pointer.offset, Unknown) else offset
            elif v.pointer.offset != 0:
                offset = offset + v.pointer.offset
        return TensorFact(
            self.text(span) or v.name, span, space, v.layout, v.dtype, buffer, offset, align, v.provenance,
            v.source.tiled if isinstance(v.source, Slice) else v.source, v.root, v.tile, v.thread,
        )  # fmt: skip

    def buffer_facts(self) -> tuple[SmemBuffer, ...]:
        return tuple(
            replace(
                b.fact,
                accesses=tuple(dict.fromkeys(b.accesses)),
                accesses_complete=not b.escapes,
                escapes=tuple(b.escapes),
            )
            for b in self.buffers.values()
        )


RECORDED = frozenset({
    "make_tiled_copy", "make_tiled_copy_A", "make_tiled_copy_B", "make_tiled_copy_C", "make_tiled_copy_S",
    "make_tiled_copy_D", "make_tiled_mma", "make_cotiled_copy", "logical_divide", "zipped_divide", "tiled_divide",
    "flat_divide", "local_tile", "local_partition", "make_tma_copy", "make_tma_atom", "make_tma_copy_A_sm90",
    "make_tma_copy_B_sm90", "make_tma_copy_C_sm90", "make_tma_atom_A_sm100", "make_tma_atom_B_sm100",
    "partition_fragment_A", "partition_fragment_B", "partition_fragment_C", "make_fragment_A", "make_fragment_B",
    "make_fragment_C", "partition_S", "partition_D", "partition_A", "partition_B", "partition_C", "retile_S",
    "retile_D", "tile_to_shape", "make_swizzle", "complement", "make_tiled_copy_tv", "composition", "make_tensor",
    "recast", "make_fragment_like", "make_tensor_like",
})  # fmt: skip


CONFIG_NAMES = frozenset({
    "make_tiled_copy", "make_tiled_copy_A", "make_tiled_copy_B", "make_tiled_copy_C", "make_tiled_copy_S",
    "make_tiled_copy_D", "make_tiled_copy_C_atom", "make_tiled_copy_impl", "make_cotiled_copy", "make_tiled_mma",
    "TiledMMA", "TiledCopy", "MMA_Atom", "Copy_Atom", "make_tma_copy", "make_tma_atom", "tile_to_shape",
    "make_tiled_copy_C_warpcontiguousM", "make_tiled_copy_B_warpcontiguousN", "tile_to_mma_shape",
})  # fmt: skip


def conditions(m: Machine, node: ir.Expr, env: Env) -> list[Condition]:
    """The comparisons that an asserted expression states over open or run-time integers."""
    if not isinstance(node, ir.Binary):
        return []
    if node.op in ("&&", "and"):
        return conditions(m, node.left, env) + conditions(m, node.right, env)
    relations = {"==": Rel.EQ, "!=": Rel.NE, "<": Rel.LT, "<=": Rel.LE, ">": Rel.LT, ">=": Rel.LE}
    if node.op not in relations:
        return []
    sides = [m.dialect.to_model(m.eval(side, env)) for side in (node.left, node.right)]
    if not all(isinstance(s, (int, Dyn, Sym)) for s in sides) or all(isinstance(s, int) for s in sides):
        return []
    left, right = (ints.as_expr(s) for s in (reversed(sides) if node.op in (">", ">=") else sides))
    if node.op == "==" and right.constant == 0 and len(left.terms) == 1:
        ((monomial, factor),) = left.terms
        if factor == 1 and len(monomial) == 1 and isinstance(monomial[0], Op) and monomial[0].kind == "mod":
            value, modulus = monomial[0].args
            return [Condition(Rel.DIVIDES, modulus, value)]
    return (
        [] if left.constant is not None and right.constant is not None else [Condition(relations[node.op], left, right)]
    )


def kind_by_name(name: str, declared: str) -> SiteKind:
    if name in ("TiledMMA", "make_tiled_mma"):
        return "tiled_mma"
    if name == "MMA_Atom":
        return "mma_atom"
    if name == "Copy_Atom":
        return "copy_atom"
    if "copy" in name.lower():
        return "tiled_copy"
    return "smem_layout" if "smem" in declared.lower() else "layout"


def _threads(m: Machine, block: Value) -> Any:
    """The number of threads of a launch's block operand (or of CTAs of its cluster)."""
    if isinstance(block, Scalar):
        return block.value if isinstance(block.value, int) else None
    model = m.dialect.to_model(block)
    if isinstance(model, (int, Dyn, Sym)):
        return ints.known_value(model) if not isinstance(model, Sym) else model
    if isinstance(model, tuple) and all(isinstance(x, (int, Dyn, Sym)) for x in model):
        return ints.known_value(product(model))
    return None


def _extents(m: Machine, block: Value) -> tuple[int, ...] | None:
    """The block's threads along each axis, where all are numbers."""
    model = block.value if isinstance(block, Scalar) else m.dialect.to_model(block)
    parts = model if isinstance(model, tuple) else (model,)
    known = [ints.known_value(x) if isinstance(x, (int, Dyn, Sym)) else None for x in parts]
    return None if None in known else tuple(x for x in known if x is not None)
