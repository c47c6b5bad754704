"""Runs of a kernel pass by pass: a loop that only its body ends, and that came to no end for one thread.

For the threads of other roles it is tried for a few passes; what is found is what was found when it was tried for all.
"""

import re
from pathlib import Path

import pytest

from cutecheck.facts import Unknown
from cutecheck.facts.replayed import REPLAY, Replay
from cutecheck.rules.examples import PREAMBLE
from cutecheck.source.eval.record.replay import Replaying
from cutecheck.source.eval.statements import unrolled
from cutecheck.source.eval.statements.enumerated import Enumerated
from cutecheck.source.extract import ExtractRequest, extract

KERNEL = """
using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64, _2>{}));
using Full = cutlass::arch::ClusterTransactionBarrier;
template <class Tma>
__global__ void __launch_bounds__(128) sum(CUTE_GRID_CONSTANT Tma const tma, half_t* out, int tiles) {
  __shared__ alignas(1024) half_t smem[cosize_v<Smem>];
  __shared__ alignas(8) uint64_t full[2];
  Tensor sA = make_tensor(make_smem_ptr(smem), Smem{});
  Tensor gA = local_tile(tma.get_tma_tensor(Shape<_512, _64>{}), Shape<_128, _64>{}, make_coord(_, 0));
  auto cta = tma.get_slice(0);
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) { Full::init(&full[i], 1); }
  }
  __syncthreads();
  int group = 0, at = 0;
  for (;;) {
    group += 32;
    ENDS
  }
  if (threadIdx.x == 0) {
    Full::arrive_and_expect_tx(&full[0], 16384);
    copy(tma.with(full[0]), cta.partition_S(gA(_, _, group)), cta.partition_D(sA(_, _, 0)));
  }
  Full::wait(&full[0], 0);
  Tensor r = make_tensor<half_t>(Shape<_64>{});
  copy(sA(threadIdx.x, _, 0), r);
}
void run(half_t const* A, half_t* out, int tiles) {
  Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_512, _64>, Stride<_64, _1>>{});
  sum<<<4, 128>>>(make_tma_copy(SM90_TMA_LOAD{}, gA, Smem{}(_, _, 0)), out, tiles);
}
"""
NO_END = "if (__ballot_sync(0xffffffffu, group < tiles)) break;"
ENDS = {
    "for nobody": NO_END,
    "for all but the first": f"if (threadIdx.x != 0 && ++at == 3) break; {NO_END}",
    "with a step": f"Full::wait(&full[1], 0); if (threadIdx.x != 0 && ++at == 9) break; {NO_END}",
}


def _is_replay(result: object) -> bool:
    return isinstance(result, Unknown) and result.reason == REPLAY


def _runs(folder: Path, ends: str) -> list[str]:
    (folder / "k.cu").write_text(PREAMBLE + KERNEL.replace("ENDS", ends))
    facts = extract(ExtractRequest((folder,), ("sm_90a",)))
    (made,) = (a for c in facts.calls if _is_replay(c.result) for a in c.arguments if isinstance(a, Replay))
    assert made.threads
    return [re.sub(r"[#~]\\d+", "#", repr(t)) for t in made.threads]


@pytest.mark.parametrize("name", ENDS)
def test_runs_are_those_of_all_passes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passes = []
    monkeypatch.setattr(Replaying, "of_thread", lambda run, thread: None)  # each thread's is run
    walk = Enumerated.walk
    monkeypatch.setattr(Enumerated, "walk", lambda self, body: (passes.append(1), walk(self, body))[1])
    found, fewer = _runs(tmp_path, ENDS[name]), len(passes)
    passes.clear()
    monkeypatch.setattr(unrolled, "FEW", unrolled.PASSES)
    assert found == _runs(tmp_path, ENDS[name])
    assert (fewer < 0.8 * len(passes)) == (name == "for nobody")


def test_a_pass_too_few_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = _runs(tmp_path, ENDS["for all but the first"])
    monkeypatch.setattr(unrolled, "FEW", 1)
    assert _runs(tmp_path, ENDS["for all but the first"]) != right
