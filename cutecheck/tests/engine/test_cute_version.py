"""The version of CuTe is read from the headers a tree is written against."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cutecheck.cli import main
from cutecheck.config.settings import Settings
from cutecheck.engine.cute_version import around, detect, with_version

PRODUCT = "blocked_product(Layout<Shape<_8,_2>>{}, Layout<Shape<_4,_1>,Stride<_1,_4>>{})"
OLD, NEW = "((_8,_4),_2):((_1,_16),_8)", "((_8,_4),(_2,_1)):((_1,_16),(_8,_64))"


def header(include: Path, version: str) -> Path:
    parts = zip(("MAJOR", "MINOR", "PATCH"), version.split("."), strict=True)
    (include / "cutlass").mkdir(parents=True)
    file = include / "cutlass" / "version.h"
    file.write_text("".join(f"#define CUTLASS_{name} {n}\n" for name, n in parts))
    return file


def source(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "a.cu"
    file.write_text(f"#include <cute/tensor.hpp>\nusing namespace cute;\nusing L = decltype({PRODUCT});\n")
    return file


@pytest.mark.parametrize("where", ["include", "third_party/cutlass/include", "deep/down/cutlass/include", "."])
def test_in_the_scanned_tree(where: str, tmp_path: Path) -> None:
    source(tmp_path / "kernels")
    file = header(tmp_path / where, "3.7.0")
    found = detect([tmp_path], ())
    assert found is not None and found.version == "3.7.0" and found.header.samefile(file)


def test_above_a_scanned_folder_or_file_but_not_out_of_its_repository(tmp_path: Path) -> None:
    file = source(tmp_path / "project" / "examples" / "cute")
    header(tmp_path / "include", "3.6.0")
    for path in (file, file.parent):
        found = detect([path], ())
        assert found is not None and found.version == "3.6.0"
    (tmp_path / "project" / ".git").mkdir()
    assert detect([file], ()) is None


def test_include_paths_come_first_and_what_is_named_before_all(tmp_path: Path) -> None:
    source(tmp_path / "src")
    header(tmp_path / "src" / "include", "4.2.0")
    header(tmp_path / "other", "3.8.0")
    found = detect([tmp_path / "src"], [tmp_path / "other"])
    assert found is not None and found.version == "3.8.0"
    settings, note = with_version(Settings(cutlass_version="4.5"), [tmp_path / "src"])
    assert settings.cutlass_version == "4.5" and not note


@pytest.mark.parametrize("version, why", [("2.11.0", "older than 3.5"), ("9.1.0", "newer than 4.7")])
def test_versions_that_are_not_modelled_are_told(
    version: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source(tmp_path)
    header(tmp_path / "include", version)
    settings, note = with_version(Settings(), [tmp_path])
    assert settings.cutlass_version == "" and why in note and "4.7" in note
    assert main(["check", "--isolated", str(tmp_path)]) == 0
    assert why in capsys.readouterr().out


def test_verdicts_name_the_version_and_values_are_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source(tmp_path)
    for version, expected, followed in ((None, NEW, "4.7.0"), ("3.7.0", OLD, "3.7")):
        if version:
            header(tmp_path / "include", version)
        assert main(["check", "--isolated", "--output-format", "json", str(tmp_path)]) == 0
        assert json.loads(capsys.readouterr().out)["cutlass_version"] == followed
        assert main(["facts", "--isolated", "--output-format", "json", str(tmp_path)]) == 0
        document = json.loads(capsys.readouterr().out)
        texts = [s["printed"]["text"] for s in document["sites"] if s["symbol"] == "L"]
        assert texts == [expected] and document["cutlass_version"] == followed
    assert main(["check", "--isolated", str(tmp_path)]) == 0
    assert "CUTLASS 3.7 is followed" in capsys.readouterr().out


def test_a_checkout_above_what_is_scanned_is_a_library(tmp_path: Path) -> None:
    file = source(tmp_path / "examples" / "48_gemm")
    assert around([file]) == ()
    header(tmp_path / "include", "4.2.0")
    assert [a.resolve() for a in around([file])] == [(tmp_path / "include").resolve()]
    (tmp_path / "examples" / ".git").mkdir()
    assert around([file]) == ()  # another repository


def test_collectives_are_read_from_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = tmp_path / "tree" / "gemm.cu"
    kernel.parent.mkdir()
    kernel.write_text(
        "#include <cute/tensor.hpp>\n#include <cutlass/gemm/collective/collective_builder.hpp>\n"
        "using Made = cutlass::gemm::collective::CollectiveBuilder<float>::CollectiveOp;\n"
        "void host() { auto layout = make_layout(cute::size(Made{})); }\n"
    )
    include = tmp_path / "checkout" / "include"
    builder = include / "cutlass" / "gemm" / "collective" / "collective_builder.hpp"
    header(include, "4.3.0")
    builder.parent.mkdir(parents=True)
    cache = ("--cache-dir", str(tmp_path / "cache"))
    monkeypatch.setenv("CUTECHECK_CUTLASS", str(include.parent))

    def told(command: str, form: str) -> str:
        main([command, "--isolated", "--output-format", form, *cache, str(kernel)])
        return capsys.readouterr().out

    for width in (4, 8):  # a warm run sees that the headers changed
        builder.write_text(
            "namespace cutlass::gemm::collective { template <class T> struct CollectiveBuilder {"
            f" using CollectiveOp = cute::Layout<cute::Int<{width}>>; }}; }}\n"
        )
        for _ in range(2):
            assert f"_{width}:_1" in told("facts", "text")
            (note,) = json.loads(told("check", "json"))["notes"]
            assert f"CUTLASS 4.3.0 is read from {include}" in note
