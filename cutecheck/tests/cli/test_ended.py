"""A process that is told to end shows what is known."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SECOND_UNIT = """
import os, signal, sys, time
from cutecheck import cli
from cutecheck.source.translate import Translator
run = Translator.run
def ended(self, job, launches):
    if job.path.endswith("b.cu"):
        os.kill(os.getpid(), signal.{name})
        time.sleep(60)
    return run(self, job, launches)
Translator.run = ended
sys.argv = ["cutecheck", "check", "--isolated", "--no-cache", "-j", "1", "--output-format", "concise", {tree!r}]
cli.entry()
"""
SIGINT_IS = "import signal; signal.signal(signal.SIGINT, signal.{})\n"  # whatever this process inherited
IN_FRONT, IN_BACKGROUND = SIGINT_IS.format("default_int_handler"), SIGINT_IS.format("SIG_IGN")


@pytest.mark.skipif(sys.platform == "win32", reason="no signals that end a process there")
@pytest.mark.parametrize(("name", "before"), [("SIGINT", IN_FRONT), ("SIGTERM", IN_FRONT), ("SIGTERM", IN_BACKGROUND)])
def test_what_is_known_is_shown(name: str, before: str, tmp_path: Path) -> None:
    bad = "#include <cute/tensor.hpp>\nauto x = cute::make_tiled_mma(cute::SM80_16x8x16_F32F16F16F32_TN{}, 1, 2, 3);\n"
    layout = "#include <cute/tensor.hpp>\nauto l = cute::make_layout(cute::Int<8>{});\n"
    (tmp_path / "a.cu").write_text(layout)
    (tmp_path / "b.cu").write_text(bad)
    code = before + SECOND_UNIT.format(name=name, tree=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    assert "interrupted: not everything was read; this is what is known" in done.stdout + done.stderr
    assert "1 site found, 1 resolved" in done.stdout
