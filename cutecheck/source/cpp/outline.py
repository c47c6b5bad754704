"""Which braces of a text hold bodies: their contents are left out of the first parse and read on first use."""

from __future__ import annotations

import re

from cutecheck.source.cpp.lexer import closes_raw

# Braces and literals. Each alternative begins with its own character, which lets the search skip all others.
_RAW = r'"(?<=R")([^()\\\s]{0,16})\([^)]*(?:\)(?!\1")[^)]*)*\)\1"|'
_OTHERS = r'"[^"\\\n]*(?:\\(?:.|\n)[^"\\\n]*)*"' + r"|'(?<![0-9a-fA-F]')(?:[^'\\\n]|\\.){1,12}'"
_TOKEN = re.compile("[{}]|" + _RAW + _OTHERS)
_NO_RAW = re.compile("[{}]|" + _OTHERS)
_USING = re.compile(r"\b(?:using\s[\s\w:]*|namespace\s+\w+\s*=[\s\w:]*);")
_NOTHING = re.compile(r"\s*(?:namespace\b[\s\w:]*\{\s*|\}\s*)*")
_CLASS = re.compile(r"\b(?:struct|class|union)\b")
_SCOPE = re.compile(
    r'(?:\bnamespace\b[\w\s:]*(?:\[\[[^\]]*\]\])?[\w\s:]*(?:\([()\w"\s]*\))?[\w\s]*|\bextern\s*"[^"]*"\s*)\Z'
)


def holes(text: str, begin: int, end: int, *, scopes: bool) -> list[tuple[int, int]]:
    """(offset of ``{``, offset after ``}``) of the outermost braces of ``text[begin:end]`` that hold statements.

    With ``scopes`` the braces of namespaces and of ``extern "C"`` do not count: what they hold does. Braces without a
    ``;`` (initialisers, enumerators, empty bodies) are no holes. Those that are never closed are none either.
    """
    found: list[tuple[int, int]] = []
    depth, opened, last = 0, -1, begin
    for match in (_TOKEN if closes_raw(text, begin, end) else _NO_RAW).finditer(text, begin, end):
        brace = match.group()
        if brace == "{":
            if depth:
                depth += 1
                continue
            at = match.start()
            if scopes and _opens_scope(text, last, at):
                last = at + 1
            else:
                depth, opened = 1, at
        elif brace == "}":
            last = match.end()
            if depth > 1:
                depth -= 1
            elif depth:
                depth = 0
                if text.find(";", opened, last) >= 0:
                    found.append((opened, last))
    return found


def _opens_scope(text: str, last: int, brace: int) -> bool:
    start = max(last, brace - 300, text.rfind(";", last, brace) + 1)
    head = text[start:brace]
    return ("namespace" in head or "extern" in head) and _SCOPE.search(head) is not None


def _is_body(head: str) -> bool:
    return head[-1:] not in ("=", ",", "(", "{", "[") and ("(" in head or _CLASS.search(head) is not None)


def without(text: str, begin: int, end: int, parts: list[tuple[int, int]]) -> str:
    """``text[begin:end]`` with the contents of the braces ``parts`` blanked; the length stays."""
    pieces: list[str] = []
    at = begin
    for opened, after in parts:
        head = text[max(begin, opened - 400, at) : opened].rstrip()
        pieces.append(text[at : opened + 1])
        # `{ }` after a function's parameters could be an initialiser, `{;}` cannot
        pieces.append((";" if _is_body(head) else " ").ljust(after - opened - 2))
        at = after - 1
    pieces.append(text[at:end])
    return "".join(pieces)


def without_namespace(text: str, name: str) -> str:
    """The text without what its ``namespace name`` declares, but for using-declarations and namespace aliases.

    Length and lines stay, and so does a text whose braces do not match.
    """
    scopes: list[bool] = []  # whether the namespace is that one, or within it
    pieces: list[str] = []
    depth, last, at = 0, 0, 0  # in braces of declarations; after the last brace; up to where pieces reach

    def declared(upto: int, head: int) -> None:
        """``text[at:upto]``, which stands in a namespace: ``head`` is where that of the next one begins."""
        nonlocal at
        if scopes and scopes[-1]:
            begin = at
            for match in _USING.finditer(text, at, head):
                pieces.extend((_blank(text[begin : match.start()]), match.group()))
                begin = match.end()
            pieces.extend((_blank(text[begin:head]), text[head:upto]))
        else:
            pieces.append(text[at:upto])
        at = upto

    for match in _TOKEN.finditer(text):
        brace, start = match.group(), match.start()
        if brace == "{" and (depth or not _opens_scope(text, last, start)):
            depth += 1
            if depth == 1:
                declared(start, start)
        elif brace == "{":
            head = max(text.rfind("namespace", last, start), text.rfind("extern", last, start))
            declared(start + 1, head)
            named = re.match(r"namespace\s+(\w+)", text[head:start])
            scopes.append(bool(scopes and scopes[-1]) or (named is not None and named[1] == name))
            last = start + 1
        elif brace == "}":
            last = match.end()
            if depth:
                depth -= 1
                if not depth:
                    inner = text[at:last]
                    pieces.append(_blank(inner) if scopes and scopes[-1] else inner)
                    at = last
            elif not scopes:
                return text
            else:
                declared(start, start)
                scopes.pop()
                pieces.append(brace)
                at = last
        elif not depth and scopes and scopes[-1] and brace not in ('"C"', '"C++"'):  # a literal
            declared(start, start)
            pieces.append(_blank(brace))
            at = match.end()
    if scopes or depth:
        return text
    return "".join([*pieces, text[at:]])


def says_nothing(text: str) -> bool:
    """Whether there is nothing but empty namespaces."""
    return _NOTHING.fullmatch(text) is not None


def _blank(text: str) -> str:
    return "\n".join(" " * len(line) for line in text.split("\n"))
