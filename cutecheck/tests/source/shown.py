"""A number of a kernel's function, as the place of the one tensor that it copies says it."""

from pathlib import Path

from cutecheck.facts import Unknown
from cutecheck.model.ints import as_expr
from cutecheck.source.extract import ExtractRequest, extract

_KERNEL = """template <class T> __device__ void seen(T const& t) { copy(t, t); }
__global__ void k(int n) {
  __shared__ half_t s[65536];
  int x = 0, y = 8;
  VARIABLES
  BODY
  seen(make_tensor(make_smem_ptr(s + (SHOWN)), Layout<_8>{}));
}
void host(int n) { k<<<1, 32>>>(n); }
"""


def kernel(declarations: str, variables: str = "") -> str:
    """The text of a kernel for :func:`number` after these declarations, with ``n``, ``x``, ``y`` and more variables."""
    return declarations + _KERNEL.replace("VARIABLES", variables)


def number(folder: Path, kernel: str, body: str, shown: str) -> int | None:
    """The value of ``shown`` after ``body`` in the kernel's text, None where it is not a number."""
    (folder / "k.cu").write_text(kernel.replace("BODY", body).replace("SHOWN", shown))
    (event,) = extract(ExtractRequest((folder,), ("sm_80",))).events
    offset = event.operands[0].offset
    return None if isinstance(offset, Unknown) else as_expr(offset).constant  # type: ignore[arg-type]
