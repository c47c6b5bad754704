"""Inline assembly as its text: the operands that it writes, and whether it may write memory."""

from __future__ import annotations

import re

_PARTS = re.compile(r'"(?:[^"\\]|\\.)*"|(?:[^":]|(?<=\w)::(?=\w))+|:+')
_WORD = re.compile(r"[A-Za-z_]\w*")
_ADDRESS = re.compile(r"[(),=+*\[-]\s*&\s*([A-Za-z_]\w*)")
_COMMENT = re.compile(r"//.*?(?:\\n|\n|$)")
_BLANK = re.compile(r"\\[ntr]|\s+")
# in front of an instruction; %= is a number of the statement's own
LABELS = r"(?:[A-Za-z_$%](?:[\w$]|%=)*\s*:(?!:)\s*)*"
# of PTX: perhaps under a predicate, an instruction that writes registers or barriers alone, or nothing
_HARMLESS = re.compile(
    rf"[{{}}\s]*{LABELS}(?:@!?[%\w]+\s+)?(?:[{{}}\s]*$|\.reg\b|\.pred\b|cp\.async\.(?:wait|commit|bulk\.(?:wait|commit|prefetch))"
    r"|tcgen05\.(?!alloc\b)|clusterlaunchcontrol\.query_cancel|(?:ld|ldu|ldmatrix|mov|cvt|cvta|setp|set|selp|slct|add|addc|sub|mul"
    r"|mad|fma|div|rem|abs|neg|min|max|and|or|xor|not|shl|shr|shf|lop3|prmt|bfe|bfi|bfind|brev|clz|popc|ex2|lg2|rcp"
    r"|rsqrt|sqrt|sin|cos|tanh|copysign|movmatrix|mma|wgmma|wmma|shfl|vote|activemask|match|redux|elect|isspacep|mapa|getctarank"
    r"|bar|barrier|membar|fence|mbarrier|griddepcontrol|setmaxnreg|nanosleep|prefetch|prefetchu|trap|brkpt|exit|bra"
    r"|ret|discard|applypriority|createpolicy|dp4a|dp2a|sad|pmevent)(?!\w))"
)

# what one statement of assembly may do, and CuTe's function that does the same; whether it is given a number
_STEPS = {
    "cp.async.commit_group": ("cp_async_fence", False), "cp.async.wait_all": ("cp_async_wait", False),
    "cp.async.wait_group": ("cp_async_wait_group", True),
    "cp.async.bulk.commit_group": ("tma_store_arrive", False),
    "cp.async.bulk.wait_group": ("tma_store_wait", True), "cp.async.bulk.wait_group.read": ("tma_store_wait", True),
    "wgmma.fence.sync.aligned": ("warpgroup_arrive", False),
    "wgmma.commit_group.sync.aligned": ("warpgroup_commit_batch", False),
    "wgmma.wait_group.sync.aligned": ("warpgroup_wait", True),
    "fence.proxy.async": ("fence_view_async_shared", False),
    "fence.proxy.async.shared::cta": ("fence_view_async_shared", False),
}  # fmt: skip
_STEP = re.compile(r"([a-z_.:]+)(?:\s+(?:(\d+)|%(\d+)|%\[(\w+)\]))?\s*$")
ADDS = "mbarrier_expect_tx"  # to what a barrier waits for, and does not arrive
_EXPECT = re.compile(
    r"mbarrier\.(?:arrive\.)?expect_tx[\w.:]*\s+(?:(?:_|%\w+|%\[\w+\])\s*,\s*)?\[[^\]]*\]\s*,"
    r"\s*(?:(\d+)|%(\d+)|%\[(\w+)\])\s*$"
)
_OPERAND = re.compile(r'(?:\[\s*(\w+)\s*\]\s*)?"[^"\n]*"\s*\(')


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
    return any(_HARMLESS.match(line) is None for line in code_of(text))


def step(text: str) -> tuple[str, int | tuple[int, int] | None] | None:
    """What the only instruction does with groups, as a fence, or to tell a barrier of bytes: CuTe's function for it.

    With it the number of groups that a wait leaves open or of bytes, or where the operand with it begins and ends in
    the text.
    """
    lines = _lines(text)
    if len(lines) != 1:
        return None
    expects = _EXPECT.match(lines[0])
    if expects is not None:
        bytes_ = _number(expects.groups(), text)
        return None if bytes_ is None else ("arrive_and_expect_tx" if ".arrive." in lines[0] else ADDS, bytes_)
    return _of_groups(lines[0], text)


def steps(text: str) -> list[tuple[str, int | tuple[int, int] | None]]:
    """What several instructions of one statement do with groups or as fences, one after the other."""
    lines = _lines(text)
    found = [_of_groups(line, text) for line in lines] if len(lines) > 1 else []
    return [s for s in found if s is not None]


def _lines(text: str) -> list[str]:
    return [line for line in (part.strip(" {}") for part in code_of(text)) if line]


def _of_groups(line: str, text: str) -> tuple[str, int | tuple[int, int] | None] | None:
    found = _STEP.match(line)
    known = _STEPS.get(found[1]) if found is not None else None
    if found is None or known is None:
        return None
    name, counts = known
    given = found.groups()[1:]
    if counts and any(given):
        number = _number(given, text)
        return None if number is None else (name, number)
    return None if counts or any(given) else (name, 0 if name == "cp_async_wait" else None)


def _number(given: tuple[str | None, ...], text: str) -> int | tuple[int, int] | None:
    """A literal, or where the operand of this number or name begins and ends."""
    literal, place, name = given
    if literal:
        return int(literal)
    operands = operands_of(text)
    at = int(place) if place else next((n for n, (called, _) in enumerate(operands) if called == name), -1)
    return operands[at][1] if 0 <= at < len(operands) else None


def code_of(text: str) -> list[str]:
    """The instructions of the template, without comments."""
    code = "".join(part[1:-1] for part in _PARTS.findall(sections(text)[0]) if part[0] == '"')
    return _BLANK.sub(" ", _COMMENT.sub(" ", code)).split(";")


def operands_of(text: str) -> list[tuple[str, tuple[int, int]]]:
    """Symbolic names of all operands, and where their expressions begin and end."""
    found: list[tuple[str, tuple[int, int]]] = []
    for match in _OPERAND.finditer(text):
        depth, end = 1, match.end()
        while end < len(text) and depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        found.append((match[1] or "", (match.end(), end - 1)))
    return found
