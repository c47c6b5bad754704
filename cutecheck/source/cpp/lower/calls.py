"""Calls, members, indices, braced lists and lambdas."""

from __future__ import annotations

from typing import Literal

from tree_sitter import Node

from cutecheck.source.cpp.lower.hands import Fail
from cutecheck.source.cpp.lower.names import operator_name
from cutecheck.source.cpp.lower.types import TypeLowering
from cutecheck.source.cpp.words import CASTS
from cutecheck.source.eval import ir


class CallLowering(TypeLowering):
    """What stands after a primary expression, and what is between brackets."""

    def call(self, node: Node) -> ir.Expr:
        children = node.children
        fn_node, args_node = children[0], children[-1]
        if args_node.type != "argument_list" or len(children) > 3:
            raise self.bad(node)
        kind = fn_node.type
        if self.text.startswith("operator", fn_node.start_byte) and self.of(fn_node)[-1] in ")]":
            name = operator_name(self.of(fn_node))
            if name in ("operator()", "operator[]"):
                fn: ir.Expr = ir.Name(name, None, self.place(fn_node))
                return ir.Call(fn, self.arguments(args_node), self.place(node))
        if kind == "template_function":
            word = self.of(fn_node.children[0])
            if word in CASTS:
                return self.named_cast(node, word, fn_node, args_node)
        elif kind == "identifier":
            special = self.word_call(node, fn_node)
            if special is not None:
                return special
        elif kind == "parenthesized_expression":
            cast = self.call_as_cast(node, fn_node, args_node)
            if cast is not None:
                return cast
        launch: ir.LaunchConfig | None = None
        if len(children) == 3:
            config = children[1]
            if config.type != "kernel_call_syntax":
                raise self.bad(config)
            launch = ir.LaunchConfig(tuple([self.expression(p) for p in config.named_children]), self.place(config))
        return self.applied(self.expression(fn_node), args_node, self.begin_of_name(fn_node), launch)

    def applied(self, fn: ir.Expr, args_node: Node, begin: int, launch: ir.LaunchConfig | None = None) -> ir.Expr:
        """``fn(args)`` or ``fn{args}``: the brackets as written tell."""
        span = self.span(begin, args_node.end_byte)
        if isinstance(fn, ir.Name) and fn.ident in CASTS and fn.targs:
            return ir.Cast(fn.ident, fn.targs[0], self.comma_of(args_node.named_children), span)
        args = self.arguments(args_node)
        if self.text[args_node.start_byte] == "{":
            return ir.Construct(fn, args, span)
        return ir.Call(fn, args, span, launch)

    def comma_of(self, nodes: list[Node]) -> ir.Expr:
        if not nodes:
            raise Fail("expected an expression")
        found = self.expression(nodes[0])
        for node in nodes[1:]:
            found = ir.Binary(",", found, self.expression(node), self.span(nodes[0].start_byte, node.end_byte))
        return found

    def named_cast(self, node: Node, word: str, fn_node: Node, args_node: Node) -> ir.Expr:
        targets = fn_node.children[-1].named_children
        if len(targets) != 1:
            raise self.bad(fn_node)
        target = self.template_argument(targets[0])
        return ir.Cast(word, target, self.comma_of(args_node.named_children), self.place(node))

    def word_call(self, node: Node, fn_node: Node) -> ir.Expr | None:
        """Calls of words that are no functions."""
        word = self.of(fn_node)
        if word == "decltype":
            return ir.DeclType(self.comma_of(node.children[-1].named_children), self.place(node))
        if word == "noexcept":
            return self.opaque("noexcept operator", node.start_byte, node.end_byte)
        if word == "typeid":
            return self.opaque("typeid expression", node.start_byte, node.end_byte)
        return None

    def call_as_cast(self, node: Node, fn_node: Node, args_node: Node) -> ir.Expr | None:
        """``(index_t)(x)``."""
        inner = fn_node.named_children
        if len(inner) != 1 or inner[0].type != "identifier" or not self.of(inner[0]).endswith("_t"):
            return None
        args = self.arguments(args_node)
        if len(args) != 1:
            return None
        return ir.Cast("c", self.expression(inner[0]), args[0].value, self.place(node))

    def member(self, node: Node) -> ir.Expr:
        base_node, field = node.child_by_field_name("argument"), node.child_by_field_name("field")
        sign = node.child_by_field_name("operator")
        if base_node is None or field is None or sign is None:
            raise self.bad(node)
        base = self.expression(base_node)
        if sign.type == ".*" or self.text.startswith("*", sign.end_byte):  # the `*` of `->*` is hidden
            return ir.Binary(sign.type if sign.type == ".*" else "->*", base, self.expression(field), self.place(node))
        owner: ir.Expr | None = None
        while field.type in ("qualified_identifier", "dependent_name"):  # x.Base::f: the member is f
            inner = field.child_by_field_name("name") or field.children[-1]
            scope = field.child_by_field_name("scope")
            owner = self.name(scope) if scope is not None and owner is None else owner
            field = inner
        targs: tuple[ir.Expr, ...] | None = None
        if field.type in ("template_method", "template_function", "template_type"):
            targs = self.template_arguments(field.children[-1])
            field = field.children[0]
        begin = self.begin_of_name(base_node)
        *outer, ident = self.ident(field).split("::")
        for part in outer:
            named = ir.Name(part, None, self.place(field))
            owner = named if owner is None else ir.Scoped(owner, part, None, self.place(field))
        return ir.Attr(base, ident, targs, self.span(begin, node.end_byte), owner)

    def index(self, node: Node) -> ir.Expr:
        base, indices = node.children[0], node.children[-1]
        if indices.type != "subscript_argument_list":
            raise self.bad(node)
        args = tuple([arg.value for arg in self.arguments(indices)])
        return ir.Index(self.expression(base), args, self.place(node))

    def braced(self, node: Node) -> ir.Expr:
        if self.text[node.start_byte] == "(":
            return self.comma_of(node.named_children)
        return ir.Sequence_("init", self.arguments(node), self.place(node))

    def arguments(self, node: Node) -> tuple[ir.Arg, ...]:
        after = self.piece.holes.get(node.start_byte)
        if after is not None:
            return self.reread_arguments(node.start_byte + 1, after - 1)
        return tuple([self.argument(part) for part in node.children if part.is_named])

    def argument(self, node: Node) -> ir.Arg:
        if node.type == "initializer_pair":
            designator, value = node.child_by_field_name("designator"), node.child_by_field_name("value")
            if designator is None or value is None or designator.type != "field_designator":
                raise self.bad(node)
            return ir.Arg(self.expression(value), self.of(designator.children[-1]))
        if node.type == "compound_literal_expression" and self.text[node.start_byte - 1] == ".":
            name, value = node.children[0], node.children[-1]  # `.b{2}`, the point hidden
            return ir.Arg(self.braced(value), self.of(name))
        return ir.Arg(self.expression(node))

    def lambda_(self, node: Node) -> ir.Expr:
        tparams_node = node.child_by_field_name("template_parameters")
        declarator = node.child_by_field_name("declarator")
        body = node.child_by_field_name("body")
        if body is None:
            raise self.bad(node)
        tparams = () if tparams_node is None else self.template_parameters(tparams_node)
        params: tuple[ir.Param, ...] = ()
        ret: ir.Expr | None = None
        mutable = False
        if declarator is not None:
            for child in declarator.children:
                if child.type == "parameter_list":
                    params = self.parameters(child)
                elif child.type == "lambda_specifier":
                    mutable = mutable or self.of(child) == "mutable"
                elif child.type == "trailing_return_type":
                    ret = self.descriptor(child.children[-1])
        captures, default = self.captures(node.child_by_field_name("captures"))
        return ir.Lambda(tparams, params, ret, self.lazy_block(body), self.place(node), captures, default, mutable)

    def captures(self, node: Node | None) -> tuple[tuple[tuple[str, bool, ir.Expr | None], ...], Literal["", "=", "&"]]:
        """The capture list; what is not understood in it is seen in the enclosing scope."""
        found: list[tuple[str, bool, ir.Expr | None]] = []
        default: Literal["", "=", "&"] = ""
        by_reference = False
        for part in () if node is None else node.children[1:-1]:
            kind = part.type
            if kind == "lambda_default_capture":
                default = "=" if self.of(part).strip() == "=" else "&"
            elif kind == ",":
                by_reference = False
            elif kind == "&":
                by_reference = True
            elif kind == "lambda_capture_initializer":
                name, value = part.child_by_field_name("left"), part.child_by_field_name("right")
                refers = by_reference or self.of(part).startswith("&")
                if name is not None and value is not None:
                    init = self.expression(value)
                    packed = any(child.type == "..." for child in part.children)
                    found.append((self.of(name), refers, ir.Expand(init, self.place(value)) if packed else init))
            elif kind == "this" and self.text[: part.start_byte].rstrip().endswith("*"):
                found.append(("this", False, None))
            elif kind == "identifier":
                found.append((self.of(part), by_reference, None))
            elif self.of(part).startswith("&"):
                found.append((self.of(part)[1:].strip(), True, None))
        return tuple(found), default
