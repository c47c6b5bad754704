"""A host compiler that has read CuTe's own headers once."""

from __future__ import annotations

import subprocess
from pathlib import Path

from cutecheck.exec.headers import Headers


class HostCompiler:
    """``head`` is the text of includes, compiled before all else; programs take it as ``head.hpp``.

    ``made``: a folder where that is done already.
    """

    def __init__(
        self, headers: Headers, folder: Path, flags: tuple[str, ...], head: str, made: Path | None = None
    ) -> None:
        self._command = [headers.compiler, *flags, *headers.arguments(), f"-I{made or folder}"]
        self._folder = folder
        if made is None:
            (folder / "head.hpp").write_text(head)
            self._run(["-x", "c++-header", str(folder / "head.hpp"), "-o", str(folder / "head.hpp.gch")])

    def _run(self, arguments: list[str]) -> str:
        done = subprocess.run([*self._command, *arguments], capture_output=True, text=True, check=False)
        return done.stderr if done.returncode else ""
