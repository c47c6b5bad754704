"""The precompiled prelude is kept for the next run, as long as all that it was made of is as it was."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cutecheck.exec.host import precompiled

COMMAND = ["/bin/sh", "-std=c++17", "-I/somewhere"]


class Made:
    """What a compiler has made of a prelude that includes two headers, one of which has a space in its name."""

    def __init__(self, folder: Path) -> None:
        self.prelude = folder / "run" / "prelude.hpp"
        self.headers = [folder / "a.hpp", folder / "b c.hpp"]
        self.made = folder / "run" / "prelude.hpp.gch"
        self.read = folder / "run" / "prelude.d"
        self.environ = {"CUTECHECK_CACHE": str(folder / "kept")}
        self.prelude.parent.mkdir()
        for path in (self.prelude, *self.headers):
            path.write_text(path.name)
        self.made.write_text("compiled")
        names = " \\\n ".join(str(p).replace(" ", "\\ ") for p in (self.prelude, *self.headers))
        self.read.write_text(f"{self.made}: \\\n {names}\n")

    def place(self, *own: str, **environ: str) -> Path | None:
        return precompiled.place(COMMAND, own, self.prelude, self.environ | environ)

    def keep(self) -> Path:
        kept = self.place()
        assert kept is not None
        precompiled.keep(kept, self.made, self.read)
        return kept


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


def test_it_is_as_good_as_new(made: Made, tmp_path: Path) -> None:
    kept, to = made.keep(), tmp_path / "again.gch"
    assert precompiled.fetch(kept, to)
    assert to.read_text() == "compiled"
    made.prelude.unlink()  # which each run has in a folder of its own
    assert precompiled.fetch(kept, tmp_path / "once more.gch")


def _longer(path: Path) -> None:
    path.write_text("longer than it was")


def _touched(path: Path) -> None:
    os.utime(path, (1, 1))


@pytest.mark.parametrize("change", [Path.unlink, _longer, _touched])
@pytest.mark.parametrize("which", [0, 1])
def test_a_header_that_changed_makes_it_anew(
    made: Made, tmp_path: Path, change: Callable[[Path], None], which: int
) -> None:
    kept, to = made.keep(), tmp_path / "again.gch"
    change(made.headers[which])
    assert not precompiled.fetch(kept, to)
    assert not to.exists()
    if made.headers[which].exists():
        made.keep()
        assert precompiled.fetch(kept, to)


@pytest.mark.parametrize("own", [["-I."], ["-isystem", "x"], ["-include", "x.hpp"], ["--sysroot=/x"], ["@options"]])
def test_nothing_is_kept_where_other_files_may_come_first(made: Made, own: list[str]) -> None:
    assert made.place(*own) is None


def test_what_it_depends_on_has_a_place_of_its_own(made: Made) -> None:
    places = {made.place(), made.place("-DX=1"), made.place("-DX=2"), made.place(CPATH="/x")}
    assert len(places) == 4
    made.prelude.write_text("another")
    assert made.place() not in places
    assert precompiled.place(["/no/such/compiler"], [], made.prelude, made.environ) is None


@pytest.mark.parametrize("text", ["", "[", "[]", "{}", "7", '[["a.hpp"]]'])
def test_what_is_damaged_is_made_anew(made: Made, tmp_path: Path, text: str) -> None:
    kept = made.keep()
    (kept / "read.json").write_text(text)
    assert not precompiled.fetch(kept, tmp_path / "again.gch")
    (made.keep() / "prelude.hpp.gch").unlink()
    assert not precompiled.fetch(kept, tmp_path / "again.gch")


def test_few_are_kept(made: Made) -> None:
    folders = []
    for number in range(4):
        made.prelude.write_text(str(number))
        folders.append(made.keep())
        os.utime(folders[-1], (number + 1, number + 1))
    assert [f.exists() for f in folders] == [False, False, True, True]
    assert {p.name for p in folders[-1].parent.iterdir()} == {f.name for f in folders[2:]}


def test_a_cache_that_cannot_be_written_is_no_error(made: Made, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file")
    kept = made.place()
    assert kept is not None
    precompiled.keep(kept, made.made, made.read)
    assert not precompiled.fetch(kept, tmp_path / "again.gch")
