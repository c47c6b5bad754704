"""Flags of a compilation database: found, read, used, and refused in one line where it is none."""

import json
from pathlib import Path

import pytest

from cutecheck.cli import main
from cutecheck.config import ConfigError
from cutecheck.engine.compile_commands import find_database, read_flags

SOURCE = """#include <tile.h>
using namespace cute;
using L = decltype(make_layout(make_shape(Int<TILE>{}, Int<kOther>{})));
"""


def database(tree: Path, *entries: dict[str, object]) -> Path:
    (tree / "build").mkdir(exist_ok=True)
    file = tree / "build" / "compile_commands.json"
    file.write_text(json.dumps(entries))
    return file


def test_flags_in_both_spellings(tmp_path: Path) -> None:
    file = database(
        tmp_path,
        {"file": "../a.cu", "directory": str(tmp_path / "build"),
         "command": "nvcc -I../inc '-DTILE=64' -DN -DB=1 -c ../a.cu"},
        {"file": str(tmp_path / "b.cu"), "arguments": ["nvcc", "-I", "../inc", "-isystem", "/opt/cute", "-D", "B=2",
         "--generate-code=arch=compute_90a,code=[sm_90a]", "-gencode", "arch=compute_80,code=sm_80"]},
        {"file": "/elsewhere/c.cu", "command": "nvcc -DELSEWHERE"},
        {"file": str(tmp_path / "d.cu"), "command": "nvcc 'open -DLOST"},
    )  # fmt: skip
    assert find_database([tmp_path]) == file
    flags = read_flags(file, [tmp_path])
    assert flags.include == (str(tmp_path / "inc"), "/opt/cute")
    assert flags.define == ()
    assert flags.units == ((str(tmp_path / "a.cu"), ("TILE=64", "N=1", "B=1")), (str(tmp_path / "b.cu"), ("B=2",)))
    assert flags.again == ()
    assert flags.arch == ("sm_80", "sm_90a")


def test_macros_of_one_command_are_of_its_source_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tile.h").write_text(
        "#pragma once\n#include <cute/tensor.hpp>\n#ifdef WIDE\nconstexpr int kRows = WIDE;\n#else\n"
        "constexpr int kRows = 32;\n#endif\nusing L = cute::Layout<cute::Shape<cute::Int<kRows>, cute::Int<COLS>>>;\n"
        "inline auto made() { return cute::make_layout(cute::make_shape(cute::Int<kRows>{}, cute::Int<COLS>{})); }\n"
    )
    units = {"a": "-DWIDE=64 -DCOLS=8", "b": "-DCOLS=8", "c": "-DWIDE=16 -DCOLS=8"}
    for name in units:
        (tmp_path / f"{name}.cu").write_text(f'#include "tile.h"\nint {name}() {{ return cute::size(made()); }}\n')
    commands = [*units.items(), ("c", "-DWIDE=128 -DCOLS=8")]
    database(tmp_path, *({"file": str(tmp_path / f"{n}.cu"), "command": f"nvcc {f} -c x"} for n, f in commands))
    assert main(["facts", str(tmp_path), "--output-format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    printed = {s["printed"]["text"] for s in found["sites"] if s["status"] == "resolved" and s["printed"]}
    assert printed == {f"(_{rows},_8):(_1,_{rows})" for rows in (64, 32, 16)}
    assert any("c.cu several times with other macros" in note for note in found["notes"])


def test_check_uses_the_closest_and_isolated_does_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "inc/tile.h").write_text("#include <cute/tensor.hpp>\nconstexpr int kOther = 8;\n")
    (tmp_path / "src/a.cu").write_text(SOURCE)
    file = database(
        tmp_path, {"file": str(tmp_path / "src/a.cu"), "command": f"nvcc -I{tmp_path}/inc -DTILE=64 -c a.cu"}
    )
    where = str(tmp_path / "src")
    assert main(["facts", where, "--output-format", "text"]) == 0
    assert "(_64,_8):(_1,_64)" in capsys.readouterr().out
    assert main(["facts", where, "--compile-commands", str(file)]) == 0
    assert "(_64,_8):(_1,_64)" in capsys.readouterr().out
    for more in (["--isolated"], ["--compile-commands", "none"]):
        assert main(["facts", where, *more]) == 0
        assert "(_64,_8):(_1,_64)" not in capsys.readouterr().out


@pytest.mark.parametrize("text", ["{", "{}", "[1]", '[{"directory": "/"}]', "[" * 100_000])
def test_what_is_no_database_is_one_line(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "compile_commands.json"
    file.write_text(text)
    with pytest.raises(ConfigError):
        read_flags(file, [tmp_path])
    assert main(["check", str(tmp_path)]) == 2
    assert "compile_commands.json: not" in capsys.readouterr().err
