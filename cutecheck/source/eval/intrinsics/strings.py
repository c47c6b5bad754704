"""Characters of strings that the program spells, and what ``std::string_view`` says of them.

Escapes are kept as they are written, so of a string that has any the characters are not known.
"""

from __future__ import annotations

from cutecheck.facts import Span, Unknown
from cutecheck.source.eval.intrinsics.registry import Call, Unsupported, method_of
from cutecheck.source.eval.values import Scalar, Str, Value, constant


def is_plain(s: Str) -> bool:
    """Every character of it is one of the source."""
    return s.text.isascii() and "\\" not in s.text


def index(s: Str, at: Value, span: Span) -> Value:
    """``s[at]``: after the last character there is a zero."""
    n = constant(at)
    if n is None or not is_plain(s) or not 0 <= n <= len(s.text):
        return Unknown("a character of a string that is not known", span)
    return Scalar(ord(s.text[n]) if n < len(s.text) else 0, "char")


def rest(s: Str, by: Value, span: Span) -> Value:
    """``s + by``."""
    n = constant(by)
    if n is None or not is_plain(s) or not 0 <= n <= len(s.text):
        return Unknown("a part of a string that is not known", span)
    return Str(s.text[n:])


def same(a: Str, b: Str) -> bool | None:
    return a.text == b.text if a.text == b.text or (is_plain(a) and is_plain(b)) else None


def _text(c: Call, at: int = 0) -> str:
    given = c.raw[at] if at < len(c.raw) else None
    if isinstance(given, Scalar) and given.ctype == "char" and at:
        number = constant(given)
        given = None if number is None else Str(chr(number))
    if not isinstance(given, Str) or not is_plain(given):
        raise Unsupported(f"{c.name} of a string that is not known")
    return given.text


def _number(c: Call, at: int, default: int) -> int:
    n = constant(c.raw[at]) if at < len(c.raw) else default
    if n is None:
        raise Unsupported(f"{c.name} of a string at a place that is not known")
    return n


@method_of("Str", "size", "length", "empty")
def _size(c: Call) -> Value:
    n = len(_text(c))
    return Scalar(int(n == 0), "bool") if c.name == "empty" else Scalar(n, "size_t")


@method_of("Str", "front", "back", "at")
def _at(c: Call) -> Value:
    text = _text(c)
    n = {"front": 0, "back": len(text) - 1}.get(c.name)
    n = _number(c, 1, 0) if n is None else n
    if not 0 <= n < len(text):
        raise Unsupported("a character that a string does not have")
    return Scalar(ord(text[n]), "char")


@method_of("Str", "starts_with", "ends_with")
def _ends(c: Call) -> Value:
    text, part = _text(c), _text(c, 1)
    return Scalar(int(text.startswith(part) if c.name == "starts_with" else text.endswith(part)), "bool")


@method_of("Str", "find", "rfind")
def _find(c: Call) -> Value:
    if len(c.raw) > 2:
        raise Unsupported("find from a place")
    text, part = _text(c), _text(c, 1)
    at = text.find(part) if c.name == "find" else text.rfind(part)
    return Scalar(at if at >= 0 else (1 << 64) - 1, "size_t")


@method_of("Str", "substr")
def _substr(c: Call) -> Value:
    text = _text(c)
    begin, count = _number(c, 1, 0), _number(c, 2, len(text))
    if not 0 <= begin <= len(text) or count < 0:
        raise Unsupported("a part that a string does not have")
    return Str(text[begin : begin + count])


@method_of("Str", "data", "c_str")
def _data(c: Call) -> Value:
    return Str(_text(c))
