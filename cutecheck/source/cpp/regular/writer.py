"""A token list, the text to be rewritten, and what every rule needs to look around and to write."""

from __future__ import annotations

from cutecheck.source.cpp.lexer import Tokens
from cutecheck.source.cpp.regular.angles import Angles
from cutecheck.source.cpp.regular.result import Blank, Regular
from cutecheck.source.cpp.words import KEYWORDS, SPELLED


def wordy(text: str) -> bool:
    """Whether a token is a word: a name or a keyword."""
    return bool(text) and (text[0].isalpha() or text[0] == "_")


def named(text: str) -> bool:
    """Whether a token can be the name of something."""
    return wordy(text) and text not in KEYWORDS and text not in SPELLED and text != "not"


class Writer:
    """Rewrites in place; offsets never move. ``close`` maps the ``<`` of template lists to their ``>``."""

    def __init__(self, text: str, tokens: Tokens) -> None:
        self.text = text
        self.texts = tokens.texts
        self.starts = tokens.starts
        self.partner = tokens.partner
        self.angles = Angles(tokens)
        self.close = self.angles.close
        self.open = {end: at for at, end in self.close.items()}
        self.buffer = bytearray(text, "ascii")
        self.blanks: list[Blank] = []
        self.folds: list[tuple[int, int]] = []

    def regular(self) -> Regular:
        """The result. Folds come last: nothing is written inside of one."""
        blanks = self.blanks
        for begin, end in self.folds:
            self.buffer[begin:end] = b"I".ljust(end - begin, b"_")
            blanks = [b for b in blanks if not begin <= b.begin < end] if blanks else blanks
        return Regular(self.buffer.decode("ascii"), tuple(sorted(blanks, key=lambda b: b.begin)))

    # ------------------------------------------------------------ writing

    def put(self, at: int, text: bytes) -> None:
        """``text`` over the characters from offset ``at``."""
        self.buffer[at : at + len(text)] = text

    def blank(self, first: int, last: int, kind: str = "") -> None:
        """Blank tokens ``first .. last``; with ``kind`` the lowering is told."""
        begin, end = self.starts[first], self.end(last)
        for at in range(begin, end):
            if self.buffer[at] != 10:
                self.buffer[at] = 32
        if kind:
            self.blanks.append(Blank(kind, begin, end))

    def rename(self, at: int) -> None:
        """A name in place of a token."""
        self.put(self.starts[at], b"I".ljust(len(self.texts[at]), b"_"))

    def fold(self, first: int, last: int) -> None:
        """One name in place of tokens ``first .. last``."""
        self.folds.append((self.starts[first], self.end(last)))

    # ------------------------------------------------------------ looking around

    def end(self, at: int) -> int:
        """The offset behind a token."""
        return self.starts[at] + len(self.texts[at])

    def space_before(self, at: int) -> bool:
        start = self.starts[at]
        return start > 0 and self.text[start - 1] in " \t"

    def space_after(self, at: int) -> bool:
        end = self.end(at)
        return end < len(self.text) and self.text[end] in " \t"

    def tight(self, at: int) -> bool:
        """Whether a token follows its predecessor without white space."""
        return at > 0 and self.end(at - 1) == self.starts[at]

    def before(self, at: int) -> str:
        """The token before ``at``, empty at the beginning."""
        return self.texts[at - 1] if at > 0 else ""

    def name_start(self, at: int) -> int:
        """The first token of the qualified name whose last token is ``at``."""
        return self.angles.head(self.open[at] - 1 if at in self.open else at)

    def name_end(self, here: int) -> int:
        """The token after the qualified name at ``here``."""
        texts, partner = self.texts, self.partner
        while True:
            if texts[here] in ("template", "::"):
                here += 1
                continue
            if texts[here] == "decltype" and texts[here + 1] == "(" and partner[here + 1] > 0:
                here = partner[here + 1] + 1
            elif not wordy(texts[here]):
                return here
            else:
                here += 1
            if here in self.close:
                here = self.close[here] + 1
            if texts[here] != "::":
                return here
            here += 1

    def next(self, here: int) -> int:
        """The token after ``here``, bracketed groups and template lists stepped over."""
        if self.partner[here] > here:
            return self.partner[here] + 1
        return self.close[here] + 1 if here in self.close else here + 1
