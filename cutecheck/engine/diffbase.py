"""``--diff-base REF``: the sources of a commit beside the work tree, and what differs between two reports.

The commit is read as objects (``ls-tree``, ``cat-file``): no checkout, so no hook or filter of the tree runs.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from cutecheck.config import ConfigError, Settings
from cutecheck.findings import Finding
from cutecheck.records import record
from cutecheck.report.data import Report, Suppressed
from cutecheck.report.full import fold
from cutecheck.report.job import RANK, Place, fingerprints
from cutecheck.source.discover import SUFFIXES

MAX_FILE = 16 << 20
# what a configuration in the tree could have run: a monitor of files, hooks, programs that fetch missing objects
_GIT = ("git", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
_SEALED = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
MAX_TREE = 1 << 30


@record(frozen=True, slots=True)
class Base:
    """The commit compared with: its id, and the new name of each renamed file by its old one."""

    commit: str
    renamed: Mapping[str, str]


def base_of(ref: str, root: Path) -> Base:
    """The merge base of ``ref`` and HEAD (``ref`` where there is none). Raises ConfigError without git or ref."""
    commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", what=f"'{ref}'")
    tip = commit.decode().strip()
    shared = _run(root, "merge-base", tip, "HEAD")
    found = shared.stdout.decode().strip() or tip
    changes = _git(root, "diff-index", "-M", "--diff-filter=R", "--name-status", "-z", found, "--").split(b"\0")
    names = [c.decode("utf-8", "surrogateescape") for c in changes]
    return Base(found, {names[i + 1]: names[i + 2] for i in range(0, len(names) - 2, 3)})


def extract_tree(base: Base, root: Path, into: Path) -> None:
    """Write the sources of the commit below ``into``. Raises ConfigError when they are too many."""
    listing = _git(root, "ls-tree", "-r", "-l", "-z", "--full-tree", base.commit)
    wanted: list[tuple[str, Path]] = []
    total = 0
    for entry in listing.split(b"\0"):
        head, _, name = entry.partition(b"\t")
        fields = head.split()
        if len(fields) != 4 or fields[0] not in (b"100644", b"100755"):
            continue  # links and submodules are left out
        path = PurePosixPath(name.decode("utf-8", "surrogateescape"))
        size = int(fields[3])
        if not _safe(path) or size > MAX_FILE or not (path.suffix in SUFFIXES or path.name == ".gitignore"):
            continue
        total += size
        if total > MAX_TREE:
            raise ConfigError(f"--diff-base: more than {MAX_TREE >> 20} MiB of sources in {base.commit[:12]}")
        wanted.append((fields[2].decode(), into / path))
    with subprocess.Popen(
        [*_GIT, "-C", str(root), "cat-file", "--batch"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **_SEALED},
    ) as process:  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        for blob, file in wanted:
            process.stdin.write(f"{blob}\n".encode())
            process.stdin.flush()
            size = int(process.stdout.readline().split()[2])
            data = process.stdout.read(size)
            process.stdout.read(1)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        process.stdin.close()
    (into / ".git").mkdir(parents=True, exist_ok=True)  # what looks for the top of a repository finds that of the base


def _safe(path: PurePosixPath) -> bool:
    return not path.is_absolute() and all(p not in ("..", ".git") for p in path.parts)


def base_paths(paths: Iterable[Path], root: Path, into: Path) -> list[Path]:
    """Where the given files and folders are in the extracted tree; what was not there yet is left out."""
    return [m for p in paths if (m := _mapped(p.absolute(), root, into)) is not None and m.exists()]


def base_settings(settings: Settings, root: Path, into: Path) -> Settings:
    """The settings with include folders of the base, where it has them (a submodule is read as it is now)."""
    folders = [(i, _mapped(Path(i).absolute(), root, into)) for i in settings.include]
    return replace(settings, include=tuple(str(m) if m is not None and m.is_dir() else i for i, m in folders))


def _mapped(path: Path, root: Path, into: Path) -> Path | None:
    try:
        return into / path.relative_to(root)
    except ValueError:
        return None


def compare(now: Report, place: Place, before: Report, base_place: Place, base: Base) -> Report:
    """The report of what is introduced. What was there before goes to ``suppressed``, what is gone to ``fixed``.

    A finding that got worse is introduced. Matching is by fingerprint; renamed files are followed.
    """

    def renamed(path: str) -> str:
        old = base_place(path)
        return base.renamed.get(old, old)

    new_marks, old_marks = _marks(now, place), _marks(before, renamed)
    reported = {(f.code, f.span) for f in before.findings}
    old_severity = {m: s for key, (m, s) in old_marks.items() if key in reported}
    known = {key for key, (m, s) in new_marks.items() if m in old_severity and RANK[s] >= RANK[old_severity[m]]}
    present = {m for m, _ in new_marks.values()}
    return replace(
        now,
        findings=tuple(f for f in now.findings if (f.code, f.span) not in known),
        suppressed=(
            *now.suppressed,
            *(Suppressed(f, base.commit[:12], "diff-base") for f in now.findings if (f.code, f.span) in known),
        ),
        fixed=tuple(f for f in before.findings if old_marks[f.code, f.span][0] not in present),
    )


def _marks(report: Report, place: Place) -> dict[tuple[str, object], tuple[str, str]]:
    """(fingerprint, severity) of each place, silenced ones included: those must keep their number among their like."""
    every: Sequence[Finding] = (*report.findings, *(s.finding for s in report.suppressed))
    folded = [finding for finding, _ in fold(tuple(every))]
    return {
        (f.code, f.span): (mark, f.severity)
        for f, mark in zip(folded, fingerprints(folded, report, place), strict=True)
    }


def _git(root: Path, *arguments: str, what: str = "") -> bytes:
    try:
        done = _run(root, *arguments)
    except OSError as error:
        raise ConfigError(f"--diff-base: git cannot be run: {error.strerror}") from None
    if done.returncode:
        text = " ".join(done.stderr.decode("utf-8", "replace").split())
        raise ConfigError(f"--diff-base: {text or f'no such commit: {what}'}")
    return done.stdout


def _run(root: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = [*_GIT, "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, check=False, env={**os.environ, **_SEALED})
