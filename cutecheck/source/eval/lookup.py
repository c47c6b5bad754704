"""From a name to what it means: variables, members, declarations of the tree, then CuTe's own names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from cutecheck.facts import Span, Unknown
from cutecheck.records import record
from cutecheck.source.eval import classes, closures_as_bases, enums, hidden, intrinsics, ir, places
from cutecheck.source.eval.dialect import DEFER
from cutecheck.source.eval.enums import EnumRef, enumerator
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.made_once import declared_value
from cutecheck.source.eval.mentions import taken_over
from cutecheck.source.eval.program import is_element
from cutecheck.source.eval.qualified import may_be, plain
from cutecheck.source.eval.scope import ClassInst, Entry, Env, Scope, self_of
from cutecheck.source.eval.symbolic import symbolic
from cutecheck.source.eval.values import (
    ExternType,
    FuncSet,
    Object,
    ObjectPointer,
    Pack,
    Reference,
    Scalar,
    TemplateRef,
    Value,
    ValueType,
)


@record(frozen=True, slots=True)
class Namespace:
    """A namespace: of the tree (``scope``), of a known library (``library`` is its path), or both."""

    scope: Scope | None
    library: str


LIBRARIES = (
    "cute",
    "std",
    "cutlass",
    "cuda",
    "thrust",
    "torch",
    "at",
    "c10",
    "nvcuda",
    "testing",
    "cooperative_groups",
)
_NAMESPACES = frozenset({
    "detail", "arch", "gemm", "collective", "GMMA", "UMMA", "SM90", "SM100", "SM103", "SM120", "BLOCKSCALED", "SPARSE",
    "Major", "ScaleIn", "ScaleOut", "Saturate",
    "SparseSel", "epilogue", "layout", "platform", "cuda", "kernel", "thread", "threadblock", "device", "fusion",
    "transform", "conv", "chrono", "literals", "reference", "host",
})  # fmt: skip
_MISSING = object()


def lookup(m: Machine, name: str, env: Env, span: Span) -> Value:
    """The meaning of an unqualified name without template arguments, or Unknown."""
    at: Env | None = env
    used: list[Scope] = []
    while at is not None:
        if name in at.vars:
            value = at.vars[name]
            if may_be(value):
                value = plain(value)
            if type(value) is Reference:
                return places.read(m, value.cells, span)
            if type(value) is Pack and any(type(v) is Reference for v in value.items):
                return Pack(tuple(places.read(m, v.cells) if type(v) is Reference else v for v in value.items))
            return value
        scope = at.scope
        if at.kind == "class" and at.cls is not None:
            if name == at.cls.name:
                return at.cls
            this = self_of(env)
            found = member(m, at.cls, name, this, span)
            if isinstance(found, FuncSet) and this is not None and classes.overridden(m, this.cls, at.cls, name):
                found = member(m, this.cls, name, this, span)
            if found is not _MISSING:
                return found
        elif scope is not None and name not in scope.absent:
            nearer = _nearer(m, scope, name)
            found = in_namespace(m, nearer, name, span)
            if found is not _MISSING:
                return _with_used(m, nearer, name, found) if isinstance(found, FuncSet) else found
        if at.usings:
            used += at.usings
        if used and scope is not None:
            for other in at.seen_in(used):
                found = in_namespace(m, other, name, span)
                if found is not _MISSING:
                    return found
        at = at.parent
    if name == "this":
        this = self_of(env)
        if this is None:
            return Unknown("`this` outside a member function", span)
        return ObjectPointer(this) if m.dialect.by_value and this.pointer is None else this
    known = m.dialect.name_value(m, name, env, span)
    if known is not DEFER:
        return known
    found = library(m, _opened(env) if name in intrinsics.OF_SEVERAL else "", name, span)
    return Unknown(f"`{name}` is not declared in the scanned files", span) if found is _MISSING else found


def _opened(env: Env) -> str:
    """The library whose constants are named so here: the standard library's where it alone is opened."""
    opened: set[str] = set()
    at: Env | None = env
    while at is not None:
        if at.scope is not None:
            opened |= {t.ident for kind, t, _ in at.scope.usings if kind == "namespace" and isinstance(t, ir.Name)}
            if at.scope.path.partition("::")[0] == "cute":
                return ""
        at = at.parent
    return "std" if "std" in opened and "cute" not in opened else ""


def missing(value: Value) -> bool:
    return value is _MISSING


def in_namespace(m: Machine, scope: Scope, name: str, span: Span, seen: frozenset[int] = frozenset()) -> Value:
    """A name declared in a namespace, its anonymous and used namespaces; or the missing marker."""
    if not seen and name in scope.absent:
        return _MISSING
    found = _in_namespace(m, scope, name, span, seen)
    if found is _MISSING and not seen:
        scope.absent.add(name)
    return found


def _in_namespace(m: Machine, scope: Scope, name: str, span: Span, seen: frozenset[int]) -> Value:
    entries = scope.decls.get(name)
    if entries:
        return resolve(m, name, tuple(entries), span, scope.memo)
    if name in scope.children:
        return Namespace(scope.children[name], "::".join(p for p in (scope.path, name) if p))
    if "" in scope.children:
        found = in_namespace(m, scope.children[""], name, span, seen)
        if found is not _MISSING:
            return found
    if id(scope) in seen:
        return _MISSING
    for kind, target in scope.usings_for(name):
        if kind == "namespace":
            if id(target) not in scope.used:
                scope.used[id(target)] = namespace_of(m, target, scope)
            used = scope.used[id(target)]
            if used is not None and used.scope is not None and used.scope is not scope:
                found = in_namespace(m, used.scope, name, span, seen | {id(scope)})
                if found is not _MISSING:
                    return found
        elif kind == "enum":
            own = enums.brought(m, target, name, scope.env)
            if own is not None:
                return own
        elif kind == "alias":
            used = namespace_of(m, target, scope)
            if used is not None:
                return used
        elif isinstance(target, (ir.Name, ir.Scoped)):
            base = target.base if isinstance(target, ir.Scoped) else None
            ns = namespace_of(m, base, scope) if base is not None else Namespace(m.program.root, "")
            if ns is not None and name not in scope.importing:
                scope.importing.add(name)  # `cute` takes names from `cutlass`, which uses `cute`
                try:
                    found = in_path(m, ns, name, span)
                finally:
                    scope.importing.discard(name)
                if found is not _MISSING:
                    return found
            elif ns is None and base is not None and name not in scope.importing:  # `using Mode::B;`
                own = enums.brought(m, base, name, scope.env)
                if own is not None:
                    return own
    return _MISSING


def _nearer(m: Machine, scope: Scope, name: str) -> Scope:
    """The namespace around this one, or itself, in which a name is looked for.

    What a using directive brings is seen as if it stood in the innermost namespace around both: a name of a namespace
    inside of that is nearer.
    """
    if not scope.usings or _declares(scope, name):
        return scope
    key = ("nearer", name)
    if key not in scope.memo:
        every = list(_used_scopes(m, scope, {id(scope)}))
        used = [s for s in every if not s.is_in(scope)]  # not inline namespaces of its own
        own = any(_declares(s, name) for s in every if s.is_in(scope))
        at = None if own or not used else scope.parent
        while at is not None and not any(s.is_in(at) for s in used) and not _declares(at, name):
            at = at.parent
        scope.memo[key] = scope if at is None or any(s.is_in(at) for s in used) else at
    found: Scope = scope.memo[key]
    return found


def _declares(scope: Scope, name: str) -> bool:
    return (
        name in scope.decls or name in scope.children or ("" in scope.children and _declares(scope.children[""], name))
    )


def _with_used(m: Machine, scope: Scope, name: str, found: FuncSet) -> FuncSet:
    """The overloads of a name and those that using directives of its scope add to them."""
    if not any(kind == "namespace" for kind, _, _ in scope.usings):
        return found
    key = ("with used", name)
    if key not in scope.memo:
        entries = list(found.entries)
        seen = {id(scope)}
        for used in _used_scopes(m, scope, seen):
            entries += [e for e in used.decls.get(name, ()) if isinstance(e.decl, ir.Function)]
        scope.memo[key] = replace(found, entries=tuple({id(e.decl): e for e in entries}.values()))
    merged: FuncSet = scope.memo[key]
    return merged


def _used_scopes(m: Machine, scope: Scope, seen: set[int]) -> Iterator[Scope]:
    for kind, target, _ in scope.usings:
        if kind == "namespace":
            if id(target) not in scope.used:
                scope.used[id(target)] = namespace_of(m, target, scope)
            used = scope.used[id(target)]
            if used is not None and used.scope is not None and id(used.scope) not in seen:
                seen.add(id(used.scope))
                yield used.scope
                yield from _used_scopes(m, used.scope, seen)


def namespace_of(m: Machine, node: ir.Expr, scope: Scope) -> Namespace | None:
    """The namespace that a qualified name spells, seen from a scope."""
    parts: list[str] = []
    at: ir.Expr | None = node
    while isinstance(at, ir.Scoped):
        parts.insert(0, at.ident)
        at = at.base
    if isinstance(at, ir.Name):
        parts.insert(0, at.ident)
    start: Scope | None = scope
    while start is not None:
        found = _descend(m, start, parts)
        if found is not None:
            return found
        start = start.parent
    return Namespace(None, "::".join(parts)) if parts and parts[0] in LIBRARIES else None


def _descend(m: Machine, scope: Scope, parts: list[str]) -> Namespace | None:
    """The namespace of this path below a scope; on the way also by aliases and what using directives bring."""
    at = Namespace(scope, "")
    for i, part in enumerate(parts):
        inner = at.scope.children.get(part) if at.scope is not None else None
        if inner is not None:
            at = Namespace(inner, "::".join(parts[: i + 1]))
            continue
        brought = None if at.scope is None else _brought(m, at.scope, part)
        if brought is None:
            return None
        at = brought
    return at


def _brought(m: Machine, scope: Scope, part: str) -> Namespace | None:
    """A namespace that a scope has by an alias or a using directive, as an inline one is seen by."""
    asked, key = f"namespace {part}", ("brought", part, len(scope.usings))
    if not scope.usings or asked in scope.importing:
        return None
    if key in scope.memo:
        known: Namespace | None = scope.memo[key]
        return known
    outermost = not scope.importing  # what is asked meanwhile goes without what is being asked
    scope.importing.add(asked)
    try:
        found = next(_all_brought(m, scope, part), None)
    finally:
        scope.importing.discard(asked)
    if outermost:
        scope.memo[key] = found
    return found


def _all_brought(m: Machine, scope: Scope, part: str) -> Iterator[Namespace]:
    for kind, target in scope.usings_for(part):
        used = namespace_of(m, target, scope) if kind in ("namespace", "alias") else None
        if used is not None and kind == "alias":
            yield used
        elif used is not None and used.scope is not None and used.scope is not scope:
            inside = _descend(m, used.scope, [part])
            if inside is not None:
                yield inside


def in_path(m: Machine, ns: Namespace, name: str, span: Span) -> Value:
    """``ns::name``: declared in the tree, or a name of a known library."""
    if ns.library.split("::")[0] == "cute" or (ns.library == "cutlass" and is_element(name)):
        found = library(m, ns.library, name, span)
        if found is not _MISSING:
            return found
    if ns.scope is not None:
        found = in_namespace(m, ns.scope, name, span)
        if found is not _MISSING:
            return found
    if ns.library.split("::")[0] in LIBRARIES:
        found = library(m, ns.library, name, span)
        if found is not _MISSING:
            return found
        if name in _NAMESPACES:
            return Namespace(None, f"{ns.library}::{name}")
        if ns.library.split("::")[0] != "cute":
            return ExternType(f"{ns.library}::{name}")
    return _MISSING


def library(m: Machine, path: str, name: str, span: Span) -> Value:
    """A name that the evaluator knows of CuTe, CUTLASS, the standard library or CUDA."""
    found = intrinsics.find(m, path, name, span)
    if found is not None:
        return found
    if not path and name in LIBRARIES:
        return Namespace(m.program.root.children.get(name), name)
    return _MISSING


def resolve(m: Machine, name: str, entries: tuple[Entry, ...], span: Span, memo: dict[Any, Value]) -> Value:
    """What a set of declarations of one name means when used without template arguments."""
    first = entries[0].decl
    if isinstance(first, tuple):
        return enumerator(m, first[0], first[1], entries[0].env)
    functions = tuple(e for e in entries if isinstance(e.decl, ir.Function))
    if functions:
        return FuncSet(name, functions)
    if isinstance(first, ir.Enum):
        return EnumRef(name, first, entries[0].env)
    if any(getattr(e.decl, "tparams", None) is not None for e in entries):
        return TemplateRef(name, entries)
    defined = [e for e in entries if not (isinstance(e.decl, ir.Class) and e.decl.forward)] or list(entries)
    entry = defined[-1] if isinstance(first, ir.Variable) else defined[0]
    return declared_value(m, entry, name, memo, span)


def member(m: Machine, inst: ClassInst, name: str, self_: Object | None, span: Span) -> Value:
    """A member of a class instance, its bases included; or the missing marker."""
    items = inst.index.get(name)
    if items:
        return _own_member(m, inst, name, items, self_, span)
    if name in inst.absent:
        return _MISSING
    for used in inst.decl.members:
        if isinstance(used, ir.Using) and used.kind == "enum":
            own = enums.brought(m, used.target, name, inst.env)
            if own is not None:
                return own
    nameless = [p for p in classes.parts(m, inst) if isinstance(p, ClassInst)] if "" in inst.index else []
    for base in (*nameless, *classes.bases(m, inst)):
        if base.name == name:
            return base  # the injected class name, never the constructors
        found = member(m, base, name, self_, span)
        if found is not _MISSING:
            return hidden.of_one_base(m, inst, base, name, self_, found, span)
    for known in inst.known_bases:
        if isinstance(known, ExternType) and known.name == classes.ALIGNED:
            continue  # aligns, and has no members
        found = intrinsics.static_member(m, known, name, span)
        if found is not None:
            return found
    if name == closures_as_bases.CALL and (called := closures_as_bases.operators(m, inst, self_)) is not None:
        return called
    if not m.deriving:
        inst.absent.add(name)
    return _MISSING


def _own_member(m: Machine, inst: ClassInst, name: str, items: list[Any], self_: Object | None, span: Span) -> Value:
    first = items[0]
    unit = inst.entry.unit
    if isinstance(first, ir.Function):
        entries = [inst.entry_of(i) for i in items if isinstance(i, ir.Function)]
        for base in classes.bases(m, inst) if name in taken_over(inst.decl) else ():
            found = member(m, base, name, self_, span)
            entries += found.entries if isinstance(found, FuncSet) else ()
        return FuncSet(name, tuple(entries), self_, inst)
    if isinstance(first, ir.Variable) and not first.flags & {"static", "constexpr"}:
        if self_ is not None:
            if hidden.is_one(m, self_.cls, name):
                return hidden.get_field(m, self_, inst, name, span)
            return classes.get_field(m, self_, name, span)
        return symbolic(m, m.eval(first.type, inst.env) if first.type else None, f"{inst.name}::{name}", span)
    if isinstance(first, tuple):
        return enumerator(m, first[0], first[1], inst.env)
    if isinstance(first, ir.Variable) and first.tparams is None:
        value = declared_value(m, Entry(first, inst.env, unit), name, inst.memo, span)
        if isinstance(value, Scalar) and value.value is None and first.init is None:
            return Unknown(f"`{inst.name}::{name}` has no initialiser in the class", first.span)
        return value
    return resolve(m, name, tuple(Entry(i, inst.env, unit) for i in items), span, inst.memo)


def type_member(m: Machine, type_: Value, name: str, span: Span) -> Value:
    """``T::name`` where T is not a class of the tree."""
    if isinstance(type_, EnumRef):
        for position, (own, _, _) in enumerate(type_.decl.enumerators):
            if own == name:
                return enumerator(m, type_.decl, position, type_.env)
    found = intrinsics.static_member(m, type_, name, span)
    if found is not None:
        return found
    shown = type_.value if isinstance(type_, ValueType) else type_
    return Unknown(f"no member `{name}` is known of {type(shown).__name__}", span)
