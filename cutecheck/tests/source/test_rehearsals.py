"""Walking a loop's body before it counts leaves nothing behind, whatever is looked at inside."""

from pathlib import Path
from typing import Any

import pytest

from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.statements import recurrences
from cutecheck.source.extract import ExtractRequest, extract


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One item for each walk that finds out what a loop changes."""
    met: list[None] = []
    rehearse = recurrences._rehearse

    def counted(*given: object) -> recurrences.Written:
        met.append(None)
        return rehearse(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(recurrences, "_rehearse", counted)
    return met


LAUNCHED = """
#include <cute/tensor.hpp>
using namespace cute;
__global__ void k(float* p) {
  Tensor g = make_tensor(make_gmem_ptr(p), make_layout(_8{}));
  Tensor r = make_tensor<float>(Layout<_8>{});
  copy(g, r);
}
int main() {
  float worst = 0;
  for (int i = 0; i < 3; ++i) {
    if (worst > 1) worst = 2;
    k<<<1, 32>>>(nullptr);
  }
}
"""


def test_a_kernel_that_a_loop_launches_is_walked(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(LAUNCHED)
    assert len(extract(ExtractRequest((tmp_path,), ("sm_80",))).events) == 1


COPIED = """
#include <cute/tensor.hpp>
using namespace cute;
struct State {
  int index = 0; int phase = 0;
  __device__ void advance() { index += 1; if (index == 4) { index = 0; phase ^= 1; } }
};
__device__ void use(State* s) { s->advance(); }
__global__ void k(int n) {
  __shared__ half_t s[65536];
  State outer;
  for (int i = 0; i < n; ++i) {
    State first = outer;
    use(&first);
    State second = first;
    second.advance();
    outer.advance();
    copy(make_tensor(make_smem_ptr(s + 8 * outer.index), Layout<_8>{}), make_tensor<half_t>(Layout<_8>{}));
  }
}
void host(int n) { k<<<1, 32>>>(n); }
"""


def test_what_an_iteration_does_to_objects_of_its_own_is_not_looked_for_again(
    tmp_path: Path, walks: list[None]
) -> None:
    (tmp_path / "k.cu").write_text(COPIED)
    (event,) = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    assert len(walks) <= 3, "one that finds what changes, one that finds no more, one for what is computed from it"
    assert "index" in str(event.operands[0].offset)


PARTS = """
#include <cute/tensor.hpp>
using namespace cute;
struct In { int at; int other = 3; };
struct Par { In in; int y; };
struct Mid { Par par; In in; };
__global__ void k(Par p, Mid mid, int n) {
  extern __shared__ char raw[];
  __shared__ half_t s[65536];
  Par& shared = *reinterpret_cast<Par*>(raw);
  for (int i = 0; i < n; ++i) {
    copy(make_tensor(make_smem_ptr(s + WHAT), Layout<_8>{}), make_tensor<half_t>(Layout<_8>{}));
    WHAT += 8;
  }
}
void host(Par p, Mid mid, int n) { k<<<1, 32>>>(p, mid, n); }
"""


@pytest.mark.parametrize("what", ["p.in.at", "mid.par.in.at", "mid.in.other", "p.in.other", "p.y"])
def test_parts_that_an_iteration_asks_for_first_were_there_before(tmp_path: Path, what: str) -> None:
    (tmp_path / "k.cu").write_text(PARTS.replace("WHAT", what))
    (event,) = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    assert str(event.operands[0].offset).startswith("8*i#")


def test_a_number_in_shared_memory_that_an_iteration_writes_is_any(tmp_path: Path) -> None:
    """All threads write it."""
    (tmp_path / "k.cu").write_text(PARTS.replace("WHAT", "shared.in.at"))
    (event,) = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    assert str(event.operands[0].offset).startswith("at#")


BEHIND = """
#include <cute/tensor.hpp>
using namespace cute;
struct Bar { int count; };
__device__ void touch(int* count);
__global__ void k(int n, int base) {
  __shared__ Bar bars[8];
  __shared__ half_t s[65536];
  int at = 0;
  for (int i = 0; i < n; ++i) {
    ++at;
    if (at == 4) { at = 0; }
    BODY
  }
}
void host(int n, int base) { k<<<1, 32>>>(n, base); }
"""
COPY = "copy(make_tensor(make_smem_ptr(s + 8 * bars[{0}].count), Layout<_8>{{}}), make_tensor<half_t>(Layout<_8>{{}}));"


def test_objects_at_an_index_of_this_iteration_are_not_looked_for_again(tmp_path: Path, walks: list[None]) -> None:
    (tmp_path / "k.cu").write_text(BEHIND.replace("BODY", COPY.format("base") + " touch(&bars[at].count);"))
    assert len(extract(ExtractRequest((tmp_path,), ("sm_80",))).events) == 1
    assert len(walks) <= 2


@pytest.mark.parametrize(
    "body",
    [
        COPY.format("base") + " bars[base].count += 1;",
        # the index is as new as the outer iteration, and older than the inner one
        "for (int j = 0; j < n; ++j) { " + COPY.format("at") + " bars[at].count += 1; }",
    ],
)
def test_objects_at_an_older_index_are(tmp_path: Path, body: str) -> None:
    (tmp_path / "k.cu").write_text(BEHIND.replace("BODY", body))
    (event,) = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    assert str(event.operands[0].offset).startswith("8*count#")


NESTED = """
#include <cute/tensor.hpp>
using namespace cute;
__device__ int through(int v) { int own = v; int* to; to = v > 2 ? &own : nullptr; return *to; }
__global__ void k(int n, int outer) {
  __shared__ half_t s[65536];
  for (int i = 0; i < n; ++i) for (int j = 0; j < n; ++j) for (int l = 0; l < n; ++l) for (int m = 0; m < n; ++m) {
    int block = m;
    block += 2;
    outer += 8 * through(block);
  }
  copy(make_tensor(make_smem_ptr(s + outer), Layout<_8>{}), make_tensor<half_t>(Layout<_8>{}));
}
void host(int n, int at) { k<<<1, 32>>>(n, at); }
"""


def test_variables_that_end_with_an_iteration_are_not_looked_at_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    combined: set[str] = set()
    combine = recurrences.combine

    def noted(m: Machine, total: Any, start: Any, before: Any, afters: Any, name: str, *rest: Any, **more: Any) -> Any:
        combined.add(name)
        return combine(m, total, start, before, afters, name, *rest, **more)

    monkeypatch.setattr(recurrences, "combine", noted)
    (tmp_path / "k.cu").write_text(NESTED)
    (event,) = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    assert combined == {"outer"}
    assert "outer#" in str(event.operands[0].offset)


ONCE = """
#include <cute/tensor.hpp>
using namespace cute;
struct Word { int held = 0; };
template <class T> struct Of { using type = T; static constexpr int v = sizeof(T); };
__global__ void k(int n) {
  __shared__ half_t s[65536];
  int at = 0;
  for (int i = 0; i < n; ++i) {
    Word w;
    w.held += 1;
    struct Own { int x; };
    at += Of<Own>::v + sizeof(typename Of<Own>::type);
    copy(make_tensor(make_smem_ptr(s + at), Layout<_8>{}), make_tensor<half_t>(Layout<_8>{}));
  }
}
void host(int n) { k<<<1, 32>>>(n); }
"""


def test_types_and_constants_that_an_iteration_asks_for_first_keep_no_object_of_it(
    tmp_path: Path, walks: list[None]
) -> None:
    (tmp_path / "k.cu").write_text(ONCE)
    (event,) = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    assert "8*i#" in str(event.operands[0].offset)
    assert len(walks) == 1


BARRIER = """
#include <cute/tensor.hpp>
using namespace cute;
struct ClusterBarrier {
  uint64_t barrier_;
  __device__ void arrive() const { asm volatile("arrive %0;" :: "r"(cast_smem_ptr_to_uint(&barrier_))); }
};
struct Storage { ClusterBarrier full[4]; };
__global__ void k(int n) {
  extern __shared__ char raw[];
  __shared__ half_t s[65536];
  Storage& storage = *reinterpret_cast<Storage*>(raw);
  for (int i = 0; i < n; ++i) {
    storage.full[0].arrive();
    copy(make_tensor(make_smem_ptr(s), Layout<_8>{}), make_tensor<half_t>(Layout<_8>{}));
  }
}
void host(int n) { k<<<1, 32>>>(n); }
"""


def test_the_word_of_a_barrier_is_another_each_time_and_not_looked_for(tmp_path: Path, walks: list[None]) -> None:
    (tmp_path / "k.cu").write_text(BARRIER)
    assert len(extract(ExtractRequest((tmp_path,), ("sm_80",))).events) == 1
    assert len(walks) == 1
