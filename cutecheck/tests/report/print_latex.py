"""What ``cute::print_latex`` of real headers draws: the nodes of TikZ pictures, by position."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cutecheck.exec.headers import Headers
from cutecheck.tests.precompiled import with_cute

_NODE = re.compile(r"\\node\[fill=(\{[^}]*\}|[^\]]*)\] at \((-?\d+),(-?\d+)\) \{(.*)\};")
_TV = re.compile(r"\\shortstack\{T(\d+) \\\\ V(\d+)\}")

Nodes = dict[tuple[int, int], tuple[str, str]]


def nodes(document: str) -> Nodes:
    """(row, column) of each filled node to its text (``thread/value`` or an offset) and its colour."""
    found: Nodes = {}
    for line in document.splitlines():
        if m := _NODE.fullmatch(line.strip()):
            owner = _TV.fullmatch(m[4])
            place = (int(m[2]), int(m[3]))
            assert place not in found, line
            found[place] = (f"{owner[1]}/{owner[2]}" if owner else m[4], m[1])
    return found


def grids(document: str) -> list[str]:
    """The corners of the grids drawn."""
    return re.findall(r"\(-?\d+,-?\d+\) grid \(-?\d+,-?\d+\)", document)


def print_latex(headers: Headers, statements: Sequence[str]) -> list[str]:
    """The document that each C++ statement prints."""
    lines = "\n".join(f'  std::printf("\\n%%%%%%%%\\n"); {s}' for s in statements)
    source = f"""
#include <cstdio>
#include <cute/tensor.hpp>
#include <cute/atom/mma_atom.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/util/print_latex.hpp>
using namespace cute;
using cutlass::half_t;
int main() {{
{lines}
}}
"""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "latex.cpp"
        path.write_text(source)
        program = Path(directory) / "latex"
        command = [*with_cute(headers), str(path), "-o", str(program)]
        built = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        assert built.returncode == 0, built.stderr[-3000:]
        ran = subprocess.run([str(program)], capture_output=True, text=True, timeout=60, check=True)
    return ran.stdout.split("\n%%%%\n")[1:]
