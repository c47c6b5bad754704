"""The ISA tier: what it says of every copy, MMA and site, as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cutecheck.cli.confirm_dsl import interpreter
from cutecheck.cli.confirm_tiers import Judged, Request, TierOutcome

if TYPE_CHECKING:
    from cutecheck.exec.confirmation import Status
    from cutecheck.exec.isa.counts import Key
    from cutecheck.exec.isa.tier import IsaOptions, IsaResult

_LAYOUTS = ("layout", "smem_layout")  # nothing is emitted for them


def outcome(request: Request) -> TierOutcome:
    """Compile one kernel a copy, MMA or site for every architecture and count its instructions.

    Those of Python sources by CUDA's compiler, as C++, and by the DSL's own where it is installed.
    """
    from cutecheck.exec.isa import IsaOptions, confirm
    from cutecheck.exec.isa.compile import find_bench, find_disassembler

    bench = find_bench(request.environment)
    options = IsaOptions(request.arguments.isa_arch) if request.arguments.isa_arch else IsaOptions()
    made = confirm(request.facts, bench, options)
    disassembler = find_disassembler(request.environment)
    sass = disassembler or "none: PTX only (install nvidia-cuda-nvdisasm)"
    head: dict[str, str | None] = {"compiler": None, "cutlass_version": None, "disassembler": disassembler}
    if isinstance(bench, str):
        tool = f"isa tier unavailable: {bench}"
    else:
        tool = f"isa tier: {bench.compiler.path}, CUTLASS {bench.compiler.version}, disassembler {sass}"
        head |= {"compiler": bench.compiler.path, "cutlass_version": bench.compiler.version}
    if any(r.fact.span.is_python for r in made):
        made, version, said = _by_dsl(made, request, disassembler, options)
        tool += f"; {said}"
        head["dsl_version"] = version
    judged = tuple(Judged(r.fact.span, r.fact.arch, r.status, r.reason) for r in made)
    left = any(r.status == "unavailable" and _counts(r) for r in made)
    document = {
        "schema_version": 1, "tier": "isa", **head, "archs": list(options.archs), "results": [_one(r) for r in made],
        "summary": _summary(made),
    }  # fmt: skip
    return TierOutcome("isa", lambda full: _text(made, full, tool), document, judged, left)


def _by_dsl(
    made: tuple[IsaResult, ...], request: Request, disassembler: str | None, options: IsaOptions
) -> tuple[tuple[IsaResult, ...], str | None, str]:
    """The results with what the DSL's own compiler emits, the DSL's version, and what to say of it."""
    from cutecheck.exec.dsl import DslOptions
    from cutecheck.exec.isa.dsl_compile import DslBench
    from cutecheck.exec.isa.dsl_tier import by_dsl

    python = interpreter(request)
    outcome = by_dsl(made, DslBench(DslOptions(python), disassembler), options)
    if outcome.unavailable:
        return made, None, f"the DSL's compiler is unavailable: {outcome.unavailable}"
    return outcome.results, outcome.version or None, f"{python}, nvidia-cutlass-dsl {outcome.version or 'not asked'}"


def _fact(r: IsaResult) -> str:
    """``site``, ``event`` or ``call``."""
    return type(r.fact).__name__.lower()


def _kind(r: IsaResult) -> str:
    return str(getattr(r.fact, "kind", "descriptors"))


def _counts(r: IsaResult) -> bool:
    """Whether it is something that is compiled and was extracted."""
    return _kind(r) not in _LAYOUTS and getattr(r.fact, "status", "resolved") == "resolved"


def _what(r: IsaResult) -> str:
    names = (getattr(r.fact, field, None) for field in ("callee", "function", "symbol"))
    return f"{_kind(r)} {next(filter(None, names), '')}"


def _text(made: Sequence[IsaResult], full: bool, tool: str) -> Iterator[str]:
    """A line a copy, MMA or site, equal ones of several instantiations once; in full, one more an architecture."""
    from cutecheck.exec.isa.counts import shown
    from cutecheck.report.text import safe

    seen: set[tuple[str, ...]] = set()
    for r in made:
        if full and not _counts(r):
            continue  # counted below
        block = [safe(f"{r.fact.span}: {r.status} {_what(r)}: {r.reason}")]
        for run in r.runs if full else ():
            emitted = f"PTX {shown(run.ptx)}; SASS {'not read' if run.sass is None else shown(run.sass)}"
            block.append(safe(f"    {run.where}: {run.status}: {run.reason or emitted}"))
        if tuple(block) not in seen:
            seen.add(tuple(block))
            yield from block
    for name, counts in _summary(made).items():
        yield f"{name}: " + ", ".join(f"{n} {status}" for status, n in counts.items())
    yield safe(tool)


def _summary(made: Sequence[IsaResult]) -> dict[str, dict[str, int]]:
    """Events, sites that emit instructions, calls that make descriptors, all by architecture: how many of each."""
    statuses: tuple[Status, ...] = ("confirmed", "contradicted", "unavailable")
    kinds: dict[str, list[Status]] = {"events": [r.status for r in made if _fact(r) == "event"],
             "sites": [r.status for r in made if _fact(r) == "site" and _kind(r) not in _LAYOUTS]}  # fmt: skip
    if any(_fact(r) == "call" for r in made):
        kinds["descriptors"] = [r.status for r in made if _fact(r) == "call"]
    for r in made:
        for run in r.runs:
            kinds.setdefault(run.where, []).append(run.status)
    return {name: {s: Counter(found)[s] for s in statuses} for name, found in kinds.items()}


def _one(r: IsaResult) -> dict[str, Any]:
    return {
        "fact": _fact(r),
        "id": getattr(r.fact, "event_id", None) or getattr(r.fact, "site_id", None) or str(r.fact.span),
        "path": r.fact.span.file,
        "line": r.fact.span.line,
        "kind": _kind(r),
        "status": r.status,
        "reason": r.reason,
        "predicted": _rows(r.predicted),
        "archs": [
            {"arch": run.arch, "compiler": run.compiler, "status": run.status, "reason": run.reason,
             "ptx": _rows(run.ptx), "sass": None if run.sass is None else _rows(run.sass)}
            for run in r.runs
        ],
    }  # fmt: skip


def _rows(counts: Mapping[Key, int]) -> list[dict[str, Any]]:
    return [{"instruction": kind, "width": width, "count": n} for (kind, width), n in sorted(counts.items())]
