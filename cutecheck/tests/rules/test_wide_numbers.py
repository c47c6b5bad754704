"""Numbers of which only the type is known: a table's elements, and what may be either of two products."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
template <int kM, int kD>
__global__ void rows(half_t* q, TABLE const* table, INDEX row, INDEX batch) {
  extern __shared__ char smem[];
  BEFORE
  Tensor gQ = make_tensor(make_gmem_ptr(q + OFFSET), Shape<Int<kM>, Int<kD>>{}, make_stride(row, _1{}));
  using Rows = Layout<Shape<Int<kM>, Int<kD>>, Stride<Int<kD>, _1>>;
  Tensor sQ = make_tensor(make_smem_ptr(reinterpret_cast<half_t*>(smem)), Rows{});
  using Atom = Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>;
  auto tiled = make_tiled_copy(Atom{}, Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{});
  auto thr = tiled.get_thread_slice(threadIdx.x);
  copy(tiled, thr.partition_S(gQ), thr.partition_D(sQ));
  cp_async_fence();
  cp_async_wait<0>();
  __syncthreads();
}
void host(half_t* q, TABLE const* table, INDEX row, INDEX batch) {
  rows<64, 64><<<dim3(4, 4), 128, 64 * 64 * 2>>>(q, table, row, batch);
}
"""


def _aligned(
    tmp_path: Path, table: str, index: str, before: str, offset: str, assume: tuple[str, ...] = ()
) -> set[tuple[str, str]]:
    text = KERNEL.replace("TABLE", table).replace("INDEX", index).replace("BEFORE", before).replace("OFFSET", offset)
    (tmp_path / "rows.cu").write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), assume=assume))
    assert not report.failures and not report.errors
    found = [o for o in report.outcomes if o.obligation.property == "vector-aligned"]
    assert len(found) == 2
    return {(o.verdict.value, o.reason) for o in found if o.verdict.value != "proved"}


@pytest.mark.parametrize("index", ["uint32_t", "int64_t"])
def test_either_of_two_products_is_a_product(tmp_path: Path, index: str) -> None:
    """FlashAttention's offset of a batch: by ``cu_seqlens`` where there are such, else by the stride of batches."""
    start = f"int start = table == nullptr ? -1 : table[blockIdx.y]; {index} at = start == -1 ? blockIdx.y * batch : "
    start += f"{index}(start) * row;"
    found = _aligned(tmp_path, "int", index, start, "at")
    assert found == {("unknown", "holds if batch % 8 == 0 and row % 8 == 0, which nothing in the source states")}


@pytest.mark.parametrize("index", ["uint32_t", "int64_t"])
def test_nothing_or_a_product_may_be_a_multiple(tmp_path: Path, index: str) -> None:
    before = f"{index} at = table == nullptr ? 0 : {index}(table[blockIdx.y]) * batch;"
    ((verdict, _),) = _aligned(tmp_path, "int", index, before, "at")
    assert verdict == "unknown"


@pytest.mark.parametrize("table", ["uint8_t", "uint16_t", "uint32_t", "int"])
def test_what_a_table_holds_may_be_multiples(tmp_path: Path, table: str) -> None:
    ((verdict, reason),) = _aligned(tmp_path, table, "int64_t", "", "table[blockIdx.y]")
    assert verdict == "unknown"
    assert "*table % 8 == 0" in reason


def test_an_index_that_takes_every_value_is_none(tmp_path: Path) -> None:
    ((verdict, _),) = _aligned(tmp_path, "int", "int64_t", "", "8 * row + blockIdx.y")
    assert verdict == "refuted"


@pytest.mark.parametrize("chosen", ["table ? batch : 0", "!table ? 0 : batch", "table ? 2 * batch : 0"])
@pytest.mark.parametrize("checked", [False, True])
def test_a_stride_or_none_asks_for_the_stride(
    chosen: str, checked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``!is_varlen ? params.batch_stride : 0`` on the host; what it checks of the number afterwards is known of it."""
    state = "if (each % 8 != 0) return;" if checked else ""
    host = f"INDEX each = {chosen}; {state} rows"
    monkeypatch.setattr(
        f"{__name__}.KERNEL",
        KERNEL.replace("table, row, batch);", "table, row, each);").replace("  rows<64", f"  {host}<64"),
    )
    by = 4 if "2 *" in chosen else 8
    asked = "row % 8 == 0" if checked else f"batch % {by} == 0 and row % 8 == 0"
    found = _aligned(tmp_path, "int", "int64_t", "", "blockIdx.y * batch")
    assert found == {("unknown", f"holds if {asked}, which nothing in the source states")}
    stated = ("row % 8 == 0", f"batch % {by} == 0", "batch >= 64")  # the last says nothing of what may be 0
    assert _aligned(tmp_path, "int", "int64_t", "", "blockIdx.y * batch", stated) == set()


def test_an_index_or_none_is_no_index(tmp_path: Path) -> None:
    """``block_or_0``: the names of indices are theirs alone."""
    start = "int at = table ? blockIdx.y : 0; at = at * 8;"
    found = _aligned(tmp_path, "int", "int64_t", start, "at * batch")
    assert found == {("unknown", "holds if row % 8 == 0, which nothing in the source states")}
