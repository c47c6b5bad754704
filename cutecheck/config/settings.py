"""The settings of one run."""

from __future__ import annotations

from typing import Literal

from cutecheck.model.version import REFERENCE, Version, parse_version
from cutecheck.records import record

FailOn = Literal["note", "warning", "error"]
UnknownPolicy = Literal["ignore", "warn", "error"]


@record(frozen=True, slots=True)
class Settings:
    """Everything a configuration file or the command line can set.

    ``select`` empty means every rule; entries of ``select``, ``extend_select`` and ``ignore`` are code prefixes or
    rule names. ``include`` are absolute directories. ``assume`` are contracts such as ``lda % 8 == 0``.
    ``cutlass_version`` is the version of CuTe to follow, empty for the reference (docs/cute-versions.md).
    ``baseline`` is the absolute path of a baseline, or empty.
    ``compile_commands`` is the absolute path of a compilation database, `none`, or empty for the closest; macros of
    build files count where there is none.
    ``pedantic`` turns notes into warnings; ``require_suppression_reason`` makes a suppression without one a finding.
    ``suppose``: a library of the Python DSL that nothing calls is called with arguments that are supposed.
    ``jobs`` are the processes to use (0: one a core); ``max_*`` and ``file_timeout`` (seconds) bound the evaluation.
    ``cache_dir`` is the folder of the cache (empty: the user's), ``cache`` whether to use it.
    ``severity`` are (rule selector, severity); ``per_path`` are (pattern, ignored selectors, severities) of files.
    ``origin`` names the file the settings came from.
    """

    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    arch: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    define: tuple[str, ...] = ()
    instantiate: tuple[str, ...] = ()
    assume: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    unknown: UnknownPolicy = "warn"
    fail_on: FailOn = "warning"
    cutlass_version: str = ""
    baseline: str = ""
    compile_commands: str = ""
    pedantic: bool = False
    require_suppression_reason: bool = False
    suppose: bool = True
    jobs: int = 0
    max_steps: int = 2_000_000
    max_idle_steps: int = 60_000
    max_depth: int = 400
    max_instantiations: int = 400
    max_flag_combinations: int = 2
    max_alike: int = 400
    file_timeout: int = 600
    max_memory: int = 4096
    cache: bool = True
    cache_dir: str = ""
    severity: tuple[tuple[str, str], ...] = ()
    per_path: tuple[tuple[str, tuple[str, ...], tuple[tuple[str, str], ...]], ...] = ()
    origin: str = ""

    @property
    def cute(self) -> Version:
        """The version of CuTe to follow."""
        return parse_version(self.cutlass_version) if self.cutlass_version else REFERENCE
