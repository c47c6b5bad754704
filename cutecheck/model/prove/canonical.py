"""Obligations up to the numbers that keep the names of variables apart.

The same place of a kernel asks the same question in each of its instantiations, of ``iteration#12`` in one and of
``iteration#57`` in the next. Numbers become their ranks in the question; what is proved of that holds of every
obligation it stands for, and the answer is spelled with the names of each.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

from cutecheck.model.expr import Domain, Expr
from cutecheck.model.expr.arithmetic import build
from cutecheck.model.expr.terms import Atom, Op, Var
from cutecheck.model.identity import once
from cutecheck.model.ints import Dyn, Sym, wrap
from cutecheck.model.prove.obligation import Obligation

_NUMBERED = re.compile(r"[#~]\??\d+")  # ends of names: `#12` in all threads of a warp, `~12` in each its own
_DIGITS = "0123456789"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Canonical:
    """An obligation, the hash of what it asks, and the names it asks it with.

    ``ends`` has the canonical end of a name by the one that was given, ``names`` the given one by the canonical.
    """

    given: Obligation
    question: str
    ends: Mapping[str, str]
    names: Mapping[str, str]


@once
def canonical(obligation: Obligation) -> Canonical:
    """The question of an obligation. Questions that differ in numbers of names alone are equal."""
    o = obligation
    asked = (o.property, o.objects, o.params, o.hypotheses, o.assumptions, o.arch)
    text = "\x1f".join(map(repr, asked))
    ends = _ends(text)
    text = renamed(text, ends)
    question = hashlib.sha256(text.encode()).hexdigest()[:16]
    return Canonical(obligation, question, ends, {new: old for old, new in ends.items()})


@once
def restated(asked: Canonical) -> Obligation:
    """The obligation with canonical names."""
    o, ends = asked.given, asked.ends
    if not ends:
        return o
    return replace(
        o,
        objects=renamed(o.objects, ends),
        params=tuple(sorted(renamed(o.params, ends))),
        hypotheses=renamed(o.hypotheses, ends),
        assumptions=renamed(o.assumptions, ends),
    )


def unnumbered(value: _T) -> tuple[_T, Mapping[str, str]]:
    """Plain data with canonical names, and the ends of names that were there by those that are there now."""
    ends = _ends(repr(value))
    return renamed(value, ends), {new: old for old, new in ends.items()}


def _ends(text: str) -> dict[str, str]:
    """The canonical end of every numbered name in a text; nothing where all are canonical."""
    given = sorted({hit.group() for hit in _NUMBERED.finditer(text)}, key=_number)  # in the order of a walk
    ends = {end: f"{end.rstrip(_DIGITS)}{i:03}" for i, end in enumerate(given)}
    return {} if all(old == new for old, new in ends.items()) else ends


def question(obligation: Obligation) -> str:
    """A hash of what is asked alone; obligations of different places with one question share an answer."""
    return canonical(obligation).question


def renamed(value: _T, ends: Mapping[str, str]) -> _T:
    """Plain data with the ends of all names in it (also in texts) replaced, all at once."""
    return _renamed(value, ends) if ends else value


def _number(end: str) -> tuple[bool, int, str]:
    return "?" in end, int(end.lstrip("#~?")), end  # those with `?` are counted apart


def _renamed(value: Any, ends: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        if "#" not in value and "~" not in value:
            return value
        return _NUMBERED.sub(lambda hit: ends.get(hit.group(), hit.group()), value)
    if isinstance(value, Expr):
        return _expression(value, ends)
    if isinstance(value, (Dyn, Sym)):
        return wrap(_expression(value.expr, ends), isinstance(value, Dyn))
    if isinstance(value, tuple):
        return tuple(_renamed(v, ends) for v in value)
    if isinstance(value, Var):
        return Var(_renamed(value.name, ends), value.domain)
    if is_dataclass(value) and not isinstance(value, (type, Domain)):
        changed = {}
        for field in fields(value):
            old = getattr(value, field.name)
            new = _renamed(old, ends)
            if new is not old and new != old:
                changed[field.name] = new
        return replace(value, **changed) if changed else value
    return value


def _expression(e: Expr, ends: Mapping[str, str]) -> Expr:
    return build({tuple(sorted((_atom(a, ends) for a in monomial), key=str)): factor for monomial, factor in e.terms})


def _atom(atom: Atom, ends: Mapping[str, str]) -> Atom:
    if isinstance(atom, Var):
        return Var(_renamed(atom.name, ends), atom.domain)
    return Op(atom.kind, tuple(_expression(a, ends) for a in atom.args), _renamed(atom.label, ends))
