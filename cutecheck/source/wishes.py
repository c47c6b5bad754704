"""Bindings given by hand (``--instantiate``, ``// cutecheck: instantiate X<...>``): where their names are looked up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from cutecheck.facts.span import EMBEDDED
from cutecheck.source.cpp.unit import lower_expression
from cutecheck.source.eval import ir
from cutecheck.source.eval.program import Program
from cutecheck.source.eval.scope import Env, Scope

# a name of C++: those of Python (`gemm.Gemm(1)`) are called
_LEAD = re.compile(r"\s*(?:::)?\s*([A-Za-z_]\w*(?:\s*::\s*[A-Za-z_]\w*)*)\s*(?=<|$)")


def wishes(program: Program, texts: tuple[str, ...]) -> list[tuple[ir.Instantiate, tuple[Env, ...]]]:
    """What is to be instantiated, with the scopes to look it up in: its own first.

    A name that is not visible there is that of the one namespace which declares it, with the qualifiers written. Of
    ``texts`` those are meant whose name the program declares.
    """
    found = []
    for wish, scope, _ in program.instantiate:
        # else it is of another architecture, or of a kernel in a string, whose comment is made here
        known = EMBEDDED not in wish.span.path and named(program, wish.asked)
        one = wish if known else replace(wish, asked="")
        found.append((one, (scope.env, *_elsewhere(program, wish.asked))))
    for text in texts:
        if named(program, text):
            target = lower_expression(text, "<instantiate>")
            wish = ir.Instantiate(target, target.span, asked=text)
            found.append((wish, (program.root.env, *_elsewhere(program, text))))
    return found


def named(program: Program, text: str) -> bool:
    """Whether the class or function that a binding names is declared in the program."""
    *_, name = _parts(text) or ("",)
    return any(name in scope.decls for scope in _scopes(program))


def declared(program: Program, text: str) -> list[str]:
    """The names with their namespaces, sorted, that end in the name which a binding has."""
    *_, name = _parts(text) or ("",)
    return sorted("::".join([*_path(s), name]) for s in _scopes(program) if name in s.decls)


def _elsewhere(program: Program, text: str) -> tuple[Env, ...]:
    parts = _parts(text)
    if not parts:
        return ()
    *owners, name = parts
    found = [s for s in _scopes(program) if name in s.decls and _path(s)[len(_path(s)) - len(owners) :] == owners]
    if len(found) != 1:
        return ()
    at: Scope | None = found[0]
    for _ in owners:
        at = at.parent if at is not None else None
    return () if at is None else (at.env,)


def _path(scope: Scope) -> list[str]:
    return [part for part in scope.path.split("::") if part]


def _parts(text: str) -> list[str]:
    lead = _LEAD.match(text)
    return [] if lead is None else [part.strip() for part in lead[1].split("::")]


def _scopes(program: Program) -> Iterator[Scope]:
    stack = [program.root]
    while stack:
        at = stack.pop()
        yield at
        stack.extend(at.children.values())
