"""What rules may say of calls that nothing in the tree makes, and that were supposed (docs/dsl_front_end.md).

A supposition is not the user's. What depends on what a caller gives (extents, strides, alignment, element types, sizes
of blocks and of shared memory that follow from them) is not said at all; anything else is a note, unless each supposed
call that comes to the place has it, of several that have other numbers and element types.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace

from cutecheck.facts import Facts, Span, SupposedCall, Unknown
from cutecheck.findings import Finding
from cutecheck.model.prove.obligation import Obligation, Outcome

_TAG = re.compile(r"<(supposed [^,<>]+)")
# what callers give decides these: global tensors, their tiles and ends, limits that sizes follow from, what a flag uses
_OF_CALLERS = frozenset({
    "CUT104", "CUT105", "CUT204", "CUT205", "CUT206", "CUT207", "CUT210", "CUT219", "CUT222", "CUT223", "CUT303",
    "CUT304", "CUT306", "CUT308", "CUT401", "CUT402", "CUT403", "CUT405", "CUT601", "CUT603", "CUT604", "CUT606",
    "CUT701", "CUT702", "CUT703", "CUT704", "CUT705", "CUT706", "CUT707", "CUT708", "CUT801", "CUT802", "CUT803",
})  # fmt: skip


# what is wide or narrow for the elements: other ones may be meant
_OF_ELEMENTS = frozenset({
    "CUT101", "CUT102", "CUT103", "CUT301", "CUT302", "CUT305", "CUT404", "CUT501", "CUT502", "CUT503", "CUT602"
})  # fmt: skip
# what does not run at all: such a call is none that a caller makes, and nothing is said of it
_NO_CALLS = frozenset({"CUT303", "CUT701", "CUT702", "CUT704", "CUT705", "CUT706", "CUT707", "CUT708"})


def tag(fact: object) -> str:
    """What names the supposed call that a fact is of; empty where it is of a call that the tree makes."""
    for word in ("enclosing", "kernel", "symbol"):
        name = getattr(fact, word, "")
        if "<supposed " in name and (found := _TAG.search(name)) is not None:
            return found[1]
    return ""


def told(findings: list[Finding], fact: object) -> list[Finding]:
    """The findings of a hook, with the supposed call that its fact is of."""
    of = tag(fact) if findings else ""
    return [replace(f, supposed=of) for f in findings] if of else findings


def judged(findings: Sequence[Finding], facts: Facts) -> list[Finding]:
    """The findings without what may not be said of supposed calls; the others name theirs."""
    if not any(f.supposed for f in findings):
        return list(findings)
    never = {f.supposed for f in findings if f.supposed and f.code in _NO_CALLS}
    calls = {c.tag: c for c in facts.supposed if c.public and c.tag not in never}
    said = {(f.code, f.span, f.arch) for f in findings if not f.supposed}
    groups: dict[tuple[str, Span, str], list[Finding]] = {}
    for f in findings:
        if f.supposed in calls and f.code not in _OF_CALLERS and (f.code, f.span, f.arch) not in said:
            groups.setdefault((f.code, f.span, f.arch), []).append(f)
    reached = _reached(facts) if groups else {}
    kept = [f for f in findings if not f.supposed]
    for (_, span, arch), group in groups.items():
        kept += _said(group, reached.get((span, arch), {}), calls)
    return kept


def _said(group: list[Finding], reached: Mapping[str, object], calls: Mapping[str, SupposedCall]) -> list[Finding]:
    """What several supposed calls have at one place, said once."""
    tags = {f.supposed for f in group}
    values = [reached[t] for t in tags if reached.get(t) is not None]  # equal ones are looked at once
    all_of_them = all(t in tags or t not in calls or reached[t] in values for t in reached)
    always = all_of_them and _differ(calls[t].text for t in tags)
    always = always and (group[0].code not in _OF_ELEMENTS or all(calls[t].told for t in tags))
    may = group if always else [f for f in group if calls[f.supposed].told]
    if not may:
        return []
    first = min(may, key=lambda f: (f.supposed, f.message))
    call = calls[first.supposed].text
    where = f"under each supposed call that comes here, as `{call}`" if always else f"under the supposed call `{call}`"
    severity = first.severity if always and first.code not in _OF_ELEMENTS else "note"
    return [replace(first, message=f"{first.message} ({where})", severity=severity, fixes=())]


def assumed(outcomes: MutableMapping[Obligation, Outcome], facts: Facts) -> None:
    """Verdicts on what a supposed call comes to rest on it."""
    calls = {c.tag: c.text for c in facts.supposed}
    for obligation, outcome in list(outcomes.items()) if calls else ():
        found = next((f for text in (obligation.id, *obligation.subjects) if (f := _TAG.search(text))), None)
        if found is not None:
            told = f"the supposed call `{calls[found[1]]}`"
            outcomes[obligation] = replace(outcome, assumptions=(*outcome.assumptions, told))


_TENSORS, _OTHERS = re.compile(r"Tensor\([^)]*\)"), re.compile(r"=\w+")


def _differ(texts: Iterable[str]) -> bool:
    """Whether calls have other numbers or element types, not only other arguments that may be left out."""
    found = [_TENSORS.findall(t) or _OTHERS.findall(t) for t in texts]
    return any(set(a).isdisjoint(b) for i, a in enumerate(found) for b in found[:i] if a and b)


def _reached(facts: Facts) -> dict[tuple[Span, str], dict[str, object]]:
    """The supposed calls that come to a place, each with the value of the site there, if there is one."""
    found: dict[tuple[Span, str], dict[str, object]] = {}
    for group in (facts.events, facts.buffers, facts.launches, facts.calls, facts.sites):
        for fact in group:
            of = tag(fact)
            if of:
                value = getattr(fact, "value", getattr(fact, "result", None))
                found.setdefault((fact.span, fact.arch), {})[of] = None if isinstance(value, Unknown) else value
    return found


__all__ = ["assumed", "judged", "tag", "told"]
