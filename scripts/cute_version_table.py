"""Write the table of results that differ between versions of CuTe, printed by their own headers.

``python scripts/cute_version_table.py OUT.json 3.5.1=DIR 3.8.0=DIR 4.7.0=DIR`` with one include directory (or checkout)
for each version. Random rows are compiled with every version; kept are those whose results differ, and a few others.
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path

from cutecheck.exec.headers import NoHeaders, find_headers
from cutecheck.model.ints import CuteError
from cutecheck.model.notation import show
from cutecheck.tests.model.differential import (
    Generator,
    Row,
    UndefinedError,
    compile_rows,
    describe,
    random_row,
)  # fmt: skip

ROWS = 700
KEEP_EQUAL = 40
SKIPPED = {"coprofile", "evenly_divides", "max_alignment", "with_shape"}  # not in every version


def random_rows(seed: int) -> list[tuple[int, Row]]:
    """Rows that today's CuTe accepts, without repetition."""
    generator = Generator(random.Random(seed))
    rows: dict[str, Row] = {}
    while len(rows) < ROWS:
        row = random_row(generator)
        if row.fn in SKIPPED:
            continue
        try:
            describe(row.model())
        except (CuteError, UndefinedError):
            continue
        rows.setdefault(row.cpp(), row)
    return list(enumerate(rows.values()))


def results(directory: str, rows: list[tuple[int, Row]]) -> dict[int, str]:
    """What the headers of one directory print for each row (the text alone), or ``refused``."""
    headers = find_headers({**os.environ, "CUTECHECK_CUTLASS": directory})
    if isinstance(headers, NoHeaders):
        raise SystemExit(headers.reason)
    printed: dict[int, str] = {}
    for start in range(0, len(rows), 175):
        batch = rows[start : start + 175]
        while batch:
            outputs, errors = compile_rows(headers, batch, link=True)
            printed |= dict.fromkeys(errors, "refused")
            printed |= {k: text.split("|")[0] for k, text in outputs.items()}
            batch = [(k, r) for k, r in batch if k not in printed]
    return printed


def main() -> int:
    out, *named = sys.argv[1:]
    rows = random_rows(20261120)
    by_version = {}
    for item in named:
        version, _, directory = item.partition("=")
        by_version[version] = results(directory, rows)
        print(version, sum(r == "refused" for r in by_version[version].values()), "refused")
    table = []
    equal = 0
    for key, row in rows:
        texts = {version: printed[key] for version, printed in by_version.items()}
        if len(set(texts.values())) == 1:
            equal += 1
            if equal > KEEP_EQUAL:
                continue
        table.append({"fn": row.fn, "args": [show(a) for a in row.args], "targs": list(row.targs), "results": texts})
    note = "printed by the headers of each version; refused: does not compile"
    Path(out).write_text(json.dumps({"note": note, "rows": table}, indent=0) + "\n", encoding="utf-8")
    print(len(table), "rows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
