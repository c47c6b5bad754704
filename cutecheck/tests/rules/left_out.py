"""Right kernels with marks, and the mistakes that are made of them: the statement behind one mark is left out.

``@`` stands before a statement without which a kernel is wrong and found to be, ``~`` before others.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs


def right(kernels: Mapping[str, str]) -> dict[str, str]:
    return {name: body.replace("@", "").replace("~", "") for name, body in kernels.items()}


def wrong(kernels: Mapping[str, str], at: int) -> dict[str, str]:
    """Those with as many marks, without the statement behind that one."""
    found = {}
    for name, body in kernels.items():
        parts = body.replace("~", "").split("@")
        if at < len(parts):
            parts[at] = parts[at].partition(";\n")[2]
            found[name] = "".join(parts)
    return found


def found_in(folder: Path, head: str, texts: Mapping[str, str], *codes: str) -> list[str]:
    """The names of the texts in whose lines one of these rules finds something; empty for the lines before them."""
    (folder / "k.cu").write_text(head + "".join(texts.values()))
    report = check(inputs([str(folder)]), Settings(arch=("sm_80",), select=codes))
    assert not report.failures
    assert not report.errors
    last, ends = head.count("\n"), {}
    for name, text in texts.items():
        last += text.count("\n")
        ends[name] = last
    return sorted({next((n for n, end in ends.items() if f.span.line <= end), "") for f in report.findings})
