"""``// cutecheck: ignore[CUT101] reason`` (``#`` in Python): on the line itself or the line before.

``ignore-file`` reaches over the whole file, ``ignore-begin`` up to its ``ignore-end``; ranges nest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from cutecheck.facts import Span
from cutecheck.findings import Finding, UnknownRuleError
from cutecheck.records import record
from cutecheck.rules import Rule, find
from cutecheck.rules.own import UnexplainedSuppression, UnknownSuppression, UnusedSuppression

_WORDS = r"\s*cutecheck:\s*([\w-]+)\s*(\[([^\]\n]*)\])?(.*)$"
_COMMENT = {False: re.compile(rf"(?://|#|/\*){_WORDS}"), True: re.compile(rf"#{_WORDS}")}  # of Python
_OURS = ("ignore", "ignore-file", "ignore-begin", "ignore-end")
_NAME = re.compile(r"[^\s,](?:[^,]*[^\s,])?")
_OTHERS = ("assume", "instantiate")  # comments that the front ends read


@record(frozen=True, slots=True)
class _Code:
    """A code as it is written, and the rules that it means; none where there are none."""

    text: str
    rules: frozenset[str]
    span: Span


@dataclass(slots=True)
class _Directive:
    span: Span
    codes: tuple[_Code, ...]  # empty: it silences every rule
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
        comment = _COMMENT[path.endswith(".py") or ".ipynb" in path]
        for number, line in enumerate(lines, 1):
            if "cutecheck:" in line and (match := comment.search(line)):
                if match[1] == "ignore-end":
                    self._close(path, number, line, match)
                elif match[1] in _OURS:
                    self._directives.append(self._directive(path, number, line, match, lines))
                elif match[1] not in _OTHERS:
                    self._misspelt(path, number, line, match)
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

    def _misspelt(self, path: str, number: int, line: str, match: re.Match[str]) -> None:
        """A comment that looks like one of ours and does nothing; other words may be prose."""
        near = get_close_matches(match[1], (*_OURS, *_OTHERS), 1, 0.75)
        if near or match[2] is not None:
            hint = f"; did you mean `{near[0]}`?" if near else ""
            span = Span(path, number, match.start() + 1, number, len(line.rstrip()) + 1)
            message = f"no comment of cutecheck begins with `{match[1]}`{hint}"
            self._unknown.append(UnknownSuppression().finding(span, message, label="does nothing"))

    def _directive(self, path: str, number: int, line: str, match: re.Match[str], lines: Sequence[str]) -> _Directive:
        whole = line[match.start() :].rstrip()
        span = Span(path, number, match.start() + 1, number, match.start() + 1 + len(whole))
        codes = []
        for written in _NAME.finditer(match[3] or ""):
            begin = match.start(3) + written.start() + 1
            rules: frozenset[str] = frozenset()
            try:
                rules = frozenset(r.code for r in find(written[0]))
            except UnknownRuleError as error:
                self._unknown.append(UnknownSuppression().finding(span, str(error), label="names no rule"))
            codes.append(_Code(written[0], rules, Span(path, number, begin, number, begin + len(written[0]))))
        reason = match[4].strip().removesuffix("*/").strip(" -:—")
        if match[1] == "ignore-file":
            reach = None
        elif line[: match.start()].strip():
            reach = frozenset((number,))
        else:
            reach = frozenset((number, _next_code_line(lines, number)))
        directive = _Directive(span, tuple(codes), reason, reach)
        if match[1] == "ignore-begin":
            self._open.append(directive)
        return directive

    def silences(self, finding: Finding) -> str | None:
        """The reason given (maybe empty) when a directive covers the finding, else None."""
        for directive in self._directives:
            covered = range(finding.span.line, max(finding.span.line, finding.span.end_line) + 1)
            if directive.lines is not None and directive.lines.isdisjoint(covered):
                continue
            if not directive.codes or any(finding.code in c.rules for c in directive.codes):
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
            unused = [c for c in directive.codes if c.rules & self._running and not c.rules & directive.used]
            whole = len(unused) == len(directive.codes) if directive.codes else not directive.used
            if whole:
                found.append(_unused(directive.span, ", ".join(c.text for c in unused) or "any rule"))
            else:
                found += [_unused(c.span, c.text) for c in unused]
        return found


def _unused(span: Span, what: str) -> Finding:
    return UnusedSuppression().finding(span, f"unused suppression: no finding of {what} here", label="remove it")


def _next_code_line(lines: Sequence[str], number: int) -> int:
    """The next line that is not blank and not a comment of its own."""
    for following in range(number, len(lines)):
        text = lines[following].strip()
        if text and not text.startswith(("//", "#  ", "# ")):
            return following + 1
    return number
