"""The command line. One file a command; everything heavy is imported when a command runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments in (["--version"], ["-V"]):
        from cutecheck import __version__

        print(f"cutecheck {__version__}")
        return 0
    from cutecheck.cli.app import run

    return run(arguments)
