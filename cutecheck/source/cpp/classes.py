"""Classes, enums, functions and variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Literal, overload

from cutecheck.facts.span import Span
from cutecheck.source.cpp.cursor import Fail, steady
from cutecheck.source.cpp.lexer import lex
from cutecheck.source.cpp.specifiers import Declarator, SpecifierParser, Specs
from cutecheck.source.eval import ir


class LazyMembers(Sequence[ir.Decl]):
    """Members of a class, lowered on first use."""

    __slots__ = ("_make", "_value")

    def __init__(self, make: Callable[[], tuple[ir.Decl, ...]]) -> None:
        self._make: Callable[[], tuple[ir.Decl, ...]] | None = make
        self._value: tuple[ir.Decl, ...] | None = None

    def _get(self) -> tuple[ir.Decl, ...]:
        if self._value is None:
            assert self._make is not None
            self._value = self._make()
            self._make = None
        return self._value

    @overload
    def __getitem__(self, index: int) -> ir.Decl: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ir.Decl]: ...
    def __getitem__(self, index: int | slice) -> ir.Decl | Sequence[ir.Decl]:
        return self._get()[index]

    def __len__(self) -> int:
        return len(self._get())

    def __iter__(self) -> Iterator[ir.Decl]:
        return iter(self._get())


ClassKind = Literal["struct", "class", "union"]


class ClassParser(SpecifierParser):
    """Definitions that have a body."""

    def declarations(self, close: int, scope: Literal["namespace", "class"]) -> list[ir.Decl]:
        raise NotImplementedError

    # ------------------------------------------------------------ classes

    def class_or_enum(
        self, heads: tuple[tuple[ir.TParam, ...], ...], scope: str, lead: Specs | None = None
    ) -> list[ir.Decl]:
        """A definition or forward declaration at the position; :class:`Fail` for an elaborated type.

        With ``scope`` ``typedef`` or ``block`` of an alias the declarators after ``}`` are left to the caller.
        ``lead``: specifiers before the keyword, which belong to the variables declared after ``}``.
        """
        if self.tok == "enum":
            return self.enum(scope)
        first = self.at
        keyword = self.tok
        self.at += 1
        specs = Specs(first)
        while self.specifier(specs) or self.is_class_macro():
            pass
        name, at, owner, spec_args = self.class_head_name()
        self.accept("final")
        while self.specifier(specs):
            pass
        kind = "struct" if keyword == "struct" else "class" if keyword == "class" else "union"
        own = heads[-1] if heads else None
        outer: tuple[ir.TParam, ...] = ()
        if owner is not None and heads:
            generic = isinstance(owner, (ir.Name, ir.Scoped)) and owner.targs is not None
            if generic:
                outer = tuple(p for head in (heads[:-1] if len(heads) > 1 else heads) for p in head)
                own = heads[-1] if len(heads) > 1 else None
        if self.tok == ";" and name and scope != "typedef":
            span = self.span(at, at)
            self.at += 1
            return [ir.Class(name, _class_kind(kind), own, spec_args, (), (), specs.alignas_, span, self.span(first),
                             owner, outer, forward=True)]  # fmt: skip
        bases: tuple[ir.Expr, ...] = ()
        if self.tok == ":":
            bases = self.bases()
        if self.tok != "{":
            raise Fail("not a class definition")
        open_at = self.at
        members = self.members(open_at, name)
        self.skip_group()
        span = self.span(at, at)
        anonymous = not name
        if anonymous and self.tok not in (";", "") and scope != "typedef":
            name = f"__anonymous_{span.line}_{span.column}"
        found: list[ir.Decl] = [
            ir.Class(name, _class_kind(kind), own, spec_args, bases, members, specs.alignas_, span, self.span(first),
                     owner, outer)
        ]  # fmt: skip
        if scope != "typedef":
            found.extend(self.trailing_declarators(name, span, lead or specs, first))
        elif anonymous:
            found = [_renamed(found[0], f"__anonymous_{span.line}_{span.column}")]
        return found

    def is_class_macro(self) -> bool:
        """``struct MY_API X {``: steps over the macro."""
        if self.is_ident() and self.tok.isupper():
            if self.is_ident(1) and self.peek() != "final":
                self.at += 1
                return True
            if self.peek() == "(":
                self.at += 1
                self.skip_group()
                return True
        return False

    def class_head_name(self) -> tuple[str, int, ir.Expr | None, tuple[ir.Expr, ...] | None]:
        if not self.is_ident() and self.tok != "::":
            return "", self.at, None, None
        named = self.qualified_name(in_type=True)
        assert isinstance(named, (ir.Name, ir.Scoped))
        at = self.at - 1
        while at > 0 and self.texts[at] != named.ident:
            at -= 1
        if named.targs is not None:  # X<X<int>>: the head's name is the outermost
            depth, at = 0, self.at - 1
            while at > 0:
                depth += {">": 1, "<": -1}.get(self.texts[at], 0)
                at -= 1
                if depth == 0:
                    break
        owner = named.base if isinstance(named, ir.Scoped) else None
        return named.ident, at, owner, named.targs

    def bases(self) -> tuple[ir.Expr, ...]:
        found: list[ir.Expr] = []
        self.take(":")
        while self.tok not in ("{", ";", ""):
            while self.tok in ("public", "private", "protected", "virtual"):
                self.at += 1
            first = self.at
            base: ir.Expr
            if self.tok == "decltype":
                base = self.scope_rest(self.decltype(), first)
            else:
                base = self.qualified_name(in_type=True)
            if self.accept("..."):
                base = ir.Expand(base, self.span(first))
            found.append(base)
            if not self.accept(","):
                break
        return tuple(found)

    def members(self, open_at: int, class_name: str) -> Sequence[ir.Decl]:
        close = self.partner[open_at]
        if close < 0:
            close = self.end
        if close > self.end:
            raise Fail("'{' is not closed")
        kind, source, share = type(self), self.source, self.share_tokens
        begin, end = self.starts[open_at] + 1, self.starts[close]
        tokens = self.tokens

        def make(own_stack: bool) -> tuple[ir.Decl, ...]:
            if share:
                parser = kind(source, tokens, open_at + 1, close)
            else:
                parser = kind(source, lex(source.text, begin, end))
            parser.share_tokens = True
            parser.own_stack = own_stack
            parser.class_name = class_name
            return tuple(parser.declarations(parser.end, "class"))

        return LazyMembers(lambda: steady(make))

    def trailing_declarators(self, name: str, span: Span, specs: Specs, first: int) -> list[ir.Decl]:
        """Variables declared after ``}`` of a class or enum."""
        found: list[ir.Decl] = []
        while self.tok not in (";", "") and self.at < self.end:
            named = self.declarator(ir.Name(name, None, span), first)
            found.append(self.variable(named, specs, (), first))
            if not self.accept(","):
                break
        self.accept(";")
        return found

    def enum(self, scope: str) -> list[ir.Decl]:
        first = self.at
        self.take("enum")
        scoped = self.accept("class") or self.accept("struct")
        specs = Specs(first)
        while self.specifier(specs):
            pass
        at = self.at
        name = ""
        if self.is_ident():
            named = self.qualified_name(in_type=True)
            name = named.ident if isinstance(named, (ir.Name, ir.Scoped)) else ""
            at = self.at - 1
        underlying = self.type_id(abstract=False) if self.accept(":") else None
        if self.tok == ";" and name:
            self.at += 1
            return []
        if self.tok != "{":
            raise Fail("not an enum definition")
        close = self.closer()
        self.at += 1
        items: list[tuple[str, ir.Expr | None, Span]] = []
        while self.at < close:
            item_at = self.at
            item = self.ident()
            while self.specifier(specs):
                pass
            value = self.expression() if self.accept("=") else None
            items.append((item, value, self.span(item_at, item_at)))
            if not self.accept(","):
                break
        if self.at != close:
            raise Fail(f"unexpected '{self.tok}' in enum")
        self.at = close + 1
        span = self.span(at, at)
        if not name and (self.tok != ";" or scope == "typedef"):
            name = f"__anonymous_{span.line}_{span.column}"
        found: list[ir.Decl] = [ir.Enum(name, underlying, tuple(items), scoped, span, self.span(first))]
        if scope != "typedef":
            found.extend(self.trailing_declarators(name, span, specs, first))
        return found

    # ------------------------------------------------------------ functions

    def function(
        self, named: Declarator, specs: Specs, heads: tuple[tuple[ir.TParam, ...], ...], typed: bool = True
    ) -> ir.Function:
        """The rest of a function whose parameter list is at the position."""
        params = self.parameters()
        flags = set(specs.flags) - {"const"}
        ret: ir.Expr | None = named.type if typed else None
        while True:
            tok = self.tok
            if tok in ("const", "volatile", "&", "&&", "override", "final", "mutable"):
                if tok == "const":
                    flags.add("const")
                self.at += 1
            elif tok in ("noexcept", "throw"):
                self.at += 1
                if self.tok == "(":
                    self.skip_group()
            elif tok == "->":
                self.at += 1
                ret = self.type_id(abstract=True, function=False)
            elif tok == "requires":
                self.constraint()
            elif not self.specifier(specs):
                break
        inits: tuple[tuple[str, tuple[ir.Arg, ...]], ...] = ()
        body: ir.Lazy | None = None
        if self.tok == "=" and self.peek() in ("default", "delete", "0"):
            flags.add({"default": "defaulted", "delete": "deleted"}.get(self.peek(), "virtual"))
            self.at += 2
        self.accept("try")
        if self.tok == ":":
            inits = self.initialisers()
        if self.tok == "{":
            body = self.lazy_block(self.at)
            self.skip_group()
            while self.tok == "catch":
                self.at += 1
                self.skip_group()
                self.skip_group()
        own, outer = _split_heads(heads, named.owner)
        full = self.span(specs.first)
        return ir.Function(named.name, own, named.targs, params, ret, body, frozenset(flags),
                           self.span(named.at, named.at), full, named.owner, outer, specs.launch_bounds,
                           inits)  # fmt: skip

    def constraint(self) -> None:
        """A trailing requires clause, stepped over."""
        first = self.at
        while self.tok not in ("{", ";", "") and self.at < self.end:
            if self.tok in ("(", "["):
                self.skip_group()
            elif self.tok == "requires" and self.at > first:
                self.at += 1
                if self.tok == "(":
                    self.skip_group()
                self.skip_group()
            else:
                self.at += 1
        self.note("requires", self.text_of(first, self.at - 1), first)

    def initialisers(self) -> tuple[tuple[str, tuple[ir.Arg, ...]], ...]:
        found: list[tuple[str, tuple[ir.Arg, ...]]] = []
        self.take(":")
        while True:
            first = self.at
            self.qualified_name(in_type=True)
            name = self.text_of(first, self.at - 1)
            if self.tok == "{":
                args = self.brace_arguments()
            else:
                self.take("(")
                args = self.arguments(")")
            self.accept("...")
            found.append((name, args))
            if not self.accept(","):
                return tuple(found)

    # ------------------------------------------------------------ variables

    def variable(
        self, named: Declarator, specs: Specs, heads: tuple[tuple[ir.TParam, ...], ...], first: int
    ) -> ir.Variable:
        """The rest of a variable after its name: array extents and the initialiser."""
        kind = self.array_suffix(named.type, first)
        while self.specifier(specs):
            pass
        if self.tok == ":" and self.in_class:  # bit-field
            self.at += 1
            self.expression()
        init: ir.Expr | None = None
        init_args: tuple[ir.Arg, ...] | None = None
        if self.accept("="):
            init = self.initialiser()
        elif self.tok == "{":
            init_args = self.brace_arguments()
        elif self.tok == "(":
            self.at += 1
            init_args = self.arguments(")")
        if init_args is not None and len(init_args) == 1 and _placeholder(kind):  # auto x{e} means auto x = e
            init, init_args = init_args[0].value, None
        return ir.Variable(named.name, kind, init, init_args, frozenset(specs.flags), specs.alignas_,
                           self.span(named.at, named.at), self.span(first), heads[-1] if heads else None,
                           named.targs)  # fmt: skip

    def initialiser(self) -> ir.Expr:
        """The expression after ``=``; one that cannot be lowered becomes Opaque, the declaration stands."""
        start, depth = self.at, self.depth
        try:
            found = self.braced() if self.tok == "{" else self.expression()
            if self.tok in (";", ",", ":") or self.at >= self.end:
                return found
            reason = f"unexpected '{self.tok}' in initialiser"
        except Fail as error:
            reason = str(error)
        self.at, self.depth = start, depth
        while self.at < self.end and self.tok != ";":
            if self.tok in ("(", "[", "{") and self.partner[self.at] > self.at:
                self.at = self.partner[self.at]
            self.at += 1
        self.at = min(self.at, self.end)
        return self.opaque(reason, start, max(start, self.at - 1))


def _placeholder(kind: ir.Expr) -> bool:
    """Whether the type is ``auto`` or ``decltype(auto)``, with cv and references around it."""
    while isinstance(kind, ir.TypeMod):
        kind = kind.inner
    return isinstance(kind, ir.Auto) or (isinstance(kind, ir.DeclType) and kind.expr is None)


def _class_kind(word: str) -> ClassKind:
    return "union" if word == "union" else "class" if word == "class" else "struct"


def _renamed(decl: ir.Decl, name: str) -> ir.Decl:
    assert isinstance(decl, ir.Class)
    return replace(decl, name=name)


def _split_heads(
    heads: tuple[tuple[ir.TParam, ...], ...], owner: ir.Expr | None
) -> tuple[tuple[ir.TParam, ...] | None, tuple[ir.TParam, ...]]:
    """Template heads of a function: (its own, those of the class it is a member of)."""
    if not heads:
        return None, ()
    if owner is None:
        return heads[-1], ()
    if len(heads) > 1:
        return heads[-1], tuple(param for head in heads[:-1] for param in head)
    if isinstance(owner, (ir.Name, ir.Scoped)) and owner.targs is not None:
        return None, heads[0]
    return heads[0], ()
