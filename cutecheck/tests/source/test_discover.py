"""Discovery: which files are read and what is said about the others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cutecheck.source.discover import discover

CUTE = "#include <cute/tensor.hpp>\n"


def write(root: Path, files: dict[str, str | bytes]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


def names(top: Path, *paths: str, exclude: tuple[str, ...] = ()) -> list[str]:
    return [file.path for file in discover([top / p for p in paths] or [top], exclude).files]


def test_extensions_and_the_quick_look(tmp_path: Path) -> None:
    write(tmp_path, {"a.cu": CUTE, "b/c.hpp": "int x;\n", "d.py": "from cutlass import cute\n", "e.txt": CUTE})
    found = discover([tmp_path])
    assert [(f.path, f.cute) for f in found.files] == [("a.cu", True), ("b/c.hpp", False), ("d.py", True)]
    assert found.errors == ()


def test_gitignore_is_respected_and_explicit_files_are_not_ignored(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            ".gitignore": "build/\n*.gen.cu\n!keep.gen.cu\n",
            "a.cu": CUTE, "x.gen.cu": CUTE, "keep.gen.cu": CUTE, "build/b.cu": CUTE,
            "sub/.gitignore": "/only_here.cu\n", "sub/only_here.cu": CUTE, "sub/deep/only_here.cu": CUTE,
        },
    )  # fmt: skip
    (tmp_path / ".git").mkdir()
    assert names(tmp_path) == ["a.cu", "keep.gen.cu", "sub/deep/only_here.cu"]
    assert names(tmp_path, "sub") == ["deep/only_here.cu"]
    assert names(tmp_path, "build/b.cu", "x.gen.cu") == ["b.cu", "x.gen.cu"]
    assert names(tmp_path, exclude=("sub/deep/",)) == ["a.cu", "keep.gen.cu"]


def test_environments_of_python_are_left_out_unless_they_are_named(tmp_path: Path) -> None:
    files = ("a.cu", "env/pyvenv.cfg", "env/lib/b.cu", "conda/conda-meta/history", "conda/include/c.cu", ".nox/d.cu")
    write(tmp_path, dict.fromkeys(files, CUTE))
    assert names(tmp_path) == ["a.cu"]
    assert names(tmp_path, "env") == ["lib/b.cu"]
    assert names(tmp_path, "env/lib") == ["b.cu"]


def test_rules_above_the_scanned_directory_count(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "gen/\n", "src/gen/a.cu": CUTE, "src/b.cu": CUTE})
    (tmp_path / ".git").mkdir()
    assert names(tmp_path, "src") == ["b.cu"]


def test_roots_that_overlap_or_repeat_names(tmp_path: Path) -> None:
    write(tmp_path, {"a/x.cu": CUTE, "b/x.cu": CUTE})
    assert names(tmp_path, "a", "b") == ["b/x.cu", "x.cu"]
    assert names(tmp_path, ".", "a", "a/x.cu") == ["a/x.cu", "b/x.cu"]


def test_symbolic_link_loops(tmp_path: Path) -> None:
    write(tmp_path, {"a/x.cu": CUTE})
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "dangling.cu").symlink_to(tmp_path / "nothing")
    found = discover([tmp_path])
    assert [f.path for f in found.files] == ["a/x.cu"]
    assert [(e.path, e.message) for e in found.errors] == [
        ("dangling.cu", "not a regular file (broken link or device)")
    ]


def test_links_to_folders_outside_are_said_and_not_followed(tmp_path: Path) -> None:
    write(tmp_path, {"tree/x.cu": CUTE, "tree/.gitignore": "ignored\n", "out/y.cu": CUTE, "tree2/z.cu": CUTE})
    tree = tmp_path / "tree"
    for name, target in (
        ("root", "/"),
        ("up", ".."),
        ("next", "../tree2"),
        ("ignored", "/"),
        ("venv", "/"),
        ("in", "."),
    ):
        (tree / name).symlink_to(target)
    found = discover([tree])
    assert [f.path for f in found.files] == ["x.cu"]
    assert sorted(e.path for e in found.errors) == ["next", "root", "up"]
    assert all(e.message.startswith("link to a folder outside, not followed") for e in found.errors)
    assert [f.path for f in discover([tree / "next"]).files] == ["z.cu"]


def test_one_clear_line_for_each_bad_file(tmp_path: Path) -> None:
    write(tmp_path, {"bin.cu": b"cute::\0\0", "latin.cu": CUTE.encode() + b"// \xe9\n", "ok.cu": CUTE})
    found = discover([tmp_path, tmp_path / "missing.cu"])
    assert {Path(e.path).name: e.message for e in found.errors} == {
        "bin.cu": "binary file, not read",
        "latin.cu": "invalid UTF-8 at byte 30; read as Latin-1",
        "missing.cu": "no such file or folder",
    }
    assert [f.path for f in found.files] == ["latin.cu", "ok.cu"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable_file(tmp_path: Path) -> None:
    write(tmp_path, {"a.cu": CUTE})
    (tmp_path / "a.cu").chmod(0)
    assert [e.message for e in discover([tmp_path]).errors] == ["cannot be read: Permission denied"]
