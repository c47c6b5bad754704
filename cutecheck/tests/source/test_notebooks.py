"""Jupyter notebooks: cells are checked as one script, places name the cell and its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cutecheck.cli import main
from cutecheck.source.notebooks import cells, place, python, split

BOOK: dict[str, Any] = {
    "cells": [
        {"cell_type": "markdown", "source": ["# Swizzles\n"]},
        {"cell_type": "code", "source": ["%pip install x\n", "import cutlass\n", "import cutlass.cute as cute"]},
        {"cell_type": "code", "source": ["%%bash\n", "echo not python $HOME {\n"]},
        {"cell_type": "code", "source": "%%time\natom = (8, 64)\nfiles = !ls"},
        {
            "cell_type": "code",
            "source": [
                "@cute.jit\n",
                "def host():\n",
                "    swizzle = cute.make_swizzle(3, 4, 2)\n",
                "    grown = cute.tile_to_shape(cute.make_layout(atom, stride=(64, 1)), (100, 64), (0, 1))"
                "  # cutecheck: ignore[CUT211]\n",
                "\n",
                "host()\n",
            ],
        },
    ],
    "metadata": {"kernelspec": {"language": "python"}},
    "nbformat": 4,
}


def test_cells_become_one_python_text() -> None:
    found = cells(json.dumps(BOOK).encode())
    assert [c.number for c in found] == [2, 3, 4, 5]
    lines = python(found).split("\n")
    assert lines[0].startswith("pass #") and lines[1] == "import cutlass"
    assert lines[3:6] == ["", "", ""]  # the whole of the shell's cell
    assert lines[7] == "atom = (8, 64)" and lines[8].startswith("pass #")
    assert len(lines) == sum(len(c.lines) for c in found) and found[-1].start == 9
    compile(python(found), "book", "exec")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cells": 3}', '{"cells": [1, {"cell_type": "code"}]}', "\xff"])
def test_what_is_no_notebook_is_empty(text: str) -> None:
    assert all(c.lines == ("",) for c in cells(text.encode("latin-1")))


def test_places() -> None:
    assert split(place("a/b.ipynb", 7)) == ("a/b.ipynb", 7)
    assert split("a/b.ipynb") == ("a/b.ipynb", None) and split("c.py:cell 3") == ("c.py:cell 3", None)


def test_findings_point_to_cell_and_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "book.ipynb").write_text(json.dumps(BOOK))
    assert main(["check", str(tmp_path), "--output-format", "json"]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["code"], finding["line"]) == ("CUT211", 3) and finding["path"].endswith("book.ipynb:cell 5")
    main(["check", str(tmp_path / "book.ipynb"), "--output-format", "full"])
    text = capsys.readouterr().out
    assert "book.ipynb:cell 5:3:15" in text and "3 |     swizzle = cute.make_swizzle(3, 4, 2)" in text
    main(["facts", str(tmp_path), "--output-format", "json"])
    sites = json.loads(capsys.readouterr().out)["sites"]
    assert {(s["line"], s["status"]) for s in sites if s["path"] == "book.ipynb:cell 5"} == {
        (3, "resolved"), (4, "resolved"),
    }  # fmt: skip
