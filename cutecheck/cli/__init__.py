"""The command line. One file a command; everything heavy is imported when a command runs."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import NoReturn


def entry() -> NoReturn:
    """A process that is the command line and nothing else: it ends without taking its memory apart."""
    code = main()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # nobody reads any more
            code = code or 2
    os._exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    # programs are large and live long: looking for garbage rarely saves a fifth, all the more while modules are read
    gc.set_threshold(200_000, 20, 100)
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments in (["--version"], ["-V"]):
        from cutecheck import __version__

        print(f"cutecheck {__version__}")
        return 0
    from cutecheck.cli.app import run
    from cutecheck.frames import roomy

    return roomy(lambda: run(arguments))
