"""``--cutlass-version`` of ``eval``, ``check`` and ``facts``, and ``cutlass-version`` of a configuration file."""

import json
from pathlib import Path

import pytest

from cutecheck.cli import main

UPCAST = "upcast<4>(make_layout(Shape<_10,_4>{}, Stride<_1,_12>{}))"
PRODUCT = "blocked_product(Layout<Shape<_8,_2>>{}, Layout<Shape<_4,_1>,Stride<_1,_4>>{})"


def test_eval(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", UPCAST]) == 0
    assert capsys.readouterr().out == "(_3,_4):(_1,_3)\n"
    assert main(["eval", "--cutlass-version", "3.8", UPCAST]) == 2
    assert "shape_div" in capsys.readouterr().err
    assert main(["eval", UPCAST]) == 0


def test_versions_that_are_not_modelled(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "--cutlass-version", "3.4", "_8:_1"]) == 2
    assert "older than 3.5" in capsys.readouterr().err
    assert main(["eval", "--cutlass-version", "new", "_8:_1"]) == 2


@pytest.mark.parametrize("version", ["", "3.7", "4.7"])
def test_check_and_facts(version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.cu"
    file.write_text(f"#include <cute/tensor.hpp>\nusing namespace cute;\nusing L = decltype({PRODUCT});\n")
    option = ["--cutlass-version", version] if version else []
    assert main(["check", "--isolated", *option, "--output-format", "json", str(file)]) == 0
    document = json.loads(capsys.readouterr().out)
    followed = {"": "4.7.0", "4.7": "4.7.0"}.get(version, version)
    assert document["summary"]["cutlass_version"] == document["cutlass_version"] == followed
    assert main(["facts", "--isolated", *option, "--output-format", "json", str(file)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["cutlass_version"] == followed
    (site,) = document["sites"]
    old, new = "((_8,_4),_2):((_1,_16),_8)", "((_8,_4),(_2,_1)):((_1,_16),(_8,_64))"
    assert site["printed"]["text"] == (old if version == "3.7" else new)


def test_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.cu"
    file.write_text("#include <cute/tensor.hpp>\nusing L = cute::Layout<cute::_8>;\n")
    (tmp_path / "cutecheck.toml").write_text('cutlass-version = "3.9"\n')
    assert main(["facts", "--output-format", "json", str(file)]) == 0
    assert json.loads(capsys.readouterr().out)["cutlass_version"] == "3.9"
    (tmp_path / "cutecheck.toml").write_text('cutlass-version = "2.11"\n')
    assert main(["facts", str(file)]) == 2
    assert "'cutlass-version': CUTLASS 2.11 is older than 3.5" in capsys.readouterr().err
