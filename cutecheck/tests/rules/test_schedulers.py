"""Kernels that take their tiles from a scheduler of CUTLASS's: run pass by pass, as the program's own loops are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.facts.replayed import Replay
from cutecheck.source import translate
from cutecheck.source.eval.limits import Limits
from cutecheck.source.eval.record import Recorder
from cutecheck.source.eval.record.library import in_library
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

DATA = Path(__file__).parents[1] / "data"
KERNEL = (DATA / "mainloops" / "cpp_pipeline.cu").read_text()
TILES = """#pragma once
namespace cutlass::gemm::kernel {
enum class Order { AlongM, AlongN };
struct Tile {
  int m; int n; bool valid;
  bool is_valid() const { return valid; }
};
struct Tiles {
  struct Params { unsigned long long many; Order order; };
  Params const& params;
  unsigned long long at = 0;
  __device__ Tiles(Params const& p) : params(p) {
    if (p.order == Order::AlongN) {
      at = blockIdx.x + blockIdx.y * (unsigned long long)(gridDim.x);
    } else {
      at = blockIdx.x * (unsigned long long)(gridDim.y) + blockIdx.y;
    }
  }
  __device__ Tile current() const {
    if (at >= params.many) {
      return {0, 0, false};
    }
    return {int(at % 8), int(at / 8), true};
  }
  __device__ void next() { at += (unsigned long long)(gridDim.x) * gridDim.y * gridDim.z; }
};
struct Taken {
  struct Params { int* counter; int many; };
  Params const& params;
  int at;
  __device__ Taken(Params const& p) : params(p) { next(); }
  __device__ Tile current() const { return {at % 8, at / 8, at < params.many}; }
  __device__ void next() { at = __ldg(params.counter + clock()); }
};
}
namespace cutlass {
template <int Depth, int Length>
class OrderedSequenceBarrier {
 public:
  struct SharedStorage { cutlass::arch::ClusterBarrier barrier_[Depth][Length]; };
  struct Params { uint32_t group_id; uint32_t group_size; };
 private:
  Params params_;
  cutlass::arch::ClusterBarrier* barrier_ptr_;
  PipelineState<Depth> stage_;
 public:
  __device__ OrderedSequenceBarrier(SharedStorage& storage, Params const& params)
      : params_(params), barrier_ptr_(&storage.barrier_[0][0]), stage_({0, params.group_id == 0, 0}) {}
  __device__ void wait() { at(params_.group_id).wait(stage_.phase()); }
  __device__ void arrive() { at((params_.group_id + 1) % Length).arrive(); ++stage_; }
  __device__ cutlass::arch::ClusterBarrier& at(int group) { return barrier_ptr_[stage_.index() * Length + group]; }
};
}
"""
LOOP = "  tiles.next();\n    tile = tiles.current();\n    }\n"
PASSES = "for (int k = 0; k < k_tiles; ++k) {\n"
GIVEN = ", SCHEDULER::Params given)"
EDITS = (
    (
        "#include <cutlass/arch/barrier.h>\n",
        "#include <cutlass/arch/barrier.h>\n#include <cutlass/gemm/kernel/tiles.hpp>\n",
    ),
    ("half_t* C, int M, int N, int K) {\n  extern", f"half_t* C, int M, int N, int K{GIVEN} {{\n  extern"),
    (
        "  int k_tiles =",
        "  cutlass::gemm::kernel::SHORT tiles{given};\n  auto tile = tiles.current();\n  int k_tiles =",
    ),
    (f"{PASSES}        pipe.producer", f"while (tile.is_valid()) {{\n      {PASSES}        pipe.producer"),
    ("      pipe.producer_tail(state);\n", f"    {LOOP}      pipe.producer_tail(state);\n"),
    ("    clear(acc);\n", ""),
    (f"{PASSES}      pipe.consumer", f"while (tile.is_valid()) {{\n    clear(acc);\n    {PASSES}      pipe.consumer"),
    ("    copy(acc, tCgC);\n", f"    copy(acc, tCgC);\n  {LOOP}"),
    ("half_t* C, int M, int N, int K) {\n  Tensor", f"half_t* C, int M, int N, int K{GIVEN} {{\n  Tensor"),
    ("tma_b, C, M, N, K);", "tma_b, C, M, N, K, given);"),
)
READ = "    cutlass::PipelineState<kStages> read;\n"


def settings(folder: Path) -> Settings:
    include = (str(folder / "include"), str(DATA / "pipelines"))
    return Settings(cache=False, arch=("sm_90a",), include=include, ignore=("CUT104",))


def codes(folder: Path, scheduler: str, *edits: tuple[str, str]) -> str:
    text = KERNEL
    for old, new in (*EDITS, *edits):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    header = folder / "include" / "cutlass" / "gemm" / "kernel" / "tiles.hpp"
    header.parent.mkdir(parents=True)
    header.write_text(TILES)
    text = text.replace("SCHEDULER", f"cutlass::gemm::kernel::{scheduler}").replace("SHORT", scheduler)
    (folder / "kernel.cu").write_text(text)
    made = check(inputs([str(folder / "kernel.cu")]), settings(folder))
    assert not made.failures and not made.errors
    return " ".join(sorted({f.code for f in made.findings}))


ORDERED = (
    ("  typename Pipe::SharedStorage pipe;\n",
     "  typename Pipe::SharedStorage pipe;\n  typename cutlass::OrderedSequenceBarrier<1, 2>::SharedStorage order;\n"),
    ("  __syncthreads();\n",
     "  typename cutlass::OrderedSequenceBarrier<1, 2>::Params ordered{uint32_t(warp_group != 0), 1};\n"
     "  cutlass::OrderedSequenceBarrier<1, 2> order(sh.order, ordered);\n  __syncthreads();\n"),
    ("    Mma mma;\n", "    order.wait();\n    Mma mma;\n"),
)  # fmt: skip
FIRST = f"      while (tile.is_valid()) {{\n      {PASSES}        pipe.producer"
TOLD = (FIRST, f"      order.arrive();\n{FIRST}")
LATE = (READ, READ + "    ++read;\n")


@pytest.mark.parametrize(("edits", "expected"), [((TOLD,), ""), ((TOLD, LATE), "CUT213 CUT217"), ((), "CUT217")])
def test_groups_in_a_sequence(edits: tuple[tuple[str, str], ...], expected: str, tmp_path: Path) -> None:
    """The second group waits for the first."""
    assert codes(tmp_path, "Tiles", *ORDERED, *edits) == expected


@pytest.mark.parametrize(("edits", "expected"), [((), ""), ((LATE,), "CUT213 CUT217")])
def test_a_number_that_may_be_zero_is(edits: tuple[tuple[str, str], ...], expected: str, tmp_path: Path) -> None:
    """What the kernel does only where ``beta`` is not, as waiting for C, is left out for all threads."""
    waits = "    if (!(beta[0] == 0.0f)) {\n      other(acc).consumer_wait(*beta);\n    }\n"
    scaled = ("    clear(acc);\n", f"    clear(acc);\n{waits}")
    given = tuple((f"given) {{\n  {at}", f"given, float const* beta) {{\n  {at}") for at in ("extern", "Tensor"))
    edits = (*edits, scaled, *given, ("C, M, N, K, given);", "C, M, N, K, given, beta);"))
    assert codes(tmp_path, "Tiles", *edits) == expected


@pytest.mark.parametrize(
    ("scheduler", "edits", "expected"),
    [
        ("Tiles", (), ""),
        ("Tiles", (LATE,), "CUT213 CUT217"),  # of the last tile nobody fills a stage for the last wait
        ("Taken", (), ""),
        ("Taken", (LATE,), "CUT213"),  # nothing says how many tiles there are: one
    ],
)
def test_a_consumer_that_starts_a_stage_late(
    scheduler: str, edits: tuple[tuple[str, str], ...], expected: str, tmp_path: Path
) -> None:
    assert codes(tmp_path, scheduler, *edits) == expected


CONSUMER = f"while (tile.is_valid()) {{\n    clear(acc);\n    {PASSES}      pipe.consumer"
STORES = "    copy(acc, tCgC);\n"


def advances(many: str) -> tuple[tuple[str, str], ...]:
    """The consumer goes through a tile by a state of its own, and then to where the next tile begins."""
    kept = CONSUMER.replace("{\n", "{\n    auto kept = read;\n", 1)
    return (CONSUMER, kept), (STORES, f"{STORES}    read = kept;\n    read.advance({many});\n")


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        (((READ, ""), (CONSUMER, CONSUMER.replace("{\n", "{\n" + READ, 1))), "CUT213 CUT217"),
        (advances("k_tiles"), ""),
        (advances("k_tiles - 1"), "CUT212"),
        (advances("0"), "CUT213 CUT217"),
    ],
)
def test_what_goes_on_to_the_next_tile(edits: tuple[tuple[str, str], ...], expected: str, tmp_path: Path) -> None:
    """A block has several tiles, by the numbers of its scheduler, and a pipeline goes on from one to the next."""
    assert codes(tmp_path, "Tiles", *edits) == expected


@pytest.mark.parametrize(
    ("path", "asked", "expected"),
    [
        ("include/cutlass/gemm/collective/own.hpp", True, False),
        ("cutlass/gemm/kernel/own.hpp", True, False),
        ("cutlass/gemm/collective/own.hpp", False, True),
        ("cutlass/arch/barrier.h", True, True),  # what collectives are made of is known
        ("src/own.hpp", False, False),
    ],
)
def test_a_collective_that_is_asked_about_is_the_program_s(path: str, asked: bool, expected: bool) -> None:
    assert in_library(path, frozenset({path} if asked else ())) == expected


@pytest.mark.parametrize("large", [False, True])
def test_of_a_large_tree_nothing_is_asked_about(large: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a library, whose kernels are not run for what may have been edited."""
    made: list[Recorder] = []

    class Noted(Recorder):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            made.append(self)

    monkeypatch.setattr(translate, "Recorder", Noted)
    (tmp_path / "a.cu").write_text("using A = cute::Layout<cute::Int<4>>;\n")
    extract(ExtractRequest((tmp_path,), limits=Limits(twins=large)))
    assert made and all(recorder.asked == (frozenset() if large else {"a.cu"}) for recorder in made)


@pytest.mark.parametrize(("moves", "expected"), [("++it; ", ""), ("", "CUT218")])
def test_an_iterator_from_a_coordinate_on(moves: str, expected: str, tmp_path: Path) -> None:
    """Both operands' tiles are where it points to."""
    made = ("      auto state = ", "      auto it = cute::make_coord_iterator(0, k_tiles);\n      auto state = ")
    taken = (
        ("tAgA(_, k)", "tAgA(_, *it)"),
        ("tBgB(_, k)", "tBgB(_, *it)"),
        ("        ++state;\n", f"        {moves}++state;\n"),
    )
    assert codes(tmp_path, "Tiles", made, *taken) == expected


@pytest.mark.parametrize(("second", "expected"), [("AlongN", "CUT213 CUT217"), ("AlongM", "")])
def test_a_parameter_that_is_compared_with_two_constants_may_be_one_of_them(
    second: str, expected: str, tmp_path: Path
) -> None:
    """The consumer skips a stage where the producer's order is the other one; that it is neither is no order."""
    asks = f"    if (given.order == cutlass::gemm::kernel::Order::{second}) {{\n"
    skips = f"{READ}{asks}      read.advance(0);\n    }} else {{\n      ++read;\n    }}\n"
    assert codes(tmp_path, "Tiles", (READ, skips)) == expected


@pytest.mark.parametrize(("waits", "expected"), [("      pipe.consumer_wait(read, token);\n", True), ("", False)])
def test_a_try_whose_token_no_condition_asks_is_no_wait(waits: str, expected: bool, tmp_path: Path) -> None:
    tries = "      auto token = pipe.consumer_try_wait(read);\n"
    codes(tmp_path, "Tiles", ("      pipe.consumer_wait(read);\n", tries + waits))
    made = check(inputs([str(tmp_path / "kernel.cu")]), settings(tmp_path))
    (run,) = [c.arguments[0] for c in made.facts.calls if c.function == "replay"]
    assert isinstance(run, Replay)
    consumers = [t.steps for t in run.threads if t.number >= 128]
    assert consumers
    assert all(any(s.function == "wait" for s in steps) == expected for steps in consumers)
