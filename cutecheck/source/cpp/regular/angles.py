"""Which ``<`` opens template arguments and which compares."""

from __future__ import annotations

from cutecheck.source.cpp.lexer import Tokens
from cutecheck.source.cpp.words import BUILTIN_TYPES, CASTS, KEYWORDS, SPECIFIERS, SPELLED, words

# After `name<args>` one of these cannot begin an operand, so the `>` before it closes a bracket.
_NO_OPERAND = words(") , ; ] } . -> ... ? : == != && || / % < <= | ^ > = += -= <<< << |= &= :: or and") | {""}
_MAYBE_OPERAND = words("( { + - * & [")
_DOUBTFUL = words("|| == != <= =")
_STOP = words("; ) ] } # ## += -= *= /= %= ^= |= &= <<= <<<") | {""}
# Words that never stand in template arguments.
_STOP_WORDS = words(
    """return if else for while do switch case break continue goto default using namespace try catch static_assert asm
    friend virtual public private protected typedef extern explicit co_return export"""
)
_TYPE_WORDS = BUILTIN_TYPES | words("const volatile typename struct class union enum unsigned signed auto template")
# Before the name of a type at the head of a declaration.
_HEAD = words("; { } > : typename const volatile constexpr template ... typedef") | frozenset(SPECIFIERS) | {""}
_BEFORE_TYPE = words("( , < ) ] -> && || ! else do friend requires throw return operator delete")
_AFTER_TYPE = words("* & && ...")
_SURE = words("typename template struct class union new using enum")

NONE, TEMPLATE, COMPARES = 0, 1, 2


class Angles:
    """``kind[i]`` for every token ``<``; ``close[i]`` is the token of the matching ``>`` of a template list."""

    def __init__(self, tokens: Tokens) -> None:
        self.texts = tokens.texts
        self.starts = tokens.starts
        self.partner = tokens.partner
        self.close: dict[int, int] = {}  # template lists
        self.compares: list[int] = []
        self._reach: dict[int, tuple[int, bool, int]] = {}  # rejected: (its `>` or -1, doubtful, commas)
        opens = [at for at, text in enumerate(self.texts) if text == "<"]
        for at in reversed(opens):
            self._decide(at)
        self.compares.reverse()

    def tight(self, at: int) -> bool:
        """Whether the token follows its predecessor without white space."""
        return self.starts[at - 1] + len(self.texts[at - 1]) == self.starts[at]

    def _decide(self, at: int) -> None:
        before = self.texts[at - 1] if at else ""
        sure = False
        if before == "template" or before in CASTS or (before == "]" and self._is_lambda(at - 1)):
            sure = True
        elif not before or not (before[0].isalpha() or before[0] == "_") or before in KEYWORDS:
            if not (at > 1 and self._is_operator_name(at)):
                self._reject(at)
                return
            if before == "operator":
                return
        found, doubtful, commas = self._scan(at, sure)
        if found < 0:
            self._reach[at] = (found, doubtful, commas)
            self.compares.append(at)
        elif sure or self._is_template(at, found, doubtful, commas):
            self.close[at] = found
        else:
            self._reach[at] = (found, doubtful, commas)
            self.compares.append(at)

    def _reject(self, at: int) -> None:
        self._reach[at] = self._scan(at)
        self.compares.append(at)

    def _is_operator_name(self, at: int) -> bool:
        """``operator() <``, ``operator+ <`` and the ``<`` of ``operator<``."""
        texts = self.texts
        if texts[at - 1] == "operator":
            return True
        return texts[at - 2] == "operator" or (at > 2 and texts[at - 3] == "operator" and texts[at - 1] in ")]")

    def _is_lambda(self, close: int) -> bool:
        open_at = self.partner[close]
        before = self.texts[open_at - 1] if open_at > 0 else ""
        if not before:
            return True
        return before in ("return", "co_return") or not (before[0].isalnum() or before[0] in "_)]}\"'")

    def _scan(self, at: int, parameters: bool = False) -> tuple[int, bool, int]:
        """The ``>`` that would close a list opened at ``at`` (-1: none), whether it is doubtful, and its commas."""
        texts, partner = self.texts, self.partner
        doubtful, commas, questions, sure = False, 0, 0, False
        here = at + 1
        wordy = False  # the token before is a name
        while True:
            tok = texts[here]
            if tok == ">":
                if texts[here + 1] == "=" and self.tight(here + 1) and self._is_operator(here):
                    doubtful = True
                    wordy = False
                    here += 2
                    continue
                return here, doubtful and not sure, commas
            if tok in _STOP:
                return -1, doubtful, commas
            first = tok[0]
            if first.isalpha() or first == "_":
                if tok in SPELLED or tok == "not":
                    wordy = False
                    doubtful = doubtful or tok in ("and", "or", "not_eq")
                elif tok in _STOP_WORDS or (
                    wordy and not parameters and tok not in _TYPE_WORDS and tok not in SPECIFIERS
                ):
                    return -1, doubtful, commas
                else:
                    wordy = tok not in KEYWORDS and tok not in SPECIFIERS
                    if tok in _TYPE_WORDS and texts[here + 1] not in ("(", "{"):
                        sure = True
                here += 1
                continue
            wordy = False
            if tok in "([{":
                if partner[here] < here:
                    return -1, doubtful, commas
                here = partner[here]
            elif tok == "<":
                if here in self.close:
                    here = self.close[here]
                elif here in self._reach:
                    doubtful = True
                    found, _, more = self._reach[here]
                    return found, True, commas + more
            elif tok == ",":
                commas += 1
            elif tok == "?":
                doubtful = True
                questions += 1
            elif tok == ":":
                questions -= 1
                if questions < 0:
                    return -1, doubtful, commas
            elif tok in _DOUBTFUL or (tok == "&&" and texts[here + 1] not in (",", ">", "...", ")")):
                doubtful = True
            here += 1

    def head(self, at: int) -> int:
        """The first token of the qualified name that ends at ``at``."""
        texts = self.texts
        while at > 1 and (texts[at - 1] == "::" or (texts[at - 1] == "template" and texts[at - 2] == "::")):
            at -= texts[at - 1] == "template"
            before = texts[at - 2]
            if before == ">":
                depth, here = 0, at - 2
                while here > 0:
                    tok = texts[here]
                    depth += (tok == ">") - (tok == "<")
                    if depth == 0 or tok in ";{}":
                        break
                    here = self.partner[here] if tok in ")]" and 0 <= self.partner[here] < here else here - 1
                if depth or here < 1:
                    return at - 1
                at = here - 1
            elif before[0].isalpha() or before[0] == "_":
                if before in KEYWORDS:
                    return at - 1
                at -= 2
            else:
                return at - 1
        return at - 1 if at > 0 and texts[at - 1] == "::" else at

    def _is_operator(self, at: int) -> bool:
        """Whether ``>=`` at ``at`` compares: ``a >= b``, but not the default in ``enable_if_t<c>=0``."""
        before = self.texts[at - 1]
        return not self.tight(at) or before == ")" or before[0].isdigit()

    def _closed_up(self, at: int, close: int) -> bool:
        """``largest<3, 7> + 1``: white space stands around the operator, and none before the brackets."""
        inside = self.tight(at) and self.tight(at + 1) and self.tight(close)
        return inside and not self.tight(close + 1) and not self.tight(close + 2)

    def _asks(self, at: int, close: int) -> bool:
        """Whether ``c ? a : b`` stands between the brackets, and not deeper."""
        here = at + 1
        while here < close:
            if self.texts[here] == "?":
                return True
            skips = self.partner[here] if self.texts[here] in ("(", "[", "{") else self.close.get(here, -1)
            here = max(here, skips) + 1
        return False

    def _is_template(self, at: int, close: int, doubtful: bool, commas: int) -> bool:
        texts = self.texts
        follower = texts[close + 1]
        if at > 1 and texts[at - 2] == "template":
            return True
        if doubtful and not self.tight(at) and not self.tight(at + 1) and self._asks(at, close):
            return False  # `Int<k < 64 ? k : 64>`
        head = self.head(at - 1)
        before = texts[head - 1] if head > 0 else ""
        if before in _SURE:
            return True
        if follower == "=" and self.tight(close + 1):
            return before in _HEAD
        if follower in _NO_OPERAND:
            return True
        name = texts[at - 1]
        tight = self.tight(close + 1)
        typelike = name[0].isupper() or name.endswith(("_v", "_t"))
        if follower[0].isalpha() or follower[0] == "_":
            if before not in _HEAD and before not in _BEFORE_TYPE and not (before.isupper() and len(before) > 2):
                return False
            if before == "<" and texts[head - 2] not in ("template", "]") and follower not in ("const", "volatile"):
                return False
            if not doubtful:
                return commas == 0 or typelike or before in _HEAD or self.tight(at)
            return typelike or before in _HEAD
        if follower not in _MAYBE_OPERAND:
            return False
        if not doubtful and commas == 0:
            return True
        if not doubtful and self.tight(at) and follower in "*&":
            return True
        if not doubtful and follower in "+-" and self._closed_up(at, close):
            return True
        if doubtful and not tight:
            return before in _HEAD and follower in "*&({"
        if follower == "{":
            return True
        if follower == "(":
            if texts[close + 2] == ")" or texts[close - 1] == ",":
                return True
            return tight or typelike or commas == 0 or before in _HEAD
        return typelike or before in _HEAD if doubtful or not tight else True
