"""What makes two launches of a kernel the same: equal arguments, up to the names of run-time numbers and buffers."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import fields, is_dataclass
from typing import Any

from cutecheck.facts import Span, Unknown
from cutecheck.model.ints import Dyn, Sym
from cutecheck.model.units import Bits, Bytes
from cutecheck.source.dsl.values import HostCute, Module
from cutecheck.source.eval.scope import ClassInst, Env
from cutecheck.source.eval.values import Closure, Extern, FuncSet, Object, Pointer, Value

_NUMBER = re.compile(r"\d+")
_MOST = 20_000  # parts of one launch's arguments
_PLAIN = (str, int, float, bool, type(None), Bits, Bytes)


class Unlike(Exception):
    """The arguments hold something of which nothing says what it equals."""


class _Reader:
    """One set of arguments: objects are told by the order in which they are met, as names are."""

    def __init__(self, *, lasting: bool = False) -> None:
        self.lasting = lasting
        self.met: dict[int, int] = {}
        self.names: dict[str, int] = {}
        self.parts = 0

    def of(self, node: Any) -> Hashable:
        """What is declared or written in the source: itself, or, where another process is to know it, its place."""
        return f"{node.span}" if self.lasting else id(node)

    def name(self, text: str) -> str:
        """A name whose numbers were drawn, by the order in which it is met; of an extent without its tensor's name."""
        plain = text.rpartition(".")[2] if "[" in text else text
        return f"{_NUMBER.sub('', plain)} {self.names.setdefault(text, len(self.names))}"

    def all(self, values: Iterable[Any]) -> tuple[Hashable, ...]:
        return tuple(self.read(v) for v in values)

    def once(self, v: Any, what: str) -> Hashable | None:
        """How something was met before, in a word; None the first time."""
        known = self.met.get(id(v))
        if known is not None:
            return (what, known)
        self.met[id(v)] = len(self.met)
        return None

    def read(self, v: Value) -> Hashable:
        self.parts += 1
        if self.parts > _MOST:
            raise Unlike
        if isinstance(v, _PLAIN):
            return (type(v).__name__, v)
        if isinstance(v, (tuple, list, set, frozenset, range)):
            return (type(v).__name__, *self.all(v))
        if isinstance(v, dict):
            return ("dict", *self.all(v.keys()), *self.all(v.values()))
        if isinstance(v, (Dyn, Sym)):
            return (type(v).__name__, self._expression(v))
        if isinstance(v, Object):
            return self.once(v, "object") or ("object", self.of(v.cls.decl), self.read(v.pointer), self.read(v.fields))
        if isinstance(v, ClassInst):
            return ("class", self.of(v.decl))
        if isinstance(v, FuncSet):
            of = tuple((self.of(e.decl), self._around(e.env)) for e in v.entries)
            return ("function", of, self.read(v.self_))
        if isinstance(v, Closure):
            return ("lambda", self.of(v.node), self._around(v.env))
        if isinstance(v, (Module, Extern)):
            return (type(v).__name__, v.name if isinstance(v, Module) else v.what)
        if isinstance(v, Unknown):
            return ("unknown", v.reason)
        if isinstance(v, Pointer):
            rest = (v.space, v.type, v.offset, v.align, v.swizzle)
            return ("pointer", self.name(v.buffer), *self.all(rest))
        if isinstance(v, HostCute):
            known = self.once(v, "tensor")
            return known or ("tensor", *self.all((v.shape, v.stride, v.dtype, v.align, v.concrete)))
        if isinstance(v, Span):
            return "span"
        if is_dataclass(v) and not isinstance(v, type):
            return (type(v).__name__, *self.all(getattr(v, f.name) for f in fields(v)))
        try:
            hash(v)
        except TypeError:
            raise Unlike from None
        return (v,)

    def _expression(self, v: Dyn | Sym) -> Hashable:
        text = str(v.expr)
        found = sorted(v.expr.variables(), key=lambda x: (text.find(x.name), -len(x.name)))
        domains = []
        for x in found:
            text = text.replace(x.name, self.name(x.name))
            domains.append(x.domain)
        return (text, *domains)

    def _around(self, env: Env) -> Hashable:
        """The variables that a function made inside another one sees; those of its module are one thing a run."""
        out: list[Hashable] = []
        at: Env | None = env
        while at is not None and at.kind not in ("namespace", "class"):
            known = self.once(at.vars, "variables")
            if known is not None:
                return (*out, known)
            out.append(self.read(dict(sorted(at.vars.items(), key=lambda x: str(x[0])))))
            at = at.parent
        return tuple(out)


def likeness(values: Iterable[Value], *, lasting: bool = False) -> Hashable | None:
    """Equal for equal arguments; None where that cannot be told. ``lasting``: in other processes, too."""
    try:
        return _Reader(lasting=lasting).all(values)
    except (Unlike, RecursionError):
        return None
