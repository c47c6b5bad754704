"""``make_zip_tensor``: an operand beside its metadata or scale factors, as in CUTLASS's sparse and scaled mainloops."""

from pathlib import Path

from cutecheck.facts import Unknown
from cutecheck.tests.source.test_extract import printed, run

TEXT = """
using Op = SM90::GMMA::SPARSE::GMMA_64x128x32_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>;
template <class... Args, class T> CUTE_DEVICE auto metadata(TiledMMA<Args...> const& mma, T const& e) {
  using Mma = TiledMMA<Args...>;
  using Extents = typename Mma::AtomShape_MNK;
  auto tile = make_tile(make_layout(size<0>(Extents{})), make_layout(size<2>(Extents{})));
  auto tv = zipped_divide(e, tile).compose(typename Mma::Atom::Traits::ELayout{}, _);
  auto threads = make_tile(make_layout(size<1>(mma.thr_layout_vmnk_)), make_layout(size<3>(mma.thr_layout_vmnk_)));
  return zipped_divide(tv, make_tile(_, threads));
}
__global__ void k() {
  __shared__ alignas(1024) half_t sa[128 * 64], sb[128 * 128];
  TiledMMA mma = make_tiled_mma(Op{}, Layout<Shape<_2, _1, _1>>{});
  auto of_threads = metadata(mma, make_layout(make_shape(tile_size<0>(mma), tile_size<2>(mma))));
  auto warpgroup = make_layout(_4{}, get<1>(mma.get_slice(130).thr_vmnk_));
  using LA = decltype(tile_to_shape(GMMA::Layout_K_SW128_SpAtom<half_t, 2>{}, Shape<_128, _128>{}));
  using LB = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _128>{}));
  auto thr = mma.get_slice(threadIdx.x);
  auto of_base = metadata(thr, make_layout(make_shape(tile_size<0>(mma), tile_size<2>(mma))));
  auto a = thr.partition_fragment_A(make_tensor(make_smem_ptr<sparse_elem<2, half_t>>(sa), LA{}));
  auto b = thr.partition_fragment_B(make_tensor(make_smem_ptr(sb), LB{}));
  auto c = partition_fragment_C(mma, Shape<_128, _128>{});
  auto e = make_tensor<uint32_t>(Shape<_1, _2, _4>{});
  auto both = make_zip_tensor(a, e);
  for (int i = 0; i < size<2>(a); ++i) {
    cute::gemm(mma, make_zip_tensor(a(_, _, i), e(_, _, i)), b(_, _, i), c);
    cute::gemm(mma, c, both(_, _, i), b(_, _, i), c);
  }
  auto [alone, beside] = unzip_tensor(both);
  cute::gemm(mma, alone(_, _, 0), b(_, _, 0), c);
}
"""


def test_the_operand_of_a_gemm_is_the_first_of_zipped_tensors(tmp_path: Path) -> None:
    facts = run(tmp_path, TEXT, arch="sm_90a")
    assert not facts.errors
    assert (
        printed(facts, "of_threads")
        == printed(facts, "of_base")
        == ("(((_2,_2,_8,_4),(_2,_1)),((_16,_2),(_1,_1))):(((_2048,_0,_1,_16),(_64,_0)),((_128,_8),(_0,_0)))")
    )
    assert printed(facts, "warpgroup") == "_4:1"  # of thread 130 the second
    assert [[o.space for o in e.operands] for e in facts.events] == [
        ["smem", "smem", "rmem"], ["rmem", "smem", "smem", "rmem"], ["smem", "smem", "rmem"],
    ]  # fmt: skip
    assert not any(isinstance(o.layout, Unknown) for e in facts.events for o in e.operands)
    assert all(b.accesses_complete for b in facts.buffers)
