"""Names the evaluator knows: lookup, calls, methods, operators."""

from cutecheck.source.eval.intrinsics import (  # noqa: F401  (the names register themselves)
    addresses,
    arithmetic,
    block_scaled,
    concepts,
    cuda,
    cuda_math,
    cuda_numbers,
    events,
    folds,
    groups,
    launch,
    layouts,
    pipeline,
    selectors,
    sparse,
    std_numbers,
    strings,
    tensors,
    tiled,
    tma,
    tmem,
    trait_layouts,
    traits,
    tuples,
    type_traits,
    warps,
    zipped,
)
from cutecheck.source.eval.intrinsics.dispatch import (
    call,
    call_method,
    call_value,
    construct_value,
    deduce_class,
    kind_of,
    method,
)
from cutecheck.source.eval.intrinsics.members import static_member
from cutecheck.source.eval.intrinsics.names import OF_SEVERAL, apply_type, find
from cutecheck.source.eval.intrinsics.operators import advance, binary, cast_pointer, dereference, element_of, index
from cutecheck.source.eval.intrinsics.refusals import guarded
from cutecheck.source.eval.intrinsics.tiled_members import decompose_tiled

__all__ = [
    "OF_SEVERAL",
    "advance",
    "apply_type",
    "binary",
    "call",
    "call_method",
    "call_value",
    "cast_pointer",
    "construct_value",
    "decompose_tiled",
    "deduce_class",
    "dereference",
    "element_of",
    "find",
    "guarded",
    "index",
    "kind_of",
    "method",
    "static_member",
]
