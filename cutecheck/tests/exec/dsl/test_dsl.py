"""The DSL tier: spelling, crashes and limits of the child, and the real DSL where it is installed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cutecheck.exec import child
from cutecheck.exec.dsl import DslOptions, confirm
from cutecheck.exec.dsl.spell import UnspellableError, call, takes_tensors, value
from cutecheck.exec.dsl.tier import _bare, differences, trace
from cutecheck.facts import Facts, Site, Span, Unknown
from cutecheck.model.basis import ScaledBasis, X
from cutecheck.model.dtype import DType, dtype
from cutecheck.model.expr import ANY, Domain, const
from cutecheck.model.ints import Dyn
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle
from cutecheck.model.units import Bits
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

FIXTURES = Path(__file__).parents[3] / "fixtures" / "dsl"
MEMORY = '!cute.memref<f16, smem, align<1024>, S<3,4,3>, "((8,8),(64,1)):((64,512),(1,0))">'
TILES = """
import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_tensor

@cute.jit
def host(a: cute.Tensor):
    tiles = cute.zipped_divide(a, (32, 16))
    one = cute.local_tile(a, (32, 16), (0, None))
    rows = cute.group_modes(one, 1, 3)

cute.compile(host, make_fake_tensor(cutlass.Float16, (64, 64), stride=(64, 1), assumed_align=16))
"""
FAKE = """#!{python}
import json, os, sys, time
texts, start = json.load(open(sys.argv[-2])), int(sys.argv[-1])
print("\\n\\x1eversion 9.9", flush=True)
for i, text in list(enumerate(texts))[start:]:
    print(f"\\n\\x1e{{i}}", flush=True)
    if text == "crash":
        os.kill(os.getpid(), 8)
    if text == "loop":
        time.sleep(600)
    if text == "hog":
        b"x" * (1 << 40)
    print("\\n\\x1d" + json.dumps({{"value": text}}), flush=True)
print("\\n\\x1ecompiled", flush=True)
"""


@pytest.fixture
def fake(tmp_path: Path) -> str:
    """An interpreter that answers every expression with itself, and does as three of them say."""
    program = tmp_path / "python"
    program.write_text(FAKE.format(python=sys.executable))
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize(
    ("v", "text"),
    [
        (Layout((8, (4, 2)), (1, (8, 64))), "cute.make_layout((8, (4, 2, ), ), stride=(1, (8, 64, ), ))"),
        (ComposedLayout(Swizzle(3, 4, 3), 0, Layout(8, 1)),
         "cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, cute.make_layout(8, stride=1))"),
        (X, "None"),
        (ScaledBasis(2, (1, 0)), "cute.ScaledBasis(2, [1, 0])"),
        (dtype("half_t"), "element('Float16')"),
        (Dyn.named("m", Domain(step=8)), "cute.assume(i[0], divby=8)"),
        (Dyn.named("m:i64", ANY), "w[0]"),
        ("LayoutEnum.ROW_MAJOR", "enumerator('LayoutEnum.ROW_MAJOR')"),
        ({"kind": "Tensor", "dtype": "Float16", "type": MEMORY}, f"tensor({MEMORY!r}, 'Float16')"),
    ],
)  # fmt: skip
def test_spelling(v: object, text: str) -> None:
    assert value(v) == text


def test_one_run_time_name_is_one_parameter() -> None:
    m, n = Dyn.named("m"), Dyn.named("n")
    assert call("cute.make_layout", ((m, n, m),), ()) == "function('cute.make_layout')((i[0], i[1], i[0], ))"


@pytest.mark.parametrize(
    "v",
    ["__import__('os').system('touch pwned')", "$(touch pwned)", "x", Unknown("a tensor"),
     DType("$(touch pwned)", Bits(8)), {"kind": "a);b("}, Dyn(const(3)),
     {"kind": "Tensor", "type": "!cute.memref<f16>') or x('", "dtype": "Float16"},
     {"kind": "Tensor", "type": MEMORY, "dtype": "x"}, {"kind": "Tensor", "layout": None}],
)  # fmt: skip
def test_nothing_else_has_a_spelling(v: object) -> None:
    """Texts of the scanned source never become code."""
    with pytest.raises(UnspellableError):
        value(v)


def test_a_name_is_checked() -> None:
    with pytest.raises(UnspellableError):
        call("cute.make_layout(1) or __import__", (1,), ())


def test_a_crash_is_a_result_and_hides_nothing(fake: str) -> None:
    told, version, _ = trace(["a", "crash", "b"], "sm_80", DslOptions(fake))
    assert version == "9.9" and [t.value for t in told] == ["a", None, "b"]
    assert "SIGFPE" in told[1].failure


def test_time_and_memory_are_limited(fake: str) -> None:
    told, _, _ = trace(["loop", "a"], "sm_80", DslOptions(fake, child.Limits(seconds=1.0)))
    assert "stopped after" in told[0].failure and told[1].value == "a"
    told, _, _ = trace(["hog", "a"], "sm_80", DslOptions(fake, child.Limits(memory=2 << 30)))
    assert "exit code 1" in told[0].failure and told[1].value == "a"


def facts_of(name: str) -> Facts:
    return extract(ExtractRequest(paths=(FIXTURES / name,)))


def test_without_the_dsl_every_site_is_unavailable_with_the_reason(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho \"ModuleNotFoundError: No module named 'cutlass'\" >&2\nexit 1\n")
    program.chmod(0o755)
    made = confirm(facts_of("ldmatrix_rows.py"), DslOptions(str(program)))
    assert "nvidia-cutlass-dsl is not installed" in made.unavailable
    assert {c.status for c in made.confirmations} == {"unavailable"}


def test_a_site_of_cpp_is_not_asked() -> None:
    facts = extract(ExtractRequest(paths=(FIXTURES.parent / "cpp" / "ldmatrix_rows.cu",), archs=("sm_80",)))
    made = confirm(facts, DslOptions("/no/such/python"))
    assert all("a site of C++" in c.reason for c in made.confirmations) and made.unavailable == ""


def test_what_is_known_of_run_time_integers_is_no_contradiction(fake: str) -> None:
    """A parameter of the child is a multiple where the author's arithmetic has lost it; shapes count all the same."""
    here = Span("a.py", 1, 1, 1, 2)

    def told(ours: str) -> str:
        site = Site("s", "layout", "s", here, here, (), "sm_80", "resolved", None, None, (), "cute.size", ours, (8,))
        (made,) = confirm(Facts(sites=(site,)), DslOptions(fake)).confirmations
        return made.status

    text = "function('cute.size')(8)"  # what the fake answers
    assert told(text) == "confirmed"
    assert told(text.replace("8", "?{div=8}")) == "contradicted"
    assert differences("(1,?):(0,1)", "(1,?{div=8}):(0,1)") != ()
    assert _bare("(1,?{i64 div=8}):(0,1)") == _bare("(1,?):(0,1)") != _bare("(2,?):(0,1)")


def test_a_tiler_of_one_row(tmp_path: Path) -> None:
    """The DSL prints a mode of extent 1 with stride 0 (nvidia-cutlass-dsl 4.8.1)."""
    rows = TILES.replace(
        "    tiles =",
        """    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128)
    one_row = cute.make_tiled_copy_tv(atom, cute.make_layout((1, 128)), cute.make_layout((1, 8)))
    tiles =""",
    )
    (tmp_path / "tiles.py").write_text(rows)
    sites = {s.call: s for s in extract(ExtractRequest(paths=(tmp_path / "tiles.py",), archs=("sm_80",))).sites}
    result = sites["cute.make_tiled_copy_tv"].result
    assert isinstance(result, dict) and result["tiler_mn"] == ["1:0", "1024:1"]
    assert 'tiler_mn = <"[1:0;1024:1]">' in result["type"]


def test_tensors_are_arguments_by_their_type(tmp_path: Path) -> None:
    (tmp_path / "tiles.py").write_text(TILES)
    sites = {s.call: s for s in extract(ExtractRequest(paths=(tmp_path / "tiles.py",), archs=("sm_80",))).sites}
    first = sites["cute.zipped_divide"].arguments[0]
    assert isinstance(first, dict) and first["type"] == '!cute.memref<f16, gmem, align<16>, "(64,64):(64,1)">'
    assert all(takes_tensors(call(s.call, s.arguments, s.keywords)) for s in sites.values())


def test_what_takes_tensors_is_traced_and_not_compiled(fake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[bool, str]] = []

    def run(command: Sequence[str], folder: Path, limits: child.Limits, extra: dict[str, str]) -> child.Ended:
        asked.append(("CUTE_DSL_DRYRUN" in extra, json.loads(Path(command[3]).read_text())[0]))
        return child.Ended(1, "\n\x1eversion 9.9\n", "", 0.1)

    monkeypatch.setattr(child, "run", run)
    trace(["cute.make_layout(8)"], "sm_80", DslOptions(fake))
    trace([value({"kind": "Tensor", "dtype": "Float16", "type": MEMORY})], "sm_80", DslOptions(fake), compiled=False)
    assert asked == [(False, "cute.make_layout(8)"), (True, f"tensor({MEMORY!r}, 'Float16')")]


def test_every_stated_field_is_compared() -> None:
    ours = {"kind": "TiledCopy", "op": {"kind": "CopyUniversalOp"}, "size": 128, "tiler_mn": ["16:1", "64:1"]}
    assert differences(ours, {**ours, "op": None, "more": 1}) == ()
    for name, other in (("size", 64), ("tiler_mn", ["16:1"]), ("kind", "CopyAtom")):
        assert [d.field for d in differences(ours, {**ours, name: other})] == [name]
    assert [d.field for d in differences("8:1", "8:2")] == ["value"]


# ---------------------------------------------------------------- with the real DSL


def _has_dsl() -> bool:
    from importlib.util import find_spec

    return find_spec("nvidia_cutlass_dsl") is not None


DSL = os.environ.get("CUTECHECK_DSL_PYTHON", sys.executable if _has_dsl() else "")
REAL = pytest.mark.skipif(not DSL, reason="nvidia-cutlass-dsl is not installed (set CUTECHECK_DSL_PYTHON)")


@REAL
def test_the_dsl_says_what_we_say_and_a_mutation_is_contradicted() -> None:
    facts = facts_of("ldmatrix_rows.py")
    wrong = [replace(s, result=_mutated(s), value=None) for s in facts.sites if s.result is not None]
    made = confirm(replace(facts, sites=(*facts.sites, *wrong)), DslOptions(DSL))
    count = len(facts.sites)
    assert {c.status for c in made.confirmations[:count]} == {"confirmed"}
    assert {c.status for c in made.confirmations[count:]} == {"contradicted"}


def _mutated(site: Site) -> object:
    if isinstance(site.result, dict):
        name = "size" if "size" in site.result else "thr_id"
        return {**site.result, name: 7}
    return f"{site.result}9"


@REAL
def test_what_the_dsl_refuses_is_unavailable_with_its_words() -> None:
    told, _, _ = trace(["cute.make_layout((8, 4), stride=(1,))", "cute.make_layout(8)"], "sm_80", DslOptions(DSL))
    assert "the DSL refuses it" in told[0].failure and told[1].value == "8:1"


@REAL
def test_tensors_are_confirmed_and_a_mutated_one_is_contradicted(tmp_path: Path) -> None:
    (tmp_path / "tiles.py").write_text(TILES)
    facts = extract(ExtractRequest(paths=(tmp_path / "tiles.py",), archs=("sm_80",)))
    right = [s for s in facts.sites if isinstance(s.result, dict)]
    wrong = [replace(s, result={**s.result, "layout": "8:1"}) for s in right if isinstance(s.result, dict)]
    made = confirm(Facts(sites=(*right, *wrong)), DslOptions(DSL))
    assert [c.status for c in made.confirmations] == ["confirmed"] * 3 + ["contradicted"] * 3
