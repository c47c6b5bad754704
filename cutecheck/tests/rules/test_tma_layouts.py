"""TMA copies of tensors whose modes the tensor map joins or brings once."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import source
from cutecheck.rules.tma_store_order import TmaStoreNotOrdered

LOAD = """
using Smem = SMEM;
template <class Tma>
__global__ void __launch_bounds__(128) fill(CUTE_GRID_CONSTANT Tma const tma) {
  __shared__ alignas(128) int8_t smem[cosize_v<Smem>];
  __shared__ alignas(8) uint64_t bar;
  Tensor mA = tma.get_tma_tensor(SHAPE{});
  Tensor sA = make_tensor(make_smem_ptr(smem), Smem{});
  auto cta = tma.get_slice(0);
  if (threadIdx.x == 0) {
    initialize_barrier(bar, 1);
    set_barrier_transaction_bytes(bar, BYTES);
    copy(tma.with(bar), cta.partition_S(mA), cta.partition_D(sA));
  }
  __syncthreads();
  wait_barrier(bar, 0);
}
void run(int8_t const* A) {
  Tensor gA = make_tensor(make_gmem_ptr(A), Layout<SHAPE, STRIDE>{});
  fill<<<1, 128>>>(make_tma_copy(SM90_TMA_LOAD{}, gA, Smem{}));
}
"""


def codes(folder: Path, smem: str, shape: str, stride: str, bytes_: int) -> list[str]:
    text = LOAD.replace("SMEM", smem).replace("SHAPE", shape).replace("STRIDE", stride).replace("BYTES", str(bytes_))
    path = folder / "load.cu"
    path.write_text(source(text))
    report = check(inputs([str(path)]), Settings(arch=("sm_90a",)))
    assert not report.failures and not report.errors
    return sorted(f.code for f in report.findings)


@pytest.mark.parametrize(("stride", "expected"), [("Stride<_1, _16>", []), ("Stride<_1, _24>", ["CUT802"])])
def test_modes_that_are_contiguous_together_are_one_mode(stride: str, expected: list[str], tmp_path: Path) -> None:
    assert codes(tmp_path, "Layout<Shape<_16, _8>>", "Shape<_16, _8>", stride, 128) == expected


@pytest.mark.parametrize(("bytes_", "expected"), [(64, []), (64 * 8, ["CUT805"])])
def test_a_mode_of_stride_0_is_brought_once(bytes_: int, expected: list[str], tmp_path: Path) -> None:
    smem = "Layout<Shape<_64, _8>, Stride<_1, _0>>"
    assert codes(tmp_path, smem, "Shape<_64, _8>", "Stride<_1, _0>", bytes_) == expected


@pytest.mark.parametrize(("type_", "bytes_"), [("e3m2", 384), ("e2m1", 256), ("e3m2", 512)])
def test_narrow_elements_that_are_padded_in_shared_memory_count_as_they_are_read(
    type_: str, bytes_: int, tmp_path: Path
) -> None:
    """``sm120_mma_tma.hpp`` waits for ``size(tile) * sizeof_bits<ElementA> / 8``, its tensor is one of bytes."""
    read = f"recast_ptr<cutlass::detail::float_{type_}_unpacksmem_t>(make_gmem_ptr(A))"
    text = LOAD.replace("make_gmem_ptr(A)", read).replace("SMEM", "Layout<Shape<_128, _4>>")
    text = text.replace("SHAPE", "Shape<_128, _4>").replace("STRIDE", "Stride<_1, _128>").replace("BYTES", str(bytes_))
    text = f"namespace cutlass::detail {{ struct float_{type_}_unpacksmem_t {{}}; }}\n{text}"
    (tmp_path / "load.cu").write_text(source(text.replace("int8_t const*", f"cutlass::float_{type_}_t const*")))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_120a",)))
    assert [f.code for f in report.findings] == ["CUT805"] * (bytes_ == 512)


OTHER = """
struct Stages {
  uint64_t full[2];
  CUTE_DEVICE uint64_t& next(int bytes) { set_barrier_transaction_bytes(full[0], bytes); return full[0]; }
};
template <class Tma> __global__ void __launch_bounds__(128) fill"""
FIRST = "copy(tma.with(bar), cta.partition_S(mA), cta.partition_D(sA));"
AGAIN = "copy(tma.with(other), cta.partition_S(mA), cta.partition_D(sA));"
WRAPPED = f"{FIRST} __shared__ Stages stages; uint64_t& other = stages.next(1024); {AGAIN} {AGAIN}"
PIPELINE = f"{FIRST} pipe.producer_acquire(state); uint64_t& other = pipe.at(state); {AGAIN} {AGAIN}"


@pytest.mark.parametrize("copies", [WRAPPED, PIPELINE])
def test_what_follows_another_barrier_s_bytes_is_not_for_the_first(copies: str, tmp_path: Path) -> None:
    """Told in another function, or by a pipeline as it gives a stage."""
    text = LOAD.replace("template <class Tma>\n__global__ void __launch_bounds__(128) fill", OTHER)
    text = text.replace(FIRST, copies)
    text = text.replace("Tma const tma)", "Tma const tma, lib::Pipe pipe, int state)")
    text = text.replace("{}, gA, Smem{})", "{}, gA, Smem{}), lib::pipe(), 0")
    text = text.replace("SMEM", "Layout<Shape<_16, _32>>").replace("SHAPE", "Shape<_16, _32>")
    path = tmp_path / "load.cu"
    path.write_text(source(text.replace("STRIDE", "Stride<_1, _16>").replace("BYTES", "512")))
    report = check(inputs([str(path)]), Settings(arch=("sm_90a",), select=("CUT805",)))
    assert not report.errors
    assert [f.code for f in report.findings if f.code == "CUT805"] == []


OPERAND = """
using Mma = decltype(make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}));
using SmemA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{}));
struct Storage {
  alignas(16) uint64_t full[1];
  alignas(128) half_t A[cosize_v<SmemA>];
};
template <class Tma>
__global__ void __launch_bounds__(128) operand(CUTE_GRID_CONSTANT Tma const tma) {
  extern __shared__ char raw[];
  Storage& storage = *reinterpret_cast<Storage*>(raw);
  Tensor sA = make_tensor(make_smem_ptr(storage.A), SmemA{});
  Tensor gA = local_tile(tma.get_tma_tensor(Shape<_64, _64>{}), Shape<_64, _64>{}, make_coord(0, 0));
  auto cta = tma.get_slice(0);
  copy(tma.with(storage.full[0]), cta.partition_S(gA), cta.partition_D(sA));
  Mma mma;
  auto t = mma.get_slice(threadIdx.x);
  Tensor descriptors = t.make_fragment_A(t.partition_A(sA));
}
void run(half_t const* A) {
  Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  operand<<<1, 128, sizeof(Storage)>>>(make_tma_copy(SM90_TMA_LOAD{}, gA, SmemA{}));
}
"""


FILL = "copy(tma.with(storage.full[0]), cta.partition_S(gA), cta.partition_D(sA));"
UNKNOWN = "copy(elsewhere::chosen(tma), cta.partition_S(gA), cta.partition_D(sA));"  # by what, nothing here says
PLAIN = "Tensor gP = make_tensor(make_gmem_ptr((half_t*)raw), sA.layout());copy(gP, sA);"


@pytest.mark.parametrize(
    ("fill", "lead", "expected"),
    [
        (FILL, 128, ["CUT404 note"]),
        (FILL, 1024, []),
        (FILL, 64, ["CUT404 warning"]),
        ("", 128, ["CUT404 warning"]),
        ("", 1024, []),
        (UNKNOWN, 128, ["CUT404 note"]),
        (UNKNOWN, 64, ["CUT404 warning"]),
        (FILL + UNKNOWN, 128, ["CUT404 note"]),
        (PLAIN, 128, ["CUT404 warning"]),
        (FILL + PLAIN, 128, ["CUT404 warning"]),
        (UNKNOWN + PLAIN, 128, ["CUT404 warning"]),
    ],
)
def test_tma_swizzles_by_the_address(tmp_path: Path, fill: str, lead: int, expected: list[str]) -> None:
    """TMA and the descriptor find the same places at any multiple of 128 bytes; of other copies that is not known.

    A copy by something unknown is no other copy that is known."""
    text = OPERAND.replace("uint64_t full[1]", f"uint64_t full[{lead // 8}]").replace("alignas(128)", "alignas(16)")
    assert FILL in text
    path = tmp_path / "load.cu"
    path.write_text(source(text.replace(FILL, fill)))
    report = check(inputs([str(path)]), Settings(arch=("sm_90a",), select=("CUT404",)))
    assert not report.failures and not report.errors
    assert sorted({f"{f.code} {f.severity}" for f in report.findings}) == expected


@pytest.mark.parametrize(
    ("fill", "expected"), [(FILL, ["CUT404 note"]), (PLAIN, ["CUT404 warning"]), ("", ["CUT404 warning"])]
)
def test_what_fills_a_tile_in_one_kernel_fills_it_in_another(tmp_path: Path, fill: str, expected: list[str]) -> None:
    """Of the second kernel no copy is known, of the same member in the first one some are."""
    text = OPERAND.replace("template <class Tma>", "template <bool Fills, class Tma>").replace(
        "alignas(128)", "alignas(16)"
    )
    text = text.replace("uint64_t full[1]", "uint64_t full[16]").replace(FILL, f"if constexpr (Fills) {{ {fill} }}")
    launch = "operand<<<1, 128, sizeof(Storage)>>>(make_tma_copy(SM90_TMA_LOAD{}, gA, SmemA{}));"
    both = "".join(launch.replace("operand<", f"operand<{fills}><") for fills in ("true", "false"))
    assert launch in text
    path = tmp_path / "load.cu"
    path.write_text(source(text.replace(launch, both)))
    report = check(inputs([str(path)]), Settings(arch=("sm_90a",), select=("CUT404",)))
    assert not report.failures and not report.errors
    assert sorted({f"{f.code} {f.severity}" for f in report.findings}) == expected
    assert len({x.kernel for x in report.facts.launches}) == 2


WIDE = """
using Smem = ComposedLayout<Swizzle<2, 5, BITS>, smem_ptr_flag_bits<32>, Layout<Shape<_32, _4>, Stride<_1, _32>>>;
inline auto make_load(float const* A) {
  Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_64, _64>, Stride<_1, _64>>{});
  return make_tma_copy(SM90_TMA_LOAD{}, gA, Smem{});
}
void run() { (void)make_load(nullptr); }
"""


@pytest.mark.parametrize(("swizzle", "expected"), [("2, 5, 2", []), ("3, 4, 3", []), ("2, 4, 3", ["CUT803"])])
def test_a_swizzle_of_32_bytes_spans_128(tmp_path: Path, swizzle: str, expected: list[str]) -> None:
    """As ``get_tma_swizzle_bits`` has it; a box of 32 floats is 128 bytes wide."""
    path = tmp_path / "wide.cu"
    path.write_text(source(WIDE.replace("2, 5, BITS", swizzle)))
    report = check(inputs([str(path)]), Settings(arch=("sm_100a",), select=("CUT803",)))
    assert not report.failures and not report.errors
    assert [o.verdict.name for o in report.outcomes] == [("PROVED", "REFUTED")[len(expected)]]
    assert [f.code for f in report.findings] == expected


TYPE = """
using Strides = Stride<Stride<_1, _8>, _64>;
using Smem = Layout<Shape<Shape<_8, _2>, _1>, Stride<Stride<_1, _8>, _0>>;
using Tma = decltype(make_tma_copy(SM90_TMA_STORE{},
    make_tensor(static_cast<int8_t*>(nullptr), repeat_like(Strides{}, int32_t(COUNT)), Strides{}), Smem{}));
Tma* made;
"""


@pytest.mark.parametrize(("count", "expected"), [(0, []), (4, ["CUT802"])])
def test_a_tensor_of_no_elements_stands_for_its_type(tmp_path: Path, count: int, expected: list[str]) -> None:
    path = tmp_path / "type.cu"
    path.write_text(source(TYPE.replace("COUNT", str(count))))
    report = check(inputs([str(path)]), Settings(arch=("sm_90a",), select=("CUT802",)))
    assert not report.failures and not report.errors
    assert [f.code for f in report.findings] == expected


RUN_TIME = """
using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{}));
using Shapes = Shape<int, int>;
using Strides = Stride<int64_t, _1>;
WHAT
"""
WHOLE = "make_tensor(make_gmem_ptr(static_cast<half_t const*>(POINTER)), SHAPE, STRIDE)"
MAKE = f"make_tma_copy(SM90_TMA_LOAD{{}}, {WHOLE}, Smem{{}})"
TYPE_ALONE = MAKE.replace("POINTER", "nullptr").replace("SHAPE", "Shapes{}").replace("STRIDE", "Strides{}")
VALUE = MAKE.replace("POINTER", "p").replace("SHAPE", "Shapes{m, 64}").replace("STRIDE", "Strides{ld, {}}")


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        (f"using Tma = decltype({TYPE_ALONE}); Tma* made;", []),
        (f"void run(half_t const* p, int m, int64_t ld) {{ auto made = {VALUE}; }}", ["ld % 8 == 0"]),
    ],
)
def test_run_time_strides_of_a_type_are_no_strides(tmp_path: Path, what: str, expected: list[str]) -> None:
    """A tensor that is only made to name the type of a copy; it never gets a descriptor."""
    path = tmp_path / "named.cu"
    path.write_text(source(RUN_TIME.replace("WHAT", what)))
    report = check(inputs([str(path)]), Settings(arch=("sm_90a",), select=("CUT802",)))
    assert not report.failures and not report.errors and not report.findings
    told = [o.reason for o in report.outcomes if o.verdict.name == "UNKNOWN"]
    assert len(told) == len(expected) and all(e in t for e, t in zip(expected, told, strict=True)), told


@pytest.mark.parametrize(("aligned", "codes"), [(128, []), (16, ["CUT404 warning"]), (64, ["CUT404 warning"])])
def test_an_array_that_tma_alone_copies_from(tmp_path: Path, aligned: int, codes: list[str]) -> None:
    text = next(t for t in TmaStoreNotOrdered.valid if "alignas(128)" in t).replace(
        "alignas(128)", f"alignas({aligned})"
    )
    path = tmp_path / "store.cu"
    path.write_text(source(text))
    report = check(inputs([str(path)]), Settings(arch=("sm_90a",), select=("CUT404",)))
    assert [f"{f.code} {f.severity}" for f in report.findings] == codes
