"""A guess of what a loop changes saves a rehearsal where it is right, and changes no fact where it is wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cutecheck.source.eval.statements import recurrences
from cutecheck.source.eval.statements.guesses import Guess
from cutecheck.source.extract import ExtractRequest, extract

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
struct State {
  int index = 0; int phase = 0;
  CUTE_DEVICE void advance(int by) { index = (index + by) % 4; phase = by; }
};
struct Main {
  State own;
  int met = 0;
  template <class T> CUTE_DEVICE void run(half_t* s, int n, State& theirs, T) {
    int far = 0;
    for (int k = 0; k < n; ++k) {
      for (int j = 0; j < 3; ++j) {
        auto S = make_tensor(make_smem_ptr(s) + 64 * own.index, Layout<_8>{});
        auto r = make_tensor<half_t>(Layout<_8>{});
        copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{}, S, r);
        auto P = make_tensor(make_smem_ptr(s) + 8 * theirs.phase, Layout<_8>{});
        copy(P, r);
        auto F = make_tensor(make_smem_ptr(s) + 16 * far + met, Layout<_8>{});
        copy(F, r);
        own.advance(1);
        if (T::value) { far += 2; }
      }
      theirs.advance(n);
      ++met;
    }
  }
};
template <bool B> __global__ void kernel(int n) {
  __shared__ alignas(128) half_t s[65536];
  State outside; Main m;
  for (int tile = 0; tile < n; ++tile) { m.run(s, n, outside, bool_constant<B>{}); }
  m.run(s, m.met, outside, bool_constant<B>{});
}
void host() { kernel<true><<<1, 32>>>(3); kernel<false><<<1, 32>>>(3); kernel<true><<<1, 64>>>(3); }
"""


def _facts(path: Path) -> set[str]:
    """What copies were met, without the names of variables made on the way, and the order of terms that follows."""
    told = set()
    for e in extract(ExtractRequest((path,), ("sm_80",))).events:
        for o in e.operands:
            terms = re.sub(r"[\w.]+[#~]\d+", "v", str(o.offset)).split(" + ")
            told.add(f"{e.span} {e.enclosing} {e.guards} {o.layout} {sorted(terms)}")
    return told


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("guesses")
    (folder / "k.cu").write_text(KERNEL)
    return folder


@pytest.fixture(scope="module")
def right(source: Path) -> set[str]:
    """The facts that are found with the guesses that are made."""
    return _facts(source)


def _counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    walks: list[int] = []
    rehearse = recurrences._rehearse
    monkeypatch.setattr(recurrences, "_rehearse", lambda *given: (walks.append(1), rehearse(*given))[1])
    return walks


def test_guesses_change_no_fact_and_save_rehearsals(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    walks = _counted(monkeypatch)
    guessed = _facts(source)
    fewer = len(walks)
    assert len(guessed) > 6
    monkeypatch.setattr(recurrences, "guess", lambda *given: ())
    walks.clear()
    assert _facts(source) == guessed
    assert fewer < 0.8 * len(walks)


WRONG = [
    Guess(("n",), frozenset({"n"})),
    Guess(("far",), frozenset({"far"})),
    Guess(("outside", "index"), frozenset({"index"})),
    Guess(("this", "met"), frozenset({"met"})),
    Guess(("this", "own", "phase"), frozenset({"phase"})),
    Guess(("theirs",), frozenset({"theirs.index", "theirs.phase"})),
    Guess(("nobody", "at"), frozenset({"at"})),
]


ALL = len(WRONG)  # together


@pytest.mark.parametrize("number", [*range(len(WRONG)), ALL])
def test_a_wrong_guess_changes_no_fact(
    source: Path, right: set[str], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    guesses = tuple(WRONG) if number == ALL else (WRONG[number],)
    monkeypatch.setattr(recurrences, "guess", lambda *given: guesses)
    assert _facts(source) == right


def test_a_guess_that_were_not_checked_would_change_facts(
    source: Path, right: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recurrences, "guess", lambda *given: tuple(WRONG))
    monkeypatch.setattr(recurrences, "_changes", lambda *given: True)
    assert _facts(source) != right


MOVING = """
#include <cute/tensor.hpp>
using namespace cute;
template <bool Turns> __global__ void kernel(half_t const* a, int n) {
  auto g = make_tensor(make_gmem_ptr(a), make_layout(make_shape(_64{}, n), make_stride(n, _1{})));
  auto t = local_tile(g, Shape<_8, _8>{}, make_coord(threadIdx.x, 0));
  auto u = t;
  auto r = make_tensor<half_t>(Shape<_8, _8>{});
  for (int tile = 0; tile < n; ++tile) {
    for (int k = 0; k < n; ++k) {
      copy(t, r);
      copy(u, r);
      t.data() = t.data() + 64;
      if (Turns && k == 3) { u.data() = u.data() + 8 * tile; t.data() = t.data() + -8; }
    }
  }
}
void host(half_t const* a) { kernel<false><<<1, 8>>>(a, 3); kernel<true><<<1, 8>>>(a, 3); }
"""


def test_pointers_of_tensors_that_start_elsewhere_are_guessed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "k.cu").write_text(MOVING)
    walks = _counted(monkeypatch)
    guessed, fewer = _facts(tmp_path), len(walks)
    assert any("threadIdx" in told for told in guessed)
    monkeypatch.setattr(recurrences, "guess", lambda *given: ())
    walks.clear()
    assert _facts(tmp_path) == guessed
    assert fewer < 0.8 * len(walks)
    wrong = tuple(Guess((name,), frozenset({name, f"{name}'2"})) for name in "tu")
    monkeypatch.setattr(recurrences, "guess", lambda *given: wrong)
    assert _facts(tmp_path) == guessed
