"""Values of ``#if`` conditions."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from cutecheck.source.cpp.defines import Macro
from cutecheck.source.cpp.uses import DEFINED, MAX_TOKENS, TooLarge, Use, text_of, tokens_of

_TOKEN = re.compile(
    r"[^\W\d]\w*|0[xX][0-9a-fA-F']+[uUlL]*|0[bB][01']+[uUlL]*|\d[\d']*[uUlL]*|'(?:[^'\\]|\\.[0-7a-fA-F]*)'|&&|\|\||==|!=|<=|>=|<<|>>|\S"
)
HAS = frozenset(["__has_include", "__has_include_next", "__has_cpp_attribute", "__has_attribute", "__has_builtin",
                  "__has_feature", "__has_extension", "__building_module"])  # fmt: skip
_LEVELS: dict[str, int] = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7, "<<": 8, ">>": 8,
    "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
_LIMIT = 64
_BITS = 64  # of the numbers in conditions
_WORDS = {
    "true": "1", "false": "0", "and": "&&", "or": "||", "not": "!", "bitand": "&", "bitor": "|", "xor": "^",
    "compl": "~", "not_eq": "!=",
}  # fmt: skip
_COMPARES = frozenset(["==", "!=", "<", "<=", ">", ">="])
_ESCAPES = {"n": 10, "t": 9, "r": 13, "a": 7, "b": 8, "f": 12, "v": 11}


class _Unsigned(int):
    """A number with a ``u``, and what is computed with one."""


Lookup = Callable[[str], Macro | None]
Has = Callable[[str, bool], bool]  # whether there is a header of this name, and whether it stands in angle brackets
_HAS_INCLUDE = re.compile(r"\b__has_include(?:_next)?[ \t]*\([ \t]*(?:<([^>\n]+)>|\"([^\"\n]+)\")[ \t]*\)")


class _TakesArgumentsError(Exception):
    """A condition uses a macro that has parameters."""


def evaluate(text: str, lookup: Lookup, has: Has | None = None) -> bool:
    """Whether the condition holds; names that nobody defines are 0, malformed conditions are false."""
    if has is not None and "__has_include" in text:
        text = _HAS_INCLUDE.sub(lambda found: str(int(has(found[1] or found[2], found[1] is not None))), text)
    try:
        tokens = _expand(_TOKEN.findall(text), lookup, frozenset(), 0)
    except _TakesArgumentsError:
        known = _holds(_expanded(text, lookup))
        return (_holds(_expanded(text, partial(_zero, lookup))) if known is None else known) or False
    except (IndexError, RecursionError):
        return False
    return _holds(tokens) or False


def _zero(lookup: Lookup, name: str) -> Macro | None:
    """``#define X`` alone in a condition is an error in C; 0 keeps the rest of the file readable."""
    found = lookup(name)
    return Macro(name, None, "0") if found is not None and found.params is None and not found.body else found


def _holds(tokens: list[str]) -> bool | None:
    """None: it is malformed."""
    try:
        value, at = _binary(tokens, 0, 1)
        return value != 0 and at <= len(tokens)
    except (ValueError, IndexError, RecursionError, OverflowError):
        return None


def _expanded(text: str, lookup: Lookup) -> list[str]:
    """The tokens of a condition after its macros, as the text of a file is expanded."""
    use = Use(lambda name: DEFINED if name == "defined" else lookup(name), (0, 0), [MAX_TOKENS])
    try:
        done = text_of(use.expand(tokens_of(text, 0, len(text))))
        return _expand(_TOKEN.findall(done), lambda name: None, frozenset(), 0, lookup)
    except (TooLarge, IndexError, RecursionError):
        return []


def _expand(
    tokens: list[str], lookup: Lookup, hidden: frozenset[str], depth: int, known: Lookup | None = None
) -> list[str]:
    """Macros replaced, ``defined`` answered (by ``known``, where the macros are replaced already)."""
    out: list[str] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if not (token[0].isalpha() or token[0] == "_"):
            out.append(token)
        elif token == "defined":
            parenthesised = at < len(tokens) and tokens[at] == "("
            name = tokens[at + 1] if parenthesised else tokens[at]
            at += 3 if parenthesised else 1
            out.append("1" if name in HAS or (known or lookup)(name) is not None else "0")
        elif token in HAS:
            at = _skip_group(tokens, at)
            out.append("0")
        elif token in _WORDS:
            out.append(_WORDS[token])
        else:
            macro = None if token in hidden or depth > _LIMIT else lookup(token)
            if macro is None:
                if at < len(tokens) and tokens[at] == "(":  # an unknown function-like macro
                    at = _skip_group(tokens, at)
                out.append("0")
                continue
            if macro.params is not None or "##" in macro.body:
                raise _TakesArgumentsError
            body = _TOKEN.findall(macro.body)
            out.extend(_expand(body, lookup, hidden | {token}, depth + 1) or ["0"])  # as `_zero`
    return out


def _skip_group(tokens: list[str], at: int) -> int:
    if at >= len(tokens) or tokens[at] != "(":
        return at
    depth = 0
    for index in range(at, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[index], 0)
        if depth == 0:
            return index + 1
    return len(tokens)


def _binary(tokens: list[str], at: int, least: int) -> tuple[int, int]:
    left, at = _unary(tokens, at)
    while at < len(tokens):
        op = tokens[at]
        if op == "?" and least <= 1:
            then, at = _binary(tokens, at + 1, 1)
            other, at = _binary(tokens, at + 1, 1)
            left = _kept(then if left else other, isinstance(then, _Unsigned) or isinstance(other, _Unsigned))
            continue
        level = _LEVELS.get(op, 0)
        if level < least:
            break
        right, at = _binary(tokens, at + 1, level + 1)
        left = _apply(op, left, right)
    return left, at


def _kept(value: int, unsigned: bool) -> int:
    """A number in the range of its type."""
    value &= (1 << _BITS) - 1
    return _Unsigned(value) if unsigned else value - (value >> (_BITS - 1) << _BITS)


def _apply(op: str, left: int, right: int) -> int:
    if op in ("<<", ">>"):
        shift = max(0, min(right, _BITS - 1))
        return _kept(int(left) << shift if op == "<<" else int(left) >> shift, isinstance(left, _Unsigned))
    unsigned = isinstance(left, _Unsigned) or isinstance(right, _Unsigned)
    if op in ("||", "&&"):
        return _number(op, left, right)
    value = _number(op, int(_kept(left, unsigned)), int(_kept(right, unsigned)))
    return _kept(value, unsigned and op not in _COMPARES)


def _number(op: str, left: int, right: int) -> int:
    if op in ("/", "%"):
        quotient = abs(left) // abs(right) if right else 0
        quotient = quotient if (left < 0) == (right < 0) else -quotient
        return quotient if op == "/" else left - quotient * right
    table: dict[str, Callable[[int, int], int]] = {
        "||": lambda a, b: int(bool(a) or bool(b)),
        "&&": lambda a, b: int(bool(a) and bool(b)),
        "|": lambda a, b: a | b,
        "^": lambda a, b: a ^ b,
        "&": lambda a, b: a & b,
        "==": lambda a, b: int(a == b),
        "!=": lambda a, b: int(a != b),
        "<": lambda a, b: int(a < b),
        ">": lambda a, b: int(a > b),
        "<=": lambda a, b: int(a <= b),
        ">=": lambda a, b: int(a >= b),
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
    }
    return table[op](left, right)


def _unary(tokens: list[str], at: int) -> tuple[int, int]:
    token = tokens[at]
    if token == "!":
        value, at = _unary(tokens, at + 1)
        return int(not value), at
    if token in ("-", "+", "~"):
        value, at = _unary(tokens, at + 1)
        return _kept({"-": -value, "+": value, "~": ~value}[token], isinstance(value, _Unsigned)), at
    if token == "(":
        value, at = _binary(tokens, at + 1, 1)
        return value, at + 1
    if token[0] == "'":
        return _character(token[1:-1]), at + 1
    digits = token.replace("'", "").rstrip("uUlL")
    plain = digits[:2].lower() not in ("0x", "0b")
    value = int(digits, 8 if digits[0] == "0" else 10) if plain else int(digits, 0)
    return _kept(value, "u" in token.lower() or value >> (_BITS - 1) != 0), at + 1


def _character(text: str) -> int:
    if len(text) == 1:
        return ord(text)
    if text[1] in "01234567x":
        return int(text[2:], 16) if text[1] == "x" else int(text[1:], 8)
    return _ESCAPES.get(text[1], ord(text[1]))
