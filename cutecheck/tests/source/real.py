"""Programs against CuTe's own headers, compiled and run on the host."""

import subprocess
from pathlib import Path

import pytest

from cutecheck.exec.headers import NoHeaders, find_headers
from cutecheck.tests.precompiled import with_cute


def lines_of(folder: Path, program: str, *flags: str) -> list[str]:
    """What a program prints; the test is skipped, with the reason, where there is no compiler or are no headers."""
    found = find_headers()
    if isinstance(found, NoHeaders):
        pytest.skip(str(found))
    (folder / "a.cpp").write_text(program)
    # macros of its own are not those of what is precompiled
    first = [found.compiler, "-std=c++17", "-O1", "-w", *found.arguments()] if flags else with_cute(found)
    command = [*first, *flags, "a.cpp", "-o", "a"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)
    return subprocess.run(["./a"], cwd=folder, check=True, capture_output=True, text=True).stdout.splitlines()
