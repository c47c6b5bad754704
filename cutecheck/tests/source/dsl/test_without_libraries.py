"""Host code that asks libraries which are not read: what it does without them is walked on."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.tests.source.dsl.run import HEAD, driver, results

CASES = [
    # a heuristic that is imported where it is asked for, and the default beside it
    ("""
def heuristic():
    try:
        import some_heuristics
        return some_heuristics.best()
    except ImportError:
        return None
config = heuristic()
if config is None:
    config = 64
""", "config", "64:1"),
    ("""
def tile():
    try:
        from some_heuristics import best
        made = best()
    except Exception as e:
        made = 32
    return made
""", "tile()", "32:1"),
    # a ``try`` around all that a program does is not about a library that some function imports
    ("""
def made():
    import some_profiler
    some_profiler.start()
    return 24
def size():
    try:
        return made()
    except Exception as error:
        print(error)
        return 1
""", "size()", None),
    # where the handler gives up, the library is taken to be there
    ("""
def table():
    try:
        import some_frames as frames
    except ImportError as error:
        raise ImportError("needs frames") from error
    frames.DataFrame()
    return 16
""", "table()", "16:1"),
    # a table of configurations in a file that may be there
    ("""
import json, os
if os.path.exists("tuned.json"):
    size = json.load(open("tuned.json"))["size"]
else:
    size = 128
""", "size", "128:1"),
    ("""
import some_library
size = some_library.tuned("gemm")
if not size:
    size = 8
""", "size", "8:1"),
    # a comparison may follow from the value itself
    ("""
import some_library
best, least = 0, 99
for size in (4, 5):
    time = some_library.measured(size)
    if time < least:
        best, least = size, time
""", "best", None),
    ("""
import some_library
size = 4
if some_library.has_wide():
    size = some_library.wide()
""", "size", "4:1"),
    ("""
import some_library
size, more = 4, some_library.more()
if some_library.has_wide():
    size, more = some_library.wide(), 2
""", "size", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value", "layout"), CASES)
def test_what_is_done_without_a_library_is_walked_on(tmp_path: Path, text: str, value: str, layout: str | None) -> None:
    found = results(driver(tmp_path, f"{HEAD}{text}\ncute.make_layout({value})\n"))
    assert [str(v) for made in found.values() for v in made] == ([] if layout is None else [layout])
