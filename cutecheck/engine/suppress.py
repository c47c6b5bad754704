"""``// cutecheck: ignore[CUT101] reason`` (``#`` in Python): on the line itself or the line before.

``ignore-file`` reaches over the whole file, ``ignore-begin`` up to its ``ignore-end``; ranges nest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from cutecheck.facts import Span
from cutecheck.findings import Finding, UnknownRuleError
from cutecheck.rules import Rule, find
from cutecheck.rules.own import UnexplainedSuppression, UnknownSuppression, UnusedSuppression

_COMMENT = re.compile(
    r"(?://|#|/\*)\s*cutecheck:\s*(ignore-(?:file|begin|end)|ignore)(?![\w-])\s*(\[([^\]\n]*)\])?(.*)$"
)


@dataclass(slots=True)
class _Directive:
    span: Span
    codes: tuple[str, ...]  # as written; empty silences every rule
    rules: frozenset[str]
    reason: str
    lines: frozenset[int] | None  # None: the whole file
    used: set[str] = field(default_factory=set)


class Suppressions:
    """The directives of one file. ``silences`` marks them used; ``complaints`` says what is wrong with them."""

    def __init__(
        self, path: str, lines: Sequence[str], rules: Sequence[type[Rule]], reasons_required: bool = False
    ) -> None:
        self._reasons_required = reasons_required
        self._running = frozenset(r.code for r in rules)
        self._directives: list[_Directive] = []
        self._unknown: list[Finding] = []
        self._open: list[_Directive] = []
        for number, line in enumerate(lines, 1):
            if "cutecheck:" in line and (match := _COMMENT.search(line)):
                if match[1] == "ignore-end":
                    self._close(path, number, line, match)
                else:
                    self._directives.append(self._directive(path, number, line, match, lines))
        for left in self._open:
            message = "`ignore-begin` without its `ignore-end`; it silences nothing"
            self._unknown.append(UnknownSuppression().finding(left.span, message, label="never ends"))
        self._directives = [d for d in self._directives if d not in self._open]

    def _close(self, path: str, number: int, line: str, match: re.Match[str]) -> None:
        """An ``ignore-end``: the innermost open range reaches to here."""
        if self._open:
            begun = self._open.pop()
            begun.lines = frozenset(range(begun.span.line, number + 1))
        else:
            span = Span(path, number, match.start() + 1, number, len(line.rstrip()) + 1)
            message = "`ignore-end` without an `ignore-begin`"
            self._unknown.append(UnknownSuppression().finding(span, message, label="ends nothing"))

    def _directive(self, path: str, number: int, line: str, match: re.Match[str], lines: Sequence[str]) -> _Directive:
        whole = line[match.start() :].rstrip()
        span = Span(path, number, match.start() + 1, number, match.start() + 1 + len(whole))
        codes = tuple(c.strip() for c in (match[3] or "").split(",") if c.strip())
        rules: set[str] = set()
        for code in codes:
            try:
                rules |= {r.code for r in find(code)}
            except UnknownRuleError as error:
                self._unknown.append(UnknownSuppression().finding(span, str(error), label="names no rule"))
        reason = match[4].strip().removesuffix("*/").strip(" -:—")
        if match[1] == "ignore-file":
            reach = None
        elif line[: match.start()].strip():
            reach = frozenset((number,))
        else:
            reach = frozenset((number, _next_code_line(lines, number)))
        directive = _Directive(span, codes, frozenset(rules), reason, reach)
        if match[1] == "ignore-begin":
            self._open.append(directive)
        return directive

    def silences(self, finding: Finding) -> str | None:
        """The reason given (maybe empty) when a directive covers the finding, else None."""
        for directive in self._directives:
            covered = range(finding.span.line, max(finding.span.line, finding.span.end_line) + 1)
            if directive.lines is not None and directive.lines.isdisjoint(covered):
                continue
            if not directive.codes or finding.code in directive.rules:
                directive.used.add(finding.code)
                return directive.reason
        return None

    def complaints(self) -> list[Finding]:
        """Unknown codes, and directives that silenced nothing although their rules ran."""
        found = list(self._unknown)
        if self._reasons_required and UnexplainedSuppression.code in self._running:
            found += [
                UnexplainedSuppression().finding(d.span, "a suppression without a reason", label="say why, here")
                for d in self._directives
                if not d.reason
            ]
        if UnusedSuppression.code not in self._running:
            return found
        for directive in self._directives:
            wanted = directive.rules & self._running if directive.codes else self._running
            if not directive.used and wanted:
                what = ", ".join(directive.codes) or "any rule"
                message = f"unused suppression: no finding of {what} here"
                found.append(UnusedSuppression().finding(directive.span, message, label="remove it"))
        return found


def _next_code_line(lines: Sequence[str], number: int) -> int:
    """The next line that is not blank and not a comment of its own."""
    for following in range(number, len(lines)):
        text = lines[following].strip()
        if text and not text.startswith(("//", "#  ", "# ")):
            return following + 1
    return number
