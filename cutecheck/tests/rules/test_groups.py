"""Groups of cp.async: what a wait leaves open, against a queue run by hand; barriers in helpers and other files."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, float>{},
    Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
using Store = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
using Tiles = Layout<Shape<_8, _64, Int<%(stages)s>>, Stride<_64, _1, _512>>;
__global__ void __launch_bounds__(128) %(name)s(float const* in, float* out, int n) {
  __shared__ alignas(16) float smem[cosize_v<Tiles>];
  Tensor g = make_tensor(make_gmem_ptr(in), make_layout(Shape<_8, _64, _32>{}, Stride<_64, _1, _512>{}));
  Tensor o = make_tensor(make_gmem_ptr(out), make_layout(Shape<_8, _64, _32>{}, Stride<_64, _1, _512>{}));
  Tensor s = make_tensor(make_smem_ptr(smem), Tiles{});
  auto t = Load{}.get_slice(threadIdx.x);
  auto r = Store{}.get_slice(threadIdx.x);
  Tensor tg = t.partition_S(g);
  Tensor ts = t.partition_D(s);
  Tensor rs = r.partition_S(s);
  Tensor ro = r.partition_D(o);
  %(helpers)s
  for (int i = 0; i < %(prologue)s; ++i) {
    copy(Load{}, tg(_, _, _, i), ts(_, _, _, i));
    %(commit)s
  }
  int read = 0, write = %(prologue)s;
  for (int i = 0; i < n; ++i) {
    %(before)s
    cp_async_wait<%(wait)s>();
    __syncthreads();
    copy(Store{}, rs(_, _, _, read), ro(_, _, _, i));
    read = read + 1 == %(stages)s ? 0 : read + 1;
    __syncthreads();
  }
}
"""
FILL = "copy(Load{}, tg(_, _, _, write), ts(_, _, _, write)); cp_async_fence();"


def found(tmp_path: Path, **given: object) -> list[str]:
    base = {"name": "pipe", "stages": 3, "prologue": 2, "commit": "cp_async_fence();", "before": "", "helpers": ""}
    path = tmp_path / "pipe.cu"
    path.write_text(PREAMBLE + KERNEL % (base | given))
    report = check(inputs([str(path)]), Settings(arch=("sm_80",)))
    assert not report.failures and not report.errors
    return sorted({f.code for f in report.findings} - {"CUT218"})  # the loops fill one stage: it is groups that count


def arrives(prologue: int, inside: int, wait: int) -> bool:
    """Whether the first tile is there when the loop first reads: groups are waited for oldest first."""
    groups = [{i} for i in range(prologue)] + [{prologue + i} for i in range(inside)]
    here: set[int] = set()
    while len(groups) > wait:
        here |= groups.pop(0)
    return 0 in here


@pytest.mark.parametrize("inside", [0, 1])
@pytest.mark.parametrize("wait", range(5))
@pytest.mark.parametrize("prologue", [1, 2, 3])
def test_the_first_tile_has_arrived(prologue: int, wait: int, inside: int, tmp_path: Path) -> None:
    codes = found(tmp_path, stages=prologue + 1, prologue=prologue, wait=wait, before=FILL * inside)
    assert codes == ([] if arrives(prologue, inside, wait) else ["CUT213"])


def test_without_a_commit_only_a_wait_for_everything_waits(tmp_path: Path) -> None:
    assert found(tmp_path, commit="", wait=0) == []  # cp.async.wait_all
    assert found(tmp_path, commit="", wait=1) == ["CUT213"]


@pytest.mark.parametrize(
    ("before", "wait", "expected"),
    [
        (FILL, 1, []),
        (FILL.replace("cp_async_fence();", ""), 1, ["CUT213"]),
        (FILL.replace("cp_async_fence();", ""), 0, []),  # cp.async.wait_all needs no group
        (FILL.replace("cp_async_fence();", "if (i < 3) cp_async_fence();"), 1, []),
        (FILL.replace("cp_async_fence();", "auto commit = [&] { cp_async_fence(); }; commit();"), 1, []),
        (FILL.replace("cp_async_fence();", 'asm volatile("cp.async.commit_group;");'), 1, []),
        ("cp_async_fence();", 1, []),
    ],
)
def test_a_loop_commits_what_it_fills(before: str, wait: int, expected: list[str], tmp_path: Path) -> None:
    assert found(tmp_path, wait=wait, before=before) == expected


BLOCKS = """
    for (int k = 0; k < 4; ++k) {
      if (k == 3) { WAIT __syncthreads(); }
      copy(Store{}, rs(_, _, _, read), ro(_, _, _, i));
      if (k == 0) { REFILL }
    }
    write = read;"""


@pytest.mark.parametrize(
    ("wait", "fill", "expected"),
    [
        ("", FILL, ["CUT213"]),
        ("cp_async_wait<1>();", FILL, []),
        ('asm volatile("cp.async.wait_group 1;");', FILL, []),
        ("arrived();", FILL, []),
        ("wait_elsewhere(out);", FILL, []),  # nobody sees what it does
        ("", "", []),  # what is read was waited for before the loop
        ("", "copy(Store{}, tg(_, _, _, write), ts(_, _, _, write));", []),  # no cp.async
    ],
)
def test_a_loop_of_blocks_waits(wait: str, fill: str, expected: list[str], tmp_path: Path) -> None:
    head, _, _ = KERNEL.partition("    %(before)s\n")
    body = BLOCKS.replace("WAIT", wait).replace("REFILL", fill)
    text = f"{head.replace('  int read', '  cp_async_wait<0>(); __syncthreads(); int read')}{body}"
    text += "\n    read = read + 1 == %(stages)s ? 0 : read + 1;\n    __syncthreads();\n  }\n}\n"
    given = {"name": "pipe", "stages": 3, "prologue": 2, "commit": "cp_async_fence();"}
    given["helpers"] = "auto arrived = [&] { cp_async_wait<0>(); };"
    path = tmp_path / "pipe.cu"
    path.write_text(PREAMBLE + text % given)
    report = check(inputs([str(path)]), Settings(arch=("sm_80",), select=("CUT213",)))
    assert not report.failures and not report.errors
    assert sorted({f.code for f in report.findings}) == expected


@pytest.mark.parametrize(
    "changed",
    [
        {"prologue": "n"},  # a loop of unknown length commits
        {
            "helpers": "tma_store_wait<0>(); wait_barrier(*(uint64_t*)out, 0);",
            "before": "wait_barrier(*(uint64_t*)out, 0);",
        },
        {"before": "if (i == 0) { cp_async_wait<0>(); }"},
        {"before": "if (i < 1) continue;"},  # the first read is later
        {"commit": 'asm volatile("cp.async.commit_group;"); asm volatile("cp.async.commit_group;");'},
        {"helpers": "auto commit2 = [&] { cp_async_fence(); };", "commit": "commit2(); commit2();"},
    ],
)
def test_what_is_not_certain_is_silent(changed: dict[str, str], tmp_path: Path) -> None:
    assert found(tmp_path, wait=2) == ["CUT213"]
    assert found(tmp_path, **({"wait": 2} | changed)) == []


def test_a_barrier_in_a_helper_counts_each_time(tmp_path: Path) -> None:
    """The second call of a helper is a barrier, too."""
    text = """
    using Tile = Layout<Shape<_32, _32>, Stride<_32, _1>>;
    using Rows = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
        Layout<Shape<_4, _32>, Stride<_32, _1>>{}, Layout<Shape<_1, _1>>{}));
    __global__ void __launch_bounds__(128) turn(float const* in, float* out) {
      __shared__ float smem[32 * 33];
      Tensor g = make_tensor(make_gmem_ptr(in), Tile{});
      Tensor w = make_tensor(make_smem_ptr(smem), Layout<Shape<_32, _32>, Stride<Int<33>, _1>>{});
      Tensor r = make_tensor(make_smem_ptr(smem), Layout<Shape<_32, _32>, Stride<_1, Int<33>>>{});
      auto t = Rows{}.get_slice(threadIdx.x);
      auto publish = [&] { __syncthreads(); };
      publish();
      copy(Rows{}, t.partition_S(g), t.partition_D(w));
      publish();
      copy(Rows{}, t.partition_S(r), t.partition_D(make_tensor(make_gmem_ptr(out), Tile{})));
    }
    """
    path = tmp_path / "turn.cu"
    for kept, codes in (
        (text, []),
        (text.replace("t.partition_D(w));\n      publish();", "t.partition_D(w));"), ["CUT212"]),
    ):
        path.write_text(PREAMBLE + kept)
        report = check(inputs([str(path)]), Settings(arch=("sm_80",)))
        assert [f.code for f in report.findings] == codes


def test_barriers_of_another_file_hold_nothing_back(tmp_path: Path) -> None:
    values = {"stages": 3, "prologue": 2, "commit": "cp_async_fence();", "before": "", "helpers": "", "wait": 0}
    right = PREAMBLE + KERNEL % (values | {"name": "right"})
    wrong = PREAMBLE + (KERNEL % (values | {"name": "wrong"})).replace("    __syncthreads();\n", "")
    assert wrong.count("__syncthreads") == 0
    for names in (("a", "b"), ("b", "a")):
        for name, text in zip(names, (wrong, right), strict=True):
            (tmp_path / f"{name}.cu").write_text(text)
        report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
        assert {(f.code, f.span.path) for f in report.findings} == {("CUT212", f"{names[0]}.cu")}


def test_slices_of_one_tile_do_not_reach_the_next(tmp_path: Path) -> None:
    """A slice at a constant index starts inside its tile; the tile ends where it did."""
    text = """
    using Tile = Layout<Shape<_8, Shape<_64, _2>>, Stride<_64, Stride<_1, _512>>>;
    using Rows = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
        Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _1>>{}));
    using Columns = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
        Layout<Shape<_4, _32>, Stride<_32, _1>>{}, Layout<Shape<_1, _1>>{}));
    __global__ void __launch_bounds__(128) two(float const* in, float* out) {
      __shared__ float smem[2 * cosize_v<Tile>];
      Tensor g = make_tensor(make_gmem_ptr(in), Tile{});
      Tensor o = make_tensor(make_gmem_ptr(out), Tile{});
      Tensor a = make_tensor(make_smem_ptr(smem), Tile{});
      Tensor b = make_tensor(make_smem_ptr(smem + cosize_v<Tile>), Layout<Shape<_8, _128>, Stride<_128, _1>>{});
      auto w = Rows{}.get_slice(threadIdx.x);
      auto r = Columns{}.get_slice(threadIdx.x);
      copy(Rows{}, w.partition_S(g), w.partition_D(a));
      __syncthreads();
      copy(Columns{}, r.partition_S(a)(_, _, _3{}), r.partition_D(o)(_, _, _3{}));
      copy(Rows{}, w.partition_S(g), w.partition_D(b));
    }
    """
    path = tmp_path / "two.cu"
    for start, codes in (("cosize_v<Tile>", []), ("512", ["CUT212"])):
        path.write_text(PREAMBLE + text.replace("smem + cosize_v<Tile>", f"smem + {start}"))
        report = check(inputs([str(path)]), Settings(arch=("sm_80",), select=("CUT212",)))
        assert [f.code for f in report.findings if f.code == "CUT212"] == codes


PLAIN = """
template <class Threads>
__global__ void __launch_bounds__(128) shift(float const* in, float* out, Threads threads, int n) {
  __shared__ float smem[1024];
  Tensor g = make_tensor(make_gmem_ptr(in), make_layout(make_shape(_32{}, _32{}, n), make_stride(_1{}, _32{}, 1024)));
  Tensor s = make_tensor(make_smem_ptr(smem), Layout<Shape<_32, _32>>{});
  Tensor o = make_tensor(make_gmem_ptr(out), make_layout(make_shape(_32{}, _32{}, n), make_stride(_1{}, _32{}, 1024)));
  for (int i = 0; i < n; ++i) {
    copy(local_partition(g(_, _, i), threads, threadIdx.x), local_partition(s, threads, threadIdx.x));
    FIRST
    copy(local_partition(s, Layout<Shape<_32, _4>>{}, threadIdx.x),
         local_partition(o(_, _, i), Layout<Shape<_32, _4>>{}, threadIdx.x));
    SECOND
  }
}
void run(float const* in, float* out, int n) { shift<<<1, 128>>>(in, out, THREADS{}, n); }
"""


@pytest.mark.parametrize("threads", ["Layout<Shape<_32, _4>>", "Layout<Shape<_16, _8>>"])
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
def test_threads_of_plain_partitions(threads: str, first: bool, second: bool, tmp_path: Path) -> None:
    """A thread that reads what it wrote itself needs no barrier; threads of another layout read what others wrote."""
    text = PLAIN.replace("FIRST", "__syncthreads();" * first).replace("SECOND", "__syncthreads();" * second)
    path = tmp_path / "shift.cu"
    path.write_text(PREAMBLE + text.replace("THREADS", threads))
    report = check(inputs([str(path)]), Settings(arch=("sm_80",), select=("CUT212",)))
    others = threads != "Layout<Shape<_32, _4>>"
    found = [f.message for f in report.findings if f.code == "CUT212"]
    writes, reads = others and not second, others and not first
    assert ["reads in the same loop" in text for text in found] == [True] * writes + [False] * reads


def test_a_kernel_begins_when_the_one_before_has_ended(tmp_path: Path) -> None:
    """The tile of one launch is no earlier use of the tile of the next."""
    pair = Path(__file__).parents[1] / "data" / "pairs" / "dsl-smem-read-without-sync"
    launch = "    transpose(src, dst, rows, rows).launch(grid=(1, 1, 1), block=(128, 1, 1))\n"
    made = "    twos = cute.make_tiled_copy_tv(atom, cute.make_layout((2, 32), stride=(32, 1)), "
    other = made + "cute.make_layout((1, 1)))\n"
    text = (pair / "good.py").read_text()
    assert launch in text
    path = tmp_path / "twice.py"
    path.write_text(text.replace(launch, launch + other + launch.replace("rows, rows", "twos, twos")))
    report = check(inputs([str(path)]), Settings(arch=("sm_80",), select=("CUT212",)))
    assert [f.message for f in report.findings if f.code == "CUT212"] == []
    assert len([e for e in report.facts.events if e.kind == "copy"]) == 4


def test_a_condition_leaves_out_passes_of_a_loop(tmp_path: Path) -> None:
    """Slices of a tile in turn: the one before the loop is read again only where the condition lets a pass go past the
    end of the rows."""
    text = """
    using Tile = Layout<Shape<_8, Shape<_16, _4>>, Stride<_64, Stride<_1, _16>>>;
    using Rows = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
        Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _1>>{}));
    using Columns = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
        Layout<Shape<_8, _16>>{}, Layout<Shape<_1, _1>>{}));
    __global__ void __launch_bounds__(128) ahead(float const* in, float* out) {
      __shared__ float smem[2 * cosize_v<Tile>];
      Tensor g = make_tensor(make_gmem_ptr(in), Tile{});
      Tensor o = make_tensor(make_gmem_ptr(out), Tile{});
      Tensor s = make_tensor(make_smem_ptr(smem), Tile{});
      auto w = Rows{}.get_slice(threadIdx.x);
      auto rs = Columns{}.get_slice(threadIdx.x).partition_S(s);
      auto ro = Columns{}.get_slice(threadIdx.x).partition_D(o);
      copy(Rows{}, w.partition_S(g), w.partition_D(s));
      __syncthreads();
      copy(Rows{}, w.partition_S(g)(_, _, 0), w.partition_D(s)(_, _, 0));
      for (int i = 0; i < 4; ++i) {
        if (i + 1 < LAST) copy(Columns{}, rs(_, _, i + 1), ro(_, _, i));
      }
    }
    """
    path = tmp_path / "ahead.cu"
    for last, codes in (("size<2>(rs)", []), ("5", ["CUT212"])):
        path.write_text(PREAMBLE + text.replace("LAST", last))
        report = check(inputs([str(path)]), Settings(arch=("sm_80",), select=("CUT212",)))
        assert [f.code for f in report.findings if f.code == "CUT212"] == codes


WRAPPERS = """
namespace ptx {
__device__ __forceinline__ void commit_group() { asm volatile("cp.async.commit_group;\\n" ::); }
template <int N> __device__ __forceinline__ void wait_group() { asm volatile("cp.async.wait_group %0;\\n" ::"n"(N)); }
template <int N> __device__ void drain() { asm volatile("cp.async.wait_group %[left];" :: [left] "n"(N) : "memory"); }
__device__ void wait_all() { asm volatile("cp.async.wait_all;\\n" ::: "memory"); }
}
"""


@pytest.mark.parametrize(
    ("wait", "expected"),
    [
        ("ptx::wait_group<2>();", []),
        ("ptx::wait_group<3>();", ["CUT213"]),
        ("ptx::drain<2>();", []),
        ("ptx::drain<3>();", ["CUT213"]),
        ('asm volatile("cp.async.wait_group %0;" :: "n"(4 - 1));', ["CUT213"]),
        ('asm volatile("cp.async.wait_group 2;");', []),
        ('asm volatile("cp.async.wait_group 3;");', ["CUT213"]),
        ("ptx::wait_all();", []),
    ],
)
def test_groups_of_own_assembly(wait: str, expected: list[str], tmp_path: Path) -> None:
    """Functions of other names wait for the groups that their assembly says, and for no other thread."""
    text = KERNEL.replace("cp_async_wait<%(wait)s>();", wait.replace("%", "%%"))
    fill = FILL.replace("cp_async_fence", "ptx::commit_group")
    given = {
        "name": "pipe",
        "stages": 3,
        "prologue": 2,
        "commit": "ptx::commit_group();",
        "before": fill,
        "helpers": "",
    }
    path = tmp_path / "pipe.cu"
    path.write_text(PREAMBLE + WRAPPERS + text % given)
    report = check(inputs([str(path)]), Settings(arch=("sm_80",)))
    assert not report.failures and not report.errors
    assert sorted({f.code for f in report.findings} - {"CUT218"}) == expected
