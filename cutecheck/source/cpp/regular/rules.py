"""The pre-pass: every rewriting at the tokens that call for it."""

from __future__ import annotations

from collections.abc import Callable

from cutecheck.source.cpp.lexer import Tokens, lex
from cutecheck.source.cpp.regular.declarations import Declarations
from cutecheck.source.cpp.regular.result import Regular
from cutecheck.source.cpp.regular.text import ascii_only, joined_strings, without_assembly
from cutecheck.source.cpp.regular.writer import named, wordy
from cutecheck.source.cpp.words import BUILTIN_TYPES, KEYWORDS, SPECIFIERS, STATIC_ASSERTS, words

_PRIMITIVE = words(
    "int unsigned char short long bool uint8_t uint16_t uint32_t uint64_t int8_t int16_t int32_t int64_t size_t"
)
_BEGINNING = words("; { } ) else") | {""}  # before a statement
_BEFORE_EXPRESSION = words("; { } return = ( , ! ? && || + - / % co_return")


def regularise(text: str, folds: bool = True) -> Regular:
    """``text`` rewritten so that tree-sitter-cuda reads it; never raises, and every character keeps its place.

    ``text`` is preprocessed C++ without comments: a file, a class, a function or a single declaration. With ``folds``
    nested template-ids become one name each where the parser could lose track of its readings (an ERROR node shows
    when it did).
    """
    plain = without_assembly(ascii_only(text))
    tokens = lex(plain)
    if '"' in tokens.texts:
        plain = joined_strings(plain)
        tokens = lex(plain)
    work = Rules(plain, _padded(tokens, len(plain)), folds)
    work.run()
    return work.regular()


def _padded(tokens: Tokens, length: int) -> Tokens:
    """The same with a few more tokens at the end, so that rules may look ahead."""
    return Tokens([*tokens.texts, "", "", "", ""], [*tokens.starts, *[length] * 4], [*tokens.partner, *[-1] * 4])


_SPACE = 32


class Rules(Declarations):
    """One method a rewriting, called at the tokens that :data:`_RULES` names."""

    skipped = -2  # the last `::` that stays

    def run(self) -> None:
        self.brackets()
        texts, rules = self.texts, _RULES
        handlers: dict[str, Callable[[Rules, int], None]] = {}
        for text in set(texts):  # of a few hundred spellings most need nothing
            if text in rules:
                handlers[text] = rules[text]
            elif text[-1:] == '"':
                handlers[text] = Rules.string
            elif len(text) > 2 and text.isupper():
                handlers[text] = Rules.macro
        for at in [at for at, text in enumerate(texts) if text in handlers]:
            handlers[texts[at]](self, at)

    def scope(self, at: int) -> None:
        """``a::b`` becomes one name."""
        texts = self.texts
        after = texts[at + 1]
        if not wordy(after) or after in KEYWORDS or not self.tight(at + 1) or self.buffer[self.starts[at]] == _SPACE:
            return  # in what was blanked (`__cluster_dims__(Config::kCluster, 1, 1)`) nothing is written
        before = texts[at - 1] if at else ";"
        if wordy(before):
            tight = self.tight(at)
            if before in KEYWORDS:
                if tight:
                    return
            elif not tight or texts[at - 2] == "namespace" or self.skipped == at - 2:
                self.skipped = at
                return
        elif before in (">", ")", "]"):
            return
        self.put(self.starts[at], b"__")

    def operator(self, at: int) -> None:
        """``operator[](x)`` as an expression is one name."""
        if self.before(at) not in _BEFORE_EXPRESSION:
            return
        last = at + 1
        if self.texts[last] in ("(", "["):
            last = self.partner[last]
        while last >= 0 and self.texts[last + 1] in (">", "=", "<") and self.tight(last + 1):
            last += 1
        if last > at and not wordy(self.texts[last]) and self.texts[last + 1] == "(":
            self.fold(at, last)

    def brace(self, at: int) -> None:
        """``= {}`` where an expression has to stand: a name is put before the brace."""
        texts, partner, starts = self.texts, self.partner, self.starts
        before = texts[at - 1] if at else ""
        close = partner[at]
        if close < 0:
            return
        if texts[close + 1] in (")", "}") and (named(before) or at - 1 in self.open) and self.is_product(at):
            self.put(starts[at], b"(")
            self.put(starts[close], b")")
        if before == "=":
            if texts[close + 1] == ";":
                return
        elif before not in ("?", "==", "!="):
            return
        if self.space_before(at):
            self.put(starts[at] - 1, b"I")
        elif before == "=" and self.space_before(at - 1):
            self.put(starts[at - 1] - 1, b"=I")

    def is_product(self, at: int) -> bool:
        """``if (a && B{})`` and ``T x{a * B{}};``, which could declare ``B``: whether a value is built at ``at``."""
        texts = self.texts
        sign = self.name_start(at - 1) - 1
        while sign > 0 and texts[sign] == "typename":
            sign -= 1
        if sign < 2 or texts[sign] not in ("&", "&&", "*"):
            return False
        left = sign - 1
        if texts[left] == ")":
            first = self.partner[left]
        else:
            first = self.name_start(left) if named(texts[left]) or left in self.open else -1
        if first < 1:
            return False
        around, head = self.before(first), self.before(first - 1)
        if around == "{" or self.buffer[self.starts[first - 1]] == ord("{"):
            return named(head) or first - 2 in self.open
        return (
            around == "("
            and (texts[sign] != "*" or at - 1 in self.open)
            and head in ("if", "while", "constexpr", "switch")
        )

    def colon(self, at: int) -> None:
        """``enum : int {``, ``int : 3;`` and ``, : 3``: a name in place of the colon, which moves."""
        texts = self.texts
        before, after = texts[at - 1] if at else "", texts[at + 1]
        if not self.space_after(at):
            return
        if before == "enum" or (after[:1].isdigit() and texts[at + 2] in (",", ";") and self.nameless(at)):
            self.put(self.starts[at], b"I:")

    def nameless(self, at: int) -> bool:
        before = self.texts[at - 1]
        if before == ",":
            return True
        two = self.texts[at - 2]
        return before in _PRIMITIVE and two in (";", "{", "}", ":", ",")

    def assign(self, at: int) -> None:
        """``T* = nullptr`` without a name, and deleted or defaulted functions outside of classes."""
        before, after = self.texts[at - 1] if at else "", self.texts[at + 1]
        if before == "*" and self.space_before(at):
            self.put(self.starts[at] - 1, b"I")
        elif after in ("delete", "default") and self.texts[at + 2] == ";":
            self.blank(at, at + 1, after)

    def branch(self, at: int) -> None:
        """``if (c) T x = e;``: the declared name with its type becomes one name, the declaration an assignment."""
        texts, partner = self.texts, self.partner
        first = at + 1
        if texts[at] == "if":
            first += texts[first] == "constexpr"
            if texts[first] != "(" or partner[first] < 0:
                return
            first = partner[first] + 1
        if not wordy(texts[first]) or (texts[first] in KEYWORDS and texts[first] not in BUILTIN_TYPES):
            return
        last = self.name_end(first)
        if last > first and wordy(texts[last]) and texts[last] not in KEYWORDS and texts[last + 1] == "=":
            self.fold(first, last)

    def repetition(self, at: int) -> None:
        """``for (...; T x = e; ...)``: the declared name with its type becomes one, as in a branch of an ``if``."""
        texts = self.texts
        close = self.partner[at + 1]
        if texts[at + 1] != "(" or close < 0:
            return
        here = at + 2
        while here < close and texts[here] != ";":
            here = self.next(here)
        first = here = here + 1
        while here < close and (here in self.close or wordy(texts[here]) or texts[here] in ("::", "*", "&", "&&")):
            here = self.close[here] + 1 if here in self.close else here + 1
        declares = here > first + 1 and named(texts[here - 1]) and texts[here - 2] != "::" and texts[here] == "="
        if declares and here < close and wordy(texts[first]):
            self.fold(first, here - 1)

    def ellipsis(self, at: int) -> None:
        """``using Ts::operator()...;``"""
        if self.texts[at + 1] == ";":
            here = at
            while here > 0 and self.texts[here] not in (";", "{", "}", "using"):
                here -= 1
            if self.texts[here] == "using":
                self.blank(at, at, "ellipsis")

    def arrow(self, at: int) -> None:
        """``a->*b`` reads as ``a-> b``."""
        self.put(self.starts[at] + 2, b" ")

    def allocation(self, at: int) -> None:
        """``new T*[2]``: the grammar takes no pointers there, and none of it is lowered."""
        texts = self.texts
        here = at + 1
        while texts[here] in BUILTIN_TYPES or texts[here] in ("const", "struct", "typename"):
            if texts[here] in ("const", "typename"):
                self.blank(here, here)
            here += 1
        if here == at + 1 or texts[here - 1] in ("const", "struct", "typename"):
            here = self.name_end(here)
        last = here
        while texts[last] in ("*", "const"):
            last += 1
        if last > here and texts[last] in ("[", "(", "{", ";", ",", ")"):
            self.blank(here, last - 1)

    def pointer(self, at: int) -> None:
        """``void (*f)(P) = g;`` reads as ``void *f = g;``: by the names of classes alone it looks like calls."""
        texts, first = self.texts, at + 1
        if texts[first] != "(" or texts[at + 2] != "*" or not wordy(texts[at + 3]) or self.before(at) not in _BEGINNING:
            return
        last = at + 4
        while texts[last] == "[":
            last = self.partner[last] + 1
        if last != self.partner[first] or texts[last + 1] != "(":
            return
        end = self.partner[last + 1]
        if (
            texts[end + 1] in ("=", ";")
            and end > last + 2
            and not any(
                t in BUILTIN_TYPES or t in SPECIFIERS or t in ("*", "&", "...", "const") for t in texts[last + 2 : end]
            )
        ):
            self.blank(first, first)
            self.blank(last, end)

    def dot(self, at: int) -> None:
        """``.b{2}`` in braces reads as ``b{2}``."""
        if self.texts[at + 2] == "{" and self.before(at) in ("{", ","):
            self.blank(at, at)

    def string(self, at: int) -> None:
        """``"-I" PATH``: an unknown macro beside a literal; ``extern "C" __global__ void f();`` has none."""
        after = self.texts[at + 1]
        declares = self.before(at) in ("operator", "extern")
        if named(after) and after[-1] not in "\"'" and not self.tight(at + 1) and not declares:
            self.blank(at + 1, at + 1)


_RULES: dict[str, Callable[[Rules, int], None]] = {
    "::": Rules.scope,
    "{": Rules.brace,
    ":": Rules.colon,
    "=": Rules.assign,
    "...": Rules.ellipsis,
    "void": Rules.pointer,
    "new": Rules.allocation,
    "typename": Rules.typename,
    "template": Rules.template,
    "->*": Rules.arrow,
    ".": Rules.dot,
    "__device__": Rules.lambda_word,
    "__host__": Rules.lambda_word,
    "operator": Rules.operator,
    "decltype": Rules.decltype,
    "friend": Rules.leading,
    "if": Rules.branch,
    "else": Rules.branch,
    "for": Rules.repetition,
    "__align__": Rules.align,
    "__launch_bounds__": Rules.bounds,
    **dict.fromkeys(words("unsigned signed long short"), Rules.sized),
    **dict.fromkeys(words("TEST TEST_F TEST_P TYPED_TEST TYPED_TEST_P"), Rules.test),
    **dict.fromkeys(STATIC_ASSERTS, Rules.static_assertion),
    **dict.fromkeys(
        words("__attribute__ __maxnreg__ __cluster_dims__ __block_size__ __annotate__ __declspec"), Rules.attribute
    ),
}
