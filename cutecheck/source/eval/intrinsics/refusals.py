"""What a model function refuses, or a value that cannot be used so, said as an Unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model.atoms import UnknownAtomError
from cutecheck.model.ints import CuteError, NotModelledError, UndecidedError, assuming
from cutecheck.source.eval.intrinsics.registry import (
    Unsupported,
)
from cutecheck.source.eval.values import (
    Scalar,
    TensorVal,
    Value,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


_FAILURES = (TypeError, ValueError, IndexError, KeyError, AttributeError, ZeroDivisionError, AssertionError)


def guarded(m: Machine, name: str, span: Span, run: Any) -> Value:
    """Run a model function; what it refuses or cannot do becomes Unknown with the reason."""
    try:
        if m.recorder.hypotheses:
            with assuming([h.condition for h in m.recorder.hypotheses if h.origin == "static_assert"]):
                return run()
        return run()
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


def describe(v: Value) -> str:
    return {Scalar: "a scalar", TensorVal: "a tensor", tuple: "a tuple"}.get(type(v), f"{type(v).__name__}")
