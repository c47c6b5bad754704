"""Memory of a kernel: registers, shared-memory buffers and what escapes from them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cutecheck.facts import SmemBuffer, Space, Span, Unknown
from cutecheck.model.dtype import DType
from cutecheck.model.ints import Int
from cutecheck.model.units import Bits, Bytes
from cutecheck.source.eval import ir
from cutecheck.source.eval.record.ends_of_registers import size_of
from cutecheck.source.eval.record.pointers import pointers
from cutecheck.source.eval.record.reading import ReadingRecorder
from cutecheck.source.eval.record.regions import variable_of
from cutecheck.source.eval.record.state import _Buffer
from cutecheck.source.eval.scope import ClassInst, Env
from cutecheck.source.eval.tensor_arrays import REGISTERS, owned
from cutecheck.source.eval.values import (
    ArrayType,
    Object,
    Pointer,
    ScalarType,
    TensorVal,
    Value,
    Zipped,
    constant,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


# a launch places dynamic shared memory on at least this many bytes (taken as an assumption by the rules)
DYNAMIC_ALIGN = 16
_BOOL = ("bool", "Boolean")


class BufferRecorder(ReadingRecorder):
    """Shared-memory buffers, each with its accesses."""

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
        name = f"{space}@{span.place}"
        if not span.is_python:
            name += self._called(of_results=True)
        elif dtype is not None and dtype.name in _BOOL:
            name += self._called()
        replay = self.acts()
        if replay is not None and space == "rmem":
            replay.makes(name, span)
        self.register_sizes[name] = size_of(layout), dtype
        pointer = Pointer(name, space, ScalarType(dtype) if dtype is not None else None)
        return TensorVal(layout, pointer, space, dtype, 0, provenance, source)

    def _called(self, of_results: bool = False) -> str:
        """Where the functions around were called, up to the kernel: a helper's predicates are each caller's own.

        ``of_results``: only up to the first that returns nothing. ``auto one = make_sums(mma), two = make_sums(mma);``
        are two tensors; what a function keeps to itself is the same in each call.
        """
        frame, places = self.frame, ""
        while frame is not None and frame.caller is not None and frame.caller.kernel == frame.kernel:
            if of_results and (frame.function is None or not _gives_back(frame.function.body)):
                break
            places += f"<{frame.called.line}:{frame.called.column}" if frame.called is not None else ""
            frame = frame.caller
        return places

    def array(self, m: Machine, t: ArrayType, span: Span, name: str = "") -> Value:
        name = name or f"array@{span.place}"
        inner = t
        while isinstance(inner, ArrayType):
            inner = inner.inner
        if isinstance(inner, ClassInst) and m.dialect.by_value:  # whose members are remembered by this name
            name = f"{name}#{m.number()}"
        if owned(inner) is not None:
            name = f"{REGISTERS}{span.place}"
        return Pointer(name, "rmem", t, 0, t.align)

    def shared(self, m: Machine, t: Value, decl: ir.Variable, env: Env) -> Value:
        """A ``__shared__`` variable: a buffer."""
        from cutecheck.source.eval.memory import alignments, size_bytes

        place, _ = self._place(env)
        ident = f"{place}::{decl.name}" if place else decl.name
        explicit = constant(m.eval(decl.alignas_, env)) if decl.alignas_ is not None else None
        own, _ = alignments(m, t, decl.span)
        align = max(explicit or 1, own)
        dynamic = "extern" in decl.flags
        if dynamic:
            align = max(align, DYNAMIC_ALIGN)
        size = Unknown("dynamic shared memory", decl.span) if dynamic else size_bytes(m, t, decl.span)
        self._buffer(ident, decl.name, decl.span, None if isinstance(size, Unknown) else size, align, t)
        if isinstance(t, ClassInst):
            return Object(t, {}, Pointer(ident, "smem", t, 0, align), ident)
        made = Pointer(ident, "smem", t, 0, align)
        if isinstance(t, ScalarType):
            self.singles[id(env.vars), decl.name] = env.vars, made
        return made

    def single(self, name: str, env: Env) -> Pointer | None:
        """Where a ``__shared__`` variable of one number is, whatever it is known to hold; None of other names."""
        at = env.find_var(name)
        found = self.singles.get((id(at.vars), name)) if at is not None else None
        return found[1] if found is not None and at is not None and found[0] is at.vars else None

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
        if whole is not t:
            self.of_unions.add(pointer.buffer)
        size = size_bytes(m, whole, span)
        known = None if isinstance(size, Unknown) else size
        self._buffer(pointer.buffer, decl.name, decl.span, known, pointer.align, t, self.starts.get(pointer.buffer))

    def _buffer(
        self, ident: str, name: str, span: Span, size: Int | None, align: int | None, t: Value, start: int | None = None
    ) -> None:
        known = self.buffers.get(ident)
        unbound = self.open and span.is_python
        if known is not None and known.fact.unbound and not unbound:
            known.fact = replace(
                known.fact, unbound=False, size_bytes=Bytes(size) if isinstance(size, int) else size,
                alignment_bytes=None if align is None else Bytes(align),
            )  # fmt: skip
            known.escapes.clear()
            return
        if known is not None and unbound and not known.fact.unbound:
            return
        if known is not None:
            if known.fact.size_bytes != size:
                # a union's members are one buffer, with the first of an anonymous struct in it
                both = [s for s in (known.fact.size_bytes, size) if isinstance(s, int)]
                largest = Bytes(max(both)) if ident in self.of_unions and len(both) == 2 else None
                known.fact = replace(known.fact, size_bytes=largest)
            return
        inner = t.inner if isinstance(t, ArrayType) else t
        bits = inner.dtype.bits if isinstance(inner, ScalarType) else None
        where = self.frame.symbol if self.frame is not None else ""
        if span.is_python and self.frame is not None and self.frame.kernel:
            where = self.frame.kernel  # what a helper allocates is part of what the kernel needs
        fact = SmemBuffer(
            ident, name, span, self.arch, where,
            Bytes(size) if isinstance(size, int) else size, None if align is None else Bytes(align), bits,
            start_bytes=None if start is None else Bytes(start), unbound=unbound,
        )  # fmt: skip
        self.buffers[ident] = _Buffer(fact)

    def starts_at(self, ident: str, start: int | None) -> None:
        """Of members that are said to lie in two places it is not known where they lie."""
        known = self.buffers.get(ident)
        if known is not None and known.fact.start_bytes != start:
            known.fact = replace(known.fact, start_bytes=None)

    def escape(self, m: Machine, values: list[Value], span: Span) -> None:
        """Values that reach code which was not followed: shared buffers among them are incomplete."""
        self.takes(values)
        replay = self.acts()
        if replay is not None:
            for held in pointers(values):
                replay.touched(held.buffer, held.space)
        for v in (part for value in values for part in (value.parts if isinstance(value, Zipped) else (value,))):
            pointer = v.pointer if isinstance(v, (TensorVal, Object)) else v
            if isinstance(pointer, Pointer) and pointer.buffer in self.buffers:
                self.buffers[pointer.buffer].escapes.append(Unknown("passed to code that was not followed", span))

    def escape_all(self, span: Span) -> None:
        """A function that is not walked may use any of them by name."""
        if self.frame is not None and self.frame.kernel:
            self.reads[self.frame.kernel].unsure = True
        replay = self.acts()
        if replay is not None:
            replay.anything()
        for buffer in self.buffers.values():
            buffer.escapes.append(Unknown("a function that is not walked may use it", span))

    def within(self, buffer: str) -> tuple[str, int] | None:
        """The variable in shared memory that a buffer is a member of, and the bits before it there."""
        started = self.starts.get(buffer, None if "." in buffer.rpartition("::")[2] else 0)
        return None if started is None else (variable_of(buffer), 8 * started)

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


def _gives_back(body: object) -> bool:
    """Whether a function ends with a return of something."""
    at = body.get() if isinstance(body, ir.Lazy) else body
    while isinstance(at, ir.Block) and at.body:
        at = at.body[-1]
    if isinstance(at, ir.If):
        return _gives_back(at.then) or _gives_back(at.other)
    return isinstance(at, ir.Return) and at.value is not None
