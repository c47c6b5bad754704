"""Facts as JSON-serialisable values, in the shape of ``docs/schema/facts.schema.json``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutecheck.facts.core import Event, Facts, Guard, Site, SmemBuffer, SourceError
from cutecheck.facts.resources import KernelResources, resources
from cutecheck.facts.span import Span, Unknown
from cutecheck.facts.tensor import TensorFact
from cutecheck.model.ints import Dyn, Int, Sym

SCHEMA_VERSION = 1
Printer = Callable[[object], Any]


def int_json(value: Int | None) -> int | str | None:
    """A static number as a number; run-time and open integers as their expression."""
    return value if value is None or isinstance(value, int) else str(value)


def span_json(span: Span) -> dict[str, Any]:
    return {
        "path": span.file,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }


def reason_json(reason: Unknown | None) -> dict[str, Any] | None:
    if reason is None:
        return None
    return {"message": reason.reason, "span": span_json(reason.span) if reason.span else None}


def site_json(site: Site, printed: Printer) -> dict[str, Any]:
    """A site; ``printed`` turns a model value into the fields CuTe would print. DSL sites have their call besides."""
    own = {"call": site.call, "result": site.result} if site.call else {}
    return {
        "site_id": site.site_id,
        "path": site.span.file,
        "line": site.span.line,
        "column": site.span.column,
        "call_line": site.call_span.line,
        "kind": site.kind,
        "symbol": site.symbol,
        "bindings": dict(site.bindings),
        "arch": site.arch,
        "status": site.status,
        "reason": reason_json(site.reason),
        "printed": None if site.value is None else printed(site.value),
        **own,
    }


def _offset(offset: object) -> str:
    """A number, or the coordinate at which a tensor of coordinates starts."""
    if isinstance(offset, tuple):
        return f"({','.join(map(_offset, offset))})"
    return str(offset.expr) if isinstance(offset, (Dyn, Sym)) else str(offset)


def tensor_json(tensor: TensorFact, printed: Printer) -> dict[str, Any]:
    known = not isinstance(tensor.layout, Unknown)
    return {
        "name": tensor.name,
        "space": tensor.space,
        "layout": printed(tensor.layout) if known else None,
        "reason": reason_json(tensor.layout) if isinstance(tensor.layout, Unknown) else None,
        "dtype": tensor.dtype.name if tensor.dtype else None,
        "bits": tensor.dtype.bits if tensor.dtype else None,
        "buffer": tensor.buffer,
        "offset": None if isinstance(tensor.offset, Unknown) else _offset(tensor.offset),
        "alignment_bytes": int_json(tensor.alignment_bytes),
        "provenance": tensor.provenance,
        **span_json(tensor.span),
    }


def guard_json(guard: Guard) -> dict[str, Any]:
    return {"text": guard.text, "negated": guard.negated, "line": guard.span.line}


def event_json(event: Event, printed: Printer) -> dict[str, Any]:
    return {
        "event_id": event.event_id,
        "kind": event.kind,
        "callee": event.callee,
        **span_json(event.span),
        "tiled": None if event.tiled is None else printed(event.tiled),
        "operands": [tensor_json(t, printed) for t in event.operands],
        "predicated": event.predicated,
        "enclosing": event.enclosing,
        "arch": event.arch,
        "loop_depth": event.loop_depth,
        "guards": [guard_json(g) for g in event.guards],
        "threads": int_json(event.threads),
        "reason": reason_json(event.reason),
    }


def buffer_json(buffer: SmemBuffer) -> dict[str, Any]:
    return {
        "buffer_id": buffer.buffer_id,
        "name": buffer.name,
        **span_json(buffer.span),
        "arch": buffer.arch,
        "enclosing": buffer.enclosing,
        "size_bytes": int_json(buffer.size_bytes),
        "alignment_bytes": int_json(buffer.alignment_bytes),
        "element_bits": buffer.element_bits,
        "accesses": list(buffer.accesses),
        "accesses_complete": buffer.accesses_complete,
        "escapes": [reason_json(e) for e in buffer.escapes],
    }


def resources_json(kernel: KernelResources) -> dict[str, Any]:
    return {
        "kernel": kernel.kernel,
        "arch": kernel.arch,
        "path": kernel.span.file,
        "line": kernel.span.line,
        "threads": kernel.threads,
        "static_smem_bytes": kernel.static_smem_bytes,
        "dynamic_smem_bytes": kernel.dynamic_smem_bytes,
        "accumulator_registers": kernel.accumulator_registers,
        "operand_registers": kernel.operand_registers,
        "tmem_columns": kernel.tmem_columns,
        "tmem_allocated": kernel.tmem_allocated,
    }


def error_json(error: SourceError) -> dict[str, Any]:
    return {"path": error.path, "message": error.message, "line": error.span.line if error.span else None}


def facts_json(facts: Facts, printed: Printer) -> dict[str, Any]:
    """The whole document."""
    return {
        "schema_version": SCHEMA_VERSION,
        "cutlass_version": facts.cutlass_version,
        "notes": list(facts.notes),
        "sites": [site_json(s, printed) for s in facts.sites],
        "events": [event_json(e, printed) for e in facts.events],
        "buffers": [buffer_json(b) for b in facts.buffers],
        "resources": [resources_json(k) for k in resources(facts)],
        "dropped": [{"kernel": kernel, "instantiations": count} for kernel, count in facts.dropped],
        "errors": [error_json(e) for e in facts.errors],
    }
