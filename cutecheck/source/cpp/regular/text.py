"""Before tokens: text made ASCII, assembly blocks emptied, string literals closed."""

from __future__ import annotations

import re

_ODD = re.compile(r"[^\x00-\x7f]")
_NOT_NEWLINE = re.compile(r"[^\n]")
_ASSEMBLY = re.compile(r"\b(?:asm|__asm__|__asm)\b[^(){};]*\(")
_ASSEMBLY_PART = re.compile(r'"(?:[^"\\\n]|\\.)*"|[()]')
_STRING = re.compile(r"\"(?:[^\"\\\n]|\\.)*(?:\"|(\n))|'(?<!\w')(?:[^'\\\n]|\\.)+'")
MAX_STRING = 2_000  # a quote without a partner nearer than this is left alone


def ascii_only(text: str) -> str:
    """A letter for every other letter, a blank for every other sign: bytes and characters then count the same."""
    return text if text.isascii() else _ODD.sub(lambda m: "_" if m.group().isalnum() else " ", text)


def without_assembly(text: str) -> str:
    """``asm volatile ("" )`` in place of every assembly block; its operands are read from the text itself."""
    if "asm" not in text:
        return text
    parts: list[str] = []
    last = 0
    for match in _ASSEMBLY.finditer(text):
        begin = match.end()
        if begin < last:
            continue
        depth, end = 1, -1
        for part in _ASSEMBLY_PART.finditer(text, begin):
            sign = part.group()
            if sign == "(":
                depth += 1
            elif sign == ")":
                depth -= 1
                if depth == 0:
                    end = part.start()
                    break
        if end - begin >= 2 and "\n" not in text[begin : begin + 2]:
            parts += [text[last:begin], '""', _NOT_NEWLINE.sub(" ", text[begin + 2 : end])]
            last = end
        elif end < 0:
            break  # nothing behind is closed either
    return "".join([*parts, text[last:]]) if parts else text


def joined_strings(text: str) -> str:
    """Literals that a line splice left on two lines made one line."""
    out = list(text)
    at = 0
    while True:
        match = _STRING.search(text, at)
        if match is None:
            return "".join(out)
        at = match.end()
        if match.group(1):
            close = text.find('"', at, at + MAX_STRING)
            if close >= 0:
                for here in range(match.start(), close):
                    if out[here] == "\n":
                        out[here] = " "
                at = close + 1
