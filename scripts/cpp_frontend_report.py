#!/usr/bin/env python3
"""What the C++ front end makes of source trees: files, errors, Opaque nodes by reason, configuration calls, seconds.

    python scripts/cpp_frontend_report.py [--arch sm_80] [--lazy] [--list N] [--tree-sitter] PATH...

Every function body and class is lowered, unless ``--lazy``: then only what an index needs. ``--tree-sitter`` adds what
tree-sitter-cuda makes of the same bytes (raw, without a blanking pass): files with ERROR nodes, and ERROR nodes.
"""

from __future__ import annotations

import argparse
import dataclasses
import resource
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from cutecheck.facts.span import Span
from cutecheck.source.cpp.tree import Tree
from cutecheck.source.discover import SourceFile, discover
from cutecheck.source.eval import ir


def nodes(unit: ir.Unit) -> Iterator[object]:
    """Every IR node of the unit, function bodies and class members included."""
    todo: list[object] = list(unit.decls)
    while todo:
        part = todo.pop()
        if isinstance(part, ir.Lazy):
            todo.append(part.get())
        elif isinstance(part, (tuple, list)):
            todo.extend(part)
        elif dataclasses.is_dataclass(part) and not isinstance(part, Span):
            yield part
            if isinstance(part, ir.Class):
                todo.extend(part.members)
            todo.extend(getattr(part, f.name) for f in dataclasses.fields(part) if f.name not in ("span", "full_span"))


def inside(call: Span, spans: list[Span]) -> bool:
    at = (call.line, call.column)
    return any((s.line, s.column) <= at < (s.end_line, s.end_column) for s in spans)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("--lazy", action="store_true")
    parser.add_argument("--list", type=int, default=0, metavar="N", help="list N places of each reason")
    parser.add_argument("--tree-sitter", action="store_true")
    args = parser.parse_args()
    for root in args.paths:
        report(root, args)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")
    return 0


def report(root: Path, args: argparse.Namespace) -> None:
    started = time.process_time()
    found = discover([root])
    files = [file for file in found.files if not file.path.endswith(".py")]
    chosen = [file for file in files if file.cute]
    tree = Tree({file.path: file.file for file in files})
    scanned = time.process_time() - started
    reasons: Counter[str] = Counter()
    places: dict[str, list[str]] = {}
    files_with, calls, lost, size = 0, 0, 0, 0
    seconds = 0.0
    for file in chosen:
        began = time.process_time()
        unit = tree.unit(file.path, args.arch)
        if unit is None:
            continue
        bad = [(f"error: {n.text}", n.span) for n in unit.notes if n.kind in ("error", "preprocessor", "expansion")]
        if not args.lazy:
            bad += [(n.reason, n.span) for n in nodes(unit) if isinstance(n, ir.Opaque)]
        seconds += time.process_time() - began
        size += file.file.stat().st_size
        serious = [item for item in bad if item[0] != "inline assembly"]
        files_with += bool(serious)
        calls += len(unit.calls)
        lost += sum(inside(span, [s for _, s in serious]) for span, _ in unit.calls)
        for reason, span in bad:
            reasons[reason] += 1
            places.setdefault(reason, []).append(str(span))
    print(
        f"{root}: {len(files)} files, {len(chosen)} with CuTe names ({size / 1e6:.1f} MB), found in {scanned:.2f} s, "
        f"{'indexed' if args.lazy else 'lowered whole'} in {seconds:.2f} s; "
        f"{files_with} with something not lowered; {calls} configuration calls, {lost} inside what was not lowered"
    )
    for reason, count in reasons.most_common(25):
        print(f"  {count:6} {reason}")
        for place in places[reason][: args.list]:
            print(f"           {place}")
    if args.tree_sitter:
        tree_sitter_report(chosen)


def tree_sitter_report(chosen: list[SourceFile]) -> None:
    import tree_sitter
    import tree_sitter_cuda

    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))
    files, errors = 0, 0
    began = time.process_time()
    for file in chosen:
        root = parser.parse(file.file.read_bytes()).root_node
        if root.has_error:
            files += 1
            errors += count_errors(root)
    print(f"  tree-sitter-cuda: {files} files with ERROR, {errors} ERROR nodes, {time.process_time() - began:.2f} s")


def count_errors(node: object) -> int:
    todo, found = [node], 0
    while todo:
        part = todo.pop()
        found += part.is_error or part.is_missing  # type: ignore[attr-defined]
        if part.has_error:  # type: ignore[attr-defined]
            todo.extend(part.children)  # type: ignore[attr-defined]
    return found


if __name__ == "__main__":
    raise SystemExit(main())
