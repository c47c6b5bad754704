"""Macros of ``setup.py`` and ``CMakeLists.txt``: what holds in every build, which source it concerns, who overrules."""

import json
import re
from pathlib import Path

import pytest

from cutecheck.cli import main
from cutecheck.source.builds import cmake, setup_py
from cutecheck.source.builds.macros import build_macros

NVCC = 'setup(ext_modules=[CUDAExtension("a", ["a.cu"], extra_compile_args={{"nvcc": {}}})])\n'


def of_setup(text: str) -> dict[str, str]:
    return {g.name: g.value for g in setup_py.read(text, Path("setup.py")).given}


def of_lists(tmp_path: Path, text: str) -> dict[str, str]:
    (tmp_path / "CMakeLists.txt").write_text(text)
    if "f.cmake" in text and not (tmp_path / "cmake").exists():
        (tmp_path / "f.cmake").write_text(text)
    found = cmake.read(tmp_path / "CMakeLists.txt", tmp_path)
    return {g.name: g.value for g in (*found.folder.given, *found.targets.given)}


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        (NVCC.format('["-O3", "-DA", "-DB=2", "-D", "C=x::y", "-UD", "-Xcompiler", "-DE"]'),
         {"A": "1", "B": "2", "C": "x::y"}),
        ('f = ["-DA"]\nf += ["-DB="]\nf.append("-DC")\n' + NVCC.format("f"), {"A": "1", "B": "", "C": "1"}),
        # a condition, and one under which all that is built is
        ('f = ["-DA"]\nif x:\n    f.append("-DB")\n    f += ["-DC"]\n' + NVCC.format("f"), {"A": "1"}),
        ("if not skip:\n    f = ['-DA']\n    if x: f += ['-DB']\nif not skip:\n    " + NVCC.format("f"), {"A": "1"}),
        ("skip = 1\nif skip:\n    f = ['-DA']\nskip = 2\nif skip:\n    " + NVCC.format("f"), {}),
        ("if x:\n    f = ['-DA']\nelse:\n    f = ['-DB']\n" + NVCC.format("f"), {}),
        ("try:\n    f = ['-DA']\nexcept E:\n    f = []\n" + NVCC.format("f"), {}),
        (NVCC.format('["-DA"] + (["-DB"] if x else []) + [y for y in ["-DC"] if y] + (z or ["-DD"])'), {"A": "1"}),
        ("debug = ['-DA']\nf = ['-DB']\nif x:\n    f += debug\n" + NVCC.format("f"), {"B": "1"}),
        ("def debug(): return ['-DA']\ndef f(): return ['-DB']\n" + NVCC.format("f() + (debug() if x else [])"),
         {"B": "1"}),
        ("def g():\n    return [CUDAExtension('a', [], x=['-DA'])]\nif cuda:\n    setup(e=g())\n", {"A": "1"}),
        # two values, one of them under a condition, taken away, or with a part that is not known
        (NVCC.format('["-DA=1", "-DA=2", "-DB", "-DB"]'), {"B": "1"}),
        ('f = ["-DA"]\nif x: f.append("-DA")\n' + NVCC.format("f"), {}),
        ('f = ["-DA", "-DB"]\nif x: f.append("-UA")\n' + NVCC.format("f"), {"B": "1"}),
        (NVCC.format('[f"-DA={n}", "-DB=" + n, "-D", f"C={n}", "-DA=1", "-DB=1", "-DC=1", "-DE"]'), {"E": "1"}),
        ("CUDAExtension(define_macros=[('A', None), ('B', '2'), ('C', version), ('D', None)])\nx = '-DD'",
         {"A": "1", "B": "2"}),
        # of the host's compiler, of one extension of two, of CMake, of another program
        ("c = ['-DC']\nCUDAExtension(x={'cxx': ['-DA'] + c, 'nvcc': ['-DB']})", {"B": "1"}),
        ("f = ['-DA']\nCUDAExtension('a', x=f + ['-DB'])\nCUDAExtension('b', x=f)", {"A": "1"}),
        ("a = ['-DWITH=1']\nsubprocess.run(['cmake', '-DCMAKE_BUILD_TYPE=x', '-DB=1'] + a)", {}),
        ("CMakeExtension('a')\nx = ['-DA']\ny(x)", {}),
        ("subprocess.run(['tool', '-DB=1'])", {}),
        ('f = ["-DA=\\"s\\"", "-DF(x)=x"]\n' + NVCC.format("f"), {}),
        ("this is no Python", {}),
        ("[" * 5000, {}),
    ],
)  # fmt: skip
def test_what_holds_in_a_setup_script(text: str, taken: dict[str, str]) -> None:
    assert of_setup(text) == taken


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("add_compile_definitions(A B=1 -DC) # D\n#[[ add_definitions(-DD) ]]\nadd_definitions(-DE=2)",
         {"A": "1", "B": "1", "C": "1", "E": "2"}),
        ("add_compile_options(-O3 -DA $<$<COMPILE_LANGUAGE:CUDA>:-DB> $<$<CONFIG:Debug>:-DC>)", {"A": "1", "B": "1"}),
        ('set(CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS} -DA=1 -DB=${v}")\nstring(APPEND CMAKE_CUDA_FLAGS " -DC")',
         {"A": "1", "C": "1"}),
        ('string(APPEND CMAKE_CUDA_FLAGS " -DC")\nset(CMAKE_CUDA_FLAGS "-O3")\nset(CMAKE_CXX_FLAGS "-DD")', {}),
        ("if(X)\n add_definitions(-DA)\nelse()\n add_definitions(-DB)\nendif()\nadd_definitions(-DA -DC)", {"C": "1"}),
        ("function(f)\n add_definitions(-DA)\nendfunction()\nforeach(x 1 2)\n add_definitions(-DB)\nendforeach()", {}),
        ("add_definitions(-DA=1)\nadd_definitions(-DA=2)\nadd_definitions(-DB)\nremove_definitions(-DB)", {}),
        ("add_library(t a.cu)\ntarget_compile_definitions(t PRIVATE A INTERFACE B)\n"
         "target_compile_options(t PUBLIC -DC)", {"A": "1", "C": "1"}),
        ("add_library(t a.cu)\nadd_executable(u b.cu)\ntarget_compile_definitions(t PRIVATE A B=1)\n"
         "target_compile_definitions(u PRIVATE B=1)", {"B": "1"}),
        ("list(APPEND MY_FLAGS -DA)\nadd_definitions(-DA)", {}),
        ('add_definitions(-DA="text" -DB)', {"B": "1"}),
        ("add_definitions(-DA)\nreturn()\nadd_definitions(-DB)", {"A": "1"}),
        ("add_definitions(-DA", {}),
        ("add_definitions([==[-DA]] ]==] -DB) #[=[ ( ]=]\nadd_definitions(-DC)", {"B": "1", "C": "1"}),
        # texts that take long where each part of them is looked through to the end
        ("[[" * 100_000, {}),
        ("add_definitions(" + "$<" * 100_000 + ">" * 100_000 + ")", {}),
        ("include(CMakeLists.txt)\ninclude(f.cmake)\n" * 100, {}),
    ],
)  # fmt: skip
def test_what_holds_in_a_list_file(tmp_path: Path, text: str, taken: dict[str, str]) -> None:
    assert of_lists(tmp_path, text) == taken


def test_what_a_list_file_includes(tmp_path: Path) -> None:
    top = tmp_path / "top"
    (top / "cmake").mkdir(parents=True)
    (tmp_path / "out.cmake").write_text("add_definitions(-DOUT)")
    (top / "cmake/f.cmake").write_text("add_definitions(-DA)\ninclude(cmake/f.cmake)")
    (top / "cmake/g.cmake").write_text("add_definitions(-DB)")
    text = "include(cmake/f.cmake)\nif(X)\ninclude(${CMAKE_CURRENT_SOURCE_DIR}/cmake/g.cmake)\nendif()\n"
    assert of_lists(top, text + "include(../out.cmake)\ninclude(Other)\nadd_definitions(-DB)") == {"A": "1"}


def write(top: Path, **files: str) -> None:
    for name, text in files.items():
        file = top / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def found(top: Path, *names: str, roots: tuple[str, ...] = ("",), user: tuple[str, ...] = ()) -> tuple[object, ...]:
    made = build_macros({n: top / n for n in names}, [top / r for r in roots], user)
    return made.common, dict(made.units)


def test_the_nearest_file_counts(tmp_path: Path) -> None:
    write(
        tmp_path,
        **{
            "setup.py": NVCC.format('["-DA=1", "-DB", "-DE=1"]'),
            "CMakeLists.txt": "project(p)\nadd_definitions(-DE=2 -DF)",
            "csrc/CMakeLists.txt": "add_definitions(-DA=2 -DC)",
            "third_party/x/setup.py": NVCC.format('["-DB", "-DD"]'),
            "third_party/y/CMakeLists.txt": "project(y)",
        },
    )
    # both of one folder but where they differ; a list file that is part of a build overrules what is around it
    assert found(tmp_path, "src/a.cu") == (("A=1", "B=1", "F=1"), {})
    assert found(tmp_path, "csrc/k/a.cu") == (("A=2", "C=1", "B=1", "F=1"), {})
    assert found(tmp_path, "third_party/x/a.cu") == (("B=1", "D=1"), {})
    assert found(tmp_path, "third_party/y/a.cu") == ((), {})
    assert found(tmp_path, "src/a.cu", "third_party/x/a.cu") == (
        ("B=1",),
        {"src/a.cu": ("A=1", "F=1"), "third_party/x/a.cu": ("D=1",)},
    )
    assert found(tmp_path, "src/a.cu", user=("A=7", "F")) == (("B=1",), {})
    # not above what is scanned, unless a repository is around it
    assert found(tmp_path, "src/a.cu", roots=("src",)) == ((), {})
    (tmp_path / ".git").mkdir()
    for root in ("src", "src/a.cu"):
        assert found(tmp_path, "src/a.cu", roots=(root,)) == (("A=1", "B=1", "F=1"), {})


KERNEL = """#include <cute/tensor.hpp>
using namespace cute;
#ifndef TILE
#define TILE 1
#endif
using L = decltype(make_layout(make_shape(Int<TILE>{}, Int<8>{})));
"""


def test_a_run_takes_them_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree, kept = tmp_path / "tree", str(tmp_path / "kept")
    write(tree, **{"k/a.cu": KERNEL, "setup.py": "\n" + NVCC.format('["-DTILE=64", "-DWITH"]')})
    (tree / ".git").mkdir()

    def facts(*more: str, where: str = "") -> tuple[set[str], str]:
        arguments = [*more, "--cache-dir", kept, "--output-format", "json"]
        assert main(["facts", str(tree / where), *arguments]) == 0
        said = json.loads(capsys.readouterr().out)
        notes = " ".join(n for n in said["notes"] if "build files" in n)
        return {s["printed"]["text"] for s in said["sites"] if s["printed"]}, notes

    wide, note = facts()
    assert wide == {"(_64,_8):(_1,_64)"}
    assert note.endswith(": TILE=64 (setup.py:2), WITH (setup.py:2)")
    assert facts(where="k/a.cu") == (wide, note.replace("setup", "../setup"))
    assert facts("-D", "TILE=16") == ({"(_16,_8):(_1,_16)"}, note.replace("TILE=64 (setup.py:2), ", ""))
    for more in (["--isolated"], ["--compile-commands", "none"]):
        assert facts(*more) == ({"(_1,_8):(_0,_1)"}, "")
    # what is kept of earlier runs is of their macros
    write(tree, **{"setup.py": NVCC.format('["-DTILE=32"]')})
    assert facts()[0] == {"(_32,_8):(_1,_32)"}
    for value in (32, 32, 128):
        write(tree, **{"setup.py": NVCC.format(f'["-DTILE={value}"]')})
        assert main(["check", str(tree), "--cache-dir", kept, "--unknown", "ignore"]) == 0
        assert f"TILE={value} (setup.py:1)" in capsys.readouterr().out
    write(tree, **{"compile_commands.json": "[]"})
    assert facts()[1] == ""


def test_each_unit_has_those_of_its_own_build(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = (
        "#pragma once\n#include <cute/tensor.hpp>\nusing namespace cute;\ntemplate <int N> struct Traits {\n"
        "  using Op = decltype(GMMA::ss_op_selector<half_t, half_t, float, Shape<_64, Int<N>, _64>>());\n"
        "  using TiledMma = decltype(make_tiled_mma(Op{}));\n};\n"
    )
    unit = '#include "traits.h"\n__global__ void k() { Traits<176>::TiledMma mma; mma.get_thread_slice(0); }\n'
    for folder in ("hopper", "third_party/x"):
        write(tmp_path, **{f"{folder}/traits.h": header, f"{folder}/a.cu": unit})
    write(tmp_path, **{"hopper/setup.py": NVCC.format('["-DCUTE_SM90_EXTENDED_MMA_SHAPES_ENABLED"]')})
    assert main(["facts", str(tmp_path), "--no-cache", "--arch", "sm_90a"]) == 0
    blocks = re.split(r"\n(?=\S)", capsys.readouterr().out)
    shapes = {(b.partition("/")[0], w) for b in blocks for w in re.findall(r"Shape_MNK: +\(_64,_(\d+),_16\)", b)}
    assert shapes == {("hopper", "176"), ("third_party", "16")}
