"""Frozen values as JSON text and back: facts, layouts, expressions.

Equal parts are written once. Only dataclasses and enumerations of the modules below are ever made when reading, by
their own constructors: text from anywhere can at worst fail to decode.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Any

from cutecheck.model.basis import Underscore, X
from cutecheck.model.ints import Dyn, Typed
from cutecheck.model.units import Quantity

_MODULES = (
    "cutecheck.model.",
    "cutecheck.facts.",
    "cutecheck.findings",
    "cutecheck.report.data",
    "cutecheck.source.collect",
    "cutecheck.source.cpp.errors",
    "cutecheck.source.translate",
    "cutecheck.source.eval.handed",
    "cutecheck.source.eval.launches",
    "cutecheck.source.eval.linkage",
    "cutecheck.source.eval.values",
    "cutecheck.source.dsl.values",
    "cutecheck.source.eval.intrinsics.dsl_ops",
)
_TUPLE, _LIST, _DICT, _SET, _FROZEN, _UNDERSCORE, _RATIO, _TEXT = "t", "l", "d", "s", "f", "_", "/", "="
_SHORT = 24  # characters: longer texts are written once, as other parts are


_EXACT = (str, int, type(None))  # keys tell these apart; True is 1 and 1.0 to them


class DecodeError(ValueError):
    """The text is no value that was encoded by this program."""


def encode(value: object) -> str:
    """The text of a value. TypeError where it has parts that are none of these kinds."""
    writer = _Writer()
    root = writer.reference(value)
    return json.dumps([writer.names, writer.nodes, root], separators=(",", ":"))


def decode(text: str) -> Any:
    """The value of a text that :func:`encode` made. DecodeError for any other."""
    try:
        names, nodes, root = json.loads(text)
        made: list[Any] = []

        def value(x: Any) -> Any:
            return made[x[0]] if type(x) is list else x

        makers = [_maker(name) for name in names]
        for node in nodes:
            made.append(makers[node[0]]([value(x) for x in node[1:]]))
        return value(root)
    except DecodeError:
        raise
    except Exception as error:  # whatever a constructor says to a value that is none of its own
        raise DecodeError(f"{type(error).__name__}: {error}") from None


def _maker(name: str) -> Any:
    plain = {
        _TUPLE: tuple,
        _LIST: list,
        _SET: set,
        _FROZEN: frozenset,
        _UNDERSCORE: lambda parts: X,
        _RATIO: _ratio,
        _TEXT: lambda parts: str(parts[0]),
        _DICT: lambda parts: dict(zip(parts[::2], parts[1::2], strict=True)),
    }
    if name in plain:
        return plain[name]
    kind = _class(name)
    if issubclass(kind, Enum):
        return lambda parts: kind[parts[0]]
    if issubclass(kind, Quantity):
        return lambda parts: kind(*parts)
    fresh = kind.__new__
    settable = _settable(kind)
    if settable is None:
        return lambda parts: kind(*parts)

    def make(parts: list[Any]) -> Any:
        found = fresh(kind)
        for set_field, part in zip(settable, parts, strict=True):
            set_field(found, part)
        return found

    return make


def _ratio(parts: Sequence[Any]) -> Fraction:
    if [type(x) for x in parts] != [int, int]:  # the constructor reads texts, too: "1e999999999"
        raise DecodeError("no ratio of two integers")
    return Fraction(*parts)


def _settable(kind: type[Any]) -> Sequence[Any] | None:
    """Setters of the slots, for classes whose constructor does nothing else; they are many, and this is faster."""
    if hasattr(kind, "__post_init__") or "__new__" in vars(kind) or any(not f.init for f in fields(kind)):
        return None
    slots = [getattr(kind, f.name, None) for f in fields(kind)]
    setters = [getattr(slot, "__set__", None) for slot in slots]
    return setters if all(s is not None for s in setters) else None


@lru_cache(maxsize=1024)
def _class(name: str) -> Any:
    module, _, inner = name.rpartition(":")
    if not module.startswith(_MODULES) or not inner.isidentifier():
        raise DecodeError(f"no class to read: {name}")
    found = getattr(importlib.import_module(module), inner, None)
    if not isinstance(found, type) or not (is_dataclass(found) or issubclass(found, (Enum, Quantity))):
        raise DecodeError(f"no class to read: {name}")
    if found.__module__ != module:
        raise DecodeError(f"no class to read: {name}")
    return found


@lru_cache(maxsize=1024)
def _written(kind: Any) -> tuple[str, ...]:
    name = f"{kind.__module__}:{kind.__qualname__}"
    try:
        _class(name)
    except DecodeError:
        raise TypeError(f"no way to write a {name}") from None
    return tuple(f.name for f in fields(kind) if f.init)


class _Writer:
    def __init__(self) -> None:
        self.names: list[str] = []
        self.nodes: list[list[Any]] = []
        self._numbers: dict[str, int] = {}
        self._known: dict[Any, int] = {}
        self._same: dict[int, tuple[object, int]] = {}  # by identity, the object kept alive

    def reference(self, value: Any) -> Any:
        """A scalar as itself; anything else as the number of its node, in a list."""
        kind = type(value)
        if value is None or kind in (bool, int, float) or (kind is str and len(value) <= _SHORT):
            return value
        known = self._same.get(id(value))
        if known is not None:
            return [known[1]]
        node = self._node(value)
        key = tuple([(x[0],) if type(x) is list else x if type(x) in _EXACT else (type(x), x) for x in node])
        number = self._known.get(key)
        if number is None:
            number = self._known[key] = len(self.nodes)
            self.nodes.append(node)
        self._same[id(value)] = (value, number)
        return [number]

    def _node(self, value: Any) -> list[Any]:
        kind: Any = type(value)
        if kind is str:
            return [self._name(_TEXT), value]
        if kind is tuple:
            return [self._name(_TUPLE), *map(self.reference, value)]
        if kind is list:
            return [self._name(_LIST), *map(self.reference, value)]
        if issubclass(kind, dict):
            return [self._name(_DICT), *(self.reference(x) for item in value.items() for x in item)]
        if kind in (set, frozenset):
            parts = sorted((self.reference(x) for x in value), key=repr)
            return [self._name(_SET if kind is set else _FROZEN), *parts]
        name = f"{kind.__module__}:{kind.__qualname__}"
        if isinstance(value, Enum):
            return [self._name(name), value.name]
        if isinstance(value, Quantity):
            return [self._name(name), int(value)]
        if kind is Underscore:
            return [self._name(_UNDERSCORE)]
        if kind is Fraction:
            return [self._name(_RATIO), value.numerator, value.denominator]
        if isinstance(value, Typed):  # facts say nothing of its type, which is no field of it either
            return self._node(Dyn(value.expr))
        if not is_dataclass(value):
            raise TypeError(f"no way to write a {name}")
        return [self._name(name), *[self.reference(getattr(value, f)) for f in _written(kind)]]

    def _name(self, name: str) -> int:
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self.names)
            self.names.append(name)
        return number
