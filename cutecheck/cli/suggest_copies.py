"""The part of ``cutecheck suggest`` that speaks of copies: wider vectors, and thread and value layouts for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cutecheck.facts import Event, Facts, Span
    from cutecheck.model.prove import Options
    from cutecheck.rules.derive.vectorized import Vectorized


def copies(facts: Facts, here: Callable[[Span | None], bool], options: Options) -> list[tuple[Event, Vectorized | str]]:
    """For every copy at a place, or through a tiled copy declared there: wider vectors that are proved, or a text."""
    from cutecheck.model.prove import prove
    from cutecheck.rules import Context
    from cutecheck.rules.derive.vectorized import wider
    from cutecheck.rules.slow_plain_copy import SlowPlainCopy

    context = Context(facts, lambda o: prove(o, options))
    declared = [
        s.value for s in facts.sites if s.kind == "tiled_copy" and s.value and (here(s.span) or here(s.call_span))
    ]
    found: list[tuple[Event, Vectorized | str]] = []
    for event in context.facts.events:
        if event.kind != "copy" or not (here(event.span) or event.tiled in declared):
            continue
        made = wider(event, context)
        if made is not None:
            found.append((event, made))
            continue
        for finding in SlowPlainCopy().on_event(event, context):
            found.append((event, f"{finding.message}: {finding.help.rpartition('; ')[2]}, proved"))
    return found


def text(found: list[tuple[Event, Vectorized | str]]) -> Iterator[str]:
    """Lines for a terminal."""
    from cutecheck.report.text import safe

    for event, made in found:
        yield safe(f"copy at {event.span} in {' '.join(event.enclosing.split())} ({event.arch})")
        if isinstance(made, str):
            yield safe(f"  {made}")
            continue
        yield safe(f"  unsafe: {made.text}")
        yield "    note: each thread then owns other elements: code that counts on them must follow"
        yield from (safe(f"    note: bank conflicts in {where}") for where in made.conflicts)


def document(found: list[tuple[Event, Vectorized | str]]) -> list[dict[str, Any]]:
    """The same in JSON."""
    from cutecheck.facts.json import span_json
    from cutecheck.report.json import outcome_json

    entries = []
    for event, made in found:
        entry: dict[str, Any] = {**span_json(event.span), "enclosing": event.enclosing, "arch": event.arch}
        if isinstance(made, str):
            entries.append({**entry, "kind": "width", "text": made})
            continue
        copy = made.copy
        entries.append({
            **entry,
            "kind": "layouts",
            "text": made.text,
            "now_bits": int(made.now),
            "vector_bits": int(copy.vector_bits),
            "threads": str(copy.threads),
            "values": str(copy.values),
            "tiler": [int(n) for n in copy.tiler],
            "conditions": list(made.conditions),
            "conflicts": list(made.conflicts),
            "safe": False,
            "proofs": [outcome_json(o) for o in made.outcomes],
        })  # fmt: skip
    return entries
