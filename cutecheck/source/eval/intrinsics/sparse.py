"""Elements that stand for several, most of them zero (cute/pointer_sparse.hpp)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.model.atoms import MMAAtom, element_type, sparse_element
from cutecheck.model.constants import truth_constant
from cutecheck.model.notation import parse
from cutecheck.source.eval.classes import NO_MEMBER
from cutecheck.source.eval.intrinsics.registry import Unsupported, type_maker
from cutecheck.source.eval.intrinsics.types import element
from cutecheck.source.eval.values import Scalar, ScalarType, Tag, TraitType, Value, ValueType, constant

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


@type_maker("sparse_elem")
def _sparse_elem(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    """``sparse_elem<2, half_t>``: two logical elements, one of which is stored."""
    sparsity, raw = constant(targs[0]), element(targs[1])
    found = None if raw is None else element_type(f"sparse_elem<{sparsity},{raw.name}>")
    if found is None:
        raise Unsupported("sparse_elem of a type or sparsity that is not known")
    return ScalarType(found)


@type_maker("is_sparse", "is_sparse_v")
def _is_sparse(m: Machine, targs: tuple[Value, ...], span: Span) -> Value:
    t = targs[0]
    if isinstance(t, Unknown):
        return t
    sparse = int(isinstance(t, ScalarType) and sparse_element(t.dtype) is not None)
    return TraitType(ValueType(truth_constant(sparse)), Scalar(sparse, "bool"))


def sparse_member(t: Value, name: str) -> Value | None:
    """``raw_type`` and ``sparsity`` of a sparse element; None of any other type."""
    parts = sparse_element(t.dtype) if isinstance(t, ScalarType) else None
    if parts is None or name not in ("raw_type", "sparsity"):
        return None
    return ScalarType(parts[1]) if name == "raw_type" else Scalar(parts[0], "int")


def metadata_member(atom: MMAAtom, name: str, span: Span) -> Value | None:
    """Members of the traits that say where the stored elements stood; None for any other.

    A dense operation has none of them, and code asks for that (``void_t<typename TiledMma::ValTypeE>``).
    """
    if name not in ("ValTypeE", "FrgTypeE", "ELayout"):
        return None
    told = dict(atom.extra).get(name)
    if told is None:
        return Unknown(f"`{atom.op}` {NO_MEMBER} `{name}`", span)
    if name == "ELayout":
        return ValueType(parse(told))
    if told.startswith("UMMA::tmem_"):
        return ValueType(Tag(told))
    found = element_type(told)
    return None if found is None else ScalarType(found)
