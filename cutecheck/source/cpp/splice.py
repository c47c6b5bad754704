"""Included files whose text belongs in the place of the line that includes them.

A header is lowered once, under the macros of what it includes, whoever includes it. That is wrong of a file that stands
inside of braces (the members of a class, the rows of a table, a part of a function), and of one that means what its
includer says: of a list of macro uses (``#define X(...)`` before, ``#undef X`` after), or of kernels for the sizes that
a translation unit defines before it includes them. Such a file is a fragment, and read where it is included.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from cutecheck.source.cpp.directives import DIRECTIVE, Fragment, Progress, included
from cutecheck.source.cpp.expand import expand
from cutecheck.source.cpp.text import Origin

if TYPE_CHECKING:
    from cutecheck.source.cpp.tree import Tree

TRANSLATION_UNITS = (".cu", ".cpp", ".cc", ".cxx")
_MOST = 8 << 20  # characters of a file with its fragments
_DEEPEST = 40
_LIBRARY = re.compile(r"(^|/)include/(cute|cutlass)/|^(cute|cutlass)/")
# what stands beside a compiler of CUDA programs that use CuTe: CUTLASS, CUDA and the standard library
_INSTALLED = re.compile(
    r"(cute|cutlass|cuda|cub|thrust|nv)/|cu(da|blas|rand|fft|sparse|solver|dnn|pti)\w*(\.\w+)?$|[a-z_0-9]+$|(assert|ctype|"
    r"errno|float|inttypes|limits|math|mma|signal|stdarg|stdbool|stddef|stdint|stdio|stdlib|string|time|unistd)\.h$"
)
_WORD = re.compile(r"[^\W\d]\w*")
_BRACE = re.compile(r"""[{}]|"(?:[^"\\\n]|\\.)*"|'(?<!\w')(?:[^'\\\n]|\\.)+'""")
_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once\b", re.MULTILINE)
_GOES_ON = ("=", ",", "(", ":", "?", "return")


def of_library(path: str) -> bool:
    """Whether a file is CUTLASS's or CuTe's own."""
    return _LIBRARY.search(path) is not None


def installed(header: str) -> bool:
    """Whether an include finds a header of CUTLASS, CUDA or the standard library, read or not."""
    return _INSTALLED.match(header) is not None


@lru_cache(maxsize=4096)
def guarded(stripped: str) -> bool:
    """Whether a file is read once, however often it is included."""
    if _ONCE.search(stripped) is not None:
        return True
    first = DIRECTIVE.search(stripped)
    if first is None or first.group(1) != "ifndef":
        return False
    second = DIRECTIVE.search(stripped, first.end())
    return second is not None and second.group(1) == "define" and second.group(2).split()[:1] == first.group(2).split()


@dataclass(slots=True)
class Splicer:
    """Opens the fragments of one file of a tree."""

    tree: Tree
    path: str
    _counted: int = 0  # how much of the text so far has its braces in ``_depth``
    _depth: int = 0
    _computed: bool = False  # whether macros name the file of the last line

    def named(self, rest: str, so_far: Progress) -> tuple[str, bool] | None:
        """What an include line names, and whether in angle brackets, also where macros name it."""
        found = included(rest)
        self._computed = found is None
        if found is not None or of_library(self.path):
            return found
        at = so_far.length
        text = expand(Origin(self.path, rest), " " * at + rest, so_far.scope).source.text.strip()
        found = included(text.replace(" ", "") if text.startswith("<") else text)
        if found is None:
            self._unread(so_far, f"`#include {rest.strip()}`: no macro of the scanned files says which file this is")
        return found

    def fragment(self, named: tuple[str, bool], so_far: Progress) -> Fragment | None:
        """The file that is named, if its text belongs in the place of the line."""
        around = so_far.within[-1].origin.path if so_far.within else self.path
        if of_library(around):
            return None
        target = self.tree.resolve(named[0], around, named[1])
        if target is None:
            if not named[1] and self._inside(so_far):
                self._unread(so_far, f'"{named[0]}" is included in the middle of a declaration, and is not found')
            return None
        if of_library(target) or not (self._inside(so_far) or self._means(target, so_far)):
            return None
        return self._opened(target, so_far)

    def present(self, named: tuple[str, bool], so_far: Progress) -> bool:
        """Whether a line that names this would find a file."""
        around = so_far.within[-1].origin.path if so_far.within else self.path
        return installed(named[0]) or self.tree.resolve(named[0], around, named[1]) is not None

    def _opened(self, target: str, so_far: Progress) -> Fragment | None:
        found = self.tree.file(target)
        if found is None:
            return None
        again = target == self.path or any(f.origin.path == target for f in so_far.within)
        if guarded(found.stripped) and (again or target in so_far.fragments):
            return Fragment(found.origin, "", found.comments)
        if again or len(so_far.within) >= _DEEPEST:
            self._unread(so_far, f"{target} is included by what it includes, and is not read here")
            return None
        if so_far.length + len(found.stripped) > _MOST:
            self._unread(so_far, f"{target} is not read here: with what is included the file is too long")
            return None
        return Fragment(found.origin, found.stripped, found.comments)

    def _unread(self, so_far: Progress, why: str) -> None:
        at = so_far.length
        so_far.unread.append((why, at - 1, at))

    # ------------------------------------------------------------ in the middle of something

    def _inside(self, so_far: Progress) -> bool:
        """Whether the text so far ends in braces that are open, or in the middle of an expression."""
        parts = so_far.out[self._counted :]
        self._counted = len(so_far.out)
        for part in parts:
            if not part or part.isspace():
                continue
            for match in _BRACE.finditer(part):
                self._depth += {"{": 1, "}": -1}.get(match.group(), 0)
            for word, times in Counter(_WORD.findall(part)).items():
                macro = so_far.scope.at(word, so_far.length)
                if macro is not None:
                    self._depth += times * (macro.body.count("{") - macro.body.count("}"))
            self._depth = max(self._depth, 0)
        return self._depth > 0 or self._last(so_far).endswith(_GOES_ON)

    def _last(self, so_far: Progress) -> str:
        for part in reversed(so_far.out):
            text = part.rstrip()
            if text:
                return text[-10:]
        return ""

    # ------------------------------------------------------------ what its includer means

    def _means(self, target: str, so_far: Progress) -> bool:
        """Whether a file uses macros that its includer defines, as that one means them."""
        found = self.tree.file(target)
        if found is None or target in self.tree.outer or target == self.path:
            return False
        once = guarded(found.stripped)
        unit = self.path.endswith(TRANSLATION_UNITS)
        if once and (not unit or self._read_before(target, so_far)):
            return False
        if self._computed:
            return True
        mine = {name for name, events in so_far.scope.events.items() if events[-1][1] is not None}
        behind = [p for p in self.tree.read_with(target) if p not in self.tree.outer] if unit else [target]
        if mine and any(not mine.isdisjoint(self.tree.spelled(p)) for p in behind):
            return True
        if once:
            return False
        foreign = self.tree.spelled(target) & so_far.scope.defines.macros.keys()
        return bool(foreign) and not foreign <= self.tree.defined_with(target)

    def _read_before(self, target: str, so_far: Progress) -> bool:
        """Whether an include line before has led to the file."""
        for inc in so_far.includes:
            other = self.tree.resolve(inc.text, inc.within or self.path, inc.is_system)
            if other is not None and target in self.tree.read_with(other):
                return True
        return False


__all__ = ["TRANSLATION_UNITS", "Splicer", "guarded", "installed", "of_library"]
