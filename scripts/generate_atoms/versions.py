"""Writes what older versions of CuTe have otherwise: ``cutecheck/model/atoms/data/older.tsv``.

    python scripts/generate_atoms/versions.py 4.6=INCLUDE 4.5=INCLUDE ... 3.5=INCLUDE

Versions go from newer to older, each with its include folder. An operation is compiled again where its traits, its
struct or an alias that they use differ from the next newer version's; a line is kept where what is printed differs.
``4.4 NAME ...`` is what NAME is in 4.4 and before, down to the next line of that name.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from generate_atoms.__main__ import DATA, cutlass_version
from generate_atoms.emit import guard_table
from generate_atoms.scan import Scan, Spec, scan_headers
from generate_atoms.table import Row, _resolve, aliases, instructions, plan, rows

CUDA = (Path("/usr/local/cuda/include/cccl"), Path("/usr/local/cuda/include"))
ABSENT = "-"
Cells = tuple[str, ...]


def committed() -> tuple[dict[str, list[Cells]], dict[str, str]]:
    """The reference's rows by operation, and its aliases."""
    strings = (DATA / "strings.txt").read_text().split("\n")
    table: dict[str, list[Cells]] = {}
    names: dict[str, str] = {}
    for line in (DATA / "atoms.tsv").read_text().splitlines()[1:]:
        name, *cells = line.split("\t")
        if cells[0].startswith("="):
            names[name] = cells[0][1:]
        else:
            table.setdefault(name, []).append(tuple(strings[int(c)] for c in cells))
    return table, names


def operation(scan: Scan, spec: Spec) -> str:
    found = _resolve(scan, spec.op)
    return found.name if found is not None else spec.op


def _stands_for(scan: Scan, text: str, depth: int = 3) -> tuple[str, ...]:
    names = sorted(set(re.findall(r"\b[A-Za-z_]\w*\b", text)) & scan.shared.keys())
    found = [f"{n}={scan.shared[n]}" for n in names]
    if depth:
        found += [x for n in names for x in _stands_for(scan, scan.shared[n], depth - 1)]
    return tuple(dict.fromkeys(found))


def signature(scan: Scan, name: str, specs: list[Spec]) -> object:
    """Everything that what is printed of an operation comes from."""
    parts = [(s.params, s.op_args, s.extra, s.asserts, s.body, _stands_for(scan, s.body)) for s in specs]
    seen, todo = {name}, list(specs)
    while todo:  # what they derive from, and what that derives from
        for base in re.findall(r"_Traits<\s*([\w:]+)", todo.pop().body):
            if base not in seen:
                seen.add(base)
                bases = [s for s in scan.specs if s.op == base]
                parts += [(s.params, s.op_args, s.extra, s.asserts, s.body, ()) for s in bases]
                todo += bases
    op = _resolve(scan, name)
    if op is None:
        return parts, None
    own = [(n, instructions(scan, o)) for n, o in sorted(scan.operations.items()) if n.startswith(op.name + "<")]
    return parts, (op.params, op.asserts, instructions(scan, op), own)


def cells(row: Row) -> Cells:
    fields = [f"{k}={v}" for k, v in row.fields]
    return (row.kind, row.guards, row.ptx, row.declared, row.pattern, row.when, row.asserts, *fields)


def ordered(found: list[Row]) -> list[Cells]:
    """As the reference's table orders the rows of a name: more literal arguments or conditions first."""

    def literal(row: Row) -> int:
        return sum(1 for p in row.pattern.split(";") if not re.fullmatch(r"\{[^{}]*\}", p))

    return [cells(r) for r in sorted(found, key=lambda r: (-literal(r), r.when == "", cells(r)))]


def names_of(scan: Scan) -> dict[str, object]:
    members: dict[str, list[Spec]] = {}
    for spec in scan.specs:
        members.setdefault(operation(scan, spec), []).append(spec)
    return {name: signature(scan, name, specs) for name, specs in members.items()}


def main() -> None:
    given = [a.partition("=") for a in sys.argv[1:] if not a.startswith("reference=")]
    reference = next(a.partition("=")[2] for a in sys.argv[1:] if a.startswith("reference="))
    table, alternative = committed()
    newer = names_of(scan_headers(Path(reference)))
    guards = dict(x.split("\t") for x in (DATA / "guards.tsv").read_text().splitlines())
    strings: dict[str, int] = {"": 0}
    lines: list[str] = []
    for version, _, folder in given:
        include = Path(folder)
        if not cutlass_version(include).startswith(version):
            print(f"note: {folder} calls itself {cutlass_version(include)}", flush=True)
        scan = scan_headers(include)
        here = names_of(scan)
        changed = {n for n in here if n not in newer or newer[n] != here[n] or n not in table}
        again = {id(s) for s in scan.specs if operation(scan, s) in changed}
        planned = plan(scan, 40, seed=1, keep=lambda s, again=again: id(s) in again)
        found: dict[str, list[Row]] = {}
        for row in rows(scan, planned, "g++", [include, *CUDA]) if planned else []:
            found.setdefault(row.name, []).append(row)
        count = 0
        for name in sorted(set(table) - set(here) - set(found)):
            lines.append(f"{version}\t{name}\t{ABSENT}")
            del table[name]
            count += 1
        for name, members in sorted(found.items()):
            made = ordered(members)
            if sorted(made) != sorted(table.get(name, [])):
                for row in made:
                    indices = "\t".join(str(strings.setdefault(c, len(strings))) for c in row)
                    lines.append(f"{version}\t{name}\t{indices}")
                table[name] = made
                count += 1
        there = aliases(scan, dict.fromkeys(table))
        for name in sorted(alternative.keys() | there.keys()):
            if alternative.get(name) != there.get(name) and name not in table:
                lines.append(f"{version}\t{name}\t{'=' + there[name] if name in there else ABSENT}")
        alternative, newer = there, here
        own = {g: ",".join(t) for g, t in guard_table("g++", [include, *CUDA]).items()}
        for guard in sorted(guards.keys() | own.keys()):
            if guards.get(guard, "") != own.get(guard, ""):
                lines.append(f"{version}\t!{guard}\t{own.get(guard, '')}")
        guards = own
        print(f"CUTLASS {version}: {len(changed)} compiled again, {count} differ", flush=True)
        (DATA / "older.tsv").write_text("\n".join(lines) + "\n")
        (DATA / "older_strings.txt").write_text("\n".join(strings) + "\n")


if __name__ == "__main__":
    main()
