"""TMA copies through the whole front end; expected texts are what CuTe 4.7 prints for the same statements."""

from pathlib import Path

from cutecheck.facts import Event, Facts
from cutecheck.model.atoms import CopyAtom
from cutecheck.model.layout import Layout
from cutecheck.model.notation import show
from cutecheck.model.tiled.tensor_map import TensorMap
from cutecheck.tests.source.test_extract import printed, run, site

GMEM = """
void host(half_t* p, int M, int N) {
  auto t = make_tensor(make_gmem_ptr(p), make_layout(make_shape(M, N), make_stride(N, Int<1>{})));
"""


def layouts(e: Event) -> list[str]:
    return [str(o.layout) for o in e.operands]


def offsets(e: Event) -> list[str]:
    return [show(o.offset) for o in e.operands]


def hopper(tmp_path: Path, text: str) -> Facts:
    facts = run(tmp_path, text, arch="sm_90a")
    assert not facts.errors
    return facts


def test_tma_copy_and_its_partitions(tmp_path: Path) -> None:
    text = (
        GMEM
        + """
      auto s = tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, make_shape(_256{}, _192{}));
      auto c = make_tma_copy(SM90_TMA_STORE{}, t, s, make_shape(_256{}, _192{}), _1{});
      auto tile = local_tile(c.get_tma_tensor(make_shape(M, N)), make_shape(_256{}, _192{}), make_coord(2, 3));
      auto own = c.get_slice(Int<0>{});
      copy(c, own.partition_S(make_tensor(make_smem_ptr((half_t*)nullptr), s)), own.partition_D(tile));
    }"""
    )
    facts = hopper(tmp_path, text)
    assert site(facts, "c").kind == "tiled_copy"
    assert printed(facts, "c").startswith(
        "TiledCopy\n  Tiler_MN:       (_256,_192)\n  TiledLayout_TV: (_1,(((_64,_256),_3))):(_0,(((_256,_1),_16384)))\n"
    )
    (event,) = facts.events
    assert event.reason is None
    assert layouts(event) == [
        "Sw<3,4,3> o smem_ptr[16b](unset) o (((_64,_256),_3),_1,_1):(((_1,_64),_16384),_0,_0)",
        "(((_64,_256),_3),_1,_1):(((_1@0,_1@1),_64@0),_0,_0)",
    ]
    assert offsets(event) == ["_0", "(576,512)"]
    assert [o.space for o in event.operands] == ["smem", "coord"]


def test_tma_partition_of_stages(tmp_path: Path) -> None:
    text = (
        GMEM
        + """
      auto s = tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, make_shape(_256{}, _64{}, _3{}));
      Copy_Atom a = make_tma_atom(SM90_TMA_LOAD{}, t, s(_,_,0), make_shape(_256{}, _64{}));
      auto g = local_tile(a.get_tma_tensor(make_shape(M, Int<1024>{})), make_shape(_256{}, _64{}), make_coord(2, _));
      auto sA = make_tensor(make_smem_ptr((half_t*)nullptr), s);
      auto [x, y] = tma_partition(a, Int<0>{}, Layout<_1>{}, group_modes<0,2>(sA), group_modes<0,2>(g));
      uint64_t barrier;
      copy(a.with(barrier, 0), x, y);
      copy(a.with(barrier), x(_, 3), y(_, 2));
    }"""
    )
    facts = hopper(tmp_path, text)
    assert site(facts, "a").kind == "copy_atom"
    assert "ValLayoutRef: (_1,_16384):(_0,_1)" in printed(facts, "a")
    whole, one = facts.events
    assert layouts(whole) == [
        "(((_64,_256),_1),_16):(((_1@0,_1@1),_0),_64@0)",
        "Sw<3,4,3> o smem_ptr[16b](unset) o ((_16384,_1),(_1,_3)):((_1,_0),(_0,_16384))",
    ]
    assert layouts(one)[1] == "Sw<3,4,3> o smem_ptr[16b](unset) o ((_16384,_1)):((_1,_0))"
    assert offsets(one) == ["(192,512)", "32768"]


def test_multicast_and_what_is_not_known(tmp_path: Path) -> None:
    text = (
        GMEM
        + """
      auto s = make_layout(make_shape(_128{}, _128{}), LayoutRight{});
      auto c = make_tma_copy(SM90_TMA_LOAD_MULTICAST{}, t, s, make_shape(_128{}, _128{}), Int<4>{});
      auto bad = make_tma_copy(SM90_TMA_LOAD{}, t, composition(Swizzle<3,3,3>{}, s));
      auto open = make_tma_copy(SM90_TMA_LOAD_MULTICAST{}, t, s, make_shape(_128{}, _128{}), M);
    }"""
    )
    facts = hopper(tmp_path, text)
    assert "TiledLayout_TV: (_4,(((_128,_128),_1))):(_32,(((_128,_1),_0)))" in printed(facts, "c")
    bad, open_ = site(facts, "bad"), site(facts, "open")
    assert (bad.status, open_.status) == ("unknown", "unknown")
    assert bad.reason is not None and bad.reason.rejected
    assert open_.reason is not None and not open_.reason.rejected


def test_a_copy_type_is_the_same_for_other_run_time_extents(tmp_path: Path) -> None:
    text = """
    template <class T> struct Params { T copy_; };
    template <class Copy> struct Main {
      using Layout_ = Layout<Shape<_64, _32>, Stride<_32, _1>>;
      using Tma = decltype(make_tma_copy(SM90_TMA_LOAD{},
          make_tensor(make_gmem_ptr(static_cast<float const*>(nullptr)), Shape<int, int>{}, Stride<int, _1>{}),
          Layout_{}));
      static auto to_params(float const* p, int M, int N) {
        Tma load = make_tma_copy(SM90_TMA_LOAD{},
            make_tensor(make_gmem_ptr(p), make_shape(M, N), make_stride(N, _1{})), Layout_{});
        return Params<Tma>{load};
      }
    };
    void host(float* p, int M, int N) {
      auto params = Main<int>::to_params(p, M, N);
      auto tile = params.copy_.get_tma_tensor(make_shape(M, N)).layout();
    }"""
    facts = hopper(tmp_path, text)
    tile = site(facts, "tile").value
    assert isinstance(tile, Layout)
    assert str(tile) == "(M,N):(_1@1,_1@0)"


RUN_TIME_CLUSTER = """
using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64, _3>{}));
template <class Tma> __global__ void fill(__grid_constant__ Tma const tma, int M, int K, uint64_t* bar, int across) {
  extern __shared__ __align__(1024) half_t smem[];
  Tensor gA = local_tile(tma.get_tma_tensor(make_shape(M, K)), Shape<_128, _64>{}, make_coord(blockIdx.x, _));
  Tensor sA = make_tensor(make_smem_ptr(smem), Smem{});
  auto cluster = make_layout(make_shape(_1{}, across, _1{}));
  auto [from, to] = tma_partition(tma, get<1>(cluster.get_flat_coord(int(block_rank_in_cluster()))),
      make_layout(size<1>(cluster)), group_modes<0, 2>(sA), group_modes<0, 2>(gA));
  copy(tma.with(*bar, uint16_t(3)), from(_, 0), to(_, 1));
}
void run(half_t const* A, int M, int K, int across, uint64_t* bar) {
  auto gA = make_tensor(make_gmem_ptr(A), make_layout(make_shape(M, K), make_stride(K, _1{})));
  auto tma = make_tma_atom(SM90_TMA_LOAD_MULTICAST{}, gA, Smem{}(_, _, 0), Shape<_128, _64>{}, across);
  fill<<<dim3(M / 128), 128, 49152>>>(tma, M, K, bar, across);
}
"""


def test_a_multicast_over_a_run_time_number_of_ctas_leaves_the_box_alone_open(tmp_path: Path) -> None:
    facts = hopper(tmp_path, RUN_TIME_CLUSTER)
    (event,) = facts.events
    assert [x.partition(" o (")[2] or x for x in layouts(event)] == [
        "(((_64,_128),_1)):(((_1@0,_1@1),_0))", "(_8192,_1)):((_1,_0))",
    ]  # fmt: skip
    made = site(facts, "tma").value
    assert isinstance(made, CopyAtom) and isinstance(made.tensor_map, TensorMap)
    assert made.tensor_map.num_multicast is None
    assert made.tensor_map.boxes() == ((64, 128),)  # of 16 CTAs 64 x 8
