"""Contracts of the configuration."""

from pathlib import Path

import pytest

from cutecheck.config import ConfigError, Settings
from cutecheck.engine.assume import parse
from cutecheck.engine.run import check, inputs
from cutecheck.model.prove import Verdict
from cutecheck.report.data import summarise

SOURCE = """#include <cute/tensor.hpp>
using namespace cute;
using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
                                      Layout<Shape<_32, _8>>{}, Layout<Shape<_4, _1>>{}));
__global__ void __launch_bounds__(256) k(float const* A, int lda, float* out) {
  Tensor g = make_tensor(make_gmem_ptr(A), make_shape(_128{}, _8{}), make_stride(_1{}, lda));
  Load cp;
  Tensor s = cp.get_slice(threadIdx.x).partition_S(g);
  Tensor r = make_fragment_like(s);
  copy(cp, s, r);
  out[threadIdx.x] = r(0);
}
"""


HELD = {Verdict.PROVED, Verdict.ASSUMED}


def verdict(folder: Path, *assume: str) -> Verdict:
    file = folder / "k.cu"
    file.write_text(SOURCE)
    report = check(inputs([str(file)]), Settings(assume=assume))
    return next(o.verdict for o in report.outcomes if o.obligation.property == "vector-aligned")


def test_contracts_reach_the_obligations(tmp_path: Path) -> None:
    assert verdict(tmp_path) is Verdict.UNKNOWN
    assert verdict(tmp_path, "lda % 4 == 0") in (Verdict.PROVED, Verdict.ASSUMED)
    assert verdict(tmp_path, "lda % 2 == 0") is Verdict.UNKNOWN
    assert verdict(tmp_path, "ldb % 4 == 0") is Verdict.UNKNOWN
    assert verdict(tmp_path, "lda == 256") in (Verdict.PROVED, Verdict.ASSUMED)


EXTENSION = (
    SOURCE
    + """
void run(torch::Tensor x, torch::Tensor out) { k<<<1, 256>>>(x.data_ptr<float>(), x.stride(-1), nullptr); }
"""
)


def test_contracts_of_what_an_object_is_asked_for(tmp_path: Path) -> None:
    """The sizes of torch's tensors have no other name; the summary names the contract as it is stated."""
    file = tmp_path / "k.cu"
    file.write_text(EXTENSION)
    report = check(inputs([str(file)]), Settings())
    [(contract, count)] = summarise(report).contracts
    assert (contract, count) == ("x.stride(-1) % 4 == 0", 1)
    held = check(inputs([str(file)]), Settings(assume=(contract,)))
    assert not summarise(held).contracts
    assert {o.verdict for o in held.outcomes if o.obligation.property == "vector-aligned"} <= HELD


@pytest.mark.parametrize(
    "text",
    ["lda", "f(x", "f(g(x)) % 4 == 0", "x[0 % 4 == 0", "lda % 0 == 0", "lda % 4 == 1", "lda == x", "__import__('os')"],
)
def test_what_is_no_contract(text: str) -> None:
    with pytest.raises(ConfigError, match="is no contract"):
        parse([text])
