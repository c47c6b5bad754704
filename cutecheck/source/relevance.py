"""Which declarations can come to anything of CuTe: the others need no evaluation.

A value of CuTe is made by a function or type of CuTe that some declaration spells. So a declaration matters if its own
text spells one, or a name (whatever it means there) of a declaration that matters. Names that other libraries have as
well (``Layout``, ``copy``) count where CuTe's namespace is open, or in front of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from cutecheck.facts import Span
from cutecheck.source.cpp.tree import Tree
from cutecheck.source.cpp.words import words
from cutecheck.source.eval import ir
from cutecheck.source.eval.intrinsics.registry import CONFIGURING, FUNCTIONS
from cutecheck.source.eval.program import is_cute_header
from cutecheck.source.eval.record.events import RECORDED
from cutecheck.source.eval.record.kinds import CONFIG_NAMES
from cutecheck.source.eval.scope import declared_names

# functions that make or move nothing of CuTe's by themselves, or that every program calls
_PLAIN = re.compile(
    r"__\w+|cuda\w+|hip\w+|is_\w+|\w+_(?:v|sync|wait|barrier|fence|group|batch|async_shared|kernel|launch|on_cluster)|canonical_\w+"
    r"|cluster_\w+|wait_\w+|launch_\w+|\w+_barrier(?:_\w+)?|warpgroup_\w+|thread0|block0|log_2|log2_\w+|find_log2|ceil_div|round_\w+"
    r"|has_single_bit|bit_width|as_const|elem_\w+|sizeof_bits|raw_pointer_cast|get_smem_size|max_thread_per_block|set_barrier\w+"
    r"|make_(?:tuple|pair|coord|shape|stride|step|tile|int_tuple|arithmetic_tuple|producer_start_state)|static_assert"
    r"|conditional_return|compact_\w+|cast_smem_ptr_to_uint|prefetch_tma_descriptor"
)
_EVERYDAY = words(
    "abs addressof assert exit forward fprintf printf get max memset min move ref cref size sleep srand syncthreads "
    "swap launder thread block print fill clear prefetch transform ispow2 gcd lcm shape stride layout tensor tile_size "
    "tile_shape as_tensor make_view unwrap front back"
)
# CuTe's where its namespace is open: others have functions of these names
_COMMON = words(
    "Layout copy copy_if gemm axpby composition complement recast coalesce coprofile nullspace upcast downcast "
    "congruent compatible coshape cosize shape_div crd2idx idx2crd with_shape flatten unflatten filter select group "
    "slice dice zip rank depth take append prepend reverse repeat product"
)
_TYPES = frozenset({"ComposedLayout", "Swizzle", "MMA_Traits", "Copy_Traits"})
OWN = (
    (CONFIG_NAMES | RECORDED | CONFIGURING | _TYPES | {n for n in FUNCTIONS if not _PLAIN.fullmatch(n)})
    - _EVERYDAY - _COMMON
)  # fmt: skip
_WORD = re.compile(r"[^\W\d]\w*")
_QUALIFIED = re.compile(
    rf"\bcute\s*::\s*(?:{'|'.join(sorted(_COMMON))})\b|\bLayout_(?:MN|K)_\w+_Atom\b"
    r"|\bSM\d\d\d?_(?:\d+x\d|U\d|CP_ASYNC|TMA_|MMA_|TMEM|DP\dA|BULK|SPARSE|UTCCP)"
)
_OPENED = re.compile(
    r"\busing\s+namespace\s+(?:::\s*)?cute\b|\bnamespace\s+\w+\s*=\s*(?:::\s*)?cute\b|\busing\s+(?:::\s*)?cute\s*::"
    r"|\bnamespace\s+cute\b"
)


@dataclass(slots=True)
class Words:
    """What the files of a tree declare and spell for one target; shared by its translation units."""

    tree: Tree
    arch: str
    _of: dict[int, tuple[frozenset[str], bool, ir.Decl]] = field(default_factory=dict)
    _opened: dict[str, bool] = field(default_factory=dict)
    _macros: dict[str, Mapping[str, str]] = field(default_factory=dict)
    _declared: dict[str, tuple[ir.Unit, list[_Named]]] = field(default_factory=dict)

    def spelled(self, decl: ir.Decl, path: str) -> tuple[frozenset[str], bool]:
        """The words of a declaration, and whether it spells a name of CuTe."""
        found = self._of.get(id(decl))
        if found is None:
            text = self._text(decl, path)
            found_words = frozenset(_WORD.findall(text))
            own = not found_words.isdisjoint(OWN) or (not found_words.isdisjoint(_COMMON) and self.opened(path))
            found = self._of[id(decl)] = (found_words, own or _QUALIFIED.search(text) is not None, decl)
        return found[0], found[1]

    def _text(self, decl: ir.Decl, path: str) -> str:
        span: Span | None = getattr(decl, "full_span", None) or getattr(decl, "span", None)
        file = self.tree.file(path)
        if span is None or file is None or span.path != path:
            return ""
        starts = file.origin.starts
        text = self.tree.preprocessed(path, self.arch).text
        return text[starts[span.line - 1] + span.column - 1 : starts[span.end_line - 1] + span.end_column - 1]

    def opened(self, path: str) -> bool:
        """Whether the names of CuTe need no qualification somewhere in a file."""
        if path not in self._opened:
            file = self.tree.file(path)
            self._opened[path] = file is not None and _OPENED.search(file.stripped) is not None
        return self._opened[path]

    def macros(self, path: str) -> Mapping[str, str]:
        """The bodies of the macros that a file defines."""
        if path not in self._macros:
            self._macros[path] = {n: m.body for n, m in self.tree.preprocessed(path, self.arch).macros.final().items()}
        return self._macros[path]

    def declared(self, unit: ir.Unit) -> list[_Named]:
        """What a file declares in its namespaces, by name; of CuTe's own headers nothing."""
        known = self._declared.get(unit.path)
        if known is None:
            known = self._declared[unit.path] = (unit, [(n, d, unit.path) for n, d in _flat(unit.decls)])
        return known[1]


_Named = tuple[str, ir.Decl, str]  # with the path of the file


def _flat(decls: Sequence[ir.Decl]) -> Iterator[tuple[str, ir.Decl]]:
    for decl in decls:
        if isinstance(decl, ir.Namespace):
            yield from _flat(decl.members)
        else:
            yield from ((n, decl) for n, _ in declared_names(decl))


class Relevance:
    """Of one translation unit: which of its declarations matter."""

    def __init__(self, spelled: Words, units: Sequence[ir.Unit]) -> None:
        self._words = spelled
        self._everywhere = False
        self._named: dict[str, list[_Named]] = {}
        self._macros: dict[str, str] = {}
        self._yes: set[int] = set()
        self._no: set[int] = set()
        self._all = False
        operators = []
        self._nameless: set[str] = set()  # files whose declarations are used without a name of theirs
        for unit in units:
            self._macros.update(spelled.macros(unit.path))
            if is_cute_header(unit.path):
                self._nameless.add(unit.path)
                continue
            self._everywhere = self._everywhere or any(
                isinstance(d, ir.Using) and _is_cute(d.target) for d in unit.decls
            )
            for named in spelled.declared(unit):
                self._named.setdefault(named[0], []).append(named)
                if named[0].startswith("operator"):
                    operators.append(named)
                    self._nameless.add(unit.path)
        self._all = any(self.matters(decl, path) for _, decl, path in operators)  # their use has no name

    def any_root(self, unit: ir.Unit) -> bool:
        """Whether a declaration of a file that is evaluated for itself matters."""
        own = self._words.declared(unit)
        return not is_cute_header(unit.path) and any(self.matters(d, p) for _, d, p in own if _is_root(d))

    @staticmethod
    def asks(unit: ir.Unit) -> bool:
        """Whether a file has explicit instantiations."""
        todo = list(unit.decls)
        while todo:
            decl = todo.pop()
            if isinstance(decl, ir.Instantiate):
                return True
            if isinstance(decl, ir.Namespace):
                todo += decl.members
        return False

    def matters(self, decl: ir.Decl, path: str) -> bool:
        """False only where nothing that the declaration's evaluation reaches is of CuTe."""
        first = id(decl)
        if self._all or first in self._no:
            return self._all
        parent: dict[int, int | None] = {first: None}
        todo = [(decl, path)]
        macros: set[str] = set()
        while todo:
            at, where = todo.pop()
            key = id(at)
            plain, own = self._words.spelled(at, where)
            if not own and self._everywhere:
                own = not plain.isdisjoint(_COMMON)
            used, pasted = self._expanded(plain, macros)
            if own or pasted or key in self._yes or (used is not plain and not used.isdisjoint(OWN)):
                step: int | None = key
                while step is not None:
                    self._yes.add(step)
                    step = parent[step]
                return True
            for word in used & self._named.keys():
                for _, other, there in self._named[word]:
                    inner = id(other)
                    if inner not in parent and inner not in self._no:
                        parent[inner] = key
                        todo.append((other, there))
        self._no.update(parent)
        return False

    def comes_to(self, starts: Iterable[tuple[ir.Decl, str]], files: Set[str]) -> bool:
        """False only where no declaration of these files is reached by the evaluation of ``starts``."""
        if any(path in files for path in self._nameless):
            return True
        seen: set[int] = set()
        todo = list(starts)
        macros: set[str] = set()
        while todo:
            at, where = todo.pop()
            if where in files:
                return True
            if id(at) in seen:
                continue
            seen.add(id(at))
            used, pasted = self._expanded(self._words.spelled(at, where)[0], macros)
            if pasted:
                return True
            todo += [(other, there) for word in used & self._named.keys() for _, other, there in self._named[word]]
        return False

    def _expanded(self, plain: frozenset[str], seen: set[str]) -> tuple[Set[str], bool]:
        """The words with those of the macros among them, and whether one of these makes names of pieces."""
        todo = [w for w in plain & self._macros.keys() if w not in seen]
        if not todo:
            return plain, False
        found, pasted = set(plain), False
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            body = self._macros[name]
            pasted = pasted or "##" in body
            more = set(_WORD.findall(body))
            todo += more & self._macros.keys()
            found |= more
        return found, pasted


def _is_root(decl: ir.Decl) -> bool:
    return not getattr(decl, "tparams", None)


def _is_cute(target: ir.Expr) -> bool:
    return isinstance(target, (ir.Name, ir.Scoped)) and target.ident == "cute"
