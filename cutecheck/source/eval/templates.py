"""Template arguments: binding, deduction by structure, choice of specialisations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cutecheck.facts import Span, Unknown
from cutecheck.model.identity import once
from cutecheck.source.eval import classes, ir
from cutecheck.source.eval.lookup import lookup, variable_value
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import ClassInst, Entry, Env
from cutecheck.source.eval.spellings import decompose
from cutecheck.source.eval.types import is_type, same_type, type_key
from cutecheck.source.eval.values import (
    ArrayType,
    ExternType,
    Pack,
    PtrType,
    Reference,
    Scalar,
    SubstitutionFailure,
    TemplateRef,
    TensorVal,
    Value,
)

TUPLE_HEADS = frozenset({"Shape", "Stride", "Step", "Coord", "Tile", "tuple", "Underscore"})
_QUALIFIERS = ("const", "volatile", "ref", "rref")


def arguments(m: Machine, nodes: Sequence[ir.Expr], env: Env) -> tuple[Value, ...]:
    """Template arguments evaluated, packs expanded."""
    out: list[Value] = []
    for node in nodes:
        if isinstance(node, ir.Expand):
            out.extend(expand(m, node.pattern, env))
        else:
            value = m.eval(node, env)
            if isinstance(value, Pack):
                out.extend(value.items)
            else:
                out.append(value)
    return tuple(out)


def expand(m: Machine, pattern: ir.Expr, env: Env) -> list[Value]:
    """``pattern...``: one value an element of the packs it names."""
    names = [n for n in names_in(pattern) if isinstance(_variable(env, n), Pack)]
    if not names:
        value = m.eval(pattern, env)
        return list(value.items) if isinstance(value, Pack) else [value]
    packs = {n: _variable(env, n) for n in names}
    count = min(len(p.items) for p in packs.values())
    out = []
    for i in range(count):
        inner = Env(env, "block")
        for n, p in packs.items():
            inner.vars[n] = p.items[i]
        out.append(m.eval(pattern, inner))
    return out


def references(pattern: ir.Expr, env: Env) -> list[Any]:
    """The cells that the elements of a pack of references stand for, where the pattern is the pack alone."""
    pack = _variable(env, pattern.ident) if isinstance(pattern, ir.Name) else None
    if not isinstance(pack, Pack):
        return []
    return [v.cells if isinstance(v, Reference) else None for v in pack.items]


def _variable(env: Env, name: str) -> Value:
    at = env.find_var(name)
    return at.vars[name] if at is not None else None


@once
def names_in(node: Any) -> tuple[str, ...]:
    """Identifiers used unqualified in an expression, in order."""
    out: list[str] = []
    stack = [node]
    while stack:
        at = stack.pop()
        if isinstance(at, ir.Name):
            out.append(at.ident)
            stack.extend(at.targs or ())
        elif isinstance(at, (tuple, list)):
            stack.extend(at)
        elif hasattr(at, "__dataclass_fields__") and not isinstance(at, Span):
            stack.extend(getattr(at, f) for f in at.__dataclass_fields__ if f != "span")
    return tuple(dict.fromkeys(out))


def mentions(node: Any, names: Sequence[str]) -> bool:
    """True when an expression spells one of the names, qualified or not."""
    stack = [node]
    while stack:
        at = stack.pop()
        if isinstance(at, (ir.Name, ir.Scoped)) and at.ident in names:
            return True
        if isinstance(at, (tuple, list)):
            stack.extend(at)
        elif hasattr(at, "__dataclass_fields__") and not isinstance(at, Span):
            stack.extend(getattr(at, f) for f in at.__dataclass_fields__ if f != "span")
    return False


def bind(m: Machine, tparams: Sequence[ir.TParam], given: Sequence[Value], env: Env) -> tuple[Value, ...]:
    """Bind parameters in ``env.vars``; missing ones take their default or stay open. Returns all arguments."""
    out: list[Value] = []
    rest = list(given)
    for p in tparams:
        if p.pack:
            value: Value = Pack(tuple(rest))
            rest = []
        elif rest:
            value = _typed(m, p, rest.pop(0), env)
        elif p.default is not None:
            value = _typed(m, p, m.eval(p.default, env), env)
        else:
            value = m.recorder.open_parameter(m, p)
        if p.name:
            env.vars[p.name] = value
        out.append(value)
    return tuple(out)


def _typed(m: Machine, p: ir.TParam, value: Value, env: Env) -> Value:
    """A value argument converted to the parameter's declared type."""
    if p.kind == "value" and p.type is not None and not isinstance(p.type, ir.Auto) and not is_type(value):
        typed = m.eval(p.type, env)
        if isinstance(value, int):
            value = Scalar(value, "int")
        if not isinstance(typed, Unknown) and isinstance(value, Scalar):
            return m.dialect.cast(typed, value, p.span)
    return value


def apply_template(m: Machine, ref: TemplateRef, given: tuple[Value, ...], span: Span) -> Value:
    """A class, alias or variable template under arguments."""
    bad = next((g for g in given if isinstance(g, Unknown)), None)
    primary = next((e for e in ref.entries if getattr(e.decl, "spec_args", None) is None), ref.entries[0])
    decl = primary.decl
    if any(type(e.decl) is not type(decl) for e in ref.entries):  # no program: one name, several kinds of template
        ref = replace(ref, entries=tuple(e for e in ref.entries if type(e.decl) is type(decl)))
    if bad is not None and not isinstance(decl, ir.Class):
        return bad
    if isinstance(decl, ir.Class):
        return _class(m, ref, primary, given, span)
    env = Env(primary.env, "template")
    bind(m, decl.tparams or (), given, env)
    key = ("alias", id(decl), type_key(tuple(env.vars.values())))
    if key in m.functions:
        return m.functions[key]
    refused = m.budget.refused
    if isinstance(decl, ir.Alias):
        value = m.eval(decl.target, env)
    else:
        special = _special(m, ref, tuple(env.vars.values()), decl.tparams or (), env)
        if isinstance(special, Unknown):
            return special
        if special is not None:
            decl, env = special[0].decl, special[1]
        value = variable_value(m, decl, env)
    if m.budget.refused == refused:
        m.functions[key] = value
    m.recorder.declared(m, decl, value, env, primary.unit)
    return value


def _class(m: Machine, ref: TemplateRef, primary: Entry, given: tuple[Value, ...], span: Span) -> Value:
    defined = [e for e in ref.entries if not e.decl.forward and e.decl.spec_args is None]
    defaults = next((e for e in ref.entries if any(p.default for p in e.decl.tparams or ())), primary)
    env = Env(primary.env, "template")
    args = bind(m, defaults.decl.tparams or (), given, env)
    special = _special(m, ref, args, defaults.decl.tparams or (), env)
    if isinstance(special, Unknown):
        return special
    if special is not None:
        entry, bound = special
        return classes.instance(m, entry, entry.decl, args, given, entry.env.cls, bound.vars)
    if not defined:
        shown = ref.name
        return Unknown(f"`{shown}` has no definition for these arguments in the scanned files", span)
    entry = defined[0]
    env = Env(entry.env, "template")
    flat: list[Value] = []
    for a in args:
        flat.extend(a.items if isinstance(a, Pack) else (a,))
    args = bind(m, entry.decl.tparams or (), flat, env)
    return classes.instance(m, entry, entry.decl, args, given, entry.env.cls, env.vars)


def _special(
    m: Machine, ref: TemplateRef, args: tuple[Value, ...], tparams: Sequence[ir.TParam], given: Env
) -> tuple[Entry, Env] | Unknown | None:
    """The most specialised specialisation that matches: the one with most structure in its pattern.

    ``tparams`` are the primary template's parameters, bound in ``given``: a pattern may leave out the last ones.
    """
    flat: list[Value] = []
    for a in args:
        flat.extend(a.items if isinstance(a, Pack) else (a,))
    best: tuple[int, Entry, Env] | None = None
    for entry in ref.entries:
        decl = entry.decl
        if getattr(decl, "spec_args", None) is None or getattr(decl, "forward", False):
            continue
        if any(isinstance(p, ir.TypeMod) and p.kind in _QUALIFIERS for p in decl.spec_args):
            continue  # `X<T const>`: types are kept without qualifiers and references
        env = Env(entry.env, "template")
        names = {p.name: p for p in decl.tparams or ()}
        written = len(decl.spec_args)
        short = written < len(flat) == len(tparams) and not any(isinstance(p, ir.Expand) for p in decl.spec_args)
        matched = match_all(m, decl.spec_args, flat[:written] if short else flat, names, env)
        if matched is False or (short and not _are_defaults(m, tparams[written:], flat[written:], given)):
            continue
        if matched is None:
            return _undecided(m, ref, entry, env)
        if any(n and n not in env.vars for n in names):
            bind_missing(m, decl.tparams or (), env)
        score = sum(weight(p, names) for p in decl.spec_args)
        if best is None or score > best[0]:
            best = (score, entry, env)
    return None if best is None else (best[1], best[2])


def _are_defaults(m: Machine, tparams: Sequence[ir.TParam], values: Sequence[Value], env: Env) -> bool:
    for p, value in zip(tparams, values, strict=True):
        if p.default is None:
            return False
        wanted = m.eval(p.default, env)
        if isinstance(wanted, Unknown) or not (same_type(wanted, value) or _related(m, wanted, value)):
            return False
    return True


def _undecided(m: Machine, ref: TemplateRef, entry: Entry, env: Env) -> Unknown:
    """Why it cannot be told whether a specialisation applies."""
    values = [m.eval(p, env) for p in entry.decl.spec_args if _is_trait(m, p, env)]
    why = next((v.reason for v in values if isinstance(v, Unknown)), "")
    return Unknown(f"whether a specialisation of `{ref.name}` applies is not known: {why}", entry.decl.span)


def bind_missing(m: Machine, tparams: Sequence[ir.TParam], env: Env) -> None:
    """Defaults for parameters that deduction left open; SubstitutionFailure passes through."""
    for p in tparams:
        if p.pack and p.name not in env.vars:
            env.vars[p.name] = Pack(())
        elif p.name not in env.vars or not p.name:
            if p.default is not None:
                value = m.eval(p.default, env)
                if p.name:
                    env.vars[p.name] = value
            elif p.name:
                env.vars[p.name] = m.recorder.open_parameter(m, p)


def weight(pattern: ir.Expr, names: dict[str, Any]) -> int:
    if isinstance(pattern, ir.Name) and pattern.ident in names and pattern.targs is None:
        return 0
    if isinstance(pattern, (ir.Name, ir.Scoped)) and pattern.targs:
        return 2 + sum(weight(t, names) for t in pattern.targs)
    if isinstance(pattern, ir.TypeMod):
        own = (pattern.kind in ("ptr", "array")) + (0 if pattern.extra is None else weight(pattern.extra, names))
        return own + weight(pattern.inner, names)
    return 0 if isinstance(pattern, (ir.Auto, ir.Expand)) else 3


def match_all(
    m: Machine, patterns: Sequence[ir.Expr], values: Sequence[Value], names: dict[str, Any], env: Env
) -> bool | None:
    """Match a list of argument patterns, a trailing pack taking the rest; what deduces nothing comes last.

    None: whether they match depends on a condition that is not known.
    """
    later = []
    for i, pattern in enumerate(patterns):
        if isinstance(pattern, ir.Expand):
            inner = pattern.pattern
            rest = values[i:]
            if isinstance(inner, ir.Name) and inner.ident in names:
                if inner.ident in env.vars:
                    return bool(type_key(env.vars[inner.ident]) == type_key(Pack(tuple(rest))))
                env.vars[inner.ident] = Pack(tuple(rest))
                return True
            return True
        if i >= len(values):
            return False
        if _is_trait(m, pattern, env):
            later.append((pattern, values[i]))
        elif not match(m, pattern, values[i], names, env):
            return False
    if len(patterns) != len(values):
        return False
    answers = [_matches_trait(m, p, v, env) for p, v in later]
    return False if False in answers else None if None in answers else True


def _is_trait(m: Machine, pattern: ir.Expr, env: Env) -> bool:
    """``enable_if_t<...>``, ``void_t<...>``, ``typename X<T>::type``: nothing can be deduced from it.

    Of a class template it can, whatever its name (``nv_float4_t<T>``).
    """
    if isinstance(pattern, ir.Scoped) and pattern.targs is None:
        return isinstance(pattern.base, (ir.Name, ir.Scoped)) and pattern.base.targs is not None
    if not isinstance(pattern, (ir.Name, ir.Scoped)) or pattern.targs is None or not pattern.ident.endswith("_t"):
        return False
    named = m.eval(replace(pattern, targs=None), env)
    return not (isinstance(named, TemplateRef) and named.entries and isinstance(named.entries[0].decl, ir.Class))


def _matches_trait(m: Machine, pattern: ir.Expr, value: Value, env: Env) -> bool | None:
    try:
        wanted = m.eval(pattern, env)
    except SubstitutionFailure:
        return False
    if isinstance(wanted, Unknown):
        return False if classes.NO_MEMBER in wanted.reason else None  # substitution fails where a member is missing
    return isinstance(value, Unknown) or same_type(wanted, value) or _related(m, wanted, value)


def match(m: Machine, pattern: ir.Expr, value: Value, names: dict[str, Any], env: Env) -> bool:
    """Match one argument (a type or constant) against a pattern, binding the parameters in ``names``."""
    if isinstance(pattern, ir.Auto):
        return True
    if isinstance(pattern, ir.TypeMod) and pattern.kind in ("const", "volatile", "ref", "rref"):
        return match(m, pattern.inner, value, names, env)
    if isinstance(pattern, ir.TypeMod) and pattern.kind == "ptr":
        return isinstance(value, PtrType) and match(m, pattern.inner, value.inner, names, env)
    if isinstance(pattern, ir.TypeMod) and pattern.kind == "array":
        return _match_array(m, pattern, value, names, env)
    if isinstance(pattern, ir.Name) and pattern.targs is None and pattern.ident in names:
        old = env.vars.get(pattern.ident)
        if isinstance(old, TemplateRef):
            return isinstance(value, TemplateRef) and _same_template(old, value)
        if old is not None:
            return same_type(old, value) or isinstance(old, Unknown) or _same_engine(old, value)
        env.vars[pattern.ident] = value
        return True
    if isinstance(value, Unknown):
        return True
    if isinstance(pattern, (ir.Name, ir.Scoped)) and pattern.targs is not None and set(names_in(pattern)) & set(names):
        return _match_template(m, pattern, value, names, env)
    wanted = _constant_pattern(m, pattern, names, env)
    if isinstance(wanted, Unknown):
        return False
    return same_type(wanted, value) or _related(m, wanted, value)


def _constant_pattern(m: Machine, pattern: ir.Expr, names: dict[str, Any], env: Env) -> Value:
    """What an argument pattern says, kept where it is the same whatever the parameters are: some templates of CUTLASS
    have a hundred specialisations."""
    key = ("pattern", id(pattern))
    if key in m.functions:
        return m.functions[key]
    wanted = m.eval(pattern, env)
    outside = env.parent is not None and env.parent.kind == "namespace"
    if outside and not isinstance(wanted, Unknown) and not mentions(pattern, tuple(names)):
        m.functions[key] = wanted
    return wanted


def _same_engine(a: Value, b: Value) -> bool:
    """The engines of two tensors over pointers of one type, or with as many registers."""
    if not (isinstance(a, ExternType) and isinstance(b, ExternType) and a.name == b.name == "Engine"):
        return False
    return bool(_engine(a.args[0]) == _engine(b.args[0]))


def _engine(tensor: TensorVal) -> tuple[Value, ...]:
    swizzle = None if tensor.pointer is None else tensor.pointer.swizzle
    registers = (tensor.provenance, type_key(tensor.layout)) if tensor.space == "rmem" else None
    return tensor.space, tensor.dtype, swizzle, registers


def _match_array(m: Machine, pattern: ir.TypeMod, value: Value, names: dict[str, Any], env: Env) -> bool:
    """``T[N]``, of an array of arrays its first extent."""
    if not isinstance(value, ArrayType) or value.name or not match(m, pattern.inner, value.inner, names, env):
        return False
    extent = pattern.extra
    if extent is None or isinstance(value.extent, Unknown):
        return extent is None and isinstance(value.extent, Unknown)
    parameter = names.get(extent.ident) if isinstance(extent, ir.Name) and extent.targs is None else None
    number = Scalar(value.extent, "int")
    return match(m, extent, number if parameter is None else _typed(m, parameter, number, env), names, env)


def _related(m: Machine, wanted: Value, value: Value) -> bool:
    return isinstance(wanted, Scalar) and isinstance(value, Scalar) and wanted.value == value.value


def _match_template(m: Machine, pattern: ir.Name | ir.Scoped, value: Value, names: dict[str, Any], env: Env) -> bool:
    for head, args in decompose(value):
        made = _template_of(m, value, head) if pattern.ident in names else None
        old = env.vars.get(pattern.ident) if made is not None else None
        if made is not None and isinstance(old, TemplateRef) and not _same_template(old, made):
            continue
        if made is not None or head == pattern.ident or (head == "tuple" and pattern.ident in TUPLE_HEADS):
            trial = Env(env.parent, "template")
            trial.vars.update(env.vars)
            if match_all(m, pattern.targs or (), args, names, trial):
                env.vars.update(trial.vars)
                if made is not None:
                    env.vars[pattern.ident] = made
                return True
    alias = m.eval(ir.Name(pattern.ident, None, pattern.span), env) if isinstance(pattern, ir.Name) else None
    if isinstance(alias, TemplateRef) and alias.entries and isinstance(alias.entries[0].decl, ir.Alias):
        wanted = m.eval(pattern, env)
        return not isinstance(wanted, Unknown) and same_type(wanted, value)
    return False


def _template_of(m: Machine, value: Value, head: str) -> TemplateRef:
    """The template that a type is an instance of."""
    if isinstance(value, ClassInst):
        found = lookup(m, head, value.entry.env, value.decl.span)
        if isinstance(found, TemplateRef):
            return found
    return TemplateRef(head)


def _same_template(a: TemplateRef, b: TemplateRef) -> bool:
    """By their declarations, where both are of the tree; else by name."""
    if a.entries and b.entries:
        return not {id(e.decl) for e in a.entries}.isdisjoint({id(e.decl) for e in b.entries})
    return a.name == b.name


__all__ = ["SubstitutionFailure", "apply_template", "arguments", "bind", "bind_missing", "expand", "match"]
