"""Generates the atom tables of ``cutecheck/model/atoms/data`` from CuTe's headers.

    python scripts/generate_atoms --cutlass INCLUDE [--cuda INCLUDE ...] [--output FOLDER]

Every ``MMA_Traits`` and ``Copy_Traits`` specialisation is instantiated, compiled with g++ and printed; templated ones
with representative arguments, from which :mod:`fit` derives formulas. Takes about two minutes.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from generate_atoms.emit import guard_table
from generate_atoms.scan import scan_headers
from generate_atoms.table import Row, aliases, plan, rows

DATA = Path(__file__).resolve().parents[2] / "cutecheck" / "model" / "atoms" / "data"


def cutlass_version(include: Path) -> str:
    text = (include / "cutlass" / "version.h").read_text()
    numbers = [re.search(rf"#define CUTLASS_{part} (\d+)", text) for part in ("MAJOR", "MINOR", "PATCH")]
    return ".".join(m[1] if m else "0" for m in numbers)


def write(
    folder: Path, version: str, table: list[Row], names: dict[str, str], guards: dict[str, tuple[str, ...]]
) -> None:
    """``strings.txt`` (one value a line) and ``atoms.tsv`` (name, then indices of strings), sorted by name."""
    strings: dict[str, int] = {"": 0}

    def index(text: str) -> str:
        return str(strings.setdefault(text, len(strings)))

    lines = []
    for row in table:
        cells = [row.kind, row.guards, row.ptx, row.declared, row.pattern, row.when, row.asserts]
        cells += [f"{k}={v}" for k, v in row.fields]
        # rows that fix more literal arguments or conditions come first
        literal = sum(1 for p in row.pattern.split(";") if not re.fullmatch(r"\{[^{}]*\}", p))
        lines.append((row.name, -literal, row.when == "", "\t".join([row.name, *map(index, cells)])))
    lines += [(alias, 0, False, f"{alias}\t={target}") for alias, target in names.items()]
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n".join(line for *_, line in sorted(lines))
    (folder / "atoms.tsv").write_text(f"# CUTLASS {version}\n{text}\n")
    (folder / "strings.txt").write_text("\n".join(strings) + "\n")
    (folder / "guards.tsv").write_text("".join(f"{g}\t{','.join(t)}\n" for g, t in sorted(guards.items())))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cutlass", type=Path, required=True, help="include folder of CUTLASS")
    parser.add_argument("--cuda", type=Path, action="append", help="CUDA include folders (toolkit and its cccl)")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--output", type=Path, default=DATA)
    parser.add_argument("--samples", type=int, default=40, help="instances of each templated specialisation")
    options = parser.parse_args()
    cuda = options.cuda or [Path("/usr/local/cuda/include/cccl"), Path("/usr/local/cuda/include")]
    includes = [options.cutlass, *cuda]
    scan = scan_headers(options.cutlass)
    table = rows(scan, plan(scan, options.samples, seed=1), options.compiler, includes)
    known = {row.name: row for row in table}
    guards = guard_table(options.compiler, includes)
    version = cutlass_version(options.cutlass)
    write(options.output, version, table, aliases(scan, known), guards)
    print(f"CUTLASS {version}: {len(scan.specs)} specialisations, {len(table)} rows, {len(known)} operations")


if __name__ == "__main__":
    main()
