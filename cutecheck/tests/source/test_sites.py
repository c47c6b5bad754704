"""Which places are configuration sites, and what is said of those that nothing uses."""

from pathlib import Path

from cutecheck.facts import Site, Unknown
from cutecheck.model.notation import show
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest
from cutecheck.tests.source.test_extract import run


def at(tmp_path: Path, text: str, marked: str, arch: str = "sm_80") -> list[Site]:
    """The sites at the place that the text spells as ``marked``."""
    facts = run(tmp_path, text, arch=arch)
    lines = (tmp_path / "a.cu").read_text().splitlines()
    line = next(i for i, at in enumerate(lines, 1) if marked in at)
    return [s for s in facts.sites if s.span.line == line]


def test_a_parameter_that_spells_a_configuration_has_its_argument_s_value(tmp_path: Path) -> None:
    text = """
    template <class... Args> auto helper(
      Copy_Atom<Args...> const& atom) { return 0; }
    void root() { helper(Copy_Atom<UniversalCopy<uint128_t>, half_t>{}); }
    """
    (found,) = at(tmp_path, text, "const& atom")
    assert (found.kind, found.status, found.symbol) == (
        "copy_atom",
        "resolved",
        "helper<UniversalCopy<uint128_t>,cutlass::half_t>",
    )


SELECTOR = """
template <class T, int N> constexpr auto select() {
  if constexpr (N == 64) {
    return GMMA::Layout_K_SW128_Atom<T>{};  // wide
  } else {
    return GMMA::Layout_K_SW32_Atom<T>{};  // narrow
  }
}
"""


def test_a_layout_atom_that_a_function_returns_is_a_site_of_every_instantiation(tmp_path: Path) -> None:
    text = SELECTOR + "void root() { select<half_t, 64>(); select<float, 64>(); }"
    found = at(tmp_path, text, "// wide", arch="sm_90a")
    assert {dict(s.bindings)["T"]: show(s.value).split(" o ")[-1] for s in found} == {
        "cutlass::half_t": "(_8,_64):(_64,_1)", "float": "(_8,_32):(_32,_1)",
    }  # fmt: skip


def test_a_branch_that_no_instantiation_takes_is_told_from_code_that_nothing_calls(tmp_path: Path) -> None:
    branch = "no instantiation in the scanned files takes the branch around it"
    for call, told in (("void root() { select<half_t, 64>(); }", True), ("", False)):
        (found,) = at(tmp_path, SELECTOR + call, "// narrow", arch="sm_90a")
        assert found.status == "unbound"
        assert isinstance(found.reason, Unknown)
        assert (found.reason.reason == branch) is told


def test_what_only_open_templates_reach_is_unbound(tmp_path: Path) -> None:
    text = (
        "template <class T> void open() { auto c = tile_to_shape(GMMA::Layout_K_SW128_Atom<T>{}, Shape<_64, _64>{}); }"
    )
    found = at(tmp_path, text, "Layout_K_SW128_Atom", arch="sm_90a")
    assert {s.status for s in found} == {"unbound"}


def test_cute_s_own_headers_hold_no_sites_and_a_folder_of_that_name_does(tmp_path: Path) -> None:
    call = "template <class... A> auto f(Copy_Atom<A...> const& a) { return make_tiled_copy(a, 1, 2); }\n"
    for folder in ("include/cute", "cute/tutorial"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "tensor.hpp").write_text(f"namespace cute {{ {call} }}")
    facts = extract(ExtractRequest((tmp_path,), ("sm_80",)))
    assert {s.span.path for s in facts.sites} == {"cute/tutorial/tensor.hpp"}


def test_a_tiled_copy_that_cute_rejects_is_no_copy_atom(tmp_path: Path) -> None:
    """What a declaration would have been is told by its outermost configuration."""
    text = """#include <cute/tensor.hpp>
using namespace cute;
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>>;
using B = decltype(make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, Mma{}));
__global__ void k() {
  auto made = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{}, Layout<_32>{}, Layout<_3>{});
  auto atom = Copy_Atom<SM75_U32x4_LDSM_N, Missing>{};
}
void host() { k<<<1, 1>>>(); }
"""
    (tmp_path / "a.cu").write_text(text)
    found = {s.symbol.rsplit(":", 1)[-1]: s for s in extract(ExtractRequest((tmp_path,), ("sm_80",))).sites}
    assert {name: (s.kind, s.status) for name, s in found.items()} == {
        "Mma": ("tiled_mma", "resolved"),
        "B": ("tiled_copy", "unknown"),
        "made": ("tiled_copy", "unknown"),
        "atom": ("copy_atom", "unknown"),
    }


def test_a_swizzled_layout_that_is_only_passed_is_a_site(tmp_path: Path) -> None:
    text = """#include <cute/tensor.hpp>
using namespace cute;
__global__ void k() {
  __shared__ half_t p[64 * 64];
  auto t = make_tensor(make_smem_ptr(p), composition(Swizzle<2, 4, 3>{}, Layout<Shape<_64, _64>>{}));
}
void host() { k<<<1, 1>>>(); }
"""
    (found,) = at(tmp_path, text, "composition")
    assert (found.status, found.kind, show(found.value)) == (
        "resolved",
        "smem_layout",
        "Sw<2,4,3> o _0 o (_64,_64):(_1,_64)",
    )
