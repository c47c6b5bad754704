"""Inline assembly as its text: the operands that it writes, and whether it may write memory."""

from __future__ import annotations

import re

_PARTS = re.compile(r'"(?:[^"\\]|\\.)*"|(?:[^":]|(?<=\w)::(?=\w))+|:+')
_WORD = re.compile(r"[A-Za-z_]\w*")
_ADDRESS = re.compile(r"[(),=+*\[-]\s*&\s*([A-Za-z_]\w*)")
_COMMENT = re.compile(r"//.*?(?:\\n|\n|$)")
_BLANK = re.compile(r"\\[ntr]|\s+")
# of PTX: perhaps under a predicate, an instruction that writes registers or barriers alone, or nothing
_HARMLESS = re.compile(
    r"[{}\s]*(?:\$?\w+:\s*)?(?:@!?[%\w]+\s+)?(?:$|\.reg\b|\.pred\b|cp\.async\.(?:wait|commit|bulk\.(?:wait|commit|prefetch))"
    r"|tcgen05\.(?!alloc\b)|(?:ld|ldu|ldmatrix|mov|cvt|cvta|setp|set|selp|slct|add|addc|sub|mul"
    r"|mad|fma|div|rem|abs|neg|min|max|and|or|xor|not|shl|shr|shf|lop3|prmt|bfe|bfi|bfind|brev|clz|popc|ex2|lg2|rcp"
    r"|rsqrt|sqrt|sin|cos|tanh|copysign|movmatrix|mma|wgmma|wmma|shfl|vote|activemask|match|redux|elect|isspacep|mapa|getctarank"
    r"|bar|barrier|membar|fence|mbarrier|griddepcontrol|setmaxnreg|nanosleep|prefetch|prefetchu|trap|brkpt|exit|bra"
    r"|ret|discard|applypriority|createpolicy|dp4a|dp2a|sad|pmevent)(?!\w))"
)


def sections(text: str) -> list[str]:
    """What stands between the colons outside of strings: the template's strings, outputs, inputs, what it clobbers."""
    found = [""]
    for part in _PARTS.findall(text):
        if part[0] == ":":
            found += [""] * len(part)
        elif part[0] != '"' or len(found) == 1:
            found[-1] += part
    return found


def outputs(text: str) -> tuple[str, ...]:
    """Names among the output operands."""
    parts = sections(text)
    return tuple(dict.fromkeys(_WORD.findall(parts[1]))) if len(parts) > 1 else ()


def pointed(text: str) -> tuple[str, ...]:
    """Names whose address is taken in an operand."""
    return tuple(dict.fromkeys(n for part in sections(text)[1:] for n in _ADDRESS.findall(part)))


def writes_memory(text: str) -> bool:
    """Whether an instruction is none of those that are known to write no memory."""
    code = "".join(part[1:-1] for part in _PARTS.findall(sections(text)[0]) if part[0] == '"')
    lines = _BLANK.sub(" ", _COMMENT.sub(" ", code)).split(";")
    return any(_HARMLESS.match(line) is None for line in lines)
