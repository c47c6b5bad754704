"""``cutecheck suggest FILE:LINE``: the layout that frees the shared memory touched there, and wider vectors."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutecheck.cli import suggest_copies
from cutecheck.cli.options import add_output_options, add_reading_options, add_version_option, settings_of
from cutecheck.cli.output import Out, dump, fail, unwritten

if TYPE_CHECKING:
    from cutecheck.facts import Facts, Span
    from cutecheck.rules.derive.buffers import Group, Suggestion

_PLACE = re.compile(r"^(.+):(\d+)(?::\d+)?$")
NOTHING = 1


def register(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        "suggest",
        help="suggest a swizzle, padding or wider vectors",
        description="Print the layout under which all known accesses of the shared memory touched or declared at a "
        "line are proved free of bank conflicts, or the certificate that no swizzle of the family does; and for copies "
        "the thread and value layouts with which wider vectors are proved.",
        allow_abbrev=False,
    )
    parser.add_argument("place", metavar="FILE:LINE", help="a copy, a gemm, a layout or a shared array")
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="further sources to read: the file that instantiates a header"
    )
    add_reading_options(parser)
    add_version_option(parser)
    add_output_options(parser, ("text", "json"))
    parser.add_argument("--timeout", type=float, default=5.0, metavar="SECONDS", help="limit an obligation (5)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from cutecheck.config import ConfigError
    from cutecheck.engine.run import extract_facts, inputs
    from cutecheck.model.prove import Options
    from cutecheck.model.version import using_cute
    from cutecheck.rules.derive.buffers import suggestions

    as_json = arguments.output_format == "json"
    match = _PLACE.match(arguments.place)
    if match is None:
        return fail(f"'{arguments.place}' is not FILE:LINE", as_json)
    file, line = Path(match[1]), int(match[2])
    if not file.is_file():
        return fail(f"{file}: no such file", as_json)
    arguments.paths = [str(file), *arguments.paths]
    try:
        given = inputs(arguments.paths)
        if given.missing:
            return fail(f"{given.missing[0].path}: {given.missing[0].message}", as_json)
        settings = settings_of(arguments)
        facts = extract_facts(given.paths, settings)
    except ConfigError as error:
        return fail(str(error), as_json)
    roots = [p if p.is_dir() else p.parent for p in given.paths]
    options = Options(timeout_ms=int(arguments.timeout * 1000), cache={})
    with using_cute(facts.cutlass_version or settings.cute):
        results = [(g, suggestions(g, facts, options)) for g in touched(facts, file, line, roots)]
        wider = suggest_copies.copies(facts, lambda span: _here(span, file.resolve(), line, roots), options)
    if not results and not wider:
        return fail(f"no shared memory with a known layout is touched or declared at {file}:{line}", as_json)
    try:
        with Out(arguments.output_file) as out:
            if as_json:
                buffers = [_json(g, s) for g, s in results]
                out.write(dump({"schema_version": 1, "buffers": buffers, "copies": suggest_copies.document(wider)}))
            else:
                out.write("".join(f"{text}\n" for g, s in results for text in _text(g, s)))
                out.write("".join(f"{text}\n" for text in suggest_copies.text(wider)))
    except OSError as error:
        return unwritten(arguments.output_file, error, as_json)
    if not wider and all(isinstance(s, str) for _, found in results for s in found):
        print("cutecheck: nothing could be searched", file=sys.stderr)
        return NOTHING
    return 0


def _here(span: Span | None, file: Path, line: int, roots: list[Path]) -> bool:
    """The span covers the line of the file."""
    if span is None or not span.line <= line <= max(span.line, span.end_line):
        return False
    return any((root / span.path).resolve() == file for root in roots)


def touched(facts: Facts, file: Path, line: int, roots: list[Path]) -> list[Group]:
    """Groups of accesses of the buffers that a copy, gemm, tensor, layout or array at this line concerns."""
    from cutecheck.rules.derive.buffers import buffer_of, groups

    wanted = file.resolve()

    def here(span: Span | None) -> bool:
        return _here(span, wanted, line, roots)

    layouts = [s.value for s in facts.sites if s.value is not None and (here(s.span) or here(s.call_span))]
    found = []
    for group in groups(facts):
        buffer = buffer_of(group, facts)
        spans = [
            span
            for event in group.events
            for span in (event.span, *(t.span for t in event.operands if t.buffer == group.buffer))
        ]
        declared = any(view == layout for view in group.views for layout in layouts)
        if any(map(here, spans)) or declared or (buffer is not None and here(buffer.span)):
            found.append(group)
    return found


def _text(group: Group, found: list[Suggestion | str]) -> Iterator[str]:
    from cutecheck.report.text import safe

    yield safe(f"{group.buffer} in {' '.join(group.enclosing.split())} ({group.arch})")
    for one in found:
        if isinstance(one, str):
            yield safe(f"  unknown: {one}")
            continue
        views = "; ".join(dict.fromkeys(str(v) for v in one.group.views))
        yield safe(f"  layout: {views}")
        free = len(one.group.known) - one.conflicts - one.undecided
        state = f"{one.conflicts} with conflicts, {free} proved free, {one.undecided} undecided"
        yield safe(f"  as written: {len(one.group.known)} known accesses: {state}")
        yield safe(f"  {'' if one.safe else 'unsafe: '}{one.text}")
        yield from (safe(f"    note: {text}") for text in one.caveats)


def _json(group: Group, found: list[Suggestion | str]) -> dict[str, Any]:
    return {
        "buffer": group.buffer,
        "enclosing": group.enclosing,
        "arch": group.arch,
        "suggestions": [
            {"text": one, "kind": "unknown"} if isinstance(one, str) else _suggestion_json(one) for one in found
        ],
    }


def _suggestion_json(one: Suggestion) -> dict[str, Any]:
    from cutecheck.facts.json import span_json
    from cutecheck.report.json import outcome_json, witness_json

    made = one.synthesis
    swizzle, padding, xor = made.swizzle, made.padding, made.xor
    kind = "swizzle" if swizzle else "padding" if padding else "xor" if xor else "plain" if made.plain else "none"
    outcomes = padding.outcomes if padding else xor.outcomes if xor else made.search.outcomes
    return {
        "kind": kind,
        "text": one.text,
        "safe": one.safe,
        "caveats": list(one.caveats),
        "layouts": [str(v) for v in one.group.views],
        "accesses": [
            {**span_json(a.event.span), "tensor": a.tensor.name, "instruction": a.instruction.kind, "bits": a.bits}
            for a in one.group.known
        ],
        "as_written": {"conflicts": one.conflicts, "undecided": one.undecided},
        "swizzle": [swizzle.bits, swizzle.base, swizzle.shift] if swizzle else None,
        "unit": swizzle.unit.name.lower() if swizzle else None,
        "padding": {"pitch": padding.pitch, "extra": padding.extra} if padding else None,
        "xor": {"low": xor.low, "columns": list(xor.columns)} if xor else None,
        "family": made.search.family,
        "members": made.search.members,
        "none_exists": made.search.none_exists,
        "certificate": [
            {"swizzle": [s.bits, s.base, s.shift], "witness": witness_json(w)} for s, _, w in made.search.conflicts
        ]
        if made.search.none_exists
        else [],
        "proofs": [outcome_json(o) for o in outcomes],
    }
