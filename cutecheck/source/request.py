"""What is asked of an extraction."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from cutecheck.cache import Store
from cutecheck.records import record
from cutecheck.source.collectives import Library
from cutecheck.source.eval.limits import Limits

if TYPE_CHECKING:
    from cutecheck.source.discover import Discovery
    from cutecheck.source.eval.trace import Tracing


@record(frozen=True, slots=True)
class ExtractRequest:
    """What to read and under which bindings. ``archs`` empty: what the sources' own names ask for.

    ``changed`` not None: of all that is read, these files and what includes or imports them is evaluated and reported.
    """

    paths: tuple[Path, ...]
    archs: tuple[str, ...] = ()
    include_dirs: tuple[Path, ...] = ()
    installed: tuple[Library, ...] = ()  # read where CUTLASS's collectives are used and nothing else declares them
    defines: tuple[str, ...] = ()
    unit_defines: tuple[tuple[str, tuple[str, ...]], ...] = ()  # of single translation units, by their real paths
    build_files: bool = False  # take macros of setup.py and CMakeLists.txt; `unit_defines` is then empty
    instantiate: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    changed: tuple[Path, ...] | None = None
    cutlass_version: str = ""
    jobs: int = 1
    suppose: bool = True  # calls of what nothing calls, where a library is read without what does
    store: Store | None = None
    limits: Limits = field(default_factory=Limits)
    found: Discovery | None = field(default=None, compare=False, repr=False)  # what discovery finds, where it is known
    tracing: Tracing | None = field(default=None, compare=False)  # filled when given
