"""C++ tokens of preprocessed text.

``>`` is always a token of its own: the parser joins ``>>``, ``>=`` and ``>>=`` where they are operators, so that
template argument lists close without a special case.
"""

from __future__ import annotations

import re
from itertools import accumulate

from cutecheck.records import record
from cutecheck.source.cpp.words import ASSIGNS

# A token and the white space after it. Alternatives by frequency; the last one takes any character.
_TOKEN = (
    r"(?:[^\W\d]\w*"
    r"|::|[(),;{}\[\]>?~]"
    r"|\.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])*"
    r"|<<<|<<=|\.\.\.|->\*|->|\+\+|--|&&|\|\||==|!=|<=|<<|\+=|-=|\*=|/=|%=|&=|\|=|\^=|\#\#"
    r"|\"(?:[^\"\\\n]|\\.|\\\n)*\""
    r"|'(?:[^'\\\n]|\\.)+'"
    r"|[\W])\s*"
)
_LITERAL = r"(?:(?:u8|[uUL])\"(?:[^\"\\\n]|\\.|\\\n)*\"|[uUL]'(?:[^'\\\n]|\\.)+')\s*"
_RAW = r"(?:u8|[uUL])?R\"([^()\\\s]{0,16})\([^)]*(?:\)(?!\1\")[^)]*)*\)\1\"\s*"
_FAST = re.compile(_TOKEN)
_FULL = re.compile("|".join([_RAW, _LITERAL, _TOKEN]))
_NO_RAW = re.compile("|".join([_LITERAL, _TOKEN]))
_RAW_OPEN = re.compile(r"R\"[^()\\\s]{0,16}\(")
_RAW_CLOSE = re.compile(r"\)[^()\\\s]{0,16}\"")
_PREFIXED = re.compile(r"[uULR8][\"']")
_CLOSER = {"(": ")", "[": "]", "{": "}"}
_BRACKETS = frozenset("()[]{}")


@record(frozen=True, slots=True)
class Tokens:
    """Parallel lists: texts, start offsets, and for each bracket the index of its partner (-1 elsewhere).

    The last token is the empty string at the end of the text.
    """

    texts: list[str]
    starts: list[int]
    partner: list[int]


def assigns(texts: list[str], starts: list[int], at: int) -> bool:
    """Whether a token is an operator that assigns: ``>=`` and ``>>=`` are tokens of one character each."""
    if texts[at] != "=" or at < 2 or texts[at - 1] != ">" or starts[at - 1] + 1 != starts[at]:
        return texts[at] in ASSIGNS
    return texts[at - 2] == ">" and starts[at - 2] + 1 == starts[at - 1]


def lex(text: str, begin: int = 0, end: int | None = None) -> Tokens:
    """Tokens of ``text[begin:end]``; offsets are those of ``text``. Never fails: odd characters are tokens."""
    part = text if begin == 0 and end is None else text[begin:end]
    body = part.lstrip()
    if _PREFIXED.search(body) is None:
        pieces = _FAST.findall(body)
    else:
        pieces = [match.group() for match in (_FULL if closes_raw(body) else _NO_RAW).finditer(body)]
    starts = list(accumulate(map(len, pieces), initial=begin + len(part) - len(body)))
    texts = [piece.rstrip() for piece in pieces]
    texts.append("")
    return Tokens(texts, starts, _match(texts))


def closes_raw(text: str, begin: int = 0, end: int | None = None) -> bool:
    """Whether a raw string literal that opens may close: else each opening is searched to the end for nothing."""
    stop = len(text) if end is None else end
    opened = _RAW_OPEN.search(text, begin, stop)
    return opened is not None and _RAW_CLOSE.search(text, opened.end(), stop) is not None


def _match(texts: list[str]) -> list[int]:
    """Partners of brackets. A bracket without one is given the nearest sensible partner or stays alone (-1)."""
    partner = [-1] * len(texts)
    stack: list[int] = []
    for at in [at for at, text in enumerate(texts) if text in _BRACKETS]:
        text = texts[at]
        if text in _CLOSER:
            stack.append(at)
            continue
        # A stray closer must not unbalance the rest: parentheses never close across a brace.
        while stack and _CLOSER[texts[stack[-1]]] != text:
            if text != "}" and texts[stack[-1]] == "{":
                break
            stack.pop()
        if stack and _CLOSER[texts[stack[-1]]] == text:
            partner[at] = stack.pop()
            partner[partner[at]] = at
    return partner
