"""``cutecheck init [DIR]``: a configuration with every key explained, and a pre-commit hook."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from cutecheck.cli.output import fail

CONFIG = """\
# cutecheck: every key with its default; the file closest to the sources wins.

select = []           # rules to run: code prefixes or names; empty is all. `cutecheck rule --all` lists them
extend-select = []    # and these
ignore = []           # but not these
arch = []             # such as ["sm_80", "sm_90a"]; empty is what the code names
include = []          # include folders, relative to this file, such as ["third_party/cutlass/include"]
define = []           # macros, NAME or NAME=VALUE
instantiate = []      # templates that nothing binds, such as ["Kernel<128, 64, cutlass::half_t>"]
assume = []           # contracts over run-time values, such as ["lda % 8 == 0"]
exclude = []          # patterns of .gitignore
unknown = "warn"      # what unknowns do: ignore, warn, error
fail-on = "warning"   # least severity that fails: note, warning, error
pedantic = false      # notes count as warnings
require-suppression-reason = false
cutlass-version = ""  # version of CuTe to follow, such as "3.8"; empty is the reference
compile-commands = "" # where -I, -D and architectures come from; empty is the closest, "none" is none
baseline = ""         # known findings, as `cutecheck baseline write` makes them
suppose = true        # call what nothing calls in a library of the Python DSL, with supposed arguments
jobs = 0              # processes; 0 is one a core
cache = true          # keep results between runs
cache-dir = ""        # where; empty is the user's cache folder
file-timeout = 600    # seconds for the evaluation of a file; 0 is no limit
max-memory = 4096     # MiB of a process that evaluates; 0 is no limit
max-steps = 2000000   # of one evaluation
max-idle-steps = 60000 # of those, without anything of CuTe
max-depth = 400       # of nested evaluations
max-instantiations = 400     # of a kernel
max-flag-combinations = 2    # those of them that differ in boolean arguments alone
max-alike = 400       # kernels and host calls that use the same class templates, in a part of a folder
severity = {}         # of rules, such as { CUT104 = "note" }; the longest selector wins
per-path = {}         # by patterns of .gitignore, such as { "tests/**" = { ignore = ["CUT1"] } }
"""

HOOK = """\
  - repo: local
    hooks:
      - id: cutecheck
        name: cutecheck
        entry: cutecheck check --tree . --output-format concise
        language: system
        types_or: [c++, cuda, python, jupyter]
        require_serial: true
"""


def register(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "init", help="write a configuration and a hook", allow_abbrev=False,
        description="Write cutecheck.toml and .pre-commit-config.yaml; neither replaces a file that is there.",
    )  # fmt: skip
    parser.add_argument("folder", nargs="?", default=".", metavar="DIR")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from cutecheck.config import ConfigError, find_config

    folder = Path(arguments.folder)
    try:
        found = find_config(folder) if folder.is_dir() else None
    except ConfigError as error:
        return fail(str(error))
    if found is not None and found.parent == folder.absolute():
        print(f"{found}: is there already, left as it is")
    elif not _create(folder / "cutecheck.toml", CONFIG):
        return 2
    hooks = folder / ".pre-commit-config.yaml"
    if _has_hook(hooks):
        print(f"{hooks}: has the hook already, left as it is")
    elif hooks.exists():
        print(f"{hooks}: is there already; add to its repos:\n{HOOK}", end="")
    elif not _create(hooks, f"repos:\n{HOOK}"):
        return 2
    return 0


def _has_hook(hooks: Path) -> bool:
    try:
        return re.search(r"\bid:\s*[\"']?cutecheck\b", hooks.read_text(encoding="utf-8", errors="replace")) is not None
    except OSError:
        return False


def _create(file: Path, text: str) -> bool:
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        fail(f"{file}: cannot be written: {error.strerror}")
        return False
    print(f"{file}: written")
    return True
