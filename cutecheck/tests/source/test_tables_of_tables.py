"""Tables of functions that packs of braced lists make, and whose rows are not known: each may be called."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.engine.check import check_facts
from cutecheck.model.prove import prove
from cutecheck.rules import RULES
from cutecheck.source.extract import ExtractRequest, extract

TEXT = """
#include <array>
#include <cute/tensor.hpp>
using namespace cute;
template <class T, int N> __global__ void kernel(T* p, int n) {
  auto t = make_tensor(make_gmem_ptr(p), make_layout(make_shape(Int<N>{}, n), make_stride(_1{}, n)));
  copy(AutoVectorizingCopyWithAssumedAlignment<128>{}, t(_, 1), make_tensor<T>(Shape<Int<N>>{}));
}
template <class T, int N> int run(int n) { kernel<T, N><<<1, 1>>>((T*)nullptr, n); return n; }
using Fn = int (*)(int);
"""
PACKED = TEXT + (
    "template <class... T> constexpr auto table() {"
    " return std::array<std::array<Fn, 2>, sizeof...(T)>{{{{&run<T, 4>, &run<T, 8>}}...}}; }\n"
    "static constexpr auto kTable = table<float, half_t>();\n"
    "int call(int i, int j, int n) { return kTable[i][j](n); }\n"
)
NUMBERS = TEXT + (
    "struct Pair { int a, b; };\n"
    "template <int... I> constexpr int second() { Pair rows[] = {{I, I + 1}...}; return rows[1].b; }\n"
    "void call(float* p, int n) { kernel<float, second<4, 7>()><<<1, 1>>>(p, n); }\n"
)
ROWS = TEXT + (
    "static constexpr Fn kRows[2][2] = {{&run<float, 4>, &run<float, 8>}, {&run<half_t, 4>, &run<half_t, 8>}};\n"
    "int call(int i, int j, int n) { if (n % 8) return 1; return kRows[i][AT](n); }\n"
)


def shapes(folder: Path, text: str) -> set[tuple[str, str]]:
    (folder / "k.cu").write_text(text)
    found = extract(ExtractRequest((folder,), ("sm_80",)))
    assert not found.errors and all(e.reason is None for e in found.events)
    return {(getattr(e.operands[0].dtype, "name", ""), str(e.operands[0].layout)) for e in found.events}


def test_a_pack_of_braced_lists_is_expanded(tmp_path: Path) -> None:
    every = {("float", "(_4):(_1)"), ("float", "(_8):(_1)"), ("half_t", "(_4):(_1)"), ("half_t", "(_8):(_1)")}
    assert shapes(tmp_path, PACKED) == every
    assert shapes(tmp_path, NUMBERS) == {("float", "(_8):(_1)")}


@pytest.mark.parametrize(("at", "checks", "open_"), [("j", True, 0), ("j == 1", True, 0), ("j", False, 4)])
def test_what_holds_before_the_call_holds_in_each(at: str, checks: bool, open_: int, tmp_path: Path) -> None:
    text = ROWS.replace("AT", at)
    (tmp_path / "k.cu").write_text(text if checks else text.replace("if (n % 8) return 1;", ""))
    outcomes = check_facts(extract(ExtractRequest((tmp_path,), ("sm_80",))), RULES, prove, lambda _: None).outcomes
    assert sum(o.verdict.value == "unknown" and o.obligation.property == "vector-aligned" for o in outcomes) == open_


HELD = TEXT + (
    "struct Named { const char* name; Fn fn; };\n"
    "static constexpr std::array<std::array<Fn, 2>, 1> kTable{{ {{run<float, 4>, run<float, 8>}} }};\n"
    'static Named versions[] = {{"a", run<float, 4>}, {"b", run<float, 8>}};\n'
    "int call(int i, int j, int n) { if (n % 8) return 1; CALL return 0; }\n"
)


@pytest.mark.parametrize(
    "call",
    [
        "kTable[i > 3][j](n);",
        "auto const& row = kTable[i]; row[j](n);",
        "for (auto& v : versions) v.fn(n);",
        "std::map<int, Fn> m; m[1] = run<float, 4>; m[2] = run<float, 8>; m[i](n);",
    ],
)
def test_what_the_host_asks_holds_of_what_is_called_through_anything(call: str, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(HELD.replace("CALL", call))
    outcomes = check_facts(extract(ExtractRequest((tmp_path,), ("sm_80",))), RULES, prove, lambda _: None).outcomes
    aligned = [o for o in outcomes if o.obligation.property == "vector-aligned"]
    assert len(aligned) == 2 and all(o.verdict.value != "unknown" for o in aligned)


@pytest.mark.parametrize("most", [64, 1])
def test_what_one_host_asks_does_not_hold_of_the_calls_of_another(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor where so many calls are met that those which ask nothing are not noted."""
    monkeypatch.setattr("cutecheck.source.eval.handed._MOST", most)
    call = "std::map<int, Fn> m; m[1] = run<float, 4>; m[2] = run<float, 8>; m[i](n);"
    unasked = f"int unasked(int i, int n) {{ {call} return 0; }}\nint call("
    text = HELD.replace("CALL", call).replace("int call(", unasked)
    (tmp_path / "k.cu").write_text(text)
    outcomes = check_facts(extract(ExtractRequest((tmp_path,), ("sm_80",))), RULES, prove, lambda _: None).outcomes
    aligned = [o for o in outcomes if o.obligation.property == "vector-aligned"]
    assert len(aligned) == 2 and all(o.verdict.value == "unknown" for o in aligned)


LOST = TEXT + (
    "static Fn versions[] = {nullptr};\n"
    "int call(int n, void (*change)(int&)) { if (n % 2) return 1; change(n); return run<float, 4>(n); }\n"
)


def test_a_number_that_changed_is_another_than_the_source_speaks_of(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(LOST)
    found = check_facts(extract(ExtractRequest((tmp_path,), ("sm_80",))), RULES, prove, lambda _: None)
    assert not [f for f in found.findings if f.code == "CUT402"]
    (tmp_path / "k.cu").write_text(LOST.replace("change(n);", ""))
    found = check_facts(extract(ExtractRequest((tmp_path,), ("sm_80",))), RULES, prove, lambda _: None)
    assert [f for f in found.findings if f.code == "CUT402"]
