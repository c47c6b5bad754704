"""What cutecheck says of random configurations against what CuTe prints of them: every known value must be that one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from cutecheck.facts import Facts, Site, TensorFact, Unknown
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.model.layout import ComposedLayout, Layout, MixedBits, Swizzle
from cutecheck.model.notation import show
from cutecheck.source.extract import ExtractRequest, extract
from cutecheck.tests.source.random_tiled.configs import STEP
from cutecheck.tests.source.random_tiled.reference import Piece, Shown

_HEAD = """#include <cute/tensor.hpp>
using namespace cute;
template <class Id, class X> __device__ void config(Id, X const& x) {}
template <class Id, class Tensor, class T> __device__ void seen(Id, Tensor const& t, T const* s) { copy(t, t); }
template <class Id, class Tensor> __device__ void laid(Id, Tensor const& t) { copy(t, t); }
template <class Id, class Tensor> __device__ void coords(Id, Tensor const& t) { copy(t, t); }
"""
_IDENT = re.compile(r"(?:seen|laid|coords)<(?:_|C<)(\d+)")
_CONFIG = re.compile(r"config\(Int<(\d+)>\{\}, (\w+)\);")


class Program(Piece, Protocol):
    """What cutecheck is asked of: the body of the function, too."""

    threads: int

    @property
    def kernel(self) -> str: ...


class OpenError(Exception):
    """A value that is not known to cutecheck."""


def text(config: Program) -> str:
    return f"{_HEAD}{config.text()}void host(int n) {{ p{config.seed}::k<<<1, {config.threads}>>>(n); }}\n"


def facts_of(configs: Sequence[Program], folder: Path) -> Facts:
    for old in folder.glob("*.cu"):
        old.unlink()
    for config in configs:
        (folder / f"p{config.seed}.cu").write_text(text(config))
    return extract(ExtractRequest((folder,), ("sm_90a",)))


def said(configs: Sequence[Program], facts: Facts) -> dict[int, list[Site | TensorFact]]:
    """By number, the site or tensor that it shows."""
    found: dict[int, list[Site | TensorFact]] = {}
    for event in facts.events:
        hit = _IDENT.search(event.enclosing)
        assert hit is not None, event.enclosing
        found.setdefault(int(hit[1]), []).append(event.operands[0])
    names = {(c.seed, name): int(ident) for c in configs for ident, name in _CONFIG.findall(c.kernel)}
    for site in facts.sites:
        seed = int(re.findall(r"p(\d+)\.cu", site.span.path)[-1])
        ident = names.get((seed, site.symbol.rsplit("::", 1)[-1]))
        if ident is not None:
            found.setdefault(ident, []).append(site)
    return found


def differences(shown: Iterable[Shown], known: dict[int, list[Site | TensorFact]]) -> tuple[list[str], Counter[str]]:
    """A line for each wrong value; and how many values are right, unknown (by reason) or missing."""
    wrong: list[str] = []
    counts: Counter[str] = Counter()
    for one in dict.fromkeys(shown):
        answers = []
        for fact in known.get(one.ident, ()):
            try:
                answers.append(_text(fact, one))
            except OpenError as error:
                answers.append("")
                counts[f"unknown: {error}"] += 1
        if not answers:
            counts["not met"] += 1
        elif _normal(one.text) in map(_normal, answers):
            counts["right"] += 1
        elif all(answers):
            counts["wrong"] += 1
            wrong.append(f"{one.ident} ({one.kind}, thread {one.thread}, n = {one.n}): {one.text!r}, said {answers}")
    return wrong, counts


def _normal(text: str) -> str:
    """White space, and swizzles of no bits, say nothing."""
    text = re.sub(r"Sw<0,\d+,\d+> o smem_ptr\[\d+b\]\(unset\) o ", "", text)
    return re.sub(r"\s+", " ", text.replace("ERROR: cast_smem_ptr_to_uint not supported but used.", "")).strip()


def _text(fact: Site | TensorFact, one: Shown) -> str:
    """As CuTe prints it where the block's thread and ``n`` are those of ``one``."""
    given = {"threadIdx.x": one.thread, "n": one.n}
    if isinstance(fact, Site):
        if fact.value is None or fact.status != "resolved":
            raise OpenError(f"{fact.reason.reason if fact.reason else fact.status}")
        return str(fact.value)
    if isinstance(fact.layout, Unknown) or fact.layout is None:
        raise OpenError(fact.layout.reason if fact.layout else "no layout")
    layout = show(_number(fact.layout, given))
    if one.kind == "l":
        return layout
    if isinstance(fact.offset, Unknown):
        raise OpenError(fact.offset.reason)
    offset = show(_number(fact.offset, given))
    if one.kind == "s":
        offset = offset.lstrip("_")  # the difference of two pointers is no static number
    return f"{offset} {layout}"


def _number(value: object, given: dict[str, int]) -> object:
    """The value with every run-time number evaluated."""
    if isinstance(value, tuple):
        return tuple(_number(v, given) for v in value)
    if isinstance(value, Layout):
        return Layout(_number(value.shape, given), _number(value.stride, given))  # type: ignore[arg-type]
    if isinstance(value, ComposedLayout):
        a = value.a if isinstance(value.a, Swizzle) else _number(value.a, given)
        return ComposedLayout(a, _number(value.offset, given), _number(value.b, given))  # type: ignore[arg-type]
    if isinstance(value, MixedBits):
        dynamic = _number(Dyn(value.dynamic), given)
        assert isinstance(dynamic, Dyn)
        return MixedBits(value.static, value.flags, dynamic.expr)
    if isinstance(value, ScaledBasis):
        return ScaledBasis(_number(value.value, given), value.path)  # type: ignore[arg-type]
    if not isinstance(value, Dyn):
        return value
    names = {v.name for v in as_expr(value).variables()}
    if not names <= given.keys():
        raise OpenError(f"depends on {sorted(names - given.keys())[0]}")
    return Dyn.of(as_expr(value).evaluate(given))


def reason_in(config: Program, known: dict[int, list[Site | TensorFact]]) -> bool:
    """Whether something of the configuration is not known."""
    for ident, facts in known.items():
        for fact in facts if ident // STEP == config.seed else ():
            values = (fact.reason,) if isinstance(fact, Site) else (fact.layout, fact.offset)
            if any(isinstance(v, Unknown) for v in values):
                return True
    return False
