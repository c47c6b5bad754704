"""What depends on the brackets around it: comparisons, template lists, calls that could be types or parameters."""

from __future__ import annotations

import re

from cutecheck.source.cpp.lexer import Tokens, assigns
from cutecheck.source.cpp.regular.writer import Writer, named, wordy
from cutecheck.source.cpp.words import ASSIGNS, BUILTIN_TYPES, SPECIFIERS, words

_BRACKETS = words("( ) [ ] { } < >")
_ARGUMENT_HEAD = words("< , typename const volatile struct class") | {""}
_ARGUMENT_END = words(", > ... * & const [ (")
_AFTER_CONSTRUCTOR = frozenset({"{", ";", "->", ":", "", "=", ".", "noexcept", "requires", "try"})
_BEFORE_GROUP = ASSIGNS | words(  # no name, which would be called
    "( , [ { ; } ? : return if while switch ! ~ - + * / % & | ^ && || == != < > <= >= << >>"
)
_UNARY_TOO = words("- + * & && and or xor bitand bitor not_eq")
_BEFORE_OPERAND = words("return co_return case else throw and or not xor bitand bitor")
_NOT_OPERAND = words(") ] ; { } ...") | {""}
_TYPE_NAME = re.compile(r"T[A-Z]?$|[A-Z]\w*[a-z]")
_LONGEST = 400  # tokens from the beginning of a statement to a further declarator
_OUTSIDE = words("; { }") | {""}
_HEAD = words("; { } const static typename") | {""}
_VALUES = words("sizeof alignof ( . -> + - / % ? == != || ! ~")
# tree-sitter's words for types: they are no expressions.
_TYPES_ONLY = BUILTIN_TYPES | words(
    """const volatile struct class auto size_t ssize_t ptrdiff_t intptr_t uintptr_t nullptr_t int8_t int16_t int32_t
    int64_t uint8_t uint16_t uint32_t uint64_t"""
)


class Brackets(Writer):
    """One pass over the brackets of the text."""

    def __init__(self, text: str, tokens: Tokens, folds: bool) -> None:
        super().__init__(text, tokens)
        self.folding = folds
        self.bodies: dict[int, bool] = {}

    def brackets(self) -> None:
        """Everything that depends on the brackets around it, with the innermost open one at hand."""
        texts, partner, close = self.texts, self.partner, self.close
        ends, compares = self.open, set(self.angles.compares)
        stack: list[tuple[str, int]] = [("{", -1)]
        folded = -1  # nested lists before this token are already part of a name
        for at in [at for at, text in enumerate(texts) if text in _BRACKETS]:
            tok = texts[at]
            if tok == "<":
                around = stack[-1][0]
                if at in close:
                    if texts[at - 1] in ("template", "]"):
                        stack.append(("P", at))
                    elif around in "<U":
                        deep = around == "<" or (len(stack) > 2 and stack[-2][0] == "U")
                        if self.folding and at > folded and (deep or self.is_operand(at)):
                            folded = self.fold_name(at)
                        stack.append((around, at))
                    else:
                        alias = self.is_alias(at)
                        if not alias and texts[close[at] + 1] == "::" and at > folded:
                            folded = max(folded, self.fold_scopes(at))
                        stack.append(("U" if alias else "<", at))
                    self.template_list(at, close[at])
                elif at in compares:
                    self.compare(at, around in "<UP")
            elif tok == ">":
                if at in ends:
                    stack.pop()
                elif stack[-1][0] in "<UP" and texts[at + 1] == "=" and self.tight(at + 1):
                    self.put(self.starts[at], b"<")
            elif tok in "([{":
                if partner[at] > at:
                    if tok == "(":
                        self.parenthesis(at, *stack[-1])
                    elif tok == "{" and texts[partner[at] + 1] == "..." and self.before(at) in ("{", ",", "("):
                        self.fold(at, partner[at])  # `{{f<T>, g<T>}...}`: the grammar expands no braced list
                    stack.append((tok, at))
            elif partner[at] >= 0 and len(stack) > 1:
                stack.pop()

    def parenthesis(self, at: int, around: str, open_at: int) -> None:
        """Calls in template lists and initialisers of local variables, which could be types and parameters."""
        texts = self.texts
        close = self.partner[at]
        before, after = self.before(at), texts[close + 1]
        if after in _UNARY_TOO and before == "sizeof":
            self.size(at, close)
        elif after in _UNARY_TOO and named(texts[close - 1] if close - 1 not in self.open else "x"):
            self.parenthesised_name(at, close, around)
        if before in _BEFORE_GROUP and self.before(at - 1) != "operator":
            self.assigning(at, close)
        if around in "<U":
            callee = named(before) or at - 1 in self.open or (before in BUILTIN_TYPES and self.is_value(at, close))
            if callee and after in (",", ">") and texts[self.name_start(at - 1) - 1] in ("<", ","):
                self.embrace(at, close)
        elif around == "{" and after in (";", ","):
            declared = self.declares(at - 1) or (self.before(at - 1) == "," and self.declares_more(at - 2))
            if close > at + 1 and declared and self.is_body(open_at):
                self.embrace(at, close)
                while after == "," and wordy(texts[close + 2]) and self.partner[close + 3] > close:
                    at, close = close + 3, self.partner[close + 3]
                    if texts[at] != "(" or close == at + 1:
                        break
                    self.embrace(at, close)
                    after = texts[close + 1]
        elif around == "{" and before.isupper() and self.before(at - 1) in _OUTSIDE and not self.is_body(open_at):
            if after not in _AFTER_CONSTRUCTOR:  # MY_MACRO(x) before another declaration
                self.blank(at - 1, close, "macro")
        elif after == "[" and self.declares_array(at, close, around) and (around == "(" or self.is_body(open_at)):
            self.put(self.starts[at], b" ")
            self.put(self.starts[close], b" ")

    def assigning(self, at: int, close: int) -> None:
        """``(a = b, c)``: the grammar has an assignment only at the end of a list, so one before becomes a name."""
        first = here = at + 1
        found = False
        while here < close:
            tok = self.texts[here]
            if tok == ";":
                return  # no expression
            if tok == "," and found:
                self.fold(first, here - 1)
            if tok == ",":
                first, found = here + 1, False
            found = found or (here > first and assigns(self.texts, self.starts, here))
            here = self.next(here)

    def size(self, at: int, close: int) -> None:
        """``sizeof(T) + 1`` could be the size of ``(T)+1``: it becomes ``sizeof T + 1`` with one name or fold."""
        inside = self.texts[at + 1 : close]
        if self.texts[close + 1] == "*":
            self.put(self.starts[close + 1], b"/")
        elif inside:
            is_name = named(inside[0]) and self.name_end(at + 1) == close
            if is_name or not _TYPES_ONLY.isdisjoint(inside) or inside[-1] == "*":
                self.put(self.starts[at], b" ")
                self.put(self.starts[close], b" ")
                if not is_name or inside[0] in _TYPES_ONLY:  # no expression starts with `int32_t`
                    self.fold(at + 1, close - 1)

    def parenthesised_name(self, at: int, close: int, around: str) -> None:
        """``(a) - b``: tree-sitter cannot tell it from a cast of ``-b``, and does not always choose the same.

        A cast if the name ends with ``_t``, or is written like a type and the sign like a sign: ``(T) -b``.
        """
        texts = self.texts
        before = self.before(at)
        if (wordy(before) and before not in _BEFORE_OPERAND) or at - 1 in self.open:
            return
        if before in _NOT_OPERAND and (before != ";" or around != "("):
            return
        first = at + 2 if texts[at + 1] == "::" else at + 1
        if not named(texts[first]) or self.name_end(first) != close or self.before(at - 1) == "operator":
            return
        name = texts[self.open[close - 1] - 1 if close - 1 in self.open else close - 1]
        sign = texts[close + 1]
        unary = sign == "-" and self.space_before(close + 1) and not self.space_after(close + 1)
        if sign in ("-", "*", "&") and (name.endswith("_t") or (unary and _TYPE_NAME.match(name))):
            self.put(self.starts[close + 1], b"~")  # no binary operator: surely a cast
        elif sign == "*":
            self.put(self.starts[close + 1], b"/")  # no unary operator
        else:
            self.put(self.starts[at], b" ")
            self.put(self.starts[close], b" ")
            if close - 1 in self.open:  # `X::v<3> + y` could compare
                self.fold(first, close - 1)

    def declares_array(self, at: int, close: int, around: str) -> bool:
        """``T (&name)[n] =``, ``T (*name)[n];`` and parameters of this kind, which have white space before ``(``."""
        texts = self.texts
        before, end = self.before(at), self.partner[close + 1]
        return (
            texts[at + 1] in ("&", "*", "&&")
            and close == at + 3
            and (before in BUILTIN_TYPES or named(before) or at - 1 in self.open)
            and end > close
            and (
                texts[end + 1] in ("=", ";")
                if around == "{"
                else texts[end + 1] in (",", ")") and self.space_before(at)
            )
        )

    def is_value(self, at: int, close: int) -> bool:
        """Whether ``int(...)`` in a template list is a value: no parameter list looks like this."""
        return any(text in _VALUES or text[0].isdigit() for text in self.texts[at + 1 : close])

    def embrace(self, at: int, close: int) -> None:
        """``{`` and ``}`` in place of parentheses, unless there is a type between them."""
        here = at + 1
        while here < close:
            if self.texts[here] in _TYPES_ONLY and self.texts[here + 1] not in ("(", "{"):
                return
            here = self.next(here)
        self.put(self.starts[at], b"{")
        self.put(self.starts[close], b"}")

    def declares(self, at: int) -> bool:
        """Whether the name at ``at`` follows a type, as in ``T x(args);``."""
        texts = self.texts
        if at < 1 or not named(texts[at]):
            return False
        before = texts[at - 1]
        if before == ">":
            return at - 1 in self.open
        if before in ("*", "&"):
            type_at = at - 2
            if type_at < 0 or texts[type_at] in BUILTIN_TYPES or texts[type_at] == "const":
                return type_at >= 0
            if type_at not in self.open and not named(texts[type_at]):
                return False
            return self.before(self.name_start(type_at)) in _HEAD
        return before in BUILTIN_TYPES or before in ("auto", "const") or named(before)

    def declares_more(self, here: int) -> bool:
        """Whether the statement with the comma at ``here`` is a declaration: ``T x = a, y(b);``."""
        texts = self.texts
        least = here - _LONGEST
        while here >= 0 and texts[here] not in (";", "{", "}"):
            if here < least:
                return False
            partner = self.partner[here]
            here = self.open.get(here, partner if 0 <= partner < here else here) - 1
        here += 1
        while texts[here] in SPECIFIERS or texts[here] in ("const", "typename"):
            here += 1
        if texts[here] in BUILTIN_TYPES or texts[here] == "auto":
            return True
        here = self.name_end(here) if named(texts[here]) else here + 1
        while texts[here] in ("*", "&", "&&", "const"):
            here += 1
        return self.declares(here)

    def is_body(self, open_at: int) -> bool:
        """Whether ``{`` at ``open_at`` (-1: the file) encloses statements rather than declarations."""
        if open_at < 0:
            return False
        if open_at not in self.bodies:
            texts, partner = self.texts, self.partner
            here = open_at - 1
            body = True
            while here >= 0:
                tok = texts[here]
                if tok in (";", "{", "}"):
                    break
                if tok in ("class", "struct", "union", "enum", "namespace") or (
                    tok == "extern" and here == open_at - 2
                ):
                    body = False
                    break
                if tok in (")", "]") and 0 <= partner[here] < here:
                    here = partner[here]
                elif here in self.open:
                    here = self.open[here]
                here -= 1
            self.bodies[open_at] = body
        return self.bodies[open_at]

    def is_alias(self, at: int) -> bool:
        """Whether the name before ``at`` is the target of an alias: nothing there can be an expression."""
        texts = self.texts
        head = self.name_start(at - 1) - 1
        while head > 0 and texts[head] in ("typename", "const"):
            head -= 1
        return texts[head] == "typedef" or (head > 1 and texts[head] == "=" and texts[head - 2] == "using")

    def is_operand(self, at: int) -> bool:
        """Whether the name with the list at ``at`` is only a part of a template argument."""
        texts = self.texts
        if texts[self.name_start(at - 1) - 1] not in _ARGUMENT_HEAD:
            return True
        after = self.name_end(at - 1)
        follower = texts[after]
        return follower not in _ARGUMENT_END and not (follower == "&&" and texts[after + 1] in (",", ">"))

    def fold_name(self, at: int) -> int:
        """One identifier for the qualified name with the list at ``at``; the index of its last token."""
        first = self.name_start(at - 1)
        last = self.name_end(first) - 1
        if last < at:
            return -1
        self.fold(first, last)
        return last

    def fold_scopes(self, at: int) -> int:
        """``A<B>::C<D>::e``, whose second list tree-sitter takes for comparisons, as one name; so with ``template``."""
        texts = self.texts
        here = self.close[at] + 1
        while texts[here] == "::" and (named(texts[here + 1]) or texts[here + 1] == "template"):
            here += 1 + (texts[here + 1] == "template") + 1
            if here in self.close:
                return self.fold_name(at)
        return -1

    def template_list(self, at: int, close: int) -> None:
        texts = self.texts
        if texts[close - 1] == "," and close - 1 > at:
            self.put(self.starts[close - 1], b" ")
        if texts[at - 1] != "template" and texts[at - 1] != "]":
            return
        # parameters: defaults that are types with declarators
        here = at + 1
        kind = False
        begin = at
        while here <= close:
            tok = texts[here]
            if tok in ("(", "[", "{") and self.partner[here] > here:
                here = self.partner[here]
            elif tok == "<" and here in self.close:
                here = self.close[here]
            elif tok == "," or here == close:
                if kind:
                    self.default(begin, here - 1)
                kind, begin = False, here
            elif tok == "=" and texts[begin + 1] in ("class", "typename") and not kind and here - begin <= 3:
                kind, begin = True, here
            here += 1

    def default(self, equals: int, last: int) -> None:
        """``class T = U*``: a default type with a declarator becomes one name."""
        texts = self.texts
        here = equals + 1
        while here <= last:
            tok = texts[here]
            if tok == "<" and here in self.close:
                here = self.close[here]
            elif tok == "decltype":
                here = max(here, self.partner[here + 1])
            elif tok in ("*", "&", "&&", "(", "[", "const"):
                self.fold(equals + 1, last)
                return
            here += 1

    def compare(self, at: int, inside: bool) -> None:
        start = self.starts[at]
        if not inside:
            self.put(start, b">")
        elif self.space_after(at):
            self.put(start, b"<=")
        elif self.space_before(at):
            self.put(start - 1, b"<=")
        else:
            self.put(start, b"|")
