"""The rules that keep facts sound: each test fails when its rule is switched off."""

import re
from pathlib import Path

import pytest

from cutecheck.facts import Facts, TensorFact
from cutecheck.model.algebra import size
from cutecheck.model.ints import as_expr, known_value
from cutecheck.model.layout import Layout
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest
from cutecheck.tests.source.shown import kernel, number
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


MOVES = """
struct Params {{ int stride; }};
template <class T> __device__ void shift(T& t) {{ t.data() = t.data() + 1; }}
__global__ void k(half_t const* g, int n, Params p, int const* table) {{
  __shared__ alignas(128) half_t s[4 * 256];
  auto S = make_tensor(make_smem_ptr(s), Layout<Shape<_256, _4>, Stride<_1, _256>>{{}});
  auto G = make_tensor(make_gmem_ptr(g), Layout<Shape<_256>>{{}});
  using Copy = decltype(make_tiled_copy(
      Copy_Atom<UniversalCopy<uint128_t>, half_t>{{}}, Layout<Shape<_32>>{{}}, Layout<Shape<_8>>{{}}));
  auto t = Copy{{}}.get_slice(threadIdx.x);
  auto tg = t.partition_S(G);
  auto ts = t.partition_D(S(_, 0));
  auto start = tg.data();
  for (int i = 0; i < n; ++i) {{
    copy(Copy{{}}, tg, ts);
    {body}
  }}
}}
void host(int n, Params p) {{ k<<<1, 32>>>(nullptr, n, p, nullptr); }}
"""


def moved(tmp_path: Path, body: str) -> list[str]:
    """Offsets of source and destination of the copy in the loop, without the numbers of variables."""
    (tmp_path / "k.cu").write_text("#include <cute/tensor.hpp>\nusing namespace cute;\n" + MOVES.format(body=body))
    (event,) = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    return [re.sub(r"#\d+", "", str(o.offset)) for o in event.operands]


@pytest.mark.parametrize(
    ("body", "source", "destination"),
    [
        ("", "8*threadIdx.x", "8*threadIdx.x"),
        ("tg.data() = tg.data() + (-int(64 * p.stride));", "-64*i*p.stride + 8*threadIdx.x", "8*threadIdx.x"),
        ("ts.data() = ts.data() + (i % 2 == 0 ? 256 : -256);", "8*threadIdx.x", "8*threadIdx.x + 256*ts"),
        ("if (i == 2) continue; tg.data() = tg.data() + 8;", "8*tg + 8*threadIdx.x", "8*threadIdx.x"),
        ("tg.data() = tg.data() + table[i] * p.stride;", "p.stride*tg + 8*threadIdx.x", "8*threadIdx.x"),
        ("shift(tg);", "i + 8*threadIdx.x", "8*threadIdx.x"),
        ("tg.data() = tg.data() + 3; tg.data() = start;", "8*threadIdx.x", "8*threadIdx.x"),
    ],
)
def test_a_tensor_whose_pointer_moves_is_where_the_iterations_take_it(
    tmp_path: Path, body: str, source: str, destination: str
) -> None:
    assert moved(tmp_path, body) == [source, destination]


def test_a_pointer_that_moves_by_what_each_thread_reads_is_not_uniform(tmp_path: Path) -> None:
    source, _ = moved(tmp_path, "tg.data() = tg.data() + table[threadIdx.x];")
    assert re.sub(r"~\d+", "~", source) == "tg~ + 8*threadIdx.x"


SHIFTS = """
template <class T> __device__ void one(half_t* s, int x, T) {
  auto S = make_tensor(make_smem_ptr(s) + x, Layout<_8>{});
  auto r = make_tensor<half_t>(Layout<_8>{});
  copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{}, S, r);
}
__global__ void k(int n, bool odd, int const* table) {
  __shared__ alignas(128) half_t s[65536];
  int tid = threadIdx.x, w = 0, branch = 0;
  if (tid % 2) w = 256;
  int elected = 0;
  if (cute::elect_one_sync()) elected = 256;
  if (odd) branch = tid * 256;
  one(s, w, Int<0>{});
  one(s, branch, Int<1>{});
  one(s, table[tid] * 8, Int<2>{});
  one(s, table[n] * 8, Int<3>{});
  one(s, __shfl_sync(0xffffffff, tid * 8, 0), Int<4>{});
  one(s, __shfl_xor_sync(0xffffffff, tid * 8, 1), Int<5>{});
  one(s, tid < 16 ? 0 : 64, Int<6>{});
  for (int i = tid * 8; i < n; i += 256) one(s, i, Int<7>{});
  one(s, elected, Int<9>{});
  one(s, 8, Int<8>{}); one(s, 16, Int<8>{}); one(s, 8, Int<8>{});
}
int main(int argc, char**) { k<<<1, 64>>>(argc, argc > 1, nullptr); }
"""


def test_values_that_differ_from_thread_to_thread_are_not_taken_as_uniform(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("#include <cute/tensor.hpp>\nusing namespace cute;\n" + SHIFTS)
    said: dict[str, list[str]] = {}
    for event in extract(ExtractRequest((tmp_path,), ("sm_80",))).events:
        text = re.sub(r"([#~])\d+", r"\1", str(event.operands[0].offset))
        said.setdefault(event.enclosing.removeprefix("one<").rstrip(">"), []).append(text)
    assert said == {
        "_0": ["w~"],
        "_1": ["256*branch#*threadIdx.x"],
        "_2": ["8**table~"],
        "_3": ["8**table#"],
        "_4": ["256*(threadIdx.x / 32)"],
        "_5": ["shuffled~"],
        "_6": ["the two branches of ?:~"],
        "_7": ["256*iteration# + 8*threadIdx.x"],
        "_9": ["elected~"],
        "_8": ["8", "16"],  # every call with other operands, and each once
    }


def test_more_calls_at_a_place_than_are_kept_are_said_to_be_dropped(tmp_path: Path) -> None:
    calls = "".join(f"one(s, {8 * i}, Int<0>{{}});" for i in range(70))
    text = SHIFTS.split("  int tid", maxsplit=1)[0] + calls + "}\nint main() { k<<<1, 32>>>(1, false, nullptr); }\n"
    (tmp_path / "k.cu").write_text("#include <cute/tensor.hpp>\nusing namespace cute;\n" + text)
    events = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    assert len(events) == 65
    assert [e.reason.reason for e in events if e.reason is not None] == [
        "more than 64 calls with other operands at this place"
    ]


def test_a_function_that_is_not_walked_may_write_what_it_gets_by_reference(tmp_path: Path) -> None:
    text = (
        "#include <cute/tensor.hpp>\nvoid by_ref(int& n);\nvoid by_value(int n);\n"
        "void host() {\n  int a = 4, b = 4;\n  by_ref(a);\n  by_value(b);\n"
        "  auto first = cute::make_layout(a);\n  auto second = cute::make_layout(b);\n}\n"
    )
    (tmp_path / "a.cu").write_text(text)
    first, second = sorted(extract(ExtractRequest((tmp_path,))).sites, key=lambda s: s.span)
    assert str(second.value) == "4:_1"
    assert str(first.value).startswith("{a#") or str(first.value).startswith("{n#")


def test_a_variable_outside_functions_has_the_value_that_was_written_last(tmp_path: Path) -> None:
    text = (
        "#include <cute/tensor.hpp>\nint changes = 4;\nconst int stays = 4;\nstatic constexpr int always = 4;\n"
        "void set() { changes = 8; }\nvoid host() {\n  set();\n  auto a = cute::make_layout(changes);\n"
        "  auto b = cute::make_layout(stays);\n  auto c = cute::make_layout(always);\n}\n"
    )
    (tmp_path / "a.cu").write_text(text)
    a, b, c = sorted(extract(ExtractRequest((tmp_path,))).sites, key=lambda s: s.span)
    assert str(a.value).startswith("{changes#")
    assert (str(b.value), str(c.value)) == ("4:_1", "4:_1")


@pytest.mark.parametrize(
    "get",
    [
        "int get(int i) { int v = lib::opaque(i); return v; }",
        "int get(int i) { lib::Thing t(i); int v = t; return v; }",
        "int get(int i) { return (int) lib::opaque(i); }",
        "unsigned get(int i) { unsigned const& v = lib::opaque(i); return v; }",
    ],
)
def test_what_is_not_known_is_another_number_in_each_call(get: str, tmp_path: Path) -> None:
    text = kernel(f"#include <cute/tensor.hpp>\nusing namespace cute;\n__device__ {get}\n")
    assert number(tmp_path, text, "x = get(1) - get(2);", "x * 8") is None
    assert number(tmp_path, text, "y = get(1); x = y - y;", "x * 8") == 0
