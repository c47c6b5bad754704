"""Types of functions as patterns: ``void (*kernel)(Params...)`` deduces what a function takes."""

from __future__ import annotations

from typing import Any

from cutecheck.facts import Unknown
from cutecheck.source.eval import ir, matching
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.mentions import names_in
from cutecheck.source.eval.qualified import note
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.spelled import written
from cutecheck.source.eval.values import FuncSet, SubstitutionFailure, Value, ValueType

_Signature = tuple[Value, list[Value]]  # what a function gives, and takes


def match_function(m: Machine, pattern: ir.TypeMod, value: Value, names: dict[str, Any], env: Env) -> bool:
    """A function against ``R(Params...)``. Where its type is not known the parameters are not, either: no pack of
    them is empty for that."""
    fn = value.value if isinstance(value, ValueType) else value  # that stands for its type
    found = _signature(m, fn) if isinstance(fn, FuncSet) else None
    if found is not None and pattern.params is not None:
        gives, takes = found
        trial = Env(env.parent, "template")
        trial.vars.update(env.vars)
        fits = matching.match(m, pattern.inner, gives, names, trial, strict=True)
        fits = fits and matching.match_all(m, pattern.params, takes, names, trial, strict=True)
        if fits is not None:
            env.vars.update(trial.vars)
            return fits
    for name in names_in(pattern):
        if name in names and name not in env.vars:
            env.vars[name] = Unknown("the type of a function is not known", pattern.span)
            note(env, name)
    return True


def _signature(m: Machine, value: FuncSet) -> _Signature | None:
    """The only function of the name under the template arguments that are given."""
    from cutecheck.source.eval import templates

    if len(value.entries) != 1 or value.cls is not None:
        return None
    entry = value.entries[0]
    fn = entry.decl
    if not isinstance(fn, ir.Function) or fn.ret is None:
        return None
    env = Env(entry.env, "template")
    try:
        if fn.tparams:
            if sum(not p.pack and p.default is None for p in fn.tparams) > len(value.targs or ()):
                return None
            templates.bind(m, fn.tparams, value.targs or (), env)
            if any(p.name and isinstance(env.vars.get(p.name, Unknown("")), Unknown) for p in fn.tparams):
                return None
        takes: list[Value] = []
        for p in fn.params:
            t = p.type.pattern if isinstance(p.type, ir.Expand) else p.type
            while isinstance(t, ir.TypeMod) and t.kind in ("const", "volatile"):
                t = t.inner  # which is none of the function's type
            if t is None or isinstance(t, ir.Auto) or p.kind == "varargs":
                return None
            takes += templates.expand(m, t, env, written) if p.pack else [written(m, t, env)]
        gives = written(m, fn.ret, env)
    except SubstitutionFailure:
        return None
    return None if any(isinstance(v, Unknown) for v in (gives, *takes)) else (gives, takes)
