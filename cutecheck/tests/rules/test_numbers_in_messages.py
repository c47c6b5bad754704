"""Messages name the number that is at fault, and say each thing once."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.cli import main
from cutecheck.rules import registry
from cutecheck.rules.examples import file_name, source


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("CUT205", "(_8,_64), (_128,_96) (mode 1: 96 is no multiple of 64)\n"),
        ("CUT801", "320 (320 bits: 40 % 16 = 8 bytes)\n"),
        ("CUT206", "  = witness: 384 <= 288 does not hold\n"),
        ("CUT706", "  = witness: threadIdx.x < 128 does not hold: 128 against 128 with threadIdx.x = 128\n"),
        (
            "CUT802",
            "  = note: layout (128,_500):(_500,_1)\n  = witness: 1000 % 16 == 0 does not hold: 1000 % 16 is 8\n",
        ),
        ("CUT105", "let the lanes of a warp fill whole 128-byte lines"),
    ],
)
def test_first_example(tmp_path: Path, capsys: pytest.CaptureFixture[str], code: str, said: str) -> None:
    (rule,) = registry.find(code)
    example = rule.invalid[0]
    file = tmp_path / file_name(example)
    file.write_text(source(example))
    main(["check", str(file), "--select", code, "--arch", "sm_80", "--no-cache", "--isolated"])
    assert said in capsys.readouterr().out
