"""C++ tokens of preprocessed text.

``>`` is always a token of its own: the parser joins ``>>``, ``>=`` and ``>>=`` where they are operators, so that
template argument lists close without a special case.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate

_TOKEN = re.compile(
    r"""\s+
    |(?:u8|[uUL])?R"([^()\\\s]{0,16})\((?:.|\n)*?\)\1"
    |(?:u8|[uUL])?"(?:[^"\\\n]|\\.|\\\n)*"
    |[uUL]?'(?:[^'\\\n]|\\.)+'
    |[^\W\d]\w*
    |\.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])*
    |<<<|<<=|\.\.\.|->\*
    |::|->|\+\+|--|&&|\|\||==|!=|<=|<<|\+=|-=|\*=|/=|%=|&=|\|=|\^=|\#\#
    |.""",
    re.VERBOSE,
)
_CLOSER = {"(": ")", "[": "]", "{": "}"}
_BRACKETS = frozenset("()[]{}")


@dataclass(frozen=True, slots=True)
class Tokens:
    """Parallel lists: texts, start offsets, and for each bracket the index of its partner (-1 elsewhere).

    The last token is the empty string at the end of the text.
    """

    texts: list[str]
    starts: list[int]
    partner: list[int]


def lex(text: str, begin: int = 0, end: int | None = None) -> Tokens:
    """Tokens of ``text[begin:end]``; offsets are those of ``text``. Never fails: odd characters are tokens."""
    part = text if begin == 0 and end is None else text[begin:end]
    pieces = [m.group() for m in _TOKEN.finditer(part)] if 'R"' in part else _FAST.findall(part)
    offsets = accumulate(map(len, pieces), initial=begin)
    kept = [(piece, at) for piece, at in zip(pieces, offsets, strict=False) if not piece[0].isspace()]
    texts = [piece for piece, _ in kept]
    starts = [at for _, at in kept]
    texts.append("")
    starts.append(begin + len(part))
    return Tokens(texts, starts, _match(texts))


def _match(texts: list[str]) -> list[int]:
    """Partners of brackets. A bracket without one is given the nearest sensible partner or stays alone (-1)."""
    partner = [-1] * len(texts)
    stack: list[int] = []
    for at, text in [(at, text) for at, text in enumerate(texts) if text in _BRACKETS and text]:
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


_FAST = re.compile(
    _TOKEN.pattern.replace("""    |(?:u8|[uUL])?R"([^()\\\\\\s]{0,16})\\((?:.|\\n)*?\\)\\1"\n""", ""), re.VERBOSE
)
