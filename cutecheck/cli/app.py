"""The parser of all commands, and what happens when a command fails."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from cutecheck import __version__, timing
from cutecheck.cli import atom, baseline, cache, check, eval, explain, facts, init, rule, server, show, suggest
from cutecheck.cli.output import fail, wants_json

COMMANDS = (check, suggest, explain, facts, eval, show, atom, rule, baseline, cache, init, server)
USAGE_ERROR = 2


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose paths may stand before, between and after options.

    Where JSON was asked for, it says a usage error in JSON on stdout, too.
    """

    _apart = False  # what stands between options is being taken

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        commands = any(isinstance(a, argparse._SubParsersAction) for a in self._actions)
        if commands or self._apart:
            return super().parse_known_args(args, namespace)
        self._apart = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._apart = False

    def error(self, message: str) -> NoReturn:
        if wants_json(sys.argv[1:]):
            print(json.dumps({"schema_version": 1, "errors": [{"path": "", "message": message, "line": None}]}))
        super().error(message)


def build() -> Parser:
    """The parser with every command."""
    parser = Parser(
        prog="cutecheck",
        description="Static verifier and linter for CuTe (CUTLASS) layouts, copies and MMAs.",
        epilog="exit codes: 0 clean, 1 findings, 2 usage or internal error, 3 no inputs, 4 engines disagree, "
        "5 confirmation contradicted",
        allow_abbrev=False,
    )
    parser.add_argument("-V", "--version", action="version", version=f"cutecheck {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=Parser)
    from cutecheck.cli import confirm

    for command in (*COMMANDS, confirm):
        command.register(commands)
    return parser


def _place(error: BaseException) -> str:
    """Module and line where it happened: enough to report it, no traceback."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "unknown place"
    return f"{trace.tb_frame.f_globals.get('__name__', '?')}:{trace.tb_lineno}"


def run(argv: Sequence[str]) -> int:
    """Parse and run; every failure is one line on stderr and exit code 2."""
    try:
        # an optional value after a space would swallow a PATH: it is only taken after `=`
        arguments = build().parse_args(["--confirm=host" if a == "--confirm" else a for a in argv])
    except SystemExit as stop:
        return int(stop.code or 0)
    timing.restart()
    try:
        with timing.phase("all"):
            code = int(arguments.run(arguments))
        if getattr(arguments, "time", False):
            sys.stderr.writelines(f"{line}\n" for line in timing.lines())
        return code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return USAGE_ERROR
    except Exception as error:
        return fail(f"internal error: {type(error).__name__}: {error} ({_place(error)})", wants_json(argv))
    except KeyboardInterrupt:
        print("cutecheck: interrupted", file=sys.stderr)
        return USAGE_ERROR
