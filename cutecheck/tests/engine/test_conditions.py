"""What the code checks itself, however it is written, settles an alignment; what it does not check does not."""

import math
import re
from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
template <int kRow>
__global__ void __launch_bounds__(128) rows(half_t const* in, half_t* out, int m, int lda) {
  DEVICE
  Tensor g = make_tensor(make_gmem_ptr(in), make_layout(Shape<_64, _64>{}, make_stride(lda, _1{})));
  Tensor o = make_tensor(make_gmem_ptr(out), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  auto t = Load{}.get_slice(threadIdx.x);
  Tensor r = make_fragment_like(t.partition_S(g));
  copy(Load{}, t.partition_S(g), r);
  copy(Load{}, r, t.partition_D(o));
}
void run(half_t const* in, half_t* out, int m, int lda) {
  HOST
  rows<64><<<1, 128>>>(in, out, m, lda);
}
"""
STATED = [
    "assert(lda % 8 == 0);", "assert(0 == lda % 8);", "assert((lda & 7) == 0);", "assert(!(lda % 8));",
    "assert(lda % 16 == 0 && m > 0);", "TORCH_CHECK(lda % 8 == 0, \"lda\");", "CUTE_ASSERT(lda % 8 == 0);",
    "// cutecheck: assume lda % 8 == 0", "if (lda % 8 != 0) return;", "if (lda % 8) return;",
    "if (!(lda % 8 == 0)) return;", "if (lda % 8 != 0 || m < 1) return;", "if (lda & 7) { printf(\"no\"); return; }",
    "if (lda % 8 != 0) throw std::runtime_error(\"lda\");", "if (lda % 8 == 0) { m = 3; } else return;",
    "assert(lda % 4 == 0); if (lda % 8) return;",
]  # fmt: skip
NOT_STATED = [
    "", "if (lda % 8 != 0 && m > 1) return;", "if (m > 3) { if (lda % 8) return; }", "if (lda % 8) { m = 8; }",
    "if (lda % 8 != 0) { if (m > 2) return; }", "if (lda % 8 == 0) { m = 1; }", "if (lda % 8 == 0) return;",
    "assert(lda % 8 == 0 || m > 1);", "if (lda % 8 == 0 || m > 3)",
]  # fmt: skip


def verdicts(tmp_path: Path, host: str, device: str) -> tuple[list[str], int]:
    path = tmp_path / "rows.cu"
    path.write_text(PREAMBLE + KERNEL.replace("HOST", host).replace("DEVICE", device))
    report = check(inputs([str(path)]), Settings(arch=("sm_80",)))
    assert not report.failures and not report.errors
    unknown = [o for o in report.outcomes if o.obligation.property == "vector-aligned" and o.verdict.value == "unknown"]
    return [f.code for f in report.findings], len(unknown)


@pytest.mark.parametrize("text", [*STATED, "if (lda % 8 == 0)"])
def test_on_the_host(text: str, tmp_path: Path) -> None:
    assert verdicts(tmp_path, text, "") == ([], 0)


@pytest.mark.parametrize("text", [t for t in STATED if "TORCH" not in t and "throw" not in t])
def test_in_the_kernel(text: str, tmp_path: Path) -> None:
    assert verdicts(tmp_path, "", text) == ([], 0)


@pytest.mark.parametrize("text", NOT_STATED)
def test_what_does_not_follow_stays_unknown(text: str, tmp_path: Path) -> None:
    assert verdicts(tmp_path, text, "") == ([], 1)


@pytest.mark.parametrize("text", ["assert(lda % 4 == 0);", "if (lda % 4 != 0) return;", "if (lda % 4 == 0)"])
def test_too_weak_a_condition_is_reported(text: str, tmp_path: Path) -> None:
    assert verdicts(tmp_path, text, "") == (["CUT402"], 1)


def test_a_static_assertion_binds_its_instantiation_only(tmp_path: Path) -> None:
    assert verdicts(tmp_path, "", "static_assert(kRow % 8 == 0); lda = kRow;") == ([], 0)
    assert verdicts(tmp_path, "", "static_assert(kRow % 8 == 0);") == ([], 1)


def test_a_condition_holds_in_its_branch_only(tmp_path: Path) -> None:
    """The launch after the branch is not under it."""
    assert verdicts(tmp_path, "if (lda % 8 == 0) { m = 2; }", "") == ([], 1)
    assert verdicts(tmp_path, "", "{ if (lda % 8 != 0) { m = 1; } }") == ([], 1)


@pytest.mark.parametrize("factor", [1, 3, 4, 6, 8, 12, 16, 20, 132])
def test_the_contract_that_is_named_is_the_weakest(factor: int, tmp_path: Path) -> None:
    path = tmp_path / "rows.cu"
    text = (
        KERNEL.replace("HOST", "")
        .replace("DEVICE", "")
        .replace("make_stride(lda, _1{})", f"make_stride(m * {factor}, _1{{}})")
    )
    path.write_text(PREAMBLE + text)
    report = check(inputs([str(path)]), Settings(arch=("sm_80",)))
    reasons = {
        o.reason for o in report.outcomes if o.obligation.property == "vector-aligned" and o.verdict.value == "unknown"
    }
    weakest = next(d for d in range(1, 9) if all(m * factor % 8 == 0 for m in range(0, 8 * d * factor, d)))
    assert weakest == 8 // math.gcd(8, factor)
    assert reasons == ({f"holds if m % {weakest} == 0, which nothing in the source states"} if weakest > 1 else set())


HELP = """
using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
__global__ void __launch_bounds__(128) rows(half_t const* in) {
  __shared__ MEMORY half_t smem[64 * 72 + 8];
  Tensor s = make_tensor(make_smem_ptr(smem START), Layout<Shape<_64, _64>, Stride<STRIDE, _1>>{});
  auto t = Load{}.get_slice(threadIdx.x);
  Tensor r = make_fragment_like(t.partition_S(s));
  copy(Load{}, t.partition_S(s), r);
}
"""


@pytest.mark.parametrize(
    ("memory", "start", "stride", "why", "way"),
    [
        (
            "alignas(16)",
            "",
            "_68",
            "a stride of 68 elements is 136 bytes",
            "pad by a multiple of 16 bytes (8 elements)",
        ),
        ("alignas(16)", "+ 4", "_72", "it starts at byte 8", "pad by a multiple of 16 bytes (8 elements)"),
    ],
)
def test_what_helps_an_address_that_is_no_multiple(
    memory: str, start: str, stride: str, why: str, way: str, tmp_path: Path
) -> None:
    path = tmp_path / "rows.cu"
    text = HELP.replace("MEMORY", memory).replace("START", start).replace("STRIDE", stride.replace("_", "Int<") + ">")
    path.write_text(PREAMBLE + text)
    (finding,) = check(inputs([str(path)]), Settings(arch=("sm_80",))).findings
    assert finding.code == "CUT402" and finding.message.endswith(why)
    assert finding.help == f"{way}, or use an atom of fewer bits"


PYTHON = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def rows(src: cute.Tensor, tiled: cute.TiledCopy):
    tid, _, _ = cute.arch.thread_idx()
    tile = cute.make_layout((16, 64), stride=(64, 1))
    s = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Float16, tile, byte_alignment=SMEM)
    thr = tiled.get_slice(tid)
    cute.copy(tiled, thr.partition_S(cute.local_tile(src, (16, 64), (0, 0))), thr.partition_D(s))


@cute.jit
def host(src: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float16, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((16, 8), stride=(8, 1)), cute.make_layout((1, 8)))
    rows(src, tiled).launch(grid=(1, 1, 1), block=(128, 1, 1))


strides = (cute.sym_int64(divisibility=DIV), 1)
x = make_fake_tensor(cutlass.Float16, (cute.sym_int(), 64), stride=strides, assumed_align=GMEM)
cute.compile(host, x)
"""


@pytest.mark.parametrize(
    ("smem", "gmem", "div", "expected"),
    [
        (16, 16, 8, []),
        (
            8,
            16,
            8,
            [("its memory starts at a multiple of 8 bytes only", "give byte_alignment=16 where the tensor is made")],
        ),
        (
            16,
            8,
            8,
            [("its memory starts at a multiple of 8 bytes only", "give assumed_align=16 where the tensor is made")],
        ),
        (16, 16, 4, [("the source says `sym:i64 % 4 == 0` only", "state and check `sym:i64 % 8 == 0`")]),
    ],
)
def test_promises_of_the_dsl(smem: int, gmem: int, div: int, expected: list[tuple[str, str]], tmp_path: Path) -> None:
    path = tmp_path / "rows.py"
    path.write_text(PYTHON.replace("SMEM", str(smem)).replace("GMEM", str(gmem)).replace("DIV", str(div)))
    found = check(inputs([str(path)]), Settings(arch=("sm_80",))).findings
    assert {f.code for f in found} <= {"CUT402"}
    said = [(f.message.partition("multiple of 16: ")[2], f.help.partition(", or use an atom")[0]) for f in found]
    assert [tuple(re.sub(r"sym\d+", "sym", text) for text in pair) for pair in said] == expected


BATCHED = """
template <class T> void load(T* a, int n, int k, int b) {
  auto t = make_tensor(make_gmem_ptr(a), make_layout(make_shape(n, k, b), make_stride(k, _1{}, n * k)));
  auto tma = make_tma_copy(SM90_TMA_LOAD{}, t, Layout<Shape<_64, _64>, Stride<_64, _1>>{});
}
int main(int argc, char** argv) {
  int n = 4096, k = 4096;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!strcmp(argv[i], "-n")) n = atoi(argv[i + 1]);
    if (!strcmp(argv[i], "-k")) k = atoi(argv[i + 1]);
  }
  CHECK
  half_t* p = nullptr;
  load(p, n, k, 2);
}
"""


@pytest.mark.parametrize(
    ("check_", "reason"),
    [("if (k % 8 != 0) return 1;", ""), ("if (n % 256 != 0) return 1;", "holds if k % 8 == 0, ")],
    ids=["of_the_row", "of_what_need_not_be"],
)
def test_strides_of_a_batch_by_arguments_of_the_program(check_: str, reason: str, tmp_path: Path) -> None:
    """What a loop over arguments may set is any number; a row of whole 16 bytes is enough for the stride of a batch."""
    path = tmp_path / "batched.cu"
    path.write_text(PREAMBLE + BATCHED.replace("CHECK", check_))
    report = check(inputs([str(path)]), Settings(arch=("sm_90a",), cache=False))
    assert not report.findings
    reasons = [o.reason for o in report.outcomes if o.verdict.value == "unknown"]
    assert len(reasons) == bool(reason) and all(r.startswith(reason) for r in reasons)
