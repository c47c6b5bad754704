"""A function with a ``goto`` is not walked: its sites and events are unknown, and what it may write. A line says so."""

from pathlib import Path

import pytest

from cutecheck.facts import Facts, Unknown
from cutecheck.facts.resources import resources
from cutecheck.model.ints import as_expr
from cutecheck.source.extract import ExtractRequest, extract

WHY = "so it is not walked"
TEXT = """#include <cute/tensor.hpp>
using namespace cute;
int outside = 4;
struct Counter {{ int at = 0; __device__ void leap(int n) {{ if (n) goto out; at = 2; out: ; }} }};
template <class T> __device__ void seen(T const& t) {{ copy(t, t); }}
__device__ int leap(int& x, int n) {{ x = 1; outside = 3; if (n) goto out; x = 2; out: return 5; }}
__global__ void k(int n) {{
  __shared__ half_t s[4096];
  int x = 0;
  {body}
  seen(make_tensor(make_smem_ptr(s + ({shown})), Layout<_8>{{}}));
}}
void host(int n) {{ k<<<1, 32>>>(n); }}
"""


def facts(folder: Path, text: str) -> Facts:
    (folder / "a.cu").write_text(text)
    return extract(ExtractRequest((folder,), ("sm_80",)))


def line_of(text: str, what: str) -> int:
    return text[: text.index(what)].count("\n") + 1


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("leap(x, n);", "x"),
        ("x = leap(n, n);", "x"),
        ("int a = outside; leap(n, n);", "outside - a"),
        ("Counter c; c.leap(n);", "c.at"),
        ("auto f = [&](int c) { if (c) goto end; x = 5; end: ; }; f(n);", "x"),
        ("Counter c; auto f = [&] { if (n) goto end; c.at = 5; end: ; }; f();", "c.at"),
        ("auto f = [](int& c) { if (c) goto end; c = 5; end: ; }; f(x);", "x"),
    ],
)
def test_what_a_function_with_a_goto_may_have_changed_is_not_known(tmp_path: Path, body: str, shown: str) -> None:
    found = facts(tmp_path, TEXT.format(body=body, shown=shown))
    (event,) = found.events
    offset = event.operands[0].offset
    assert isinstance(offset, Unknown) or as_expr(offset).constant is None  # type: ignore[arg-type]
    assert [e for e in found.errors if WHY in e.message]
    (buffer,) = found.buffers
    assert not buffer.accesses_complete


KERNEL = """#include <cute/tensor.hpp>
using namespace cute;
__global__ void k(half_t* p, int n) {
  __shared__ half_t s[4096];
  if (n > 3) goto end;
  {
    auto copier = make_tiled_copy(Copy_Atom<UniversalCopy<half_t>, half_t>{}, Layout<_32>{});
    copy(make_tensor(make_gmem_ptr(p), Layout<_8>{}), make_tensor(make_smem_ptr(s), Layout<_8>{}));
  }
end:
  return;
}
void host(half_t* p, int n) {
  k<<<1, 32>>>(p, n);
}
"""


def test_a_kernel_with_a_goto_has_a_line_and_unknown_sites_events_and_resources(tmp_path: Path) -> None:
    found = facts(tmp_path, KERNEL)
    (error,) = found.errors
    assert error.span is not None
    assert (error.path, error.span.line) == ("a.cu", 3)
    assert WHY in error.message
    assert {(s.status, s.span.line) for s in found.sites} == {("unknown", line_of(KERNEL, "make_tiled_copy"))}
    assert all(s.reason is not None and WHY in s.reason.reason for s in found.sites)
    (event,) = found.events
    assert event.reason is not None
    assert (event.span.line, WHY in event.reason.reason) == (line_of(KERNEL, "copy(make_tensor"), True)
    (taken,) = resources(found)
    assert (taken.threads, taken.static_smem_bytes) == (32, None)


def test_host_code_with_a_goto_has_a_line(tmp_path: Path) -> None:
    text = KERNEL.replace("if (n > 3) goto end;", "").replace("  k<<<", "  if (n < 0) goto bad;\n  k<<<")
    text = text.replace("(p, n);\n}", "(p, n);\nbad:\n  return;\n}")
    found = facts(tmp_path, text)
    (error,) = found.errors
    assert error.span is not None
    assert (error.span.line, "`host`" in error.message) == (line_of(text, "void host"), True)
    assert {s.status for s in found.sites} == {"resolved"}  # the kernel is walked by itself
    assert [e.reason for e in found.events] == [None]


def test_a_statement_that_the_grammar_does_not_read_has_a_line(tmp_path: Path) -> None:
    text = KERNEL.replace("if (n > 3) goto end;", "int m = 0; for (int e : {1, 2}) {").replace(
        "  {\n", "  auto q = new (int*[2]);\n"
    )
    text = text.replace("end:\n", "")
    found = facts(tmp_path, text)
    assert [(e.span.line if e.span else 0, "syntax" in e.message) for e in found.errors] == [
        (line_of(text, "for ("), True)
    ]
