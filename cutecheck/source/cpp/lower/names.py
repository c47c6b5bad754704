"""Names: identifiers, template-ids and what is qualified by others."""

from __future__ import annotations

import re

from tree_sitter import Node

from cutecheck.source.cpp import literals
from cutecheck.source.cpp.lexer import assigns, lex
from cutecheck.source.cpp.lower.hands import Fail, Hands, TooDeep
from cutecheck.source.cpp.words import words
from cutecheck.source.eval import ir

IDENTIFIERS = words(
    "identifier type_identifier field_identifier namespace_identifier statement_identifier primitive_type"
)
TEMPLATE_IDS = words("template_type template_function template_method")
WRAPPED_NAMES = words("dependent_type dependent_name")
NAMES = IDENTIFIERS | TEMPLATE_IDS | WRAPPED_NAMES | words("qualified_identifier destructor_name operator_name")
_QUALIFIED_NAME = re.compile(r"(?:::)?[^\W\d]\w*(?:::(?:template\s+)?[^\W\d]\w*)*")


class NameLowering(Hands):
    """Names. The regular text shows ``a::b``, literals and whole types as one name where that spares the grammar."""

    def name(self, node: Node, first: int = -1) -> ir.Expr:
        """``[::] a<..>::b::template c<..>``; ``first``: where the whole begins, if before the node."""
        if first < 0:
            first = self.begin_of_name(node)
        base: ir.Expr | None = None
        is_global = False
        while True:
            kind = node.type
            if kind == "qualified_identifier":
                scope = node.child_by_field_name("scope")
                if scope is None:
                    is_global = True
                else:
                    base = self.name_part(scope, base, is_global, first)
                    is_global = False
                inner = node.child_by_field_name("name")
                if inner is None:
                    raise self.bad(node)
                node = inner
            elif kind in WRAPPED_NAMES:
                node = node.children[-1]
            else:
                return self.name_part(node, base, is_global, first)

    def begin_of_name(self, node: Node) -> int:
        """Where the name begins: at its ``typename`` if that was hidden from the grammar."""
        begin = node.start_byte
        if self.text[begin - 1 : begin].isspace():
            before = self.text[max(0, begin - 60) : begin].rstrip()
            if before.endswith("typename"):
                return begin - (min(begin, 60) - len(before)) - 8
        return begin

    def name_part(self, node: Node, base: ir.Expr | None, is_global: bool, first: int) -> ir.Expr:
        kind = node.type
        while kind in WRAPPED_NAMES:
            node = node.children[-1]
            kind = node.type
        targs: tuple[ir.Expr, ...] | None = None
        end = node.end_byte
        if kind in TEMPLATE_IDS:
            ident_node, list_node = node.children[0], node.children[-1]
            if list_node.type != "template_argument_list":
                raise self.bad(node)
            ident = self.ident(ident_node)
            targs = self.template_arguments(list_node)
        elif kind == "qualified_identifier":
            return self.name(node, first)
        elif kind == "decltype":
            return self.decltype(node)
        else:
            ident = self.ident(node)
            if "<" in ident and ident[:8] != "operator":
                return self.reread_type(first, end)
        if "::" in ident and _QUALIFIED_NAME.fullmatch(ident) is None:
            return self.reread_type(first, end)
        if "::" in ident:  # the regular text joins names without template arguments to one
            at = ident_node.start_byte if targs is not None else node.start_byte
            *outer, ident = ident.split("::")
            ident = ident.removeprefix("template").lstrip() if ident[8:9].isspace() else ident
            for part in outer:
                at += len(part)
                if part:
                    base = self.name_of(part, None, base, is_global, first, at)
                is_global = not part
                at += 2
        return self.name_of(ident, targs, base, is_global, first, end)

    def folded(self, node: Node, text: str) -> ir.Expr:
        """What the regular text shows as one name: ``a::b``, a literal, or a type that it spares the grammar."""
        if text[:1].isdigit():
            return literals.number(text, self.place(node))
        if _QUALIFIED_NAME.fullmatch(text) is not None:
            return self.name(node)
        if _assigns(text):
            return self.reread(node.start_byte, node.end_byte)
        try:
            return self.reread_type(node.start_byte, node.end_byte)
        except TooDeep:
            raise
        except Fail:  # `sizeof(int64_t(n)) + 1`: a value
            return self.reread(node.start_byte, node.end_byte)

    def name_of(
        self, ident: str, targs: tuple[ir.Expr, ...] | None, base: ir.Expr | None, is_global: bool, first: int, end: int
    ) -> ir.Expr:
        if base is None and not is_global:
            return ir.Name(ident, targs, self.span(first, end))
        return ir.Scoped(base, ident, targs, self.span(first, end))

    def ident(self, node: Node) -> str:
        """An identifier, ``~X`` or ``operator...``; operators are spelled ``operator()``, ``operator+``."""
        kind = node.type
        text = self.text[node.start_byte : node.end_byte]
        if kind in IDENTIFIERS:
            if not text:
                raise self.bad(node)
            return text
        if kind == "operator_name":
            return operator_name(text)
        if kind == "destructor_name":
            return "~" + text[1:].strip()
        if kind == "dependent_name":
            return self.ident(node.children[-1])
        raise self.bad(node)


def operator_name(text: str) -> str:
    """``operator ()`` as ``operator()``, ``operator new[]`` as ``operator new``, ``operator""_x``."""
    rest = text[len("operator") :].strip()
    if rest[:1] == '"':
        return 'operator""' + rest[rest.rindex('"') + 1 :].strip()
    if rest[:1].isalpha() or rest[:1] == "_":
        return "operator " + rest.split("[", 1)[0].strip()
    return "operator" + "".join(rest.split())


def _assigns(text: str) -> bool:
    """Whether a text has an assignment outside of brackets."""
    tokens = lex(text)
    here = 0
    while here < len(tokens.texts):
        if here and assigns(tokens.texts, tokens.starts, here):
            return True
        here = max(here, tokens.partner[here]) + 1
    return False
