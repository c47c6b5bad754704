"""An `#error` that preprocessing reaches is a note: of a translation unit, by what stands before it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from cutecheck.cache.codec import decode, encode
from cutecheck.cli import main
from cutecheck.facts.json import facts_json
from cutecheck.source.cpp.errors import Refused
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest
from cutecheck.source.translate import Part

ASKS = """#include <cute/tensor.hpp>
#ifdef FP8
using Element = float;
#elif FP16
using Element = double;
#else
  #error "Must either define FP8 or FP16"
#endif
auto l = cute::make_layout(cute::Int<4>{});
"""
NOTE = (
    'a.cu:7: preprocessing reaches `#error "Must either define FP8 or FP16"` (sm_80); FP8 and FP16 are not defined (-D)'
)
CUTE = "#include <cute/tensor.hpp>\nauto l = cute::make_layout(cute::Int<4>{});\n"


def notes(folder: Path, files: Mapping[str, str], *archs: str, defines: tuple[str, ...] = ()) -> list[str]:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    dirs = (folder / "library",) if (folder / "library").is_dir() else ()
    paths = tuple(folder / name for name in files if not name.startswith("library/"))
    return list(extract(ExtractRequest(paths, archs=archs, defines=defines, include_dirs=dirs)).notes)


def test_it_is_a_note_with_its_place_in_text_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert notes(tmp_path, {"a.cu": ASKS}) == [NOTE]
    assert notes(tmp_path, {"a.cu": ASKS}, defines=("FP16",)) == []
    found = extract(ExtractRequest((tmp_path,)))
    assert facts_json(found, lambda value: {})["notes"] == [NOTE]
    for command in ("check", "facts"):
        main([command, "--isolated", "--no-cache", str(tmp_path / "a.cu")])
        assert NOTE in capsys.readouterr().out.splitlines()


def test_what_stands_before_a_header_decides(tmp_path: Path) -> None:
    header = "#pragma once\n#ifndef WIDTH\n#error define WIDTH before this\n#endif\n"
    before = {"h.h": header, "a.cu": '#define WIDTH 4\n#include "h.h"\n' + CUTE}
    assert notes(tmp_path, before) == []
    (note,) = notes(tmp_path, {"h.h": header, "a.cu": '#include "h.h"\n#define WIDTH 4\n' + CUTE})
    assert note.startswith(
        "h.h:3: preprocessing of a.cu reaches `#error define WIDTH before this` (sm_80); WIDTH is not"
    )
    again = '#define WIDTH 4\n#include "h.h"\n#undef WIDTH\n#include "h.h"\n'
    assert notes(tmp_path, {"h.h": header, "a.cu": again + CUTE}) == []
    (note,) = notes(tmp_path, {"h.h": header.replace("#pragma once\n", ""), "a.cu": again + CUTE})
    assert note.startswith("h.h:2: ")


def test_a_header_by_itself_or_of_cutlass_tells_nothing(tmp_path: Path) -> None:
    asks = ASKS.replace("#include <cute/tensor.hpp>\n", "")
    assert notes(tmp_path, {"h.h": ASKS}) == []
    assert notes(tmp_path, {"library/cutlass/h.h": asks, "b.cu": "#include <cutlass/h.h>\n" + CUTE}) == []
    (note,) = notes(tmp_path, {"library/mine/h.h": asks, "c.cu": "#include <mine/h.h>\n" + CUTE})
    assert note.startswith("mine/h.h:6: preprocessing of c.cu")


@pytest.mark.parametrize(
    "condition",
    [
        "#ifndef __COMPILER_HAS_IT__", "#if !defined(_MSC_VER)", "#if CUDA_VERSION < 13000", "#if !__has_include(<x>)",
        "#ifdef _MSC_VER\n#define HAS\n#endif\n#ifndef HAS", "#if 0", "#define ON __SIZE\n#if !ON",
        "#if defined(_MSC_VER)\n#else",
    ],
)  # fmt: skip
def test_what_only_the_compiler_knows_tells_nothing(tmp_path: Path, condition: str) -> None:
    assert notes(tmp_path, {"a.cu": f"{condition}\n#error no\n#endif\n{CUTE}"}) == []


def test_a_header_that_is_not_there_may_define_it(tmp_path: Path) -> None:
    text = '#include <vector>\n#include "config.h"\n' + ASKS
    absent, refused = notes(tmp_path, {"a.cu": text})
    assert absent.startswith('not found: "config.h" (a.cu:2)')
    assert refused == NOTE.replace(":7:", ":9:") + ", unless by config.h, which is not found"


def test_architectures_that_were_guessed_are_not_refused(tmp_path: Path) -> None:
    both = "using A = cute::SM80_16x8x8_F32F16F16F32_TN; using B = cute::SM90_TMA_STORE;\n"
    text = CUTE + both + "#if __CUDA_ARCH__ < 900\n#error too old\n#endif\n"
    assert notes(tmp_path, {"a.cu": text}) == []
    assert notes(tmp_path, {"a.cu": text}, "sm_90a") == []
    assert notes(tmp_path, {"a.cu": text}, "sm_80") == ["a.cu:5: preprocessing reaches `#error too old` (sm_80)"]


def test_it_is_kept_with_what_a_unit_came_to() -> None:
    part = Part(refused=Refused("a.cu", 7, "no", ("FP8",), "config.h"))
    assert decode(encode(part)).refused == part.refused
