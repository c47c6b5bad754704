"""What a remedy may look at: the facts and proofs of the run, the text of its files, where names are defined."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from cutecheck.engine.fixes.spelling import Region, closing, definition
from cutecheck.engine.fixes.text import Change, SourceText
from cutecheck.facts import Call, Event, Facts, Site, Span, TensorFact
from cutecheck.findings import Edit, Finding, Fix
from cutecheck.model.layout import AnyLayout
from cutecheck.records import record
from cutecheck.rules import Context
from cutecheck.rules.derive import bank
from cutecheck.rules.derive.buffers import Suggestion

_DEPTH = 4  # aliases followed from a use to the literal
_KEYWORDS = frozenset(
    ("using", "auto", "constexpr", "static", "const", "decltype", "typename", "cute", "Int", "Layout")
)


@record(frozen=True, slots=True)
class Proposal:
    """A fix for one finding; ``sure``: proved for all accesses, or plain from the text, before it is applied."""

    fix: Fix
    sure: bool = False


@dataclass(slots=True)
class Bench:
    """One run. ``thorough``: edits are checked again after they are made, so that likely ones may be proposed too."""

    context: Context
    files: Callable[[str], SourceText | None]
    thorough: bool = False

    @property
    def facts(self) -> Facts:
        return self.context.facts

    # ------------------------------------------------------------ places

    def region(self, span: Span) -> Region | None:
        """The text of a span; None where the file cannot be edited."""
        source = self.files(span.path)
        try:
            return None if source is None else Region(source, *source.region(span))
        except ValueError:
            return None

    def fix(self, title: str, changes: list[Change | None], source: SourceText, safe: bool) -> Fix | None:
        """A fix of changes in one file; None when one of them cannot be made."""
        made = [c for c in changes if c is not None]
        if len(made) != len(changes) or not made or all(source.text[c.begin : c.end] == c.text for c in made):
            return None
        return Fix(title, tuple(Edit(source.span(c.begin, c.end), c.text) for c in made), safe)

    # ------------------------------------------------------------ facts

    def events(self, finding: Finding) -> list[Event]:
        """The copies or gemms that a finding is about."""
        found = self.context.index.events_at.get((finding.span, finding.arch), [])
        return [e for e in found if e.enclosing == finding.enclosing] or list(found)

    def declaration(self, finding: Finding) -> Region | None:
        """The declaration or call that a finding is about."""
        site = self.context.index.site_at.get(finding.span)
        return self.region(site.call_span if site is not None else finding.span)

    def suggestion(self, event: Event, tensor: TensorFact) -> Suggestion | None:
        """The layout that frees a buffer, proved; None where there is none, or too many were sought already."""
        if tensor.buffer is None:
            return None
        return bank.suggestion((tensor.buffer, event.enclosing, event.arch), self.context, unlimited=self.thorough)

    def tensors_made(self, tensor: TensorFact, event: Event | Call) -> list[Call]:
        """The calls that make whole tensors of an operand's memory, those of its own layout first."""
        root = tensor.root_layout if tensor.root_layout is not None else tensor.layout
        calls = [
            c
            for c in self.context.index.calls_on.get((tensor.buffer or "", event.arch), [])
            if c.function in ("make_tensor", "allocate_tensor", "get_tensor")
        ]
        calls = [c for c in calls if c.enclosing == event.enclosing] or calls
        exact = [c for c in calls if isinstance(c.result, TensorFact) and c.result.layout == root]
        return exact or calls

    def views_made(self, tensor: TensorFact, event: Event | Call) -> list[Call]:
        """The calls that make whole tensors of an operand's memory, one of each layout."""
        root = tensor.root_layout if tensor.root_layout is not None else tensor.layout
        calls = self.context.index.calls_on.get((tensor.buffer or "", event.arch), [])
        made = {
            c.result.layout: c
            for c in calls
            if c.function in ("make_tensor", "allocate_tensor", "get_tensor") and isinstance(c.result, TensorFact)
            and c.result.layout != root
        }  # fmt: skip
        own = [c for c in self.tensors_made(tensor, event) if isinstance(c.result, TensorFact)]
        return [*own[:1], *made.values()]

    def sites(self, value: AnyLayout, arch: str) -> list[Site]:
        """Declarations of this layout, each place once."""
        found: dict[Span, Site] = {}
        for site in self.context.index.sites_of.get((value, arch), []):
            if site.kind in ("layout", "smem_layout"):
                found.setdefault(site.call_span, site)
        return list(found.values())

    # ------------------------------------------------------------ names

    def resolve(self, name: str, source: SourceText, before: int) -> list[tuple[Region, bool]]:
        """Definitions of a name: the nearest one above the use, else those of the sites of that name."""
        if name in _KEYWORDS:
            return []
        above = [begin for begin, end in _assignments(source.code).get(name, ()) if end <= before]
        if above:
            found = _statement(source, above[-1])
            return [found] if found is not None else []
        spans = dict.fromkeys(s.call_span for s in self.context.index.sites_named.get(name, []))
        regions = [r for span in spans if (r := self.region(span)) is not None and not r.source.python]
        return [definition(r) for r in regions]

    def definitions(self, region: Region, is_type: bool = False) -> Iterator[tuple[Region, bool]]:
        """A stretch of code, and the definitions of the names in it, outside in."""
        pending, seen = [(region, is_type, 0)], set()
        while pending:
            at, kind, depth = pending.pop(0)
            if (at.source.path, at.begin) in seen:
                continue
            seen.add((at.source.path, at.begin))
            yield at, kind
            if depth < _DEPTH:
                pending += [(*d, depth + 1) for n in at.names() for d in self.resolve(n, at.source, at.begin)]

    def spelled(self, region: Region, pattern: str) -> list[Region]:
        """Where a pattern is spelled in the code or behind its names: the nearest definitions that have it."""
        for at, _ in self.definitions(region):
            found = [at.part(*m.span()) for m in re.finditer(pattern, at.code)]
            if found:
                return found
        return []


@lru_cache(maxsize=64)
def _assignments(code: str) -> dict[str, list[tuple[int, int]]]:
    """Where each name stands before an ``=``: begin, and end behind the ``=``."""
    found: dict[str, list[tuple[int, int]]] = {}
    for m in re.finditer(r"(?<![\w.])([^\W\d]\w*)\s*=(?!=)", code):
        found.setdefault(m[1], []).append(m.span())
    return found


def _statement(source: SourceText, at: int) -> tuple[Region, bool] | None:
    """The definition whose name stands at an offset."""
    code = source.code
    begin = code.index("=", at) + 1
    i = begin
    while i < len(code):
        if code[i] in "([{" and (end := closing(code, i)) is not None:
            i = end
        elif code[i] == ";" or (source.python and code[i] == "\n"):
            break
        i += 1
    line = code.rfind("\n", 0, at) + 1
    using = re.search(r"\busing\s+\Z", code[line:at]) is not None
    return Region(source, begin, i).stripped(), using
