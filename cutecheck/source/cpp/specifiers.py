"""Declaration specifiers, declarators and parameter lists."""

from __future__ import annotations

from dataclasses import dataclass, field

from cutecheck.source.cpp.cursor import Fail
from cutecheck.source.cpp.statements import StatementParser
from cutecheck.source.cpp.words import BUILTIN_TYPES, KEYWORDS, SPECIFIERS
from cutecheck.source.eval import ir

_TYPE_WORDS = BUILTIN_TYPES | frozenset(
    ["const", "volatile", "auto", "struct", "class", "union", "enum", "typename", "decltype", "__restrict__"]
)
_SKIPPED_GROUPS = frozenset(
    ["__attribute__", "__declspec", "__cluster_dims__", "__maxnreg__", "__block_size__", "__annotate__"]
)


@dataclass(slots=True)
class Specs:
    """What stands before the declarators of a declaration."""

    first: int
    flags: set[str] = field(default_factory=set)
    alignas_: ir.Expr | None = None
    launch_bounds: tuple[ir.Expr, ...] = ()
    type: ir.Expr | None = None


@dataclass(slots=True)
class Declarator:
    """A declared name with its type. ``owner`` is set for ``X<T>::name``; ``params`` for functions."""

    name: str
    type: ir.Expr
    at: int
    owner: ir.Expr | None = None
    targs: tuple[ir.Expr, ...] | None = None
    plain: bool = True  # no parentheses around the name


class SpecifierParser(StatementParser):
    """The parts that declarations share."""

    def specifiers(self, member_macros: bool) -> Specs:
        """Specifiers and the type, in any order. Without a type (constructors), ``type`` stays None."""
        specs = Specs(self.at)
        while self.at < self.end:
            tok = self.tok
            if self.specifier(specs):
                continue
            if specs.type is not None:
                break
            if self.is_unknown_macro(member_macros):
                if self.peek() == "(":
                    self.at += 1
                    self.skip_group()
                else:
                    self.at += 1
                continue
            if tok in _TYPE_WORDS or ((self.is_ident() or tok == "::") and tok not in KEYWORDS):
                if self.is_nameless_function():
                    break
                self.loose_flags.clear()
                specs.type = self.type_specifier()
                specs.flags.update(self.loose_flags - {""})
                if "const" in self.texts[specs.first : self.at]:
                    specs.flags.add("const")
                continue
            break
        return specs

    def specifier(self, specs: Specs) -> bool:
        """Take one specifier if there is one."""
        tok = self.tok
        if tok in SPECIFIERS:
            flag = SPECIFIERS[tok]
            self.at += 1
            if flag is not None:
                specs.flags.add(flag)
            if tok == "explicit" and self.tok == "(":
                self.skip_group()
            return True
        if tok in ("alignas", "__align__", "_Alignas"):
            self.at += 1
            specs.alignas_ = self.alignment()
            return True
        if tok == "__launch_bounds__":
            self.at += 1
            self.take("(")
            specs.launch_bounds = tuple(arg.value for arg in self.arguments(")"))
            return True
        if tok in _SKIPPED_GROUPS:
            first = self.at
            self.at += 1
            self.skip_group()
            self.note("attribute", self.text_of(first, self.at - 1), first)
            return True
        if tok == "[" and self.peek() == "[" and self.partner[self.at + 1] + 1 == self.partner[self.at]:
            self.skip_group()
            return True
        return False

    def alignment(self) -> ir.Expr:
        """``(expr)`` or ``(type)`` of an alignas, in bytes."""
        first = self.at
        self.take("(")

        def as_type() -> ir.Expr:
            if self.tok not in BUILTIN_TYPES and not (self.is_ident() and self.peek() in (")", "<", "::")):
                raise Fail("not a type")
            found = self.type_id(abstract=True)
            if self.tok != ")":
                raise Fail("not a type")
            return found

        found = self.attempt(as_type)
        if isinstance(found, ir.TypeMod) or (isinstance(found, ir.Name) and found.ident in BUILTIN_TYPES):
            self.take(")")
            return ir.SizeOf("alignof", found, self.span(first))
        if found is None:
            found = self.expression()
        if self.accept("..."):
            found = ir.Expand(found, self.span(first))
        self.take(")")
        return found

    def is_unknown_macro(self, member_macros: bool) -> bool:
        """An upper-case name without a definition that stands like an attribute: ``MY_API void f()``."""
        tok = self.tok
        if not tok.isupper() or len(tok) < 3 or not self.is_ident():
            return False
        ahead = 1
        if self.peek() == "(":
            if not member_macros:
                return False
            close = self.partner[self.at + 1]
            if close < 0 or close + 1 >= self.end:
                return False
            ahead = close + 1 - self.at
        follower = self.peek(ahead)
        if follower in SPECIFIERS or follower in _TYPE_WORDS - {"const", "volatile"} or follower == "alignas":
            return True
        if follower in ("const", "volatile"):
            return self.is_ident(ahead + 2) or self.peek(ahead + 1) in BUILTIN_TYPES
        if not self.is_ident(ahead) or follower in KEYWORDS:
            return False
        after = self.peek(ahead + 1)
        return self.is_ident(ahead + 1) or (after in ("<", "*") and self.peek(ahead) not in ("operator",))

    def is_nameless_function(self) -> bool:
        """A name directly before its parameters: a constructor, guide, or a macro such as ``TEST(a, b)``."""
        if self.tok in _TYPE_WORDS:
            return False
        if self.peek() == "(":
            close = self.partner[self.at + 1]
            # `T (&x)[n]` and `T (*f)(int)` are declarators of type T
            return not (
                self.peek(2) in ("&", "*", "&&")
                and self.is_ident(3)
                and close == self.at + 4
                and self.texts[close + 1] in ("(", "[", "=", ";", ",")
            )
        start = self.at

        def rule() -> bool:
            name = self.qualified_name(in_type=True)
            if self.tok != "(" or not isinstance(name, ir.Scoped) or name.base is None:
                return False
            base = name.base
            last = base.ident if isinstance(base, (ir.Name, ir.Scoped)) else ""
            return name.ident == last or name.ident.startswith(("~", "operator "))

        found = self.attempt(rule)
        self.at = start
        return bool(found)

    # ------------------------------------------------------------ declarators

    def declarator(self, base: ir.Expr, first: int) -> Declarator:
        """Pointer operators and the name; array suffixes follow, parameter lists are left to the caller."""
        inner = self.pointers(base, first)
        while self.tok in SPECIFIERS or self.tok in ("alignas", "__align__", "__attribute__"):
            if self.peek() == "(":
                self.at += 1
                self.skip_group()
            else:
                self.at += 1
        if self.tok == "(" and self.peek() in ("*", "&", "&&"):  # T (*name)(A), T (&name)[n]
            kind = "ptr" if self.peek() == "*" else "ref"
            self.at += 2
            while self.tok in ("const", "__restrict__"):
                self.at += 1
            at = self.at
            name = self.ident() if self.is_ident() else ""
            if self.tok == "[":
                self.skip_group()
            self.take(")")
            if self.tok == "(":
                self.skip_group()
                inner = ir.TypeMod("function", inner, self.span(first))
            inner = self.array_suffix(inner, first)
            return Declarator(name, ir.TypeMod("ptr" if kind == "ptr" else "ref", inner, self.span(first)), at,
                              plain=False)  # fmt: skip
        at = self.at
        if not self.is_ident() and self.tok not in ("::", "~"):
            raise Fail(f"expected a name before '{self.tok}'")
        named = self.qualified_name(in_type=False)
        at = self.at - 1 if not isinstance(named, (ir.Name, ir.Scoped)) or named.targs is None else at
        if isinstance(named, ir.Scoped):
            return Declarator(named.ident, inner, self._ident_at(at, named.ident), named.base, named.targs)
        assert isinstance(named, ir.Name)
        return Declarator(named.ident, inner, self._ident_at(at, named.ident), None, named.targs)

    def _ident_at(self, at: int, ident: str) -> int:
        """Index of the token of the declared name, looking back from the position."""
        word = "operator" if ident.startswith("operator") else ident.lstrip("~")
        for back in range(self.at - 1, -1, -1):
            if self.texts[back] == word:
                return back
        return at

    # ------------------------------------------------------------ parameters

    def parameters(self) -> tuple[ir.Param, ...]:
        close = self.closer()
        self.at += 1
        found: list[ir.Param] = []
        if self.tok == "void" and self.at + 1 == close:
            self.at += 1
        while self.at < close:
            if self.tok == "..." and self.at + 1 == close:
                self.at += 1
                found.append(ir.Param("", None, None, True, self.span(close - 1), "varargs"))
                break
            found.append(self.parameter())
            if not self.accept(","):
                break
        if self.at != close:
            raise Fail(f"unexpected '{self.tok}' in parameters")
        self.at = close + 1
        return tuple(found)

    def parameter(self) -> ir.Param:
        first = self.at
        self.accept("this")
        specs = Specs(first)
        while self.specifier(specs) or self.is_unknown_macro(False):
            if self.tok.isupper() and self.is_unknown_macro(False):
                self.at += 1
        kind = self.type_specifier()
        while self.specifier(specs):
            pass
        inner = self.pointers(kind, first)
        while self.specifier(specs):
            pass
        pack = self.accept("...")
        name, at = "", self.at
        if self.tok == "(" and self.peek() in ("*", "&", "&&"):
            found = self.declarator(inner, first)
            name, inner, at = found.name, found.type, found.at
        else:
            if self.tok == "(":  # R(A, B) as a parameter type
                inner = self.abstract_suffix(inner, first)
            if self.is_ident():
                at = self.at
                name = self.ident()
            inner = self.array_suffix(inner, first)
        if isinstance(inner, ir.TypeMod) and inner.kind == "array" and "shared" not in specs.flags:
            inner = ir.TypeMod("ptr", inner.inner, inner.span)  # arrays decay
        while self.specifier(specs):
            pass
        default: ir.Expr | None = None
        if self.accept("="):
            default = self.expression()
        span = self.span(at, at) if name else self.span(first)
        declared = None if isinstance(inner, ir.Auto) else inner
        return ir.Param(name, declared, default, pack, span)

    def template_parameters(self) -> tuple[ir.TParam, ...]:
        self.take("<")
        found: list[ir.TParam] = []
        while self.tok != ">":
            found.append(self.template_parameter())
            if not self.accept(","):
                break
        self.take(">")
        return tuple(found)

    def template_parameter(self) -> ir.TParam:
        first, tok = self.at, self.tok
        kind: str = "value"
        declared: ir.Expr | None = None
        if tok == "template":
            self.at += 1
            self.template_parameters()
            if self.tok not in ("class", "typename"):
                raise Fail("expected class")
            self.at += 1
            kind = "template"
        elif tok in ("class", "typename") and (
            self.peek() in (",", ">", "=", "...") or (self.is_ident(1) and self.peek(2) in (",", ">", "="))
        ):
            self.at += 1
            kind = "type"
        else:
            declared = self.type_id(abstract=False)
        pack = self.accept("...")
        name, at = "", first
        if kind == "value" and self.tok == "(" and self.peek() in ("*", "&"):
            fp = self.declarator(declared or ir.Auto(self.span(first)), first)
            name, at, declared = fp.name, fp.at, fp.type
        elif self.is_ident():
            at = self.at
            name = self.ident()
            if kind == "value" and declared is not None:
                declared = self.array_suffix(declared, first)
        default: ir.Expr | None = None
        if self.accept("="):
            default = self.expression(no_gt=True) if kind == "value" else self.template_argument()
        span = self.span(at, at) if name else self.span(first)
        if kind == "value":
            return ir.TParam(name, "value", declared, default, pack, span)
        return ir.TParam(name, "type" if kind == "type" else "template", None, default, pack, span)
