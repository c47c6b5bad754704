"""Child processes with limits: no shell, own process group, private folder, time, memory and file size bounded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
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


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds of wall clock and CPU, bytes of memory and of a written file."""

    seconds: float = 120.0
    memory: int = 6 << 30
    file: int = 2 << 30


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended; ``code`` is None after a timeout, negative for a signal."""

    code: int | None
    out: str
    err: str
    seconds: float

    @property
    def failure(self) -> str:
        """Why it failed in words, empty when it did not."""
        if self.code is None:
            return f"stopped after {self.seconds:.0f} s"
        if self.code < 0:
            return f"ended by signal {signal.Signals(-self.code).name}"
        return "" if self.code == 0 else f"exit code {self.code}"


def run(command: Sequence[str], folder: Path, limits: Limits, extra: Mapping[str, str] | None = None) -> Ended:
    """Run an absolute path with arguments in ``folder``; its temporary files go there, too.

    ``extra``: variables of its environment besides the path.
    """
    launcher = [sys.executable, "-I", "-S", "-c", _LIMITED]
    bounds = [str(max(1, int(limits.seconds))), str(limits.memory), str(limits.file)]
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TMPDIR": str(folder), **(extra or {})}
    begin = time.monotonic()
    with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
        child = subprocess.Popen(
            [*launcher, *bounds, *command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=out,
            stderr=err, start_new_session=True,
        )  # fmt: skip
        try:
            code: int | None = child.wait(limits.seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end_group(child)
    return Ended(code, _read(folder / "stdout"), _read(folder / "stderr"), time.monotonic() - begin)


def _end_group(child: subprocess.Popen[bytes]) -> None:
    """End what is left of the child's own process group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _read(path: Path) -> str:
    with path.open("rb") as f:
        return f.read(MAX_OUTPUT).decode("utf-8", errors="replace")
