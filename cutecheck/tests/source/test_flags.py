"""Dispatches over flags: ways that can only lead to instantiations which are not walked are not walked themselves."""

from dataclasses import replace
from pathlib import Path

import pytest

from cutecheck.facts import Facts, Launch
from cutecheck.model.notation import show
from cutecheck.source.eval import kernels
from cutecheck.source.eval.statements import flags
from cutecheck.tests.source.test_extract import run

SWITCH = """
#define SWITCH(COND, NAME, ...) \\
  [&] { if (COND) { constexpr static bool NAME = true; return __VA_ARGS__(); } \\
        else { constexpr static bool NAME = false; return __VA_ARGS__(); } }()
template <int N, bool A, bool B, bool C, bool D, bool E, bool F>
__global__ void k(int* p) { auto l = Layout<Shape<Int<N>>>{}; }
"""


def dispatch(leaf: str, names: str = "ABCDEF") -> str:
    """A function that makes constants of flags ``a`` to ``f``, the first outermost."""
    code = leaf
    for name in reversed(names):
        code = f"SWITCH({name.lower()} > 0, {name}, [&] {{ {code} }});"
    given = ", ".join(f"int {n.lower()}" for n in "ABCDEF")
    return f"{SWITCH}\nvoid host(int* p, {given}) {{ {code} }}"


def extents(facts: Facts) -> list[str]:
    return sorted({show(s.value) for s in facts.sites if s.symbol.endswith("::l") and s.value is not None})


def unguarded(facts: Facts) -> list[Launch]:
    """The launches without the way that led there last."""
    return [replace(launch, guards=()) for launch in facts.launches]


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One item for each launch that was evaluated."""
    met: list[int] = []
    launch = kernels.launch

    def counted(*args: object, **kwargs: object) -> object:
        met.append(1)
        return launch(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(kernels, "launch", counted)
    return met


def test_flags_of_one_kernel_take_a_few_ways(tmp_path: Path, launches: list[int]) -> None:
    facts = run(tmp_path, dispatch("k<64, A, B, C, D, E, F><<<1, 128>>>(p);"))
    assert extents(facts) == ["(_64):(_1)"]
    walked = {launch.kernel for launch in facts.launches}
    assert walked == {f"k<64,{','.join('false' if i == off else 'true' for i in range(6))}>" for off in range(7)}
    assert [count for _, count in facts.dropped] == [2**6 - 7]  # as many as all ways would have asked for
    assert len(launches) < 30


def test_kernels_that_are_classes_have_flags_in_their_arguments(tmp_path: Path) -> None:
    text = dispatch("using K = Op<Main<64, A, B, C>, D, E, F>; cutlass::device_kernel<K><<<1, 128>>>({p});")
    text = text.replace(
        "\nvoid host",
        """
    template <int N, bool A, bool B, bool C> struct Main { using L = Layout<Shape<Int<N>, Int<A || B ? 2 : 1>>>; };
    template <class M, bool D, bool E, bool F> struct Op {
      struct Params { int* p; };
      CUTE_DEVICE void operator()(Params const& params, char* smem) { auto l = typename M::L{}; }
    };
    namespace cutlass { template <class K> __global__ void device_kernel(typename K::Params p) { K{}(p, nullptr); } }
    void host""",
    )
    facts = run(tmp_path, text)
    assert len({launch.kernel for launch in facts.launches}) == 7


def test_the_ways_left_out_would_add_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = dispatch("auto f = &k<64, A && !B, B, C || D, D, E, F>; if (p != nullptr) f<<<1, 128>>>(p);")
    short = run(tmp_path, text)
    monkeypatch.setattr(flags, "start", lambda m, env: None)
    whole = run(tmp_path, text)
    assert (short.sites, short.events, unguarded(short)) == (whole.sites, whole.events, unguarded(whole))


def test_constants_that_are_made_of_flags_are_flags(tmp_path: Path, launches: list[int]) -> None:
    leaf = "constexpr bool X = A && B; static constexpr bool Y = X || C; k<64, X, Y, C, D, E, F><<<1, 128>>>(p);"
    facts = run(tmp_path, dispatch(leaf))
    assert extents(facts) == ["(_64):(_1)"]
    assert len(launches) < 40  # of 64


@pytest.mark.parametrize(
    "leaf",
    [
        "k<B || E ? 64 : 32, A, false, C, D, false, F><<<1, 128>>>(p);",
        "using N = conditional_t<B || E, Int<64>, Int<32>>; k<N::value, A, B, C, D, E, F><<<1, 128>>>(p);",
        "constexpr bool wide = B || E; k<wide ? 64 : 32, A, B, C, D, E, F><<<1, 128>>>(p);",
        "constexpr bool X = B || E; constexpr int N = X ? 64 : 32; k<N, A, B, C, D, E, F><<<1, 128>>>(p);",
        "if constexpr (B || E) k<64, A, B, C, D, E, F><<<1, 128>>>(p); else k<32, A, B, C, D, E, F><<<1, 128>>>(p);",
        "auto go = [&](auto n) { k<n.value, A, B, C, D, E, F><<<1, 128>>>(p); }; "
        "if (B || E) go(Int<64>{}); else go(Int<32>{});",
    ],
)
def test_a_flag_that_decides_more_is_followed(tmp_path: Path, leaf: str) -> None:
    """The other tile is met only where two flags are off, after all flags of the first were walked."""
    assert extents(run(tmp_path, dispatch(leaf))) == ["(_32):(_1)", "(_64):(_1)"]


def test_a_block_that_a_flag_decides_is_followed(tmp_path: Path) -> None:
    facts = run(tmp_path, dispatch("k<64, A, B, C, D, E, F><<<1, B || E ? 128 : 256>>>(p);"))
    assert {launch.block_threads for launch in facts.launches} == {128, 256}


PASSING = """
template <bool A, bool B, bool C, bool D, bool E, bool F> void start(int* p) { k<64, A, B, C, D, E, F><<<1, 128>>>(p); }
template <bool A, bool B, bool C, bool D, bool E, bool F> void choose(int* p) {
  k<(B || E) ? 64 : 32, A, B, C, D, E, F><<<1, 128>>>(p); }
template <bool A, bool B, bool C, bool D, bool E, bool F, int N = (B || E) ? 64 : 32> void defaulted(int* p) {
  k<N, A, B, C, D, E, F><<<1, 128>>>(p); }
"""


@pytest.mark.parametrize(
    ("function", "found", "ways"),
    [
        ("start", ["(_64):(_1)"], 40),
        ("choose", ["(_32):(_1)", "(_64):(_1)"], None),
        ("defaulted", ["(_32):(_1)", "(_64):(_1)"], None),
    ],
)
def test_host_templates_pass_flags_on(
    tmp_path: Path, launches: list[int], function: str, found: list[str], ways: int | None
) -> None:
    text = dispatch(f"{function}<A, B, C, D, E, F>(p);").replace("\nvoid host", PASSING + "void host")
    assert extents(run(tmp_path, text)) == found
    assert ways is None or len(launches) < ways  # of 64


def test_conditions_of_a_dispatch_do_not_hold_after_it(tmp_path: Path) -> None:
    """The second call meets nothing new: of its outermost switch one way is walked."""
    text = (
        dispatch("k<64, A, B, C, D, E, F><<<1, 128>>>(p);")
        .replace("(a > 0)", "(a % 8 == 0)")
        .replace("a > 0", "a % 8 == 0")
    )
    text += """
    __global__ void probe(int* p, int n) {
      auto g = make_tensor(make_gmem_ptr(p), make_layout(make_shape(_8{}, _8{}), make_stride(n, _1{})));
      auto r = make_tensor<int>(Shape<_8, _8>{}); copy(g, r); }
    void all(int* p, int n) { host(p, n, 1, n, n, n, n); host(p, n, 1, n, n, n, n); probe<<<1, 128>>>(p, n); }
    """
    facts = run(tmp_path, text)
    (event,) = (e for e in facts.events if "probe" in e.kernel)
    assert event.hypotheses == ()


def test_flags_behind_a_parameter_that_may_be_one_are_not_left_out(tmp_path: Path, launches: list[int]) -> None:
    """`auto` is a flag where its argument is: which place the others have is not known from the declaration."""
    text = dispatch("k<true, A, B, C, D, E, F><<<1, 128>>>(p);").replace(
        "template <int N, bool A", "template <auto N, bool A"
    )
    assert "template <auto N" in text
    run(tmp_path, text)
    assert len(launches) == 2**6
