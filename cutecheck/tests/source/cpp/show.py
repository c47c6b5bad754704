"""IR as short text, for tests: one line an expression, spans left out."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from cutecheck.source.eval import ir


def targs(args: tuple[ir.Expr, ...] | None) -> str:
    return "" if args is None else "<" + ",".join(map(show, args)) + ">"


def call_args(args: tuple[ir.Arg, ...]) -> str:
    return ",".join((f".{a.name}=" if a.name else "") + show(a.value) for a in args)


def show(node: ir.Expr | None) -> str:
    match node:
        case None:
            return "-"
        case ir.Lit(value, ctype, _):
            return f"{value}:{ctype}" if ctype != "int" else str(value)
        case ir.Name(ident, args, _):
            return ident + targs(args)
        case ir.Scoped(base, ident, args, _):
            return ("" if base is None else show(base)) + "::" + ident + targs(args)
        case ir.Attr(base, ident, args, _):
            return f"{show(base)}.{ident}{targs(args)}"
        case ir.Call(fn, args, _, launch):
            config = "" if launch is None else "<<<" + ",".join(map(show, launch.args)) + ">>>"
            return f"{show(fn)}{config}({call_args(args)})"
        case ir.Construct(kind, args, _):
            return f"{show(kind)}{{{call_args(args)}}}"
        case ir.Index(base, args, _):
            return f"{show(base)}[{','.join(map(show, args))}]"
        case ir.Unary(op, operand, _):
            return f"({op} {show(operand)})"
        case ir.Binary(op, left, right, _):
            return f"({show(left)} {op} {show(right)})"
        case ir.Select(cond, then, other, _):
            return f"({show(cond)} ? {show(then)} : {show(other)})"
        case ir.Sequence_(_, items, _):
            return f"{{{call_args(items)}}}"
        case ir.Lambda(tparams, params, ret, _, _):
            return f"lambda{[p.name for p in tparams]}({','.join(p.name for p in params)})->{show(ret)}"
        case ir.DeclType(expr, _):
            return f"decltype({show(expr)})"
        case ir.SizeOf(what, operand, _):
            return f"{what}({show(operand)})"
        case ir.Cast(how, kind, operand, _):
            return f"{how}<{show(kind)}>({show(operand)})"
        case ir.TypeMod(kind, inner, _, extra):
            return f"{kind}[{show(inner)}{'' if extra is None else ',' + show(extra)}]"
        case ir.Auto():
            return "auto"
        case ir.Expand(pattern, _):
            return show(pattern) + "..."
        case ir.Fold(op, pattern, init, left, _):
            return f"fold{'L' if left else 'R'}({op},{show(pattern)},{show(init)})"
        case ir.Opaque(reason, _, _):
            return f"OPAQUE({reason})"
    raise AssertionError(node)


def stmts(block: ir.Block) -> list[str]:
    return [stmt(part) for part in block.body]


def stmt(node: ir.Stmt) -> str:
    match node:
        case ir.Block():
            return "{" + " ".join(stmts(node)) + "}"
        case ir.ExprStmt(expr, _):
            return show(expr) + ";"
        case ir.Local(decl, _):
            return decl_(decl)
        case ir.Bind(names, value, _):
            return f"bind[{','.join(names)}]={show(value)};"
        case ir.Assign(target, op, value, _):
            return f"{show(target)} {op} {show(value)};"
        case ir.If(cond, then, other, constexpr, _, init):
            head = "if constexpr" if constexpr else "if"
            before = "" if init is None else stmt(init) + " "
            rest = "" if other is None else " else " + stmt(other)
            return f"{head}({before}{show(cond)}) {stmt(then)}{rest}"
        case ir.Loop(kind, init, cond, step, target, iterable, body, _):
            parts = [
                "" if init is None else stmt(init), show(cond), "" if step is None else stmt(step),
                "" if target is None else stmt(target), show(iterable),
            ]  # fmt: skip
            return f"{kind}({'|'.join(parts)}) {stmt(body)}"
        case ir.Switch(subject, cases, _):
            arms = [f"{','.join(map(show, c.values)) or 'default'}:{stmt(c.body)}" for c in cases]
            return f"switch({show(subject)}) {' '.join(arms)}"
        case ir.Try(body, handlers, _):
            return f"try {stmt(body)}" + "".join(f" catch {stmt(h)}" for h in handlers)
        case ir.Return(value, _):
            return f"return {show(value)};"
        case ir.Jump(kind, _):
            return kind + ";"
        case ir.Assert(kind, cond, message, _):
            return f"{kind}({show(cond)},{message!r});"
    raise AssertionError(node)


def decl_(node: ir.Decl) -> str:
    match node:
        case ir.Alias(name, tparams, target, _, _):
            return f"{tps(tparams)}using {name}={show(target)};"
        case ir.Variable():
            flags = " ".join(sorted(node.flags))
            init = f"={show(node.init)}" if node.init is not None else ""
            if node.init_args is not None:
                init = f"({call_args(node.init_args)})"
            align = f" alignas({show(node.alignas_)})" if node.alignas_ is not None else ""
            return f"{tps(node.tparams)}[{flags}] {show(node.type)} {node.name}{targs(node.spec_args)}{init}{align};"
        case ir.Function():
            flags = " ".join(sorted(node.flags))
            params = ",".join(
                f"{show(p.type)}{'...' if p.pack else ''} {p.name}"
                + ("" if p.default is None else f"={show(p.default)}")
                for p in node.params
            )
            owner = "" if node.owner is None else f"{tps(node.owner_tparams or None)}{show(node.owner)}::"
            bounds = f" bounds({','.join(map(show, node.launch_bounds))})" if node.launch_bounds else ""
            inits = "".join(f" :{name}({call_args(args)})" for name, args in node.inits)
            body = "" if node.body is None else " {...}"
            return (
                f"{tps(node.tparams)}[{flags}] {show(node.ret)} {owner}{node.name}{targs(node.spec_args)}({params})"
                f"{bounds}{inits}{body};"
            )
        case ir.Class():
            owner = "" if node.owner is None else f"{tps(node.owner_tparams or None)}{show(node.owner)}::"
            bases = " : " + ",".join(map(show, node.bases)) if node.bases else ""
            align = f" alignas({show(node.alignas_)})" if node.alignas_ is not None else ""
            body = "" if node.forward else " {" + " ".join(decl_(m) for m in node.members) + "}"
            return f"{tps(node.tparams)}{node.kind} {owner}{node.name}{targs(node.spec_args)}{align}{bases}{body};"
        case ir.Enum(name, underlying, items, scoped, _, _):
            inner = ",".join(n + ("" if v is None else f"={show(v)}") for n, v, _ in items)
            return f"enum {'class ' if scoped else ''}{name}:{show(underlying)} {{{inner}}};"
        case ir.Namespace(name, members, _):
            return f"namespace {name} {{{' '.join(map(decl_, members))}}}"
        case ir.Using(kind, target, name, _):
            return f"using {kind} {name}{'=' if name else ''}{show(target)};"
        case ir.Instantiate(target, _):
            return f"instantiate {show(target)};"
        case ir.TopLevel(inner):
            return stmt(inner)
    raise AssertionError(node)


def tps(tparams: tuple[ir.TParam, ...] | None) -> str:
    if tparams is None:
        return ""
    parts = []
    for p in tparams:
        kind = show(p.type) if p.kind == "value" else p.kind
        parts.append(f"{kind}{'...' if p.pack else ''} {p.name}" + ("" if p.default is None else f"={show(p.default)}"))
    return "template<" + ",".join(parts) + "> "


def walk(node: object) -> Iterator[object]:
    """Every IR node under ``node``, function bodies and class members included."""
    todo = [node]
    while todo:
        part = todo.pop()
        if isinstance(part, ir.Lazy):
            todo.append(part.get())
        elif isinstance(part, (tuple, list)):
            todo.extend(part)
        elif dataclasses.is_dataclass(part):
            yield part
            if isinstance(part, ir.Class):
                todo.extend(part.members)
            if type(part).__module__ == ir.__name__:
                todo.extend(getattr(part, f.name) for f in dataclasses.fields(part) if f.name != "members")
            if isinstance(part, ir.Namespace):
                todo.extend(part.members)
