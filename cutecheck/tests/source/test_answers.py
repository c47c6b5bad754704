"""A library's class of which the header alone is there: what the host asks of ``x.size(1)`` holds in the kernel."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

HEADER = """
namespace at {
struct Tensor {
  long size(long dim) const;
  long next(long dim);
  void resize_(long rows, long columns);
  float* data() const;
};
}
"""
BODIES = """
#include <memory>
#include <vector>
namespace at {
inline long wrapped(long dim, long rank) { if (dim < 0) dim += rank; return dim; }
struct TensorImpl {
  long dim() const { return sizes_.size(); }
  long size(long d) const { d = wrapped(d, dim()); return sizes_[d]; }
  void* data() const { return storage_.get(); }
  std::vector<long> sizes_;
  std::shared_ptr<void> storage_;
};
HOLDER
struct Base {
  long size(long dim) const { return impl_->size(dim); }
  long next(long dim) { return impl_->size(dim + ++cursor_); }
  void resize_(long rows, long columns) { impl_->sizes_ = {rows, columns}; }
  float* data() const { return static_cast<float*>(impl_->data()); }
 protected:
  POINTER impl_;
  int cursor_ = 0;
};
struct Tensor : Base {};
}
"""
OWN = """
template <class T> struct intrusive_ptr {
  T* operator->() const noexcept { return target_; }
  T& operator*() const noexcept { return *target_; }
 private:
  T* target_ = nullptr;
};
"""
HEADERS = {
    "declared": HEADER,
    "shared": BODIES.replace("HOLDER", "").replace("POINTER", "std::shared_ptr<TensorImpl>"),
    "own": BODIES.replace("HOLDER", OWN).replace("POINTER", "intrusive_ptr<TensorImpl>"),
}
KERNEL = """
#include "tensor.h"
#include <cute/tensor.hpp>
using namespace cute;
using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
    Layout<Shape<_4, _32>, Stride<_32, _1>>{}, Layout<Shape<_1, _1>>{}));
__global__ void __launch_bounds__(128) rows(float const* in, float* out, int m, int n) {
  Tensor mI = make_tensor(make_gmem_ptr(in), make_layout(make_shape(m, n), LayoutRight{}));
  Tensor mO = make_tensor(make_gmem_ptr(out), make_layout(make_shape(m, n), LayoutRight{}));
  auto coord = make_coord(blockIdx.x, blockIdx.y);
  Tensor gI = local_tile(mI, Shape<_64, _32>{}, coord), gO = local_tile(mO, Shape<_64, _32>{}, coord);
  Tensor gC = local_tile(make_identity_tensor(make_shape(m, n)), Shape<_64, _32>{}, coord);
  auto thr = Load{}.get_slice(threadIdx.x);
  Tensor tI = thr.partition_S(gI), tO = thr.partition_D(gO), tC = thr.partition_S(gC);
  for (int i = 0; i < size<1>(tI); ++i)
    if (get<0>(tC(0, i, 0)) < m) copy(Load{}, tI(_, i, _), tO(_, i, _));
}
void elsewhere(at::Tensor const&);
void changes(at::Tensor&);
void run(at::Tensor x, at::Tensor y) {
  HOST
  rows<<<dim3((m + 63) / 64, n / 32), 128>>>(x.data(), y.data(), m, n);
}
"""
ASK = "if (x.size(1) % 32 != 0) throw 1;"
TAKE = "int m = x.size(0), n = x.size(1);"


def found(folder: Path, host: str, header: str) -> list[str]:
    (folder / "tensor.h").write_text(HEADERS[header])
    (folder / "k.cu").write_text(KERNEL.replace("HOST", host))
    report = check(inputs([str(folder)]), Settings(select=("CUT604",), arch=("sm_80",)))
    assert not report.failures and report.facts.events
    return [f.code for f in report.findings]


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize(
    "host",
    [
        f"{ASK} {TAKE}",
        f"{TAKE} {ASK}",
        f"{ASK} y.resize_(3, 5); {TAKE}",
        f"{ASK} elsewhere(x); {TAKE}",
        f"{ASK} x.size(0); x.data(); {TAKE}",
        f"if (x.data() == nullptr) {{ x.size(1); }} {ASK} {TAKE}",
        f"if (x.data() == nullptr) {{ x.size(1); x.size(0); }} else {{ y.size(1); }} {TAKE} {ASK}",
        f"int k = 0; for (int i = 0; i < y.size(0); ++i) {{ k += x.size(1); }} {ASK} {TAKE}",
        f"auto f = [&] {{ return x.size(1); }}; if (f() % 32 != 0) throw 1; {TAKE}",
        "at::Tensor z = x; if (z.size(1) % 32 != 0) throw 1; int m = z.size(0), n = z.size(1);",
        f"at::Tensor const& z = x; if (z.size(1) % 32 != 0) throw 1; {TAKE}",
        f"at::Tensor const* z = &x; if (z->size(1) % 32 != 0) throw 1; {TAKE}",
        f"{ASK} for (int i = 0; i < 3; ++i) x.size(i); {TAKE}",
        "int m = x.size(0), n = x.size(1); if (n % 32 != 0) throw 1;",
    ],
)
def test_what_is_asked_holds(tmp_path: Path, host: str, header: str) -> None:
    assert found(tmp_path, host, header) == []


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize(
    "host",
    [
        TAKE,
        f"if (x.size(0) % 32 != 0) throw 1; {TAKE}",
        f"if (y.size(1) % 32 != 0) throw 1; {TAKE}",
        f"{ASK} x.resize_(3, 5); {TAKE}",
        f"{ASK} changes(x); {TAKE}",
        f"{ASK} x = y; {TAKE}",
        f"{ASK} if (y.size(0) > 3) {{ x = y; }} {TAKE}",
        f"{ASK} for (int i = 0; i < y.size(0); ++i) {{ x.resize_(i, 5); }} {TAKE}",
        f"if (y.size(0) > 3) {{ {ASK} }} {TAKE}",
        "if (x.next(1) % 32 != 0) throw 1; int m = x.size(0), n = x.next(1);",
    ],
)
def test_what_is_asked_of_another_number_does_not(tmp_path: Path, host: str, header: str) -> None:
    assert found(tmp_path, host, header) == ["CUT604"]
