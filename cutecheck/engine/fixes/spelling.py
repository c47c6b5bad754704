"""How layouts and configurations are spelled in a stretch of source text: what can be edited in place."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cutecheck.engine.fixes.text import Change, SourceText

_NAMED = frozenset((*range(11), 12, 24, 96, 192, 384, 768, *(1 << n for n in range(4, 14))))  # `_64` and its like
_OPEN, _CLOSE = "([{<", ")]}>"
_NUMBER = re.compile(
    r"(?:cute::)?(?:_(\d+)|(?:Int|C)\s*<\s*(\d+)\s*>|(\d+))(\s*\{\s*\})?\Z"  # _64, Int<64>, 64, with {} or without
)
_SIZED = re.compile(r"((?:cute::)?(?:Int|C))\s*<(.*)>\s*(\{\s*\})?\Z", re.DOTALL)
_NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class Region:
    """Characters ``begin .. end`` of a file."""

    source: SourceText
    begin: int
    end: int

    @property
    def text(self) -> str:
        return self.source.text[self.begin : self.end]

    @property
    def code(self) -> str:
        return self.source.code[self.begin : self.end]

    def part(self, begin: int, end: int) -> Region:
        """A part by offsets from the region's own begin."""
        return Region(self.source, self.begin + begin, self.begin + end)

    def stripped(self) -> Region:
        code = self.code
        lead = len(code) - len(code.lstrip())
        return self.part(lead, max(lead, len(code.rstrip())))

    def names(self) -> list[str]:
        """Identifiers in order, each once."""
        return list(dict.fromkeys(_NAME.findall(self.code)))

    def to(self, text: str) -> Change:
        return Change(self.begin, self.end, text)


def closing(code: str, at: int) -> int | None:
    """The index of the bracket that closes the one at ``at``; angle brackets count where they are balanced."""
    stack = [code[at]]
    for i in range(at + 1, len(code)):
        c = code[i]
        if c == ">" and (code[i - 1] in "-=" or stack[-1] != "<"):
            continue
        if c == "<" and ((i + 1 < len(code) and code[i + 1] in "<=") or not re.match(r"[\w\s:(]", code[i + 1 : i + 2])):
            continue
        if c in _OPEN:
            stack.append(c)
        elif c in _CLOSE:
            while stack and stack[-1] == "<" and c != ">":
                stack.pop()
            if not stack or _CLOSE.index(c) != _OPEN.index(stack[-1]):
                return None
            stack.pop()
            if not stack:
                return i
    return None


def arguments(region: Region, at: int) -> list[Region]:
    """The comma-separated parts inside the bracket at ``at`` of the region's code, without outer white space."""
    code = region.code
    end = closing(code, at)
    if end is None:
        return []
    found, start, i = [], at + 1, at + 1
    while i < end:
        if code[i] in _OPEN and (inner := closing(code, i)) is not None and inner < end:
            i = inner
        elif code[i] == ",":
            found.append(region.part(start, i).stripped())
            start = i + 1
        i += 1
    last = region.part(start, end).stripped()
    return [*found, last] if last.text or found else []


def calls(region: Region, name: str) -> list[list[Region]]:
    """Arguments of every ``name(...)`` or ``name<...>`` in the region."""
    found = []
    for match in re.finditer(rf"(?<![\w]){name}\s*([(<])", region.code):
        found.append(arguments(region, match.start(1)))
    return found


def number(region: Region) -> int | None:
    """The value of a literal extent or stride, ``_64``, ``Int<64>{}`` or ``64``."""
    match = _NUMBER.fullmatch(region.code.strip())
    return int(next(g for g in match.groups()[:3] if g is not None)) if match else None


def spelled(value: int) -> str:
    """A static integer as CuTe's users write it."""
    return f"_{value}" if value in _NAMED else f"Int<{value}>"


def with_number(region: Region, value: int, add: int | None = None) -> Change | None:
    """Another value for a literal; for ``Int<name>`` a sum, where ``add`` says how much more it is."""
    text = region.text
    match = _NUMBER.fullmatch(text)
    if match:
        suffix = match[4] or ""
        if match[3] is not None:
            return region.to(f"{value}{suffix}")
        prefix = "cute::" if text.startswith("cute::") else ""
        named = match[1] is not None and value in _NAMED
        return region.to(f"{prefix}{spelled(value) if named else f'Int<{value}>'}{suffix}")
    sized = _SIZED.fullmatch(text)
    if sized and add is not None:
        inner = sized[2].strip()
        inner = inner if re.fullmatch(r"[\w:]+", inner) else f"({inner})"
        return region.to(f"{sized[1]}<{inner} + {add}>{sized[3] or ''}")
    return None


@dataclass(frozen=True)
class Leaf:
    """One number of a spelled tuple."""

    region: Region

    @property
    def value(self) -> int | None:
        return number(self.region)


Nested = Leaf | list["Nested"]


def tuple_of(region: Region) -> Nested:
    """A spelled tuple: ``Shape<_8, Shape<..>>``, ``make_shape(...)``, ``(8, (2, 4))``; anything else is a leaf."""
    code = region.code
    match = re.match(
        r"(?:cute::)?(?:Shape|Stride|Step|Tile|tuple|make_shape|make_stride|make_tuple|make_tile)?\s*", code
    )
    at = match.end() if match else 0
    head = code[:at].strip()
    if at < len(code) and code[at] in "(<" and (head or code[at] == "("):
        end = closing(code, at)
        if end is not None and code[end + 1 :].strip() in ("", "{}"):
            parts = arguments(region, at)
            if head or len(parts) != 1 or code[at + 1 : end].rstrip().endswith(","):
                return [tuple_of(p) for p in parts if p.text]
            return tuple_of(parts[0])
    return Leaf(region)


def flat(nested: Nested) -> list[Leaf]:
    """The leaves in order."""
    return [nested] if isinstance(nested, Leaf) else [leaf for item in nested for leaf in flat(item)]


@dataclass(frozen=True)
class LayoutSpelling:
    """``Layout<Shape, Stride>``, ``make_layout(shape, stride)`` or the DSL's call, as written."""

    whole: Region
    shape: Region
    stride: Region | None


def layouts(region: Region) -> list[LayoutSpelling]:
    """Every layout spelled with numbers in the region, in order."""
    found = []
    for match in re.finditer(
        r"(?<![\w:])(?:cute::|cute\.)?(Layout\s*<|make_layout\s*\(|make_ordered_layout\s*\()", region.code
    ):
        at = match.end() - 1
        end = closing(region.code, at)
        parts = arguments(region, at)
        if end is None or not parts or match[1].startswith("make_ordered"):
            continue
        tail = re.match(r"\s*\{\s*\}", region.code[end + 1 :]) if region.code[at] == "<" else None
        stop = end + 1 + (tail.end() if tail else 0)
        stride = parts[1] if len(parts) > 1 else None
        if stride is not None and region.source.python:
            named = re.match(r"stride\s*=\s*", stride.code)
            stride = stride.part(named.end(), stride.end - stride.begin) if named else stride
        found.append(LayoutSpelling(region.part(match.start(), stop), parts[0], stride))
    return found


def definition(region: Region) -> tuple[Region, bool]:
    """What stands right of ``=`` in a declaration, and whether it is a type (``using``); without ``=`` all of it."""
    code = region.code
    if region.source.python:
        return region, False
    using = re.match(r"\s*using\s+\w+\s*=", code)
    if using:
        return region.part(using.end(), len(code.rstrip().rstrip(";"))).stripped(), True
    value = re.match(r"[^=(){};]*[^=!<>(){};]=(?!=)", code)
    if value:
        return region.part(value.end(), len(code.rstrip().rstrip(";"))).stripped(), False
    return region, False
