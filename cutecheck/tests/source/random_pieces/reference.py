"""What a host compiler with CuTe's own headers prints of pieces, thread by thread."""

from __future__ import annotations

from cutecheck.tests.source.random_tiled import reference

_SEEN = """
#include <cstring>
template <class Tensor> void whole(Tensor const& t) {
  using Swizzling = get_swizzle_t<typename Tensor::engine_type::iterator>;
  constexpr int bits = sizeof_bits<typename Tensor::value_type>::value;
  if constexpr (Swizzling::num_bits != 0) { print(Swizzling{}); std::printf(" o smem_ptr[%db](unset) o ", bits); }
  print(t.layout());
  std::printf("\\n");
}
template <class Id, class Tensor> void seen(Id, Tensor const& t, uint8_t const* s) {
  begin(Id::value, 's');
  constexpr long bits = sizeof_bits<typename Tensor::value_type>::value;
  auto data = t.data();
  long place = 0;
  uint8_t inside = 0;
  std::memcpy(&place, &data, 8);
  if constexpr (bits % 8 != 0) std::memcpy(&inside, reinterpret_cast<char*>(&data) + 8, 1);
  place = (place - reinterpret_cast<long>(s)) * 8 + inside;
  if (place % bits) std::printf("%ld/%ld ", place, bits); else std::printf("%ld ", place / bits);
  whole(t);
}
template <class Id, class Tensor> void laid(Id, Tensor const& t) {
  begin(Id::value, 'l');
  whole(t);
}
"""
_START, _END = "template <class Id, class Tensor, class T> void seen", "template <class Id, class Tensor> void coords"


class Compiler(reference.Compiler):
    """What pieces print, those that CuTe takes."""

    names = reference.NAMES[: reference.NAMES.index(_START)] + _SEEN + reference.NAMES[reference.NAMES.index(_END) :]
    objects = ""
