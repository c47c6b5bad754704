"""Every reader of files that people did not write for cutecheck: any content ends in a result or one clear line."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cutecheck.cli import main

EXAMPLES = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
CPP = """#include <cute/tensor.hpp>
using namespace cute;
// cutecheck: assume n % 8 == 0
using Atom = Copy_Atom<UniversalCopy<uint128_t>, half_t>;
using Copy = decltype(make_tiled_copy(Atom{}, Layout<Shape<_32>>{}, Layout<Shape<_8>>{}));
__global__ void k(half_t const* p, int n) {
  __shared__ half_t s[256];
  auto t = Copy{}.get_slice(threadIdx.x);
  auto g = make_tensor(make_gmem_ptr(p), Layout<Shape<_256>>{});
  auto d = make_tensor(make_smem_ptr(s), Layout<Shape<_256>>{});
  copy(Copy{}, t.partition_S(g), t.partition_D(d));  // cutecheck: ignore[CUT101] x
}
"""
SMALL = """#include <cute/tensor.hpp>
using namespace cute;
using Atom = Copy_Atom<UniversalCopy<uint128_t>, half_t>;
using Copy = decltype(make_tiled_copy(Atom{}, Layout<Shape<_32>>{}, Layout<Shape<_4>>{}));  // a finding
"""
DSL = """import cutlass
import cutlass.cute as cute
# cutecheck: instantiate Kernel(tile=(128, 64))
class Kernel:
    def __init__(self, tile=(128, 64)):
        self.tile = tile
        atom = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_layout((8, 64), stride=(64, 1)))
        self.layout = cute.tile_to_shape(atom, tile, (0, 1))
    @cute.jit
    def __call__(self, m: cute.Tensor):
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128)
        copy = cute.make_tiled_copy_tv(atom, cute.make_layout((16, 8), stride=(8, 1)), cute.make_layout((1, 8)))
        print(f"{copy} {self.layout}" % 3, [x for x in range(4)], {"a": 1}["a"])
if __name__ == "__main__":
    Kernel()(None)
"""
CONFIG = """select = ["CUT1"]
ignore = ["CUT101"]
arch = ["sm_80"]
include = ["inc"]
define = ["A=1"]
assume = ["n % 8 == 0"]
instantiate = ["K<128>"]
unknown = "warn"
fail-on = "warning"
max-steps = 1000
[severity]
CUT101 = "error"
[per-path]
"a/**" = { ignore = ["CUT102"] }
"""
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary().map(lambda b: b.decode("latin-1")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
ODD = (b"\x00", b"\xff", b"{", b"]]]", b"<" * 40, b"-1", b"99999999999999999999", b"\n", b"'''")


def mutated(text: str, seed: int) -> bytes:
    """The text with a few cuts, repetitions, swaps and odd bytes."""
    at = random.Random(seed)
    data = bytearray(text.encode())
    for _ in range(at.randint(1, 6)):
        a, b = sorted(at.randrange(len(data) + 1) for _ in range(2))
        b = min(b, a + at.choice((1, 4, 40)))
        how = at.randrange(4)
        if how == 0:
            del data[a:b]
        elif how == 1:
            data[a:a] = data[a:b] * at.choice((1, 3))
        elif how == 2:
            data[a:b] = at.choice(
                (b"\x00", b"\xff", b"{", b"]]]", b"<" * 40, b"-1", b"99999999999999999999", b"\n", b"'''")
            )
        else:
            other = at.randrange(len(data) + 1)
            data[a:b] = data[other : other + b - a]
    return bytes(data)


def answers(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> int:
    """Run a check that is no crash: a known exit code and no fault of our own."""
    code = main(["check", str(folder), "--no-cache", "--output-format", "concise", "-j", "1", *arguments])
    said = "".join(capsys.readouterr())
    assert code in (0, 1, 2, 3) and "internal error" not in said and "Traceback" not in said, said
    return code


def put(folder: Path, **files: bytes | str) -> None:
    for old in folder.iterdir():
        old.unlink()
    for name, content in files.items():
        data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
        (folder / name.replace("__", ".")).write_bytes(data)


@EXAMPLES
@given(seed=st.integers(0, 10**9))
@pytest.mark.parametrize(("name", "text"), [("k__cu", CPP), ("k__py", DSL), ("cutecheck__toml", CONFIG)])
def test_mutants(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, seed: int) -> None:
    put(tmp_path, a__cu=CPP, **{name: mutated(text, seed)})
    answers(tmp_path, capsys, "--file-timeout", "20")


def cell(source: object) -> dict[str, object]:
    return {"cell_type": "code", "source": source, "metadata": {}, "outputs": []}


DOCUMENTS: dict[str, Callable[[Any], tuple[str, Any, tuple[str, ...]]]] = {
    "notebook": lambda v: ("n.ipynb", {"nbformat": 4, "metadata": v, "cells": [cell(DSL), cell(v), v]}, ()),
    "baseline": lambda v: ("b.json", {"cutecheck_baseline": 1, "entries": v}, ("--baseline", "b.json")),
    "entry": lambda v: (
        "b.json",
        {"cutecheck_baseline": 1,
         "entries": [dict.fromkeys(("path", "code", "fingerprint", "severity", "message"), v)]},
        ("--baseline", "b.json"),
    ),
    "commands": lambda v: (
        "compile_commands.json",
        [{"directory": v, "file": "a.cu", "command": v}, {"file": v, "arguments": v}],
        (),
    ),
    "any commands": lambda v: ("compile_commands.json", v, ()),
}  # fmt: skip


@EXAMPLES
@given(value=VALUES)
@pytest.mark.parametrize("kind", DOCUMENTS)
def test_json_of_any_shape(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, kind: str, value: object
) -> None:
    monkeypatch.chdir(tmp_path)
    name, document, more = DOCUMENTS[kind](value)
    put(tmp_path, a__cu=SMALL, **{name.replace(".", "__"): json.dumps(document)})
    answers(tmp_path, capsys, *more)


KEYS = ("select", "include", "severity", "per-path", "max-steps", "cache-dir", "baseline", "unknown", "instantiate",
        "assume", "define", "arch", "compile-commands")  # fmt: skip


@EXAMPLES
@given(value=VALUES, key=st.sampled_from(KEYS))
def test_settings_of_any_shape(tmp_path: Path, capsys: pytest.CaptureFixture[str], value: object, key: str) -> None:
    def toml(v: object) -> str:
        if isinstance(v, dict):
            return "{" + ", ".join(f"{json.dumps(k)} = {toml(x)}" for k, x in v.items()) + "}"
        if isinstance(v, list):
            return "[" + ", ".join(map(toml, v)) + "]"
        return "nan" if isinstance(v, float) else json.dumps("" if v is None else v)

    for shaped in (value, [value], [str(value)], {str(value): value}, {"a/**": {"ignore": value}}):
        put(tmp_path, a__cu=CPP, cutecheck__toml=f"{key} = {toml(shaped)}\n")
        answers(tmp_path, capsys)


@pytest.mark.parametrize("name", ["cutecheck.toml", "b.json", "compile_commands.json", "n.ipynb"])
@pytest.mark.parametrize(
    "content",
    [b"[" * 200_000, b"x = " + b"[" * 100_000, b"\xff\xfe", b"", b"null", b'{"a":' * 100_000],
    ids=["nested", "nested value", "utf-16", "empty", "null", "nested objects"],
)
def test_documents_that_are_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str, content: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path, a__cu=CPP, **{name.replace(".", "__"): content})
    answers(tmp_path, capsys, *(["--baseline", "b.json"] if name == "b.json" else []))
