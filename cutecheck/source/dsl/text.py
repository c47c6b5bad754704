"""Text that a program makes: formats, conversions of numbers, and what regular expressions find in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.source.dsl.builtins import FUNCTIONS, builtin
from cutecheck.source.dsl.protocol import asked
from cutecheck.source.dsl.values import TextMatch, TorchType
from cutecheck.source.eval.intrinsics.dsl_show import type_name
from cutecheck.source.eval.values import Object, ScalarType, Str, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_MAX_TEXT = 1 << 16
_WIDE = re.compile(r"\d{4}")  # of a format: more than text should have
_REPEATED_GROUP = re.compile(r"\)[*+{]")
_MAX_PATTERN, _MAX_SUBJECT, _MAX_REPEATS = 200, 300, 4


class _Written:
    """What stands for a value in text: other text by ``str`` than by ``repr``, and no format of its own."""

    def __init__(self, text: str, represented: str) -> None:
        self._text, self._represented = text, represented

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._represented


def plain(v: Value) -> bool:
    """Whether it is known how Python writes a value."""
    if isinstance(v, (tuple, list)):
        return type(v) in (tuple, list) and all(map(plain, v)) and len(v) < 1000
    if isinstance(v, int):
        return v.bit_length() <= 4096
    return v is None or isinstance(v, (str, float, ScalarType))


def written(v: Value) -> Any:
    """What Python writes as it would write a plain value: element types by their names."""
    if isinstance(v, TorchType):
        from cutecheck.source.dsl.torch import torch_type_name

        return _Written(torch_type_name(v), torch_type_name(v))
    if isinstance(v, ScalarType):
        name = type_name(v.dtype)
        return _Written(name, f"<class 'cutlass.base_dsl.typing.{name}'>")
    return type(v)(map(written, v)) if isinstance(v, (tuple, list)) else v


def to_text(m: Machine, v: Value, span: Span, conversion: str = "") -> Value:
    """``str(v)``, or ``repr(v)`` for the conversion ``r``."""
    if plain(v):
        return repr(written(v)) if conversion == "r" else str(written(v))
    if isinstance(v, Object):
        for method in ("__repr__",) if conversion == "r" else ("__str__", "__repr__"):
            said = asked(m, v, method, [], span)
            if said is not None:
                return said
    return v if isinstance(v, Unknown) else _unwritten(span)


def _unwritten(span: Span) -> Unknown:
    return Unknown("text that is not known", span)


@builtin("repr")
def _repr(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return to_text(m, args[0], span, "r")


@builtin("format value", "format")
def _format(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """``f"{value!conversion:spec}"``."""
    value, spec, conversion = (*args, "", "")[:3]
    if isinstance(value, (str, Str)):
        value = value if isinstance(value, str) else value.text
    if not plain(value):
        return to_text(m, value, span, conversion) if conversion in ("", "s", "r") and spec == "" else _unwritten(span)
    if not isinstance(spec, str) or _WIDE.search(spec):
        return _unwritten(span)
    value = written(value)
    if conversion:
        value = repr(value) if conversion == "r" else ascii(value) if conversion == "a" else str(value)
    return format(value, spec)


@builtin("str.format")
def _format_method(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    text = args[0]
    given = [*args[1:], *kwargs.values()]
    if not all(map(plain, given)) or _WIDE.search(text) or re.search(r"\{\w*[.\[]", text):
        return Unknown("a formatted string", span)
    return text.format(*map(written, args[1:]), **{k: written(v) for k, v in kwargs.items()})


def percent(text: str, value: Any, span: Span) -> Value:
    """``text % value``."""
    if isinstance(value, dict) or not plain(value) or _WIDE.search(text) or "*" in text:
        return Unknown("a formatted string", span)
    try:
        return text % written(value)
    except (TypeError, ValueError) as error:
        return Unknown(str(error), span)


def _of_integers(word: str, run: Any) -> None:
    def made(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        if not isinstance(args[0], str if word == "ord" else int):
            return Unknown("text that is not known", span)
        return run(args[0])

    FUNCTIONS[word] = made


for _word, _run in (("bin", bin), ("hex", hex), ("oct", oct), ("chr", chr), ("ord", ord)):
    _of_integers(_word, _run)


# -------------------------------------------------------------------- regular expressions


def _compiled(args: list[Value]) -> re.Pattern[str] | None:
    """The pattern, where matching it against the text takes no time to speak of."""
    pattern, subject = args[0], args[-1]
    if not isinstance(pattern, str) or not isinstance(subject, str):
        return None
    if len(pattern) > _MAX_PATTERN or len(subject) > _MAX_SUBJECT or _REPEATED_GROUP.search(pattern):
        return None
    if sum(map(pattern.count, "*+{")) > _MAX_REPEATS:
        return None
    try:
        return re.compile(pattern)
    except (re.error, OverflowError):
        return None


def _matching(word: str) -> None:
    def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        pattern = _compiled(args[:2]) if len(args) == 2 and not kwargs else None
        if pattern is None:
            return Unknown(f"`re.{word}` of a pattern or text that is not followed", span)
        found = getattr(pattern, word)(args[1])
        if found is None:
            return None
        return TextMatch((found.group(), *found.groups()), tuple(found.groupdict().items()), found.span())

    FUNCTIONS[f"re.{word}"] = run


for _word in ("match", "search", "fullmatch"):
    _matching(_word)


def _listing(word: str) -> None:
    def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        pattern = _compiled(args) if len(args) == 2 and not kwargs else None
        return (
            Unknown(f"`re.{word}` that is not followed", span) if pattern is None else getattr(pattern, word)(args[1])
        )

    FUNCTIONS[f"re.{word}"] = run


_listing("findall")
_listing("split")


@builtin("re.sub")
def _substitute(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    pattern = _compiled([args[0], args[2]]) if len(args) == 3 and not kwargs else None
    if pattern is None or not isinstance(args[1], str) or len(args[1]) > _MAX_PATTERN:
        return Unknown("`re.sub` that is not followed", span)
    return pattern.sub(args[1], args[2])


@builtin("match.group")
def _group(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    found: TextMatch = args[0]
    picked = [found.groups[k] if isinstance(k, int) else dict(found.names)[k] for k in args[1:] or [0]]
    return picked[0] if len(picked) == 1 else tuple(picked)


FUNCTIONS["match.groups"] = lambda m, args, kwargs, span: args[0].groups[1:]
FUNCTIONS["match.groupdict"] = lambda m, args, kwargs, span: dict(args[0].names)
FUNCTIONS["match.span"] = lambda m, args, kwargs, span: args[0].at
FUNCTIONS["match.start"] = lambda m, args, kwargs, span: args[0].at[0]
FUNCTIONS["match.end"] = lambda m, args, kwargs, span: args[0].at[1]
