"""Pipelines of ``cutlass.pipeline`` in a kernel that is run thread by thread: what they do with their barriers.

Elsewhere the package's pipelines are known by what is called of them (``pipelines.py``). In a run their classes are
those of a prelude, which has each step as the steps of its barriers; a step is one of whoever called it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from cutecheck.facts import Span
from cutecheck.source.dsl import classes, modules
from cutecheck.source.dsl.values import Module
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.values import Extern, FuncSet, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

FILE = Path(__file__).with_name("prelude") / "cutlass_pipeline.py"
_FILES = frozenset(
    FILE.with_name(n).as_posix() for n in (FILE.name, "pipeline_barriers.py", "pipeline_participants.py")
)
_NAME = "cutlass.pipeline, of runs"  # never a module's
_SCOPES = (_NAME, "cutlass_pipeline_of_runs.barriers")
_OF = re.compile(r"cutlass\.(?:pipeline\.(?:helpers\.|sm90\.|sm100\.)?|cutlass_dsl\.(?=if_generate$))")
_GROUP = re.compile(r"CooperativeGroup\(agent=Thread, size=(\d+)\)$")


def prepare(m: Machine) -> None:
    """Read the prelude, before a run that would undo what it leaves."""
    modules.load(m, _NAME, FILE)


@lru_cache(maxsize=4096)
def _spelled(what: str) -> tuple[int | None, tuple[str, ...]]:
    """The threads of a group that is written so; or the parts of a name behind that of the package."""
    group = _GROUP.search(what)
    if group is not None:
        return int(group[1]), ()
    found = _OF.match(what)
    return None, tuple(what[found.end() :].split(".")) if found is not None else ()


def instead(m: Machine, value: Value, span: Span) -> Value | None:
    """What stands for a name of the package in a run; None for other values."""
    scopes = modules.state(m)["scopes"]
    if _NAME not in scopes or not isinstance(value, (Extern, Module)):
        return None
    what = value.what if isinstance(value, Extern) else value.name
    threads, parts = _spelled(what)
    if threads is not None:
        return classes.instantiate(m, scopes[_NAME].env.vars["CooperativeGroup"], ["Thread", threads], {}, span)
    if not parts:
        return None
    first, *rest = parts
    at = next((v for n in _SCOPES if (v := scopes[n].env.vars.get(first)) is not None), None)
    for name in rest if isinstance(at, ClassInst) else ():
        at = classes.attribute(m, at, name, span) if isinstance(at, ClassInst) else None
    return at if isinstance(at, (FuncSet, ClassInst)) or (rest and isinstance(at, str)) else None


def of_base(m: Machine, cls: ClassInst, name: str, span: Span) -> Value | None:
    """A method that a class of the tree has of a pipeline of the package, in a run."""
    for base in (b for c in classes.mro(cls) for b in c.memo["foreign"]):
        stands = instead(m, base, span)
        found = classes.find(stands, name) if isinstance(stands, ClassInst) else None
        if found is not None:
            return found
    return None


def inside(fn: Value) -> bool:
    """Whether a function is one of the prelude."""
    if isinstance(fn, ClassInst):
        return fn.decl.span.path in _FILES
    return isinstance(fn, FuncSet) and fn.entries[-1].decl.span.path in _FILES


__all__ = ["FILE", "inside", "instead", "of_base", "prepare"]
