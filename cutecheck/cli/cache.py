"""``cutecheck cache dir|clean``: where results of other runs are kept, and their removal."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from cutecheck.cli.output import fail


def register(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "cache", help="kept results of other runs", allow_abbrev=False,
        description="Show or empty the folder where results of other runs are kept (docs/cache.md).",
    )  # fmt: skip
    parser.add_argument("action", choices=("dir", "clean"), help="show the folder, or remove what is kept there")
    parser.add_argument("--cache-dir", metavar="DIR", help="this folder instead of the configured one")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from cutecheck.cache import Store, folder_of
    from cutecheck.config import ConfigError, load_settings

    try:
        folder = folder_of(arguments.cache_dir or load_settings([Path.cwd()]).cache_dir)
    except ConfigError as error:
        return fail(str(error))
    if arguments.action == "dir":
        print(folder)
        return 0
    count = Store(folder, b"").clean()
    print(f"{count} {'file' if count == 1 else 'files'} removed from {folder}")
    return 0
