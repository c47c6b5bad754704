"""``sizeof`` an array is its bytes, not those of the pointer it decays to; where it may be either, it is not known.

Sizes and alignments of library types are what g++ 12 prints with the headers of CUTLASS and CUDA 12 or 13.
"""

from pathlib import Path

import pytest

from cutecheck.facts import Unknown
from cutecheck.model.ints import as_expr
from cutecheck.model.notation import show
from cutecheck.tests.source.shown import kernel, number
from cutecheck.tests.source.test_extract import event, run

KERNEL = """
struct Inner { half_t row[3]; };
struct Storage { alignas(128) half_t tile[1024]; Inner inner; float* link; };
__global__ void k(half_t* p) {
  __shared__ float plain[96];
  extern __shared__ char raw[];
  Storage& storage = *reinterpret_cast<Storage*>(raw);
  float* pointer = plain;
  auto from = make_tensor(make_gmem_ptr(p + sizeof(%s)), Layout<_8>{});
  copy(from, make_tensor(make_smem_ptr(storage.tile), Layout<_8>{}));
}
void host(half_t* p) { k<<<1, 32>>>(p); }
"""


@pytest.mark.parametrize(
    ("operand", "size"),
    [
        ("storage.tile", 2048),
        ("storage.inner.row", 6),
        ("storage.link", 8),
        ("plain", 384),
        ("Storage", 2176),
        ("pointer", None),
    ],
)
def test_size(operand: str, size: int | None, tmp_path: Path) -> None:
    tensor = event(run(tmp_path, KERNEL % operand)).operands[0]
    if size is None:
        assert isinstance(tensor.offset, Unknown)
    else:
        assert as_expr(tensor.offset).constant == size  # type: ignore[arg-type]


LIBRARY = """#include <cute/tensor.hpp>
using namespace cute;
struct Empty {}; struct alignas(16) Padded {}; struct Zero { half_t none[0]; };
struct Scales { alignas(128) ArrayEngine<half_t, 64> tile; ArrayEngine<half_t, 0> none; };
struct Map { TmaDescriptor a; };
struct Maps : aligned_struct<128, _0> { CUtensorMap a; TmaDescriptor b; int n; };
struct Late { float x[24]; CUtensorMap a; };
struct Early { float x[40]; CUtensorMap a; };
struct Outside { Elsewhere what; float x; };
"""


@pytest.mark.parametrize(
    ("what", "size"),
    [
        ("sizeof(ArrayEngine<half_t, 0>)", 16),
        ("sizeof(array_aligned<float, 0, 128>)", 128),
        ("sizeof(cute::array<half_t, 0>)", 1),
        ("alignof(cute::array<half_t, 0>)", 1),
        ("sizeof(std::array<int, 0>)", 1),
        ("sizeof(ArrayEngine<cutlass::int4b_t, 0>)", 0),
        ("sizeof(ArrayEngine<cutlass::int4b_t, 8>)", 4),
        ("alignof(ArrayEngine<cutlass::int4b_t, 8>)", 1),
        ("sizeof(ArrayEngine<half_t, 3>)", 16),
        ("sizeof(cutlass::AlignedBuffer<half_t, 24>)", 48),
        ("alignof(cutlass::AlignedBuffer<half_t, 24>)", 16),
        ("sizeof(Scales)", 256),
        ("sizeof(Empty)", 1),
        ("sizeof(Padded)", 16),
        ("sizeof(Zero)", 0),
        ("sizeof(TmaDescriptor)", 128),
        ("sizeof(Map)", 128),
        ("sizeof(Maps)", 384),
        ("alignof(Maps)", 128),
        ("sizeof(Late)", 256),
        ("sizeof(Early)", None),  # 320 with CUDA 12, 384 with 13
        ("alignof(Map)", None),
        ("alignof(Outside)", None),
        ("sizeof(Outside)", None),
    ],
)
def test_size_of_types_of_the_libraries(what: str, size: int | None, tmp_path: Path) -> None:
    assert number(tmp_path, kernel(LIBRARY), "", what) == size


def test_a_program_s_own_specialisation_says_the_width(tmp_path: Path) -> None:
    facts = run(
        tmp_path,
        """
        namespace cutlass {
        template <class T> struct sizeof_bits { static constexpr int value = int(sizeof(T) * 8); };
        }
        struct Odd { float a; };
        struct Two { float a; half_t b; };
        namespace cutlass {
        template <> struct sizeof_bits<Odd> { static constexpr int value = 5; };
        }
        void host() {
          auto told = make_layout(make_shape(Int<cutlass::sizeof_bits<Odd>::value>{},
              Int<cutlass::sizeof_bits<Two>::value>{}, Int<sizeof_bits_v<Odd>>{}, Int<sizeof_bits_v<half_t>>{}));
        }
        """,
    )
    assert [show(s.value) for s in facts.sites] == ["(_5,_64,_5,_16):(_1,_5,_320,_1600)"]
