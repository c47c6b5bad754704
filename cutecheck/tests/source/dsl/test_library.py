"""Where the sources of modules are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.source.dsl.library import Library
from cutecheck.tests.source.dsl.run import driver, sites, variables


def test_a_folder_that_imports_name_may_be_scanned_itself(tmp_path: Path) -> None:
    folder = tmp_path / "kernels" / "gemm"
    folder.mkdir(parents=True)
    (tmp_path / "kernels" / "tiles.py").write_text("ROWS = 8\n")
    main = folder / "main.py"
    main.write_text("from kernels.tiles import ROWS\n")
    for root in (tmp_path, tmp_path / "kernels", folder):
        library = Library({}, (root,), None)
        assert library.locate("kernels.tiles", main) == tmp_path / "kernels" / "tiles.py", root
    assert Library({}, (folder,), None).locate("tiles", main) is None


def test_what_stands_for_a_library_imports_nothing_of_this_program() -> None:
    """Beside its folder are modules of cutecheck, `torch.py` among them."""
    library = Library({}, (), None)
    stand_in = library.locate("torch.nn", None)
    assert stand_in is not None and (stand_in.parents[1] / "torch.py").is_file()
    assert library.locate("torch", stand_in) is None


def test_packages_are_found_where_they_are_installed_from(tmp_path: Path) -> None:
    """`src/` is on Python's path, and what the importing script adds; of two packages nobody knows which."""
    for name, text in {
        "src/kern/__init__.py": "", "src/kern/tiles.py": "ROWS = 8\n", "tools/shared.py": "", "tools/other.py": "",
        "a/twice/__init__.py": "", "b/twice/__init__.py": "",
        "tests/main.py": "import sys\nsys.path.append('tools')\n", "tests/plain.py": "",
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    files = {p.relative_to(tmp_path).as_posix(): p for p in tmp_path.rglob("*.py")}
    library = Library(files, (tmp_path,), None)
    main, plain = tmp_path / "tests/main.py", tmp_path / "tests/plain.py"
    assert library.locate("kern.tiles", main) == tmp_path / "src/kern/tiles.py"
    assert library.locate("shared", main) == tmp_path / "tools/shared.py"
    assert library.locate("shared", plain) is None
    assert library.locate("twice", main) is None


def test_a_script_climbs_out_of_the_scanned_folder(tmp_path: Path) -> None:
    """Where it puts a folder above itself on Python's path, and only then."""
    for name, text in {
        "helpers/__init__.py": "", "helpers/tiles.py": "", "a/b/plain.py": "import sys\nsys.path.append('/opt')\n",
        "a/b/climbs.py": "import os, sys\nsys.path.insert(0, os.path.join(os.path.dirname(__file__), '../..'))\n",
        "a/b/parents.py": "import sys\nfrom pathlib import Path\nsys.path.append(str(Path(__file__).parents[2]))\n",
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    folder = tmp_path / "a" / "b"
    library = Library({}, (folder,), None)
    for name in ("climbs", "parents"):
        assert library.locate("helpers.tiles", folder / f"{name}.py") == tmp_path / "helpers/tiles.py"
    assert library.locate("helpers.tiles", folder / "plain.py") is None


SHARED = """
import torch
import torch.distributed._symmetric_memory as symm_mem
import nvshmem.core
from cutlass.cute.runtime import from_dlpack

mine = symm_mem.empty((64, 32), dtype=torch.float16, device="cuda")
there = symm_mem.rendezvous(mine, "group").get_buffer(1, (64, 32), torch.float16)
peer = nvshmem.core.get_peer_tensor(nvshmem.core.tensor((8, 4), dtype=torch.float32), 1)
shapes = from_dlpack(mine).shape, from_dlpack(there).shape, from_dlpack(peer).shape
"""


def test_tensors_that_gpus_share(tmp_path: Path) -> None:
    assert variables(tmp_path, SHARED)["shapes"] == ((64, 32), (64, 32), (8, 4))


PACKAGE = {
    "pkg__table": "KINDS = {}",
    "pkg__cute_kinds": "from pkg.table import KINDS\nKINDS['rows'] = 64  # of cute's layouts\n",
    "pkg__use": "from pkg.table import KINDS\nrows = KINDS.get('rows', 0)\n",
}


@pytest.mark.parametrize("line", ["from pkg.use import rows", "import pkg.use as use\nrows = use.rows"])
def test_packages_around_a_module_are_run_before_it(tmp_path: Path, line: str) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("import pkg.cute_kinds\n")
    assert variables(tmp_path, line, **PACKAGE)["rows"] == 64


def test_a_module_is_run_where_it_is_imported_for_what_it_does(tmp_path: Path) -> None:
    text = "import pkg.cute_kinds\nfrom pkg.table import KINDS\nrows = KINDS.get('rows', 0)\n"
    assert variables(tmp_path, text, **PACKAGE)["rows"] == 64


SETTINGS = """
import argparse
import dataclasses
import os
from types import MappingProxyType
import cutlass
import cutlass.cute as cute

@dataclasses.dataclass
class Args:
    rows: int = dataclasses.field(default=512, metadata={"help": "rows"})
    cols: list = dataclasses.field(default_factory=list)

    @classmethod
    def parse(cls):
        parser = argparse.ArgumentParser()
        for f in dataclasses.fields(cls):
            if f.default is not dataclasses.MISSING:
                parser.add_argument(f"--{f.name}", type=f.type, default=f.default, **f.metadata)
        return cls(**vars(parser.parse_args()))

META = MappingProxyType({"BLOCK": 1024, "warps": 4})
MORE = {k.lower(): int(v) for k, v in os.environ.items() if k.startswith("GEMM_")}

def block(**meta):
    return meta["BLOCK"]

@cute.jit
def checked(n: cutlass.Constexpr):
    assert n % 4 == 0, "four at a time"
    cute.make_layout((n, 7))

def main():
    cute.make_layout((Args.parse().rows, 1))
    cute.make_layout((block(**META), len(META), 2))
    cute.make_layout(({**MORE, "depth": 3}["depth"], MORE.get("tile", 5), 3))
    cute.make_layout((int(os.environ["ROWS"]) if "ROWS" in os.environ else 6, 4))
    os.environ["COLS"] = "32"
    os.environ.setdefault("DEEP", "16")
    cute.make_layout((int(os.getenv("COLS")), int(os.environ["DEEP"]), int(os.getenv("WIDE", "2")), 5))
    cute.make_layout((int(os.environ["WIDE"]), 6))
    sizes = iter([8, 16, 32])
    assert next(sizes) == 8
    cute.make_layout((next(sizes), 9))
    for name in ("RANK", "WORLD_SIZE"):
        if name not in os.environ:
            print(f"{name} is not set")
            exit(-1)
    for n in (8, 9, 12):
        checked(n)
    assert META["warps"] == 5
    cute.make_layout((1, 8))

main()
"""


def test_settings_of_a_program_and_what_it_asserts(tmp_path: Path) -> None:
    made = driver(tmp_path, SETTINGS)
    assert not made.cut, made.cut
    found = sorted(str(s.result).partition(":")[0] if s.status == "resolved" else s.status for s in sites(made))
    assert found == sorted([
        "(512,1)", "(1024,2,2)", "(3,5,3)", "(6,4)", "(32,16,2,5)", "(16,9)", "unknown",  # WIDE is not known
        "(8,7)", "(12,7)",  # the program refuses 9, and ends before (1,8)
    ])  # fmt: skip


ITERATORS = """
import json
import operator
import cutlass.cute as cute

class Op:
    threads = property(lambda self: self.warps * 32)
    def _get(self):
        return self.warps
    def _set(self, value):
        self.warps = value
    count = property(_get, _set, doc="warps")
    also = property(fget=operator.attrgetter("warps"))
    def __init__(self):
        self.warps = 5

op = Op()
cute.make_layout((op.threads, op.count, 1))
op.count = 9
cute.make_layout((op.warps, op.also, 2))
cute.make_layout((json.loads('{"tile": [128, 64], "stages": 3}')["tile"][1], 3))
cute.make_layout((next(filter(lambda w: w < 64, (64, 32, 16))), next(map(abs, (-6, 5))), 4))
pairs = zip((7, 9), (8, 6))
cute.make_layout((next(pairs)[0], len(list(pairs)), len(list(pairs)) + 1, 5))  # what is left, then nothing
cute.make_layout((next(reversed([1, 2, 3])), next(enumerate("abc", 3))[0], 6))
"""


def test_properties_that_are_called_and_iterators(tmp_path: Path) -> None:
    made = driver(tmp_path, ITERATORS)
    found = {str(s.result).partition(":")[0] if s.status == "resolved" else s.status for s in sites(made)}
    assert found == {"(160,5,1)", "(9,9,2)", "(64,3)", "(32,6,4)", "(7,1,1,5)", "(3,3,6)"}


STARS = """
from functools import *
from collections import *
from typing import *
import bisect
import cutlass.cute as cute

@singledispatch
def kind(x):
    return 1

@kind.register
def _(x: int):
    return 2

class Tile(TypedDict, total=False):
    rows: int

cute.make_layout((kind(1), kind(""), 1))
cute.make_layout((defaultdict(lambda: 6)["q"], Tile(rows=10)["rows"], partial(pow, 2)(5), 2))
cute.make_layout((bisect.bisect_left([64, 128, 256], 128) + 1, bisect.bisect([64, 128], 128), 3))
cute.make_layout((dict.fromkeys("ab", 5)["a"], 7 if issubclass(bool, int) else 8, 4))
"""


def test_names_that_a_star_brings(tmp_path: Path) -> None:
    made = driver(tmp_path, STARS)
    found = {str(s.result).partition(":")[0] if s.status == "resolved" else s.status for s in sites(made)}
    assert found == {"(2,1,1)", "(6,10,32,2)", "(2,2,3)", "(5,7,4)"}


WRAPPED = """
import functools
import inspect
import cutlass.cute as cute

def plus(k):
    def outer(f):
        @functools.wraps(f)
        def inner(*a, **kw):
            return f(*a, **kw) + k
        inner.original = f
        return inner
    return outer

@plus(3)
@plus(4)
def f(x, y=2):
    return x * y

class Counted:
    def __init__(self, f):
        functools.update_wrapper(self, f)
        self.f, self.calls = f, 0

    def __call__(self, *a):
        self.calls += 1
        return self.f(*a)

@Counted
def twice(x):
    return 2 * x

cute.make_layout((f(5), f.original(5), f.__wrapped__.__wrapped__(5), len(inspect.signature(f).parameters), 1))
cute.make_layout((twice(4), twice.calls, len(twice.__name__), twice.__wrapped__(7), 2))
cute.make_layout(({g.__name__: g for g in (f, twice)}["f"](1), 3))
"""


def test_functions_that_wrap_others_have_their_names(tmp_path: Path) -> None:
    made = driver(tmp_path, WRAPPED)
    found = {str(s.result).partition(":")[0] if s.status == "resolved" else s.status for s in sites(made)}
    assert found == {"(17,14,10,2,1)", "(8,1,5,14,2)", "(9,3)"}
