"""The comparison: rows that both accept must print alike, rows that one refuses the other must refuse."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from cutecheck.exec.headers import Headers
from cutecheck.model.ints import CuteError
from cutecheck.model.notation import show
from cutecheck.model.version import cute_version, using_cute
from cutecheck.tests.model.differential.boundary import neighbour
from cutecheck.tests.model.differential.compiling import CRASHED, compile_rows
from cutecheck.tests.model.differential.generator import Generator
from cutecheck.tests.model.differential.recipes import random_row
from cutecheck.tests.model.differential.spelling import Row, UndefinedError, describe

_ATTEMPTS = 12  # neighbours tried for one of the other verdict


@dataclass(frozen=True)
class Mismatch:
    row: Row
    model: str
    cute: str

    def __str__(self) -> str:
        shown = "; ".join(map(show, self.row.args))
        call = f"{self.row.fn}{self.row.targs or ''}  {shown}\n  {self.row.cpp()}"
        return f"{call}\n  model: {self.model}\n  CuTe:  {self.cute}"


@dataclass
class Tally:
    """Rows by function, as both sides have them."""

    accepted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    mismatches: list[Mismatch] = field(default_factory=list)

    @property
    def compared(self) -> int:
        return self.accepted.total() + self.refused.total() + len(self.mismatches)

    def table(self) -> str:
        names = sorted(self.accepted.keys() | self.refused.keys())
        rows = [f"| `{n}` | {self.accepted[n]} | {self.refused[n]} |" for n in names]
        total = f"| all {len(names)} | {self.accepted.total()} | {self.refused.total()} |"
        return "\n".join(["| function | accepted by both | refused by both |", "| --- | --- | --- |", *rows, total])


def verdict(row: Row) -> tuple[bool, str] | None:
    """(accepted, what the model gives or says); None for a row without a defined value."""
    try:
        return True, describe(row.model())
    except CuteError as error:
        return False, f"refused: {error}"
    except UndefinedError:
        return None
    except Exception as error:  # the model must not break on anything; told as a mismatch
        return True, f"internal error: {type(error).__name__}: {error}"


def chosen(generator: Generator, count: int, names: tuple[str, ...], boundary: float) -> list[tuple[Row, bool, str]]:
    """Random rows with their verdicts; a share of them with a neighbour, one change away, of the other verdict."""
    out: list[tuple[Row, bool, str]] = []
    seen: set[str] = set()

    def add(row: Row) -> bool | None:
        text = row.cpp()
        found = None if text in seen else verdict(row)
        if found is None:
            return None
        seen.add(text)
        out.append((row, *found))
        return found[0]

    while len(out) < count:
        row = random_row(generator, names)
        if row.fn == "coprofile" and cute_version() < (3, 9):
            continue  # not there yet
        accepted = add(row)
        if accepted is None or not generator.chance(boundary):
            continue
        for _ in range(_ATTEMPTS):
            other = neighbour(generator, row)
            found = None if other is None else verdict(other)
            if other is not None and found is not None and found[0] is not accepted:
                add(other)
                break
    return out[:count]


def run(
    headers: Headers, count: int, seed: int, batch: int = 250, names: tuple[str, ...] = (), boundary: float = 0.3
) -> Tally:
    """Compare ``count`` random rows (of the named functions); the model follows the version of the headers."""
    generator = Generator(random.Random(seed))
    tally = Tally()
    with using_cute(headers.version):
        for start in range(0, count, batch):
            compare(headers, chosen(generator, min(batch, count - start), names, boundary), tally)
    return tally


def compare(headers: Headers, rows: list[tuple[Row, bool, str]], tally: Tally) -> None:
    """Compile and run what the model accepts; compile what it refuses until every row has its own error."""
    accepted = [(k, row) for k, (row, ok, _) in enumerate(rows) if ok]
    refused = [(k, row) for k, (row, ok, _) in enumerate(rows) if not ok]

    def mismatch(key: int, cute: str) -> None:
        tally.mismatches.append(Mismatch(rows[key][0], rows[key][2], cute))

    outputs: dict[int, str] = {}
    while accepted:
        outputs, errors = compile_rows(headers, accepted, link=True)
        for key, error in errors.items():
            mismatch(key, f"does not compile: {error}")
        accepted = [(k, r) for k, r in accepted if k not in errors]
        if not errors:
            break
    for key, row in accepted:
        if outputs.get(key) == rows[key][2]:
            tally.accepted[row.fn] += 1
        else:
            mismatch(key, outputs.get(key, "no output"))
    while refused:
        _, errors = compile_rows(headers, refused, link=False)
        tally.refused.update(r.fn for k, r in refused if k in errors)
        refused = [(k, r) for k, r in refused if k not in errors]
        if not errors:
            outputs, _ = compile_rows(headers, refused, link=True)
            for key, row in refused:
                if outputs.get(key) == CRASHED:
                    tally.refused[row.fn] += 1
                else:
                    mismatch(key, outputs.get(key, "no output"))
            break
        # An error is reported once for each template instance: rows that share it need another round.
