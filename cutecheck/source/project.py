"""What calls a library of the DSL from beside it: tests and drivers of its project, where only its folder is named."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cutecheck.facts import Span
from cutecheck.records import record
from cutecheck.source.collect import Collected, absorb
from cutecheck.source.discover import DSL_SUFFIXES, discover
from cutecheck.source.dsl.finding import file_of
from cutecheck.source.dsl.library import Library
from cutecheck.source.files import is_file, read_bytes
from cutecheck.source.imports import drivers, imported, importing
from cutecheck.source.notebooks import cells, python
from cutecheck.source.request import ExtractRequest
from cutecheck.source.scripts import forget_unbound, recalled
from cutecheck.timing import phase

_MARKS = ("pyproject.toml", "setup.py", "setup.cfg")
_TEST = re.compile(rb"^[ \t]*def test_", re.MULTILINE)
_FILES_A_SHARE = 4  # of the library, for which those beside it get the steps of one file


@record(frozen=True, slots=True)
class Called:
    """What was called from the project: what a run says of it, and whether there was more to call."""

    note: str = ""
    unfinished: bool = False


def around(paths: Sequence[Path]) -> Path | None:
    """The folder of the project that all paths lie in: its repository, or what is built as one package.

    None where no such folder lies above them, or all of it is named.
    """
    real = [p.resolve() for p in paths]
    if not real:
        return None
    top = Path(os.path.commonpath(real))
    above = list(top.parents)
    for folder in (top, *above):
        if (folder / ".git").exists():
            return folder if folder in above else None
    found = next((folder for folder in (top, *above) if any(is_file(folder / mark) for mark in _MARKS)), None)
    return None if found == top else found


def call_from_project(
    scripts: Mapping[str, Path], cute: Sequence[str], request: ExtractRequest, about: str, out: Collected
) -> Called:
    """Run what imports the named folders' files from elsewhere in their project, where these leave values unbound.

    Not where they have tests of their own that bind most of them.

    ``cute``: the Python files that were run. Facts of ``out`` gain what that comes to in them, nothing of the others'.
    """
    root = around(request.paths)
    if root is None or not all(p.is_dir() for p in request.paths) or not _unbound(out):
        return Called()
    if not most_left(out) and any(_TEST.search(read_bytes(file)) for file in scripts.values()):
        return Called()
    with phase("  of this: project"):
        beside = _beside(root, scripts, request)
        every = {**scripts, **{path: file for path, (file, _) in beside.items()}}
        more = [path for path, (_, names) in beside.items() if names]
        more += (p for p in drivers([*cute, *more], every) if p in beside)
        inside = frozenset(scripts)
        leads = _leading(every, inside, (*request.paths, root))
        wanted = [path for path in importing(frozenset(cute), more, every) if leads(path)]
        if not wanted:
            return Called()
        allowed = max(3, len(cute) // _FILES_A_SHARE)
        asked = replace(request, paths=(*request.paths, root))
        part = recalled(every, wanted, inside, asked, about, inside, allowed)
    left_out, cut = len(part.importers), bool(part.importers or part.unrun)
    part.importers.clear()
    part.unrun.clear()
    for key in [k for k, error in part.errors.items() if error.path not in inside]:
        del part.errors[key]
    absorb(part, out)
    forget_unbound(out)
    ran = len(wanted) - left_out
    others = f" and {ran - 1} more" if ran > 1 else ""
    lost = f"; {left_out} that import it were not run (max-steps)" if left_out else ""
    what = "what is named is called from the project around it, too"
    return Called(f"{what}: {wanted[0]}{others}{lost}", cut)


def uncalled(out: Collected, request: ExtractRequest) -> str:
    """What a run says of folders most of whose configurations in Python nothing calls; empty otherwise."""
    if request.changed is not None or not any(p.is_dir() for p in request.paths):
        return ""
    if not most_left(out):
        return ""
    unbound = _unbound(out)
    first = min(unbound)
    return (
        f"{len(unbound)} of {len(_python(out))} configurations in Python are called with values that nothing here "
        f"binds ({first.file}:{first.line}): name what calls them too, or bind them with a comment "
        "`# cutecheck: instantiate CALL`"
    )


def most_left(out: Collected) -> bool:
    """Whether most configurations in Python are called with values that nothing binds."""
    return 2 * len(_unbound(out)) > len(_python(out))


def _unbound(out: Collected) -> set[Span]:
    return {site.span for site in out.sites.values() if site.status == "unbound" and site.span.is_python}


def _python(out: Collected) -> set[Span]:
    return {site.span for site in out.sites.values() if site.span.is_python and site.status != "dead"}


def _leading(files: Mapping[str, Path], inside: frozenset[str], roots: tuple[Path, ...]) -> Callable[[str], bool]:
    """Whether a file imports one of ``inside``, or what leads there: that a module there has the name is not enough."""
    library = Library(dict(files), roots)
    known: dict[str, set[str]] = {}

    def leads(path: str) -> bool:
        seen, todo = {path}, [path]
        while todo:
            at = todo.pop()
            if at not in known:
                known[at] = _imported(at, files[at], library)
            if not known[at].isdisjoint(inside):
                return True
            todo += known[at] - seen
            seen |= known[at]
        return False

    return leads


def _imported(path: str, file: Path, library: Library) -> set[str]:
    """The files of the library that a file imports."""
    data = read_bytes(file)
    if path.endswith(".ipynb"):
        data = python(cells(data)).encode()
    names, places = imported(data, file.absolute().parent)
    found = {library.locate(name, file) for name in names}
    found |= {file_of(place.parent, [place.name]) for place in places}
    return {library.shown[real] for at in found if at is not None and (real := at.resolve()) in library.shown}


def _beside(root: Path, scripts: Mapping[str, Path], request: ExtractRequest) -> dict[str, tuple[Path, bool]]:
    """The project's other Python files, by their paths from the first named folder, and whether they name CuTe."""
    known = {os.path.realpath(file) for file in scripts.values()}
    found = discover((root,), exclude=request.exclude, suffixes=DSL_SUFFIXES).files
    return {
        Path(os.path.relpath(f.file, request.paths[0])).as_posix(): (f.file, f.cute)
        for f in found
        if os.path.realpath(f.file) not in known
    }
