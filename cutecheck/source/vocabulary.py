"""The names of CuTe, as relevance knows them: those that only CuTe has, and those that others have too."""

from __future__ import annotations

import re
from collections.abc import Set
from functools import lru_cache

from cutecheck.model.atoms import atom_names
from cutecheck.source.cpp.words import words
from cutecheck.source.eval.intrinsics.registry import CONFIGURING, FUNCTIONS
from cutecheck.source.eval.record.events import RECORDED
from cutecheck.source.eval.record.kinds import CONFIG_NAMES

# functions that make or move nothing of CuTe's by themselves, or that every program calls
_PLAIN = re.compile(
    r"__\w+|atomic[A-Z]\w+|cuda\w+|hip\w+|is_\w+"
    r"|\w+_(?:v|sync|wait|barrier|fence|group|batch|async_shared|kernel|launch|on_cluster)|canonical_\w+"
    r"|cluster_\w+|wait_\w+|launch_\w+|\w+_barrier(?:_\w+)?|warpgroup_\w+|thread0|block0|log_2|log2_\w+|find_log2|ceil_div|round_\w+"
    r"|has_single_bit|bit_width|as_const|elem_\w+|sizeof_bits|raw_pointer_cast|get_smem_size|max_thread_per_block|set_barrier\w+"
    r"|make_(?:tuple|pair|coord|shape|stride|step|tile|int_tuple|arithmetic_tuple|producer_start_state)|static_assert"
    r"|conditional_return|compact_\w+|cast_smem_ptr_to_uint|prefetch_tma_descriptor"
)
_EVERYDAY = words(
    "abs addressof assert exit forward fprintf printf get max memset min move ref cref size sleep srand syncthreads "
    "swap launder thread block print fill clear prefetch transform ispow2 gcd lcm shape stride layout tensor tile_size "
    "tile_shape as_tensor make_view unwrap front back find_if any_of all_of none_of wrap fold inner_product tuple_cat "
    "insert remove replace_front replace_back apply visit invoke for_each replace malloc calloc realloc aligned_alloc "
    "sum"
)
# CuTe's where its namespace is open: others have functions of these names
COMMON = words(
    "Layout copy copy_if gemm axpby composition complement recast coalesce coprofile nullspace upcast downcast "
    "congruent compatible coshape cosize shape_div crd2idx idx2crd with_shape flatten unflatten filter select group "
    "slice dice zip rank depth take append prepend reverse repeat product"
)
_TYPES = frozenset({"ComposedLayout", "Swizzle", "MMA_Traits", "Copy_Traits"})
OWN = (
    (CONFIG_NAMES | RECORDED | CONFIGURING | _TYPES | {n for n in FUNCTIONS if not _PLAIN.fullmatch(n)})
    - {n for n, run in FUNCTIONS.items() if run.__module__.endswith((".std_numbers", ".cuda_numbers", ".cuda_math"))}
    - _EVERYDAY - COMMON
)  # fmt: skip
_QUALIFIED = re.compile(
    rf"\bcute\s*::\s*(?:{'|'.join(sorted(COMMON))})\b|\bLayout_(?:MN|K)_\w+_Atom\b"
    r"|\bSM\d\d\d?_(?:\d+x\d|U\d|CP_ASYNC|TMA_|MMA_|TMEM|DP\dA|BULK|SPARSE|UTCCP)"
)
NAMES = OWN | COMMON | FUNCTIONS.keys()  # also those that come to nothing by themselves
_ANY = "|".join(sorted(COMMON))
_KEYWORDS = "return|else|do|throw|case|new|delete|not|and|or|co_return|co_yield|co_await|goto|default"
# as functions or templates, not as members (`.copy(`, `->copy(`); before `::` may stand an alias of the namespace
_USED = re.compile(rf"(?<![\w.:])(?<!->)(?:(\w+)\s*::\s*)?({_ANY})\s*([(<])")
# `T copy(`; after `>`, `&` or `*`, which may be operators, only what has a body: `T<N> slice() const {`
_DECLARED = re.compile(
    rf"\b(?!(?:{_KEYWORDS})\b)(?=\w*[a-z])\w+\s+({_ANY})\s*\("
    rf"|[>&*]\s*({_ANY})\s*\([^()]*\)\s*(?:const\b|noexcept\b|override\b|->|\{{)"
)
_ELSEWHERE = words("std thrust cub cutlass platform")
_SWIZZLED_ATOMS = tuple(f"Layout_{m}_{w}_Atom" for m in ("MN", "K") for w in ("INTER", "SW32", "SW64", "SW128"))


_NAMED = re.compile(
    r"#\s*include\s*[<\"](?:cute|cutlass)/|(?<!\w::)\bcute\s*::|\bnamespace\s+cute\b|=\s*(?:::\s*)?cute\s*;|\bcutecheck:"
)


def names_cute(text: str) -> bool:
    """Whether the text of a file, without comments, names CuTe at all: other libraries have a ``make_layout``, too."""
    return _NAMED.search(text) is not None


def qualified(text: str) -> bool:
    """Whether a text says of a name that it is CuTe's."""
    return _QUALIFIED.search(text) is not None


def used_plainly(text: str, name: str) -> set[str]:
    """The names that CuTe has too and that the text of a declaration of that name uses where they may mean CuTe's.

    A method or variable that the text declares is what its name means there; a function named like CuTe's may call it.
    """
    found = {n for q, n, after in _USED.findall(text) if q not in _ELSEWHERE and (n != "Layout" or after == "<")}
    return found - ({a or b for a, b in _DECLARED.findall(text)} - {name})


@lru_cache(maxsize=8192)
def cute_names_of(form: re.Pattern[str]) -> Set[str]:
    """The names of CuTe that are of a form; an atom stands for a name of CuTe."""
    atoms = any(form.fullmatch(name) for name in (*atom_names(), *_SWIZZLED_ATOMS))
    found = {name for name in (*OWN, *COMMON) if form.fullmatch(name)}
    return found | {"Copy_Atom"} if atoms else found
