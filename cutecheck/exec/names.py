"""Names that come out of scanned sources, checked before they are written into code.

Only types are let through: qualified identifiers with template arguments that are types, integers or booleans.
Nothing with a parenthesis, a string, an operator or a keyword that starts something else can pass.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\s*(?:(?P<name>[A-Za-z_]\w*)|(?P<number>-?\d+)|(?P<punct>::|[<>,]))")
_BUILTIN = frozenset({"unsigned", "signed", "short", "long", "int", "char", "float", "double", "bool", "void"})
_KEYWORDS = frozenset({
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "break", "case", "catch", "class",
    "compl", "concept", "const", "consteval", "constexpr", "constinit", "const_cast", "continue", "co_await",
    "co_return", "co_yield", "decltype", "default", "delete", "do", "dynamic_cast", "else", "enum", "explicit",
    "export", "extern", "for", "friend", "goto", "if", "inline", "mutable", "namespace", "new", "noexcept",
    "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private", "protected", "public", "register",
    "reinterpret_cast", "requires", "return", "sizeof", "static", "static_assert", "static_cast", "struct",
    "switch", "template", "this", "thread_local", "throw", "try", "typedef", "typeid", "typename", "union",
    "using", "virtual", "volatile", "wchar_t", "while", "xor", "xor_eq", "char8_t", "char16_t", "char32_t",
})  # fmt: skip


class NotATypeError(ValueError):
    """The text is no qualified type name of the allowed grammar."""


def checked(text: str) -> str:
    """The text, when it is ``a::b<c, 8, true>::d``-like; NotATypeError for anything else."""
    tokens: list[tuple[str, str]] = []
    at = 0
    stripped = text.rstrip()
    while at < len(stripped):
        match = _TOKEN.match(stripped, at)
        if match is None or not stripped.isascii():
            raise NotATypeError(f"not a C++ type name: {text[:120]!r}")
        tokens.append((match.lastgroup or "", match.group(match.lastgroup or 0)))
        at = match.end()
    end = _type(tokens, 0, text)
    if end != len(tokens):
        raise NotATypeError(f"not a C++ type name: {text[:120]!r}")
    return stripped.strip()


def _type(tokens: list[tuple[str, str]], at: int, text: str) -> int:
    """The index after one type that starts at ``at``."""
    first = at
    while at < len(tokens) and tokens[at][1] in _BUILTIN:
        at += 1
    if at > first:
        return at
    if at < len(tokens) and tokens[at][1] == "::":
        at += 1
    while True:
        if at >= len(tokens) or tokens[at][0] != "name" or tokens[at][1] in _KEYWORDS | _BUILTIN:
            raise NotATypeError(f"not a C++ type name: {text[:120]!r}")
        at += 1
        if at < len(tokens) and tokens[at][1] == "<":
            at = _arguments(tokens, at + 1, text)
        if at >= len(tokens) or tokens[at][1] != "::":
            return at
        at += 1


def _arguments(tokens: list[tuple[str, str]], at: int, text: str) -> int:
    """The index after the ``>`` that closes a list of template arguments."""
    if at < len(tokens) and tokens[at][1] == ">":
        return at + 1
    while at < len(tokens):
        at = at + 1 if tokens[at][0] == "number" or tokens[at][1] in ("true", "false") else _type(tokens, at, text)
        if at < len(tokens) and tokens[at][1] == ">":
            return at + 1
        if at >= len(tokens) or tokens[at][1] != ",":
            break
        at += 1
    raise NotATypeError(f"not a C++ type name: {text[:120]!r}")
