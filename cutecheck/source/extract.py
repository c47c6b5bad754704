"""From paths to facts: discovery, parsing, evaluation, collection."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from cutecheck.facts import Facts, Lint, Site, SourceError, Span, Unknown
from cutecheck.source.collect import collect
from cutecheck.source.cpp import Defines, depends_on_arch, load, lower_expression
from cutecheck.source.cpp.semantics import CppDialect
from cutecheck.source.discover import discover
from cutecheck.source.eval import ir
from cutecheck.source.eval.budget import Budget, Limits
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.program import Program
from cutecheck.source.eval.record import Recorder
from cutecheck.source.roots import run_roots

DEFAULT_ARCH = "sm_80"


@dataclass(frozen=True, slots=True)
class ExtractRequest:
    """What to read and under which bindings."""

    paths: tuple[Path, ...]
    archs: tuple[str, ...] = ()
    include_dirs: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()
    instantiate: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    cutlass_version: str = ""
    jobs: int = 1
    limits: Limits = Limits()
