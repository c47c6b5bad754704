"""What a model function refuses, or a value that cannot be used so, said as an Unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model import inttuple as it
from cutecheck.model.atoms import UnknownAtomError
from cutecheck.model.ints import CuteError, NotModelledError, UndecidedError, assuming
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.source.eval.intrinsics.registry import Unsupported
from cutecheck.source.eval.types import spell, type_of
from cutecheck.source.eval.values import Scalar, TensorVal, Value, ValueType

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


_FAILURES = (TypeError, ValueError, IndexError, KeyError, AttributeError, ZeroDivisionError, AssertionError)


def guarded(m: Machine, name: str, span: Span, run: Any) -> Value:
    """Run a model function; what it refuses or cannot do becomes Unknown with the reason."""
    try:
        if m.recorder.hypotheses:
            value = assuming([h.condition for h in m.recorder.hypotheses if h.origin == "static_assert"], run)
        else:
            value = run()
    except CuteError as error:
        return Unknown(f"CuTe rejects {name}: {error}", span, True)
    except UndecidedError as error:
        return Unknown(f"{name} {error}", span)
    except NotModelledError as error:
        return Unknown(f"{name}: {error}", span)
    except UnknownAtomError as error:
        return Unknown(str(error), span)
    except Unsupported as error:
        return Unknown(str(error), span)
    except _FAILURES as error:
        m.recorder.internal(name, span, error)
        return Unknown(f"`{name}` on these operands is not modelled", span)
    found = _foreign(value)
    if found is None or isinstance(found, Unknown):
        return value if found is None else found
    return Unknown(f"a layout with elements of `{found}`", span)


def describe(v: Value) -> str:
    return {Scalar: "a scalar", TensorVal: "a tensor", tuple: "a tuple"}.get(type(v), f"{type(v).__name__}")


def _foreign(value: Any) -> str | Unknown | None:
    """What among the extents and strides of a layout (or of a tensor's, or of a type's) is no number: a class of the
    program's own (a stride that gathers), or of a library that is not read, or what is not known.
    """
    if isinstance(value, (TensorVal, ValueType)):
        value = value.layout if isinstance(value, TensorVal) else value.value
    if isinstance(value, ComposedLayout):
        value = value.b
    if not isinstance(value, Layout):
        return None
    for leaf in (*it.leaves(value.shape), *it.leaves(value.stride)):
        if isinstance(leaf, Unknown):
            return leaf
        if type(leaf).__module__.startswith("cutecheck.source"):
            return spell(type_of(leaf))
    return None
