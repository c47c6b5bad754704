"""Mutated DSL sources: a check of them ends, whatever the DSL itself makes of them (it stops or divides by zero)."""

from __future__ import annotations

import io
import json
import random
import re
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from cutecheck.cli import main

_NUMBER = re.compile(r"\b\d+\b")
_ARGUMENT = re.compile(r"[(,]\s*([^(),=\n]+?)\s*(?=[,)])")
_NAME = re.compile(r"\b(?:cute|cutlass|warp|tcgen05|cpasync)\.\w+")
_VALUES = (
    "0", "-1", "1", "3", "7", "2**31", "2**70", "None", "()", "(0,)", "(1, (2, 0))", "1.5", "'x'", "[]", "True", "cute",
    "lambda x: x", "range(3)", "{}", "cute.E(0)", "float('nan')", "cute.make_layout((0, 4))", "cutlass.Float4E2M1FN",
)  # fmt: skip


def mutate(text: str, other: str, rng: random.Random) -> str:
    """A few edits that mostly stay Python: numbers, arguments and functions changed, lines dropped and doubled."""
    for _ in range(rng.randint(1, 4)):
        match rng.randrange(6):
            case 0:
                text = _replaced(_NUMBER, text, rng.choice(_VALUES), rng)
            case 1:
                text = _replaced(_ARGUMENT, text, rng.choice(_VALUES), rng)
            case 2:
                names = _NAME.findall(other) or ["cute.size"]
                text = _replaced(_NAME, text, rng.choice(names), rng)
            case 3:
                text = _replaced(_ARGUMENT, text, "", rng)
            case 4:
                lines = text.split("\n")
                at = rng.randrange(len(lines))
                lines[at : at + rng.randint(1, 2)] = [] if rng.random() < 0.5 else [lines[at]] * 2
                text = "\n".join(lines)
            case _:
                at = rng.randrange(len(text) or 1)
                text = text[:at] + rng.choice((*"()[]:,=*@\"'\\\n\t", "\0", "\u00e9", "**", "yield ")) + text[at + 1 :]
    return text


def _replaced(pattern: re.Pattern[str], text: str, value: str, rng: random.Random) -> str:
    found = list(pattern.finditer(text))
    if not found:
        return text
    m = rng.choice(found)
    start, end = m.span(1) if pattern.groups else m.span()
    return text[:start] + value + text[end:]


def problem(text: str, steps: int = 20_000) -> str:
    """What went wrong when a file was checked: an exception that left the evaluator or a rule; else empty."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "mutant.py").write_text(text, encoding="utf-8", errors="surrogatepass")
        out = io.StringIO()
        given = ["check", folder, "--output-format", "json", "--no-cache", "--max-steps", str(steps)]
        try:
            with redirect_stdout(out), redirect_stderr(io.StringIO()):
                code = main(given)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        found = json.loads(out.getvalue())
        errors = [e["message"] for e in found.get("errors", ()) if "internal" in e["message"]]
        return errors[0] if errors else f"exit status {code}" if code not in (0, 1, 2, 3) else ""


__all__ = ["mutate", "problem"]
