"""Static assertions of operations: evaluated for the arguments given."""

import pytest

from cutecheck.model.atoms import copy_op, mma_op
from cutecheck.model.atoms.conditions import holds
from cutecheck.model.atoms.table import rows
from cutecheck.model.dtype import DType
from cutecheck.model.ints import CuteError

HALF, FLOAT = DType("half_t", 16), DType("float", 32)
K, MN = "UMMA::Major::K", "UMMA::Major::MN"
BITS = {"half_t": 16, "float_e2m1_t": 4}


@pytest.mark.parametrize(
    ("condition", "names", "expected"),
    [
        ("M == 64 || M == 128", {"M": "96"}, False),
        ("(N % 8 == 0) && (8 <= N) && (N <= 256)", {"N": "256"}, True),
        ("sizeof(T) == 4 || sizeof(T) == 8", {"T": "half_t"}, False),
        ("sizeof_bits_v<a> == sizeof_bits_v<b> && sizeof_bits_v<b> == 16", {"a": "half_t", "b": "half_t"}, True),
        ("a_major == UMMA::Major::K", {"a_major": MN}, False),
        ("((VS == 32) & is_same_v<a, float_e2m1_t>) || (VS == 16)", {"VS": "32", "a": "half_t"}, False),
        ("int32_t(Bits::value / 8) % 16 == 0", {"Bits": "1024"}, True),
        ("!is_same_v<a, half_t>", {"a": "half_t"}, False),
        ("is_rmem<T>::value", {"T": "half_t"}, None),
        ("M == 64", {}, None),
        ("sizeof_bits_v<T> <= 8", {"T": "mystery_t"}, None),
    ],
)
def test_conditions(condition, names, expected):
    assert holds(condition, names, BITS) is expected


@pytest.mark.parametrize(
    ("make", "gist"),
    [
        (lambda: copy_op("SM80_CP_ASYNC_CACHEALWAYS", (HALF,), HALF), "cp.async"),
        (lambda: copy_op("SM80_CP_ASYNC_CACHEGLOBAL", (FLOAT,), FLOAT), "cp.async"),
        (lambda: copy_op("AutoVectorizingCopyWithAssumedAlignment", (256,), HALF), "MaxVecBits"),
        (lambda: mma_op("SM90_64x64x16_F32F16F16_RS", ("GMMA::Major::MN", "GMMA::Major::K")), "major"),
        (lambda: mma_op("SM100_MMA_F16BF16_SS", (HALF, HALF, FLOAT, 96, 128, K, K)), "M-mode"),
        (lambda: mma_op("SM100_MMA_F16BF16_SS", (HALF, HALF, FLOAT, 128, 20, K, K)), "N-mode"),
        (lambda: mma_op("SM100_MMA_F16BF16_SS", (FLOAT, FLOAT, FLOAT, 128, 128, K, K)), "16bit types"),
    ],
)
def test_illegal_instantiations_are_refused_with_cutes_message(make, gist):
    with pytest.raises(CuteError, match=gist):
        make()


def test_every_assertion_of_the_table_parses_or_is_left_open():
    checked = 0
    for name in ("SM100_MMA_F16BF16_SS", "SM100_MMA_MXF4_SS", "SM80_CP_ASYNC_CACHEALWAYS", "UniversalCopy"):
        for row in rows(name):
            for text in filter(None, row.asserts.split(" ## ")):
                assert holds(text.partition(" => ")[0], {}, {}) is None
                checked += 1
    assert checked >= 8
