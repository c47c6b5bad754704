"""What the code checks itself, however it is written, settles an alignment; what it does not check does not."""

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
