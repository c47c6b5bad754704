"""What cannot come to anything of CuTe is left out; all that can is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cutecheck.exec.headers import NoHeaders, find_headers
from cutecheck.facts import Facts
from cutecheck.source import relevance
from cutecheck.source.eval.limits import Limits
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest
from cutecheck.source.roots import Roots

MAKER = "using L = cute::Layout<cute::Shape<cute::_8, cute::_8>>;\n"
MAKES = "auto x = cute::make_layout(cute::_8{});"
CHAINS = {
    "a name": f"void f() {{ {MAKES} }}\nvoid g() {{ f(); }}\n",
    "a member": f"struct S {{ void h() {{ {MAKES} }} }};\nint g() {{ S s; s.h(); return 0; }}\n",
    "a base": f"struct B {{ void h() {{ {MAKES} }} }};\nstruct D : B {{}};\nvoid g(D d) {{ d.h(); }}\n",
    "a macro": "#define MAKE(n) cute::make_layout(n)\nvoid g() { auto x = MAKE(cute::_8{}); }\n",
    "macros": "#define M2(n) cute::make_layout(n)\n#define M1(n) M2(n)\nvoid g() { auto x = M1(cute::_8{}); }\n",
    "pieces": "#define CAT(a, b) a##b\nvoid g() { auto x = cute::CAT(make_, layout)(cute::_8{}); }\n",
    "an alias of the namespace": "namespace ct = cute;\nusing L = ct::Layout<ct::Shape<ct::_8, ct::_8>>;\n",
    "an alias from outside": "namespace n { namespace ct = ::cute;\nusing L = ct::Layout<ct::Shape<ct::_8>>; }\n",
    "the namespace opened": "using namespace cute;\nusing L = Layout<Shape<_8, _8>>;\n",
    "a header that opens it": '#include "open.h"\nusing L = Layout<Shape<_8, _8>>;\n',
    "an operator": f"struct N {{}};\nint operator+(N, N) {{ {MAKES} return 0; }}\nvoid g(N a) {{ int x = a + a; }}\n",
    "a template argument": (
        "struct P { using L = cute::Layout<cute::Shape<cute::_8>>; };\n"
        "template <class T> struct Q { using M = typename T::L; };\nusing R = Q<P>::M;\n"
    ),
    "an atom": (
        "template <class O> __global__ void k(float* p) {}\n"
        "void g(float* p) { k<cute::SM80_16x8x8_F32F16F16F32_TN><<<1, 32>>>(p); }\n"
    ),
}  # fmt: skip


def facts(folder: Path, text: str, limits: Limits = Limits()) -> Facts:  # noqa: B008 - frozen
    folder.mkdir(exist_ok=True)
    (folder / "open.h").write_text("#pragma once\n#include <cute/tensor.hpp>\nusing namespace cute;\n")
    (folder / "a.cu").write_text("#include <cute/tensor.hpp>\n" + text)
    return extract(ExtractRequest((folder,), limits=limits))


@pytest.mark.parametrize("chain", CHAINS)
def test_every_chain_of_names_counts(chain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = facts(tmp_path, CHAINS[chain])
    assert found.sites or found.launches
    monkeypatch.setattr(relevance.Relevance, "matters", lambda *_: True)
    assert facts(tmp_path, CHAINS[chain]) == found


def kinds(policy: str) -> str:
    """A kernel whose specialisation with CuTe is chosen by a member type of its argument."""
    return (
        "struct Fast {};\n"
        "template <class T, class E = void> struct Kernel { int run() { return 0; } };\n"
        "template <class T> struct Kernel<T, std::enable_if_t<std::is_same_v<Fast, typename T::Policy::Kind>>> {\n"
        f"  int run() {{ {MAKES} return 0; }}\n}};\n"
        f"struct Main {{ {policy} }};\nint g() {{ Kernel<Main> k; return k.run(); }}\n"
    )


MEMBERS = {
    "an alias": "struct Own { using Kind = Fast; }; using Policy = Own;",
    "a class": "struct Policy { using Kind = Fast; };",
    "a typedef": "struct Own { typedef Fast Kind; }; typedef Own Policy;",
    "a base's": "struct B { struct Policy { using Kind = Fast; }; }; struct Main : B {",
    "a macro's": "HAS",
}


@pytest.mark.parametrize("way", MEMBERS)
def test_a_specialisation_counts_where_something_declares_what_it_looks_into(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = kinds(MEMBERS[way])
    if way == "a base's":
        text = text.replace("struct Main { struct B", "struct B").replace("{ };", "{};")
    if way == "a macro's":
        text = "#define HAS struct Policy { using Kind = Fast; };\n" + text
    found = facts(tmp_path, text)
    assert found.sites
    monkeypatch.setattr(relevance.Relevance, "matters", lambda *_: True)
    assert facts(tmp_path, text) == found


def test_a_specialisation_that_nothing_can_choose_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    walked = []
    run = Roots._walk
    monkeypatch.setattr(Roots, "_walk", lambda self, e, fn, *more: walked.append(fn.name) or run(self, e, fn, *more))
    for policy, reached in (("", False), ("template <class Policy> struct X {};", False), (MEMBERS["a class"], True)):
        walked.clear()
        facts(tmp_path, kinds(policy))
        assert ("g" in walked) is reached, policy
        walked.clear()
        facts(tmp_path, kinds("using Policy = typename Other::Policy;"))  # passed on from what nothing declares
        assert "g" not in walked


PIECES = {
    "a function": ("#define MAKE(n) cute::make_##n\nvoid g() { auto x = MAKE(layout)(cute::_8{}); }\n", True),
    "an atom": (
        "#define OP(a) cute::SM80_##a##_TN\ntemplate <class O> __global__ void k(float* p) {}\n"
        "void g(float* p) { k<OP(16x8x8_F32F16F16F32)><<<1, 32>>>(p); }\n",
        True,
    ),
    "a layout atom": ("#define AT(w) cute::GMMA::Layout_K_##w##_Atom<float>\nusing A = AT(SW128);\n", True),
    "one of our own": ("#define F(n) make##n##it\nvoid makeAit() { MAKES }\nvoid g() { F(A)(); }\n", True),
    "a number": ("#define T(n, x) void f##n##_##x() { int i = n; }\nT(0, any)\n", False),
}  # fmt: skip


@pytest.mark.parametrize("way", PIECES)
def test_a_macro_that_makes_names_counts_for_the_names_it_can_make(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, counts = PIECES[way]
    text = text.replace("MAKES", MAKES)
    found = facts(tmp_path, text)
    assert bool(found.sites or found.launches) is counts
    monkeypatch.setattr(relevance.Relevance, "matters", lambda *_: True)
    assert facts(tmp_path, text) == found


def test_what_names_nothing_of_cute_is_not_evaluated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = MAKER + "int main() { int s = 0; " + "s = s * 3 + 1; " * 300 + "return s; }\n"
    limits = Limits(steps_per_root=100)
    assert facts(tmp_path, text, limits).errors == ()
    monkeypatch.setattr(relevance.Relevance, "matters", lambda *_: True)
    assert facts(tmp_path, text, limits).errors != ()


def test_a_root_that_finds_nothing_for_long_is_cut_with_a_reason(tmp_path: Path) -> None:
    calls = " ".join(f"s = s * 3 + {i};" for i in range(9000))
    text = MAKER + f"void g(int s) {{ {calls} L x; }}\n"
    found = facts(tmp_path, text, Limits(idle_steps=20_000))
    assert any(
        "20000 evaluation steps without anything of CuTe; raise `max-idle-steps`" in e.message for e in found.errors
    )
    assert facts(tmp_path, text).errors == ()


def test_too_much_memory_cuts_with_a_reason(tmp_path: Path) -> None:
    found = facts(tmp_path, MAKER + "void g() { L x; }\n", Limits(mebibytes=1))
    assert any("1 MiB of memory in use; raise `max-memory`" in e.message for e in found.errors)


STANDARD = """
abort abs accumulate addressof advance aligned_alloc all_of any_of apply as_const async atexit atof atoi back_inserter
begin bind bind_front bit_cast bsearch calloc ceil clamp copy_n count count_if cref declval distance end equal exchange
exclusive_scan exit exp fclose fflush fill fill_n find find_if find_if_not floor fopen for_each for_each_n forward
forward_as_tuple fprintf free gcd generate get get_if getenv getline holds_alternative includes inclusive_scan
inner_product invoke iota isinf isnan iter_swap lcm lexicographical_compare log lower_bound make_any make_optional
make_pair make_shared make_tuple make_unique malloc max max_element memcmp memcpy memmove memset merge min min_element
minmax mismatch move next none_of nth_element partition piecewise_construct pow prev printf puts qsort rand realloc
reduce ref remove remove_if replace replace_if rotate round search setenv shuffle size snprintf sort sprintf sqrt srand
stable_sort stoi strcmp strlen strncmp strtol swap system thread tie time to_string transform transform_reduce tuple_cat
tuple_element tuple_size unique upper_bound visit
"""


def test_what_the_standard_library_has_is_no_name_of_cute() -> None:
    """CUTLASS's 2.x kernels, which use nothing of CuTe, took a quarter of a whole checkout's time by such names."""
    from cutecheck.source.vocabulary import OWN

    assert OWN.isdisjoint(STANDARD.split())


def test_no_header_of_cutlass_without_cute_has_a_name_of_cute() -> None:
    """A parameter called ``coordinate`` in one iterator of theirs was enough: all 2.x kernels were evaluated."""
    from cutecheck.source.vocabulary import OWN

    found = find_headers()
    if isinstance(found, NoHeaders):
        pytest.skip(str(found))
    comments = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
    files = {p: p.read_text(errors="replace") for p in (found.cutlass / "cutlass").rglob("*.h")}
    others = {p.name: comments.sub("", text) for p, text in files.items() if "cute" not in text}
    assert "mma_tensor_op_tile_iterator.h" in others
    spelled = {(name, word) for name, text in others.items() for word in OWN & set(re.findall(r"\w+", text))}
    assert not spelled


def test_what_cuda_gives_to_every_program_is_no_name_of_cute() -> None:
    from cutecheck.source.eval.intrinsics.registry import FUNCTIONS
    from cutecheck.source.vocabulary import OWN

    modules = (".cuda", ".cuda_math", ".cuda_numbers", ".launch", ".std_numbers")
    given = {name for name, run in FUNCTIONS.items() if run.__module__.endswith(modules)}
    assert {"atomicAdd", "__popc", "cudaLaunchKernel", "popcount"} <= given
    assert given.isdisjoint(OWN)
