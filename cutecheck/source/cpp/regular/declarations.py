"""Rewritings of what is declared: specifiers, attributes, templates, macros in their places."""

from __future__ import annotations

from cutecheck.source.cpp.regular.brackets import Brackets
from cutecheck.source.cpp.regular.writer import named, wordy
from cutecheck.source.cpp.words import BUILTIN_TYPES, KEYWORDS, SPECIFIERS, words

_FACTLESS = words(
    """inline __inline__ __inline register mutable export __forceinline__ __forceinline __noinline__ __extension__"""
)
_BEFORE_MACRO = words("; { } : ) >") | frozenset(SPECIFIERS) | {""}
_STATEMENTS = words("for while do if { return")
_NO_TYPE = words("template namespace using typedef friend") | {""}
_TYPE_BEGINS = words("auto struct class union enum typename decltype alignas")
_NO_BASE = words("; { } ( ? = struct class union <")


class Declarations(Brackets):
    """One method a rewriting, as in :class:`Rules`."""

    def typename(self, at: int) -> None:
        """``typename X::Y{}`` and ``typename X::Y()``."""
        texts = self.texts
        here = self.name_end(at + 1)
        if texts[here] in ("{", "(") or self.before(at) == "using":
            self.blank(at, at)

    def decltype(self, at: int) -> None:
        texts, partner, starts = self.texts, self.partner, self.starts
        if texts[at + 1] != "(":
            return
        end = partner[at + 1]
        if end < 0:
            return
        here = at + 2
        while here < end:
            if texts[here] == ",":
                self.put(starts[here], b"||" if self.space_after(here) else b"|")
            here = self.next(here)
        before = texts[at - 1] if at else ""
        if before in ("public", "private", "protected", "virtual") or (before in (":", ",") and self.is_base(at)):
            self.fold(at, end)
            return
        if texts[end + 1] == "{" and partner[end + 1] > 0 and texts[at - 1] != "->":
            self.put(starts[at], b"decltyp_")
            self.put(starts[end + 1], b"(")
            self.put(starts[partner[end + 1]], b")")

    def is_base(self, at: int) -> bool:
        here = at - 1
        while here > 0 and self.texts[here] not in _NO_BASE:
            partner = self.partner[here]
            here = self.open.get(here, partner if 0 <= partner < here else here)
            here -= 1
        return self.texts[here] in ("struct", "class", "union")

    def leading(self, at: int) -> None:
        """Specifiers before ``friend`` and ``template`` go."""
        here = at - 1
        while here >= 0 and self.texts[here] in SPECIFIERS and self.texts[here] != "extern":
            self.blank(here, here, "" if self.texts[here] in _FACTLESS else "specifier")
            here -= 1

    def sized(self, at: int) -> None:
        """``unsigned(x)`` as an expression."""
        if (
            self.texts[at + 1] in ("(", "{")
            and self.tight(at + 1)
            and (at == 0 or self.texts[at - 1] not in ("unsigned", "signed", "long", "short", "const"))
        ):
            self.rename(at)

    def template(self, at: int) -> None:
        """``X<A>::template B``; ``X::template B<1>``, whose name is one; ``template class X<1>;``, read
        as ``template void X<1>;``."""
        texts = self.texts
        if self.before(at) in ("::", ".", "->"):
            if at + 2 not in self.close:
                self.blank(at, at)
            elif self.before(at) == "::" and self._is_part(at - 2) and self.tight(at - 1) and self.tight(at):
                self.put(self.starts[at - 1], b"_" * (self.starts[at + 1] - self.starts[at - 1]))
            return
        if self.before(at) in SPECIFIERS:
            self.leading(at)
        if texts[at + 1] in ("class", "struct", "union"):
            self.put(self.starts[at + 1], b"void ".ljust(len(texts[at + 1])))

    def _is_part(self, at: int) -> bool:
        """A part of a name, on one line with the next one but one."""
        line = self.text.find("\n", self.starts[at], self.starts[at + 3]) < 0
        return line and wordy(self.texts[at]) and self.texts[at] not in KEYWORDS and wordy(self.texts[at + 3])

    def test(self, at: int) -> None:
        """``TEST(suite, 64x64_name) {``: the arguments of a macro that defines a function are names."""
        texts = self.texts
        close = self.partner[at + 1]
        if texts[at + 1] != "(" or close < 0 or texts[close + 1] != "{":
            return
        for here in range(at + 2, close):
            if texts[here][0].isdigit():
                self.put(self.starts[here], b"I")

    def attribute(self, at: int) -> None:
        close = self.partner[at + 1]
        if self.texts[at + 1] == "(" and close > 0:
            self.blank(at, close, "cluster_dims" if self.texts[at] == "__cluster_dims__" else "attribute")

    def bounds(self, at: int) -> None:
        """``__launch_bounds__(threads, blocks, cluster)``: the grammar takes two numbers; the third goes."""
        texts, close = self.texts, self.partner[at + 1]
        if texts[at + 1] != "(":
            return
        here, commas = at + 2, 0
        while here < close:
            commas += texts[here] == ","
            if commas == 2:
                self.blank(here, close - 1)
                return
            here = self.next(here)

    def align(self, at: int) -> None:
        """``__align__(n)`` is tree-sitter's ``alignas``."""
        if self.texts[at + 1] == "(":
            self.put(self.starts[at], b"alignas  ")

    def static_assertion(self, at: int) -> None:
        """Macros that assert statically read as ``static_assert``."""
        if self.texts[at + 1] == "(":
            self.put(self.starts[at], b"static_assert".ljust(len(self.texts[at])))

    def macro(self, at: int) -> None:
        """Names of macros that nobody defines: ``MY_API void f();``, ``struct MY_API X {``, ``MY_UNROLL for (``."""
        texts = self.texts
        before, after = self.before(at), texts[at + 1]
        if before in ("struct", "class", "union"):
            if named(after) and after != "final":
                self.blank(at, at, "macro")
            elif after == "(" and self.partner[at + 1] > 0:
                self.blank(at, self.partner[at + 1], "macro")
            return
        is_macro = before.isupper() and len(before) > 2
        template = at - 1 in self.open and texts[self.open[at - 1] - 1] == "template"
        if before not in _BEFORE_MACRO and not template and not is_macro:
            return
        if after in _NO_TYPE:  # MY_NAMESPACE_BEGIN template <...>
            type_follows = before in (";", "}") or (bool(after) and (before in ("{", "") or is_macro or template))
        elif after in _STATEMENTS:
            type_follows = before in (";", "{", "}")
        elif after in ("const", "volatile"):
            of = texts[at + 2]  # of `FP8 const* x;` the capitals are the type
            type_follows = (named(of) and wordy(texts[at + 3])) or of in BUILTIN_TYPES
        else:
            third = texts[at + 2]
            declared = named(after) and (
                named(third) or third in ("<", "*", "template") or third in BUILTIN_TYPES or third in SPECIFIERS
            )
            type_follows = declared or after in SPECIFIERS or after in BUILTIN_TYPES or after in _TYPE_BEGINS
        if type_follows:
            self.blank(at, at, "macro")

    def lambda_word(self, at: int) -> None:
        """``[=] __device__ (int i) {``"""
        if self.before(at) == "]" or (self.before(at) in ("__host__", "__device__") and self.before(at - 1) == "]"):
            self.blank(at, at)
