"""Functions handed to libraries that are not read: timers, pools and threads call them."""

from __future__ import annotations

from pathlib import Path

from cutecheck.tests.source.dsl.run import HEAD, driver, results

TEXT = (
    HEAD
    + """
import functools, threading
from some.library import Pool, do_bench, register

def one(k):
    cute.make_layout(k)

def two(k, j):
    cute.make_layout((k, j))

class Op:
    def run(self):
        cute.make_layout(12)

@register("bench")
def registered():
    cute.make_layout(77)

def main():
    k, filled = 1, []
    def count():
        nonlocal k
        k = 2
        filled.append(1)
        cute.make_layout((9, k))
    ms = do_bench(count, rep=3)
    cute.make_layout((100, k))
    cute.make_layout((100, len(filled) + 1))
    do_bench(fn=lambda: one(5))
    Pool().submit(functools.partial(one, 13))
    Pool().submit(functools.partial(two, j=14), 3)
    threading.Thread(target=two, args=(20, 21)).start()
    do_bench(Op().run)
    do_bench(one)
    Pool().map(lambda x, y=3: one(x), [31, 32])

main()
"""
)


def test_what_needs_no_arguments_is_called_once_or_not(tmp_path: Path) -> None:
    found = results(driver(tmp_path, TEXT))
    by_line: dict[str, list[str]] = {}
    lines = TEXT.splitlines()
    for (line, _), made in found.items():
        by_line.setdefault(lines[line - 1].strip(), []).extend(map(str, made))
    assert by_line == {
        "cute.make_layout(k)": ["5:1", "13:1"],
        "cute.make_layout((k, j))": ["(20,21):(1,20)"],
        "cute.make_layout(12)": ["12:1"],
        "cute.make_layout(77)": ["77:1"],
        "cute.make_layout((9, k))": ["(9,2):(1,9)"],
    }  # what it writes is not known afterwards, and nobody knows with what a library calls the others
