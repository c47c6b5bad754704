"""C++ literals."""

from __future__ import annotations

import re

from cutecheck.facts.span import Span
from cutecheck.source.eval import ir

_INT = re.compile(r"(0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9][0-9']*)([A-Za-z_]\w*)?\Z")
_FLOAT = re.compile(r"(0[xX][0-9a-fA-F'.]+[pP][+-]?\d+|[0-9'.]+(?:[eE][+-]?\d+)?)([A-Za-z_]\w*)?\Z")
_ESCAPES = {"n": 10, "t": 9, "r": 13, "\\": 92, "'": 39, '"': 34, "a": 7, "b": 8, "f": 12, "v": 11}


def number(text: str, span: Span) -> ir.Expr:
    """An integer or floating literal; CuTe's ``8_c`` becomes ``Int<8>{}``."""
    match = _INT.match(text)
    if match is not None and not (text[:2].lower() != "0x" and _looks_float(text)):
        digits, suffix = match.group(1).replace("'", ""), (match.group(2) or "").lower()
        hexadecimal = digits[:2].lower() in ("0x", "0b")
        if hexadecimal:
            value = int(digits, 0)
        elif len(digits) > 1 and digits[0] == "0" and not set(digits) & set("89"):
            value = int(digits, 8)
        else:
            value = int(digits)
        if suffix == "_c":
            lit = ir.Lit(value, "int", span)
            return ir.Construct(ir.Name("Int", (lit,), span), (), span)
        if suffix and suffix.strip("ulz"):
            return _user(text, match.group(2), ir.Lit(value, "unsigned long long", span, match.group(1)))
        return ir.Lit(value, _int_type(value, suffix, hexadecimal), span)
    match = _FLOAT.match(text)
    if match is None:
        return ir.Opaque(f"number {text} not understood", span)
    digits, suffix = match.group(1).replace("'", ""), (match.group(2) or "").lower()
    try:
        real = float.fromhex(digits) if digits[:2].lower() == "0x" else float(digits)
    except (ValueError, OverflowError):
        return ir.Opaque(f"number {text} not understood", span)
    if suffix.strip("f"):
        return _user(text, match.group(2), ir.Lit(real, "double", span, match.group(1)))
    return ir.Lit(real, "float" if suffix == "f" else "double", span)


def _user(text: str, suffix: str, lit: ir.Lit) -> ir.Expr:
    """``64_KB`` calls ``operator""_KB``; suffixes without an underscore are the standard library's."""
    if not suffix.startswith("_"):
        return ir.Opaque(f"literal {text}", lit.span)
    return ir.Call(ir.Name(f'operator""{suffix}', None, lit.span), (ir.Arg(lit),), lit.span)


def _looks_float(text: str) -> bool:
    return "." in text or re.match(r"[0-9']+[eE][+-]?\d", text) is not None or bool(re.match(r"\d+[fF]\Z", text))


def _int_type(value: int, suffix: str, hexadecimal: bool) -> str:
    """The first type of C++'s list that holds the value ([lex.icon])."""
    unsigned = "u" in suffix
    longs = suffix.count("l") or (1 if "z" in suffix else 0)
    if longs == 0 and value < (1 << 32 if unsigned else 1 << 31):
        return "unsigned" if unsigned else "int"
    if longs == 0 and hexadecimal and value < 1 << 32:
        return "unsigned"
    if not unsigned and (value < 1 << 63 or not hexadecimal):
        return "long long" if longs == 2 else "long"
    return "unsigned long long" if longs == 2 else "unsigned long"


def character(text: str, span: Span) -> ir.Expr:
    body = text[text.index("'") + 1 : -1]
    if body.startswith("\\"):
        code = body[1:]
        if code[:1] == "x":
            value = int(code[1:] or "0", 16)
        elif code[:1].isdigit():
            value = int(code, 8)
        else:
            value = _ESCAPES.get(code[:1], ord(code[:1] or "\0"))
    elif len(body) == 1 and text[0] == "'":
        value = ord(body)
    else:
        return ir.Opaque(f"character {text} not understood", span)
    if value > 0xFF or (value > 0x7F and not body.startswith("\\")):
        return ir.Opaque(f"character {text} not understood", span)
    return ir.Lit(value - 256 if value > 0x7F else value, "char", span)


_STRING = re.compile(r'(u8|u|U|L)?(?:R"([^(]*)\((.*)\)\2"|"(.*)")\Z', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]+|[0-7]{1,3}|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|.)", re.DOTALL)
_CHARACTERS = {"u": ("char16_t", "utf-16-le", 2), "U": ("char32_t", "utf-32-le", 4), "L": ("wchar_t", "utf-32-le", 4)}


def string(texts: list[str], span: Span) -> ir.Lit:
    """Adjacent string literals; escapes are kept as written. The type is the array that they make: ``char16_t[3]``."""
    matches = [m for m in map(_STRING.match, texts) if m is not None]
    prefix = next((m[1] for m in matches if m[1]), "")
    character, code, width = _CHARACTERS.get(prefix, ("char", "utf-8", 1))

    def units(text: str) -> int:
        return len(text.encode(code, "replace")) // width

    count = 1
    for m in matches:
        if m[4] is None:
            count += units(m[3])
            continue
        count += units(_ESCAPE.sub("", m[4]))
        for escape in _ESCAPE.finditer(m[4]):
            named = escape[1] or escape[2]
            count += units(chr(min(int(named, 16), 0x10FFFF))) if named else 1
    shown = "".join(m[3] if m[4] is None else m[4] for m in matches)
    return ir.Lit(shown, f"{character}[{count}]", span)
