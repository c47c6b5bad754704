"""CUDA C++ in strings of programs (NVRTC, ``load_inline``, ``cupy.RawModule``): it is not read, and that is said."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from cutecheck.source.files import read_bytes

_RAW = re.compile(rb'R"([^\s()\\]{0,16})\((.*?)\)\1"', re.DOTALL)
_QUOTED = re.compile(rb'("""|' + rb"''')(.*?)\1", re.DOTALL)
_INCLUDES = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[<\"](?:cute|cutlass)/", re.MULTILINE)
_KERNEL = re.compile(rb"\b__global__\b")
_SHOWN = 5


def note(files: Mapping[str, Path]) -> str:
    """What a report says of files with kernels in strings; empty for none."""
    found = []
    for path, file in files.items():
        try:
            line = _line(read_bytes(file), path.endswith(".py"))
        except OSError:
            continue
        if line:
            found.append(f"{path}:{line}")
    if not found:
        return ""
    shown = ", ".join(found[:_SHOWN]) + (f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else "")
    return f"{shown}: CUDA C++ in a string is not checked (put it into a file of its own)"


def _line(data: bytes, python: bool) -> int:
    """The line where the first string begins that holds a kernel or includes CuTe; 0 for none."""
    if b"__global__" not in data and b"include" not in data:
        return 0
    for found in (_QUOTED if python else _RAW).finditer(data):
        if _INCLUDES.search(found[2]) or (_KERNEL.search(found[2]) and b"cute" in found[2]):
            return data.count(b"\n", 0, found.start()) + 1
    return 0


__all__ = ["note"]
