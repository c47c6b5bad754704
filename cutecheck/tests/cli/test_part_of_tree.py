"""``--tree``: only what changed is reported, and what depends on it; ``--stdin-filename``: text that is not on disk."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from cutecheck.cli import main
from cutecheck.rules.examples import PREAMBLE
from cutecheck.source.imports import importing
from cutecheck.tests.rules.test_swizzled_operands import KERNEL

HEADER = """#pragma once
#include <cute/tensor.hpp>
using namespace cute;
template <int K> struct Traits { using Atom = Layout<Shape<_8, Int<K>>, Stride<Int<K>, _1>>; };
"""
USE = '#include "traits.h"\nusing Mine = decltype(tile_to_shape(Traits<64>::Atom{}, Shape<_128, _64>{}));\n'
OTHER = "#include <cute/tensor.hpp>\nusing L = decltype(cute::make_layout(cute::Int<8>{}));\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "include").mkdir()
    (tmp_path / "include/traits.h").write_text(HEADER)
    (tmp_path / "use.cu").write_text(USE)
    (tmp_path / "other.cu").write_text(OTHER)
    (tmp_path / "bad\0name.cu".replace("\0", "")).write_bytes(b"cute::\0")
    return tmp_path


def checked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = main(["check", "--isolated", "--output-format", "json", *arguments])
    return code, json.loads(capsys.readouterr().out)


def sites(document: dict[str, Any]) -> int:
    return int(document["summary"]["sites"]["found"])


def test_a_changed_source_is_reported_with_what_its_headers_say(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, document = checked(capsys, "--tree", str(tree), str(tree / "use.cu"))
    assert code == 0
    assert sites(document) == 1  # `Mine`, resolved through the unchanged header; `L` is not asked for
    assert not document["errors"]  # nor is the binary file


def test_a_changed_header_brings_what_includes_it(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--tree", str(tree), str(tree / "include/traits.h"), "--isolated", "--show-proofs"]) == 0
    shown = capsys.readouterr().out
    assert "2 of 3 files with CuTe; 2 sites found, 2 resolved" in shown


def test_a_changed_header_without_cute_brings_what_includes_it(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "width.h").write_text("constexpr int kWidth = 64;\n")
    (tree / "more.h").write_text('#include "width.h"\n')
    (tree / "use.cu").write_text('#include "more.h"\n' + USE.replace("<64>", "<kWidth>"))
    _, document = checked(capsys, "--tree", str(tree), str(tree / "width.h"))
    assert sites(document) == 1
    assert document["summary"]["sites"]["resolved"] == 1


def test_a_kernel_that_copies_by_an_unchanged_header_is_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is wrong is the product, in the changed file."""
    header = "template <class C, class S, class D> __device__ void bring(C c, S const& s, D&& d) { copy(c, s, d); }\n"
    (tmp_path / "bring.h").write_text(f"#pragma once\n{PREAMBLE}{header}")
    text = KERNEL.replace("copy(Load", "bring(Load").replace("TILE", "i % 2")
    (tmp_path / "k.cu").write_text(f'#include "bring.h"\n{text}')
    _, document = checked(capsys, "--tree", str(tmp_path), str(tmp_path / "k.cu"), "--arch", "sm_80")
    assert [f["code"] for f in document["findings"] if f["severity"] == "error"] == ["CUT218"]


def test_a_changed_folder_is_all_that_stands_in_it(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sites(checked(capsys, "--tree", str(tree), str(tree))[1]) == sites(checked(capsys, str(tree))[1]) == 3
    assert sites(checked(capsys, "--tree", str(tree), str(tree / "include"))[1]) == 2


def test_a_changed_file_outside_the_tree_is_taken_and_a_missing_one_said(
    tree: Path, capsys: pytest.CaptureFixture[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "out.cu"
    outside.write_text(OTHER)
    code, document = checked(capsys, "--tree", str(tree), str(outside), str(tree / "none.cu"))
    assert code == 2
    assert sites(document) == 1
    assert "no such file" in json.dumps(document["errors"])


def test_python_that_imports_a_changed_module(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "atoms.py").write_text("import cutlass.cute as cute\nATOM = cute.make_layout((8, 64))\n")
    (tmp_path / "user.py").write_text(
        "import cutlass.cute as cute\nfrom atoms import (\n  ATOM)\nx = cute.coalesce(ATOM)\n"
    )
    (tmp_path / "alone.py").write_text("import cutlass.cute as cute\nx = cute.make_layout(4)\n")
    _, document = checked(capsys, "--tree", str(tmp_path), str(tmp_path / "atoms.py"))
    assert document["summary"]["files_with_cute"] == 2


def test_python_that_imports_a_changed_module_without_cute_through_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "numbers_.py").write_text("WIDTH = 8\n")
    (tmp_path / "shapes.py").write_text("from numbers_ import WIDTH\nSHAPE = (WIDTH, 64)\n")
    (tmp_path / "user.py").write_text(
        "import cutlass.cute as cute\nfrom shapes import SHAPE\nx = cute.make_layout(SHAPE)\n"
    )
    _, document = checked(capsys, "--tree", str(tmp_path), str(tmp_path / "numbers_.py"))
    assert document["summary"]["files_with_cute"] == sites(document) == 1


def test_a_package_leads_on_to_what_takes_the_changed_names_from_it(tmp_path: Path) -> None:
    lines = {
        "pkg/__init__.py": "from pkg.a import one  # noqa\nfrom pkg.b import two  # noqa\n"
        "from .c import (\n  three,\n)\n",
        "pkg/a.py": "one = 1\n",
        "pkg/b.py": "two = 2\n",
        "pkg/c.py": "three = 3\n",
        "takes_one.py": "from pkg import one  # noqa\n",
        "takes_a.py": "import pkg.a\n",
        "takes_two.py": "from pkg.b import two  # noqa\n",
        "takes_three.py": "from os import (\n  path)\nfrom pkg import (\n  three)  # one\n",
        "again/__init__.py": "from pkg import one\n",
        "third.py": "from again import one as uno\n",
        "other.py": "import again.deep\n",
    }
    files = {}
    for name, text in lines.items():
        files[name] = tmp_path / name
        files[name].parent.mkdir(exist_ok=True)
        files[name].write_text(text)
    scripts = [name for name in lines if "take" in name or name in ("third.py", "other.py")]
    for changed, reached in {
        "pkg/a.py": ["takes_a.py", "takes_one.py", "third.py"],  # the nearest first
        "pkg/b.py": ["takes_two.py"],
        "pkg/c.py": ["takes_three.py"],
        "pkg/__init__.py": ["takes_one.py", "takes_a.py", "takes_two.py", "takes_three.py", "third.py"],
        "again/__init__.py": ["third.py", "other.py"],
        "k.cu": [],
    }.items():
        assert importing(frozenset({changed}), scripts, files) == reached, changed


def test_modules_of_one_name_are_told_apart(tmp_path: Path) -> None:
    lines = {
        "pkg/__init__.py": "from . import utils  # noqa\n",
        "pkg/utils.py": "one = 1\n",
        "pkg/deep/__init__.py": "",
        "pkg/deep/utils.py": "two = 2\n",
        "takes_deep.py": "from pkg.deep.utils import two\n",
        "takes_deep_by_name.py": "import pkg.deep.utils as utils\n",
        "takes_near.py": "import pkg.utils as utils\n",
        "takes_by_path.py": "import sys\nsys.path.append('pkg')\nimport utils\n",
        "takes_by_dots.py": "import pkg\nprint(pkg.utils.one)\n",
        "takes_nothing.py": "import pkg\nprint(pkg.other)\n",
        "takes_all.py": "from pkg import *\n",
    }
    files = {}
    for name, text in lines.items():
        files[name] = tmp_path / name
        files[name].parent.mkdir(exist_ok=True)
        files[name].write_text(text)
    scripts = [name for name in lines if "take" in name]
    near = ["takes_near.py", "takes_by_path.py", "takes_by_dots.py", "takes_all.py"]
    deep = ["takes_deep.py", "takes_deep_by_name.py", "takes_by_path.py"]
    assert importing(frozenset({"pkg/utils.py"}), scripts, files) == near
    assert importing(frozenset({"pkg/deep/utils.py"}), scripts, files) == deep


def test_standard_input_in_place_of_a_file(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    held = USE.replace("Mine", "A") + USE.replace("Mine", "B").split("\n", 1)[1]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(held.encode())))
    code, document = checked(capsys, "-", "--stdin-filename", str(tree / "use.cu"), "-I", str(tree / "include"))
    assert code == 0
    assert sites(document) == 2  # the file on disk has one


def test_standard_input_under_a_new_name(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"// cutecheck: ignore[NOPE]\n" + OTHER.encode())))
    code, document = checked(capsys, "-", "--stdin-filename", str(tree / "new.cu"))
    assert code == 1
    assert [f["path"] for f in document["findings"]] == ["new.cu"]
    assert not (tree / "new.cu").exists()


def test_standard_input_needs_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "-"]) == 2
    assert "--stdin-filename" in capsys.readouterr().err
