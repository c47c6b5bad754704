"""One run: find the inputs, extract facts, check them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cutecheck.cache import Store, open_store
from cutecheck.config import Settings
from cutecheck.engine.sources import SourceLines
from cutecheck.facts import Facts, SourceError
from cutecheck.model.version import REFERENCE, using_cute
from cutecheck.records import record
from cutecheck.report.data import Report
from cutecheck.source.collectives import Library
from cutecheck.source.eval.limits import Limits
from cutecheck.source.files import exists, noted, watched
from cutecheck.source.request import ExtractRequest
from cutecheck.timing import note, phase

if TYPE_CHECKING:
    from cutecheck.engine.compile_commands import CompileFlags
    from cutecheck.engine.fixes import FixRun
    from cutecheck.engine.fixes.bench import Bench
    from cutecheck.engine.runs import Runs
    from cutecheck.facts.explanation import Trace
    from cutecheck.findings import Finding
    from cutecheck.model.prove import Options
    from cutecheck.model.prove.obligation import Obligation, Outcome
    from cutecheck.rules import Context
    from cutecheck.source.discover import Discovery


@record(frozen=True, slots=True)
class Inputs:
    """The paths that exist, and one line for each that does not.

    ``changed`` not None: ``paths`` is the tree around these files, of which these and what depends on them is checked.
    """

    paths: tuple[Path, ...]
    missing: tuple[SourceError, ...]
    changed: tuple[Path, ...] | None = None

    @property
    def named(self) -> tuple[Path, ...]:
        """What the user asked about."""
        return self.paths if self.changed is None else self.changed


def inputs(paths: Sequence[str], tree: str | None = None) -> Inputs:
    """Split the given paths into usable and missing ones; ``tree`` is the folder they are the changed files of."""
    found = [Path(p) for p in paths]
    top = [] if tree is None else [Path(tree)]
    missing = tuple(SourceError(p.as_posix(), "no such file or folder") for p in (*top, *found) if not exists(p))
    there = tuple(p for p in found if exists(p))
    if tree is None:
        return Inputs(there, missing)
    return Inputs(tuple(p for p in top if p.exists()), missing, there)


def extract_facts(
    paths: Sequence[Path],
    settings: Settings,
    changed: tuple[Path, ...] | None = None,
    store: Store | None = None,
    found: Discovery | None = None,
) -> Facts:
    """Facts of the paths under the settings, with the configuration's contracts. Raises ConfigError.

    ``found``: what discovery found of them, where that is known.

    ``cutlass_version`` of the facts is the version of CuTe that was followed: the one named in the settings, that of
    the headers of the tree, or the reference.
    """
    from cutecheck.engine.assume import with_contracts
    from cutecheck.engine.cute_version import with_version
    from cutecheck.model.atoms import cutlass_version
    from cutecheck.source.extract import extract

    settings, told = with_version(settings, (*paths, *(changed or ())))
    if store is None and settings.cache:
        store = open_store(settings.cache_dir)
    with using_cute(settings.cute):
        flags = compile_flags((*paths, *(changed or ())), settings)
        request = replace(_request(paths, settings, changed, store, flags), found=found)
        facts = extract(request) if paths else Facts()
        notes = (*facts.notes, *filter(None, (told, _compiled_again(flags))))
        followed = cutlass_version() if settings.cute == REFERENCE else ".".join(map(str, settings.cute))
        return replace(with_contracts(facts, settings.assume), cutlass_version=followed, notes=notes)


def explain(paths: Sequence[Path], settings: Settings) -> Trace:
    """How every value of the paths came about. Raises ConfigError."""
    from cutecheck.engine.cute_version import with_version
    from cutecheck.source.eval.trace import Tracing
    from cutecheck.source.extract import extract

    tracing = Tracing()
    settings, _ = with_version(settings, paths)
    with using_cute(settings.cute):
        request = _request(paths, settings, None, None, compile_flags(paths, settings))
        extract(replace(request, tracing=tracing, jobs=1))
    return tracing.trace()


def _request(
    paths: Sequence[Path],
    settings: Settings,
    changed: tuple[Path, ...] | None,
    store: Store | None,
    flags: CompileFlags | None,
) -> ExtractRequest:
    return ExtractRequest(
        paths=tuple(paths),
        archs=settings.arch or (flags.arch if flags is not None else ()),
        include_dirs=tuple(Path(i) for i in (*settings.include, *(flags.include if flags is not None else ()))),
        installed=_libraries(paths),
        defines=(*(flags.define if flags is not None else ()), *settings.define),
        unit_defines=() if flags is None else flags.units,
        build_files=_by_build_files(settings, flags),
        instantiate=settings.instantiate,
        exclude=settings.exclude,
        changed=changed,
        jobs=settings.jobs or _cores(),
        suppose=settings.suppose,
        store=store,
        limits=Limits(
            steps_per_root=settings.max_steps,
            idle_steps=settings.max_idle_steps,
            depth=settings.max_depth,
            instantiations=settings.max_instantiations,
            flag_combinations=settings.max_flag_combinations,
            alike=settings.max_alike,
            seconds_per_file=settings.file_timeout,
            mebibytes=settings.max_memory,
        ),
    )


def _libraries(paths: Sequence[Path]) -> tuple[Library, ...]:
    """CUTLASS above what is scanned, as the environment names it, and as it is installed (``confirm`` compiles it)."""
    from cutecheck.engine.cute_version import around
    from cutecheck.exec.headers import cutlass_directories, cutlass_version

    installed = (d for d in cutlass_directories() if exists(d / "cutlass" / "version.h"))
    return tuple(Library(d, cutlass_version(d)) for d in (*around(paths), *installed))


def _compiled_again(flags: CompileFlags | None) -> str:
    """What is left out of a compilation database; empty where nothing is."""
    if flags is None or not flags.again:
        return ""
    first, more = flags.again[0], len(flags.again) - 1
    others = f" and {more} more" if more else ""
    return f"{flags.file.name} compiles {first}{others} several times with other macros: read under those of the first"


def compile_flags(paths: Sequence[Path], settings: Settings) -> CompileFlags | None:
    """The flags of the compilation database that is named, or of the closest. Raises ConfigError."""
    from cutecheck.engine.compile_commands import find_database, read_flags

    if settings.compile_commands == "none" or not paths:
        return None
    file = Path(settings.compile_commands) if settings.compile_commands else find_database(paths)
    return None if file is None else read_flags(file, paths)


def _by_build_files(settings: Settings, flags: CompileFlags | None) -> bool:
    """Whether setup.py and CMakeLists.txt are asked: where no compilation database is, and none was refused."""
    return flags is None and settings.compile_commands != "none"


def build_defines(paths: Sequence[Path], settings: Settings) -> tuple[str, ...]:
    """The macros that the build files give to all sources of the paths, where these are asked. Raises ConfigError."""
    from cutecheck.source.builds.macros import build_macros
    from cutecheck.source.discover import DSL_SUFFIXES, discover

    if not paths or not _by_build_files(settings, compile_flags(paths, settings)):
        return ()
    found = discover(paths, exclude=settings.exclude).files
    files = {f.path: f.file for f in found if f.cute and not f.path.endswith(DSL_SUFFIXES)}
    return build_macros(files, paths, settings.define).common


def _cores() -> int:
    """The cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every platform
        return os.cpu_count() or 1


def check(
    given: Inputs,
    settings: Settings,
    timeout_s: float = 5.0,
    engine: str | None = None,
    dump_smt: Path | None = None,
    counts_alone: bool = False,
) -> Report:
    """Extract and check; ``timeout_s`` is the wall-clock limit of one obligation and engine.

    ``counts_alone``: of the facts the report needs no more than counts, so that a remembered run may do.

    ``engine`` asks that engine alone (nothing is then proved); ``dump_smt`` is a folder for the Z3 queries.
    OSError when that cannot be written.
    """
    asked = counts_alone and engine is None and dump_smt is None
    runs = _runs(given, settings, timeout_s) if asked else None
    if runs is None:
        return _checked(given, settings, timeout_s, engine, dump_smt)[0]
    with phase("recall"):
        known = runs.recall()
    if known is None:
        found, read = runs.found
        with watched() as seen:
            noted(read)
            report = _report(given, settings, timeout_s, found)
        runs.keep(replace(report, errors=report.errors[len(given.missing) :]), seen)
        return report
    lines = SourceLines((*given.paths, *(given.changed or ())))
    return replace(known, lines=lines, errors=(*given.missing, *known.errors), budget=_budget(timeout_s))


def _runs(given: Inputs, settings: Settings, timeout_s: float) -> Runs | None:
    """The memory of this run; None where nothing is kept. Raises ConfigError."""
    from cutecheck.engine.cute_version import with_version
    from cutecheck.engine.runs import Runs

    store = open_store(settings.cache_dir) if settings.cache else None
    if store is None or not given.paths:
        return None
    followed, told = with_version(settings, (*given.paths, *(given.changed or ())))
    about = repr((replace(followed, jobs=0, cache_dir="", baseline="", fail_on="warning", unknown="warn"), told))
    with using_cute(followed.cute):
        flags = compile_flags((*given.paths, *(given.changed or ())), followed)
        request = _request(given.paths, followed, given.changed, None, flags)
        return Runs(store, request, f"{about} {_compiled_again(flags)} {timeout_s} {Path.cwd()}", timeout_s)


def check_and_fix(given: Inputs, settings: Settings, unsafe: bool, timeout_s: float = 5.0) -> FixRun:
    """Check, and try the fixes of what is found in memory; ``unsafe`` tries those as well that may change meaning."""
    from cutecheck.engine.fixes import fix_all

    return fix_all((*given.paths, *(given.changed or ())), lambda: _checked(given, settings, timeout_s), unsafe)


def _report(given: Inputs, settings: Settings, timeout_s: float, found: Discovery) -> Report:
    """The report on the files that were found; where there is nothing for rules to look at, without reading them."""
    if settings.select or settings.ignore or settings.extend_select or settings.severity or settings.per_path:
        return _checked(given, settings, timeout_s)[0]
    facts = _extracted(given, settings, open_store(settings.cache_dir) if settings.cache else None, found)
    found_any = facts.sites, facts.events, facts.buffers, facts.launches, facts.calls, facts.lints, facts.predicates
    if any(found_any) or facts.commented:
        return _checked(given, settings, timeout_s, facts=facts)[0]
    return Report(
        facts=facts,
        errors=(*given.missing, *(e for e in facts.errors if not e.internal)),
        failures=tuple(dict.fromkeys(e for e in facts.errors if e.internal)),
        budget=_budget(timeout_s),
        lines=SourceLines((*given.paths, *(given.changed or ()))),
    )


def _extracted(given: Inputs, settings: Settings, store: Store | None, found: Discovery | None = None) -> Facts:
    from cutecheck.engine.cute_version import with_version

    settings, _ = with_version(settings, (*given.paths, *(given.changed or ())))
    with phase("extract"):
        facts = extract_facts(given.paths, settings, given.changed, store, found)
    if store is not None:
        store.prune()
        note("extract", f"{store.hits} entries of the cache used, {store.misses} not found")
    return facts


def _checked(
    given: Inputs,
    settings: Settings,
    timeout_s: float,
    engine: str | None = None,
    dump_smt: Path | None = None,
    facts: Facts | None = None,
) -> tuple[Report, Context]:
    """The report, and the facts and proofs behind it."""
    from cutecheck.engine.check import check_facts
    from cutecheck.engine.cute_version import with_version
    from cutecheck.engine.overrides import Overrides
    from cutecheck.engine.smt import SmtDump
    from cutecheck.engine.verdicts import Verdicts
    from cutecheck.model.prove import Options
    from cutecheck.rules import Context, selected

    rules = selected(settings.select, settings.ignore, settings.extend_select)
    lines = SourceLines((*given.paths, *(given.changed or ())))
    overrides = Overrides(settings, lines.file)
    dump = None if dump_smt is None else SmtDump(dump_smt)
    store = open_store(settings.cache_dir) if settings.cache else None
    roots = (*given.paths, *(given.changed or ()))
    settings, _ = with_version(settings, roots)
    with using_cute(settings.cute):
        timeout_ms = int(timeout_s * 1000)
        verdicts = Verdicts(store if engine is None and dump is None else None, timeout_ms)
        options = Options(timeout_ms=timeout_ms, engine=engine, dump=dump, cache=verdicts)
        if facts is None:
            facts = _extracted(given, settings, store)
        context = Context(facts, partial(_timed, options), answers=verdicts)
        with phase("check"):
            report = check_facts(
                facts,
                rules,
                context.prover,
                lines,
                context,
                _fixing(context, roots),
                override=overrides,
                pedantic=settings.pedantic,
                reasons_required=settings.require_suppression_reason,
                processes=1 if dump is not None else settings.jobs or _cores(),
            )
        verdicts.save()
    return replace(report, errors=(*given.missing, *report.errors), budget=_budget(timeout_s)), context


def _fixing(context: Context, roots: Sequence[Path]) -> Callable[[Finding, Context], Finding]:
    """What adds to a finding its fixes; a run without findings does not read what is needed for them."""
    made: list[Bench] = []

    def finish(finding: Finding, _: Context) -> Finding:
        from cutecheck.engine.fixes.attach import with_fixes
        from cutecheck.engine.fixes.bench import Bench
        from cutecheck.engine.fixes.files import Files

        if not made:
            made.append(Bench(context, Files(roots)))
        return with_fixes(finding, made[0])

    return finish


def _budget(timeout_s: float) -> str:
    from cutecheck.model.prove import Options

    return f"{timeout_s:g} s and {Options().rlimit:,} solver units an obligation and engine, seed 0"


def _timed(options: Options, obligation: Obligation) -> Outcome:
    from cutecheck.model.prove import prove

    with phase("  of this: prove"):
        return prove(obligation, options)


def blocking(errors: Sequence[SourceError], given: Inputs) -> bool:
    """True when a path the user named is missing, or a file they named could not be read at all."""
    named = {p.name for p in given.named if not p.is_dir()}
    return bool(given.missing) or any(e.span is None and Path(e.path).name in named for e in errors)
