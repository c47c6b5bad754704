"""Heads and matrices of a batch that are not those of the other operands (CUT219)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
struct Params { float *q, *k, *v, *o; int rows, keys, heads, pairs, ratio, q_row, q_head, k_row, k_head, v_row, v_head,
    o_row, o_head, q_batch, k_batch, v_batch, o_batch; };
__global__ void __launch_bounds__(256) attend(Params const p) {
  int b = blockIdx.y, h = blockIdx.z;
  Tensor mQ = make_tensor(make_gmem_ptr(p.q + b * p.q_batch), make_shape(p.rows, p.heads, _64{}),
      make_stride(p.q_row, p.q_head, _1{}));
  Tensor mK = make_tensor(make_gmem_ptr(p.k + b * p.k_batch), make_shape(p.keys, p.pairs, _64{}),
      make_stride(p.k_row, p.k_head, _1{}));
  Tensor mV = make_tensor(make_gmem_ptr(p.v + V_BATCH), make_shape(p.keys, p.pairs, _64{}),
      make_stride(p.v_row, p.v_head, _1{}));
  Tensor mO = make_tensor(make_gmem_ptr(p.o + b * p.o_batch), make_shape(p.rows, p.heads, _64{}),
      make_stride(p.o_row, p.o_head, _1{}));
  Tensor gQ = local_tile(mQ(_, Q_HEAD, _), Shape<_64, _64>{}, make_coord(blockIdx.x, 0));
  Tensor gK = local_tile(mK(_, K_HEAD, _), Shape<_64, _64>{}, make_coord(0, 0));
  Tensor gV = local_tile(mV(_, V_HEAD, _), Shape<_64, _64>{}, make_coord(0, 0));
  Tensor gO = local_tile(mO(_, O_HEAD, _), Shape<_64, _64>{}, make_coord(blockIdx.x, 0));
  auto threads = Layout<Shape<_4, _64>, Stride<_64, _1>>{};
  Tensor tQ = local_partition(gQ, threads, threadIdx.x), tK = local_partition(gK, threads, threadIdx.x);
  Tensor tV = local_partition(gV, threads, threadIdx.x), tO = local_partition(gO, threads, threadIdx.x);
  Tensor rQ = make_fragment_like(tQ), rK = make_fragment_like(tK), rV = make_fragment_like(tV);
  Tensor rO = make_fragment_like(tO);
  copy(tQ, rQ);
  copy(tK, rK);
  copy(tV, rV);
  for (int i = 0; i < size(rO); ++i) rO(i) = rQ(i) * rK(i) * rV(i);
  copy(rO, tO);
}
void run(Params p) { attend<<<dim3(p.rows / 64, 4, p.heads), 256>>>(p); }
"""
RIGHT = {"V_BATCH": "b * p.v_batch", "Q_HEAD": "h", "K_HEAD": "h / p.ratio", "V_HEAD": "h / p.ratio", "O_HEAD": "h"}
CASES = {
    "right": ({}, 0),
    "the batch for the head": ({"O_HEAD": "b"}, 1),
    "no head for the result": ({"O_HEAD": "0"}, 0),  # another rule's
    "no ratio": ({"V_HEAD": "h"}, 1),
    "modulo": ({"V_HEAD": "h % p.ratio"}, 1),
    "the stride of heads for the batch": ({"V_BATCH": "b * p.v_head"}, 1),
    "the next one": ({"Q_HEAD": "h", "K_HEAD": "h / p.ratio", "V_HEAD": "h / p.ratio + 1"}, 0),
    "from the other end": ({"O_HEAD": "p.heads - 1 - h"}, 0),
    "pairs of all": ({"K_HEAD": "h / p.pairs", "V_HEAD": "h % p.pairs"}, 0),
    "of two axes": ({"K_HEAD": "h", "V_HEAD": "blockIdx.y"}, 0),
}


@pytest.mark.parametrize("name", CASES)
def test_heads(tmp_path: Path, name: str) -> None:
    given, wrong = CASES[name]
    text = KERNEL
    for key, value in {**RIGHT, **given}.items():
        text = text.replace(key, value)
    (tmp_path / "k.cu").write_text(text)
    report = check(inputs([str(tmp_path / "k.cu")]), Settings(arch=("sm_80",), select=("CUT219",)))
    assert not report.failures
    found = [f.message for f in report.findings if f.code == "CUT219"]
    assert len(found) == wrong, found
