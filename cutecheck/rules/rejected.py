"""What CuTe itself would stop compiling: the gist of its assertion, as a finding of the right family.

The front end reports such a place as a ``cute-error`` observation, or as the reason of an unknown site.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from cutecheck.facts import Lint, Site, Span
from cutecheck.findings import Finding
from cutecheck.rules.base import Context, Rule

PREFIX = "CuTe rejects: "


class Rejected(Rule):
    """Base of the rules that report one kind of assertion; ``pattern`` matches its gist, ``advice`` says what to do."""

    severity = "error"
    confidence = "proved"
    pattern: ClassVar[re.Pattern[str]]
    advice: ClassVar[str]

    def on_lint(self, lint: Lint, context: Context) -> Iterable[Finding]:
        if lint.kind == "cute-error" and self.pattern.search(lint.text):
            yield self._rejected(lint.span, lint.text)

    def on_site(self, site: Site, context: Context) -> Iterable[Finding]:
        reason = site.reason
        if site.status != "unknown" or reason is None or not reason.reason.startswith(PREFIX):
            return
        text = reason.reason.removeprefix(PREFIX)
        place = reason.span or site.call_span
        if self.pattern.search(text) and not any(
            lint.kind == "cute-error" and lint.span == place for lint in context.facts.lints
        ):
            yield self._rejected(place, text, ", ".join(f"{k}={v}" for k, v in site.bindings), site.arch)

    def _rejected(self, span: Span, text: str, enclosing: str = "", arch: str = "") -> Finding:
        return self.finding(
            span, f"CuTe does not compile this: {text}", label="rejected by a static assertion", help=self.advice,
            enclosing=enclosing, arch=arch,
        )  # fmt: skip
