"""Child processes with limits: no shell, own process group, private folder, time, memory and file size bounded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

MAX_OUTPUT = 16 << 20
# Limits are set by a small program that then becomes the command: safe from any thread of this process.
_LIMITED = """
import os, resource, sys
cpu, memory, size = map(int, sys.argv[1:4])
for what, value in ((resource.RLIMIT_CPU, cpu), (resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, size),
                    (resource.RLIMIT_CORE, 0)):
    hard = resource.getrlimit(what)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (value, value))
os.execv(sys.argv[4], sys.argv[4:])
"""


STOPPED = "interrupted"
INTERRUPTED = "interrupted: not everything was confirmed; this is what is known"
_stopped = threading.Event()
_running: set[subprocess.Popen[bytes]] = set()


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds of wall clock and CPU, bytes of memory and of a written file."""

    seconds: float = 120.0
    memory: int = 6 << 30
    file: int = 2 << 30


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended; ``code`` is None after a timeout or an interrupt, negative for a signal."""

    code: int | None
    out: str
    err: str
    seconds: float
    interrupted: bool = False

    @property
    def failure(self) -> str:
        """Why it failed in words, empty when it did not."""
        if self.interrupted:
            return STOPPED
        if self.code is None:
            return f"stopped after {self.seconds:.0f} s"
        if self.code < 0:
            return f"ended by signal {signal.Signals(-self.code).name}"
        return "" if self.code == 0 else f"exit code {self.code}"


def run(command: Sequence[str], folder: Path, limits: Limits, extra: Mapping[str, str] | None = None) -> Ended:
    """Run an absolute path with arguments in ``folder``; its temporary files go there, too.

    ``extra``: variables of its environment besides the path. After an interrupt (:func:`stoppable`) none is started.
    """
    if _stopped.is_set():
        return Ended(None, "", "", 0.0, True)
    launcher = [sys.executable, "-I", "-S", "-c", _LIMITED]
    bounds = [str(max(1, int(limits.seconds))), str(limits.memory), str(limits.file)]
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TMPDIR": str(folder), **(extra or {})}
    begin = time.monotonic()
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        child = subprocess.Popen(
            [*launcher, *bounds, *command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=out,
            stderr=err, start_new_session=True,
        )  # fmt: skip
        _running.add(child)
        try:
            code: int | None = child.wait(0 if _stopped.is_set() else limits.seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _running.discard(child)
            _end_group(child)
    seconds, cut = time.monotonic() - begin, _stopped.is_set() and code != 0
    return Ended(None if cut else code, _read(folder / "stdout"), _read(folder / "stderr"), seconds, cut)


@contextmanager
def stoppable() -> Iterator[threading.Event]:
    """The first interrupt (Ctrl-C) inside ends the children, and those after them do not start: what asks for them
    goes on with what there is. The second one is an ordinary one. The event says, inside, whether there was one.

    Only the main thread hears of interrupts; from another one nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield _stopped
        return

    def stop(*_: object) -> None:
        signal.signal(signal.SIGINT, before)
        _stopped.set()
        for child in list(_running):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield _stopped
    finally:
        signal.signal(signal.SIGINT, before)
        _stopped.clear()


def _end_group(child: subprocess.Popen[bytes]) -> None:
    """End what is left of the child's own process group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _read(path: Path) -> str:
    with path.open("rb") as f:
        return f.read(MAX_OUTPUT).decode("utf-8", errors="replace")
