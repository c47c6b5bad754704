"""Places in scanned sources."""

from __future__ import annotations

from dataclasses import dataclass

from cutecheck.records import record


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

    @property
    def is_python(self) -> bool:
        """Whether the place is in a Python file, or in a cell of a notebook (``book.ipynb:cell 3``)."""
        return self.path.endswith(".py") or ".ipynb" in self.path

    def holds(self, inner: Span) -> bool:
        """True when ``inner`` lies within this span."""
        return (
            inner.path == self.path
            and (self.line, self.column) <= (inner.line, inner.column)
            and (inner.end_line, inner.end_column) <= (self.end_line, self.end_column)
        )


@record(frozen=True, slots=True)
class Unknown:
    """A value cutecheck does not know, why, and where that was decided. Never a guess.

    ``rejected``: CuTe itself refuses the expression; ``reason`` gives the gist of its static assertion.
    """

    reason: str
    span: Span | None = None
    rejected: bool = False

    def __str__(self) -> str:
        return f"{self.reason} ({self.span})" if self.span else self.reason
