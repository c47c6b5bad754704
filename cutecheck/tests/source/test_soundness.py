"""The rules that keep facts sound: each test fails when its rule is switched off."""

from pathlib import Path

import pytest

from cutecheck.facts import Facts, TensorFact
from cutecheck.model.algebra import size
from cutecheck.model.ints import as_expr, known_value
from cutecheck.model.layout import Layout
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest
from cutecheck.tests.source.test_extract import run

COPY = """
  Tensor g = make_tensor(make_gmem_ptr(p), make_layout(n));
  Tensor r = make_tensor<float>(Layout<Shape<_8>>{});
  copy(g, r);
"""


def length(operand: TensorFact) -> int | None:
    assert isinstance(operand.layout, Layout)
    return known_value(size(operand.layout))


def test_what_only_the_else_branch_writes_is_joined_with_the_value_before(tmp_path: Path) -> None:
    for branches in ("if (c > 0) {} else { n = 4; }", "if (c > 0) { n = 4; } else {}", "if (c > 0) { n = 4; }"):
        facts = run(tmp_path, "__global__ void k(float* p, int c) { int n = 8; " + branches + COPY + "}")
        assert [length(e.operands[0]) for e in facts.events] == [None], branches


def test_the_else_branch_starts_where_the_then_branch_started(tmp_path: Path) -> None:
    facts = run(
        tmp_path, "__global__ void k(float* p, int c) { int n = 8; if (c > 0) { n = 4; } else { " + COPY + "} }"
    )
    assert [length(e.operands[0]) for e in facts.events] == [8]


def test_an_event_has_the_conditions_it_stands_under(tmp_path: Path) -> None:
    facts = run(
        tmp_path, "__global__ void k(float* p, int n) { if (threadIdx.x < 32) { if (n < 4) return; " + COPY + "} }"
    )
    (event,) = facts.events
    assert [(g.text, g.negated) for g in event.guards] == [("threadIdx.x < 32", False), ("n < 4", True)]


def made(parameter: str) -> str:
    atom = "cute::Copy_Atom<cute::UniversalCopy<float>, float>"
    return f"decltype(cute::make_tiled_copy({atom}{{}}, cute::Layout<cute::Int<{parameter}>>{{}}))"


def held(facts: Facts) -> dict[str, bool]:
    """Whether a site has hypotheses, by name."""
    return {s.symbol.rsplit("::", 1)[-1]: bool(s.hypotheses) for s in facts.sites}


def asserting(name: str) -> str:
    return f"template <int N> struct S_{name} {{ static_assert(N % 8 == 0); using {name} = {made('N')}; }};\n"


def test_an_assertion_of_the_source_is_a_hypothesis_and_one_of_cute_s_own_headers_is_not(tmp_path: Path) -> None:
    (tmp_path / "include" / "cute").mkdir(parents=True)
    (tmp_path / "include" / "cute" / "own.hpp").write_text(asserting("own"))
    (tmp_path / "a.cu").write_text('#include "include/cute/own.hpp"\n' + asserting("mine"))
    assert held(extract(ExtractRequest((tmp_path,), ("sm_80",)))) == {"mine": True, "own": False}


def test_an_assertion_holds_in_its_own_function_and_class_only(tmp_path: Path) -> None:
    text = f"""
    template <int N> struct Asserts {{ static_assert(N % 8 == 0); using inside = {made("N")}; }};
    template <int N> struct Beside {{ using beside = {made("N")}; }};
    template <int N> void asserts() {{ static_assert(N % 8 == 0); using within = {made("N")}; }}
    template <int M> void calls() {{ asserts<M>(); using after = {made("M")}; }}
    """
    assert held(run(tmp_path, text)) == {"inside": True, "beside": False, "within": True, "after": False}


STATES = """
struct State { int index = 0; CUTE_HOST_DEVICE void advance() { ++index; } };
struct Pipe {
  int at = 0;
  CUTE_HOST_DEVICE void operator++() { ++at; if (at == 4) at = 0; }
  CUTE_HOST_DEVICE int index() const { return at; }
};
__global__ void k(half_t const* g, int n) {
  __shared__ alignas(16) half_t s[4 * 257];
  auto S = make_tensor(make_smem_ptr(s), Layout<Shape<_256, _4>, Stride<_1, Int<257>>>{});
  auto G = make_tensor(make_gmem_ptr(g), Layout<Shape<_256>>{});
  using Copy = decltype(make_tiled_copy(
      Copy_Atom<UniversalCopy<uint128_t>, half_t>{}, Layout<Shape<_32>>{}, Layout<Shape<_8>>{}));
  auto t = Copy{}.get_slice(threadIdx.x);
  State state;
  Pipe pipe;
  int seen = 0;
  auto count = [&] { seen += 1; };
  for (int i = 0; i < n; ++i) {
    copy(Copy{}, t.partition_S(G), t.partition_D(S(_, %s)));
    state.advance(); ++pipe; count();
  }
}
int main() { k<<<1, 32>>>(nullptr, 4); }
"""


@pytest.mark.parametrize("stage", ["state.index", "pipe.index()", "seen"])
def test_a_loop_forgets_what_calls_change_in_it(tmp_path: Path, stage: str) -> None:
    (tmp_path / "k.cu").write_text("#include <cute/tensor.hpp>\nusing namespace cute;\n" + STATES % stage)
    found = extract(ExtractRequest((tmp_path,), ("sm_80",)))
    (event,) = found.events
    variables = {v.name.split("#")[0] for v in as_expr(event.operands[1].offset).variables()}
    assert variables - {"threadIdx.x"}, event.operands[1].offset
