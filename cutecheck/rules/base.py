"""What every rule is: a code, a family, documentation with fixed sections, examples, and hooks over the facts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from cutecheck.facts import Call, Event, Facts, Launch, Lint, Site, SmemBuffer, Span
from cutecheck.facts.index import FactIndex
from cutecheck.findings import Confidence, Finding, Fix, Related, Severity
from cutecheck.model.ints import Condition
from cutecheck.model.prove.obligation import EngineRun, Obligation, Outcome, Verdict, Witness
from cutecheck.records import record
from cutecheck.rules.derive.blocks import by_number
from cutecheck.rules.wording import in_names_of_source, worded

if TYPE_CHECKING:
    from cutecheck.rules.derive.buffers import Suggestion

Family = Literal[
    "vectorization", "alignment", "atom-count", "tile-divisibility", "coverage", "permutation",
    "bank-conflict-read", "bank-conflict-write", "epilogue", "cp-async-segments", "coalescing",
    "swizzle-params", "ldmatrix", "gmma-layout", "tma-limits", "retile", "size-mismatch", "dynamic-static",
    "smem-capacity", "register-pressure", "launch", "predicate", "lint",
]  # fmt: skip

SECTIONS = ("What it checks", "Why", "Example", "Use instead", "Assumptions", "Fix", "References")


# Conditions under which an open obligation holds, and the engines that proved it from them.
Contract = tuple[tuple[Condition, ...], tuple[EngineRun, ...]]


class LeftToParentError(Exception):
    """What is asked depends on all that was found before, which this process does not see."""


@dataclass(slots=True)
class Context:
    """What a rule may use: all facts of the run, and the prover. Every outcome is kept for the report.

    In the facts ``threadIdx.x`` is the number of a thread in its block (rules/derive/blocks.py).

    ``journal`` not None: of a process that sees some of the facts' rules only; what is noted goes there as well.
    """

    facts: Facts
    prover: Callable[[Obligation], Outcome]
    outcomes: dict[Obligation, Outcome] = field(default_factory=dict)
    contracts: dict[str, Contract | None] = field(default_factory=dict)
    # of a buffer, instantiation and architecture: the layout that frees it of bank conflicts
    remedies: dict[tuple[str, str, str], Suggestion | None] = field(default_factory=dict)
    memo: dict[str, object] = field(default_factory=dict)  # what rules derive once from all facts
    journal: list[tuple[Obligation, Outcome]] | None = None
    answers: MutableMapping[str, Outcome] = field(default_factory=dict)  # of the prover, by question
    _leaders: frozenset[int] | None = field(default=None, repr=False)  # identities of sites
    _index: FactIndex | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.facts = by_number(self.facts)

    @property
    def index(self) -> FactIndex:
        """The facts by what they are looked up with."""
        if self._index is None:
            self._index = FactIndex(self.facts)
        return self._index

    def prove(self, obligation: Obligation) -> Outcome:
        """The outcome of an obligation; the same obligation is proved once."""
        known = self.outcomes.get(obligation)
        if known is None:
            known = self.record(self.prover(obligation), obligation)
        return known

    def record(self, outcome: Outcome, obligation: Obligation | None = None) -> Outcome:
        """Keep this outcome for its obligation, in place of what was proved."""
        obligation = obligation or outcome.obligation
        self.outcomes[obligation] = outcome
        if self.journal is not None:
            self.journal.append((obligation, outcome))
        return outcome

    def unknown(self, property: str, event: Event, part: str, reason: str) -> None:
        """Note an obligation that cannot even be stated, and why: it stays unknown."""
        obligation = Obligation(f"{property}-{event.event_id}-{part}", property, (event.event_id,), None,
                                arch=event.arch, span=event.span)  # fmt: skip
        self.record(Outcome(obligation, Verdict.UNKNOWN, reason=reason))

    def open(self, rule: str, kind: str, fact: Site | Event | SmemBuffer | Launch | Call | Lint, reason: str) -> None:
        """Note that a rule could not finish with a fact, and why; ``rule`` is its code and name."""
        code, name = rule.split(" ", 1)
        subject, arch = getattr(fact, f"{kind}_id", ""), getattr(fact, "arch", "")
        obligation = Obligation("-".join(filter(None, (code, subject or str(fact.span), arch))), name,
                                (subject,) if subject else (), None, arch=arch, span=fact.span)  # fmt: skip
        self.record(Outcome(obligation, Verdict.UNKNOWN, reason=reason))

    def leads(self, site: Site) -> bool:
        """True for the site that speaks for all sites of this value: without bindings, the first in the sources."""
        if self._leaders is None:
            leaders: dict[object, Site] = {}
            for other in self.facts.sites:
                if other.value is not None:
                    key = (other.kind, other.arch, other.value)
                    first = leaders.setdefault(key, other)
                    if (bool(other.bindings), other.span) < (bool(first.bindings), first.span):
                        leaders[key] = other
            self._leaders = frozenset(map(id, leaders.values()))
        return id(site) in self._leaders

    def event(self, event_id: str) -> Event | None:
        return self.index.event_by_id.get(event_id)


class Rule:
    """One check. Subclasses set the class attributes, document themselves and override the hooks they need.

    ``valid`` and ``invalid`` are sources that are checked as tests: every invalid one has a finding of this rule, no
    valid one has any finding, for the architectures of ``arch`` where it names some. C++ examples leave out the
    includes (see ``rules/examples.py``). ``unasked`` says why the prover is asked for nothing on any of the public
    trees of ``docs/findings/coverage.md``; empty where it is.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    family: ClassVar[Family]
    severity: ClassVar[Severity]
    confidence: ClassVar[Confidence]
    arch: ClassVar[tuple[str, ...]] = ()
    unasked: ClassVar[str] = ""
    valid: ClassVar[tuple[str, ...]] = ()
    invalid: ClassVar[tuple[str, ...]] = ()

    def on_site(self, site: Site, context: Context) -> Iterable[Finding]:
        """Findings about one configuration site."""
        return ()

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        """Findings about one copy or gemm."""
        return ()

    def on_buffer(self, buffer: SmemBuffer, context: Context) -> Iterable[Finding]:
        """Findings about one shared-memory buffer."""
        return ()

    def on_launch(self, launch: Launch, context: Context) -> Iterable[Finding]:
        """Findings about one kernel launch or launch bound."""
        return ()

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        """Findings about one call of a CuTe function."""
        return ()

    def on_lint(self, lint: Lint, context: Context) -> Iterable[Finding]:
        """Findings about one syntactic observation."""
        return ()

    def finding(
        self,
        span: Span,
        message: str,
        *,
        label: str = "",
        help: str = "",
        severity: Severity | None = None,
        confidence: Confidence | None = None,
        family: Family | None = None,
        witness: Witness | None = None,
        related: Iterable[Related] = (),
        fixes: Iterable[Fix] = (),
        enclosing: str = "",
        arch: str = "",
    ) -> Finding:
        """A finding of this rule, with the rule's own severity, confidence and family unless given."""
        message, label, help = (worded(text, span) for text in (message, label, help))
        witness = None if witness is None else in_names_of_source(witness)
        places = tuple(Related(r.span, worded(r.label, span)) for r in related)
        return Finding(
            self.code, self.name, family or self.family, severity or self.severity, confidence or self.confidence,
            span, message, label, help, witness, places, tuple(fixes), enclosing, arch,
        )  # fmt: skip


@record(frozen=True, slots=True)
class RuleDoc:
    """A rule's documentation: its first line, and its sections in order."""

    summary: str
    sections: tuple[tuple[str, str], ...]

    def section(self, title: str) -> str:
        return dict(self.sections).get(title, "")


def documentation(rule: type[Rule]) -> RuleDoc:
    """Read the class docstring. ValueError when a section is missing, empty, unknown or out of order."""
    lines = inspect.cleandoc(rule.__doc__ or "").splitlines()
    if not lines or not lines[0].strip():
        raise ValueError(f"{rule.__name__}: no docstring")
    texts: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in lines[1:]:
        if line in SECTIONS:
            if line in texts:
                raise ValueError(f"{rule.__name__}: section '{line}' twice")
            current = texts.setdefault(line, [])
        elif current is not None:
            current.append(line)
        elif line.strip():
            raise ValueError(f"{rule.__name__}: text before the first section: {line.strip()!r}")
    if tuple(texts) != SECTIONS:
        raise ValueError(f"{rule.__name__}: sections are {', '.join(texts)}; expected {', '.join(SECTIONS)}")
    sections = tuple((title, inspect.cleandoc("\n".join(body)).strip()) for title, body in texts.items())
    for title, body in sections:
        if not body:
            raise ValueError(f"{rule.__name__}: section '{title}' is empty")
    return RuleDoc(lines[0].strip(), sections)
