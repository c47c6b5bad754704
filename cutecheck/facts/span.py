"""Places in scanned sources."""

from __future__ import annotations

from dataclasses import dataclass

from cutecheck.records import record

EMBEDDED = ":string "  # stands between the path of a program and what names a unit of C++ in its strings


def outer(path: str) -> str:
    """The file (or cell of a notebook) that a path means: of a unit in a string that in which the string stands."""
    return path.partition(EMBEDDED)[0]


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open range of a file: 1-based lines and columns (columns count characters), path as scanned.

    All of a macro's body has the place of its use; ``part`` tells its pieces apart: one more than the characters of the
    expansion before it, 0 of what stands in the file.
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    part: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    @property
    def place(self) -> str:
        """Line and column, as part of a name: another one for each piece of a macro's body."""
        return f"{self.line}:{self.column}" + (f"+{self.part}" if self.part else "")

    @property
    def file(self) -> str:
        """What people are shown of the path; C++ in a string of ``gemm.py`` is in ``gemm.py``."""
        return outer(self.path) if EMBEDDED in self.path else self.path

    @property
    def is_python(self) -> bool:
        """Whether the place is in a Python file, or in a cell of a notebook (``book.ipynb:cell 3``)."""
        return self.path.endswith(".py") or (".ipynb" in self.path and EMBEDDED not in self.path)

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
