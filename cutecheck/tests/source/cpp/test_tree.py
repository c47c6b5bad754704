"""Trees of files: where includes lead, whose macros count, what architectures share."""

from __future__ import annotations

import random
import re
from pathlib import Path, PurePosixPath

from cutecheck.source.cpp.tree import Tree, _beside
from cutecheck.source.eval import ir


def tree(root: Path, files: dict[str, str], *include_dirs: str) -> Tree:
    paths = {}
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if not name.startswith(include_dirs):
            paths[name] = path
    return Tree(paths, tuple(root / d for d in include_dirs))


def unit(where: Tree, path: str, arch: str = "sm_80") -> ir.Unit:
    found = where.unit(path, arch)
    assert found is not None
    return found


def test_include_resolution(tmp_path: Path) -> None:
    names = ["src/a.cu", "src/near.h", "lib/near.h", "inc/cute/layout.hpp", "x/one.h", "y/one.h", "out/sys/far.hpp"]
    where = tree(tmp_path, dict.fromkeys(names, ""), "out")

    def to(text: str, system: bool = False) -> str | None:
        return where.resolve(text, "src/a.cu", system)

    assert to("near.h") == "src/near.h"
    assert to("../lib/near.h") == "lib/near.h"
    assert to("cute/layout.hpp", True) == "inc/cute/layout.hpp"
    assert to("one.h") is None  # two of them, equally far
    assert to("sys/far.hpp", True) == "sys/far.hpp"
    assert to("vector", True) is None


def test_macros_come_from_includes_and_cycles_are_cut(tmp_path: Path) -> None:
    where = tree(
        tmp_path,
        {
            "m.h": '#pragma once\n#include "n.h"\n#if N == 2\n#define TWICE(x) ((x) * N)\n#endif\n',
            "n.h": '#ifndef N_H\n#define N_H\n#include "m.h"\n#define N 2\n#define API __device__\n#endif\n',
            "a.cu": '#include "m.h"\n#if N == 2\nAPI int x = TWICE(3);\n#endif\n',
        },
    )
    (variable,) = unit(where, "a.cu").decls
    assert isinstance(variable, ir.Variable)
    assert variable.flags == {"device"}
    assert isinstance(variable.init, ir.Binary)
    assert variable.init.right.span.line == 3
    assert where.closure("a.cu", "sm_80") == ["n.h", "m.h", "a.cu"]


def test_inactive_includes_are_not_followed(tmp_path: Path) -> None:
    text = '#if __CUDA_ARCH__ >= 900\n#include "b.h"\n#else\n#include "c.h"\n#endif\n'
    where = tree(tmp_path, {"a.cu": text, "b.h": "", "c.h": ""})
    assert where.closure("a.cu", "sm_90") == ["b.h", "a.cu"]
    assert where.closure("a.cu", "sm_80") == ["c.h", "a.cu"]


def test_units_are_shared_between_architectures_that_see_the_same_text(tmp_path: Path) -> None:
    where = tree(
        tmp_path,
        {
            "a.cu": "void f() {}\n",
            "b.cu": "#if __CUDA_ARCH__ >= 800\nint a;\n#else\nint b;\n#endif\n",
            "k.h": "#if __CUDA_ARCH__ >= 900\n#define K 3\n#else\n#define K 2\n#endif\n",
            "c.cu": '#include "k.h"\nint k = K;\n',
        },
    )
    assert unit(where, "a.cu", "sm_80") is unit(where, "a.cu", "sm_90a")
    assert unit(where, "b.cu", "sm_80") is unit(where, "b.cu", "sm_90a")
    assert unit(where, "b.cu", "sm_80") is not unit(where, "b.cu", "sm_75")
    assert unit(where, "c.cu", "sm_80") is not unit(where, "c.cu", "sm_90")


def test_unreadable_files_are_none(tmp_path: Path) -> None:
    where = Tree({"gone.cu": tmp_path / "gone.cu"})
    assert where.unit("gone.cu", "sm_80") is None
    assert where.includes("gone.cu", "sm_80") == ()


def test_what_an_include_line_names_seen_from_a_folder() -> None:
    pick = random.Random(5)
    for _ in range(2_000):
        parent = "/".join(pick.choices(("a", "b.c", "..", "d"), k=pick.randrange(4)))
        text = "/".join(pick.choices(("a", "..", ".", "x.h", "", "d e"), k=pick.randrange(1, 5)))
        text = re.sub("^//+", "/", text)
        parts: list[str] = []
        for p in (PurePosixPath(parent) / text).parts:
            if p == ".." and parts and parts[-1] != "..":
                parts.pop()
            elif p != ".":
                parts.append(p)
        assert _beside(parent, text) == "/".join(parts), (parent, text)


def test_include_lines_are_those_that_begin_with_the_sign(tmp_path: Path) -> None:
    pick = random.Random(6)
    pieces = (
        "#include <a.h>", ' \t#  include "b/c.h" // x', "// #include <d.h>", "#includes", "x #include <e.h>", "",
        '#include "f', "#define X #include <g.h>", "\\", "#\tinclude\t<h.h>  ", "/**/ #include <i.h>",
    )  # fmt: skip
    pattern = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"\n]+)[>\"]", re.MULTILINE)
    for n in range(50):
        text = pick.choice(("\n", "\r\n")).join(pick.choices(pieces, k=20))
        where = tree(tmp_path, {f"{n}.h": text})
        assert where._include_lines(f"{n}.h") == pattern.findall(text)
