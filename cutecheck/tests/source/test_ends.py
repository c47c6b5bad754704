"""What ends an evaluation that comes to nothing, and what goes on after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.facts import Facts
from cutecheck.source.eval.limits import Limits
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

HEADER = """
#include <cute/tensor.hpp>
using namespace cute;
template <size_t N, size_t... Next> struct counted : counted<N - 1, N - 1, Next...> {};
template <size_t... Next> struct counted<0, 0, Next...> { static constexpr int many = sizeof...(Next); };
template <class T, int N> struct steps : steps<T, N - 1> {};
template <class T> struct steps<T, 0> { static constexpr int last = 8; };
template <int N> __global__ void copies(float* p) {
  auto r = make_tensor<float>(Int<N>{});
  copy(make_tensor(make_gmem_ptr(p), Layout<Int<N>>{}), r);
}
"""
LONG = " ".join(f"s = s * 3 + {i};" for i in range(150))
NESTED = """int s = 0, t = 1;
for (int i = 0; i < n; ++i) {
  for (int j = 0; j < n; ++j) {
    if (p[j] > s) { s = p[s] + i; } else { t = t * s; }
    for (int k = 0; k < n; ++k) { REPEATED t += s; }
  }
  p[t] = s;
}""".replace("REPEATED", 3 * LONG)


def facts(folder: Path, text: str, limits: Limits) -> Facts:
    (folder / "a.cu").write_text(HEADER + text)
    return extract(ExtractRequest((folder,), limits=limits))


def sizes(found: Facts) -> set[str]:
    return {e.enclosing for e in found.events}


def test_a_template_that_derives_from_itself_under_a_number_that_is_not_known_has_no_base(tmp_path: Path) -> None:
    text = "extern const int open;\nint main() { int a = counted<open>::many; copies<4><<<1, 32>>>(nullptr); }\n"
    found = facts(tmp_path, text, Limits(steps_per_root=20_000))
    assert not found.errors
    assert sizes(found) == {"copies<4>"}
    text = "int main() { copies<counted<3>::many><<<1, 32>>>(nullptr); }\n"
    assert sizes(facts(tmp_path, text, Limits(steps_per_root=20_000))) == {"copies<2>"}


def test_a_template_that_derives_from_itself_under_another_number_that_is_known_is_followed(tmp_path: Path) -> None:
    text = "template <class T> int host() { copies<steps<T, 3>::last><<<1, 32>>>(nullptr); return 0; }\n"
    found = facts(tmp_path, text, Limits())
    assert sizes(found) == {"copies<8>"}


def test_a_long_kernel_without_cute_does_not_end_its_host(tmp_path: Path) -> None:
    text = f"__global__ void plain(int* p, int n) {{ {NESTED} }}\n"
    text += "int main() { plain<<<1, 64>>>(nullptr, 9); copies<4><<<1, 32>>>(nullptr); }\n"
    limits = Limits(steps_per_root=8_000, idle_steps=9_000)
    found = facts(tmp_path, text, limits)
    assert not found.errors
    assert sizes(found) == {"copies<4>"}
    assert {launch.kernel for launch in found.launches} >= {"plain", "copies<4>"}


def test_what_a_kernel_writes_that_is_left_is_not_known(tmp_path: Path) -> None:
    text = f"__managed__ int width = 4;\n__global__ void plain(int* p, int n) {{ {NESTED} width = 8; }}\n"
    text += (
        "int main() { LAUNCH auto a = make_layout(width); plain<<<1, 64>>>(nullptr, 9); auto b = make_layout(width); }"
    )

    def layouts(before: str) -> set[str]:
        found = facts(tmp_path, text.replace("LAUNCH", before), Limits(idle_steps=9_000))
        return {str(s.value) for s in found.sites if s.kind == "layout"}

    assert len(layouts("")) == 2
    assert len(layouts("auto c = make_layout(width);")) == 2


def test_launches_are_what_a_host_program_is_walked_for(tmp_path: Path) -> None:
    text = "template <int N> __global__ void plain(int* p) { p[0] = N; }\n"
    apart = " ".join(f"{LONG} LAUNCH({i});" for i in range(12))
    text += f"int main(int s, char**) {{ {apart} copies<4><<<1, 32>>>(nullptr); return s; }}\n"
    limits = Limits(idle_steps=4_000)
    found = facts(tmp_path, "#define LAUNCH(N) plain<N><<<1, 64>>>(nullptr)\n" + text, limits)
    assert not found.errors
    assert sizes(found) == {"copies<4>"}
    assert facts(tmp_path, "#define LAUNCH(N) s = N\n" + text, limits).errors


def test_a_loop_that_prints_is_not_run_exactly_in_a_constexpr_function_either(tmp_path: Path) -> None:
    text = "constexpr bool show(float* p) { for (int i = 0; i < 128; ++i) { for (int k = 0; k < 64; ++k) {\n"
    text += '  printf("%f", p[i + k]); } } return true; }\n'
    text += "constexpr int sum() { int s = 0; for (int i = 0; i < 4; ++i) s += i; return s; }\n"
    text += "int main() { float* p; show(p); copies<sum()><<<1, 32>>>(nullptr); }\n"
    found = facts(tmp_path, text, Limits(idle_steps=9_000))
    assert not found.errors
    assert sizes(found) == {"copies<6>"}


def test_a_kernel_that_computes_for_long_after_its_copies_does_not_end_its_host(tmp_path: Path) -> None:
    after = "int s = 0; " + " ".join(f"{LONG} s += p[s];" for _ in range(44)) + " p[0] = s;"
    text = "template <class T> __global__ void computes(T* p) { auto r = make_tensor<T>(Int<8>{});\n"
    text += f"  copy(make_tensor(make_gmem_ptr(p), Layout<Int<8>>{{}}), r); {after} }}\n"
    text += "template <class T> void host(T* p) { computes<T><<<1, 64>>>(p); int s = 1;\n"
    text += "  MORE copies<4><<<1, 32>>>(nullptr); }\n"
    limits = Limits(idle_steps=9_000)
    found = facts(tmp_path, text.replace("MORE", 2 * LONG), limits)
    assert not found.errors
    assert sizes(found) == {"copies<4>"}
    assert facts(tmp_path, text.replace("MORE", 30 * LONG), limits).errors  # host code's own steps count in full


def test_what_is_run_pass_by_pass_leaves_nothing_to_host_code(tmp_path: Path) -> None:
    after = "int s = 0; " + " ".join(f"{LONG} s += p[s];" for _ in range(14)) + " p[0] = s;"
    text = "template <int N> __global__ void computes(float* p) { auto r = make_tensor<float>(Int<N>{});\n"
    text += f"  copy(make_tensor(make_gmem_ptr(p), Layout<Int<N>>{{}}), r); {after} }}\n"
    text += f"int main() {{ computes<8><<<1, 64>>>(nullptr); int s = 1; {8 * LONG} copies<4><<<1, 32>>>(nullptr); }}\n"
    found = facts(tmp_path, text, Limits(idle_steps=4_000))
    assert found.errors
    assert sizes(found) == {"computes<8>"}


@pytest.mark.parametrize(
    ("head", "cut"),
    [("template <class T> __device__ void f(int* p, int n)", 0), ("template <class T> void f(int* p, int n)", 1)],
)
def test_device_code_that_nothing_instantiates_ends_without_a_line(tmp_path: Path, head: str, cut: int) -> None:
    """What depends on its arguments is not judged anyway; host code may have gone on to a launch."""
    found = facts(tmp_path, f"{head} {{ {NESTED} copy(p, p); }}\n", Limits(idle_steps=2_000))
    assert ["more than 2000 evaluation steps" in str(e) for e in found.errors] == [True] * cut
