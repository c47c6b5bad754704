"""What leads to a kernel from afar: tests without a name of CuTe, generated functions and classes, caches by digest."""

from __future__ import annotations

import hashlib
import json
import textwrap
from pathlib import Path

import pytest

from cutecheck.cli import main
from cutecheck.source.dsl.drivers import Driver
from cutecheck.source.dsl.extract import archs_of
from cutecheck.source.dsl.library import Library
from cutecheck.source.eval.limits import Limits
from cutecheck.source.imports import drivers
from cutecheck.tests.source.dsl.run import driver, results, sites, variables

KERNEL = """
import cutlass
import cutlass.cute as cute

@cute.jit
def host(rows: cutlass.Constexpr, cols: cutlass.Constexpr):
    cute.make_layout((rows, cols))
"""
MIDDLE = """
from kernel import host

def launch(rows, cols):
    host(rows, cols)
"""
TEST = """
import pytest
from middle import launch

@pytest.mark.parametrize("cols", [4, 5, 6])
@pytest.mark.parametrize("rows", [1, 2])
def test_rows(rows, cols):
    launch(rows, cols)

def test_plain():
    launch(7, 7)

def helper():
    launch(9, 9)
"""


def _tree(folder: Path) -> dict[str, Path]:
    texts = {"kernel": KERNEL, "middle": MIDDLE, "test_kernel": TEST, "unrelated": "def test_x(): ..."}
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    return {p.name: p for p in sorted(folder.glob("*.py"))}


def test_tests_that_lead_to_kernels_are_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = _tree(tmp_path)
    assert drivers(["kernel.py"], files) == ["test_kernel.py"]
    assert drivers([], files) == []
    main(["facts", str(tmp_path), "--output-format", "json", "--no-cache"])
    found = json.loads(capsys.readouterr().out)
    layouts = {s["result"] for s in found["sites"] if s["status"] == "resolved"}
    # the first of each parameter, then each other one in turn; what nothing calls is a call itself
    assert layouts == {
        f"({r},{c}):({0 if r == 1 else 1},{r})" for r, c in ((1, 4), (1, 5), (1, 6), (2, 4), (7, 7), (9, 9))
    }


@pytest.mark.parametrize(
    ("files", "found"),
    [
        # a package hands on what its modules have
        ({"p/__init__.py": "from .middle import launch", "p/middle.py": "from ..kernel import host as launch",
          "test_a.py": "from p import launch\ndef test(): ...\ndef test_rows():\n    launch(2, 3)"}, ["test_a.py"]),
        # a package imports its modules when they are asked for
        ({"p/__init__.py": "import importlib\ndef __getattr__(name):\n    "
          "return getattr(importlib.import_module('.middle', __name__), name)",
          "p/middle.py": "from kernel import host as launch", "p/unrelated.py": "def f(): ...",
          "test_a.py": "def test_rows():\n    from p import launch\n    launch(2, 3)",
          "test_b.py": "import q\ndef test_rows(): ..."}, ["test_a.py"]),
        ({"p/__init__.py": "", "p/own.py": "from kernel import host",
          "bench.py": "from p import (  # all\n  own,)\nown.host(4, 5)"}, ["bench.py"]),
        ({"p.py": "import kernel as k, os\ndef f():\n    k.host(1, 2)\nprint(1)",
          "main.py": "import p\nfor i in [1]:\n    p.f()"}, ["main.py"]),  # p only says something when it is imported
        ({"p.py": "import kernel", "setup.py": "from setuptools import setup\nsetup()"}, []),
        ({"book.ipynb": json.dumps({"cells": [{"cell_type": "code", "source": [
            "from kernel import \\\n", "    host\n", "host(6, 7)"]}]})}, ["book.ipynb"]),
    ],
)  # fmt: skip
def test_what_leads_to_a_kernel(tmp_path: Path, files: dict[str, str], found: list[str]) -> None:
    for name, text in {"kernel.py": KERNEL, **files}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    shown = {name: tmp_path / name for name in ("kernel.py", *files)}
    assert drivers(["kernel.py"], shown) == found
    for name in found:
        run = Driver(Library(shown, (tmp_path,), None), "sm_80", Limits())
        run.run(tmp_path / name, name)
        assert sites(run)


def test_files_of_other_packages_mean_their_own_modules(tmp_path: Path) -> None:
    """``import typing`` is not ``dsl/typing.py``, nor is ``import core`` of another package ``dsl/core.py``."""
    texts = {
        "dsl/__init__.py": "", "dsl/typing.py": KERNEL, "dsl/core.py": KERNEL, "dsl/beside.py": "import core\ncore.f()",
        "other/__init__.py": "", "other/a.py": "import typing\nprint(typing.TYPE_CHECKING)",
        "other/b.py": "import core\nprint(core)", "c.py": "import sys\nsys.path += ['dsl']\nimport core\ncore.f()",
        "d.py": "from dsl.core import f\nf()",
    }  # fmt: skip
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    shown = {name: tmp_path / name for name in texts}
    assert drivers(["dsl/typing.py", "dsl/core.py"], shown) == ["dsl/beside.py", "c.py", "d.py"]


def test_a_test_runs_for_the_architectures_of_what_it_imports(tmp_path: Path) -> None:
    files = _tree(tmp_path)
    library = Library(files, (tmp_path,), None)
    data = files["test_kernel.py"].read_bytes()
    assert archs_of(library, files["test_kernel.py"], data) == ("sm_80",)
    files["kernel.py"].write_text("from cutlass.cute.nvgpu import tcgen05\n" + KERNEL)
    assert archs_of(library, files["test_kernel.py"], data) == ("sm_100a",)
    assert archs_of(library, files["test_kernel.py"], data + b"# sm_90, without code of the DSL") == (
        "sm_90a",
        "sm_100a",
    )
    assert archs_of(library, files["test_kernel.py"], data + b"# sm_90\nimport cutlass") == ("sm_90a",)
    files["kernel.py"].write_text("from cutlass.cute.nvgpu import tcgen05\nclass ForwardSm80:\n    pass\n" + KERNEL)
    assert archs_of(library, files["test_kernel.py"], data) == ("sm_100a", "sm_80")


def test_each_test_runs_once_before_any_runs_again(tmp_path: Path) -> None:
    text = """
    import pytest
    import cutlass.cute as cute

    @pytest.mark.parametrize("n", [1, 2])
    def test_a(n):
        cute.make_layout((3, n))

    @pytest.mark.parametrize("n", [1, 2])
    def test_b(n):
        cute.make_layout((4, n))
    """
    order = [str(s.result).split(":")[0] for s in sites(driver(tmp_path, text))]
    assert order == ["(3,1)", "(4,1)", "(3,2)", "(4,2)"]


def test_a_generated_class_is_found_in_a_cache_by_its_digest(tmp_path: Path) -> None:
    text = """
    import hashlib, inspect, sys
    from typing import NamedTuple
    import cutlass.cute as cute

    class Base:
        def __call__(self, rows):
            return cute.make_layout((rows, self.cols, *self.extra(2)))

    cache = {}

    def written(n):
        space = {"n": n}
        exec(compile(f"def extra(m, k={n}):\\n    return (m, k)", "<text>", "exec"), space)
        return space["extra"]

    def made(cols):
        fn = written(cols)
        names = tuple(inspect.signature(fn).parameters)
        digest = hashlib.sha256(f"{fn.__name__} {'-'.join(names)} {cols}".encode()).hexdigest()
        if digest not in cache:
            cache[digest] = type("Made", (Base,), {"cols": cols, "extra": staticmethod(fn)})
        return cache[digest]

    first, second, third = made(4), made(5), made(4)
    same, other = first is third, first is second
    Args = NamedTuple("Args", [("a", int), ("b", int)])
    fields, pair = Args._fields, Args._make((1, 2)).b
    digest = hashlib.sha256("extra".encode()).hexdigest()
    known = made.__defaults__, made.__module__ == __name__, written.__qualname__
    classes = [inspect.isclass(x) for x in (Base, first, int, cute.Float16, made, 3)]
    loaded = sys.modules.get("no such module")

    @cute.jit
    def host():
        third()(8)

    host()
    """
    found = variables(tmp_path, text)
    assert (found["same"], found["other"], len(found["cache"])) == (True, False, 2)
    assert (found["fields"], found["pair"]) == (("a", "b"), 2)
    assert found["digest"] == hashlib.sha256(b"extra").hexdigest()
    assert found["known"] == (None, True, "written")
    assert found["loaded"] is None
    assert found["classes"] == [True, True, True, True, False, False]
    assert ["(8,4,2,4):(1,8,32,64)"] in results(driver(tmp_path, text)).values()


def test_autograd_runs_forward_and_backward(tmp_path: Path) -> None:
    text = """
    import torch
    import cutlass
    import cutlass.cute as cute

    @cute.jit
    def kernel(rows: cutlass.Constexpr, cols: cutlass.Constexpr):
        cute.make_layout((rows, cols))

    @torch.library.custom_op("own::forward", mutates_args=())
    def forward_of(x, scale):
        kernel(x.shape[0], scale)

    class Op(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            ctx.save_for_backward(x)
            ctx.scale = scale
            torch.ops.own.forward(x, scale)
            return x

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            kernel(x.shape[1], gradient.shape[1] + ctx.scale)
            return gradient, None

    Op.apply(torch.empty(3, 5), 7)
    """
    found = results(driver(tmp_path, text))
    assert sorted(r for of_line in found.values() for r in of_line) == ["(3,7):(1,3)", "(5,12):(1,5)"]


def test_an_extent_that_is_left_of_the_elements(tmp_path: Path) -> None:
    text = """
    import torch
    a = torch.empty(6, 4).view(-1, 8).shape
    b = torch.empty(torch.empty(3).max(), 4).view(-1, 2).shape
    packed = torch.float4_e2m1fn_x2
    known = {torch.float16: 16, packed: 4}[torch.float4_e2m1fn_x2], packed.itemsize
    """
    found = variables(tmp_path, text)
    assert found["a"] == (3, 8)
    assert found["b"][0] != -1 and found["b"][1] == 2
    assert found["known"] == (4, 1)


def test_a_dictionary_written_under_an_unknown_condition_is_not_known(tmp_path: Path) -> None:
    text = """
    import cutlass.cute as cute

    def chosen(flag):
        found = {"rows": 4, "cols": 8}
        if flag > 3:
            found["rows"] = 5
            found.setdefault("more", 1)
            found.pop("cols")
        return found

    @cute.jit
    def host(flag: cute.Int32):
        cute.make_layout(chosen(flag)["rows"])

    host(4)
    """
    assert not any("4:1" in str(r) or "5:1" in str(r) for r in results(driver(tmp_path, text)).values())


def test_arrays_of_the_host_keep_their_extents(tmp_path: Path) -> None:
    text = """
    import torch
    lengths = torch.cat([torch.zeros(1, dtype=torch.int32), torch.empty(3).cumsum(0)])
    counted = torch.randperm(8)[:5].shape, torch.stack([torch.empty(2, 3)] * 4).shape, lengths.shape
    rows = torch.randperm(8)[: torch.empty(3).max()].shape[0]
    given = torch.some_function(lengths) is None, lengths is None
    device = isinstance(lengths.device, torch.Tensor), lengths.device == torch.device("cuda")
    """
    found = variables(tmp_path, text)
    assert found["counted"] == ((5,), (4, 2, 3), (4,))
    assert not isinstance(found["rows"], int)
    assert found["given"] == (False, False)
    assert found["device"] == (False, True)


@pytest.mark.parametrize(
    "text",
    ["{1, 2} - {2}", "{1} | {2}", "{1, 2} & {2, 3}", "{1, 2} ^ {2, 3}", "{2} <= {1, 2}", "{1, 2} < {1, 2}",
     "{1, 2} == {2, 1}", "isinstance({1}, set)", "isinstance({1}, list)", "set('ab') > {'a'}"],
)  # fmt: skip
def test_sets_are_python_s(text: str, tmp_path: Path) -> None:
    expected = eval(text)
    found = variables(tmp_path, f"result = {text}")["result"]
    assert (set(found) if isinstance(expected, set) else found) == expected


def test_scripts_tell_the_configurations_of_a_kernel_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.py").write_text(
        textwrap.dedent("""
        import cutlass
        import cutlass.cute as cute

        class Op:
            def __init__(self, rows):
                self.rows = rows

            @cute.kernel
            def kernel(self):
                t = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float16, cute.make_layout((self.rows, 8)))
                cute.autovec_copy(t, cute.make_rmem_tensor_like(t))

            @cute.jit
            def __call__(self):
                self.kernel().launch(grid=(1, 1, 1), block=(32, 1, 1))
        """)
    )
    (tmp_path / "a.py").write_text("from k import Op\nop = Op(8)\nop()\nOp(8)()\nop.rows = 24\nop()\n")
    (tmp_path / "b.py").write_text("from k import Op\nOp(16)()\nOp(8)()\n")
    main(["facts", str(tmp_path), "--output-format", "json", "--no-cache", "--isolated"])
    found = json.loads(capsys.readouterr().out)
    names = {b["enclosing"].rpartition("::")[2]: b["size_bytes"] for b in found["buffers"]}
    assert names == {"kernel": 128, "kernel<configuration 2>": 384, "kernel<configuration 3>": 256}
    accesses = [ident for b in found["buffers"] for ident in b["accesses"]]
    assert sorted(accesses) == sorted(e["event_id"] for e in found["events"])
    assert len(accesses) == 3


def test_what_a_test_cached_goes_with_it(tmp_path: Path) -> None:
    text = """
    import dataclasses, functools
    import pytest
    import cutlass.cute as cute

    @dataclasses.dataclass(frozen=True)
    class Config:
        rows: int

        @functools.cached_property
        def threads(self):
            return self.rows * 32

    @functools.lru_cache(maxsize=None)
    def made(cfg):
        cols = cfg.threads
        return lambda n: cute.make_layout((cols, n))

    @pytest.mark.parametrize("n", [1, 2])
    def test_rows(n):
        a, b = Config(4), dataclasses.replace(Config(8), rows=4)
        a.threads
        made(a)(n)
        if a == b:
            made(b)(n + 5)
    """
    assert [str(s.result).split(":")[0] for s in sites(driver(tmp_path, text))] == [
        "(128,1)", "(128,6)", "(128,2)", "(128,7)",
    ]  # fmt: skip


def test_what_tests_are_called_with(tmp_path: Path) -> None:
    text = """
    import contextlib, unittest
    import pytest, torch
    import torch.multiprocessing as mp
    from hypothesis import given, strategies as st
    from parameterized import parameterized
    import cutlass.cute as cute

    def go(*n):
        cute.make_layout(tuple(n))

    class T(unittest.TestCase):
        @parameterized.expand([(1, 2), ("name", 3)])
        def test_expanded(self, a, b):
            go(1, b)

        def test_refused(self):
            with self.assertRaises(ValueError):
                go(2, 2)
            go(2, 3)

    @given(st.sampled_from([4, 5]), flag=st.booleans())
    def test_drawn(n, flag):
        go(3, n, 1 + int(flag))

    SHAPES = {"small": (6, 7)}

    @pytest.mark.parametrize("name", SHAPES)
    def test_named(name):
        with pytest.raises(ValueError), contextlib.suppress():
            go(4, 0)
        with contextlib.suppress(KeyError):
            raise KeyError
        go(4, *SHAPES[name])

    class TestX:
        @pytest.fixture(autouse=True)
        def _width(self):
            self.width = 8

        @pytest.mark.parametrize("n", range(2, 4))
        def test_of_class(self, n):
            go(5, self.width, n)

    def worker(rank, n):
        go(6, rank + 1, n)

    def test_processes():
        mp.spawn(worker, args=(9,), nprocs=2)
    """
    found = {str(s.result).split(":")[0] for s in sites(driver(tmp_path, text)) if s.status == "resolved"}
    assert found == {
        "(1,2)", "(1,3)", "(2,3)", "(3,4,1)", "(3,5,1)", "(3,4,2)", "(4,6,7)", "(5,8,2)", "(5,8,3)", "(6,1,9)",
    }  # fmt: skip
