"""Text that comes from scanned sources, made safe and measurable for a terminal."""

from __future__ import annotations

import unicodedata

TAB = "    "
# Characters that move, hide or reorder text: controls, bidirectional marks, line separators.
_FORMAT = {*range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xFEFF, 0x061C, 0x180E}


def safe(text: str) -> str:
    """The text with tabs expanded and every control or direction character shown as ``\\xNN`` or ``\\uNNNN``."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(c) for c in text)


def _visible(char: str) -> str:
    code = ord(char)
    if char == "\t":
        return TAB
    if code < 0x20 or 0x7F <= code < 0xA0:
        return f"\\x{code:02x}"
    if code in _FORMAT or 0xD800 <= code < 0xE000 or unicodedata.category(char) in ("Cf", "Cc", "Co", "Cn"):
        return f"\\u{code:04x}"
    return char


def width(text: str) -> int:
    """Terminal columns of safe text: wide characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
