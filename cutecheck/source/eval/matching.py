"""Types and constants against patterns of template arguments: what is deduced from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cutecheck.facts import Unknown
from cutecheck.source.eval import class_arguments, classes, ir
from cutecheck.source.eval.heads import names_it, same_template, sized, template_of
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.mentions import mentions, names_in
from cutecheck.source.eval.qualified import note, plain, without
from cutecheck.source.eval.scope import ClassInst, Entry, Env
from cutecheck.source.eval.spelled import written
from cutecheck.source.eval.spellings import decompose
from cutecheck.source.eval.tensor_types import alike
from cutecheck.source.eval.types import is_type, same_type, type_key, type_of
from cutecheck.source.eval.values import (
    ArrayType,
    FuncSet,
    Object,
    Pack,
    PtrType,
    Scalar,
    ScalarType,
    SubstitutionFailure,
    TemplateRef,
    Value,
    ValueType,
)

_NOT_OF_NUMBERS = "is known of a scalar"
_COUNTED = ("array", "array_aligned")  # templates of a type and a size_t


def typed(m: Machine, p: ir.TParam, value: Value, env: Env) -> Value:
    """A value argument converted to the parameter's declared type."""
    if p.kind == "value" and p.type is not None and not isinstance(p.type, ir.Auto) and not is_type(value):
        typed = m.eval(p.type, env)
        if isinstance(value, int):
            value = Scalar(value, "int")
        if isinstance(typed, (ClassInst, TemplateRef)) and m.dialect.by_value and not isinstance(value, Unknown):
            return class_arguments.made(m, typed, value, p.span)
        if not isinstance(typed, Unknown) and isinstance(value, Scalar):
            return m.dialect.cast(typed, value, p.span)
    return value


def weight(pattern: ir.Expr, names: dict[str, Any]) -> int:
    if isinstance(pattern, ir.Name) and pattern.ident in names and pattern.targs is None:
        return 0
    if isinstance(pattern, (ir.Name, ir.Scoped)) and pattern.targs:
        return 2 + sum(weight(t, names) for t in pattern.targs)
    if isinstance(pattern, ir.TypeMod):
        own = (pattern.kind in ("ptr", "array")) + (0 if pattern.extra is None else weight(pattern.extra, names))
        return own + weight(pattern.inner, names)
    if isinstance(pattern, ir.Expand):
        return -1  # any number of arguments
    return 0 if isinstance(pattern, ir.Auto) else 3


def marks(pattern: ir.Expr) -> int:
    """How many qualifiers and references a pattern has: ``T const&`` is more than ``T&``."""
    pattern = pattern.pattern if isinstance(pattern, ir.Expand) else pattern
    return 0 if not isinstance(pattern, ir.TypeMod) else (pattern.kind not in ("ptr", "array")) + marks(pattern.inner)


def weights(patterns: Sequence[ir.Expr], names: dict[str, Any]) -> int:
    """How much structure a list of patterns has; a parameter that stands in it twice is structure, too."""
    used = [name for p in patterns for name in names_in(p) if name in names]
    return sum(weight(p, names) for p in patterns) + len(used) - len(set(used))


_Postponed = list[tuple[ir.Expr, Value]]


def match_all(
    m: Machine,
    patterns: Sequence[ir.Expr],
    values: Sequence[Value],
    names: dict[str, Any],
    env: Env,
    around: _Postponed | None = None,
    strict: bool = False,
) -> bool | None:
    """Match a list of argument patterns, a trailing pack taking the rest; what deduces nothing comes last.

    None: whether they match depends on a condition that is not known. ``around``: what the patterns around are to ask
    last, where these are a part of one. ``strict``: the types of ``values`` have their qualifiers and references.
    """
    later: _Postponed = []
    sure = True
    for i, pattern in enumerate(patterns):
        if isinstance(pattern, ir.Expand):
            answer = _match_rest(m, pattern.pattern, values[i:], names, env, strict)
            if answer is False:
                return False
            sure = sure and answer is not None
            break
        if i >= len(values):
            return False
        if is_trait(m, pattern, env):
            later.append((pattern, values[i]))
        else:
            answer = match(m, pattern, values[i], names, env, later, strict)
            if answer is False:
                return False
            sure = sure and answer is not None
    else:
        if len(patterns) != len(values):
            return False
    if around is not None:
        around += [(p, v) for p, v in later if _open(p, names, env)]
        later = [(p, v) for p, v in later if not _open(p, names, env)]
    answers = [_matches_trait(m, p, v, env) for p, v in later]
    return False if False in answers else None if None in answers or not sure else True


def _match_rest(
    m: Machine, pattern: ir.Expr, values: Sequence[Value], names: dict[str, Any], env: Env, strict: bool = False
) -> bool | None:
    """The last pattern, of a pack, and all the values that are left."""
    if not isinstance(pattern, ir.Name) or pattern.ident not in names:
        return match_each(m, pattern, values, names, env, strict)
    if pattern.ident in env.vars:
        return bool(type_key(env.vars[pattern.ident]) == type_key(Pack(tuple(values))))
    env.vars[pattern.ident] = Pack(tuple(values))
    return True


def _open(pattern: ir.Expr, names: dict[str, Any], env: Env) -> bool:
    """Whether a pattern names parameters that are not deduced yet."""
    return any(name in names and name not in env.vars for name in names_in(pattern))


def match_each(
    m: Machine, pattern: ir.Expr, values: Sequence[Value], names: dict[str, Any], env: Env, strict: bool = False
) -> bool | None:
    """``Int<Ns>...``: every value against the pattern, what each parameter of it is in a pack."""
    own = [name for name in names_in(pattern) if name in names and name not in env.vars]
    found: dict[str, list[Value]] = {name: [] for name in own}
    for value in values:
        trial = Env(env.parent, "template")
        trial.vars.update(env.vars)
        answer = match(m, pattern, value, names, trial, strict=strict)
        if not answer:
            return answer
        if any(name not in trial.vars for name in own):
            return None
        for name in own:
            found[name].append(trial.vars[name])
    env.vars.update((name, Pack(tuple(items))) for name, items in found.items())
    return True


def is_trait(m: Machine, pattern: ir.Expr, env: Env) -> bool:
    """``enable_if_t<...>``, ``void_t<...>``, ``typename X<T>::type``: nothing can be deduced from it.

    Of a class template it can, whatever its name (``nv_float4_t<T>``).
    """
    if isinstance(pattern, ir.Scoped) and pattern.targs is None:
        return isinstance(pattern.base, (ir.Name, ir.Scoped)) and pattern.base.targs is not None
    if not isinstance(pattern, (ir.Name, ir.Scoped)) or pattern.targs is None or not pattern.ident.endswith("_t"):
        return False
    named = m.eval(replace(pattern, targs=None), env)
    if not isinstance(named, TemplateRef) or not named.entries:
        return True
    entry = named.entries[0]
    if isinstance(entry.decl, ir.Alias) and isinstance(entry.decl.target, (ir.Name, ir.Scoped)):
        return entry.decl.target.targs is None or is_trait(m, entry.decl.target, entry.env)
    return not isinstance(entry.decl, ir.Class)


def _matches_trait(m: Machine, pattern: ir.Expr, value: Value, env: Env) -> bool | None:
    if _asks_number(pattern, env):
        return None
    try:
        wanted = m.eval(pattern, env)
    except SubstitutionFailure:
        return False
    if isinstance(wanted, Unknown):
        missing = classes.NO_MEMBER in wanted.reason or wanted.reason.endswith(_NOT_OF_NUMBERS)
        return False if missing else None  # substitution fails where a member is missing
    return isinstance(value, Unknown) or same_type(wanted, plain(value)) or related(m, wanted, value)


def _asks_number(pattern: ir.Expr, env: Env) -> bool:
    """``void_t<typename T::type>`` of a number: none has members, but what a trait gives stands for the trait, too."""
    for a in getattr(pattern, "targs", None) or ():
        if isinstance(a, ir.Scoped) and a.ident == "type" and isinstance(a.base, ir.Name) and a.base.targs is None:
            return isinstance(env.vars.get(a.base.ident), (ScalarType, PtrType))
    return False


def match(
    m: Machine,
    pattern: ir.Expr,
    value: Value,
    names: dict[str, Any],
    env: Env,
    around: _Postponed | None = None,
    strict: bool = False,
) -> bool | None:
    """Match one argument (a type or constant) against a pattern, binding the parameters in ``names``.

    None: whether it matches is not known. ``around``, ``strict``: see :func:`match_all`.
    """
    if isinstance(pattern, ir.Auto):
        return True
    if not strict:
        value = plain(value)
    if isinstance(pattern, ir.TypeMod) and pattern.kind in ("const", "volatile", "ref", "rref"):
        rest = without(value, pattern.kind) if strict else value
        return False if rest is None else match(m, pattern.inner, rest, names, env, around, strict)
    if isinstance(pattern, ir.TypeMod) and (of := _function(pattern)) is not None:
        from cutecheck.source.eval.function_types import match_function

        return match_function(m, of, value, names, env)
    if isinstance(pattern, ir.TypeMod) and pattern.kind == "ptr":
        if isinstance(pattern.inner, ir.Name) and _names_function(value):
            return match(m, pattern.inner, value, names, env, around, strict)
        return isinstance(value, PtrType) and match(m, pattern.inner, value.inner, names, env, around, strict)
    if isinstance(pattern, ir.TypeMod) and pattern.kind == "array":
        return _match_array(m, pattern, value, names, env, strict)
    if isinstance(pattern, ir.Name) and pattern.targs is None and pattern.ident in names:
        if not _typed_alike(m, names[pattern.ident], value, names, env):
            return False
        old = env.vars.get(pattern.ident)
        if isinstance(old, TemplateRef):
            return isinstance(value, TemplateRef) and same_template(old, value)
        if old is not None:
            old = old if strict else plain(old)
            return isinstance(old, Unknown) or alike(old, value)
        env.vars[pattern.ident] = value
        note(env, pattern.ident)
        return True
    if isinstance(value, Unknown):
        return True
    if isinstance(pattern, (ir.Name, ir.Scoped)) and pattern.targs is not None and set(names_in(pattern)) & set(names):
        return _match_template(m, pattern, value, names, env, around)
    wanted = _constant_pattern(m, pattern, names, env)
    wanted = wanted if strict else plain(wanted)
    if isinstance(wanted, Unknown):
        return False
    if isinstance(wanted, Object) and isinstance(value, Object):
        wanted = class_arguments.settled(m, wanted)
        known = class_arguments.is_settled(wanted) and class_arguments.is_settled(value)
        return wanted is value if known or wanted.cls is not value.cls else None
    return same_type(wanted, value) or related(m, wanted, value)


def _names_function(value: Value) -> bool:
    """The type of one function, which stands for that of a pointer to it, too (``template <class K> f(K* kernel)``)."""
    held = value.value if isinstance(value, ValueType) else value
    return isinstance(held, FuncSet) and len(held.entries) == 1


def _function(pattern: ir.TypeMod) -> ir.TypeMod | None:
    """The type of a function, or of a pointer to one."""
    bare = pattern.inner if pattern.kind == "ptr" else pattern
    return bare if isinstance(bare, ir.TypeMod) and bare.kind == "function" else None


def _typed_alike(m: Machine, p: object, value: Value, names: dict[str, Any], env: Env) -> bool:
    """``template <class T, T v>``: the type is deduced from the constant, too."""
    own = p.type if isinstance(p, ir.TParam) and p.kind == "value" else None
    if not isinstance(own, ir.Name) or own.ident not in names or not isinstance(value, Scalar):
        return True
    return match(m, own, type_of(value), names, env) is not False


def _constant_pattern(m: Machine, pattern: ir.Expr, names: dict[str, Any], env: Env) -> Value:
    """What an argument pattern says, kept where it is the same whatever the parameters are: some templates of CUTLASS
    have a hundred specialisations."""
    key = ("pattern", id(pattern))
    if key in m.functions:
        return m.functions[key]
    wanted = written(m, pattern, env)
    outside = env.parent is not None and env.parent.kind == "namespace"
    if outside and not isinstance(wanted, Unknown) and not mentions(pattern, tuple(names)):
        m.functions[key] = wanted
    return wanted


def _match_array(
    m: Machine, pattern: ir.TypeMod, value: Value, names: dict[str, Any], env: Env, strict: bool
) -> bool | None:
    """``T[N]``, of an array of arrays its first extent."""
    if (
        not isinstance(value, ArrayType)
        or value.name
        or not match(m, pattern.inner, value.inner, names, env, None, strict)
    ):
        return False
    extent = pattern.extra
    if extent is None or isinstance(value.extent, Unknown):
        return extent is None and isinstance(value.extent, Unknown)
    parameter = names.get(extent.ident) if isinstance(extent, ir.Name) and extent.targs is None else None
    number = Scalar(value.extent, "size_t")
    return match(m, extent, number if parameter is None else typed(m, parameter, number, env), names, env)


def sized_later(pattern: ir.Expr, names: dict[str, Any], env: Env) -> bool:
    """``T (&a)[sizeof...(I)]``: nothing is deduced from an extent that is computed of parameters others deduce."""
    while isinstance(pattern, ir.TypeMod) and pattern.kind in ("const", "ref", "rref"):
        pattern = pattern.inner
    extent = pattern.extra if isinstance(pattern, ir.TypeMod) and pattern.kind == "array" else None
    return extent is not None and not isinstance(extent, ir.Name) and _open(extent, names, env)


def related(m: Machine, wanted: Value, value: Value) -> bool:
    return isinstance(wanted, Scalar) and isinstance(value, Scalar) and wanted.value == value.value


def _match_template(
    m: Machine,
    pattern: ir.Name | ir.Scoped,
    value: Value,
    names: dict[str, Any],
    env: Env,
    around: _Postponed | None,
) -> bool | None:
    for head, args in decompose(value):
        made = template_of(m, value, head) if pattern.ident in names else None
        old = env.vars.get(pattern.ident) if made is not None else None
        if made is not None and isinstance(old, TemplateRef) and not same_template(old, made):
            continue
        may_be_pair = head == "tuple" and pattern.ident == "pair" and len(args) == 2  # one that lost its name
        if made is not None or may_be_pair or names_it(m, head, pattern, env):
            trial = Env(env.parent, "template")
            trial.vars.update(env.vars)
            if head in _COUNTED and not sized(m, pattern, names, env):
                continue
            patterns = pattern.targs or ()
            if not any(isinstance(p, ir.Expand) for p in patterns):
                args = _defaulted(m, value, head, len(patterns), args)
            left: _Postponed | None = None if around is None else []
            answer = match_all(m, patterns, args, names, trial, left, isinstance(value, ClassInst))
            if answer is None or (answer and may_be_pair):
                return None
            if answer:
                env.vars.update(trial.vars)
                if around is not None and left:
                    around += left
                if made is not None:
                    env.vars[pattern.ident] = made
                return True
    alias = m.eval(replace(pattern, targs=None), env)
    if isinstance(alias, TemplateRef) and alias.entries and isinstance(alias.entries[0].decl, ir.Alias):
        through = _through_alias(m, pattern, alias.entries[0], value, names, env, around)
        if through is not None:
            return through
        wanted = m.eval(pattern, env)
        return not isinstance(wanted, Unknown) and same_type(wanted, value)
    return False


def _through_alias(
    m: Machine,
    pattern: ir.Name | ir.Scoped,
    alias: Entry,
    value: Value,
    names: dict[str, Any],
    env: Env,
    around: _Postponed | None,
) -> bool | None:
    """``int_c<N>`` where ``template <int V> using int_c = integral_constant<int, V>``: what the alias stands for gives
    the alias's parameters, these those of the pattern. None where it does not give them all.
    """
    decl = alias.decl
    own = {p.name: p for p in decl.tparams or () if p.name}
    targs = pattern.targs or ()
    packs = any(isinstance(t, ir.Expand) for t in targs)
    if len(own) != len(decl.tparams or ()) or is_trait(m, decl.target, alias.env):
        return None
    inner = Env(alias.env, "template")
    answer = match(m, decl.target, value, own, inner)
    if not answer or any(name not in inner.vars for name in own):
        return False if answer is False else None
    found = [v for name in own for v in _items(inner.vars[name])]
    if len(found) != len(targs) and not packs:
        return None
    trial = Env(env.parent, "template")
    trial.vars.update(env.vars)
    answer = match_all(m, targs, found, names, trial, around)
    if answer:
        env.vars.update(trial.vars)
    return answer


def _items(value: Value) -> tuple[Value, ...]:
    return value.items if isinstance(value, Pack) else (value,)


def are_defaults(m: Machine, tparams: Sequence[ir.TParam], values: Sequence[Value], env: Env) -> bool:
    """Whether the last arguments of a template are what follows from those before, which are bound in ``env``."""
    for p, value in zip(tparams, values, strict=True):
        if p.default is None:
            return False
        wanted = written(m, p.default, env)
        if isinstance(wanted, Unknown) or not (same_type(wanted, value) or related(m, wanted, value)):
            return False
    return True


def _defaulted(m: Machine, value: Value, head: str, written: int, args: tuple[Value, ...]) -> tuple[Value, ...]:
    """The arguments that a pattern of so many names: ``Array<T, N>`` leaves out the last where it is the default."""
    if not isinstance(value, ClassInst) or written >= len(args):
        return args
    declared = next(
        (e for e in template_of(m, value, head).entries if any(p.default for p in e.decl.tparams or ())), None
    )
    if declared is None or len(declared.decl.tparams) != len(args):
        return args
    env = Env(declared.env, "template")
    tparams = declared.decl.tparams
    env.vars.update((p.name, a) for p, a in zip(tparams, args, strict=True) if p.name)
    return args[:written] if are_defaults(m, tparams[written:], args[written:], env) else args
