"""Small sources through the whole front end: sites, events, buffers, and the rules that keep them sound."""

from pathlib import Path

import pytest

from cutecheck.facts import Event, Facts, Site
from cutecheck.model.notation import show
from cutecheck.source.eval.limits import Limits
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

HEAD = "#include <cute/tensor.hpp>\nusing namespace cute;\n"


def run(tmp_path: Path, text: str, *instantiate: str, limits: Limits | None = None, arch: str = "sm_80") -> Facts:
    (tmp_path / "a.cu").write_text(HEAD + text)
    return extract(
        ExtractRequest((tmp_path,), (arch,), instantiate=instantiate, limits=limits if limits is not None else Limits())
    )


def site(facts: Facts, name: str) -> Site:
    found = [s for s in facts.sites if s.symbol.rsplit("::", 1)[-1] == name]
    assert len(found) == 1, [s.symbol for s in facts.sites]
    return found[0]


def printed(facts: Facts, name: str) -> str:
    found = site(facts, name)
    assert found.status == "resolved", found.reason
    return show(found.value)


def event(facts: Facts, index: int = 0) -> Event:
    return facts.events[index]


def test_traits_through_base_conditional_and_default_arguments(tmp_path: Path) -> None:
    text = """
    template <int D, class T = half_t> struct Base {
      static constexpr int kRow = D % 64 == 0 ? 64 : 32;
      using Element = std::conditional_t<std::is_same_v<T, float>, float, T>;
    };
    template <int D, int M, class B = Base<D>> struct Traits : B {
      using Element = typename B::Element;
      using Atom = decltype(composition(Swizzle<B::kRow == 32 ? 2 : 3, 3, 3>{},
                            Layout<Shape<_8, Int<B::kRow>>, Stride<Int<B::kRow>, _1>>{}));
      using Smem = decltype(tile_to_shape(Atom{}, Shape<Int<M>, Int<D>>{}));
      using Op = Copy_Atom<SM75_U32x4_LDSM_N, Element>;
    };
    """
    facts = run(tmp_path, text, "Traits<96, 64>", "Traits<128, 64>")
    smem = {dict(s.bindings)["D"]: show(s.value) for s in facts.sites if s.symbol.endswith("::Smem")}
    assert smem["96"] == "Sw<2,3,3> o _0 o ((_8,_8),(_32,_3)):((_32,_256),(_1,_2048))"
    assert smem["128"] == "Sw<3,3,3> o _0 o ((_8,_8),(_64,_2)):((_64,_512),(_1,_4096))"
    assert all(s.status == "resolved" for s in facts.sites)


def test_open_parameters_are_symbolic_or_unbound_never_guessed(tmp_path: Path) -> None:
    text = """
    template <int M, class T> struct Traits {
      using Tile = Layout<Shape<Int<M>, _64>, Stride<_64, _1>>;
      using Op = Copy_Atom<SM75_U32x4_LDSM_N, T>;
    };
    """
    facts = run(tmp_path, text)
    assert site(facts, "Tile").status == "symbolic"
    assert show(site(facts, "Tile").value) == "(_M,_64):(_64,_1)"
    assert site(facts, "Op").status == "unbound"
    assert "`T`" in str(site(facts, "Op").reason)


KERNEL = """
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2,_2,_1>>, Tile<_32,_32,_16>>;
using Smem = Layout<Shape<_64,_64>, Stride<_64,_1>>;
__global__ void __launch_bounds__(128) k(half_t const* p, int n) {
  __shared__ alignas(128) half_t buf[cosize_v<Smem>];
  Tensor s = make_tensor(make_smem_ptr(buf), Smem{});
  Mma mma;
  Tensor r = mma.get_slice(threadIdx.x).partition_fragment_A(s);
  auto copier = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  auto t = copier.get_slice(threadIdx.x);
  BODY
}
"""


def kernel(body: str) -> str:
    return KERNEL.replace("BODY", body)


def test_a_copy_event_has_both_operands(tmp_path: Path) -> None:
    facts = run(tmp_path, kernel("copy(copier, t.partition_S(s), t.retile_D(r));"))
    source, destination = event(facts).operands
    assert (source.space, destination.space) == ("smem", "rmem")
    assert source.dtype is not None and source.dtype.bits == 16
    assert source.alignment_bytes == 128
    assert event(facts).threads == 128
    assert show(source.layout) == "((_8,_1),_2,_4):((_1,_0),_2048,_16)"
    offsets = {t: source.offset.expr.evaluate({"threadIdx.x": t}) for t in (0, 1, 16, 32, 64)}  # type: ignore[union-attr]
    assert offsets == {0: 0, 1: 64, 16: 8, 32: 1024, 64: 0}
    (buffer,) = facts.buffers
    assert buffer.size_bytes == 8192
    assert buffer.accesses == (event(facts).event_id,)
    assert buffer.accesses_complete


def test_a_buffer_that_reaches_an_unknown_call_is_incomplete(tmp_path: Path) -> None:
    facts = run(tmp_path, kernel("elsewhere(s); copy(copier, t.partition_S(s), t.retile_D(r));"))
    (buffer,) = facts.buffers
    assert not buffer.accesses_complete
    assert buffer.escapes[0].span is not None


def test_a_loop_s_values_are_told_by_its_index(tmp_path: Path) -> None:
    body = """
    int stage = 0;
    for (int i = 0; i < 4; ++i) {
      copy(copier, t.partition_S(s)(_, _, stage), t.retile_D(r)(_, _, i));
      stage = stage + 1;
    }
    """
    facts = run(tmp_path, kernel(body))
    source, destination = event(facts).operands
    (index,) = set(destination.offset.expr.variables())  # type: ignore[union-attr]
    assert (index.domain.lo, index.domain.hi) == (0, 3)
    stages = [
        source.offset.expr.evaluate({"threadIdx.x": 0, index.name: i})
        for i in range(4)  # type: ignore[union-attr]
    ]
    assert stages == [0, 16, 32, 48]
    assert event(facts).loop_depth == 1


def test_branches_on_run_time_conditions_are_both_walked_and_joined(tmp_path: Path) -> None:
    body = """
    int row = 0;
    if (n > 3) { row = 2; copy(copier, t.partition_S(s), t.retile_D(r)); } else { row = 4; }
    copy(copier, t.partition_S(s)(_, _, row / 2), t.retile_D(r)(_, _, 0));
    """
    facts = run(tmp_path, kernel(body))
    first, second = facts.events
    assert first.guards and first.guards[0].text == "n > 3"
    assert not second.guards
    (row,) = {v for v in second.operands[0].offset.expr.variables() if v.name != "threadIdx.x"}  # type: ignore[union-attr]
    assert row.domain.values == (2, 4)


def test_different_layouts_of_two_branches_do_not_become_one(tmp_path: Path) -> None:
    text = """
    void f(bool b) {
      auto l = b ? Layout<Shape<_8>>{} : Layout<Shape<_8>, Stride<_2>>{};
      auto m = zipped_divide(l, Shape<_2>{});
    }
    """
    facts = run(tmp_path, text)
    assert all(s.value is None for s in facts.sites)


def test_a_reference_parameter_writes_back(tmp_path: Path) -> None:
    text = """
    void bump(int& x) { x = x * 2; }
    void f() { int n = 4; bump(n); auto l = make_layout(n); }
    """
    assert printed(run(tmp_path, text), "l") == "8:_1"


def test_an_address_handed_out_is_forgotten(tmp_path: Path) -> None:
    text = """void f(char** v) { int n = 4; sscanf(v[0], "%d", &n); auto l = make_layout(n); }"""
    assert printed(run(tmp_path, text), "l") != "4:_1"


def test_static_and_run_time_integers_stay_apart(tmp_path: Path) -> None:
    facts = run(tmp_path, "void f(int k) { auto a = make_layout(8, Int<1>{}); auto b = make_layout(Int<8>{}, k); }")
    assert printed(facts, "a") == "8:_1"
    assert printed(facts, "b") == "_8:k"


def test_instantiation_through_calls_lambdas_and_launches(tmp_path: Path) -> None:
    text = """
    #define SWITCH(COND, NAME, ...) \\
      [&] { if (COND) { constexpr static bool NAME = true; return __VA_ARGS__(); } \\
            else { constexpr static bool NAME = false; return __VA_ARGS__(); } }()
    template <bool Wide> __global__ void k() { auto l = Layout<Shape<Int<Wide ? 64 : 32>>>{}; }
    template <class F> void run(F f) { f(); }
    void host(bool wide) { run([&] { SWITCH(wide, kWide, [&] { k<kWide><<<1, 64>>>(); }); }); }
    """
    facts = run(tmp_path, text)
    assert sorted(show(s.value) for s in facts.sites if s.symbol.endswith("::l")) == ["(_32):(_1)", "(_64):(_1)"]
    assert {s.block_threads for s in facts.launches} == {64}


@pytest.mark.parametrize(
    "text",
    [
        "using A = B; using B = A; using L = Layout<A>;",
        "template <int N> struct R { using T = typename R<N + 1>::T; using L = Layout<Shape<T>>; }; using X = R<0>::L;",
        "template <int N> constexpr int f() { return f<N + 1>(); } using L = Layout<Shape<Int<f<0>()>>>;",
        "void f() { while (true) { f(); } auto l = make_layout(_8{}); }",
    ],
)
def test_cycles_end_with_a_reason(tmp_path: Path, text: str) -> None:
    facts = run(tmp_path, text, limits=Limits(steps_per_root=20_000))
    assert facts.files == 1
    assert all(s.reason is not None or s.value is not None for s in facts.sites)


def test_dead_code_is_said_to_be_dead(tmp_path: Path) -> None:
    facts = run(tmp_path, "#if 0\nusing M = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>>;\n#endif\n")
    assert {s.status for s in facts.sites} == {"dead"}


def test_comma_coordinate_is_noticed(tmp_path: Path) -> None:
    text = "void f(float* p) { auto t = make_tensor(p, Shape<_8,_8>{});"
    facts = run(tmp_path, text + " auto u = local_tile(t, Shape<_4,_4>{}, (0, _)); }")
    (lint,) = facts.lints
    assert (lint.kind, lint.text) == ("comma-drops-coordinate", "(0, _)")


def test_what_cute_refuses_is_a_rejected_unknown(tmp_path: Path) -> None:
    text = """using C = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, half_t>{},
                        Layout<Shape<_16,_8>>{}, Layout<Shape<_4,_1>>{}));"""
    found = site(run(tmp_path, text), "C")
    assert found.reason is not None and found.reason.rejected


def test_auto_with_const_and_reference_and_braces(tmp_path: Path) -> None:
    text = """
    template <class L> void g(L const& l) { auto const& m{l}; auto const n{make_layout(m.shape(), LayoutRight{})}; }
    void f() { auto const l{make_layout(make_shape(_4{}, _8{}))}; g(l); }
    """
    facts = run(tmp_path, text)
    assert printed(facts, "l") == "(_4,_8):(_1,_4)"
    assert printed(facts, "m") == "(_4,_8):(_1,_4)"
    assert printed(facts, "n") == "(_4,_8):(_8,_1)"


def test_braced_lists_become_the_structs_they_initialise(tmp_path: Path) -> None:
    text = """
    struct Params { int rows; Stride<int, _1> stride; };
    Params to_params(int n) { return {n, {8, _1{}}}; }
    void f() { auto p = to_params(4); auto l = make_layout(make_shape(p.rows, _8{}), p.stride); }
    """
    assert printed(run(tmp_path, text), "l") == "(4,_8):(8,_1)"


def test_byte_wide_integers_count_bytes(tmp_path: Path) -> None:
    text = """
    using A = Copy_Atom<UniversalCopy<uint_byte_t<16>>, float>;
    using B = Copy_Atom<UniversalCopy<uint_bit_t<16>>, half_t>;
    """
    facts = run(tmp_path, text)
    assert str(site(facts, "A").value.val_layout_src) == "(_1,_4):(_0,_1)"  # type: ignore[union-attr]
    assert str(site(facts, "B").value.val_layout_src) == "(_1,_1):(_0,_1)"  # type: ignore[union-attr]


def test_overloads_are_chosen_by_kind_and_by_enable_if(tmp_path: Path) -> None:
    text = """
    template <int N, int M, class T> void f(T t) { auto l = make_layout(Int<N>{}); }
    template <int N, class U, class T> void f(T t) { auto l = make_layout(Int<100 + N>{}); }
    template <class A, class B> std::enable_if_t<is_layout<A>::value> g(A a, B b) { auto m = a; }
    template <class A, class B> void g(A a, B... b) { auto m = make_layout(Int<7>{}); }
    void h() { f<1, float>(2); g(_8{}, _8{}); }
    """
    facts = run(tmp_path, text)
    assert printed(facts, "l") == "_101:_1"
    assert printed(facts, "m") == "_7:_1"


def test_syntax_that_cannot_be_read_is_one_line_and_the_rest_is_read(tmp_path: Path) -> None:
    facts = run(
        tmp_path, "template <class T struct X { using L = Layout<Shape<_8,;\n}}} )( \nusing G = Layout<Shape<_3>>;\n"
    )
    (error,) = facts.errors
    assert error.path == "a.cu" and error.span is not None
    assert "cannot be read" in error.message


def test_a_tensor_like_one_in_swizzled_shared_memory_is_plain_and_compact(tmp_path: Path) -> None:
    text = """
    __global__ void k(float* p) {
      auto t = make_tensor(make_smem_ptr(p), composition(Swizzle<3,4,3>{}, smem_ptr_flag_bits<32>{},
                           Layout<Shape<Shape<_1,_1>, Shape<Shape<_32,_2>>>,
                                  Stride<Stride<_0,_0>, Stride<Stride<_1, Int<4096>>>>>{}));
      copy(t, make_tensor_like(t));
    }
    void h(float* p) { k<<<1, 32>>>(p); }
    """
    copied = event(run(tmp_path, text)).operands[1]  # what g++ prints for it with CuTe 4.7
    assert show(copied.layout) == "((_1,_1),((_32,_2))):((_0,_0),((_1,_32)))"


@pytest.mark.parametrize("name", ["std::copy", "thrust::copy"])
def test_a_foreign_copy_is_no_event(tmp_path: Path, name: str) -> None:
    text = f"void h(float* p) {{ auto t = make_tensor(p, Layout<_8>{{}}); {name}(t, t, t); copy(t, t); }}"
    assert [e.callee for e in run(tmp_path, text).events] == ["copy"]


def test_a_position_independent_tensor_has_its_swizzle_in_the_layout(tmp_path: Path) -> None:
    text = """
    __global__ void k(half_t* p, half_t* g) {
      auto s = make_tensor(make_smem_ptr(p), tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{}));
      auto t = as_position_independent_swizzle_tensor(s);
      auto c = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, half_t>{},
                               Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{});
      auto thr = c.get_slice(threadIdx.x);
      copy(c, thr.partition_S(make_tensor(make_gmem_ptr(g), Layout<Shape<_64, _64>, Stride<_64, _1>>{})),
           thr.partition_D(t));
    }
    void h(half_t* p, half_t* g) { k<<<1, 128>>>(p, g); }
    """
    into = event(run(tmp_path, text, arch="sm_90a")).operands[1]
    assert show(into.layout) == "((_8,_1),_4,_1):((_1,_0),_1024,_0)"  # what g++ names for it with CuTe 4.7


def test_a_trait_of_an_operation_that_does_not_exist_costs_one_value(tmp_path: Path) -> None:
    text = """
    template <class Op> void f() { using S = typename MMA_Traits<Op>::Shape_MNK; }
    using E = float_e2m1_t;
    int main() {
      f<SM120::BLOCKSCALED::SPARSE::SM120_SPARSE_16x8x128_TN_VS<E, E, float, float_ue8m0_t, 64>>();
      using After = Layout<Shape<_8>>;
    }
    """
    facts = run(tmp_path, text, arch="sm_120a")
    assert [e.message for e in facts.errors] == [] and printed(facts, "After") == "(_8):(_1)"
