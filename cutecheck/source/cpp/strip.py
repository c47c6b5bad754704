"""Comments and strings: where they are, and text with the comments blanked (length kept)."""

from __future__ import annotations

import re

from cutecheck.records import record

_PARTS = r"""/(?:/(?:[^\n\\]|\\.)*|\*.*?(?:\*/|\Z))|"(?:[^"\\\n]|\\.)*"|'(?<!\w')(?:[^'\\\n]|\\.)+'"""
# Every alternative begins with a character of its own: the search skips from one to the next.
_PLAIN = re.compile(_PARTS, re.DOTALL)
_RAW = re.compile(r'(?<![\w"])(?:u8|[uUL])?R"([^()\\\s]{0,16})\(.*?\)\1"|' + _PARTS, re.DOTALL)
_NOT_NEWLINE = re.compile(r"[^\n]+")
_DIRECTIVE = re.compile(r"//\s*cutecheck:\s*(ignore(?:-file)?|assume|instantiate)\b[ \t]*(.*)", re.DOTALL)


@record(frozen=True, slots=True)
class Comment:
    """``// cutecheck: word text``; ``begin`` is the offset of the comment, ``text_at`` of ``text``."""

    word: str
    text: str
    begin: int
    text_at: int
    end: int


def _pattern(text: str) -> re.Pattern[str]:
    return _RAW if 'R"' in text else _PLAIN


def blank(text: str) -> str:
    """Spaces for everything but line ends."""
    return _NOT_NEWLINE.sub(lambda m: " " * (m.end() - m.start()), text)


def strip_comments(text: str) -> tuple[str, tuple[Comment, ...]]:
    """Text of the same length without comments, and the comments addressed to cutecheck."""
    if "/" not in text:
        return text, ()
    comments: list[Comment] = []

    def replace(match: re.Match[str]) -> str:
        found = match.group()
        if found[0] != "/":
            return found
        if found[1] == "/":
            if "cutecheck:" in found:
                order = _DIRECTIVE.match(found)
                if order is not None:
                    begin = match.start()
                    body = order.group(2).rstrip()
                    comments.append(Comment(order.group(1), body, begin, begin + order.start(2), match.end()))
            if "\n" not in found:
                return " " * len(found)
        return blank(found)

    return _pattern(text).sub(replace, text), tuple(comments)


def strip_strings(text: str) -> str:
    """Text of the same length whose string and character literals are blank inside their quotes."""

    def replace(match: re.Match[str]) -> str:
        found = match.group()
        return found if found[0] == "/" else found[0] + blank(found[1:-1]) + found[-1]

    return _pattern(text).sub(replace, text)
