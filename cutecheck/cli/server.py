"""``cutecheck server``: a language server on standard input and output, for editors."""

from __future__ import annotations

import argparse
from typing import Any

from cutecheck.cli.output import fail


def register(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "server", help="language server for editors", allow_abbrev=False,
        description="Speak the language server protocol on standard input and output. Needs the extra `lsp`.",
    )  # fmt: skip
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    try:
        from cutecheck.server.server import build
    except ModuleNotFoundError as error:
        return fail(f"the language server needs {error.name}: pip install 'cutecheck[lsp]'", as_json=False)
    build().start_io()
    return 0
