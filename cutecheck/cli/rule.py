"""``cutecheck rule CODE|--all``: what a rule checks, in the words of its own documentation."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from cutecheck.cli.output import dump, fail

if TYPE_CHECKING:
    from cutecheck.rules import Rule


def register(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser("rule", help="explain a rule", description="Explain one rule, or all of them.")
    parser.add_argument("code", nargs="?", metavar="CODE", help="a code (CUT101), a prefix (CUT1) or a rule's name")
    parser.add_argument("--all", action="store_true", help="every rule")
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from cutecheck.findings import UnknownRuleError
    from cutecheck.rules import RULES, find

    as_json = arguments.output_format == "json"
    if arguments.all == (arguments.code is not None):
        return fail("give a CODE or --all", as_json)
    try:
        rules = RULES if arguments.all else find(arguments.code)
    except UnknownRuleError as error:
        return fail(str(error), as_json)
    if as_json:
        sys.stdout.write(dump({"schema_version": 1, "rules": [rule_json(r) for r in rules]}))
    else:
        from cutecheck.rules.pages import text

        sys.stdout.write("\n".join(text(r) for r in rules))
    return 0


def rule_json(rule: type[Rule]) -> dict[str, Any]:
    """One rule with its documentation, section by section."""
    from cutecheck.rules import documentation

    doc = documentation(rule)
    return {
        "code": rule.code,
        "name": rule.name,
        "family": rule.family,
        "severity": rule.severity,
        "confidence": rule.confidence,
        "summary": doc.summary,
        "sections": [{"title": title, "text": text} for title, text in doc.sections],
        "obligations": rule.unasked or "as docs/findings/coverage.md counts them",
    }
