"""The host tier compiles the author's file with the includes and macros of the compilation database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cutecheck.cli import main
from cutecheck.cli.confirm_host import compiler_options
from cutecheck.exec.headers import NoHeaders, find_headers
from cutecheck.exec.host import precompiled

FOUND = find_headers()
REAL = pytest.mark.skipif(isinstance(FOUND, NoHeaders), reason=getattr(FOUND, "reason", "headers found"))
HEADER = """#pragma once
#include <cute/tensor.hpp>
#include <extents.hpp>
namespace cfg {
using namespace cute;
struct Traits {
  using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<Int<ROWS>, Int<kColumns>, _1>>>;
};
}
"""


class Asked:
    """What ``compiler_options`` looks at of a request."""

    def __init__(self, top: Path, **settings: Any) -> None:
        from cutecheck.config import Settings

        self.paths = (top,)
        self.settings = Settings(**settings)


def database(top: Path, *flags: str) -> None:
    (top / "deps").mkdir(exist_ok=True)
    (top / "deps" / "extents.hpp").write_text("#pragma once\nconstexpr int kColumns = 2;\n")
    (top / "traits.hpp").write_text(HEADER)
    (top / "main.cu").write_text('#include "traits.hpp"\n')
    entry = {"directory": str(top), "file": "main.cu", "arguments": ["nvcc", *flags, "-c", "main.cu"]}
    (top / "compile_commands.json").write_text(json.dumps([entry]))


def test_flags_of_the_database_are_arguments(tmp_path: Path) -> None:
    database(tmp_path, "-I", "deps", "-isystem", "deps", "-DROWS=4", "-DTEXT=a b; rm $(x)", "-DBARE", "-DMAX(a,b)=a")
    given, refused = compiler_options(Asked(tmp_path, define=("ROWS=2",)))  # type: ignore[arg-type]
    assert refused == ()
    # one argument each; what the user gave is the user's
    assert given == (f"-I{tmp_path / 'deps'}", "-DROWS=2", "-DTEXT=a b; rm $(x)", "-DBARE=1", "-DMAX(a,b)=a")


def test_without_a_database_macros_of_build_files_are(tmp_path: Path) -> None:
    (tmp_path / "main.cu").write_text("#include <cute/tensor.hpp>\n")
    (tmp_path / "setup.py").write_text("CUDAExtension('a', define_macros=[('ROWS', '4'), ('COLS', None)])\n")
    asked = Asked(tmp_path, define=("ROWS=2",))
    assert compiler_options(asked) == (("-DROWS=2", "-DCOLS=1"), ())  # type: ignore[arg-type]
    isolated = Asked(tmp_path, compile_commands="none")
    assert compiler_options(isolated) == ((), ())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("flag", "left_out"),
    [
        ("-Inowhere", "-I{top}/nowhere"),
        ("-DA=1\x00-o/tmp/x", "-DA=1\x00-o/tmp/x"),
        ("-DA=1\n#include </etc/passwd>", "-DA=1\n#include </etc/passwd>"),
        ("-D -fplugin=x.so", "-D -fplugin=x.so"),
        ("-D@file", "-D@file=1"),
        ("-DA=\ud800", "-DA=\ud800"),
        ("-DA=" + "x" * 5000, "-DA=" + "x" * 5000),
    ],
)
def test_what_is_no_folder_and_no_macro_is_left_out(tmp_path: Path, flag: str, left_out: str) -> None:
    database(tmp_path, flag)
    given, refused = compiler_options(Asked(tmp_path))  # type: ignore[arg-type]
    assert given == ()
    assert refused == (left_out.replace("{top}", str(tmp_path)),)


def test_the_cutlass_of_the_database_is_compiled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUTECHECK_CUTLASS", raising=False)
    include, tree = tmp_path / "else/where", tmp_path / "tree"
    for folder in (tree, include / "cute", include / "cutlass"):
        folder.mkdir(parents=True)
    (include / "cute/tensor.hpp").write_text("")
    (include / "cutlass/version.h").write_text("#define CUTLASS_MAJOR 3\n#define CUTLASS_MINOR 9\n")
    database(tree, f"-I{include}", "-DROWS=4")
    seen: dict[str, str] = {}
    monkeypatch.setattr("cutecheck.exec.headers.find_headers", lambda e: seen.update(e) or NoHeaders("not now"))
    command = ["confirm", "--isolated", "--no-cache", str(tree)]
    assert main([*command, "--compile-commands", str(tree / "compile_commands.json")]) == 0
    assert seen["CUTECHECK_CUTLASS"] == str(include.resolve())
    capsys.readouterr()


@REAL
def test_the_author_s_header_is_named_with_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    database(tmp_path, "-Ideps", "-DROWS=4", "-Inowhere")
    place = precompiled.place  # nothing in that folder has the name of a header of CuTe: what is kept does
    monkeypatch.setattr(precompiled, "place", lambda command, own, *more: place(command, (), *more))
    command = ["confirm", "--isolated", "--no-cache", "--arch", "sm_80", str(tmp_path)]
    routes = {}
    told = ["--compile-commands", str(tmp_path / "compile_commands.json")]
    for more in (told, ["-I", str(tmp_path / "deps"), "-D", "ROWS=4"]):
        assert main([*command, *more, "--output-format", "json"]) == 0
        (found,) = json.loads(capsys.readouterr().out)["confirmations"]
        routes[more[0]] = found["status"], found["routes"]
    assert routes == dict.fromkeys(("--compile-commands", "-I"), ("confirmed", ["named", "spelled"]))
    monkeypatch.setattr("cutecheck.exec.host.confirm", lambda *_: ())
    assert main([*command, *told]) == 0
    assert f"left out of the compilation database: -I{tmp_path / 'nowhere'}" in capsys.readouterr().out
