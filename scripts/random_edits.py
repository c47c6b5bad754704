"""Random edits of a real tree, warm against cold: ``python scripts/random_edits.py TREE [--edits N] [--headers]``.

Copies the tree, and again and again edits one of its C++ files at random (a number, a flag, a swap of two arguments, a
line dropped or doubled, a comment, an include gone), checks that file as the hook does with a cache that has seen all
the states before, and without any, and compares the JSON reports, which must be the same but for the milliseconds of
proofs. Every fourth edit is taken back. ``--headers`` edits headers as well, which takes long where much depends on
them.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

SOURCES = (".cu", ".cpp")
HEADERS = (".h", ".cuh", ".hpp")
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_FLAG = re.compile(r"\b(?:true|false)\b")
_PAIR = re.compile(r"(?<=[<(,])([^<>(),]+),([^<>(),]+)(?=[>),])")
_INCLUDE = re.compile(r"^#include[^\n]*\n", re.MULTILINE)


def _at_random(pattern: re.Pattern[str], change: Callable[[re.Match[str]], str]) -> Callable[[str, random.Random], str]:
    def edit(text: str, pick: random.Random) -> str:
        places = list(pattern.finditer(text))
        if not places:
            return text
        place = pick.choice(places)
        return text[: place.start()] + change(place) + text[place.end() :]

    return edit


def _line(text: str, pick: random.Random, copies: int) -> str:
    lines = text.split("\n")
    at = pick.randrange(len(lines))
    return "\n".join([*lines[:at], *[lines[at]] * copies, *lines[at + 1 :]])


EDITS: dict[str, Callable[[str, random.Random], str]] = {
    "a number": _at_random(_NUMBER, lambda m: str(int(m.group()) * 2 % 1000)),
    "a flag": _at_random(_FLAG, lambda m: "false" if m.group() == "true" else "true"),
    "two arguments swapped": _at_random(_PAIR, lambda m: f"{m[2]},{m[1]}"),
    "an include gone": _at_random(_INCLUDE, lambda m: ""),
    "a line dropped": lambda text, pick: _line(text, pick, 0),
    "a line doubled": lambda text, pick: _line(text, pick, 2),
    "a comment": lambda text, pick: text + f"// {pick.random()}\n",
    "a line above": lambda text, pick: "\n" + text,
}


def report(tree: Path, file: str, cache: Path, more: list[str]) -> tuple[str, float]:
    """The JSON report on a changed file, without times; and the CPU seconds of the run."""
    before = os.times()
    command = [sys.executable, "-m", "cutecheck", "check", "--isolated", "--tree", ".", file, "--output-format", "json"]
    own = {**os.environ, "CUTECHECK_CACHE_DIR": str(cache)}
    done = subprocess.run([*command, *more], cwd=tree, env=own, capture_output=True, text=True, check=False)
    after = os.times()
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{file}: exit code {done.returncode}: {done.stderr[-500:]}")
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return re.sub(r'"milliseconds": [\d.e-]+', "", done.stdout), spent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--edits", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--headers", action="store_true")
    given = parser.parse_args()
    pick, started = random.Random(given.seed), time.perf_counter()
    differ, warm_s, cold_s, changed = 0, 0.0, 0.0, 0
    with tempfile.TemporaryDirectory() as place:
        tree, cache = Path(place) / "tree", Path(place) / "cache"
        shutil.copytree(given.tree, tree)
        suffixes = SOURCES + HEADERS if given.headers else SOURCES
        files = sorted(p.relative_to(tree).as_posix() for p in tree.rglob("*") if p.suffix in suffixes)
        originals: dict[str, str] = {}
        for number in range(given.edits):
            file = pick.choice(sorted(originals)) if originals and number % 4 == 3 else pick.choice(files)
            path, kind = tree / file, pick.choice(sorted(EDITS))
            text = path.read_text(encoding="utf-8", errors="surrogateescape")
            if file in originals and number % 4 == 3:
                path.write_text(originals.pop(file), encoding="utf-8", errors="surrogateescape")
                kind = "taken back"
            else:
                originals.setdefault(file, text)
                path.write_text(EDITS[kind](text, pick), encoding="utf-8", errors="surrogateescape")
            warm, spent = report(tree, file, cache, [])
            again, _ = report(tree, file, cache, [])
            cold, alone = report(tree, file, cache, ["--no-cache"])
            warm_s, cold_s, changed = warm_s + spent, cold_s + alone, changed + (path.read_text() != text)
            if not warm == again == cold:
                differ += 1
                print(f"edit {number}, {kind} in {file}: the report with cache is not the one without", flush=True)
    print(f"{given.tree.name}: {given.edits} edits (seed {given.seed}), {changed} of them of the text; {differ} differ")
    print(f"{warm_s:.0f} CPU seconds with cache, {cold_s:.0f} without; {time.perf_counter() - started:.0f} s in all")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
