"""Finds operations and trait specialisations in CuTe's headers.

The scan only lists what there is to instantiate (names, template parameters, namespaces), and takes the inline
assembly and the architecture guards from the operations' bodies. All layouts and types come from the compiler.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_TRAITS = re.compile(r"\s*struct\s+(MMA_Traits|Copy_Traits)\s*<")
_TOKEN = re.compile(r"\bnamespace\s+([\w:]*)\s*\{|\bstruct\s+(\w+(?:\s*<[^{};()]*>)?)(?=\s*(?::[^{};()]*)?\{)|[{}]")
_ASM = re.compile(r"asm\s*(?:volatile)?\s*\(\s*((?:\"(?:[^\"\\]|\\.)*\"\s*)+)")
_GUARD = re.compile(r"#\s*(?:if|ifdef|elif)\b[^\n]*?\b(CUTE_ARCH_\w+_(?:ENABLED|ACTIVATED))")
_ALIAS = re.compile(r"\busing\s+(\w+)\s*=\s*(?:typename\s+)?([\w:]+)\s*(<[^;]*>)?\s*;")
_CALLED = re.compile(r"\b([\w:]+)(?:<[^<>;()]*>)?::(?:copy|fma)\s*\(")
_BY_TOOLKIT = re.compile(r"#if \(__CUDACC_VER_MAJOR__[^\n]*\n(.*?)#else.*?#endif", re.S)  # the newest toolkit


@dataclass(slots=True)
class Operation:
    """An operation struct: where it lives, its template parameters, its instructions and guards."""

    name: str  # qualified below cute::
    params: str  # as declared, defaults included
    instructions: tuple[str, ...]
    guards: tuple[str, ...]
    bases: tuple[str, ...]
    calls: tuple[str, ...]
    asserts: tuple[tuple[str, str], ...]  # class-level static assertions: condition and message


@dataclass(slots=True)
class Spec:
    """One specialisation: ``template <params> struct MMA_Traits<op<op_args>, extra...>``."""

    kind: str  # "mma" or "copy"
    header: str
    params: list[tuple[str, str]]  # (kind, name)
    op: str
    op_args: list[str] | None  # None when the operation is no template
    extra: list[str]
    asserts: tuple[tuple[str, str], ...]
    body: str = ""


@dataclass(slots=True)
class Scan:
    specs: list[Spec] = field(default_factory=list)
    operations: dict[str, Operation] = field(default_factory=dict)
    aliases: dict[str, tuple[str, str]] = field(default_factory=dict)  # name -> (target, template parameters)
    shared: dict[str, str] = field(default_factory=dict)  # what names outside the specialisations stand for


def close_angle(text: str, start: int) -> int:
    """Index after the ``>`` that closes an argument list whose text begins at start."""
    depth, i = 1, start
    while depth:
        c = text[i]
        depth += (c == "<") - (c == ">")
        i += 1
    return i


def split_list(text: str) -> list[str]:
    """Split at top-level commas."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        if c in "<({":
            depth += 1
        elif c in ">)}":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [" ".join(p.split()) for p in parts if p.strip()]


def _param(text: str) -> tuple[str, str]:
    text = text.split("=", maxsplit=1)[0].strip()
    if "..." in text:
        return "pack", text.split("...")[1].strip()
    kind, _, name = text.rpartition(" ")
    return kind.strip(), name


def _specs(text: str, header: str) -> list[Spec]:
    found = []
    for m in re.finditer(r"\btemplate\s*<", text):
        end = close_angle(text, m.end())
        head = _TRAITS.match(text, end)
        if not head:
            continue
        stop = close_angle(text, head.end())
        args = split_list(text[head.end() : stop - 1])
        params = [_param(p) for p in split_list(text[m.end() : end - 1])]
        op = re.fullmatch(r"([\w:]+)\s*(?:<(.*)>)?((?:::\w+)*)", args[0], re.S)
        if not op or args == ["CopyOperation"]:
            continue
        kind = "mma" if head[1] == "MMA_Traits" else "copy"
        op_args = None if op[2] is None else split_list(op[2])
        body = _body(text, stop)
        checks = class_asserts(body) if params else ()
        whole = f"{text[stop : text.index('{', stop)]} {body}"  # with what it derives from
        found.append(Spec(kind, header, params, op[1] + op[3], op_args, args[1:], checks, " ".join(whole.split())))
    return found


def class_asserts(body: str) -> tuple[tuple[str, str], ...]:
    """Static assertions at the level of the class: ``(condition, message)``; those inside functions are left out."""
    found, depth, at = [], 0, 0
    for m in re.finditer(r"[{}]|\bstatic_assert\s*\(", body):
        if m[0] in "{}":
            depth += 1 if m[0] == "{" else -1
        elif depth == 0 and m.start() >= at:
            at = _close_paren(body, m.end())
            whole = " ".join(body[m.end() : at - 1].split())
            condition, _, message = whole.partition(', "')
            found.append((condition, message.replace('"', "").strip()))
    return tuple(dict.fromkeys(found))


def _close_paren(text: str, start: int) -> int:
    depth, i = 1, start
    while depth:
        depth += (text[i] == "(") - (text[i] == ")")
        i += 1
    return i


def _body(text: str, start: int) -> str:
    """The text between the braces that open after ``start``."""
    i = text.index("{", start)
    depth, j = 0, i
    while True:
        depth += (text[j] == "{") - (text[j] == "}")
        j += 1
        if depth == 0:
            return text[i + 1 : j - 1]


def _instructions(body: str) -> tuple[str, ...]:
    out: list[str] = []
    nested = re.search(r"\bstruct\s+PREFETCH\b", body)
    for m in _ASM.finditer(body[: nested.start()] if nested else body):
        text = "".join(re.findall(r"\"((?:[^\"\\]|\\.)*)\"", m[1])).replace("\\n", "\n").replace("\\t", " ")
        for statement in re.split(r"[;\n]", text):
            words = statement.strip().lstrip("{ ").split()
            if words and words[0].startswith("@"):
                words = words[1:]
            opcode = re.match(r"[a-z][\w.:]*", words[0])[0] if words and re.match(r"[a-z]", words[0]) else ""
            plain = opcode.startswith(("setp", "mov.", "elect", "cvt", "selp", "reg", "pred"))
            if "." in opcode and not plain and opcode.rstrip(":") == opcode and opcode not in out:
                out.append(opcode)
    return tuple(out)


def _walk(text: str, scan: Scan) -> None:
    """Register every struct with its namespace; ``text`` has no comments."""
    stack: list[tuple[str, str, int, int]] = []  # (kind, name, start of header, start of body)
    pending: tuple[str, int] | None = None
    for m in _TOKEN.finditer(text):
        token = m[0]
        if token.startswith("namespace"):
            stack.append(("namespace", m[1], m.start(), m.end()))
        elif token.startswith("struct"):
            pending = (" ".join(m[2].split()), m.start())
        elif token == "{":
            if pending:
                stack.append(("struct", pending[0], pending[1], m.end()))
            else:
                stack.append(("block", "", m.start(), m.end()))
            pending = None
        elif stack:
            kind, name, start, body = stack.pop()
            if kind == "struct" and all(s[0] != "block" for s in stack):
                _register(text, scan, [s[1] for s in stack if s[1]], name, (start, body, m.start()))


def _register(text: str, scan: Scan, scopes: list[str], name: str, span: tuple[int, int, int]) -> None:
    start, body, end = span  # of the header, the body and its end
    scopes = [s for scope in scopes for s in scope.split("::") if s != "cute"]
    before = text[max(0, start - 600) : start].rstrip()
    params = ""
    if before.endswith(">"):
        opening = before.rfind("template")
        if opening >= 0:
            params = " ".join(before[opening:].split("<", 1)[1][:-1].split())
    header = text[start : body - 1].replace(name, "", 1)
    bases = tuple(re.findall(r"[\w:]+", header.split(":", 1)[1])) if re.search(r"(?<!:):(?!:)", header) else ()
    content = _BY_TOOLKIT.sub(r"\1", text[body:end])
    if name.startswith(("MMA_Traits", "Copy_Traits")):
        return
    qualified = "::".join([*scopes, name])
    scan.operations[qualified] = Operation(
        qualified,
        params,
        _instructions(content),
        tuple(dict.fromkeys(_GUARD.findall(content))),
        bases,
        tuple(dict.fromkeys(_CALLED.findall(content))),
        class_asserts(content) if params else (),
    )


def scan_headers(include: Path) -> Scan:
    """Scan ``include/cute/{arch,atom}``."""
    scan = Scan()
    for folder in ("arch", "atom"):
        for path in sorted((include / "cute" / folder).glob("*.hpp")):
            text = _COMMENT.sub(" ", path.read_text(encoding="utf-8", errors="replace"))
            if folder == "atom":
                specs = _specs(text, path.name)
                scan.specs += specs
                inside = {s.body for s in specs}
                for m in re.finditer(r"\busing\s+(\w+)\s*=\s*([^;]*);", text):
                    value = " ".join(m[2].split())
                    if not any(f"using {m[1]} = {value};" in b for b in inside):
                        scan.shared[m[1]] = value
            _walk(text, scan)
            for m in _ALIAS.finditer(text):
                if m[1].startswith(("SM", "AutoVec", "DefaultCopy")) and "Traits" not in m[2]:
                    before = text[max(0, m.start() - 400) : m.start()].rstrip()
                    params = ""
                    if before.endswith(">") and "template" in before:
                        params = " ".join(before[before.rfind("template") :].split("<", 1)[1][:-1].split())
                    scan.aliases.setdefault(m[1], (m[2] + (m[3] or "").replace("\n", " "), params))
    return scan
