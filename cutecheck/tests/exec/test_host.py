"""The host tier: what it asks, how it reads answers, and real answers where a compiler and headers exist."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cutecheck.cli.app import run as cutecheck
from cutecheck.exec.confirmation import Confirmation
from cutecheck.exec.headers import Headers, NoHeaders, find_headers
from cutecheck.exec.host import confirm
from cutecheck.exec.host.probes import expected, named, spelled
from cutecheck.exec.host.tier import _Plans
from cutecheck.exec.host.toolchain import blamed, parsed
from cutecheck.exec.spell import UnspellableError
from cutecheck.facts import Facts, Site, Span
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Dyn
from cutecheck.model.layout import ComposedLayout, Layout, SmemPtrFlag, Swizzle
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

FOUND = find_headers()
REAL = pytest.mark.skipif(
    isinstance(FOUND, NoHeaders), reason=FOUND.reason if isinstance(FOUND, NoHeaders) else "headers found"
)

SOURCE = """
#include <cute/tensor.hpp>
#include <cute/atom/mma_atom.hpp>
#include <cute/atom/copy_atom.hpp>
namespace cfg {
using namespace cute;
template <int kM, int kK, class Element>
struct Traits {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  using Op = SM80_16x8x16_F32F16F16F32_TN;
#else
  using Op = SM75_16x8x8_F32F16F16F32_TN;
#endif
  using Mma = TiledMMA<MMA_Atom<Op>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
  using SmemLayoutAtom = decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, Int<kK>>, Stride<Int<kK>, _1>>{}));
  using SmemLayout = decltype(tile_to_shape(SmemLayoutAtom{}, Shape<Int<kM>, Int<kK>>{}));
  using Copy = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, Element>{},
                                        Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
};
template <class T>
void kernel() {
  typename T::Mma mma;
  auto smem_copy = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
}
template void kernel<Traits<128, 64, half_t>>();
}  // namespace cfg
"""


def facts_of(folder: Path, source: str = SOURCE) -> Facts:
    file = folder / "config.hpp"
    file.write_text(source)
    return extract(ExtractRequest(paths=(file,), archs=("sm_80",)))


def layout_site(value: object) -> Site:
    here = Span("made.hpp", 1, 1, 1, 2)
    return Site("made", "layout", "made", here, here, (), "sm_80", "resolved", value)


# ---------------------------------------------------------------- without a compiler


def test_a_mutated_value_is_a_difference() -> None:
    site = layout_site(Layout((8, 4), (4, 1)))
    probe = spelled(site)
    answer = dict(expected(site.value))
    assert probe.differences(answer) == ()
    assert [d.field for d in probe.differences({**answer, "cosize": "_33"})] == ["cosize"]
    del answer["text"]
    missing = probe.differences(answer)
    assert [(d.field, d.ours, d.cute) for d in missing] == [("text", "(_8,_4):(_4,_1)", None)]


def test_names_in_function_bodies_are_not_named(tmp_path: Path) -> None:
    facts = facts_of(tmp_path)
    lines = SOURCE.split("\n")
    inside = next(s for s in facts.sites if s.symbol.endswith("::smem_copy"))
    with pytest.raises(UnspellableError, match="function body"):
        named(inside, lines)
    member = next(s for s in facts.sites if s.symbol.endswith("::SmemLayout"))
    assert "cfg::Traits<128,64,cutlass::half_t>::SmemLayout{}" in named(member, lines).body


def test_a_name_that_is_no_type_never_reaches_the_code(tmp_path: Path) -> None:
    member = next(s for s in facts_of(tmp_path).sites if s.symbol.endswith("::SmemLayout"))
    hostile = replace(member, symbol='cfg::Traits<1>{}; system("x"); Traits<2>::SmemLayout')
    with pytest.raises(UnspellableError):
        named(hostile, SOURCE.split("\n"))


def test_the_compiler_names_the_bad_probes() -> None:
    errors = """prelude.hpp: In function 'void f()':
cutecheck_probe_3:2:5: error: 'nope' was not declared in this scope
layout.hpp: In instantiation of 'x':
cutecheck_probe_7:3:1:   required from here
layout.hpp:10:2: error: static assertion failed: rank
layout.hpp:11:2: error: second
other.hpp: In function 'void g()':
other.hpp:1:1: error: nobody's
"""
    assert blamed(errors) == {
        3: "does not compile: 'nope' was not declared in this scope",
        7: "does not compile: static assertion failed: rank",
    }


def test_output_is_read_by_probe_and_a_crash_leaves_one_unfinished() -> None:
    output = "noise\n\x1e4\n\n\x1ftext\x1f_8:_1\n\x1frank\x1f_1\n\x1d\n\x1e9\n\x1ftext\x1f_2"
    assert parsed(output) == ({4: {"text": "_8:_1", "rank": "_1"}}, 9)


def test_without_a_compiler_everything_is_unavailable(tmp_path: Path) -> None:
    facts = facts_of(tmp_path)
    found = confirm(facts, NoHeaders("no compiler here"), lambda path: tmp_path / path)
    assert len(found) == len(facts.sites) > 0
    assert {(c.status, c.reason) for c in found} == {("unavailable", "no compiler here")}


def test_a_site_is_asked_in_one_unit(tmp_path: Path) -> None:
    """What is spelled goes with the author's file, where the same templates are instantiated for its name."""
    facts = facts_of(tmp_path)
    plans = _Plans(facts, lambda path: tmp_path / path, ("named", "rebuilt", "spelled"))
    ((source, sites), (without, rest)) = plans.groups.items()
    assert source is not None and source.path.endswith("config.hpp") and without is None
    assert [p.route for p in sites[0]] == ["named", "spelled"]
    assert all("named" not in {p.route for p in probes} for probes in rest)
    asked = [p for probes in (*sites, *rest) for p in probes]
    assert len(asked) == len(set(asked))


def test_python_is_not_compiled_as_cpp() -> None:
    here = Span("kernel.py", 1, 1, 1, 2)
    site = replace(layout_site(None), span=here, call_span=here)
    (found,) = confirm(Facts(sites=(site,)), Headers("no-compiler-is-started", Path(), (), "4.7.0"), lambda path: None)
    assert found.status == "unavailable" and "Python DSL" in found.reason


def test_formulas_are_compared_at_a_point() -> None:
    rows = Dyn.named("rows", Domain(lo=1, step=8))
    probe = spelled(layout_site(Layout((rows, 4), (4, 1))))
    ((name, number),) = probe.point
    assert name == "rows" and number in Domain(lo=1, step=8)
    assert dict(probe.expected)["text"] == f"({number},_4):(_4,_1)"
    assert f"int({number})" in probe.body
    many = Layout((rows * 65536, Dyn.named("columns")), (1, 2))
    with pytest.raises(UnspellableError, match="offsets"):
        spelled(layout_site(many))


def test_the_command_without_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    file = tmp_path / "config.hpp"
    file.write_text(SOURCE)
    monkeypatch.setattr("cutecheck.exec.headers.find_headers", lambda *_: NoHeaders("no compiler here"))
    assert cutecheck(["confirm", str(file), "--isolated", "--output-format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["summary"]["confirmed"] == 0 < document["summary"]["unavailable"]
    assert cutecheck(["confirm", str(file), "--isolated", "--unavailable", "error"]) == 1
    assert "host tier unavailable: no compiler here" in capsys.readouterr().out


def test_a_line_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    file = tmp_path / "config.hpp"
    file.write_text(SOURCE)
    line = next(n for n, text in enumerate(SOURCE.split("\n"), 1) if "using SmemLayout =" in text)
    monkeypatch.setattr("cutecheck.exec.headers.find_headers", lambda *_: NoHeaders("no compiler here"))
    assert cutecheck(["confirm", f"{file}:{line}", "--isolated", "--output-format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {c["symbol"].rpartition("::")[2] for c in document["confirmations"]} == {"SmemLayout"}


# ---------------------------------------------------------------- with CuTe's own headers


EXTENT = st.integers(1, 6)
LEAF = st.tuples(EXTENT, st.integers(-9, 9))
TREE = st.recursive(LEAF, lambda inner: st.lists(inner, min_size=1, max_size=3), max_leaves=5)


def built(tree: Any) -> tuple[Any, Any]:
    if isinstance(tree, tuple):
        return tree
    parts = [built(t) for t in tree]
    return tuple(p[0] for p in parts), tuple(p[1] for p in parts)


def random_layouts() -> list[object]:
    values: list[object] = []

    @settings(max_examples=40, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(TREE, st.sampled_from([None, 0, 3, SmemPtrFlag(16)]))
    def collect(tree: Any, offset: Any) -> None:
        layout = Layout(*built(tree))
        if offset is None:
            values.append(layout)
        else:
            positive = Layout(layout.shape, _absolute(layout.stride))
            values.append(ComposedLayout(Swizzle(2, 1, 3), offset, positive))

    collect()
    return values


@dataclass(frozen=True)
class Answers:
    right: dict[str, Confirmation]
    wrong: dict[str, Confirmation]
    bad_file: dict[str, Confirmation]
    random: list[Confirmation]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """One run for all: the right values, wrong ones, a member that does not exist, a file that does not compile."""
    folder = tmp_path_factory.mktemp("real")
    facts = facts_of(folder)
    wrong = {
        "SmemLayout": ComposedLayout(Swizzle(3, 3, 3), 0, Layout((128, 64), (64, 1))),
        "SmemLayoutAtom": ComposedLayout(Swizzle(2, 3, 3), 0, Layout((8, 64), (64, 1))),
    }
    mutated = [replace(s, value=wrong[_last(s)]) for s in facts.sites if _last(s) in wrong]
    mutated.append(replace(facts.sites[0], symbol="cfg::Traits<128,64,cutlass::half_t>::NoSuchMember"))
    other = SOURCE.replace("Shape<_2, _2, _1>", "Shape<_4, _1, _1>").replace("<3, 3, 3>", "<1, 3, 3>")
    bad = [replace(s, span=replace(s.span, path="bad.hpp")) for s in facts_of(folder, other).sites]
    facts_of(folder)
    (folder / "bad.hpp").write_text(other + "namespace cfg { inline auto bad() { return 1 } }\n")
    made = [layout_site(v) for v in random_layouts()]
    groups = (list(facts.sites), mutated, bad, made)
    everything = replace(facts, sites=tuple(s for group in groups for s in group))
    found = iter(confirm(everything, FOUND, lambda path: folder / path))
    answers = [[next(found) for _ in group] for group in groups]
    named_ones = [{_last(c.site): c for c in group} for group in answers[:3]]
    return Answers(*named_ones, answers[3])


def _last(site: Site) -> str:
    return site.symbol.rpartition("::")[2]


@REAL
def test_real_answers(real: Answers) -> None:
    assert {c.status for c in real.right.values()} == {"confirmed"}
    assert "named" in real.right["Mma"].routes  # its operation depends on __CUDA_ARCH__
    assert real.right["SmemLayout"].routes == ("named", "rebuilt", "spelled")
    assert real.right["smem_copy"].routes == ("rebuilt", "spelled")


@REAL
def test_a_wrong_extraction_is_contradicted_and_hides_nothing(real: Answers) -> None:
    assert real.wrong["SmemLayout"].status == real.wrong["SmemLayoutAtom"].status == "contradicted"
    differences = {d.field: d for a in real.wrong["SmemLayoutAtom"].attempts for d in a.differences}
    assert (differences["swizzle"].cute, differences["swizzle"].ours) == ("Sw<3,3,3>", "Sw<2,3,3>")
    missing = next(a for a in real.wrong["NoSuchMember"].attempts if a.route == "named")
    assert missing.status == "unavailable" and "NoSuchMember" in missing.reason


@REAL
def test_a_file_that_does_not_compile_leaves_the_other_routes(real: Answers) -> None:
    assert {c.status for c in real.bad_file.values()} == {"confirmed"}
    mma = real.bad_file["Mma"]
    assert mma.routes == ("spelled",)
    assert "bad.hpp does not compile on the host" in next(a.reason for a in mma.attempts if a.route == "named")


@REAL
def test_random_layouts_print_as_they_are_spelled(real: Answers) -> None:
    assert len(real.random) >= 40
    assert [(str(c.site.value), c.attempts) for c in real.random if c.status != "confirmed"] == []


def _absolute(stride: Any) -> Any:
    return tuple(map(_absolute, stride)) if isinstance(stride, tuple) else abs(stride)
