"""Instructions by kind and width: what a prediction says, what PTX and SASS hold.

The names are SASS's. Widths: bits a thread moves for plain accesses, the number of 8x8 matrices for LDSM and STSM, the
shape ``m16n8k16`` for an MMA, the PTX shape and count (``32x32b.x1``) for tensor memory.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TypeAlias

Key: TypeAlias = tuple[str, str]
Counts: TypeAlias = Mapping[Key, int]

MEMORY = ("LDG", "STG", "LDS", "STS", "LDSM", "STSM", "LDGSTS", "LDTM", "STTM")
MMA = ("MMA", "WGMMA", "UMMA", "FMA")
# plain loads and stores, by PTX state space; generic accesses have a name of their own, so that they are seen
_SPACES = {"global": "G", "shared": "S", "shared::cta": "S", "local": "L", "": ""}

_ENTRY = re.compile(r"^\s*(?:\.visible\s+)?\.entry\s+(\w+)", re.MULTILINE)
_PTX_LINE = re.compile(r"^\s*(?:\{\s*)?(?:@!?%\w+\s+)?([a-z][\w.:]*)\s*([^;]*);", re.MULTILINE)
_PLAIN = re.compile(
    r"^(ld|st)(?:\.(?:volatile|relaxed|weak|acquire|release)(?:\.\w+)?)?(?:\.(global|shared(?:::cta)?|local))?\.(.*)$"
)
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
# an instruction under @!PT never runs: ptxas puts some there as fences
_SASS_LINE = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?!@!U?PT\b)(?:@!?U?P\w+\s+)?([A-Z][\w.]*)([^;]*);")
_SASS_SECTION = re.compile(r"^\s*\.section\s+\.text\.(\w+)", re.MULTILINE)
_SASS_MMA = {"HMMA": "MMA", "IMMA": "MMA", "DMMA": "MMA", "QMMA": "MMA", "BMMA": "MMA", "OMMA": "MMA",
             "HGMMA": "WGMMA", "IGMMA": "WGMMA", "QGMMA": "WGMMA", "BGMMA": "WGMMA"}  # fmt: skip
_SASS_UMMA = re.compile(r"UTC\w*MMA$")


def ptx_counts(text: str) -> dict[str, Counter[Key]]:
    """Instructions of each entry of a PTX module; what is not in :data:`MEMORY` or :data:`MMA` is left out."""
    entries = list(_ENTRY.finditer(text))
    out = {}
    for entry, following in zip(entries, [*entries[1:], None], strict=True):
        body = text[entry.end() : following.start() if following else len(text)]
        out[entry[1]] = Counter(key for m in _PTX_LINE.finditer(body) for key in _ptx(m[1], m[2]))
    return out


def _ptx(name: str, operands: str) -> Iterator[Key]:
    if name.startswith(("ldmatrix.", "stmatrix.")):
        number = re.search(r"\.x(\d)", name)
        tall = 2 if "m16n16" in name else 1
        yield ("LDSM" if name[0] == "l" else "STSM"), str(int(number[1]) * tall if number else tall)
    elif name.startswith("cp.async.") and ".shared" in name and "bulk" not in name:
        size = re.search(r"\]\s*,\s*\[[^\]]*\]\s*,\s*(\d+)", operands)
        yield "LDGSTS", str(int(size[1]) * 8) if size else "?"
    elif name.startswith("wgmma.mma_async"):
        yield "WGMMA", _shape(name)
    elif name.startswith("mma.sync"):
        yield "MMA", _shape(name)
    elif name.startswith("tcgen05.mma"):
        yield "UMMA", ""
    elif name.startswith(("tcgen05.ld", "tcgen05.st")):
        found = re.search(r"\.(\d+x\d+b)(?:\.(x\d+))?", name)
        yield ("LDTM" if ".ld" in name else "STTM"), f"{found[1]}.{found[2] or 'x1'}" if found else "?"
    elif name.startswith("fma.rn.f"):
        yield "FMA", re.sub(r"\D", "", name.rpartition(".")[2].partition("x")[0])
    elif (plain := _PLAIN.match(name)) and not plain[3].startswith("param") and ".param" not in name:
        yield plain[1].upper() + _SPACES[plain[2] or ""], str(_ptx_bits(plain[3]))


def _ptx_bits(rest: str) -> int:
    element = re.search(r"\.?([busf])(8|16|32|64|128)$", rest)
    vector = re.search(r"(?:^|\.)v(\d)(?:\.|$)", rest)
    return (int(element[2]) if element else 0) * (int(vector[1]) if vector else 1)


def _shape(name: str) -> str:
    found = _SHAPE.search(name)
    return found[0] if found else "?"


def sass_counts(text: str) -> dict[str, Counter[Key]]:
    """Instructions of each kernel in what nvdisasm or cuobjdump print; MMA shapes are SASS's digits (``16816``)."""
    sections = list(_SASS_SECTION.finditer(text)) or list(re.finditer(r"^\s*Function : (\w+)", text, re.MULTILINE))
    out: dict[str, Counter[Key]] = {}
    for section, following in zip(sections, [*sections[1:], None], strict=True):
        body = text[section.end() : following.start() if following else len(text)]
        counted = Counter(key for m in _SASS_LINE.finditer(body) for key in _sass(m[1].split(".")))
        out[section[1]] = out.get(section[1], Counter()) + counted
    return out


def _sass(parts: list[str]) -> Iterator[Key]:
    name, flags = parts[0], parts[1:]
    if name in ("LDSM", "STSM"):
        digits = [f for f in flags if f in ("1", "2", "4")]
        yield name, digits[-1] if digits else "1"
    elif name in ("LDG", "STG", "LDS", "STS", "LDGSTS", "LD", "ST", "LDL", "STL"):
        yield name, _sass_bits(flags)
    elif name in _SASS_MMA:
        shape = next((f for f in flags if re.fullmatch(r"\d+(x\d+)*", f)), "?")
        yield _SASS_MMA[name], shape
    elif _SASS_UMMA.fullmatch(name):
        yield "UMMA", ""
    elif name in ("LDTM", "STTM"):
        yield name, ""
    elif name in ("FFMA", "DFMA", "HFMA2", "FFMA2"):
        yield ("FMA", {"F": "32", "D": "64", "H": "16"}[name[0]]) if name != "FFMA2" else ("FMA2", "32")


def _sass_bits(flags: list[str]) -> str:
    for flag in flags:
        if flag in ("64", "128", "256"):
            return flag
        if flag in ("U8", "S8", "U16", "S16"):
            return flag[1:]
        if flag.startswith(("ENL2", "LTC")):
            continue
    return "32"


def sass_key(key: Key) -> Key:
    """A predicted key as SASS writes it: the shape's digits for an MMA, no shape for tensor memory."""
    kind, width = key
    shape = _SHAPE.fullmatch(width)
    if kind == "MMA" and shape:
        return kind, shape[1] + shape[2] + shape[3]
    if kind == "WGMMA" and shape:
        return kind, f"{shape[1]}x{shape[2]}x{shape[3]}"
    return (kind, "") if kind in ("LDTM", "STTM") else key


def shown(counts: Counts) -> str:
    """``8 LDGSTS.128, 32 MMA.m16n8k16``; ``nothing`` for none."""
    named = (f"{n} {kind}{'.' + width if width else ''}" for (kind, width), n in sorted(counts.items()) if n)
    return ", ".join(named) or "nothing"
