"""Which names the DSL's package has: programs ask, for more than one version of it (``hasattr(cute.arch, ...)``)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cutecheck.source.dsl.library import Library
    from cutecheck.source.eval.machine import Machine
from cutecheck.source.files import read_bytes

_ALL_OF = re.compile(r"^from (\.\w+) import \*", re.MULTILINE)
_DEPTH = 3


def lacks(m: Machine, module: str, name: str) -> bool:
    """Whether a module of the package, which is at hand, spells a name nowhere: this version has none of it."""
    library: Library = m.dialect.library  # type: ignore[attr-defined]
    if library.cutlass is None or not module.startswith("cutlass."):
        return False
    text = _text(library, module, 0)
    return bool(text) and "def __getattr__" not in text and re.search(rf"\b{re.escape(name)}\b", text) is None


def _text(library: Library, module: str, depth: int) -> str:
    """A module's source, and that of the modules that it takes all names from."""
    file = library.locate(module, None)
    if file is None or depth > _DEPTH:
        return ""
    text = read_bytes(file).decode("utf-8", errors="replace")
    home = module if file.name == "__init__.py" else module.rpartition(".")[0]
    return "\n".join([text, *(_text(library, f"{home}{inner}", depth + 1) for inner in _ALL_OF.findall(text))])
