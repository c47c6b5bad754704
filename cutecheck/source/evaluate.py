"""``cutecheck eval``: one expression to its value."""

from __future__ import annotations

from cutecheck.facts import Unknown
from cutecheck.model import notation
from cutecheck.source.eval import ir
from cutecheck.source.eval.budget import Budget
from cutecheck.source.eval.limits import Limits
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.program import Program
from cutecheck.source.eval.record import Recorder
from cutecheck.source.eval.values import BudgetExceeded, EnumVal, Scalar, TraitType, Value, ValueType


def machine(arch: str = "sm_90a") -> Machine:
    """A machine over an empty program."""
    from cutecheck.source.cpp.semantics import CppDialect
    from cutecheck.source.eval import expressions, statements  # noqa: F401  (register the node handlers)

    recorder = Recorder(arch, lambda path: [])
    return Machine(Program(), CppDialect(), recorder, arch, Budget(Limits()))


def evaluate(text: str, lang: str = "cpp") -> Value:
    """The value of a CuTe C++ expression, of a type, or of printed notation.

    Returns a model value, or Unknown with the reason. Types give the value they stand for.
    """
    if lang == "dsl":
        return evaluate_dsl(text)
    if lang != "cpp":
        return Unknown(f"language {lang} is not supported")
    from cutecheck.source.cpp import lower_expression

    node = lower_expression(text)
    if isinstance(node, ir.Opaque):
        return _printed(text, Unknown(f"cannot parse: {node.reason}", node.span))
    m = machine()
    try:
        value = m.eval(node, m.program.root.env)
    except BudgetExceeded as error:
        value = Unknown(str(error))
    value = plain(value)
    return _printed(text, value) if isinstance(value, Unknown) and not value.rejected else value


def evaluate_dsl(text: str) -> Value:
    """``{"func": name, "args": [...], "kwargs": {...}}``: a call of the DSL's algebra on printed values.

    The name may be qualified (``cute.make_layout``); a number or list stands for itself. Returns a model value, or
    Unknown with the reason (``rejected`` where the DSL refuses).
    """
    import json

    from cutecheck.model.algebra import dsl
    from cutecheck.model.ints import CuteError, NotModelledError, UndecidedError
    from cutecheck.model.notation import NotationError
    from cutecheck.model.version import following_dsl

    try:
        call = json.loads(text)
    except ValueError as error:
        return Unknown(f"not JSON: {error}")
    if not isinstance(call, dict) or not isinstance(call.get("func"), str):
        return Unknown('expected {"func": name, "args": [...], "kwargs": {...}}')
    args, kwargs = call.get("args", []), call.get("kwargs", {})
    if not isinstance(args, list) or not isinstance(kwargs, dict):
        return Unknown("args must be a list and kwargs an object")
    name = call["func"].rpartition(".")[2]
    try:
        values = [_dsl_value(a) for a in args]
        named = {k: _dsl_value(v) for k, v in kwargs.items()}
    except NotationError as error:
        return Unknown(f"cannot read {error}")
    try:
        with following_dsl():
            return dsl.call(name, values, named)
    except CuteError as error:
        return Unknown(f"the DSL rejects {name}: {error}", None, True)
    except (UndecidedError, NotModelledError, LookupError) as error:
        return Unknown(f"{name}: {error}")
    except TypeError as error:
        return Unknown(f"{name} does not take these arguments: {error}", None, True)
    except (ValueError, AttributeError, ZeroDivisionError, AssertionError) as error:
        return Unknown(f"{name} on these operands: {error}")


def _dsl_value(v: Value) -> Value:
    from cutecheck.model.basis import X
    from cutecheck.model.notation_dsl import parse_dsl

    if isinstance(v, str):
        return parse_dsl(v)
    if isinstance(v, list):
        return tuple(_dsl_value(x) for x in v)
    return X if v is None else v


def plain(value: Value) -> Value:
    """The model value behind a scalar, trait or type."""
    if isinstance(value, TraitType):
        value = value.value
    if isinstance(value, ValueType):
        value = value.value
    if isinstance(value, Scalar):
        from cutecheck.model.ints import Dyn, as_expr

        if isinstance(value.value, float) or value.value is None:
            return Unknown(f"a {value.ctype} that is not tracked")
        return Dyn(as_expr(value.value))
    if isinstance(value, EnumVal):
        return Unknown(f"enumerator {value.name}")
    return value


def _printed(text: str, otherwise: Value) -> Value:
    """The text read as CuTe's printed notation, if it is that (a lone name would be, and is not meant)."""
    if not any(c in text for c in ":(@_"):
        return otherwise
    try:
        return notation.parse(text)
    except ValueError:
        return otherwise
