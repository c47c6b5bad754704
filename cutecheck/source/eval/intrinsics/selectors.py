"""Names made by CUTLASS's and CuTe's selectors: shared-memory layout atoms of GMMA and UMMA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cutecheck.source.eval.values import Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


def find(m: Machine, key: str) -> Value | Any:
    return None
