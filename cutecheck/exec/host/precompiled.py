"""The precompiled prelude, kept for the next run: a small run takes most of its time to read CuTe's headers.

A compiler does not look whether a header is as it was when it was precompiled. So what it read is written down with
its size and time, and one that differs, or is gone, makes it anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from cutecheck.exec.gpu.compile import cache_folder

_HEADER, _READ = "prelude.hpp.gch", "read.json"
_MOST = 2  # that are kept, of some 180 MB each
_FOLDERS = ("-I", "-i", "-F", "-B", "--sysroot", "--include", "@")  # options by which other files may come first

_ENVIRONMENT = ("CPATH", "CPLUS_INCLUDE_PATH", "GCC_EXEC_PREFIX", "COMPILER_PATH")  # what compilers look at, too


def place(command: Sequence[str], own: Sequence[str], prelude: Path, environ: Mapping[str, str]) -> Path | None:
    """The folder of what this command makes of the prelude; None where nothing is kept.

    ``own``: the user's options. Where they name folders a header that appears there could come before one that was
    read.
    """
    if any(option.startswith(_FOLDERS) for option in own):
        return None
    try:
        compiler = Path(command[0]).resolve().stat()
        text = prelude.read_text(encoding="utf-8")
        told = [*command, *own, compiler.st_size, compiler.st_mtime_ns, text, *map(environ.get, _ENVIRONMENT)]
    except OSError:
        return None
    folder = cache_folder(environ).with_name("prelude")
    return folder / hashlib.sha256(json.dumps(told).encode()).hexdigest()[:32]


def fetch(kept: Path, to: Path) -> bool:
    """Whether the kept one is as good as new; it is at ``to`` then."""
    try:
        read = json.loads((kept / _READ).read_text(encoding="utf-8"))
        if not read or any(_seen(path) != seen for path, *seen in read):
            return False
        try:
            to.hardlink_to(kept / _HEADER)
        except OSError:  # on another disk
            shutil.copyfile(kept / _HEADER, to)
        os.utime(kept)
    except (OSError, ValueError, TypeError):
        to.unlink(missing_ok=True)
        return False
    return True


def keep(kept: Path, made: Path, dependencies: Path) -> None:
    """Keep what was made, with the files that the compiler says it read; that this fails is no error."""
    try:
        words = dependencies.read_text(encoding="utf-8").replace("\\\n", " ").replace("\\ ", "\0").split()
        read = [w.replace("\0", " ") for w in words if not w.endswith(":")]
        seen = [[path, *_seen(path)] for path in read if not Path(path).samefile(made.with_suffix(""))]
        kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
            new = Path(folder) / "new"
            new.mkdir()
            shutil.copyfile(made, new / _HEADER)
            (new / _READ).write_text(json.dumps(seen), encoding="utf-8")
            if kept.exists():
                kept.rename(Path(folder) / "old")
            new.rename(kept)
        others = sorted((p for p in kept.parent.iterdir() if len(p.name) == len(kept.name)), key=_used, reverse=True)
        for old in others[_MOST:]:
            shutil.rmtree(old, ignore_errors=True)
    except (OSError, ValueError):
        return


def _seen(path: str) -> list[int]:
    found = Path(path).stat()
    return [found.st_size, found.st_mtime_ns]


def _used(folder: Path) -> int:
    return folder.stat().st_mtime_ns


__all__ = ["fetch", "keep", "place"]
