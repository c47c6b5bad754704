"""Functions and variables."""

from __future__ import annotations

from tree_sitter import Node

from cutecheck.source.cpp.lower.declarators import Declarator, DeclaratorLowering
from cutecheck.source.cpp.lower.fast_division import divided
from cutecheck.source.cpp.lower.hands import Fail
from cutecheck.source.cpp.lower.types import Specs
from cutecheck.source.eval import ir

Heads = tuple[tuple[ir.TParam, ...], ...]
_HIDDEN = {"default": "defaulted", "delete": "deleted"}


class FunctionLowering(DeclaratorLowering):
    """What follows a declarator."""

    def function(self, node: Node, named: Declarator, specs: Specs, heads: Heads, typed: bool = True) -> ir.Function:
        """``node``: the whole declaration; ``named.function``: the declarator with the parameters."""
        declarator = named.function
        assert declarator is not None
        flags = set(specs.flags) - {"const"}
        ret: ir.Expr | None = named.type if typed else None
        params: tuple[ir.Param, ...] = ()
        for child in declarator.children:
            kind = child.type
            if kind == "parameter_list":
                params = self.parameters(child)
            elif kind == "type_qualifier":
                if self.of(child) == "const":
                    flags.add("const")
            elif kind == "ref_qualifier":
                flags.add("rvalue" if self.of(child) == "&&" else "lvalue")
            elif kind == "trailing_return_type":
                ret = self.descriptor(child.children[-1])
        body: ir.Lazy | None = None
        inits: tuple[tuple[str, tuple[ir.Arg, ...]], ...] = ()
        end = node.end_byte
        for child in node.children:
            kind = child.type
            if kind == "compound_statement":
                body = self.lazy_block(child)
            elif kind == "field_initializer_list":
                inits = self.initialisers(child)
            elif kind in ("try_statement", "constructor_try_statement"):
                for part in child.children:
                    if part.type == "compound_statement" and body is None:
                        body = self.lazy_block(part)
                    elif part.type == "field_initializer_list":
                        inits = self.initialisers(part)
            elif kind == "default_method_clause":
                flags.add("defaulted")
            elif kind == "delete_method_clause":
                flags.add("deleted")
            elif kind == "pure_virtual_clause" or (kind == "number_literal" and self.of(child) == "0"):
                flags.add("virtual")
        for blank in self.piece.blanks_in(declarator.end_byte, end):
            if blank.kind in _HIDDEN:
                flags.add(_HIDDEN[blank.kind])
        if body is None:
            last = node.children[-1]
            if last.type == ";":
                end = last.start_byte
        own, outer = split_heads(heads, named.owner)
        begin, after = self.name_span(named, declarator)
        if body is not None:
            body = divided(named.name, params, body, self.span(begin, after))
        return ir.Function(named.name, own, named.targs, params, ret, body, frozenset(flags), self.span(begin, after),
                           self.span(specs.first, end), named.owner, outer, specs.launch_bounds, inits,
                           (), self.constraints(declarator) + self.constraints(node), specs.cluster_dims)  # fmt: skip

    def initialisers(self, node: Node) -> tuple[tuple[str, tuple[ir.Arg, ...]], ...]:
        found: list[tuple[str, tuple[ir.Arg, ...]]] = []
        for part in node.named_children:
            if part.type != "field_initializer":
                raise self.bad(part)
            name, args = part.children[0], part.children[-1]
            if args.type == "...":
                args = part.children[-2]
            found.append((self.of(name), self.arguments(args)))
        return tuple(found)

    # ------------------------------------------------------------ variables

    def variable(
        self, named: Declarator, specs: Specs, heads: Heads, whole: Node, value: Node | None, assigned: bool, end: int
    ) -> ir.Variable:
        """``assigned``: the value follows a ``=``; otherwise it is a list of arguments."""
        init: ir.Expr | None = None
        init_args: tuple[ir.Arg, ...] | None = None
        if value is not None and assigned:
            init = self.initialiser(value)
        elif value is not None:
            init_args = self.initial_arguments(value)
        return self.made_variable(named, specs, heads, whole, init, init_args, end)

    def made_variable(
        self, named: Declarator, specs: Specs, heads: Heads, whole: Node, init: ir.Expr | None,
        init_args: tuple[ir.Arg, ...] | None, end: int,
    ) -> ir.Variable:  # fmt: skip
        if init_args is not None and len(init_args) == 1 and _placeholder(named.type):  # auto x{e} means auto x = e
            init, init_args = init_args[0].value, None
        begin, after = self.name_span(named, whole)
        return ir.Variable(named.name, named.type, init, init_args, frozenset(specs.flags), specs.alignas_,
                           self.span(begin, after), self.span(specs.first, end), heads[-1] if heads else None,
                           named.targs)  # fmt: skip

    def initialiser(self, node: Node) -> ir.Expr:
        """The expression after ``=``; one that cannot be lowered becomes Opaque, the declaration stands."""
        depth = self.depth
        try:
            self.check(node)
            return self.expression(node)
        except Fail as error:
            self.depth = depth
            return self.opaque(str(error), node.start_byte, node.end_byte)

    def initial_arguments(self, node: Node) -> tuple[ir.Arg, ...]:
        depth = self.depth
        try:
            self.check(node)
            return self.arguments(node)
        except Fail as error:
            self.depth = depth
            return (ir.Arg(self.opaque(str(error), node.start_byte, node.end_byte)),)

    def parameters_as_arguments(self, node: Node) -> tuple[ir.Arg, ...]:
        """``X x(a, b);`` in a body, where the grammar sees a function ``x`` with parameters."""
        try:
            return self.reread_arguments(node.start_byte + 1, node.end_byte - 1)
        except Fail as error:
            return (ir.Arg(self.opaque(str(error), node.start_byte, node.end_byte)),)


def _placeholder(kind: ir.Expr) -> bool:
    """Whether the type is ``auto`` or ``decltype(auto)``, with cv and references around it."""
    while isinstance(kind, ir.TypeMod):
        kind = kind.inner
    return isinstance(kind, ir.Auto) or (isinstance(kind, ir.DeclType) and kind.expr is None)


def split_heads(heads: Heads, owner: ir.Expr | None) -> tuple[tuple[ir.TParam, ...] | None, tuple[ir.TParam, ...]]:
    """Template heads of a function or class: (its own, those of the class it is a member of)."""
    if not heads:
        return None, ()
    if owner is None:
        return heads[-1], ()
    of_owner = 0
    at: ir.Expr | None = owner
    while isinstance(at, (ir.Name, ir.Scoped)):  # each class with template arguments takes a head
        of_owner += at.targs is not None
        at = at.base if isinstance(at, ir.Scoped) else None
    own = heads[-1] if len(heads) > of_owner else None
    return own, tuple(param for head in heads[:of_owner] for param in head)
