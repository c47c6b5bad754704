"""Writing styled lines: colours on a terminal, plain text everywhere else (and under NO_COLOR)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TextIO

from cutecheck.report.snippet import Line

_STYLES = {
    "error": "bold red", "warning": "bold yellow", "note": "bold cyan",
    "frame": "blue", "proof": "green", "bold": "bold",
}  # fmt: skip


def wants_colour(stream: TextIO) -> bool:
    """True for a terminal that did not ask for plain text (https://no-color.org)."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")


def write(lines: Iterable[Line], stream: TextIO) -> None:
    """Write the lines to the stream; rich is loaded only where colours are wanted."""
    if not wants_colour(stream):
        for line in lines:
            stream.write(line.text + "\n")
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, force_terminal=True, highlight=False, soft_wrap=True)
    for line in lines:
        console.print(Text(line.text, style=_STYLES.get(line.style, "")))
