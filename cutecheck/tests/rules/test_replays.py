"""Kernels run pass by pass: a multi-stage GEMM that is right, and with one mistake each, as engineers make them."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE
from cutecheck.source.eval import reruns
from cutecheck.source.eval.one_run import run

HEAD = """
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, float>{},
    Layout<Shape<_16, _4>, Stride<_4, _1>>{}, Layout<Shape<_1, _4>>{}));
using Mma = decltype(make_tiled_mma(UniversalFMA<float>{}, Layout<Shape<_8, _8, _1>>{}));
using Tiles = Layout<Shape<_32, _16, _3>, Stride<_16, _1, _512>>;
template <class Copy, class G, class S>
__device__ void fill(Copy const& how, G const& from, S&& to) { copy(how, from, to); }
"""
KERNEL = """
__global__ void __launch_bounds__(64) NAME(float const* A, float const* B, float* C, int k) {
  __shared__ alignas(16) float a[cosize_v<Tiles> + 1024], b[cosize_v<Tiles>];
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(_32{}, k), make_stride(k, _1{}));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(_32{}, k), make_stride(k, _1{}));
  Tensor gA = local_tile(mA, Shape<_32, _16>{}, make_coord(0, _));
  Tensor gB = local_tile(mB, Shape<_32, _16>{}, make_coord(0, _));
  Tensor sA = make_tensor(make_smem_ptr(a), Tiles{}), sB = make_tensor(make_smem_ptr(b), Tiles{});
  auto load = Load{}.get_slice(threadIdx.x);
  Tensor fA = load.partition_S(gA), tA = load.partition_D(sA), fB = load.partition_S(gB), tB = load.partition_D(sB);
  Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor pA = thr.partition_A(sA), pB = thr.partition_B(sB);
  Tensor rA = thr.partition_fragment_A(sA(_, _, 0)), rB = thr.partition_fragment_B(sB(_, _, 0));
  Tensor acc = partition_fragment_C(mma, Shape<_32, _32>{});
  clear(acc);
  int next = 0, read = 0, write = 0, tiles = k / 16;
  for (int i = 0; i < 2; ++i) {
    fill(Load{}, fA(_, _, _, i), tA(_, _, _, i));
    fill(Load{}, fB(_, _, _, i), tB(_, _, _, i));
    cp_async_fence();
    ++next;
    ++write;
  }
  cp_async_wait<1>();
  __syncthreads();
  copy(pA(_, _, 0, read), rA(_, _, 0));
  copy(pB(_, _, 0, read), rB(_, _, 0));
  constexpr int last = 15;
  for (int t = 0; t < tiles; ++t) {
    for (int kb = 0; kb < 16; ++kb) {
      if (kb == last) {
        cp_async_wait<1>(); // in the loop
        __syncthreads(); // in the loop
        read = (read + 1) % 3;
      }
      int kn = (kb + 1) % 16;
      copy(pA(_, _, kn, read), rA(_, _, kn));
      copy(pB(_, _, kn, read), rB(_, _, kn));
      if (kb == 0) {
        if (next < tiles) {
          fill(Load{}, fA(_, _, _, next), tA(_, _, _, write));
          fill(Load{}, fB(_, _, _, next), tB(_, _, _, write));
          ++next;
          write = write == 2 ? 0 : write + 1;
        }
        cp_async_fence(); // in the loop
      }
      gemm(mma, rA(_, _, kb), rB(_, _, kb), acc);
    }
  }
  copy(acc, thr.partition_C(make_tensor(make_gmem_ptr(C), Layout<Shape<_32, _32>>{})));
}
void run_NAME(float const* A, float const* B, float* C) { NAME<<<1, 64>>>(A, B, C, 320); }
"""
MISTAKES = {
    "weak_wait": ("cp_async_wait<1>(); // in the loop", "cp_async_wait<2>();", "CUT213"),
    "no_wait": ("cp_async_wait<1>(); // in the loop", "", "CUT213"),
    "fence_inside": ("        }\n        cp_async_fence(); // in the loop", "  cp_async_fence();\n        }", "CUT213"),
    "wait_too_soon": ("if (kb == last) {", "if (kb == 0) {", "CUT213"),
    "barrier_first": (
        "cp_async_wait<1>(); // in the loop\n        __syncthreads();",
        "__syncthreads(); cp_async_wait<1>();",
        "CUT212",
    ),
    "stage_stays": ("read = (read + 1) % 3;", "", "CUT213"),
    "wrong_modulo": ("write == 2 ? 0", "write == 1 ? 0", "CUT218"),
    "starts_at_0": ("    ++write;\n", "", "CUT212"),
    "other_stage": ("pB(_, _, kn, read), rB(_, _, kn)", "pB(_, _, kn, write), rB(_, _, kn)", "CUT212"),
    "same_tile": ("          ++next;\n", "", "CUT218"),
    "b_lags": ("fB(_, _, _, next), tB", "fB(_, _, _, t), tB", "CUT218"),
    "a_stays": ("fA(_, _, _, next), tA", "fA(_, _, _, 0), tA", "CUT218"),
    "once_more": ("t < tiles;", "t <= tiles;", "CUT218"),
    "not_cleared": ("  clear(acc);\n", "", "CUT220"),
    "half_over": ("make_smem_ptr(b)", "make_smem_ptr(a + 1024)", "CUT209"),
    "no_such_stage": ("write = write == 2 ? 0", "write = write == 3 ? 0", "CUT209"),
    "read_of_no_stage": ("(read + 1) % 3", "(read + 1) % 4", "CUT209"),
    "last_left_out": ("tiles = k / 16;", "tiles = k / 16 - 1;", "CUT218"),
    "ends_early": ("t < tiles; ++t", "t < tiles - 1; ++t", "CUT218"),
    "half_left_out": ("tiles = k / 16;", "tiles = k / 32;", "CUT218"),
    "no_such_tile": ("if (next < tiles) {", "if (next <= tiles) {", "CUT210"),
    "b_filled_once": ("          fill(Load{}, fB(_, _, _, next), tB(_, _, _, write));\n", "", "CUT218"),
    "tile_before_the_first": ("fB(_, _, _, i), tB", "fB(_, _, _, i - 1), tB", "CUT210"),
}  # fmt: skip


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    path = tmp_path_factory.mktemp("replays")
    text = PREAMBLE + HEAD + KERNEL.replace("NAME", "right")
    for name, (old, new, _) in MISTAKES.items():
        assert KERNEL.count(old) == 1, name
        text += KERNEL.replace(old, new).replace("NAME", name)
        if len(text) > 30_000 or name == list(MISTAKES)[-1]:  # a file's kernels share its steps
            (path / f"{name}.cu").write_text(text)
            text = PREAMBLE + HEAD
    report = check(inputs([str(path)]), Settings(arch=("sm_80",), ignore=("CUT1", "CUT4")))
    assert not report.failures and not report.errors
    out: dict[str, set[str]] = {}
    for f in report.findings:
        out.setdefault(f.enclosing, set()).add(f.code)
    return out


def test_what_is_right_is_not_reported(found: dict[str, set[str]]) -> None:
    assert "right" not in found


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake(name: str, found: dict[str, set[str]]) -> None:
    assert MISTAKES[name][2] in found.get(name, set())


def test_what_a_run_takes_is_not_taken_from_the_walk(tmp_path: Path) -> None:
    (tmp_path / "gemm.cu").write_text(PREAMBLE + HEAD + KERNEL.replace("NAME", "right"))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), max_steps=1000))
    assert report.errors == () and len(report.facts.events) > 5


OPEN = (("float* C) {", "float* C, int k) {"), ("C, 320)", "C, k)"))
OF_BLOCKS = tuple((f"f{x}(_, _, _, {i})", f"f{x}(_, _, _, base + {i})") for x in "AB" for i in ("i", "next"))
PARTS: dict[str, tuple[tuple[tuple[str, str], ...], set[str]]] = {
    "all_tiles": ((("tiles = k / 16;", "tiles = ceil_div(k, 16);"), *OPEN), set()),
    "one_too_few": ((("tiles = k / 16;", "tiles = ceil_div(k, 16) - 1;"), *OPEN), {"CUT218"}),
    "one_too_many": ((("tiles = k / 16;", "tiles = k / 16 + 1;"), *OPEN), {"CUT210"}),
    "shared_by_blocks": (
        (("tiles = k / 16;", "tiles = k / 64, base = blockIdx.z * tiles;"), *OF_BLOCKS, *OPEN), set(),
    ),
    "counted_by_the_host": (
        (
            ("float* C, int k)", "float* C, int k, int tiles)"), ("write = 0, tiles = k / 16;", "write = 0;"),
            ("float* C) {", "float* C, int k, int tiles) {"), ("C, 320)", "C, k, tiles)"),
        ), set(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PARTS)
def test_which_tiles_there_are(name: str, tmp_path: Path) -> None:
    text = KERNEL
    for old, new in PARTS[name][0]:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (tmp_path / "gemm.cu").write_text(PREAMBLE + HEAD + text.replace("NAME", "kernel"))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), ignore=("CUT1", "CUT4"), cache=False))
    assert {f.code for f in report.findings} == PARTS[name][1]


OPTIONAL = (
    ("float* C, int k)", "float* C, int k, int const* lengths, bool halves)"),
    ("tiles = k / 16;", "tiles = (lengths == nullptr ? k : lengths[0]) / (halves ? 32 : 16);"),
    ("C, 320)", "C, 320, lengths, halves)"),
    ("float* C) {", "float* C, int const* lengths, bool halves) {"),
    ("pB = thr.partition_B(sB)", "pB = thr.partition_B(make_tensor(sB.data(), Other{}))"),
)  # what the caller may give or not, and a tile that is read by another layout than it is filled by


@pytest.mark.parametrize(("name", "codes"), [("right", set()), ("no_wait", {"CUT213"}), ("stage_stays", {"CUT213"})])
def test_what_may_be_given_is_decided(name: str, codes: set[str], tmp_path: Path) -> None:
    text = KERNEL
    for old, new in (*OPTIONAL, *([MISTAKES[name][:2]] if name in MISTAKES else [])):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    other = "using Other = Layout<Shape<_32, Shape<_8, _2>, _3>, Stride<_16, Stride<_1, _8>, _512>>;"
    (tmp_path / "gemm.cu").write_text(PREAMBLE + HEAD + other + text.replace("NAME", name))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), ignore=("CUT1", "CUT4")))
    found = {f.code for f in report.findings}
    assert codes <= found
    assert codes or not found


def test_a_start_that_memory_tells_is_one_that_stays(tmp_path: Path) -> None:
    """Of groups of rows: ``if (first >= last) return;`` and tiles from there on."""
    grouped = KERNEL.replace("int k) {", "int const* rows, int k) {\n  int const first = rows[blockIdx.x];")
    grouped = grouped.replace("  __shared__", "  if (first >= rows[blockIdx.x + 1]) return;\n  __shared__", 1)
    grouped = grouped.replace("make_gmem_ptr(A)", "make_gmem_ptr(A + int64_t(first) * k)")
    grouped = grouped.replace("float* C) { NAME", "float* C, int const* rows) { NAME").replace("C, 320", "C, rows, 320")
    old, new, code = MISTAKES["weak_wait"]
    for name, text, codes in (("right", grouped, set()), ("weak", grouped.replace(old, new), {code})):
        (tmp_path / name).mkdir()
        (tmp_path / name / "k.cu").write_text(PREAMBLE + HEAD + text.replace("NAME", name))
        report = check(inputs([str(tmp_path / name)]), Settings(arch=("sm_80",)))
        assert {f.code for f in report.findings} & {"CUT212", "CUT213", "CUT218", "CUT220"} == codes


OWN = """
using Store = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<ROWS, COLUMNS>, Stride<COLUMNS, _1>>{}, Layout<Shape<_1, _4>>{}));
__global__ void __launch_bounds__(64) rows(float const* A, float* C, int tiles) {
  __shared__ alignas(16) float a[512];
  Tensor g = make_tensor(make_gmem_ptr(A), make_shape(_32{}, _16{}, tiles), make_stride(_16{}, _1{}, _512{}));
  Tensor s = make_tensor(make_smem_ptr(a), Layout<Shape<_32, _16>, Stride<_16, _1>>{});
  auto load = Load{}.get_slice(threadIdx.x);
  auto read = Store{}.get_slice(threadIdx.x);
  Tensor r = make_fragment_like(read.partition_S(s));
  for (int t = 0; t < tiles; ++t) {
    copy(Load{}, load.partition_S(g)(_, _, _, t), load.partition_D(s));
    cp_async_fence();
    cp_async_wait<0>();
    copy(Store{}, read.partition_S(s), r);
    C[t * 64 + threadIdx.x] = r(0);
  }
}
void run(float const* A, float* C) { rows<<<1, 64>>>(A, C, 8); }
"""


@pytest.mark.parametrize(("rows", "columns", "codes"), [(16, 4, set()), (32, 2, {"CUT212"})])
def test_a_thread_that_reads_what_it_has_copied_needs_no_barrier(
    rows: int, columns: int, codes: set[str], tmp_path: Path
) -> None:
    """``cp.async`` and plain loads are two tiled copies, which may part a tile alike."""
    text = OWN.replace("ROWS", f"_{rows}").replace("COLUMNS", f"_{columns}")
    (tmp_path / "rows.cu").write_text(PREAMBLE + HEAD + text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT212", "CUT213")))
    assert {f.code for f in report.findings} == codes


EXCHANGED = """if (threadIdx.x < 32) {
        float x = acc(0);
        for (int o = 16; o; o /= 2) x += __shfl_xor_sync(~0u, x, o);
        C[t] = x;
      }"""


@pytest.mark.parametrize("name", ["", "weak_wait", "wait_too_soon", "other_stage"])
def test_lanes_of_one_warp_exchange_values(tmp_path: Path, name: str) -> None:
    old, new, code = MISTAKES[name] if name else ("", "", "")
    text = KERNEL.replace("int kn = (kb + 1)", f"{EXCHANGED}\n      int kn = (kb + 1)").replace("NAME", "sums")
    (tmp_path / "k.cu").write_text(PREAMBLE + HEAD + (text.replace(old, new) if old else text))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), ignore=("CUT1", "CUT4"), cache=False))
    assert not report.failures and not report.errors
    found = {f.code for f in report.findings}
    assert code in found if code else not found


def test_a_kernel_of_a_file_that_is_not_reported_on_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, launch = KERNEL.replace("NAME", "k").replace("  clear(acc);\n", "").split("void run_k")
    for folder, name, text in (
        ("lib", "k.hpp", PREAMBLE + HEAD + kernel),
        ("src", "a.cu", '#include "k.hpp"\nvoid run_k' + launch),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(text)
    runs: list[str] = []
    monkeypatch.setattr(reruns, "run", lambda m, start, *a, **k: runs.append(start.fn.name) or run(m, start, *a, **k))
    settings = Settings(arch=("sm_80",), cache=False, include=(tmp_path / "lib",), select=("CUT2",))
    assert not check(inputs([str(tmp_path / "src")]), settings).findings and not runs
    assert "CUT220" in {f.code for f in check(inputs([str(tmp_path)]), settings).findings} and "k" in runs
