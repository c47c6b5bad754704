"""The pre-commit hook after an edit: ``python benchmarks/edit.py TREE FILE OLD NEW [-n RUNS]``.

Copies the tree, checks it once as a whole, and then runs ``cutecheck check --tree . FILE`` as the hook does: unchanged,
and after edits of FILE (OLD becomes NEW and back, each time with a line that was never there). Every run is a process
of its own. Prints the best wall-clock and CPU time of each, and the ratio to a bare start of the interpreter; then
holds the last report against that of a run without cache (they must be the same, but for the milliseconds of proofs).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cutecheck
from cutecheck.source.discover import SUFFIXES


@dataclass(frozen=True, slots=True, order=True)
class Sample:
    """Milliseconds of one process."""

    wall: float
    cpu: float


def spawned(command: list[str], folder: Path, environment: dict[str, str]) -> Sample:
    """Run a command to its end. RuntimeError where it does not work."""
    os.chdir(folder)
    started = time.perf_counter()
    pid = os.posix_spawn(
        command[0], command, environment, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    )
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - started
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise RuntimeError(f"{' '.join(command[1:])} failed")
    return Sample(wall * 1e3, (usage.ru_utime + usage.ru_stime) * 1e3)


def best(runs: int, one: Callable[[int], Sample]) -> Sample:
    samples = [one(i) for i in range(runs)]
    return Sample(min(s.wall for s in samples), min(s.cpu for s in samples))


def edited(file: Path, original: str, old: str, new: str, number: int) -> None:
    """Another state of the file each time: the text replaced or not, and a line more."""
    text = original.replace(old, new) if number % 2 == 0 else original
    file.write_text(f"{text}\n// edit {number} at {time.time_ns()}\n", encoding="utf-8")


def compared(base: list[str], folder: Path, environment: dict[str, str]) -> bool:
    """Whether the report with the cache is the one without."""
    texts = []
    for more in ([], ["--no-cache"]):
        command = [*base, "--output-format", "json", *more]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        texts.append(re.sub(r'"milliseconds": [\d.e-]+', "", done.stdout))
    return texts[0] == texts[1] and bool(texts[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=Path)
    parser.add_argument("file", help="relative to the tree")
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("-n", "--runs", type=int, default=10)
    given = parser.parse_args()
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(Path(cutecheck.__file__).parent)], check=False)
    with tempfile.TemporaryDirectory() as place:
        tree, file = Path(place) / "tree", Path(place) / "tree" / given.file
        shutil.copytree(given.tree, tree)
        original = file.read_text(encoding="utf-8")
        if given.old not in original:
            parser.error(f"{given.file} has no {given.old!r}")
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment["CUTECHECK_CACHE_DIR"] = str(Path(place) / "cache")
        base = [sys.executable, "-m", "cutecheck", "check", "--isolated"]
        hook = [*base, "--tree", ".", "--output-format", "concise", given.file]
        files = sum(p.suffix in SUFFIXES for p in tree.rglob("*") if p.is_file())

        def after_edit(number: int) -> Sample:
            edited(file, original, given.old, given.new, number)
            return spawned(hook, tree, environment)

        bare = best(given.runs, lambda _: spawned([sys.executable, "-c", "pass"], tree, environment))
        whole = spawned([*base, "--output-format", "concise", "."], tree, environment)
        spawned(hook, tree, environment)
        rows = [
            ("bare interpreter", bare),
            ("whole tree, nothing kept", whole),
            ("file, unchanged", best(given.runs, lambda _: spawned(hook, tree, environment))),
            ("file, edited", best(given.runs, after_edit)),
        ]
        print(f"{given.tree.name}: {files} source files, {given.file}, best of {given.runs}")
        for name, sample in rows:
            print(
                f"{name:<26}{sample.wall:9.0f} ms wall {sample.cpu:9.0f} ms CPU {sample.wall / bare.wall:8.1f} x bare"
            )
        same = compared([*base, "--tree", ".", given.file], tree, environment)
        print("report with cache = without" if same else "THE REPORT WITH CACHE DIFFERS FROM THAT WITHOUT")
        os.chdir("/")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
