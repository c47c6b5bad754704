"""Headers that a run of the tests precompiles once: a small program takes most of its time to read CuTe's."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from cutecheck.exec.child import Limits
from cutecheck.exec.headers import Headers
from cutecheck.exec.host.toolchain import Toolchain

_PLAIN = ("-std=c++17", "-O1", "-w")  # of the host tier; -O1 compiles CuTe faster than -O0


def with_cute(headers: Headers) -> list[str]:
    """A compiler and its options for a program that includes CuTe; what the host tier has precompiled comes first."""
    command = [headers.compiler, *_PLAIN, *headers.arguments()]
    if "CUTECHECK_CACHE" not in os.environ:  # no run of the tests
        return command

    def make(folder: Path) -> None:
        assert Toolchain(headers, folder, [], Limits(seconds=300.0), 1).precompile() == ""

    return [*command, f"-I{_once('prelude', make)}", "-include", "prelude.hpp"]


def with_head(headers: Headers, flags: tuple[str, ...], head: str) -> Path:
    """A folder with ``head.hpp``, which has this text and is precompiled for these flags."""
    command = [headers.compiler, *flags, *headers.arguments()]

    def make(folder: Path) -> None:
        (folder / "head.hpp").write_text(head)
        part = folder / "part"
        subprocess.run([*command, "-x", "c++-header", str(folder / "head.hpp"), "-o", str(part)], check=True)
        part.replace(folder / "head.hpp.gch")

    return _once(hashlib.sha256(json.dumps([*command, head]).encode()).hexdigest()[:16], make)


def _once(name: str, make: Callable[[Path], None]) -> Path:
    """The folder of this name, filled by the process that comes first; the others wait for it."""
    folder = Path(os.environ["CUTECHECK_CACHE"]) / "heads" / name
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "made").exists():
            make(folder)
            (folder / "made").touch()
    return folder


__all__ = ["with_cute", "with_head"]
