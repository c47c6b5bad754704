"""Where a command's output goes, and JSON documents for it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO


def wants_json(argv: Sequence[str]) -> bool:
    """True when the arguments, parsed or not, ask for ``--output-format json``."""
    pairs = zip(argv, [*argv[1:], ""], strict=False)  # no argument at all leaves the second list one longer
    return any(a == "--output-format=json" or (a == "--output-format" and b == "json") for a, b in pairs)


def dump(document: Mapping[str, Any]) -> str:
    """A JSON document as text: a line for each key, and for each item of a list; stable, ASCII only.

    (No terminal escapes, no lone surrogates.) What stands in a line is written by the encoder in C, which knows no
    indents: the report of a large tree takes a third of the time.
    """
    return "{\n" + ",\n".join(f"  {json.dumps(key)}: {_value(value)}" for key, value in document.items()) + "\n}\n"


def _value(value: Any) -> str:
    if isinstance(value, (list, tuple)) and value:
        return "[\n" + ",\n".join(f"    {json.dumps(item)}" for item in value) + "\n  ]"
    return json.dumps(value)


def fail(message: str, as_json: bool = False) -> int:
    """Say one error line on stderr (and in JSON on stdout where asked); the exit code for usage errors."""
    text = " ".join(message.split())
    if as_json:
        sys.stdout.write(dump({"schema_version": 1, "errors": [{"path": "", "message": text, "line": None}]}))
    print(f"cutecheck: error: {text}", file=sys.stderr)
    return 2


def unwritten(file: object, error: OSError, as_json: bool = False) -> int:
    """Say that a file could not be written; who closes the pipe has seen enough and is told nothing."""
    if isinstance(error, BrokenPipeError):
        raise error
    return fail(f"{file}: cannot be written: {error.strerror}", as_json)


class Out:
    """The stream of a command: stdout, or the file of ``--output-file``. OSError when it cannot be opened."""

    def __init__(self, file: str | None) -> None:
        self._stream: TextIO = sys.stdout if file is None else Path(file).open("w", encoding="utf-8")  # noqa: SIM115
        self._own = file is not None

    def __enter__(self) -> TextIO:
        return self._stream

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._own:
            self._stream.close()
