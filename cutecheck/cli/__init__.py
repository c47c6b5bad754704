"""The command line. One file a command; everything heavy is imported when a command runs."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from types import FrameType

_VERSION = (["--version"], ["-V"])


def entry() -> NoReturn:
    """A process that is the command line and nothing else: it ends without taking its memory apart."""
    if sys.argv[1:] not in _VERSION:
        _end_as_interrupted()
    code = main()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # nobody reads any more
            code = code or 2
    os._exit(code)


def _end_as_interrupted() -> None:
    """Whoever ends the process, as `timeout` and cancelled jobs do, sees what is known, as after Ctrl-C."""
    import signal

    def ended(number: int, frame: FrameType | None) -> None:
        interrupt = signal.getsignal(signal.SIGINT)
        if not callable(interrupt):  # a job in the background hears no Ctrl-C
            raise KeyboardInterrupt
        interrupt(number, frame)

    signal.signal(signal.SIGTERM, ended)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    # programs are large and live long: looking for garbage rarely saves a fifth, all the more while modules are read
    gc.set_threshold(200_000, 20, 100)
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments in _VERSION:
        from cutecheck import __version__

        print(f"cutecheck {__version__}")
        return 0
    from cutecheck.cli.app import run
    from cutecheck.frames import roomy

    return roomy(lambda: run(arguments))
