"""Writing styled lines: colours and links on a terminal, plain text everywhere else (and under NO_COLOR)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
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
    from rich.style import Style
    from rich.text import Text

    console = Console(file=stream, force_terminal=True, highlight=False, soft_wrap=True)
    linked = stream.isatty()  # colours may be forced on a log, whose viewer knows no links
    for line in lines:
        uri = _uri(line.file) if linked else ""
        style = Style.parse(_STYLES.get(line.style, "none"))
        console.print(Text(line.text, style=style + Style(link=uri) if uri else style))


def _uri(file: str) -> str:
    """The file as an OSC-8 link leads to it: absolute, percent-encoded; empty where there is no such file."""
    path = Path(re.sub(r":cell \d+$", "", file))
    try:
        return path.resolve().as_uri() if file and path.is_file() else ""
    except (OSError, ValueError):
        return ""
