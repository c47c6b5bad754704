"""What a finer cache of facts could keep: ``python benchmarks/read_sets.py TREE... [--units N]``.

The facts of a translation unit are kept until a file that it includes changes in more than comments. A cache by
declaration would keep them, too, after a change of a file that the unit includes and cannot come to: one that declares
no name that the unit spells, or that a file spells which it comes to. Prints the share of such pairs of a unit and a
file it includes (CuTe's own aside, which are not evaluated), over all files as if each were edited once: with the
members of classes among the names, as an evaluator must that looks members up, and without.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cutecheck.source.cpp.tree import TRANSLATION_UNITS, Tree, translation_units
from cutecheck.source.discover import discover
from cutecheck.source.eval import ir
from cutecheck.source.eval.program import is_cute_header

_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class Names:
    """What a file declares, and the words it spells."""

    declared: frozenset[str]
    spelled: frozenset[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+", type=Path)
    parser.add_argument("--units", type=int, default=100, help="at most so many units of a tree, picked at random")
    parser.add_argument("--arch", default="sm_80")
    options = parser.parse_args()
    for folder in options.trees:
        shares = [_share(folder, options.arch, options.units, members) for members in (True, False)]
        print(f"{folder}: {shares[0][1]} pairs; kept by names {shares[0][0]:.1%}, without members {shares[1][0]:.1%}")


def _share(folder: Path, arch: str, units: int, members: bool) -> tuple[float, int]:
    found = discover((folder,))
    tree = Tree({f.path: f.file for f in found.files if not f.path.endswith((".py", ".ipynb"))})
    wanted = frozenset(f.path for f in found.files if f.cute)
    reach = tree.reaching(wanted)
    starts = translation_units(
        [p for p in tree.files if p in reach and (p in wanted or p.endswith(TRANSLATION_UNITS))], tree, arch
    )
    if len(starts) > units:
        starts = random.Random(0).sample(starts, units)
    known: dict[str, Names] = {}
    pairs = kept = 0
    for start in starts:
        closure = tree.closure(start, arch)
        for path in closure:
            if path not in known:
                known[path] = _names(tree, path, arch, members)
        come_to = _come_to(start, closure, known)
        included = [p for p in closure if p != start and not is_cute_header(p)]
        pairs += len(included)
        kept += sum(p not in come_to for p in included)
    return kept / max(1, pairs), pairs


def _come_to(start: str, closure: list[str], known: dict[str, Names]) -> set[str]:
    """The files of a closure that declare a name which a file spells that is come to."""
    declaring: dict[str, list[str]] = {}
    for path in closure:
        for name in known[path].declared:
            declaring.setdefault(name, []).append(path)
    seen: set[str] = set()
    asked: set[str] = set()
    todo = [start]
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        for name in known[path].spelled - asked:
            todo += declaring.get(name, ())
        asked |= known[path].spelled
    return seen


def _names(tree: Tree, path: str, arch: str, members: bool) -> Names:
    unit = tree.unit(path, arch)
    done = tree.preprocessed(path, arch)
    declared = set() if unit is None else set(_declared(unit.decls, members))
    return Names(frozenset(declared | set(done.macros.final()) - {done.guard}), frozenset(_WORD.findall(done.text)))


def _declared(decls: tuple[ir.Decl, ...], members: bool) -> Iterator[str]:
    for decl in decls:
        if isinstance(decl, ir.Namespace) or (members and isinstance(decl, ir.Class)):
            yield from _declared(tuple(decl.members), members)
        if isinstance(decl, ir.Enum):
            yield from (name for name, _, _ in decl.enumerators)
        if not isinstance(decl, ir.Namespace):
            yield from _WORD.findall(str(getattr(decl, "name", "")))


if __name__ == "__main__":
    main()
