"""An interrupted run says nothing of what is missing in a kernel: the rest of it may be in what was not read."""

from dataclasses import replace
from pathlib import Path

from cutecheck.facts import SourceError
from cutecheck.model.prove import prove
from cutecheck.rules.base import Context
from cutecheck.rules.examples import PREAMBLE
from cutecheck.rules.register_counts import RegisterCounts
from cutecheck.source.extract import INTERRUPTED, extract
from cutecheck.source.request import ExtractRequest

KERNEL = """
__global__ void __launch_bounds__(256) copies(float const* a) {
  if (threadIdx.x / 32 == 5) cutlass::arch::warpgroup_reg_dealloc<40>();
  Tensor g = make_tensor(make_gmem_ptr(a), Layout<_8>{});
  copy(g, make_tensor<float>(Layout<_8>{}));
}
void run(float const* a) { copies<<<1, 256>>>(a); }
"""


def test_what_is_left_out_may_be_in_the_rest(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(PREAMBLE + KERNEL)
    facts = extract(ExtractRequest((tmp_path,), ("sm_90a",)))
    cut = replace(facts, errors=(SourceError("", INTERRUPTED),))
    whole, part = (
        [f for c in known.calls for f in RegisterCounts().on_call(c, Context(known, prove))] for known in (facts, cut)
    )
    assert ["warps 4, 6, 7 of the block never execute" in f.message for f in whole] == [True]
    assert not part
