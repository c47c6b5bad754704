"""Rules in several processes say what they say in one."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine import shares
from cutecheck.engine.run import check, inputs
from cutecheck.facts import Event
from cutecheck.findings import Finding
from cutecheck.report.json import check_json
from cutecheck.rules import Context
from cutecheck.rules.bank_conflict_read import BankConflictRead

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
template <int N> __global__ void __launch_bounds__(128) k{i}(half_t const* in, float* out) {{
  __shared__ half_t tile[128 * N];
  Tensor s = make_tensor(make_smem_ptr(tile), Layout<Shape<_128, Int<N>>, Stride<Int<N>, _1>>{{}});
  auto mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{{}}, Layout<Shape<_2, _2, _1>>{{}}, Tile<_32, _32, _16>{{}});
  auto copier = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{{}}, mma);
  auto thread = mma.get_slice(threadIdx.x);
  Tensor r = thread.partition_fragment_A(s);
  auto part = copier.get_slice(threadIdx.x);
  copy(copier, part.partition_S(s), part.retile_D(r));
}}
void run{i}(half_t* a, float* b) {{ k{i}<64><<<1, 128>>>(a, b); k{i}<32><<<1, 128>>>(a, b); }}
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(shares, "WORTH", 1)
    for i in range(6):
        (tmp_path / f"k{i}.cu").write_text(KERNEL.format(i=i))
    return tmp_path


def said(tree: Path, jobs: int) -> object:
    document = check_json(check(inputs([str(tree)]), Settings(jobs=jobs, cache=False)))
    for outcome in document["obligations"]:
        for run in outcome["engines"]:
            run["milliseconds"] = 0
    return document


def test_two_and_three_processes_say_what_one_says(tree: Path) -> None:
    alone = said(tree, 1)
    assert alone["findings"]  # type: ignore[index]
    assert said(tree, 2) == alone
    assert said(tree, 3) == alone


FILLED = """
#include <cute/tensor.hpp>
using namespace cute;
template <bool F, class C, class S, class D> __device__ void fill{i}(C const& c, S const& s, D&& d) {{ copy(c, s, d); }}
__global__ void __launch_bounds__(128) k{i}(half_t const* in) {{
  extern __shared__ half_t tile[];
  Tensor s = make_tensor(make_smem_ptr(tile), Layout<Shape<_16, _64>, Stride<_72, _1>>{{}});
  Tensor g = make_tensor(make_gmem_ptr(in), Layout<Shape<_16, _64>, Stride<_64, _1>>{{}});
  auto c = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{{}},
      Layout<Shape<_16, _8>, Stride<_8, _1>>{{}}, Layout<Shape<_1, _8>>{{}});
  auto part = c.get_slice(threadIdx.x);
  fill{i}<true>(c, part.partition_S(g), part.partition_D(s));
  fill{i}<false>(c, part.partition_S(g), part.partition_D(s));
}}
void run{i}(half_t* a) {{ k{i}<<<1, 128, 4096>>>(a); }}
"""


def test_what_one_function_is_asked_does_not_hang_on_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two helpers that fill one buffer alike: each has its questions, in whatever process."""
    monkeypatch.setattr(shares, "WORTH", 1)
    for i in range(2):
        (tmp_path / f"k{i}.cu").write_text(FILLED.format(i=i))
    alone = said(tmp_path, 1)
    assert sum(o["property"] == "layout-injective" for o in alone["obligations"]) == 4  # type: ignore[index]
    assert said(tmp_path, 12) == alone


@pytest.mark.parametrize("processes", [2, 3, 12])
def test_facts_of_one_function_stay_together(tree: Path, processes: int) -> None:
    """Those of two instantiations, too, as long as there are templates enough."""
    facts = check(inputs([str(tree)]), Settings(jobs=1, cache=False)).facts
    tasks = shares._tasks(shares.blocks([BankConflictRead], facts), processes)
    by_task = [[facts.events[i].enclosing for i in task.facts["event"]] for task in tasks]
    assert sorted(name for names in by_task for name in names) == sorted(e.enclosing for e in facts.events)
    apart = [{name.split("<")[0] if processes < 7 else name for name in names} for names in by_task]
    assert sum(map(len, apart)) == len(set().union(*apart)) == (6 if processes < 7 else 12)
    assert [task.weight for task in tasks] == sorted((task.weight for task in tasks), reverse=True)


def test_a_process_that_dies_costs_nothing_but_time(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone, parent, rule = said(tree, 1), os.getpid(), BankConflictRead.on_event

    def dying(self: BankConflictRead, event: Event, context: Context) -> Iterable[Finding]:
        if os.getpid() != parent:
            os._exit(3)
        return rule(self, event, context)

    monkeypatch.setattr(BankConflictRead, "on_event", dying)
    assert said(tree, 3) == alone
