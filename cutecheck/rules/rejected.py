"""What CuTe itself would stop compiling: the gist of its assertion, as a finding of the right family.

The front end reports it as the result of a call, or as the reason of an unknown site.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from cutecheck.facts import Call, Site, Span, Unknown
from cutecheck.findings import Finding
from cutecheck.rules.base import Context, Rule


class Rejected(Rule):
    """Base of the rules that report one kind of assertion; ``pattern`` matches its gist, ``advice`` says what to do."""

    severity = "error"
    confidence = "proved"
    pattern: ClassVar[re.Pattern[str]]
    advice: ClassVar[str]

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        result = call.result
        if isinstance(result, Unknown) and result.rejected and self.pattern.search(result.reason):
            yield self._rejected(call.span, result.reason, call.enclosing, call.arch)

    def on_site(self, site: Site, context: Context) -> Iterable[Finding]:
        reason = site.reason
        if site.status != "unknown" or reason is None or not reason.rejected or not self.pattern.search(reason.reason):
            return
        place = reason.span or site.call_span
        if place not in context.index.unknown_calls:
            yield self._rejected(place, reason.reason, ", ".join(f"{k}={v}" for k, v in site.bindings), site.arch)

    def explain(self, gist: str) -> str:
        """The numbers of the gist in words; empty where they speak for themselves."""
        return ""

    def _rejected(self, span: Span, text: str, enclosing: str = "", arch: str = "") -> Finding:
        gist = re.sub(r"^CuTe rejects (\w+): (?:\1: )?", r"\1: ", text)
        explained = self.explain(gist)
        silent = span.is_python
        verb = "the DSL takes silently what C++ CuTe rejects," if silent else "CuTe stops compiling at"
        message = f"{verb} {gist}" + (f" ({explained})" if explained else "")
        return self.finding(
            span, message, label="rejected by a static assertion", help=self.advice, enclosing=enclosing, arch=arch
        )
