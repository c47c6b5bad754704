"""What collectives of sm_90 and sm_100 do between their copies; the texts are what CuTe prints."""

from pathlib import Path

from cutecheck.facts import Unknown
from cutecheck.facts.printed import printed as cutecheck_text
from cutecheck.tests.source.test_extract import printed, run, site

KERNEL = "__global__ void k(half_t* p, bool flag, int a, int b, int c) {{ {} }}\nint main() {{ k<<<1, 128>>>({}); }}"


def kernel(body: str) -> str:
    return KERNEL.format(body, "nullptr, true, 1, 2, 3")


def test_rank_of_a_mode(tmp_path: Path) -> None:
    text = """
    template <class P> __device__ auto f(P p) {
      constexpr int n = cute::rank<1>(P{});
      auto modes = make_layout(Int<n>{});
      if constexpr (rank<1>(P{}) == 2) { auto two = make_layout(_7{}); }
      else { auto other = make_layout(_9{}); }
    }
    """
    facts = run(tmp_path, text + kernel("f(make_shape(a, make_shape(b, c))); rank_t<int> x;"))
    assert printed(facts, "modes") == "_2:_1"
    assert printed(facts, "two") == "_7:_1"
    assert all(not s.symbol.endswith("other") or s.status != "resolved" for s in facts.sites)


def test_a_pointer_to_one_of_two_copies(tmp_path: Path) -> None:
    body = """
      auto one = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
                                 Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{});
      auto two = one;
      auto const* chosen = &one;
      if (flag) { chosen = &two; }
      auto const* either = flag ? &one : &two;
      auto g = make_tensor(make_gmem_ptr(p), Layout<Shape<_16, _64>, Stride<_64, _1>>{});
      auto part = chosen->get_slice(threadIdx.x).partition_S(g);
      copy(*either, part, make_fragment_like(part));
    """
    (event,) = run(tmp_path, kernel(body)).events
    assert event.reason is None
    assert str(event.operands[0].layout) == "((_8,_1),_1,_1):((_1,_0),_0,_0)"


LOOP = """
      auto g = make_tensor(make_gmem_ptr(p), make_layout(make_shape(_16{}, _8{}, 4, 4), LayoutLeft{}));
      auto r = make_fragment_like(g(_, _, 0, 0));
"""


def test_a_tuple_of_coordinates_that_a_loop_assigns(tmp_path: Path) -> None:
    body = (
        LOOP
        + """
      auto at = make_coord(a, _, _2{}, b);
      do {
        auto [x, every, still, y] = at;
        copy(g(_, every, x, y), r);
        auto kept = make_layout(still);
        at = make_coord(x + 1, _, _2{}, int(p[0]));
      } while (size<0>(at) < 4);
    """
    )
    facts = run(tmp_path, kernel(body))
    (event,) = facts.events
    assert event.reason is None
    assert str(event.operands[0].layout) == "(_16,_8):(_1,_16)"
    assert printed(facts, "kept") == "_2:_1"


def test_an_iterator_over_coordinates_goes_through_tuples(tmp_path: Path) -> None:
    text = """
    template <class I> __device__ auto load(I at, int n) { return cute::make_tuple(n + 1, at); }
    """
    body = (
        LOOP
        + """
      auto [n, at] = load(cute::make_coord_iterator(4), a);
      for (; n > 0; --n) { copy(g(_, _, *at, 0), r); ++at; }
    """
    )
    (event,) = run(tmp_path, text + kernel(body)).events
    assert event.reason is None
    assert str(event.operands[0].layout) == "(_16,_8):(_1,_16)"


def test_an_mma_of_open_threads_is_unknown(tmp_path: Path) -> None:
    """The layout of its threads is a member of its type, and depends on whether the open number is one."""
    text = """
    template <int Warps> struct Mma {
      using Tiled = TiledMMA<MMA_Atom<UniversalFMA<float>>,
                             Layout<Shape<Int<Warps>, Int<8 * Warps>, _1>, Stride<_1, Int<Warps == 1 ? 1 : 32>, _1>>>;
    };
    """
    facts = run(tmp_path, text)
    assert not facts.errors
    tiled = site(facts, "Tiled")
    assert tiled.value is None or cutecheck_text(tiled.value)


def test_an_array_whose_elements_are_not_known_is_none_that_cute_refuses(tmp_path: Path) -> None:
    text = """
    struct Problem {
      cute::array<int, 5> extents{};
      __device__ auto whole() const { return make_shape(cute::product(take<0, 4>(extents)), extents[4]); }
    };
    struct Args { Problem problem; float* p; };
    __global__ void kernel(Args args) {
      Tensor g = make_tensor(make_gmem_ptr(args.p), args.problem.whole());
      copy(g(_, 0), make_tensor<float>(Layout<Shape<_8>>{}));
    }
    void host(Args args) { kernel<<<1, 32>>>(args); }
    """
    (event,) = run(tmp_path, text).events
    assert isinstance(event.operands[0].layout, Unknown) and not event.operands[0].layout.rejected
