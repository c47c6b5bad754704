"""What stands in headers of CuTe and CUTLASS, and which of it a program may have edited, for kernels that are run."""

from __future__ import annotations

import re

from cutecheck.facts import Span
from cutecheck.source.eval import ir
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.values import Object

_OF_LIBRARY = re.compile(r"(?:^|/)(?:include/)?(?:cute|cutlass)/")  # whose steps are known as a whole
_KERNELS = re.compile(r"(?:^|/)cutlass/\w+/kernel/")  # CUTLASS's own, in which collectives of the program's run
_EDITED = re.compile(r"(?:^|/)cutlass/\w+/(?:collective|kernel)/")  # what is the program's where it is asked about


def in_library(path: str, asked: frozenset[str]) -> bool:
    """Whether a file is of CuTe or CUTLASS. A collective or kernel that is ``asked`` about is the program's."""
    return _OF_LIBRARY.search(path) is not None and not (path in asked and _EDITED.search(path))


def asks_scheduler(asked: ir.Expr | None, env: Env) -> bool:
    """Whether a condition is ``tile.is_valid()`` of what a scheduler of CUTLASS's gives, whoever wrote the kernel."""
    if not isinstance(asked, ir.Call) or not isinstance(asked.fn, ir.Attr) or not isinstance(asked.fn.base, ir.Name):
        return False
    at = env.find_var(asked.fn.base.ident)
    tile = None if at is None else at.vars.get(asked.fn.base.ident)
    return isinstance(tile, Object) and of_kernels(tile.cls.decl.span)


def of_collectives(path: str) -> bool:
    """Whether a file of CUTLASS's has collectives or kernels, made of what is known."""
    return _EDITED.search(path) is not None


def of_kernels(span: Span) -> bool:
    """Whether code is that of a kernel of CUTLASS's own, around collectives that may be a program's."""
    return _KERNELS.search(span.path) is not None
