"""Kernels whose blocks take one tile after another: right ones, and with one mistake each that the next tile shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

DATA = Path(__file__).parents[1] / "data" / "mainloops"
BARRIERS, GROUPED, UMMA, CP_ASYNC = (
    ("persistent_barriers.cu", "sm_90a"),
    ("persistent_grouped.cu", "sm_90a"),
    ("persistent_umma.cu", "sm_100a"),
    ("persistent_cp_async.cu", "sm_80"),
)
PRODUCER = "        int const tm = tile % tiles_m, tn = tile / tiles_m;\n        Tensor gA"
RELEASE = "        if (threadIdx.x % 128 == 0) Empty::arrive(&s.empty[stage]);\n"
ELECTED = "if (threadIdx.x % 128 == 0) Empty"
ZERO = "      mma.accumulate_ = GMMA::ScaleOut::Zero;\n"
LOOP = "    for (int tile = blockIdx.x; tile < num_tiles; tile += gridDim.x) {\n      int const tm"
EPILOGUE = "      Tensor mC = make_tensor(make_gmem_ptr(C)"
SKIPS = "{ if (++stage == kStages) { stage = 0; phase ^= 1; } }"
ROWS, LOOPED = "int const tm = tile % tiles_m, tn = tile / tiles_m;", "int const tm = tile, tn"
# a scheduler of the program's own, whose tiles say of themselves whether they are any
ASKS = "for (int tile = blockIdx.x; tile < num_tiles; tile += gridDim.x) {"
FLAGS = (
    "template <class TmaA",
    "struct Work { int at; bool valid; };\n"
    "class Tiles {\n public:\n  CUTE_DEVICE explicit Tiles(int n) : n_(n), at_(blockIdx.x), step_(gridDim.x) {}\n"
    "  CUTE_DEVICE Work current() const { if (at_ >= n_) return {0, false}; return {at_, true}; }\n"
    "  CUTE_DEVICE void advance() { at_ += step_; }\n private:\n  int n_, at_, step_;\n};\ntemplate <class TmaA",
    *((ASKS, "Tiles tiles(num_tiles);\n      for (Work next = tiles.current(); next.valid; tiles.advance(), "
       "next = tiles.current()) {\n      int const tile = next.at;") * 2),
)  # fmt: skip
ENDLESS = tuple(
    x.replace(
        "for (Work next = tiles.current(); next.valid; tiles.advance(), next = tiles.current()) {\n",
        "while (true) {\n      Work const next = tiles.current();\n      tiles.advance();\n"
        "      if (!next.valid) break;\n",
    )
    for x in FLAGS
)
RIGHT = {
    "tiles_end_within": (BARRIERS, *ENDLESS),
    "tiles_have_a_flag": (BARRIERS, *FLAGS),
    "barriers": (BARRIERS,),
    "one_lane_of_each_warp_releases": (
        BARRIERS,
        "s.empty[i], 2)",
        "s.empty[i], 8)",
        "threadIdx.x % 128",
        "threadIdx.x % 32",
    ),
    "a_lane_in_the_middle_releases": (BARRIERS, "threadIdx.x % 128 == 0) Empty", "threadIdx.x % 128 == 77) Empty"),
    "the_stage_before_is_released": (
        BARRIERS,
        "wait<0>();\n" + RELEASE,
        "wait<1>();\n"
        + RELEASE.replace("if (", "if (k > 0 && ").replace("[stage]", "[(stage + kStages - 1) % kStages]"),
        EPILOGUE,
        "      warpgroup_wait<0>();\n"
        + RELEASE.replace("if (", "if (k_tiles > 0 && ").replace("[stage]", "[(stage + kStages - 1) % kStages]")
        + EPILOGUE,
    ),
    "warpgroups_take_turns": (
        BARRIERS,
        "s.empty[i], 2)",
        "s.empty[i], 1)",
        LOOP,
        "    if (wg == 2) cutlass::arch::NamedBarrier::arrive(256, 2);\n    int turn = 0;\n"
        + LOOP.replace("gridDim.x)", "gridDim.x, ++turn)").replace(
            "      int const tm",
            "      if (turn % 2 != wg - 1) {\n"
            f"        for (int k = 0; k < k_tiles; ++k) {SKIPS}\n        continue;\n      }}\n"
            "      cutlass::arch::NamedBarrier::sync(256, 2 + turn % 2);\n      int const tm",
        ),
        EPILOGUE,
        "      cutlass::arch::NamedBarrier::arrive(256, 2 + (turn + 1) % 2);\n" + EPILOGUE,
    ),
    "columns_by_the_block": (BARRIERS, ROWS, f"{LOOPED} = blockIdx.y;", ROWS, f"{LOOPED} = blockIdx.y;"),
    "barriers_are_there_for_the_warp": (
        BARRIERS,
        "  }\n  __syncthreads();\n  if (wg",
        "  }\n  __syncwarp();\n  cute::cluster_sync();\n  if (wg",
    ),
    "two_steps_a_pass": (
        BARRIERS,
        "      for (int k = 0; k < k_tiles; ++k) {\n        Full",
        "      for (int i = 0; i < (K + 127) / 128; ++i)\n      for (int k = 0; k < 2; ++k) {\n        Full",
    ),
    "tiles_are_told_twice": (
        BARRIERS,
        "int K) {\n  extern",
        "int K, int total) {\n  extern",
        "      for (int tile = blockIdx.x; tile < num_tiles",
        "      for (int tile = blockIdx.x; tile < total",
        "M, N, K);\n}",
        "M, N, K, sms);\n}",
    ),
    "grouped": (GROUPED,),
    "rows_are_differences": (GROUPED, "((rows[expert] +", "((rows[expert + 1] - rows[expert] +"),
    "both_leave_out_a_tile": (
        GROUPED,
        "        for (int k = 0; k < k_tiles; ++k, ++it) {\n          int",
        "        if (m == 1) continue;\n        for (int k = 0; k < k_tiles; ++k, ++it) {\n          int",
        ZERO,
        ZERO + "      if (m == 1) continue;\n",
    ),
    "steps_lie_in_another_array": (
        GROUPED,
        "float* out, int experts",
        "float* out, int const* ks, int experts",
        "        for (int k = 0; k < k_tiles; ++k, ++it) {\n          int",
        "        for (int k = 0; k < ks[e]; ++k, ++it) {\n          int",
        "rows, C, experts",
        "rows, C, rows, experts",
    ),
    "rows_are_counted_down": (
        GROUPED,
        "int const* __restrict__ rows",
        "int* __restrict__ rows",
        "Walk(int const* r",
        "Walk(int* r",
        "      copy(acc, thr.partition_C(gC));\n",
        "      copy(acc, thr.partition_C(gC));\n      rows[e] -= 1;\n",
    ),
    "umma": (UMMA,),
    "all_lanes_come_to_the_mma": (UMMA, "warp == 1) {\n    if (elected) {", "warp == 1) {\n    {"),
    "cp_async": (CP_ASYNC,),
}
WRONG = {
    "consumer_starts_again_where_tiles_end_within": (
        BARRIERS,
        {"CUT213"},
        *ENDLESS,
        "      clear(acc);\n",
        "      clear(acc);\n      stage = 0; phase = 0;\n",
    ),
    "consumer_starts_again_where_tiles_have_a_flag": (
        BARRIERS,
        {"CUT213"},
        *FLAGS,
        "      clear(acc);\n",
        "      clear(acc);\n      stage = 0; phase = 0;\n",
    ),
    "consumer_starts_again": (
        BARRIERS,
        {"CUT213"},
        "      clear(acc);\n",
        "      clear(acc);\n      stage = 0; phase = 0;\n",
    ),
    "producer_starts_again": (
        BARRIERS,
        {"CUT217"},
        PRODUCER,
        PRODUCER.replace("\n", "\n        stage = 0; phase = 1;\n", 1),
    ),
    "only_the_phase_starts_again": (
        BARRIERS,
        {"CUT213"},
        "      clear(acc);\n",
        "      clear(acc);\n      phase = 0;\n",
    ),
    "phase_flips_with_the_tile": (
        BARRIERS,
        {"CUT213"},
        "      copy(acc, thr",
        "      phase ^= 1;\n      copy(acc, thr",
    ),
    "last_step_is_not_released": (BARRIERS, {"CUT217"}, ELECTED, ELECTED.replace("0)", "0 && k + 1 < k_tiles)")),
    "a_step_less_is_multiplied": (
        BARRIERS,
        {"CUT217"},
        "clear(acc);\n      for (int k = 0; k < k_tiles;",
        "clear(acc);\n      for (int k = 1; k < k_tiles;",
    ),
    "every_other_tile": (BARRIERS, {"CUT217"}, LOOP, LOOP.replace("gridDim", "2 * gridDim")),
    "counts_all_threads": (BARRIERS, {"CUT217"}, "s.empty[i], 2)", "s.empty[i], 256)"),
    "counts_two_that_load": (BARRIERS, {"CUT217"}, "s.full[i], 1)", "s.full[i], 2)"),
    "a_stays": (BARRIERS, {"CUT218"}, "tAgA(_, k), tAsA", "tAgA(_, 0), tAsA"),
    "barriers_need_not_be_there": (BARRIERS, {"CUT217"}, "  }\n  __syncthreads();\n  if (wg", "  }\n  if (wg"),
    "columns_by_another_index": (
        BARRIERS,
        {"CUT219"},
        ROWS,
        f"{LOOPED} = blockIdx.x;",
        ROWS,
        f"{LOOPED} = blockIdx.y;",
    ),
    "grouped_consumer_starts_again": (GROUPED, {"CUT213"}, ZERO, ZERO + "      it = 0;\n"),
    "stage_of_the_tile": (
        GROUPED,
        {"CUT212"},
        "stage = it % kStages;\n        s.full",
        "stage = k % kStages;\n        s.full",
    ),
    "grouped_counts_both_warpgroups": (GROUPED, {"CUT217"}, "init(128)", "init(256)"),
    "one_accumulator_is_waited_for": (UMMA, {"CUT217"}, "umma_commit(s.acc_full[slot])", "umma_commit(s.acc_full[0])"),
    "accumulator_never_given_back": (UMMA, {"CUT217"}, "      s.acc_empty[slot].arrive();\n", ""),
    "mma_starts_again": (UMMA, {"CUT213"}, "UMMA::ScaleOut::Zero;\n", "UMMA::ScaleOut::Zero;\n        it = 0;\n"),
    "released_before_the_mma_is_done": (UMMA, {"CUT212"}, "umma_commit(s.empty[stage])", "s.empty[stage].arrive()"),
    "umma_counts_two": (UMMA, {"CUT217"}, "s.empty[i].init(1)", "s.empty[i].init(2)"),
    "next_tile_overwrites": (
        CP_ASYNC,
        {"CUT212"},
        "    copy(acc, thr.partition_C(gC));\n    __syncthreads();\n",
        "    copy(acc, thr.partition_C(gC));\n",
    ),
    "tiles_go_on": (
        CP_ASYNC,
        {"CUT218"},
        "read = 0, next = 0;",
        "read = 0;",
        "  int const tiles_m",
        "  int next = 0;\n  int const tiles_m",
    ),
}


def _found(tmp_path: Path, of: tuple[str, str], *changes: str) -> set[str]:
    name, arch = of
    text = (DATA / name).read_text()
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert old in text
        text = text.replace(old, new, 1)
    (tmp_path / name).write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(arch=(arch,), ignore=("CUT1", "CUT4")))
    assert not report.failures
    return {f.code for f in report.findings}


@pytest.mark.parametrize("name", RIGHT)
def test_right(name: str, tmp_path: Path) -> None:
    of, *changes = RIGHT[name]
    assert not _found(tmp_path, of, *changes)


@pytest.mark.parametrize("name", WRONG)
def test_wrong(name: str, tmp_path: Path) -> None:
    of, codes, *changes = WRONG[name]
    assert codes <= _found(tmp_path, of, *changes)
