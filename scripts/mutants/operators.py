"""Mistakes to make in a CUDA file that uses CuTe: each an operator, a range of bytes and what to put there.

Only functions and types that name something of CuTe are changed, one place at a time, and no line is added or lost.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import tree_sitter
import tree_sitter_cuda

_PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))
_SYNC = re.compile(
    rb"^(?:cute::|cutlass::(?:arch::)?)?(__syncthreads|cp_async_\w+|warpgroup_\w+|tma_store_\w+|cluster_\w+|fence_\w+"
    rb"|cutlass::arch::\w+|\w*sync\w*|wait_barrier|arrive\w*|set_barrier\w*|initialize_barrier)\b"
    rb"|.*(?:\.|::)(wait|arrive\w*|sync|init)\(|.*\.(producer_\w+|consumer_\w+)\("
)
_CALLS = re.compile(rb"^(?:cute::)?(copy|copy_if|clear|gemm|axpby|copy_aligned|prefetch_tma_descriptor)\s*\(")
_OF_CUTE = re.compile(rb"make_|Layout<|copy\(|Shape<|TiledMMA|tiled_|Barrier|Copy_Atom|cp_async|pipeline|Int<")
_NOT_MUTATED = {"main", "cpu_gemm", "gpu_compare", "cpu_compare", "cpu_rand_data", "validate", "compare"}
_OPERATORS = {
    b"<": b"<=", b"<=": b"<", b">": b">=", b"+": b"-", b"-": b"+", b"*": b"+", b"%": b"+", b"==": b"!=", b"^": b"+",
}  # fmt: skip
_OTHERS = ((b"A", b"B"), (b"B", b"A"), (b"read", b"write"), (b"write", b"read"))
_DECLARES = {
    "init_declarator", "parameter_declaration", "optional_parameter_declaration", "declarator", "alias_declaration",
    "type_parameter_declaration", "function_declarator", "reference_declarator", "pointer_declarator",
}  # fmt: skip
_WEIGHT = {
    "drop-sync": 6, "wait+1": 6, "other-name": 5, "number": 4, "operator": 4, "drop-half": 4, "major": 2, "wait=0": 1,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutation:
    """``text`` instead of the bytes from ``start`` to ``end``."""

    operator: str
    start: int
    end: int
    text: bytes


def _walk(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    stack = [node]
    while stack:
        at = stack.pop()
        yield at
        stack.extend(reversed(at.children))


def _name(function: tree_sitter.Node) -> str:
    at = function.child_by_field_name("declarator")
    while at is not None and at.type not in ("identifier", "field_identifier", "qualified_identifier"):
        inner = at.child_by_field_name("declarator")
        if inner is None:
            break
        at = inner
    return (at.text or b"").decode().split("::")[-1] if at is not None else ""


def mutations(source: bytes, only: tuple[str, ...] = (), until: int | None = None) -> list[Mutation]:
    """All that can be made in the functions and types of these names (in all without), before ``until``."""
    found: dict[tuple[int, int, bytes], Mutation] = {}
    for node in _walk(_PARSER.parse(source).root_node):
        if node.type not in ("function_definition", "struct_specifier", "alias_declaration"):
            continue
        around = node.parent
        while around is not None and around.type not in ("function_definition", "struct_specifier"):
            around = around.parent
        text = node.text or b""
        if around is not None or (until is not None and node.start_byte > until) or not _OF_CUTE.search(text):
            continue
        named = node.child_by_field_name("name")
        name = _name(node) if node.type == "function_definition" else (named.text or b"").decode() if named else ""
        if name in _NOT_MUTATED or (only and name not in only):
            continue
        for m in _in(node, source):
            if source[m.start : m.end] != m.text:
                found.setdefault((m.start, m.end, m.text), m)
    return list(found.values())


def _in(function: tree_sitter.Node, source: bytes) -> Iterator[Mutation]:
    names = set(re.findall(rb"\b[A-Za-z_]\w*\b", function.text or b""))
    for node in _walk(function):
        text = node.text or b""
        at = node.start_byte, node.end_byte
        if node.type == "expression_statement" and len(text) < 240:
            gone = b";" + b"\n" * text.count(b"\n")
            if _SYNC.match(text):
                yield Mutation("drop-sync", *at, gone)
            elif _CALLS.match(text):
                yield Mutation("drop-call", *at, gone)
            elif node.children and node.children[0].type in ("assignment_expression", "update_expression"):
                yield Mutation("drop-assign", *at, gone)
        elif node.type == "if_statement" and len(text) < 600:
            condition = node.child_by_field_name("condition")
            if condition is not None:
                yield Mutation("if-true", condition.start_byte, condition.end_byte, b"(true)")
        elif node.type == "template_argument_list":
            yield from _of_template(node, source)
        elif node.type == "call_expression":
            yield from _of_call(node, source)
        elif node.type in ("identifier", "type_identifier"):
            yield from _of_name(node, text, names)
        elif node.type == "binary_expression":
            yield from _of_operator(node, text)
        elif node.type == "number_literal" and text.isdigit() and node.parent and "argument" not in node.parent.type:
            yield Mutation("literal", *at, str(int(text) + 1).encode())
            if int(text) > 1:
                yield Mutation("literal", *at, str(int(text) // 2).encode())
        elif node.type == "unary_expression" and text.startswith(b"!"):
            yield Mutation("operator", *at, text[1:])
        elif node.type in ("true", "false"):
            yield Mutation("operator", *at, b"false" if text == b"true" else b"true")


def _arguments(node: tree_sitter.Node) -> list[tree_sitter.Node]:
    return [c for c in node.children if c.is_named and c.type != "comment"]


def _swapped(kind: str, args: list[tree_sitter.Node], source: bytes) -> Iterator[Mutation]:
    if len(args) > 1 and args[0].text != args[1].text:
        between = source[args[0].end_byte : args[1].start_byte]
        text = (args[1].text or b"") + between + (args[0].text or b"")
        yield Mutation(f"swap-{kind}", args[0].start_byte, args[1].end_byte, text)


def _of_template(node: tree_sitter.Node, source: bytes) -> Iterator[Mutation]:
    args, named = _arguments(node), node.parent.child_by_field_name("name") if node.parent else None
    name = (named.text or b"").decode() if named is not None else ""
    first = args[0].text or b"" if args else b""
    if name == "Int" and first.isdigit():
        for number in {int(first) * 2, int(first) // 2, int(first) + 1} - {0}:
            yield Mutation("number", args[0].start_byte, args[0].end_byte, str(number).encode())
    elif name in ("Shape", "Stride", "Tile"):
        yield from _swapped(name, args, source)
    elif name == "Swizzle" and len(args) == 3:
        for arg in (a for a in args if (a.text or b"").isdigit()):
            for number in (int(arg.text or b"0") + 1, int(arg.text or b"0") - 1):
                if number >= 0:
                    yield Mutation("swizzle", arg.start_byte, arg.end_byte, str(number).encode())
    elif name in ("cp_async_wait", "warpgroup_wait", "tma_store_wait") and len(args) == 1:
        more = str(int(first) + 1).encode() if first.isdigit() else b"(" + first + b")+1"
        yield Mutation("wait+1", args[0].start_byte, args[0].end_byte, more)
        if first != b"0":
            yield Mutation("wait=0", args[0].start_byte, args[0].end_byte, b"0")


def _of_call(node: tree_sitter.Node, source: bytes) -> Iterator[Mutation]:
    function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    name = (function.text or b"").split(b"<")[0].split(b"::")[-1].decode() if function is not None else ""
    if given is not None and name in ("make_shape", "make_stride", "make_coord", "make_layout", "make_tile"):
        yield from _swapped(name, _arguments(given), source)


def _of_name(node: tree_sitter.Node, text: bytes, names: set[bytes]) -> Iterator[Mutation]:
    at = node.start_byte, node.end_byte
    if re.fullmatch(rb"_\d+", text):
        for number in {int(text[1:]) * 2, int(text[1:]) // 2} - {0}:
            yield Mutation("number", *at, b"_" + str(number).encode())
        return
    if len(text) < 3 or (node.parent is not None and node.parent.type in _DECLARES):
        return
    for one, other in _OTHERS:
        where = text.rfind(one)
        spelled = text[:where] + other + text[where + len(one) :]
        if where >= 0 and spelled in names:
            yield Mutation("other-name", *at, spelled)
            break
    if b"LDSM" in text and text[-2:] in (b"_N", b"_T"):
        yield Mutation("atom", *at, text[:-1] + (b"T" if text.endswith(b"N") else b"N"))
    elif text in (b"uint128_t", b"uint64_t"):
        yield Mutation("atom", *at, b"uint64_t" if text == b"uint128_t" else b"uint128_t")
    elif b"CP_ASYNC_CACHEGLOBAL" in text:
        yield Mutation("atom", *at, text.replace(b"GLOBAL", b"ALWAYS"))
    if re.search(rb"SW128|SW64|SW32", text):
        yield Mutation("swizzle", *at, re.sub(rb"SW\d+", b"SW64" if b"SW128" in text else b"SW128", text))
    if b"_MN_SW" in text or b"_K_SW" in text:
        pair = (b"_MN_SW", b"_K_SW") if b"_MN_SW" in text else (b"_K_SW", b"_MN_SW")
        yield Mutation("major", *at, text.replace(*pair))


def _of_operator(node: tree_sitter.Node, text: bytes) -> Iterator[Mutation]:
    sign = node.child_by_field_name("operator")
    if sign is None:
        return
    instead = _OPERATORS.get(sign.text or b"")
    if instead and b"<<" not in text:
        yield Mutation("operator", sign.start_byte, sign.end_byte, instead)
    if sign.text == b"&&":
        for half in ("left", "right"):
            kept = node.child_by_field_name(half)
            if kept is not None:
                yield Mutation("drop-half", node.start_byte, node.end_byte, kept.text or b"")


def sample(found: list[tuple[str, Mutation]], count: int, chance: random.Random) -> list[tuple[str, Mutation]]:
    """So many of them (file and mutation), of operators by their weight."""
    kinds: dict[str, list[tuple[str, Mutation]]] = defaultdict(list)
    for one in found:
        kinds[one[1].operator.partition("-")[0] if one[1].operator.startswith("swap") else one[1].operator].append(one)
    for of in kinds.values():
        chance.shuffle(of)
    out: list[tuple[str, Mutation]] = []
    while len(out) < count and any(kinds.values()):
        live = sorted(k for k, of in kinds.items() if of)
        out.append(kinds[chance.choices(live, [_WEIGHT.get(k, 3) for k in live])[0]].pop())
    return out
