"""What the rules on bank conflicts share: each reports the conflicts of one cause."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from cutecheck.facts import Event
from cutecheck.findings import Finding
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive import bank


class BankConflicts(Rule):
    """Base of the rules; ``cause`` is whose conflicts, ``way`` what helps where no layout was proved."""

    severity = "warning"
    confidence = "proved"
    cause: ClassVar[bank.Cause]
    way: ClassVar[str]

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        for conflict in bank.conflicts(event, context):
            if conflict.cause == self.cause:
                generic = f"{self.way} the layout of `{conflict.access.tensor.name}`"
                yield self.finding(
                    event.span,
                    bank.message(conflict),
                    label=f"{conflict.wavefronts} wavefronts, {conflict.ideal} would do",
                    help=f"{bank.cost(conflict)}; {bank.remedy(conflict, context, generic)}",
                    severity=bank.severity(conflict, context),
                    witness=conflict.outcome.witness,
                    related=bank.related(conflict),
                    enclosing=event.enclosing,
                    arch=event.arch,
                )
