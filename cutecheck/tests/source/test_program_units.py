"""Programs with declarations of their own, each in a namespace: g++ 12 printed the values, with ``-std=c++20``.

A file of ``cutecheck/tests/data/program_units`` has programs after lines ``@@@ name``: declarations, ``---``,
statements of a kernel with ``n``, ``x = 0`` and ``y = 8``, and lines ``=> number ## what is printed`` or
``=L> layout ## ...``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from cutecheck.facts import Unknown
from cutecheck.model.ints import as_expr
from cutecheck.source.extract import ExtractRequest, extract

FOLDER = Path(__file__).parents[1] / "data" / "program_units"
_SHOWN = re.compile(r"=(?P<layout>L?)> (?P<shown>.*?) ## (?P<printed>.*)$")


@dataclass(frozen=True, slots=True)
class Shown:
    shown: str
    layout: bool
    printed: str


@dataclass(frozen=True, slots=True)
class Program:
    name: str
    declarations: str
    body: str
    shown: tuple[Shown, ...]


def read(path: Path) -> list[Program]:
    found = []
    for text in re.split(r"^@@@ ", path.read_text(), flags=re.MULTILINE)[1:]:
        name, _, rest = text.partition("\n")
        declarations, _, items = rest.rpartition("---\n")
        lines = items.splitlines()
        matches = [m for line in lines if (m := _SHOWN.match(line)) is not None]
        body = "\n".join(line for line in lines if _SHOWN.match(line) is None)
        shown = tuple(Shown(m["shown"], bool(m["layout"]), m["printed"]) for m in matches)
        found.append(Program(name, declarations, body, shown))
    return found


def source(programs: list[Program]) -> tuple[str, dict[int, tuple[str, Shown]]]:
    """A file with all programs, and what is shown on which line."""
    text = "#include <cute/tensor.hpp>\n#include <array>\n#include <optional>\nusing namespace cute;\n"
    at = {}
    for i, p in enumerate(programs):
        text += f"namespace p{i} {{\n{p.declarations}\n"
        text += f"__global__ void k_{i}(int n) {{ __shared__ half_t s[65536]; int x = 0, y = 8;\n{p.body}\n"
        for shown in p.shown:
            at[text.count("\n") + 1] = p.name, shown
            place, layout = ("s", shown.shown) if shown.layout else (f"s + ({shown.shown})", "Layout<_8>{}")
            text += f"{{ auto seen = make_tensor(make_smem_ptr({place}), {layout}); copy(seen, seen); }}\n"
        text += f"}}\nvoid host(int n) {{ k_{i}<<<1, 32>>>(n); }}\n}}\n"
    return text, at


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda p: p.stem)
def test_every_program_says_what_a_compiler_prints(path: Path, tmp_path: Path) -> None:
    text, at = source(read(path))
    (tmp_path / "k.cu").write_text(text)
    facts = extract(ExtractRequest((tmp_path,), ("sm_80",)))
    said: dict[int, set[str]] = {line: set() for line in at}
    for event in facts.events:
        operand = event.operands[0]
        layout = at[event.span.line][1].layout
        value = operand.layout if layout else operand.offset
        if isinstance(value, Unknown):
            said[event.span.line].add(f"? {value.reason}")
        else:
            said[event.span.line].add(str(value if layout else as_expr(value)))  # type: ignore[arg-type]
    assert [f"{name}: {s.shown}: {said[line]}, not {s.printed}" for line, (name, s) in at.items()
            if said[line] != {s.printed}] == []  # fmt: skip
