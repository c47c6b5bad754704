"""What the parameters of a function take, as far as its annotations, defaults and text say so."""

from __future__ import annotations

import re

from cutecheck.source.dsl.statements import spelled
from cutecheck.source.dsl.supposed.guesses import Sort, Wanted
from cutecheck.source.eval import ir
from cutecheck.source.eval.values import Value

_TENSOR_USES = (
    "shape dtype stride dim size device is_cuda contiguous data_ptr reshape view numel detach ndim element_size"
)
_CUTE_USES = "shape element_type layout iterator stride memspace"
_SORTS: dict[str, Sort] = {
    "Tensor": "tensor", "dtype": "dtype", "int": "int", "bool": "bool", "float": "float", "str": "str",
    "Numeric": "type", "NumericMeta": "type", "CUstream": "stream", "Stream": "stream", "Constexpr": "unclear",
    "Int32": "int", "Int64": "int", "Uint32": "int", "Float32": "float", "Boolean": "bool", "Integer": "int",
}  # fmt: skip


def wanted(fn: ir.Function, text: str, skip: int = 0) -> list[tuple[ir.Param, Wanted]]:
    """The parameters after the first ``skip`` that are to be given; ``text``: the function as written."""
    device = bool(fn.flags & {"jit", "kernel"})
    out: list[tuple[ir.Param, Wanted]] = []
    for p in fn.params[skip:]:
        if p.kind in ("varargs", "varkw"):
            continue
        found = _annotated(p, device) if p.type is not None else Wanted(p.name, "unclear")
        if found.sort == "unclear":
            found = Wanted(p.name, _by_use(p.name, text, device), found.optional, kind=found.kind)
        if isinstance(p.default, ir.Lit) and isinstance(p.default.value, bool):
            out.append((p, Wanted(p.name, "bool", default=p.default.value)))
            continue
        none = isinstance(p.default, ir.Lit) and p.default.value is None
        if p.default is not None and not (none and found.sort in ("tensor", "cute")):
            continue
        if found.sort in ("tensor", "cute"):
            found = Wanted(p.name, found.sort, found.optional or none, rank=_rank(p.name, text))
        out.append((p, found))
    return out


def _annotated(p: ir.Param, device: bool) -> Wanted:
    optional, node = _inside(p.type)
    if node is None:
        return Wanted(p.name, "unclear", optional)
    base = node.base if isinstance(node, ir.Index) else node
    word = spelled(base).rpartition(".")[2]
    args = _arguments(node)
    if word == "Literal":
        words: list[Value] = [a.value for a in args if isinstance(a, ir.Lit)]
        return Wanted(p.name, "int" if words and type(words[0]) is int else "str", optional, tuple(words))
    if word in ("Type", "type") and args:
        return Wanted(p.name, "type", optional)
    if word in ("Constexpr",) and args:
        word = spelled(args[0]).rpartition(".")[2]
    if word in ("Tuple", "tuple"):
        open_ = any(not isinstance(a, (ir.Name, ir.Attr, ir.Index)) for a in args)
        return Wanted(p.name, "tuple", optional, count=0 if open_ else len(args))
    sort = _SORTS.get(word, "unclear")
    if word not in _SORTS and isinstance(node, (ir.Name, ir.Attr)):
        return Wanted(p.name, sort, optional, kind=node)
    if sort == "tensor" and (device or spelled(base).startswith("cute.")):
        sort = "cute"
    return Wanted(p.name, sort, optional)


def _inside(node: ir.Expr | None) -> tuple[bool, ir.Expr | None]:
    """Whether a type says that None may be given, and what else it says."""
    if isinstance(node, ir.Lit) and isinstance(node.value, str):
        text = node.value
        optional = "Optional" in text or "None" in text
        word = re.search(r"[\w.]+", re.sub(r"Optional\[|None|\||\s", "", text))
        return optional, None if word is None else ir.Name(word[0].rpartition(".")[2], None, node.span)
    if isinstance(node, ir.Index) and spelled(node.base).rpartition(".")[2] in ("Optional", "Union"):
        parts = _arguments(node)
        told = [a for a in parts if not (isinstance(a, ir.Lit) and a.value is None)]
        optional = spelled(node.base).endswith("Optional") or len(told) < len(parts)
        return optional, told[0] if told else None
    if isinstance(node, ir.Binary) and node.op == "|":
        left, right = _inside(node.left), _inside(node.right)
        none = [side for side in (node.left, node.right) if isinstance(side, ir.Lit) and side.value is None]
        return bool(none) or left[0] or right[0], right[1] if node.left in none else left[1]
    return False, node


def _arguments(node: ir.Expr) -> list[ir.Expr]:
    if not isinstance(node, ir.Index):
        return []
    out: list[ir.Expr] = []
    for a in node.args:
        out += [i.value for i in a.items] if isinstance(a, ir.Sequence_) and a.kind == "tuple" else [a]
    return out


def _by_use(name: str, text: str, device: bool) -> Sort:
    """What a parameter without an annotation is used as."""
    uses = (_CUTE_USES if device else _TENSOR_USES).replace(" ", "|")
    if re.search(rf"(?<![\w.]){re.escape(name)}\.(?:{uses})\b|from_dlpack\(\s*{re.escape(name)}\b", text):
        return "cute" if device else "tensor"
    if re.search(rf"(?:stream|CUstream)\s*=\s*{re.escape(name)}\b", text) or name == "stream":
        return "stream"
    if re.search(rf"(?<![\w.]){re.escape(name)}\.width\b", text) or name.endswith("dtype"):
        return "type"
    return "unclear"


def _rank(name: str, text: str) -> int:
    """How many modes a function takes a tensor to have; 0 where it does not say."""
    own = rf"(?<![\w.]){re.escape(name)}"
    for pattern in (rf"{own}\.(?:dim\(\)|ndim)\s*==\s*(\d)", rf"len\({own}\.shape\)\s*==\s*(\d)"):
        if (found := re.search(pattern, text)) is not None:
            return int(found[1])
    if (
        found := re.search(
            rf"^[ \t]*\(?(\w+(?:\s*,\s*\w+)+|\w+\s*,)\)?\s*=\s*{own}\.(?:shape|size\(\))[ \t]*$", text, re.M
        )
    ) is not None:
        return len([w for w in found[1].split(",") if w.strip()])
    if (found := re.search(rf"{own}\.permute\(\s*(\d(?:\s*,\s*\d)*)", text)) is not None:
        return len(found[1].split(","))
    at = [int(n) for n in re.findall(rf"{own}\.(?:shape\[|size\(|stride\(|stride\[)\s*(\d)\s*[\])]", text)]
    return max(at) + 1 if at and max(at) > 0 else 0


__all__ = ["wanted"]
