"""Places in scanned sources."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open range of a file: 1-based lines and columns (columns count characters), path as scanned."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value cutecheck does not know, why, and where that was decided. Never a guess."""

    reason: str
    span: Span | None = None

    def __str__(self) -> str:
        return f"{self.reason} ({self.span})" if self.span else self.reason
