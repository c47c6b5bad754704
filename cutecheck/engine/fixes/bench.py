"""What a remedy may look at: the facts and proofs of the run, the text of its files, where names are defined."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from cutecheck.engine.fixes.by_hand import by_hand
from cutecheck.engine.fixes.spelling import Region, closing, definition
from cutecheck.engine.fixes.text import Change, SourceText
from cutecheck.facts import Call, Event, Facts, Site, SmemBuffer, Span, TensorFact
from cutecheck.findings import Edit, Finding, Fix
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout
from cutecheck.records import record
from cutecheck.rules import Context
from cutecheck.rules.derive import bank
from cutecheck.rules.derive.buffers import Suggestion

MAKERS = ("make_tensor", "allocate_tensor", "get_tensor")  # of tensors of memory that is there
_DEPTH = 4  # aliases followed from a use to the literal
_KEYWORDS = frozenset(
    ("using", "auto", "constexpr", "static", "const", "decltype", "typename", "cute", "Int", "Layout")
)


@record(frozen=True, slots=True)
class Proposal:
    """A fix for one finding; ``sure``: proved for all accesses, or plain from the text, before it is applied.

    ``rank``: which of the remedies of its rule it is, best first. ``uncovers``: the accesses stay as they are, and can
    be judged for more than before.
    """

    fix: Fix
    sure: bool = False
    rank: int = 0
    uncovers: bool = False


@dataclass(slots=True)
class Bench:
    """One run. ``thorough``: edits are checked again after they are made, so that likely ones may be proposed too."""

    context: Context
    files: Callable[[str], SourceText | None]
    thorough: bool = False
    written: dict[tuple[AnyLayout, str], list[tuple[TensorFact, list[Region]]]] = field(default_factory=dict)

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
        found = self.context.index.calls_on.get((tensor.buffer or "", event.arch), [])
        calls = [c for c in found if c.function in MAKERS]
        calls = [c for c in calls if c.enclosing == event.enclosing] or calls
        exact = [c for c in calls if isinstance(c.result, TensorFact) and c.result.layout == root]
        if not calls and isinstance(root, (Layout, ComposedLayout)):  # a helper that also makes other tensors
            return self.makers(root, tensor.space, event.arch)
        return exact or calls

    def makers(self, layout: AnyLayout, space: str | None, arch: str) -> list[Call]:
        """The calls that make tensors of a layout, of any memory or of one."""
        return [
            c for c in self.facts.calls
            if c.arch == arch and c.function in MAKERS and isinstance(c.result, TensorFact)
            and c.result.layout == layout and space in (None, c.result.space)
        ]  # fmt: skip

    def whole(self, tensor: TensorFact) -> bool:
        """Every access of the memory of a tensor is known, and goes through a layout."""
        mine = [b for b in self.facts.buffers if b.buffer_id == tensor.buffer]
        return bool(mine) and not any(map(self.loose, mine))

    def loose(self, buffer: SmemBuffer) -> bool:
        """Memory with accesses that are not known, or that go past its layouts."""
        if not buffer.accesses_complete:
            return True
        region = self.region(buffer.span)
        name = re.split(r"::|\.", buffer.name)[-1]
        return region is not None and by_hand(region, name)

    def views_made(self, tensor: TensorFact, event: Event | Call) -> list[Call]:
        """The calls that make whole tensors of an operand's memory, one of each layout."""
        root = tensor.root_layout if tensor.root_layout is not None else tensor.layout
        calls = self.context.index.calls_on.get((tensor.buffer or "", event.arch), [])
        made = {
            c.result.layout: c
            for c in calls
            if c.function in MAKERS and isinstance(c.result, TensorFact) and c.result.layout != root
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
        named = [m for m in _typedefs(source.code).get(name, ()) if m.end() <= before]
        if above or named:
            if named and (not above or named[-1].start() > above[-1]):
                return [(Region(source, *named[-1].span(1)), True)]
            found = _statement(source, above[-1])
            return [found] if found is not None else []
        body = _returned(source, name, before)
        if body is not None:
            return [(body, False)]
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


@lru_cache(maxsize=64)
def _typedefs(code: str) -> dict[str, list[re.Match[str]]]:
    """``typedef type name;``"""
    found: dict[str, list[re.Match[str]]] = {}
    for m in re.finditer(r"(?<!\w)typedef\s+([^;{}]*?)\s+(\w+)\s*;", code):
        found.setdefault(m[2], []).append(m)
    return found


@lru_cache(maxsize=64)
def _functions(code: str, python: bool) -> dict[str, list[tuple[int, int]]]:
    """Functions by name: where their text begins and ends; of C++ where the body does, and its brace."""
    found: dict[str, list[tuple[int, int]]] = {}
    if python:
        for m in re.finditer(r"^([ \t]*)def (\w+)(?=([^\n]*(?:\n\1[ \t]+[^\n]*|\n[ \t]*(?=\n))*))", code, re.MULTILINE):
            found.setdefault(m[2], []).append((m.start(), m.end(3)))  # also those in others
    else:
        for m in re.finditer(r"(?<![\w.:>])(\w+)(?=(\s*\([^;{}]*\{))", code):
            found.setdefault(m[1], []).append((m.end(2), m.end(2) - 1))
    return found


def _returned(source: SourceText, name: str, before: int) -> Region | None:
    """What the one function of a name returns, where it has one ``return`` and stands above."""
    code = source.code
    bodies = _functions(code, source.python).get(name, [])
    if not source.python:
        bodies = [(begin, end) for begin, brace in bodies if (end := closing(code, brace)) is not None]
    if len(bodies) != 1 or bodies[0][1] > before:
        return None
    begin, end = bodies[0]
    found = list(re.finditer(r"(?<!\w)return\b", code[begin:end]))
    if len(found) != 1:
        return None
    at = begin + found[0].end()
    i = at
    while i < end and code[i] != (";" if not source.python else "\n"):
        inner = closing(code, i) if code[i] in "([{" else None
        i = (i if inner is None else inner) + 1
    return Region(source, at, i).stripped()


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
