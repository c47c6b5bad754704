"""Sequences, dictionaries, slices, strings and comprehensions."""

from __future__ import annotations

from typing import Any

from cutecheck.facts import Unknown
from cutecheck.source.eval import containers, ir, templates
from cutecheck.source.eval.machine import Machine, handles
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.statements.assignments import bind_target
from cutecheck.source.eval.statements.loops import iterate
from cutecheck.source.eval.tuples import Designated
from cutecheck.source.eval.values import Extern, Pack, Str, Value, constant

OPEN_SLICE = "a slice with unknown limits"
_MAX_TEXT = 1 << 16  # characters
_MAX_BITS = 4096  # of a number in text


@handles(ir.Sequence_)
def _sequence(m: Machine, node: ir.Sequence_, env: Env) -> Value:
    items: list[Any] = []
    for a in node.items:
        value = (
            m.eval(a.value, env)
            if not isinstance(a.value, ir.Expand)
            else Pack(tuple(templates.expand(m, a.value.pattern, env)))
        )
        if a.star and node.kind != "tuple" and (isinstance(value, (Unknown, Extern)) or containers.unsure(value)):
            return [containers.Lost("a list of items that are not known", node.span)]
        if a.star or isinstance(value, Pack):
            more = value.items if isinstance(value, Pack) else value
            if not isinstance(more, (tuple, list)):
                more = m.dialect.spread(m, value, node.span)
                unknown = containers.unsure(more)
                if unknown is not None:
                    return [unknown] if node.kind != "tuple" else Unknown(unknown.reason, node.span)
            items.extend(more)
        else:
            items.append(value)
    if any(a.name for a in node.items) and len(items) == len(node.items):
        return Designated.of(items, (a.name or "" for a in node.items))
    return containers.new(m, items) if node.kind in ("list", "set") else tuple(items)


@handles(ir.FString)
def _fstring(m: Machine, node: ir.FString, env: Env) -> Value:
    parts = [m.eval(p, env) for p in node.parts]
    texts = [
        p.text if isinstance(p, Str) else p if isinstance(p, str) else str(p) if _printable(p) else None for p in parts
    ]
    if None in texts:
        return Unknown("a string that is not known", node.span)
    if sum(len(t or "") for t in texts) > _MAX_TEXT:
        return Unknown(f"text of over {_MAX_TEXT} characters", node.span)
    return "".join(t for t in texts if t is not None)


def _printable(v: Value) -> bool:
    return isinstance(v, float) or (isinstance(v, int) and v.bit_length() <= _MAX_BITS)


@handles(ir.DictLit)
def _dict(m: Machine, node: ir.DictLit, env: Env) -> Value:
    out: dict[Any, Value] = {}
    for key, item in node.items:
        value = m.eval(item, env)
        if key is None:
            containers.include(out, value, node.span)
            continue
        k = m.eval(key, env)
        try:
            out[k] = value
        except TypeError:
            return Unknown("a dictionary key that is not known", node.span)
    return containers.new(m, out)


@handles(ir.SliceExpr)
def _slice(m: Machine, node: ir.SliceExpr, env: Env) -> Value:
    parts = [None if p is None else constant(m.eval(p, env)) for p in (node.lower, node.upper, node.step)]
    wanted = [p is not None for p in (node.lower, node.upper, node.step)]
    if any(w and p is None for w, p in zip(wanted, parts, strict=True)):
        return Unknown(OPEN_SLICE, node.span)
    return slice(*parts)


@handles(ir.Comprehension)
def _comprehension(m: Machine, node: ir.Comprehension, env: Env) -> Value:
    results: list[Any] = []
    pairs: dict[Any, Any] = {}

    def walk(level: int, at: Env) -> Unknown | None:
        if level == len(node.clauses):
            value = m.eval(node.element, at)
            if node.kind == "dict" and node.value is not None:
                try:
                    pairs[value] = m.eval(node.value, at)
                except TypeError:
                    return Unknown("a dictionary key that is not known", node.span)
            else:
                results.append(value)
            return None
        clause = node.clauses[level]
        items = iterate(m, m.dialect.listed(m.eval(clause.iterable, at)), node.span)
        if isinstance(items, Unknown):
            return items
        inner = Env(at, "block")  # one for all: lambdas made inside see the last item
        for item in items:
            bind_target(m, clause.target, item, inner, node.span)
            keep: bool | None = True
            for condition in clause.conditions:
                keep = m.dialect.truth(m.eval(condition, inner))
                if keep is not True:
                    break
            if keep is None:
                return Unknown("a comprehension's condition is not known", node.span)
            if keep:
                bad = walk(level + 1, inner)
                if bad is not None:
                    return bad
        return None

    bad = walk(0, env)
    if bad is not None:
        return bad
    if node.kind == "dict":
        return containers.new(m, pairs)
    return m.dialect.generated(results) if node.kind == "generator" else containers.new(m, results)
