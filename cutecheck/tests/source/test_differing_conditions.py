"""Whether threads may answer a condition differently is asked of the values that its variables have now."""

from __future__ import annotations

from typing import Any

import pytest

from cutecheck.facts import Span
from cutecheck.model import expr as ex
from cutecheck.model.ints import Dyn
from cutecheck.source.eval import ir
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.threads import differs
from cutecheck.source.eval.values import Scalar
from cutecheck.source.evaluate import machine

HERE = Span("k.cu", 1, 1, 1, 2)
UNKNOWN = Scalar(None, "bool")


def test_the_answer_is_not_that_of_other_values() -> None:
    m, name = machine(), ir.Name("x", None, HERE)
    env = Env(m.program.root.env, "block")
    lane, uniform = Dyn(ex.var("threadIdx.x", ex.NATURAL)), Dyn(ex.var("n"))
    answers = []
    for value in (uniform, lane, uniform, lane):
        env.vars["x"] = value
        answers.append(differs(m, name, UNKNOWN, env))
    assert answers == [False, True, False, True]


@pytest.mark.parametrize("cond", [{"a": 1}, [1, 2]])
def test_conditions_of_any_value_are_answered(cond: Any) -> None:
    m = machine()
    assert differs(m, ir.Lit("1", "int", HERE), cond, Env(m.program.root.env, "block")) is False
