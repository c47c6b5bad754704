"""A number of a kernel's function, as the place of the one tensor that it copies says it."""

from pathlib import Path

from cutecheck.facts import Unknown
from cutecheck.model.ints import as_expr
from cutecheck.source.extract import ExtractRequest, extract


def number(folder: Path, kernel: str, body: str, shown: str) -> int | None:
    """The value of ``shown`` after ``body`` in the kernel's text, None where it is not a number."""
    (folder / "k.cu").write_text(kernel.replace("BODY", body).replace("SHOWN", shown))
    (event,) = extract(ExtractRequest((folder,), ("sm_80",))).events
    offset = event.operands[0].offset
    return None if isinstance(offset, Unknown) else as_expr(offset).constant  # type: ignore[arg-type]
