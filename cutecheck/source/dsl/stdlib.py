"""Methods of Python's containers, and the standard modules that configurations use."""

from __future__ import annotations

import bisect
import itertools
import json
import math
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model import inttuple as it
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Dyn, Sym
from cutecheck.source.dsl.builtins import FUNCTIONS, builtin, known, sequence
from cutecheck.source.dsl.classes import fields, instantiate, takes
from cutecheck.source.dsl.flow import fails
from cutecheck.source.dsl.modules import state
from cutecheck.source.dsl.values import Builtin, Environment, HostTensor, Namespace, Parser, Partial
from cutecheck.source.eval.values import Closure, Extern, FuncSet, Object, Scalar, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


_MAX_TEXT = 1 << 16

# -------------------------------------------------------------------- methods


def _method(kind: type, *names: str) -> None:
    for word in names:

        def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span, word: str = word) -> Value:
            bad = known(m, args, span)
            if bad is not None:
                return bad
            result = getattr(args[0], word)(*args[1:], **kwargs)
            return list(result) if word in ("keys", "values", "items") else result

        FUNCTIONS[f"{kind.__name__}.{word}"] = run


def _sized(word: str, of: Any) -> None:
    """A method of text with a bound on what it returns; ``of`` computes the length from text and arguments."""
    run = FUNCTIONS[f"str.{word}"]

    def bounded(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        if known(m, args, span) is None and of(*args) > _MAX_TEXT:
            return Unknown(f"text of over {_MAX_TEXT} characters", span)
        return run(m, args, kwargs, span)

    FUNCTIONS[f"str.{word}"] = bounded


_method(str, "upper", "lower", "split", "strip", "lstrip", "rstrip", "startswith", "endswith", "replace", "isdigit",
        "rsplit", "title", "capitalize", "count", "find", "index", "zfill", "isalpha", "partition", "rpartition",
        "removeprefix", "removesuffix", "splitlines", "ljust", "rjust")  # fmt: skip
_sized("zfill", lambda text, width: width)
_sized("ljust", lambda text, width, fill=" ": width)
_sized("rjust", lambda text, width, fill=" ": width)
_sized("replace", lambda text, old, new, count=-1: text.count(old) * len(new))
_method(int, "bit_length", "bit_count")
_method(float, "is_integer")


@builtin("str.join")
def _join(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    items = sequence(m, args[1], span)
    if isinstance(items, Unknown) or any(not isinstance(i, str) for i in items):
        return Unknown("text that is not known", span)
    if sum(map(len, items)) + len(args[0]) * len(items) > _MAX_TEXT:
        return Unknown(f"text of over {_MAX_TEXT} characters", span)
    return args[0].join(items)


@builtin("object._replace", "dataclasses.replace")
def _replace(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    old = args[0]
    if not isinstance(old, Object):
        return Unknown("replace of a value that is not known", span)
    if old.cls.memo.get("dataclass"):  # `__init__` runs again, and `__post_init__` after it
        return instantiate(m, old.cls, [], {**initial(old), **kwargs}, span)
    made = Object(old.cls)
    for key, value in {**old.fields, **kwargs}.items():
        m.journal.set(made.fields, key, value)
    return made


def initial(obj: Object) -> dict[str, Value]:
    """The fields of a dataclass that its ``__init__`` takes."""
    taken = [name for name, (owner, _) in fields(obj.cls) if takes(owner.memo["space"].get(name))]
    return {name: obj.fields[name] for name in taken if name in obj.fields}


def _plain_parts(kind: str) -> None:
    def deep(v: Value) -> Value:
        if isinstance(v, Object) and v.cls.memo.get("dataclass"):
            parts = {k: deep(v.fields[k]) for k, _ in fields(v.cls) if k in v.fields}
            return parts if kind == "asdict" else tuple(parts.values())
        if isinstance(v, (list, tuple)) and type(v) in (list, tuple):
            return type(v)(map(deep, v))
        return {k: deep(x) for k, x in v.items()} if type(v) is dict else v

    FUNCTIONS[f"dataclasses.{kind}"] = lambda m, args, kwargs, span: deep(args[0])


_plain_parts("asdict")
_plain_parts("astuple")


@builtin("autograd.apply")
def _autograd(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """``Function.apply(...)`` of torch: ``forward``, then ``backward`` with gradients that are like the results."""
    from cutecheck.source.eval.calls import apply
    from cutecheck.source.eval.expressions.names import attribute

    context = Namespace({"needs_input_grad": (True,) * (len(args) - 1)})
    context.fields["save_for_backward"] = Builtin("autograd.save", context)
    forward, backward = (attribute(m, args[0], word, span) for word in ("forward", "backward"))
    made = apply(m, forward, [context, *args[1:]], kwargs, span)
    gradients = list(made) if isinstance(made, tuple) else [made]
    if isinstance(backward, FuncSet) and all(isinstance(g, HostTensor) or g is None for g in gradients):
        apply(m, backward, [context, *gradients], {}, span)
    return made


@builtin("autograd.save")
def _save(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    m.journal.set(args[0].fields, "saved_tensors", tuple(args[1:]))
    return None


@builtin("object._asdict")
def _as_dict(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return dict(args[0].fields)


@builtin("namedtuple._make")
def _make_tuple(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    items = sequence(m, args[1], span)
    return items if isinstance(items, Unknown) else instantiate(m, args[0], items, {}, span)


@builtin("kernel.launch")
def _launch(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.dsl.launching import launch

    return launch(m, args[0], args[1:], kwargs, span)


# -------------------------------------------------------------------- standard modules


_WHOLE = ("ceil", "floor", "trunc", "gcd", "lcm", "isqrt", "comb", "perm")  # their results are integers


def _math(word: str) -> None:
    def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
        bad = known(m, args, span)
        if bad is not None:
            return bad
        if all(isinstance(a, (int, float)) for a in args):
            return getattr(math, word)(*args)
        if word == "prod":
            return it.product(tuple(args[0])) if isinstance(args[0], (tuple, list)) else Unknown("math.prod", span)
        if word in ("ceil", "floor", "trunc") and isinstance(args[0], (Dyn, Sym)):
            return args[0]
        return Sym.named(f"{word}#{m.number()}") if word in _WHOLE else Scalar(None, "float")

    FUNCTIONS[f"math.{word}"] = run


for _word in ("log2", "log", "log10", "sqrt", "ceil", "floor", "gcd", "lcm", "prod", "exp", "isqrt", "pow", "fabs",
              "trunc", "exp2", "isnan", "isinf", "comb", "perm", "hypot", "copysign", "isclose", "fmod"):  # fmt: skip
    _math(_word)


@builtin("functools.partial")
def _partial(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return Partial(args[0], tuple(args[1:]), tuple(kwargs.items()))


@builtin("functools.reduce")
def _reduce(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.eval.calls import apply

    items = sequence(m, args[1], span)
    if isinstance(items, Unknown):
        return items
    items = [args[2], *items] if len(args) > 2 else items
    out = items[0]
    for v in items[1:]:
        out = apply(m, args[0], [out, v], {}, span)
    return out


@builtin("torch.multiprocessing.spawn")
def _spawned(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """The first of the processes: ``fn(0, *args)``."""
    from cutecheck.source.eval.calls import apply

    given = kwargs.get("args", args[1] if len(args) > 1 else ())
    rest = list(given) if isinstance(given, (tuple, list)) else [Extern("an argument of a process", span)]
    apply(m, args[0] if args else kwargs.get("fn"), [0, *rest], {}, span)
    return None


@builtin("functools.lru_cache", "functools.cache")
def _decorator(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return args[0] if args and isinstance(args[0], (FuncSet, Closure)) else Builtin("id_")


@builtin("itertools.product")
def _product(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    parts = [sequence(m, a, span) for a in args]
    bad = next((p for p in parts if isinstance(p, Unknown)), None)
    if bad is not None:
        return bad
    repeat = kwargs.get("repeat", 1)
    most = m.budget.limits.loop_iterations
    once = math.prod([len(p) for p in parts if isinstance(p, list)])
    # with a single item each, as many repetitions as there may be items
    if not isinstance(repeat, int) or repeat > most or (once > 1 and repeat > most.bit_length()) or once**repeat > most:
        return Unknown(f"a product of over {most} items", span)
    return list(itertools.product(*parts, repeat=repeat))  # type: ignore[arg-type]


@builtin("itertools.chain")
def _chain(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    parts = [sequence(m, a, span) for a in args]
    bad = next((p for p in parts if isinstance(p, Unknown)), None)
    return bad if bad is not None else [x for p in parts for x in p]  # type: ignore[union-attr]


@builtin("random.randint", "random.randrange")
def _random(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """A number that another run draws otherwise: open between its bounds."""
    low, high = (args[0], args[1]) if len(args) > 1 else (0, args[0])
    if not isinstance(low, int) or not isinstance(high, int):
        return Scalar(None, "int")
    return Sym.named(f"random#{span.line}", Domain(low, high))


@builtin("random.seed", "random.shuffle")
def _nothing(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return None


@builtin("dataclasses.field")
def _field(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return Builtin("dataclasses.field", dict(kwargs))


@builtin("dataclasses.dataclass", "enum.unique", "typing.cast_")
def _mark(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return args[0] if args else Builtin("id_")


@builtin("typing.cast")
def _cast(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return args[1]


@builtin("enum.auto")
def _auto(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return Builtin("enum.auto")


@builtin("types.SimpleNamespace", "argparse.Namespace")
def _namespace(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return Namespace(dict(kwargs))


FUNCTIONS["argparse.ArgumentParser"] = lambda m, args, kwargs, span: Parser({})
FUNCTIONS["argparse.add_argument_group"] = lambda m, args, kwargs, span: args[0]
FUNCTIONS["argparse.add_mutually_exclusive_group"] = lambda m, args, kwargs, span: args[0]
FUNCTIONS["argparse.error"] = lambda m, args, kwargs, span: None
FUNCTIONS["argparse.set_defaults"] = lambda m, args, kwargs, span: args[0].fields.update(kwargs)


@builtin("argparse.add_argument")
def _add_argument(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """An option's value when nobody gives it: what the script's own driver runs with."""
    parser = args[0]
    flags = [a for a in args[1:] if isinstance(a, str)]
    long = [f for f in flags if f.startswith("--")]
    dest = kwargs.get("dest") or (long[0] if long else flags[0] if flags else "").lstrip("-").replace("-", "_")
    action = kwargs.get("action")
    if "default" in kwargs:
        value = kwargs["default"]
        if isinstance(value, str) and "type" in kwargs:
            from cutecheck.source.eval.calls import apply

            value = apply(m, kwargs["type"], [value], {}, span)
    elif action == "store_true":
        value = False
    elif action == "store_false":
        value = True
    elif kwargs.get("required") or not long:
        choices = kwargs.get("choices")
        value = Unknown(f"argument `{dest}` has no default", span) if not choices else choices[0]
    else:
        value = None
    parser.fields[dest] = value
    return None


@builtin("argparse.parse_args", "argparse.parse_known_args")
def _parse_args(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return Namespace(dict(args[0].fields))


FUNCTIONS["argparse.parse_known_args"] = lambda m, args, kwargs, span: (Namespace(dict(args[0].fields)), [])
FUNCTIONS["os.path.join"] = lambda m, args, kwargs, span: Extern("a path", span)
FUNCTIONS["MappingProxyType()"] = lambda m, args, kwargs, span: args[0]


@builtin("bisect.bisect", "bisect.bisect_right")
def _bisect_right(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return _place(bisect.bisect_right, m, args, kwargs, span)


@builtin("bisect.bisect_left")
def _bisect_left(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return _place(bisect.bisect_left, m, args, kwargs, span)


def _place(run: Any, m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    items = sequence(m, args[0], span)
    plain = not kwargs and isinstance(items, list) and all(isinstance(x, (int, float)) for x in (*items, *args[1:]))
    return run(items, *args[1:]) if plain else Unknown("a place among items that are not known", span)


@builtin("json.loads")
def _json(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    if not isinstance(args[0], str) or len(args) + len(kwargs) > 1:
        return Extern("json.loads(...)", span)
    try:
        return json.loads(args[0])
    except ValueError:
        return fails(m, "ValueError", "text that is no JSON", span)


@builtin("os.getenv")
def _getenv(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    return FUNCTIONS["dict.get"](m, [environment(m), *args], kwargs, span)


def environment(m: Machine) -> Environment:
    """``os.environ``."""
    return state(m).setdefault("environ", Environment())  # type: ignore[no-any-return]
