"""A tree that means harm: nothing of it runs, nothing is written outside the cache, memory and time stay bounded."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

WATCHED = Path(__file__).parent / "watched.py"
ROOT = Path(__file__).resolve().parents[3]
KERNEL = """#include <cute/tensor.hpp>
#include "../../../../../../etc/passwd"
#include "/dev/zero"
#include "fifo.h"
#include "loop/loop/loop/header.h"
#include "outside.h"
#include "k.cu"
using namespace cute;
#error "$(touch pwned)"
auto copier = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{}, Layout<Shape<_32>>{}, Layout<Shape<_8>>{});
int const x = system("touch pwned");
"""
PYTHON = """import os, subprocess, socket
import cutlass
import cutlass.cute as cute
open("pwned", "w").write("x")
os.system("touch pwned")
subprocess.run(["touch", "pwned"])
socket.create_connection(("127.0.0.1", 9))
__import__("evil").go()
eval("open('pwned', 'w')")
exec("open('pwned', 'w')")
layout = cute.make_layout((8, 4), stride=(4, 1))
"""
EVIL = 'open("pwned", "w").write("x")\nraise SystemExit(99)\n'
NAMES = ("sitecustomize.py", "conftest.py", "setup.py", "z3.py", "evil.py", "rich.py", "networkx.py", "tree_sitter.py")
BOMBS = {
    "text.py": "s = 'x'\nfor i in range(64):\n    s = s + s\n",
    "tuples.py": "t = (1,)\nfor i in range(64):\n    t = t + t\n",
    "numbers.py": "n = 3\nfor i in range(64):\n    n = n * n\nm = 10 ** 10 ** 9\nk = 1 << 10 ** 12\n",
    "repeats.py": "a = [0] * 10**11\nb = 'a' * 10**11\nc = 'x'.zfill(10**11)\nd = 'x'.ljust(10**11)\n"
                  "e = bytes(10**11)\n",
    "replaces.py": "a = ('a' * 60000).replace('a', 'b' * 60000)\nb = ('b' * 60000).join(['a'] * 60000)\n",
    "ranges.py": "a = [i for i in range(10**12)]\nb = {i: [j for j in range(10**6)] for i in range(10**6)}\n"
                 "c = list(range(10**12))\n",
    "formats.py": "a = f'{1:>99999999999}'\nb = '%99999999999d' % 1\nc = '{:>99999999999}'.format(1)\n",
    "loops.py": "x = 1\nwhile True:\n    x += 1\n",
    "calls.py": "def f(n):\n    return f(n + 1) + f(n + 2)\nf(0)\n",
    "layouts.py": "a = cute.make_layout((1 << 40, 1 << 40))\nb = cute.make_layout((2,) * 60000)\n"
                  "c = cute.make_layout((4, 4))\nfor i in range(200):\n    c = cute.make_layout((c.shape, c.shape))\n",
    "macros.cu": "#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(x)))\nB(B(B(int a;)))\n",
    "templates.cu": "template <int N> struct T { using L = typename T<N + 1>::L; using M = typename T<N + 2>::M; };\n"
                    "using X = T<0>::L;\n",
    "tiles.cu": "auto c = make_tiled_copy(\n"
                "    Copy_Atom<UniversalCopy<uint128_t>, half_t>{}, Layout<Shape<Int<1073741824>>>{}"
                ", Layout<Shape<Int<1048576>>>{});\nusing L = Layout<Shape<Int<1073741824>, Int<1073741824>>>;\n"
                "__global__ void k(half_t* p) { auto t = make_tensor(make_gmem_ptr(p), L{});\n"
                "  auto s = c.get_slice(threadIdx.x); copy(c, s.partition_S(t), s.partition_D(t)); }\n",
    "nesting.cu": "int x = " + "(" * 100_000 + "1" + ")" * 100_000 + ";\n",
}  # fmt: skip


def environment(folder: Path, cache: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(folder / "home"), "CUTECHECK_CACHE_DIR": str(cache)}


def watched(tree: Path, cache: Path, *arguments: str) -> list[str]:
    """What a run does besides reading, and how it ends."""
    done = subprocess.run(
        [sys.executable, str(WATCHED), str(cache), *arguments],
        cwd=tree, env=environment(tree, cache), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return [line for line in done.stderr.splitlines() if line.startswith("! ")]


def hostile(folder: Path) -> Path:
    tree = folder / "tree"
    (tree / "cutlass").mkdir(parents=True)
    (tree / "home").mkdir()
    (tree / "k.cu").write_text(KERNEL)
    (tree / "k.py").write_text(PYTHON)
    (tree / "cutlass" / "__init__.py").write_text(EVIL)
    for name in NAMES:
        (tree / name).write_text(EVIL)
    os.mkfifo(tree / "fifo.h")
    (tree / "loop").symlink_to(".")
    (folder / "outside.h").write_text("int secret;\n")
    (tree / "outside.h").symlink_to("../outside.h")
    (tree / "escape\x1b[2J\n::error::pwned.cu").write_text(KERNEL)
    (tree / "compile_commands.json").write_text(
        '[{"directory": "/", "file": "k.cu", "command": "touch pwned; nvcc `touch pwned` -I/ k.cu"}]'
    )
    (tree / "cutecheck.toml").write_text('include = ["/", "../.."]\ncompile-commands = "compile_commands.json"\n')
    return tree


@pytest.mark.parametrize("command", ["check", "facts", "check --fix --unsafe-fixes --diff", "check -j 1 --no-cache"])
def test_nothing_of_it_runs_and_nothing_is_written(tmp_path: Path, command: str) -> None:
    tree, cache = hostile(tmp_path), tmp_path / "cache"
    before = sorted(p for p in tmp_path.rglob("*"))
    name, *more = command.split()
    events = watched(tree, cache, name, ".", *more)
    assert len(events) == 1 and events[0] in ("! exit 0", "! exit 1"), events
    after = sorted(p for p in tmp_path.rglob("*") if not p.is_relative_to(cache))
    assert after == before


def test_the_watcher_sees_what_it_should(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "k.cu").write_text("using L = cute::Layout<cute::_8>;\n")
    events = watched(
        tmp_path, tmp_path / "cache", "check", ".", "--no-cache", "--output-file", str(tmp_path / "out.txt")
    )
    assert any(e.startswith("! open") and "out.txt" in e for e in events), events
    events = watched(tmp_path, tmp_path / "cache", "check", ".", "--cache-dir", str(tmp_path / "other"))
    assert any(e.startswith("! os.mkdir") for e in events), events


def test_modules_beside_the_sources_shadow_nothing(tmp_path: Path) -> None:
    for name in (
        "numbers",
        "fractions",
        "json",
        "decimal",
        "z3",
        "tree_sitter",
        "networkx",
        "pathspec",
        "rich",
        "_lzma",
    ):
        (tmp_path / f"{name}.py").write_text(EVIL)
    (tmp_path / "k.cu").write_text("using L = cute::Layout<cute::Shape<cute::_8>>;\n")
    done = subprocess.run(
        [sys.executable, "-m", "cutecheck", "check", ".", "--isolated", "--output-format", "json"],
        cwd=tmp_path, env=environment(tmp_path, tmp_path / "cache"), capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and not (tmp_path / "pwned").exists(), done.stderr


def test_a_configuration_cannot_choose_where_to_write(tmp_path: Path) -> None:
    tree = hostile(tmp_path)
    for target in ("../elsewhere", "/tmp/cutecheck-elsewhere", "link"):
        if target == "link":
            (tree / "link").symlink_to(tmp_path)
        (tree / "cutecheck.toml").write_text(f'cache-dir = "{target}"\n')
        assert watched(tree, tmp_path / "cache", "check", ".") == ["! exit 2"]


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))


@pytest.mark.parametrize("name", BOMBS)
def test_memory_and_time_are_bounded(tmp_path: Path, name: str) -> None:
    head = "import cutlass\nimport cutlass.cute as cute\n" if name.endswith(".py") else "using namespace cute;\n"
    (tmp_path / name).write_text(head + BOMBS[name])
    done = subprocess.run(
        [sys.executable, "-m", "cutecheck", "check", name, "--isolated", "--no-cache", "-j", "1",
         "--max-steps", "100000"],
        cwd=tmp_path, env=environment(tmp_path, tmp_path / "cache"), preexec_fn=_limited,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert "internal error" not in done.stdout + done.stderr, done.stdout
