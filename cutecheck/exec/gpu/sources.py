"""Findings that no event shows, by compiling the author's own file: what CuTe refuses is refused at their lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cutecheck.exec.gpu.codegen import Unit
from cutecheck.exec.gpu.compile import Compiled, compile_units
from cutecheck.exec.gpu.results import Bench
from cutecheck.exec.gpu.tier import APART, STOPPED, FindingResult

_REFUSED = (*STOPPED, "tile-divisibility", "permutation", "tma-limits")


def by_sources(results: Sequence[FindingResult], bench: Bench, folders: Sequence[Path]) -> list[FindingResult]:
    """The results, those that are unavailable held against a compilation of their C++ files, each file once.

    ``folders``: those that the findings' paths are relative to; a path that is in several of them is left alone. A file
    that needs other files of its tree does not compile alone: its findings stay unavailable.
    """
    texts = {}
    for path in dict.fromkeys(r.finding.span.path for r in results if _open(r)):
        files = {f.resolve() for folder in folders if (f := folder / path).is_file()}
        if len(files) == 1:
            texts[path] = files.pop().read_text(encoding="utf-8", errors="replace")
    made = compile_units(
        [Unit("source", t) for t in texts.values()], bench.arch, bench.compiler, bench.cache, bench.jobs
    )
    compiled = dict(zip(texts, made, strict=True))
    return [by_source(r, compiled.get(r.finding.span.path)) for r in results]


def by_source(result: FindingResult, compiled: Compiled | None) -> FindingResult:
    """One result, held against the compilation of its file: confirmed where an error comes from the finding's lines."""
    if compiled is None or compiled.cubin is not None or not _open(result):
        return result
    span = result.finding.span
    for error in compiled.errors:
        if any(span.line <= line <= max(span.line, span.end_line) for line in error.lines):
            return replace(result, status="confirmed", reason=f"CuTe refuses the source: {error.message}")
    return result


def _open(result: FindingResult) -> bool:
    finding = result.finding
    return (
        result.status == "unavailable"
        and finding.family in _REFUSED
        and finding.name not in APART
        and finding.severity != "note"
        and not finding.span.path.endswith(".py")
    )
