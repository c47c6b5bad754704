"""Statements that would take Python itself without end or memory: each is an answer, soon."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cutecheck.cli import main
from cutecheck.tests.source.dsl.run import variables

MEBIBYTES = 1536
SECONDS = 90
PLAIN = """
[].extend(range(2**31))
print(*range(2**31))
a, b = range(2**31)
5 in range(2**31)
given in range(2**70)
len(range(2**70))
dict(range(2**31))
max(range(2**31))
sorted(range(2**70))
list(zip(range(2**31), range(2**31)))
round(5, -2**31)
itertools.product((1, 2, 3), repeat=2**31)
itertools.product((1,), repeat=2**70)
itertools.product((1, 2), repeat=-1)
f"{'x' * 60000}{'x' * 60000}"
{[]: 1 for _ in (1, 2)}
torch.empty(-4)[1:]
cute.append((1, 2), 3, up_to_rank=2**31)
cute.prepend(cute.make_layout((1, 2)), cute.make_layout(3), up_to_rank=2**31)
cute.append_ones(cute.make_layout((1, 2)), up_to_rank=2**31)
cute.repeat(1, 2**70)
cute.make_layout((2,) * 60000)
cute.make_layout((4, 1.5))
cute.make_tiled_copy_tv(wide, cute.make_layout((4, 1.5)), cute.make_layout((2, 8)))
cute.make_tiled_copy_tv(wide, cute.make_layout((2**31, 2), stride=(7, 3)), cute.make_layout((2**20, 8), stride=(5, 11)))
cute.make_swizzle(3, 2**70, 2**31)
cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_layout((8, 64), stride=(64, (1, 2))))
cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_layout((8, (8, 8)), stride=(64, 1)))
cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)), permutation_mnk=(32, "x", 16))
cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)), permutation_mnk=(32, 1.5, 16))
cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)), permutation_mnk=(32, 2**62, 16))
""".strip().split("\n")
SOURCE = """import itertools
import torch
import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import warp
op = warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
wide = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128)
"""
LOOPS = """
def doubled():
    text, items = "x", [1]
    for _ in range(60):
        text = f"{text}{text}"
        items.extend(items)


def counted(n):
    for i in range(2**70):
        pass


doubled()
counted(1)


class Node:
    def __init__(self, left, right):
        self.left, self.right, self.steps = left, right, 0


def shared(given, depth):
    # each node holds the next one twice: 2 ** depth ways lead to the last
    node = Node(None, None)
    for _ in range(depth):
        node = Node(node, node)
    last = node
    for item in given:
        node.steps += 1
        last, node = node, Node(node, node)
    while given.more:
        node.left.steps += 1
        node = node.left
    if given.odd:
        last, node = Node(node, node), Node(last, last)
    return last


@cute.kernel
def walks(given: cutlass.Int32):
    node = shared((), 12)
    for i in range(given):
        node.left.steps += i
        node.right = node.left
        if i > 2:
            node = node.left


shared(input(), 40)
walks(5).launch(grid=(1, 1, 1), block=(32, 1, 1))
"""
CHECK = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
from cutecheck.tests.source.dsl.mutants import problem
sys.exit(problem(sys.stdin.read(), 200_000) or 0)
"""


def _source() -> str:
    text = SOURCE
    for n, line in enumerate(PLAIN):
        for kind, mark in (("host", ""), ("device", "@cute.jit\n")):
            text += f"\n\n{mark}def {kind}{n}(given):\n    {line}\n\n\n{kind}{n}(4)\n"
    return text + LOOPS


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on memory")
def test_statements_without_end_are_answers() -> None:
    script = CHECK.format(limit=MEBIBYTES << 20)
    done = subprocess.run(
        [sys.executable, "-c", script], input=_source(), text=True, capture_output=True, timeout=SECONDS, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def _blocks(depth: int) -> str:
    lines = [f"{'    ' * i}if cutlass:" for i in range(depth)]
    return "\n".join([*lines, f"{'    ' * depth}pass"])


@pytest.mark.parametrize(
    "text",
    ["[" * 3000 + "]" * 3000, "(" * 3000 + ")" * 3000, "{1: " * 3000 + "1" + "}" * 3000, "f(" * 3000 + ")" * 3000,
     "not " * 3000 + "1", "lambda: " * 3000 + "1", "f" + "[0]" * 3000, "f'{" * 300 + "1" + "}'" * 300, _blocks(400)],
    ids=["list", "tuple", "dict", "call", "not", "lambda", "index", "text", "blocks"],
)  # fmt: skip
def test_deep_nesting_is_one_place_of_a_report(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "deep.py").write_text(SOURCE + text + "\n")
    (tmp_path / "other.py").write_text(SOURCE + "cute.make_swizzle(3, 4, 2)\n")
    assert main(["check", str(tmp_path), "--no-cache", "--output-format", "concise"]) == 1
    out = capsys.readouterr()
    assert "other.py:8:1: CUT211" in out.out
    assert "internal" not in out.out + out.err


def test_identity_ends_a_recursion_over_an_object_that_holds_itself(tmp_path: Path) -> None:
    found = variables(
        tmp_path,
        """
        class Node:
            pass

        def depth(node, seen):
            if id(node) in seen:
                return 0
            seen.add(id(node))
            return 1 + depth(node.next, seen)

        a, b = Node(), Node()
        a.next, b.next = b, a
        result = depth(a, set())
        """,
    )
    assert found["result"] == 2


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3 in range(0, 10, 3)", True),
        ("4 in range(0, 10, 3)", False),
        ("(1, 2) in [(1, 3), (1, 2)]", True),
        ("len(range(7, 0, -2))", 4),
        ("len(range(0))", 0),
        ("len(set([1, 2, 1]))", 2),
        ("len({'a', 'b', 'a'})", 2),
        ("getattr(type(None), 'nothing', 3)", 3),
        ("round(2.345, 2)", 2.35),
        ("round(1234, -2)", 1200),
    ],
)
def test_values_are_python_s(text: str, value: object, tmp_path: Path) -> None:
    assert variables(tmp_path, f"result = {text}")["result"] == value == eval(text)
