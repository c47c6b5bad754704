"""The host tier: what it says of every site, as text and as JSON. The DSL tier is written the same way."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutecheck.cli.confirm_tiers import Judged, Request, TierOutcome

if TYPE_CHECKING:
    from cutecheck.exec.confirmation import Confirmation

_MACRO = re.compile(r"[A-Za-z_]\w*(?:\([\w\s,.]*\))?", re.ASCII)
_LONGEST = 4096  # characters of a flag


def outcome(request: Request) -> TierOutcome:
    """Compile and run the sites' configurations with a host compiler."""
    from cutecheck.exec.headers import NoHeaders, find_headers
    from cutecheck.exec.host import HostOptions, confirm

    headers = find_headers(request.environment)
    roots = list(dict.fromkeys([*(p if p.is_dir() else p.parent for p in request.paths), Path()]))
    options, refused = compiler_options(request)

    def file_of(path: str) -> Path | None:
        return next((r / path for r in roots if (r / path).is_file()), None)

    made = confirm(request.facts, headers, file_of, HostOptions(options=options))
    missing = isinstance(headers, NoHeaders)
    tool = f"host tier unavailable: {headers.reason}" if isinstance(headers, NoHeaders) else (
        f"host tier: {headers.compiler}, CUTLASS {headers.version}")  # fmt: skip
    if refused:
        tool += f"; left out of the compilation database: {', '.join(refused)}"
    head = {
        "compiler": None if missing else headers.compiler,  # type: ignore[union-attr]
        "cutlass_version": None if missing else headers.version,  # type: ignore[union-attr]
    }
    return site_outcome("host", made, tool, head)


def compiler_options(request: Request) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """``-I`` and ``-D`` of the user and of the compilation database, and what of the database was left out; where there
    is none, macros of the build files.

    Each is one argument of the compiler, whatever it holds. Those of the database come from the tree: no folder that is
    not there, no macro whose name or value is no plain text.
    """
    from cutecheck.engine.run import build_defines, compile_flags

    settings = request.settings
    flags = compile_flags(request.paths, settings)
    include = [str(Path(i).resolve()) for i in settings.include]
    define = list(settings.define)
    refused = []
    for folder in flags.include if flags is not None else ():
        if _plain(folder) and Path(folder).is_dir():
            include.append(folder)
        else:
            refused.append(f"-I{folder}")
    named = {d.partition("=")[0] for d in define}
    for macro in flags.define if flags is not None else build_defines(request.paths, settings):
        name = macro.partition("=")[0]
        if not _plain(macro) or not _MACRO.fullmatch(name):
            refused.append(f"-D{macro}")
        elif name not in named:
            define.append(macro)
    return (*(f"-I{i}" for i in dict.fromkeys(include)), *(f"-D{d}" for d in define)), tuple(refused)


def _plain(text: str) -> bool:
    return text.isprintable() and len(text) <= _LONGEST


def site_outcome(tier: str, made: Sequence[Confirmation], tool: str, head: dict[str, Any]) -> TierOutcome:
    """The outcome of a tier that judges sites; ``tool`` is its last line, ``head`` what its document begins with."""
    judged = tuple(Judged(c.site.span, c.site.arch, c.status, c.reason or _what(c), c.site.value) for c in made)
    left = any(c.status == "unavailable" and c.site.status == "resolved" for c in made)
    return TierOutcome(tier, lambda full: _text(made, full, tool), _json(tier, made, head), judged, left)


def _what(c: Confirmation) -> str:
    return f"{c.site.kind} {c.site.symbol}".strip()


def _text(made: Sequence[Confirmation], full: bool, tool: str) -> Iterator[str]:
    """A line a site; in full, the fields that differ and the reasons below it."""
    from cutecheck.report.text import safe

    for c in made:
        if full and c.status == "unavailable" and c.site.status != "resolved":
            continue  # counted below
        how = f" ({', '.join(c.routes)})" if c.status != "unavailable" else ""
        why = f": {c.reason}" if c.reason else ""
        yield safe(f"{c.site.span}: {c.status}{how} {c.site.kind} {c.site.symbol} {c.site.arch}{why}")
        if full and c.note and c.status == "confirmed":
            yield safe(f"    note: {c.note}")
        points = dict(p for a in c.attempts if a.status == c.status for p in a.point)
        if full and points:
            yield safe(f"    at {', '.join(f'{name}={n}' for name, n in points.items())}")
        for attempt in c.attempts:
            for d in attempt.differences:
                yield safe(f"    {attempt.route}: {d.field}: CuTe {d.cute}, cutecheck {d.ours}")
    counts = Counter(c.status for c in made)
    resolved = sum(c.site.status == "resolved" for c in made)
    yield (
        f"{counts['confirmed']} confirmed, {counts['contradicted']} contradicted, {counts['unavailable']} unavailable "
        f"of {len(made)} sites ({resolved} resolved)"
    )
    yield safe(tool)


def _json(tier: str, made: Sequence[Confirmation], head: dict[str, Any]) -> dict[str, Any]:
    counts = Counter(c.status for c in made)
    return {
        "schema_version": 1,
        "tier": tier,
        **head,
        "confirmations": [_one(c) for c in made],
        "summary": {
            "sites": len(made),
            "resolved": sum(c.site.status == "resolved" for c in made),
            **{status: counts[status] for status in ("confirmed", "contradicted", "unavailable")},
            "routes": dict(Counter(c.routes[0] for c in made if c.status == "confirmed")),
        },
    }


def _one(c: Confirmation) -> dict[str, Any]:
    return {
        "site_id": c.site.site_id,
        "path": c.site.span.file,
        "line": c.site.span.line,
        "column": c.site.span.column,
        "kind": c.site.kind,
        "symbol": c.site.symbol,
        "arch": c.site.arch,
        "site_status": c.site.status,
        "status": c.status,
        "routes": list(c.routes) if c.status != "unavailable" else [],
        "reason": c.reason,
        "note": c.note,
        "attempts": [
            {
                "route": a.route,
                "status": a.status,
                "reason": a.reason,
                "point": dict(a.point),
                "differences": [{"field": d.field, "ours": d.ours, "cute": d.cute} for d in a.differences],
            }
            for a in c.attempts
        ],
    }
