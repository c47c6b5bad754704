"""What instantiations have in common whose arguments are made of the same class templates.

A kernel library instantiates the same collectives over and over, with other tiles and element types. They resolve the
same sites, so of many that are alike a few are walked (``max-alike``; the dropped ones are counted).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from cutecheck.source.eval import ir
from cutecheck.source.eval.launches import WORKS
from cutecheck.source.eval.machine import Machine, Telling
from cutecheck.source.eval.scope import ClassInst, Entry, Env
from cutecheck.source.eval.types import spell
from cutecheck.source.eval.values import EnumVal, FuncSet, Object, Pack, ScalarType, ValueType

_DEEP = 12
_COMPUTES = frozenset({"kernel", "constexpr", "device"})  # types may be made of what such a function returns


def kind_of(m: Machine, name: str, values: Iterable[Any]) -> str:
    """The same for instantiations of ``name`` whose arguments name the same classes and element widths.

    Only classes that tell kinds apart (``History.tells``) are named.
    """
    found: set[str] = set()
    todo = [(v, 0) for v in values]
    seen: set[int] = set()
    while todo:
        value, depth = todo.pop()
        if isinstance(value, Object):
            value = value.cls
        if isinstance(value, ScalarType):
            found.add(str(value.dtype.bits))
        elif isinstance(value, EnumVal):
            found.add(f"{value.enum}::{value.name}")
        elif isinstance(value, ClassInst) and id(value) not in seen:
            seen.add(id(value))
            at = value.decl.span
            told = m.history.tells(value)
            if told is not Telling.NOTHING:
                found.add(f"{WORKS if told is Telling.WORKS else ''}{at.path}:{at.line}:{at.column}")
            if depth < _DEEP:
                todo += [(v, depth + 1) for v in (*value.args, value.outer)]
        elif isinstance(value, (tuple, Pack, ValueType)) and depth < _DEEP:
            inside = value if isinstance(value, tuple) else value.items if isinstance(value, Pack) else (value.value,)
            todo += [(v, depth + 1) for v in inside]
    return " ".join((name, *sorted(found)))


def element_types(values: Iterable[Any], depth: int = 0) -> dict[str, int]:
    """The names of the element types that template arguments are made of, in their order, with their widths in bits."""
    found: dict[str, int] = {}
    for value in values:
        if isinstance(value, ScalarType) and value.dtype.bits is not None:
            found.setdefault(spell(value), int(value.dtype.bits))
        elif isinstance(value, ClassInst) and depth < _DEEP:
            found.update({k: v for k, v in element_types(value.args, depth + 1).items() if k not in found})
    return found


def without_elements(types: str, elements: Mapping[str, int]) -> str:
    """The same for template arguments that differ in element types of one width alone."""
    if not elements:
        return types
    names = "|".join(re.escape(n) for n in sorted(elements, key=len, reverse=True))
    return re.sub(rf"(?<![\w:])(?:{names})(?![\w:])", lambda at: f"{elements[at[0]]}-bit", types)


def host_kind(m: Machine, entry: Entry, fn: ir.Function, env: Env, fset: FuncSet) -> str | None:
    """What a call of a host template by the start of an evaluation is alike to; None for any other call."""
    caller = m.recorder.frame
    if caller is None or caller.caller is not None or caller.kernel or m.recorder.rehearsal or fn.flags & _COMPUTES:
        return None
    own = [env.vars[p.name] for p in fn.tparams or () if p.name in env.vars]
    outer = fset.self_.cls if isinstance(fset.self_, Object) else entry.env.cls
    if not own and (outer is None or not outer.args):
        return None
    if isinstance(caller.function, ir.Function) and caller.function.tparams:
        return None
    return kind_of(m, f"{fn.span}:{fn.name}", (*own, outer))
