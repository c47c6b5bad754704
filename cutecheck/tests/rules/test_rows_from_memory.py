"""Kernels whose work is told by memory: an end that a buffer of another name on the host holds, tickets."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

HEAD = """#include <cute/tensor.hpp>
using namespace cute;
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, float>{}, Layout<_128>{},
    Layout<_4>{}));
using Turned = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, Layout<_128>{}, Layout<_1>{}));
"""
BODY = """
__global__ void __launch_bounds__(128) NAME(float const* x, float* y, int const* ends, int* counter, int most) {
  __shared__ alignas(16) float buffer[512 * 3];
  Tensor s = make_tensor(make_smem_ptr(buffer), make_layout(make_shape(_512{}, _1{}, _3{})));
  Tensor gX = make_tensor(make_gmem_ptr(x), make_shape(_512{}, _1{}, most), make_stride(_1{}, _0{}, _512{}));
  Tensor tg = Load{}.get_slice(threadIdx.x).partition_S(gX), ts = Load{}.get_slice(threadIdx.x).partition_D(s);
  Tensor tr = Turned{}.get_slice(threadIdx.x).partition_S(s);
  Tensor r = make_fragment_like(tr(_, _, _, 0));
  WORK
}
"""
PIPELINE = """for (int p = 0; p < 2; ++p) {
    if (p < end) copy(Load{}, tg(_, _, _, p), ts(_, _, _, p));
    cp_async_fence();
  }
  for (int i = 0; i < end; ++i) {
    cp_async_wait<1>();
    __syncthreads();
    if (i + 2 < end) copy(Load{}, tg(_, _, _, i + 2), ts(_, _, _, (i + 2) % 3));
    cp_async_fence();
    copy(Turned{}, tr(_, _, _, i % 3), r);
    y[i * 512 + threadIdx.x] = r(0) + r(1) + r(2) + r(3);
  }"""
ENDS = "int end = (ends[blockIdx.z] + 31) / 32;\n  " + PIPELINE
TICKETS = f"""__shared__ int next;
  while (true) {{
    __syncthreads();
    if (threadIdx.x == 0) next = atomicAdd(counter, 1);
    __syncthreads();
    int end = 6 + (next & 1);
    if (next >= most) break;
    {PIPELINE}
    cp_async_wait<0>();
  }}"""
LATER, READ = "ts(_, _, _, (i + 2) % 3)", "tr(_, _, _, i % 3)"
CASES = {
    "right": ("", "", set[str]()),
    "filled_too_early": (LATER, "ts(_, _, _, i % 3)", {"CUT212", "CUT213"}),
    "read_too_early": (READ, "tr(_, _, _, (i + 1) % 3)", {"CUT213"}),
    "waits_too_little": ("wait<1>", "wait<2>", {"CUT213"}),
}


@cache
def _found() -> dict[str, set[str]]:
    text, runs = HEAD, ""
    for of, work in (("ends", ENDS), ("tickets", TICKETS)):
        for name, (old, new, _) in CASES.items():
            assert old in work
            text += BODY.replace("NAME", f"{of}_{name}").replace("WORK", work.replace(old, new) if old else work)
            runs += f"  {of}_{name}<<<dim3(1, 1, 8), 128>>>(x, y, lengths, tickets, n);\n"
    text += f"void run(float const* x, float* y, int const* lengths, int* tickets, int n) {{\n{runs}}}\n"
    with TemporaryDirectory() as folder:
        (Path(folder) / "k.cu").write_text(text)
        report = check(inputs([folder]), Settings(arch=("sm_80",), select=("CUT21",)))
    assert not report.failures
    found: dict[str, set[str]] = {}
    for f in report.findings:
        found.setdefault(f.enclosing, set()).add(f.code)
    return found


@pytest.mark.parametrize("of", ["ends", "tickets"])
@pytest.mark.parametrize("name", CASES)
def test_rows_from_memory(of: str, name: str) -> None:
    assert _found().get(f"{of}_{name}", set()) == CASES[name][2]
