"""Bindings of Python classes and functions, and classes that a program makes while it runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cutecheck.cli import main
from cutecheck.source.dsl.instantiate import asked, in_comments
from cutecheck.tests.source.dsl.run import HEAD, variables

KERNEL = (
    HEAD
    + """
class Gemm:
    def __init__(self, tile, dtype, stages=3):
        self.tile, self.dtype, self.stages = tile, dtype, stages

    @cute.jit
    def __call__(self, mA: cute.Tensor):
        self._setup()

    def _setup(self):
        swizzle = cute.make_swizzle(3, 3, 3)
        atom = cute.make_composed_layout(swizzle, 0, cute.make_layout((8, 64), stride=(64, 1)))
        self.sA = cute.tile_to_shape(atom, (self.tile[0], self.tile[2], self.stages), (0, 1, 2))


def configure(bits):
    return cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=bits)
"""
)


def _facts(path: Path, *options: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    code = main(["facts", str(path), "--output-format", "json", *options])
    assert code == 0
    sites: list[dict[str, object]] = json.loads(capsys.readouterr().out)["sites"]
    return [s for s in sites if s["status"] == "resolved"]


def _results(sites: list[dict[str, object]], call: str) -> list[object]:
    return [s["result"] for s in sites if str(s.get("call")).endswith(call)]


def test_a_class_is_checked_for_the_declared_domain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "gemm.py").write_text(KERNEL)
    assert _results(_facts(tmp_path, capsys=capsys), "tile_to_shape") == []
    sites = _facts(
        tmp_path,
        *("--instantiate", "gemm.Gemm(tile=(128, 128, 64), dtype=Float16)"),
        *("--instantiate", "Gemm((64, 64, 128), cutlass.Float16, stages=2) @ sm_80"),
        *("--instantiate", "gemm.configure(64)"),
        capsys=capsys,
    )
    assert set(_results(sites, "tile_to_shape")) == {
        "S<3,3,3> o 0 o ((8,16),(64,1),(1,3)):((64,512),(1,0),(0,8192))",
        "S<3,3,3> o 0 o ((8,8),(64,2),(1,2)):((64,512),(1,4096),(0,8192))",
    }
    (atom,) = _results(sites, "make_copy_atom")
    assert isinstance(atom, dict) and atom["layout_src_tv"] == "(1,4):(0,1)"


def test_what_one_binding_reaches_is_not_unbound_for_another_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gemm.py").write_text("# cutecheck: instantiate Gemm((128, 128, 64), cutlass.Float16)\n" + KERNEL)
    (tmp_path / "wide.py").write_text(
        "from gemm import Gemm\nimport cutlass\nmade = Gemm((256, 128, 64), cutlass.Float16)\n"
    )
    assert main(["facts", str(tmp_path), "--output-format", "json"]) == 0
    sites = json.loads(capsys.readouterr().out)["sites"]
    assert {s["status"] for s in sites if s["call"] == "cute.tile_to_shape"} == {"resolved"}
    assert {s["status"] for s in sites if s["call"] == "cute.make_copy_atom"} == {"unbound"}


def test_the_configuration_and_comments_bind_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "gemm.py").write_text(KERNEL + "\n# cutecheck: instantiate configure(32)\n")
    config = '[tool.cutecheck]\ninstantiate = ["gemm.Gemm(tile=(128, 128, 64), dtype=Float16)"]\n'
    (tmp_path / "pyproject.toml").write_text(config)
    sites = _facts(tmp_path, capsys=capsys)
    assert len(_results(sites, "tile_to_shape")) == 1
    assert len(_results(sites, "make_copy_atom")) == 1


def test_a_binding_that_fails_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "gemm.py").write_text(KERNEL)
    main(["facts", str(tmp_path), "--output-format", "json", "--instantiate", "gemm.absent(1)"])
    errors = json.loads(capsys.readouterr().out)["errors"]
    assert any("absent" in e["message"] for e in errors)


@pytest.mark.parametrize(
    "text, advice",
    [
        ("gemm.Gemm_(tile=1)", "`Gemm_` is not defined"),  # the module is there, the name in it is not
        ("gamm.Gemn(1)", "did you mean `Gemm`?"),
        ("Kernal<128>", "did you mean `Kernel`?"),
        ("ns::Kernel<128>", "`ns` is not declared in the scanned files"),
        ("gemm.Gemm(tile=(128, 128, 64), dtype=Float16)", ""),
        ("cutlass::gemm::device::Gemm<int>", ""),
        ("12", "no scanned file defines it"),
    ],
)
def test_a_binding_that_names_nothing_is_an_error(
    text: str, advice: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gemm.py").write_text(KERNEL)
    (tmp_path / "k.cu").write_text("#include <cute/tensor.hpp>\ntemplate <int M> struct Kernel {};\nvoid gemm(int);\n")
    main(["facts", str(tmp_path), "--output-format", "json", "--instantiate", text])
    messages = [e["message"] for e in json.loads(capsys.readouterr().out)["errors"] if "instantiate" in e["message"]]
    assert len(messages) == bool(advice) and all(advice in m for m in messages)
    main(["facts", str(tmp_path / "k.cu"), "--output-format", "json", "--instantiate", text])
    single = [e["message"] for e in json.loads(capsys.readouterr().out)["errors"]]
    assert not any("no scanned file" in m for m in single)  # the tree may have it


def test_what_names_a_binding() -> None:
    files = {p: Path(p) for p in ("pkg/sub/mod.py", "pkg/__init__.py", "other.py")}
    found = asked("pkg.sub.mod.Class(tile=(1, 2)) @ sm_90a", files)
    assert found is not None
    assert (found.path, found.text, found.arch) == ("pkg/sub/mod.py", "Class(tile=(1, 2))", "sm_90a")
    short, long = asked("mod.f(1)", files), asked("sub.mod.f(1)", files)
    assert short is not None and long is not None and (short.path, short.text) == (long.path, long.text)
    assert asked("Kernel<128, 64, half_t>", files) is None
    (one,) = in_comments("m.py", Path("m.py"), "x = 1\ny = 2  # cutecheck: instantiate f(1) @ sm_80\n")
    assert (one.text, one.arch, one.span.line) == ("f(1)", "sm_80", 2)


MADE = """
from dataclasses import dataclass, fields, make_dataclass, MISSING
from types import SimpleNamespace
from typing import NamedTuple


class Mark:
    def __init__(self, inner):
        self.inner = inner

    def __class_getitem__(cls, inner):
        return cls(inner)


class Split:
    def __init__(self, cls):
        notes = dict(cls.__annotations__)
        self.marked = [k for k, v in notes.items() if isinstance(v, Mark)]
        self.made = type(cls.__name__ + "2", (), {"__annotations__": {"q": int}, "answer": 42})


def split(cls):
    return Split(cls)


@split
class Storage:
    a: Mark[int]
    b: float


class Base:
    sizes = ()

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.total = sum(cls.sizes)


class Derived(Base):
    sizes = (1, 2, 3)


Params = make_dataclass("Params", [("x", int), ("y", int, 5)], bases=(Base,))
Point = NamedTuple("Point", [("u", int), ("v", int)])
p = Params(3)
point = Point(7, v=8)
x, y, u, v = p.x, p.y, *point
marked, made, answer = Storage.marked, Storage.made.__name__, Storage.made.answer
total = Derived.total
missing = getattr(point, "w", None)
"""


def test_classes_made_while_the_program_runs(tmp_path: Path) -> None:
    v = variables(tmp_path, MADE)
    assert (v["x"], v["y"], v["u"], v["v"]) == (3, 5, 7, 8)
    assert (v["marked"], v["made"], v["answer"], v["total"]) == (["a"], "Storage2", 42, 6)
    assert v["missing"] is None


def test_a_package_scanned_from_inside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "sizes.py").write_text("BITS = 64\n")
    (package / "gemm.py").write_text(
        KERNEL + "\ndef wide():\n    from pkg.sizes import BITS\n\n    return configure(BITS)\n"
    )
    facts = _facts(package, "--instantiate", "pkg.gemm.wide()", capsys=capsys)
    (atom,) = _results(facts, "make_copy_atom")
    assert isinstance(atom, dict) and atom["layout_src_tv"] == "(1,4):(0,1)"


def test_what_a_function_returns_need_not_be_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A cache of the program's hands back what was compiled, or what it read: the kernel was walked all the same."""
    (tmp_path / "gemm.py").write_text(
        KERNEL
        + """
import os


def cached(bits, there=os.environ.get("THERE")):
    made = configure(bits)
    return made if there else open("made.o")
"""
    )
    main(["facts", str(tmp_path), "--output-format", "json", "--instantiate", "gemm.cached(32, os.getpid())"])
    found = json.loads(capsys.readouterr().out)
    assert found["errors"] == []
    assert len(_results(found["sites"], "make_copy_atom")) == 1
