"""What a program asks about itself: ``inspect``, ``sys.modules``, digests of its own functions (compile caches)."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.source.dsl import modules
from cutecheck.source.dsl.builtins import CONSTANTS, FUNCTIONS, builtin
from cutecheck.source.dsl.flow import fails
from cutecheck.source.dsl.unit import lower_expression, lower_unit
from cutecheck.source.dsl.values import NONE, Builtin, BuiltinType, Module, Namespace
from cutecheck.source.eval import ir
from cutecheck.source.eval.containers import ANY_NAME, Lost, changes, unsure
from cutecheck.source.eval.scope import ClassInst, Env, Scope
from cutecheck.source.eval.values import Closure, Extern, FuncSet, Object, Scalar, ScalarType, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

STATIC = "a static method"
_DIGESTS = ("md5", "sha1", "sha256", "sha512", "blake2b")
_KINDS = {"normal": 1, "varargs": 2, "keyword": 3, "varkw": 4}  # inspect.Parameter's


def function_attribute(m: Machine, fn: FuncSet, ident: str, span: Span) -> Value | None:
    """``f.__module__`` and what else a function says of itself; None for what is not followed."""
    entry = fn.entries[-1]
    decl: ir.Function = entry.decl
    if ident in ("__name__", "__qualname__"):
        return fn.name
    if ident == "__module__":
        scope = entry.env.namespace()
        return None if scope is None else str(scope.env.vars.get("__name__", scope.name))
    if ident == "__defaults__":
        given = [m.eval(p.default, entry.env) for p in decl.params if p.default is not None and p.kind == "normal"]
        return tuple(given) if given else NONE
    if ident == "__kwdefaults__":
        named = {
            p.name: m.eval(p.default, entry.env) for p in decl.params if p.default is not None and p.kind == "keyword"
        }
        return named or NONE
    if ident == "__self__":
        return fn.self_
    if ident in ("__wrapped__", "func", "__func__"):
        return FuncSet(fn.name, fn.entries, None, fn.cls) if ident == "__func__" else fn
    return None


@builtin("inspect.signature")
def _signature(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    fn = args[0]
    if not isinstance(fn, FuncSet):
        return Extern("inspect.signature(...)", span)
    from cutecheck.source.dsl.attributes import of_function

    while isinstance(inner := of_function(m, fn, "__wrapped__"), FuncSet):
        fn = inner
    entry = fn.entries[-1]
    given: list[ir.Param] = list(entry.decl.params)
    if fn.self_ is not None:
        given = given[1:]
    parameters: dict[str, Value] = {}
    for p in given:
        default = Builtin("inspect.Parameter.empty") if p.default is None else m.eval(p.default, entry.env)
        parameters[p.name] = Namespace({"name": p.name, "default": default, "kind": _KINDS.get(p.kind, 1)})
    made = Namespace({"parameters": parameters})
    for word in ("bind", "bind_partial"):
        made.fields[word] = Builtin("signature.bind", made)
    return made


@builtin("signature.bind")
def _bind(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """``inspect.signature(f).bind(...)``: the arguments by name, without defaults."""
    signature, *given = args
    if ANY_NAME in kwargs or unsure(given) is not None or any(type(v) is Lost for v in given):
        return Unknown("arguments that are not known", span)
    named = dict(kwargs)
    found: dict[str, Value] = {}
    for name, parameter in signature.fields["parameters"].items():
        kind = parameter.fields["kind"]
        if kind == _KINDS["varargs"]:
            rest, given = tuple(given), []
            found |= {name: rest} if rest else {}
        elif kind == _KINDS["varkw"]:
            found |= {name: named} if named else {}
            named = {}
        elif kind != _KINDS["keyword"] and given:
            found[name] = given.pop(0)
        elif name in named:
            found[name] = named.pop(name)
    if given or named:
        return fails(m, "TypeError", "arguments that a function does not take", span)
    bound = Namespace({"arguments": found, "signature": signature})
    bound.fields["apply_defaults"] = Builtin("bound.apply_defaults", bound)
    return _split(bound)


def _split(bound: Namespace) -> Namespace:
    """``args`` and ``kwargs`` of bound arguments."""
    parts: list[Value] = []
    named: dict[str, Value] = {}
    for name, value in bound.fields["arguments"].items():
        kind = bound.fields["signature"].fields["parameters"][name].fields["kind"]
        if kind == _KINDS["varargs"]:
            parts += value
        elif kind in (_KINDS["keyword"], _KINDS["varkw"]):
            named |= value if kind == _KINDS["varkw"] else {name: value}
        else:
            parts.append(value)
    bound.fields |= {"args": tuple(parts), "kwargs": named}
    return bound


@builtin("bound.apply_defaults")
def _defaults(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    bound = args[0]
    found: dict[str, Value] = bound.fields["arguments"]
    complete: dict[str, Value] = {}
    for name, parameter in bound.fields["signature"].fields["parameters"].items():
        kind, default = parameter.fields["kind"], parameter.fields["default"]
        empty = () if kind == _KINDS["varargs"] else {} if kind == _KINDS["varkw"] else default
        if name in found or empty != Builtin("inspect.Parameter.empty"):
            complete[name] = found.get(name, empty)
    changes(m, found)
    found.clear()
    found.update(complete)
    _split(bound)
    return None


for _word, _number in (
    ("POSITIONAL_ONLY", 0), ("POSITIONAL_OR_KEYWORD", 1), ("VAR_POSITIONAL", 2), ("KEYWORD_ONLY", 3),
    ("VAR_KEYWORD", 4),
):  # fmt: skip
    CONSTANTS[f"inspect.Parameter.{_word}"] = _number
CONSTANTS["inspect.Parameter.empty"] = CONSTANTS["inspect.Signature.empty"] = Builtin("inspect.Parameter.empty")
builtin("inspect.Parameter", "inspect.Signature")(lambda m, args, kwargs, span: Extern("inspect.Parameter", span))


@builtin("inspect.getsource")
def _source(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    fn = args[0]
    if not isinstance(fn, FuncSet):
        return Extern("inspect.getsource(...)", span)
    at: Span = fn.entries[-1].decl.full_span
    text = m.dialect.library.texts.get(at.path)  # type: ignore[attr-defined]
    return (
        Extern("inspect.getsource(...)", span)
        if text is None
        else "\n".join(text.split("\n")[at.line - 1 : at.end_line])
    )


def _kind(word: str, of: tuple[type, ...]) -> None:
    def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        v = args[0]
        if isinstance(v, (Unknown, Extern)):
            return Scalar(None, "bool")
        if word == "ismethod":
            return isinstance(v, FuncSet) and v.self_ is not None
        return isinstance(v, of) and not (word == "isfunction" and isinstance(v, FuncSet) and v.self_ is not None)

    FUNCTIONS[f"inspect.{word}"] = run


for _word, _of in (
    ("isfunction", (FuncSet, Closure)), ("ismethod", (FuncSet,)), ("ismodule", (Module,)),
    ("isclass", (ClassInst, ScalarType, BuiltinType)),
):  # fmt: skip
    _kind(_word, _of)


@builtin("dataclasses.is_dataclass")
def _is_dataclass(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    v = args[0]
    if isinstance(v, (Unknown, Extern)):
        return Scalar(None, "bool")
    cls = v.cls if isinstance(v, Object) else v
    return isinstance(cls, ClassInst) and bool(cls.memo.get("dataclass"))


def _digest(algorithm: str) -> None:
    def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        """Of text that is known its digest; of any other one that nothing else has, so that no cache finds it."""
        text = args[0] if args else ""
        if not isinstance(text, str):
            text = f"{span} {m.fresh('digest').expr}"
        return Builtin("a digest", hashlib.new(algorithm, text.encode("utf-8", "surrogatepass")).hexdigest())

    FUNCTIONS[f"hashlib.{algorithm}"] = run


for _word in _DIGESTS:
    _digest(_word)
FUNCTIONS["a digest.hexdigest"] = lambda m, args, kwargs, span: args[0]
FUNCTIONS["str.encode"] = FUNCTIONS["str.decode"] = lambda m, args, kwargs, span: args[0]


@builtin("compile")
def _compile(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return args[0] if isinstance(args[0], str) else Unknown("source text that is not known", span)


@builtin("exec")
def _exec(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """Definitions that the program writes as text: evaluated as any others are, into the given dictionary."""
    text, space = args[0], args[1] if len(args) > 1 else kwargs.get("globals")
    if not isinstance(text, str) or not isinstance(space, dict):
        return Unknown("source text that is not known", span)
    unit = lower_unit(f"{span.path}:{span.line}:exec", text)
    scope = Scope(f"exec {span.line}", m.program.root)
    scope.memo["unit"] = unit
    scope.env.vars.update({k: v for k, v in space.items() if isinstance(k, str)})
    for decl in unit.decls:
        if isinstance(decl, ir.TopLevel):
            m.run(decl.stmt, scope.env)
    space.update(scope.env.vars)
    return None


SEEING = frozenset({"locals", "globals", "vars", "eval"})  # functions that see the names where they are called


@builtin("vars here", "locals here")
def _vars(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.dsl.functions import frame_of

    env, *given = args
    if not given:
        held = frame_of(env).vars.items()
        return {k: v for k, v in held if not isinstance(k, str) or (k.isidentifier() and k != "__class__")}
    if isinstance(given[0], (Namespace, Object)):
        return given[0].fields
    if isinstance(given[0], ClassInst):
        return dict(given[0].memo["space"])
    scope = modules.scope_of(m, given[0].name) if isinstance(given[0], Module) else None
    return scope.env.vars if scope is not None else Unknown("the attributes of a value that is not known", span)


@builtin("globals here")
def _globals(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return modules.scope_around(args[0]).env.vars


@builtin("eval here")
def _eval(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    env, text, *spaces = args
    if not isinstance(text, str) or not all(isinstance(s, dict) for s in spaces):
        return Unknown("an expression that is not known", span)
    for space in spaces:
        env = Env(env, "block")
        env.vars.update({k: v for k, v in space.items() if isinstance(k, str)})
    return m.eval(lower_expression(text.strip(), f"{span.path}:{span.line}:eval"), env)


def _module(m: Machine, name: Value, span: Span) -> Value:
    if not isinstance(name, str):
        return Unknown("a module whose name is not known", span)
    if name == "__main__":
        return Extern("module __main__", span)
    return modules.get(m, name, None)


@builtin("importlib.import_module")
def _import(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    package = args[1] if len(args) > 1 else kwargs.get("package")
    name = args[0]
    if isinstance(name, str) and name.startswith("."):
        name = modules.absolute(name, package) if isinstance(package, str) else Unknown("a package", span)
    return _module(m, name, span)


@builtin("sys.modules.get", "sys.modules.__getitem__")
def _loaded(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    found = _module(m, args[0], span)
    return None if isinstance(found, Extern) and modules.state(m)["files"].get(args[0], 0) is None else found


@builtin("staticmethod")
def _static(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return Builtin(STATIC, args[0])


for _word in ("compiler.is_compiling", "jit.is_scripting", "is_autocast_enabled", "is_inference_mode_enabled"):
    FUNCTIONS[f"torch.{_word}"] = lambda m, args, kwargs, span: False
FUNCTIONS["torch.is_grad_enabled"] = lambda m, args, kwargs, span: True
