"""``--dump-smt``: every Z3 query as an SMT-LIB 2 file."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path


class SmtDump:
    """Writes each query to a file named by the query and a hash of its text: the same names on every run.

    OSError when the folder cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder

    def __call__(self, name: str, text: str) -> None:
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        stem = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.")[:80]
        (self._folder / f"{stem}-{digest}.smt2").write_text(text, encoding="utf-8")
