"""Expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from tree_sitter import Node

from cutecheck.source.cpp import literals
from cutecheck.source.cpp.lower import requirements
from cutecheck.source.cpp.lower.calls import CallLowering
from cutecheck.source.cpp.lower.hands import Fail
from cutecheck.source.cpp.lower.names import IDENTIFIERS
from cutecheck.source.cpp.words import BUILTIN_TYPES, SPELLED
from cutecheck.source.eval import ir

_CAST_OR_BINARY = frozenset(["-", "+", "*", "&"])
_SUBTYPED = {"not": "!", "compl": "~"}


class ExpressionLowering(CallLowering):
    """Expressions, one method for each kind of node."""

    def expression(self, node: Node) -> ir.Expr:
        kind = node.type
        if kind in IDENTIFIERS:
            begin, end = node.start_byte, node.end_byte
            if begin == end:
                raise self.bad(node)
            text = self.text[begin:end]
            if not text.isidentifier():
                return self.folded(node, text)
            return ir.Name(text, None, self.span(begin, end))
        method = _METHODS.get(kind)
        if method is None:
            raise self.bad(node)
        self.enter()
        found = method(self, node)
        self.depth -= 1
        return found

    # ------------------------------------------------------------ names and literals

    def literal_word(self, node: Node) -> ir.Expr:
        text = self.of(node)
        if text in ("true", "false"):
            return ir.Lit(text == "true", "bool", self.place(node))
        if text == "this":
            return ir.Name("this", None, self.place(node))
        if text == "NULL":
            return ir.Name(text, None, self.place(node))
        return ir.Lit(None, "nullptr", self.place(node))

    def number(self, node: Node) -> ir.Expr:
        begin, end = node.start_byte, node.end_byte
        text = self.text[begin:end]
        if text[:1] in "+-" and text:
            digits = text[1:].lstrip()
            operand = literals.number(digits, self.span(end - len(digits), end))
            return ir.Unary(text[0], operand, self.span(begin, end))
        return literals.number(text, self.span(begin, end))

    def character(self, node: Node) -> ir.Expr:
        return literals.character(self.of(node), self.place(node))

    def string(self, node: Node) -> ir.Expr:
        texts: list[str] = []
        for part in node.children if node.type == "concatenated_string" else (node,):
            text = self.of(part)
            if part.type in ("string_literal", "raw_string_literal") and text.endswith('"'):
                texts.append(text)
        if not texts:
            raise self.bad(node)
        return literals.string(texts, self.place(node))

    def user_literal(self, node: Node) -> ir.Expr:
        inner, suffix = node.children[0], node.children[-1]
        if inner.type in ("number_literal", "char_literal"):
            return literals.number(self.of(node), self.place(node))
        name = ir.Name('operator""' + self.of(suffix), None, self.place(suffix))
        literal = literals.string([self.of(inner)], self.place(inner))
        length = int(literal.ctype.partition("[")[2][:-1]) - 1
        given = (ir.Arg(literal), ir.Arg(ir.Lit(length, "unsigned long", literal.span)))
        return ir.Call(name, given, self.place(node))

    # ------------------------------------------------------------ operators

    def unary(self, node: Node) -> ir.Expr:
        chain: list[tuple[str, int]] = []
        end = node.end_byte
        while node.type in ("unary_expression", "pointer_expression"):
            op = self.of(node.children[0])
            chain.append((_SUBTYPED.get(op, op), node.start_byte))
            self.enter()
            node = node.children[-1]
        found = self.expression(node)
        self.depth -= len(chain)
        for op, begin in reversed(chain):
            found = ir.Unary(op, found, self.span(begin, end))
        return found

    def update(self, node: Node) -> ir.Expr:
        first, last = node.children[0], node.children[-1]
        if first.type in ("++", "--"):
            return ir.Unary(first.type, self.expression(last), self.place(node))
        return ir.Unary("p" + last.type, self.expression(first), self.place(node))

    def binary(self, node: Node) -> ir.Expr:
        chain: list[Node] = []
        while node.type == "binary_expression":
            if node.child_count != 3:
                raise self.bad(next((c for c in node.children if c.type == "ERROR"), node))
            chain.append(node)
            node = node.children[0]
        innermost = chain[-1]
        cast = self.cast_before(innermost)
        left = self.expression(node) if cast is None else cast
        first = self.begin_of_name(innermost)
        if cast is None and ")" in self.text[node.end_byte : innermost.children[1].start_byte + 1]:  # hidden: `(n) - 1`
            first = max(0, self.text.rfind("(", 0, first))  # absent from text that is no program
        for part in reversed(chain if cast is None else chain[:-1]):
            _, sign, right = part.children
            if sign.type == "<":  # the regular text spells every comparison otherwise
                raise self.misread()
            op = self.of(sign).strip()
            left = ir.Binary(SPELLED.get(op, op), left, self.expression(right), self.span(first, part.end_byte))
        return left

    def cast_before(self, node: Node) -> ir.Expr | None:
        """``(T)-x``, which the grammar takes for a difference."""
        left, sign, right = node.children
        op = self.of(sign).strip()
        if op not in _CAST_OR_BINARY:
            return None
        if left.type == "parenthesized_expression" and left.named_child_count == 1:
            left = left.named_children[0]
        begin, end = left.start_byte, left.end_byte
        if left.type != "identifier" or self.text[begin - 1 : begin] != "(" or self.text[end : end + 1] != ")":
            return None
        if not self.is_type(self.of(left)):
            return None
        if right.type == "binary_expression":
            raise Fail("a cast or an operation")
        operand = ir.Unary(op, self.expression(right), self.span(sign.start_byte, right.end_byte))
        return ir.Cast("c", self.expression(left), operand, self.span(begin - 1, right.end_byte))

    def is_type(self, name: str) -> bool:
        """Whether a name is that of a type, as far as the text tells."""
        return name.endswith("_t") or name in self.source.type_names

    def comma(self, node: Node) -> ir.Expr:
        """``a, b, c``, which the grammar nests to the right."""
        left: ir.Expr | None = None
        first = node.start_byte
        while node.type == "comma_expression":
            head, rest = node.children[0], node.children[-1]
            value = self.expression(head)
            left = value if left is None else ir.Binary(",", left, value, self.span(first, head.end_byte))
            node = rest
        assert left is not None
        return ir.Binary(",", left, self.expression(node), self.span(first, node.end_byte))

    def assignment(self, node: Node) -> ir.Expr:
        if len(node.children) != 3:
            raise self.bad(next((c for c in node.children if c.type == "ERROR"), node))
        left, sign, right = node.children
        return ir.Binary(self.of(sign), self.expression(left), self.expression(right), self.place(node))

    def conditional(self, node: Node) -> ir.Expr:
        cond_node = node.child_by_field_name("condition")
        then_node = node.child_by_field_name("consequence")
        other_node = node.child_by_field_name("alternative")
        if cond_node is None or other_node is None:
            raise self.bad(node)
        cond = self.expression(cond_node)
        then = cond if then_node is None else self.expression(then_node)
        return ir.Select(cond, then, self.expression(other_node), self.place(node))

    def parenthesised(self, node: Node) -> ir.Expr:
        inner = node.named_children
        if len(inner) != 1:
            raise self.bad(next((c for c in node.children if c.type == "ERROR"), node))
        if inner[0].type == "compound_statement":
            return self.opaque("statement expression", node.start_byte, node.end_byte)
        return self.expression(inner[0])

    def fold(self, node: Node) -> ir.Expr:
        children = node.children[1:-1]
        dots = next((at for at, child in enumerate(children) if child.type == "..."), -1)
        place = self.place(node)
        if dots == 0 and len(children) == 3:
            return ir.Fold(self.operator(children[1]), self.expression(children[2]), None, True, place)
        if dots == 2 and len(children) == 3:
            return ir.Fold(self.operator(children[1]), self.expression(children[0]), None, False, place)
        if dots != 2 or len(children) != 5:
            raise self.bad(node)
        op = self.operator(children[1])
        left, right = children[0], children[4]
        in_left, in_right = (not self.source.packs.isdisjoint(self.words_of(side)) for side in (left, right))
        first, second = self.expression(left), self.expression(right)
        if in_right > in_left or (in_right == in_left and isinstance(first, ir.Lit)):
            return ir.Fold(op, second, first, True, place)
        return ir.Fold(op, first, second, False, place)

    def operator(self, node: Node) -> str:
        text = self.of(node)
        return SPELLED.get(text, text)

    def words_of(self, node: Node) -> tuple[str, ...]:
        return self.opaque("", node.start_byte, node.end_byte).names

    def expansion(self, node: Node) -> ir.Expr:
        return ir.Expand(self.expression(node.children[0]), self.place(node))

    # ------------------------------------------------------------ types in expressions

    def size_of(self, node: Node) -> ir.Expr:
        place = self.place(node)
        operand = node.child_by_field_name("type") or node.child_by_field_name("value")
        if operand is None:
            raise self.bad(node)
        if node.children[1].type == "...":
            return ir.SizeOf("sizeof...", self.template_argument(operand), place)
        what = "sizeof" if node.type == "sizeof_expression" else "alignof"
        return ir.SizeOf("sizeof" if what == "sizeof" else "alignof", self.template_argument(operand), place)

    def offset_of(self, node: Node) -> ir.Expr:
        kind, member = node.child_by_field_name("type"), node.child_by_field_name("member")
        if kind is None or member is None:
            raise self.bad(node)
        args = (ir.Arg(self.template_argument(kind)), ir.Arg(ir.Name(self.ident(member), None, self.place(member))))
        return ir.Call(ir.Name("offsetof", None, self.place(node.children[0])), args, self.place(node))

    def cast(self, node: Node) -> ir.Expr:
        target_node, value = node.child_by_field_name("type"), node.child_by_field_name("value")
        if target_node is None or value is None:
            raise self.bad(node)
        target = self.descriptor(target_node)
        if value.type == "parenthesized_expression" and isinstance(target, (ir.Name, ir.Scoped)):
            surely = isinstance(target, ir.Name) and (target.ident.endswith("_t") or _is_builtin(target.ident))
            if not surely and target_node.children[0].type != "dependent_type":  # (f)(x) is a call
                args = self.reread_arguments(value.start_byte + 1, value.end_byte - 1)
                return ir.Call(target, args, self.place(node))
        if value.type in ("unary_expression", "pointer_expression") and isinstance(target, ir.Name):
            op = self.of(value.children[0])
            if op in _CAST_OR_BINARY and not _is_builtin(target.ident) and not self.is_type(target.ident):
                if node.parent is not None and node.parent.type == "binary_expression":
                    raise Fail("a cast or an operation")
                return ir.Binary(op, target, self.expression(value.children[-1]), self.place(node))
        if value.type == "assignment_expression" and len(value.children) == 3:  # a cast binds closer
            left, sign, right = value.children
            made = ir.Cast("c", target, self.expression(left), self.span(node.start_byte, left.end_byte))
            return ir.Binary(self.of(sign), made, self.expression(right), self.place(node))
        return ir.Cast("c", target, self.expression(value), self.place(node))

    def construct(self, node: Node) -> ir.Expr:
        kind, value = node.child_by_field_name("type"), node.child_by_field_name("value")
        if kind is None or value is None:
            raise self.bad(node)
        if kind.type == "type_descriptor":
            target = self.descriptor(kind)
            return ir.Construct(target, self.arguments(value), self.place(node))
        if self.of(kind).strip() in ("", "="):  # a name that the grammar needs before a braced default
            return ir.Sequence_("init", self.arguments(value), self.place(value))
        target = self.plain_type(kind) if kind.type not in ("template_function", "identifier") else self.name(kind)
        return self.applied(target, value, self.begin_of_name(kind))

    def requires(self, node: Node) -> ir.Expr:
        params, listed = node.child_by_field_name("parameters"), node.child_by_field_name("requirements")
        if listed is None:
            raise self.bad(node)
        parts = [
            self.requirement(begin, end)
            for begin, end in requirements.split(self.text, listed.start_byte + 1, listed.end_byte - 1)
        ]
        return ir.Requires(() if params is None else self.parameters(params), tuple(parts), self.place(node))

    def requirement(self, begin: int, end: int) -> ir.Requirement | None:
        asked = requirements.asked(self.text, begin, end)
        if asked is None:
            return None
        formed = self.attempt(partial(self.reread_type if asked.is_type else self.reread_one, *asked.of))
        gives = None if asked.gives is None else self.attempt(partial(self.reread_type, *asked.gives))
        if formed is None or (gives is None and asked.gives is not None):
            return None
        return ir.Requirement(formed, gives, asked.holds, self.span(begin, end))

    def reread_one(self, begin: int, end: int) -> ir.Expr:
        args = self.reread_arguments(begin, end)
        if len(args) != 1:
            raise Fail("not an expression")
        return args[0].value

    def unsupported(self, node: Node) -> ir.Expr:
        """``new``, ``delete``, ``throw``: not lowered."""
        word = self.text[node.start_byte : node.end_byte].split("(", 1)[0].split("{", 1)[0].split(None, 1)[0]
        found = self.opaque(f"{word} expression", node.start_byte, node.end_byte)
        made = node.child_by_field_name("type") if word == "new" else None
        return found if made is None else replace(found, made=self.plain_type(made))

    def assembly(self, node: Node) -> ir.Expr:
        return self.inline_assembly(node)

    def extension(self, node: Node) -> ir.Expr:
        return self.expression(node.children[-1])


def _is_builtin(ident: str) -> bool:
    return ident.split(" ", 1)[0] in BUILTIN_TYPES


_E = ExpressionLowering
_METHODS: dict[str, Callable[[Any, Node], ir.Expr]] = {
    "qualified_identifier": _E.name,
    "template_function": _E.name,
    "template_type": _E.name,
    "template_method": _E.name,
    "dependent_type": _E.name,
    "dependent_name": _E.name,
    "operator_name": _E.name,
    "destructor_name": _E.name,
    "true": _E.literal_word,
    "false": _E.literal_word,
    "null": _E.literal_word,
    "this": _E.literal_word,
    "number_literal": _E.number,
    "char_literal": _E.character,
    "string_literal": _E.string,
    "raw_string_literal": _E.string,
    "concatenated_string": _E.string,
    "user_defined_literal": _E.user_literal,
    "unary_expression": _E.unary,
    "pointer_expression": _E.unary,
    "update_expression": _E.update,
    "binary_expression": _E.binary,
    "comma_expression": _E.comma,
    "assignment_expression": _E.assignment,
    "conditional_expression": _E.conditional,
    "parenthesized_expression": _E.parenthesised,
    "fold_expression": _E.fold,
    "parameter_pack_expansion": _E.expansion,
    "sizeof_expression": _E.size_of,
    "alignof_expression": _E.size_of,
    "offsetof_expression": _E.offset_of,
    "cast_expression": _E.cast,
    "compound_literal_expression": _E.construct,
    "new_expression": _E.unsupported,
    "delete_expression": _E.unsupported,
    "throw_statement": _E.unsupported,
    "requires_expression": _E.requires,
    "co_await_expression": _E.unsupported,
    "co_yield_statement": _E.unsupported,
    "gnu_asm_expression": _E.assembly,
    "extension_expression": _E.extension,
    "call_expression": _E.call,
    "field_expression": _E.member,
    "subscript_expression": _E.index,
    "initializer_list": _E.braced,
    "lambda_expression": _E.lambda_,
    "type_descriptor": _E.descriptor,
    "sized_type_specifier": _E.plain_type,
    "placeholder_type_specifier": _E.plain_type,
    "decltype": _E.decltype,
    "auto": _E.plain_type,
}
