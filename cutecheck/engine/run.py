"""One run: find the inputs, extract facts, check them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cutecheck.config import Settings
from cutecheck.engine.assume import with_contracts
from cutecheck.engine.check import check_facts
from cutecheck.engine.smt import SmtDump
from cutecheck.engine.sources import SourceLines
from cutecheck.facts import Facts, SourceError
from cutecheck.model.version import REFERENCE, using_cute
from cutecheck.report.data import Report
from cutecheck.rules import selected

if TYPE_CHECKING:
    from cutecheck.source.extract import ExtractRequest


@dataclass(frozen=True, slots=True)
class Inputs:
    """The paths that exist, and one line for each that does not."""

    paths: tuple[Path, ...]
    missing: tuple[SourceError, ...]


def inputs(paths: Sequence[str]) -> Inputs:
    """Split the given paths into usable and missing ones."""
    found = [Path(p) for p in paths]
    missing = tuple(SourceError(p.as_posix(), "no such file or folder") for p in found if not p.exists())
    return Inputs(tuple(p for p in found if p.exists()), missing)


def extract_facts(paths: Sequence[Path], settings: Settings) -> Facts:
    """Facts of the paths under the settings, with the configuration's contracts. Raises ConfigError.

    ``cutlass_version`` of the facts is the version of CuTe that was followed; atoms are always those of the table.
    """
    from cutecheck.model.atoms import cutlass_version
    from cutecheck.source.extract import extract

    with using_cute(settings.cute):
        facts = extract(_request(paths, settings)) if paths else Facts()
        followed = cutlass_version() if settings.cute == REFERENCE else ".".join(map(str, settings.cute))
        return replace(with_contracts(facts, settings.assume), cutlass_version=followed)


def _request(paths: Sequence[Path], settings: Settings) -> ExtractRequest:
    from cutecheck.source.extract import ExtractRequest

    return ExtractRequest(
        paths=tuple(paths),
        archs=settings.arch,
        include_dirs=tuple(Path(i) for i in settings.include),
        defines=settings.define,
        instantiate=settings.instantiate,
        exclude=settings.exclude,
    )


def check(
    given: Inputs,
    settings: Settings,
    timeout_s: float = 5.0,
    engine: str | None = None,
    dump_smt: Path | None = None,
) -> Report:
    """Extract and check; ``timeout_s`` is the wall-clock limit of one obligation and engine.

    ``engine`` asks that engine alone (nothing is then proved); ``dump_smt`` is a folder for the Z3 queries.
    OSError when that cannot be written.
    """
    from cutecheck.model.prove import Options, prove

    rules = selected(settings.select, settings.ignore, settings.extend_select)
    dump = None if dump_smt is None else SmtDump(dump_smt)
    options = Options(timeout_ms=int(timeout_s * 1000), engine=engine, dump=dump, cache={})
    with using_cute(settings.cute):
        facts = extract_facts(given.paths, settings)
        report = check_facts(facts, rules, lambda o: prove(o, options), SourceLines(given.paths))
    return replace(report, errors=(*given.missing, *report.errors))


def blocking(errors: Sequence[SourceError], given: Inputs) -> bool:
    """True when a path the user named is missing, or a file they named could not be read at all."""
    named = {p.name for p in given.paths if p.is_file()}
    return bool(given.missing) or any(e.span is None and Path(e.path).name in named for e in errors)
