"""``cutecheck eval EXPR`` and ``cutecheck eval --stdin``: what ``cute::print`` would show."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from cutecheck.cli.options import add_version_option
from cutecheck.cli.output import fail


def register(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "eval", help="evaluate an expression", description="Evaluate a CuTe expression or a printed layout.",
        allow_abbrev=False,
    )  # fmt: skip
    parser.add_argument("expr", nargs="?", metavar="EXPR")
    parser.add_argument("--stdin", action="store_true", help="one expression a line, one JSON object a line back")
    parser.add_argument("--lang", choices=("cpp", "dsl"), default="cpp")
    add_version_option(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from cutecheck.model.version import REFERENCE, using_cute

    with using_cute(arguments.cutlass_version or REFERENCE):
        return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.stdin == (arguments.expr is not None):
        return fail("give an EXPR or --stdin")
    if not arguments.stdin:
        good, text = answer(arguments.expr, arguments.lang)
        if not good:
            return fail(text)
        print(text)
        return 0
    for line in sys.stdin:
        if not line.strip():
            continue
        good, text = answer(line.strip(), arguments.lang)
        sys.stdout.write(json.dumps({"result" if good else "error": text}) + "\n")
        sys.stdout.flush()
    return 0


def answer(expression: str, lang: str) -> tuple[bool, str]:
    """(True, printed value) or (False, why there is none); never raises for bad input."""
    from cutecheck.facts import Unknown
    from cutecheck.model.ints import CuteError, NotModelledError
    from cutecheck.model.notation import show
    from cutecheck.source.evaluate import evaluate

    try:
        value = evaluate(expression, "dsl" if lang == "dsl" else "cpp")
        if isinstance(value, (Unknown, CuteError)):
            return False, " ".join(str(value).split())
        if lang == "dsl":
            from cutecheck.model.notation_dsl import show_dsl

            return True, show_dsl(value)
        return True, show(value)
    except (CuteError, NotModelledError) as error:
        return False, " ".join(str(error).split())
    except RecursionError:
        return False, "nested too deeply"
    except Exception as error:
        return False, f"internal error: {type(error).__name__}: {' '.join(str(error).split())}"
