"""Hierarchical tuples of integers (``cute/int_tuple.hpp``, ``cute/algorithm/tuple_algorithms.hpp``).

Names and results are CuTe's; a tuple is a Python tuple, an integer stands for itself. Template arguments come
after the value: ``get<1,0>(t)`` is ``get(t, 1, 0)``, ``take<1,3>(t)`` is ``take(t, 1, 3)``.
"""

from cutecheck.model.inttuple.arithmetic import (
    as_arithmetic_tuple,
    ceil_div,
    constant_equal,
    elem_scale,
    exchange_sort,
    filter_zeros_tuple,
    gcd_leaves,
    inner_product,
    max_leaf,
    min_leaf,
    minus,
    plus,
    product,
    product_each,
    product_like,
    round_up,
    shape_div,
    sum_leaves,
    times,
)
from cutecheck.model.inttuple.structure import (
    append,
    back,
    basis_like,
    flatten,
    flatten_to_tuple,
    front,
    get,
    group,
    insert,
    integer,
    is_one,
    is_static,
    is_zero,
    leaves,
    prepend,
    remove,
    repeat,
    repeat_like,
    replace,
    reverse,
    select,
    take,
    transform_leaf,
    tuple_depth,
    tuple_rank,
    unflatten,
    unwrap,
    wrap,
    zip2_by,
    zip_tuples,
)

__all__ = [
    "append", "as_arithmetic_tuple", "back", "basis_like", "ceil_div", "constant_equal", "elem_scale",
    "exchange_sort", "filter_zeros_tuple", "flatten", "flatten_to_tuple", "front", "gcd_leaves", "get", "group",
    "inner_product", "insert", "integer", "is_one", "is_static", "is_zero", "leaves", "max_leaf", "min_leaf", "minus",
    "plus",
    "prepend", "product", "product_each", "product_like", "remove", "repeat", "repeat_like", "replace", "reverse",
    "round_up", "select", "shape_div", "sum_leaves", "take", "times", "transform_leaf", "tuple_depth", "tuple_rank",
    "unflatten", "unwrap", "wrap", "zip2_by", "zip_tuples",
]  # fmt: skip
