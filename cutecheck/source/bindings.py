"""Bindings given by hand (``--instantiate``) that name nothing in the scanned files."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from cutecheck.facts import SourceError, Span
from cutecheck.source.files import read_bytes

_PYTHON = (".py", ".ipynb")
_LEAD = re.compile(r"\s*(?:::)?([A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)*)")
_DEFINED = {
    True: re.compile(rb"^(?:class|def)\s+(\w+)", re.MULTILINE),
    False: re.compile(rb"\b(?:struct|class|void|auto|using)\s+(\w+)"),
}


def unmatched(instantiate: Iterable[str], files: Mapping[str, Path]) -> list[SourceError]:
    """An error for each binding whose class, function or module no scanned file has, with the nearest name."""
    from cutecheck.source.dsl.instantiate import asked

    out: list[SourceError] = []
    python = {p: f for p, f in files.items() if p.endswith(_PYTHON)}
    texts: dict[str, bytes] = {}
    for text in dict.fromkeys(instantiate):
        if asked(text, python) is not None:
            continue
        if not texts:
            texts = {p: _read(f) for p, f in files.items()}
        lead = _LEAD.match(text)
        if lead is not None and lead[1].startswith(("cute::", "cutlass::")):
            continue  # of CUTLASS's headers
        name = re.split(r"\.|::", lead[1])[-1] if lead is not None else ""
        word = re.compile(rb"\b" + name.encode() + rb"\b")
        if name and any(word.search(t) for p, t in texts.items() if not p.endswith(_PYTHON)):
            continue
        near = difflib.get_close_matches(name, sorted(_names(texts)), 1) if name else []
        advice = f"; did you mean `{near[0]}`?" if near else ""
        what = f"`{name}`" if name else "it"
        out.append(
            SourceError(
                "<instantiate>",
                f"instantiate `{text}`: no scanned file defines {what}{advice}",
                Span("<instantiate>", 1, 1, 1, len(text) + 1),
            )
        )
    return out


def _names(texts: Mapping[str, bytes]) -> set[str]:
    return {n.decode() for p, t in texts.items() for n in _DEFINED[p.endswith(_PYTHON)].findall(t)}


def _read(file: Path) -> bytes:
    try:
        return read_bytes(file)
    except OSError:
        return b""


__all__ = ["unmatched"]


def unmet(wishes: Mapping[tuple[str, str], tuple[Span, str]], by_setting: bool) -> Iterator[SourceError]:
    """An error for each binding whose name is known and which comes to nothing in any translation unit.

    ``by_setting``: those of settings, which may mean files that are not among the scanned ones; else those of comments.
    """
    for (path, text), (span, why) in sorted(wishes.items()):
        if why and (path == "<instantiate>") == by_setting:
            yield SourceError(path, f"instantiate `{text}`: {why}", span)
