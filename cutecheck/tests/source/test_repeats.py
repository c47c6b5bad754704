"""Calls by host code that repeat what came to nothing: they end no evaluation, and hide nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.facts import Facts
from cutecheck.source.eval.limits import Limits
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

STATEMENTS = " ".join(f"s = s * 3 + {i};" for i in range(150))
HEADER = """
#include <cute/tensor.hpp>
template <int N> __global__ void kernel(float* p) {
  auto g = cute::make_tensor(cute::make_gmem_ptr(p), cute::make_layout(cute::Int<N>{}));
  auto r = cute::make_tensor<float>(cute::Int<N>{});
  cute::copy(g, r);
}
struct Options { int mode = 1; int rounds = 0; };
struct Runner {
  Options options;
  int state = 4;
  void run(float* p, int mode) {
    int s = mode;
    REPEATED
    state = 8;
    kernel<16><<<1, 32>>>(p);
    if (mode == 2) kernel<32><<<1, 32>>>(p);
    if (options.mode == 2) kernel<32><<<1, 32>>>(p);
  }
  void benchmark(float* p, int n) {
    for (int i = 0; i < n; ++i) run(p, 1);
    for (int i = 0; i < n; ++i) run(p, 1);
  }
};
""".replace("REPEATED", STATEMENTS)
HOST = "float* p; Runner r; r.options.mode = 1;"
LIMITS = Limits(idle_steps=9_000)
LONG = "r.benchmark(p, n); " * 6
AGAIN = "r.run(p, 1); " * 60


def facts(folder: Path, body: str, limits: Limits = LIMITS) -> Facts:
    (folder / "a.cu").write_text(f"{HEADER}int main(int n, char**) {{ {HOST} {body} }}\n")
    return extract(ExtractRequest((folder,), limits=limits))


def kernels(found: Facts) -> set[str]:
    return {e.enclosing for e in found.events}


def after(found: Facts) -> str:
    (site,) = (s for s in found.sites if s.symbol.endswith("after"))
    return str(site.value)


@pytest.mark.parametrize("calls", [LONG, "r.run(p, 1); " + LONG, AGAIN, LONG + AGAIN])
def test_what_is_launched_after_repeats_is_found(calls: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = calls + "kernel<64><<<1, 32>>>(p);"
    found = facts(tmp_path, body)
    assert not found.errors
    assert {"kernel<16>", "kernel<64>"} <= kernels(found)
    patient = facts(tmp_path, body, Limits(idle_steps=1_000_000))
    assert {"kernel<16>", "kernel<64>"} <= kernels(patient)
    assert not patient.dropped
    monkeypatch.setattr("cutecheck.source.eval.calls.repeat", lambda *_: None)
    assert "kernel<64>" not in kernels(facts(tmp_path, body))


@pytest.mark.parametrize("calls", [LONG, AGAIN])
def test_what_a_repeat_may_have_written_is_not_known(calls: str, tmp_path: Path) -> None:
    found = facts(tmp_path, calls + "auto after = cute::make_layout(r.state);")
    assert not found.errors
    assert after(found) not in ("4:_1", "8:_1")
    assert after(facts(tmp_path, AGAIN + "auto after = cute::make_layout(r.state);", Limits())) == "8:_1"


def test_repeats_are_counted(tmp_path: Path) -> None:
    ((name, count),) = facts(tmp_path, AGAIN).dropped
    assert name.endswith(":run")
    assert 10 < count < 60


@pytest.mark.parametrize("last", ["r.run(p, 2);", "r.options.mode = 2; r.run(p, 1);", "r.run(p, n);"])
def test_a_call_with_other_values_is_walked(last: str, tmp_path: Path) -> None:
    found = facts(tmp_path, AGAIN + last)
    assert not found.errors
    assert kernels(found) == {"kernel<16>", "kernel<32>"}


def test_another_instantiation_is_no_repeat(tmp_path: Path) -> None:
    step = "template <int N> void step(float* p) { int s = N; " + STATEMENTS + " kernel<N><<<1, 32>>>(p); }\n"
    calls = "step<8>(p); " * 60 + "step<24>(p);"
    (tmp_path / "a.cu").write_text(f"{HEADER}{step}void all(float* p) {{ {calls} }}\nint main() {{ all(nullptr); }}\n")
    found = extract(ExtractRequest((tmp_path,), limits=LIMITS))
    assert not found.errors
    assert {"kernel<8>", "kernel<24>"} <= kernels(found)


def test_processes_agree_on_repeats(tmp_path: Path) -> None:
    for i in range(7):  # more than there are processes
        body = f"{AGAIN} kernel<{8 + i}><<<1, 32>>>(p);"
        (tmp_path / f"u{i}.cu").write_text(f'#include "h.h"\nint f{i}() {{ {HOST} {body} }}\n')
    (tmp_path / "h.h").write_text(HEADER)
    one = extract(ExtractRequest((tmp_path,), limits=LIMITS))
    assert one.dropped
    assert extract(ExtractRequest((tmp_path,), limits=LIMITS, jobs=3)) == one
