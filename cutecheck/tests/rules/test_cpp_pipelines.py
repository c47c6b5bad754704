"""C++ kernels with a step of CUTLASS's pipelines wrong, with the class in the tree and without."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

DATA = Path(__file__).parents[1] / "data"
KERNEL = (DATA / "mainloops" / "cpp_pipeline.cu").read_text()
HEADER = "#include <cutlass/pipeline/sm90_pipeline.hpp>\n"
START = "auto state = cutlass::make_producer_start_state<Pipe>();"
READ = "    cutlass::PipelineState<kStages> read;\n"
WAIT = "      pipe.consumer_wait(read);\n"
ACQUIRE = "        pipe.producer_acquire(state);\n"
RELEASE = "      pipe.consumer_release(read);\n"
DONE = "      warpgroup_wait<0>();\n"
ONE_OPEN = "      warpgroup_wait<1>();\n"
LAST = ("    copy(acc", "    warpgroup_wait<0>();\n    copy(acc")
BYTES = "(size(BM{}) * size(BK{}) + size(BN{}) * size(BK{})) * sizeof(half_t)"
WRAPPED = """using Inner = cutlass::PipelineTmaAsync<kStages>;
struct Pipe {
  using SharedStorage = Inner::SharedStorage;
  using Params = Inner::Params;
  using ThreadCategory = Inner::ThreadCategory;
  using State = cutlass::PipelineState<kStages>;
  Inner impl_;
  SharedStorage& storage_;
  template <class Cluster>
  CUTE_DEVICE Pipe(SharedStorage& s, Params p, Cluster c) : impl_(s, p, c), storage_(s) {}
  CUTE_DEVICE void producer_acquire(State s) { impl_.producer_acquire(s); }
  CUTE_DEVICE void producer_tail(State s) { impl_.producer_tail(s); }
  CUTE_DEVICE auto* producer_get_barrier(State s) { return impl_.producer_get_barrier(s); }
  CUTE_DEVICE void consumer_wait(State s) { impl_.consumer_wait(s); }
  CUTE_DEVICE void consumer_release_from_umma(State s) { storage_.empty_barrier_[s.index()].arrive(); }
};
"""
LOADS = KERNEL[KERNEL.index("        auto* bar") : KERNEL.index("        ++state;")]
ELECTED = (  # the warp waits, one of its threads loads
    ("if (warp == 0 && lane) {", "if (warp == 0) {"),
    (LOADS, f"        if (cute::elect_one_sync()) {{\n{LOADS}        }}\n"),
)
LOAD_B = "        copy(tma_b.with(*bar), tBgB(_, k), tBsB(_, state.index()));\n"
ONCE = (
    "          pipe.producer_expect_transaction(state, 16384);\n"
    "          copy(tma_b.with(*bar), tBgB(_, 0), tBsB(_, 0));\n"
)
SECOND = (
    "        auto* next = pipe.producer_get_barrier(state);\n"
    "        copy(tma_a.with(*next), tAgA(_, k + 1), tAsA(_, state.index()));\n"
    "        copy(tma_b.with(*next), tBgB(_, k + 1), tBsB(_, state.index()));\n"
)
WRONG = [
    (((ACQUIRE, ""),), "CUT214"),
    (((WAIT, ""),), "CUT214"),
    (((RELEASE, ""),), "CUT214"),
    (((WAIT, ""), (RELEASE, RELEASE + WAIT)), "CUT214"),
    (((WAIT, "      auto token = pipe.consumer_try_wait(read);\n"),), "CUT214"),  # and goes on, whatever it is told
    (((START, "cutlass::PipelineState<kStages> state;"),), "CUT214"),
    (((READ, "    cutlass::PipelineState<kStages> read(0, 1, 0);\n"),), "CUT214"),
    (((READ, READ.replace("kStages", "3")),), "CUT214"),
    (
        (
            (READ, READ + "    cutlass::PipelineState<3> other;\n    auto& read_of = other;\n"),
            (WAIT, "      pipe.consumer_wait(read_of);\n"),
        ),
        "CUT214",
    ),
    ((("        ++state;\n", ""),), "CUT214"),
    (
        (
            (RELEASE, RELEASE.replace("read", "done") + "      ++done;\n"),
            ("      ++read;\n", ""),
            (READ, READ + READ.replace("read", "done")),
        ),
        "CUT214",
    ),
    (((DONE, ""), LAST), "CUT215"),
]
STAGES = [
    ((("tBsB(_, state.index())", "tBsB(_, 0)"),), "CUT214"),
    ((("tCrA(_, _, _, read.index())", "tCrA(_, _, _, 0)"),), "CUT214"),
    ((("  __syncthreads();\n", ""),), "CUT214"),
    # the barriers are initialised elsewhere
    ((("  __syncthreads();\n", ""), ("Shape<_1, _1, _1>{});", "Shape<_1, _1, _1>{}, cute::false_type{});")), ""),
    # each pass goes through all stages that one may be
    ((("tBsB(_, state.index())", "tBsB(_, k % kStages)"),), ""),
]
OTHER = (  # a pipeline that is made, and that no thread takes a step of
    ("  __syncthreads();\n", "  cutlass::PipelineTransactionAsync<2> other(sh.other, {});\n  __syncthreads();\n"),
)
BYTES_WRONG = [
    # to where the load before it goes, for the same phase
    ((*OTHER, (LOAD_B, LOAD_B + LOAD_B.replace("(_, k)", "(_, k + 1)"))), "CUT212 CUT805"),
    ((*ELECTED, (BYTES, "size(BM{}) * size(BK{}) * sizeof(half_t)")), "CUT805"),
    ((("params.num_consumers = 256;", "params.num_consumers = 128;"),), "CUT214"),
    ((("sizeof(Shared)", "sizeof(half_t) * cosize_v<SmemA>"),), "CUT209"),
    (((BYTES, "size(BM{}) * size(BK{}) * sizeof(half_t)"),), "CUT805"),
    (((LOAD_B, ""),), "CUT221 CUT805"),  # nor does anything write what B is read from
    (((DONE + RELEASE, RELEASE + DONE),), "CUT215"),
    (((DONE, ONE_OPEN), LAST), "CUT215"),
]
RIGHT = [
    (ELECTED, ""),
    (OTHER, ""),
    ((("auto* bar", "uint64_t* bar"),), ""),
    # lagging release, a copied state; a state that went on by all stages has the other phase
    (((READ, READ + "    auto done = read;\n"), (RELEASE, "      pipe.consumer_release(done);\n      ++done;\n")), ""),
    (
        (
            (READ, READ + "    auto done = read;\n"),
            (DONE, ONE_OPEN),
            LAST,
            (RELEASE, "      if (k > 0) {\n        pipe.consumer_release(done);\n        ++done;\n      }\n"),
        ),
        "",
    ),
    (((START, "cutlass::PipelineState<kStages> state;\n      state.advance(kStages);"),), ""),
    (((WAIT, "      auto token = pipe.consumer_try_wait(read);\n      pipe.consumer_wait(read, token);\n"),), ""),
    (((WAIT, "      while (!pipe.consumer_try_wait(read)) {\n      }\n"),), ""),
    # another state in each pass, and code that is not seen
    (
        (
            (READ, ""),
            (WAIT, "      cutlass::PipelineState<kStages> read(k % kStages, k / kStages & 1, k);\n" + WAIT),
            ("      ++read;\n", ""),
        ),
        "",
    ),
    (((WAIT, "      wait_for(pipe, read);\n"),), ""),
    # a class around it whose release arrives at the barriers by hand
    (
        (
            ("using Pipe = cutlass::PipelineTmaAsync<kStages>;\n", WRAPPED),
            (RELEASE, "      pipe.consumer_release_from_umma(read);\n"),
            ("cutlass::make_producer_start_state<Pipe>()", "cutlass::make_producer_start_state<Inner>()"),
        ),
        "",
    ),
    (
        (
            (BYTES, "size(BM{}) * size(BK{}) * sizeof(half_t)"),
            (ACQUIRE, ACQUIRE + "        pipe.producer_expect_transaction(state, 16384);\n"),
        ),
        "",
    ),
    # what is loaded once adds its bytes to those of a stage
    (
        (
            ("Shape<BN, BK, Int<kStages>>{}", "Shape<BN, BK, _1>{}"),
            (BYTES, "size(BM{}) * size(BK{}) * sizeof(half_t)"),
            (LOAD_B, f"        if (k == 0) {{\n{ONCE}        }}\n"),
            ("tCrB(_, _, _, read.index())", "tCrB(_, _, _, 0)"),
        ),
        "",
    ),
    # each pass goes once round
    (
        (
            ("constexpr int kStages = 4;", "constexpr int kStages = 2;"),
            ("k < k_tiles; ++k) {\n        pipe.producer", "k < k_tiles; k += 2) {\n        pipe.producer"),
            ("        ++state;\n", f"        ++state;\n{ACQUIRE}{SECOND}        ++state;\n"),
        ),
        "",
    ),
]


def codes(folder: Path, edits: tuple[tuple[str, str], ...], include: tuple[Path, ...], known: bool = True) -> str:
    text = KERNEL
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path = folder / "kernel.cu"
    path.write_text(text)
    ignored = ("CUT104",)  # the epilogue, which is written without shared memory
    made = check(inputs([str(path)]), Settings(cache=False, arch=("sm_90a",), include=include, ignore=ignored))
    assert not made.failures and not made.errors
    assert len(made.facts.events) > 2 and known == all(e.reason is None for e in made.facts.events)
    return " ".join(sorted({f.code for f in made.findings}))


@pytest.mark.parametrize(("edits", "expected"), [((), ""), *WRONG, *STAGES, *RIGHT])
def test_a_step_where_the_class_is_not_in_the_tree(
    edits: tuple[tuple[str, str], ...], expected: str, tmp_path: Path
) -> None:
    assert codes(tmp_path, (*edits, (HEADER, "")), ()) == expected


@pytest.mark.parametrize(("edits", "expected"), [((), ""), *WRONG[:7:2], *BYTES_WRONG, *RIGHT])
def test_a_step_where_it_is(edits: tuple[tuple[str, str], ...], expected: str, tmp_path: Path) -> None:
    assert codes(tmp_path, edits, (DATA / "pipelines",)) == expected


@pytest.mark.parametrize(("edits", "expected"), [((), ""), *WRONG[1:7:3], *BYTES_WRONG[1:4], RIGHT[0]])
def test_a_step_where_its_header_is_nowhere(edits: tuple[tuple[str, str], ...], expected: str, tmp_path: Path) -> None:
    """A checkout without its submodules: what the classes are is known without."""
    assert codes(tmp_path, edits, ()) == expected


@pytest.mark.parametrize("elected", [(), ELECTED])
def test_bytes_of_a_copy_of_which_nothing_is_known(elected: tuple[tuple[str, str], ...], tmp_path: Path) -> None:
    """It may bring the rest of what its barrier is told of."""
    headers = (DATA / "pipelines",)
    more = (*elected, (BYTES, f"{BYTES} + 512"))
    other = LOAD_B.replace("tma_b.with(*bar), tBgB(_, k), tBsB(_, state.index())", "Other<TmaA>::load(*bar), {}, {}")
    assert codes(tmp_path, more, headers) == "CUT805"
    load = other.format("Other<TmaA>::from(k)", "Other<TmaA>::to(k)")
    assert codes(tmp_path, (*more, (LOAD_B, LOAD_B + load)), headers, False) == ""


OF_UMMA = """#include <cute/tensor.hpp>
#include <cutlass/pipeline/sm100_pipeline.hpp>
using namespace cute;
using Pipe = cutlass::PipelineTmaUmmaAsync<3, Shape<_1, _1, _1>, Shape<_1, _1, _1>>;
__global__ void k(half_t* out) {
  __shared__ half_t s[64];
  Pipe pipe(*reinterpret_cast<Pipe::SharedStorage*>(s), {}, Shape<_1, _1, _1>{});
  auto write = cutlass::make_producer_start_state<Pipe>();
  pipe.producer_acquire(write);
  copy(make_tensor(make_smem_ptr(s), Layout<_64>{}), make_tensor(make_gmem_ptr(out), Layout<_64>{}));
}
void run(half_t* out) { k<<<1, 1>>>(out); }
"""


def test_classes_that_stand_for_no_header(tmp_path: Path) -> None:
    """Of those that the prelude lacks, what is known by name stays known where the line of their header is there."""
    (tmp_path / "k.cu").write_text(OF_UMMA)
    made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_100a",)))
    steps = {c.function: dict(c.keywords) for c in made.facts.calls if c.subject}
    assert steps["PipelineTmaUmmaAsync.create"] == {"num_stages": 3}
    assert steps["make_pipeline_state"] == {"num_stages": 3, "type": "Producer"}
    assert steps["producer_acquire"]["state"]


SUMS = """struct Sums {
  float top[2], sum[2];
  CUTE_DEVICE Sums() { for (int i = 0; i < 2; ++i) { top[i] = -1e30f; sum[i] = 0.f; } }
};
"""
USING = "using namespace cute;\n"
LOOPS = ((USING, f"{USING}{SUMS}"), ("    clear(acc);\n", "    clear(acc);\n    Sums sums;\n"))


def test_loops_over_numbers_set_no_registers_of_products(tmp_path: Path) -> None:
    """A loop that is not run leaves the accumulators unset, by all that it names; one that is given them may not."""
    assert codes(tmp_path, LOOPS, ()) == ""
    kept = "Sums(float* acc) { for (int i = 0; i < 32; ++i) acc[i] = 0.f;"
    mine = (LOOPS[0], (LOOPS[1][0], "    Sums sums;\n"))
    assert codes(tmp_path, mine, ()) == "CUT220"
    given = ((USING, USING + SUMS.replace("Sums() {", kept)), (LOOPS[1][0], "    Sums sums(acc.data());\n"))
    assert codes(tmp_path, given, ()) == ""


def test_steps_inside_of_a_reported_class_are_none_of_a_pipeline_that_nobody_uses(tmp_path: Path) -> None:
    """CUTLASS's own headers checked with a kernel: the acquire in a pipeline's methods was another one's."""
    start = "  __syncthreads();\n"
    unused = "  cutlass::PipelineAsync<2> other(sh.other, typename cutlass::PipelineAsync<2>::Params{});\n"
    (tmp_path / "kernel.cu").write_text(KERNEL.replace(start, unused + start))
    header = DATA / "pipelines" / "cutlass" / "pipeline" / "sm90_pipeline.hpp"
    (tmp_path / "cutlass" / "pipeline").mkdir(parents=True)
    text = f"#include <cute/tensor.hpp>\n{header.read_text()}"
    (tmp_path / "cutlass" / "pipeline" / header.name).write_text(text)
    made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_90a",)))
    steps = [c for c in made.facts.calls if c.function == "producer_acquire" and not c.subject]
    assert steps and [c.function for c in made.facts.calls if c.function.startswith("PipelineAsync")]
    assert not [f for f in made.findings if f.code.startswith("CUT2")]


def test_a_kernel_whose_walk_ends_at_a_limit_is_not_judged_by_what_it_lacks(tmp_path: Path) -> None:
    """The limit is the host file's; the kernel, of a header, seemed to release and advance nothing."""
    kernel, _, host = KERNEL.replace(HEADER, "").partition("void run(")
    (tmp_path / "kernel.cuh").write_text(kernel)
    (tmp_path / "main.cu").write_text(f'#include "kernel.cuh"\nvoid run({host}')
    cut = []
    for steps in range(690, 720, 10):
        made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_90a",), max_steps=steps))
        cut += [made.errors] if made.errors and made.facts.events else []
        assert not made.findings, steps
    assert cut, "no limit is inside of the kernel"
