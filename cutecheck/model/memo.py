"""Results of pure functions of the model, kept by the values of their arguments.

One kernel under other flags or element types asks for the same partitions again and again. What a function answers
depends on its arguments, on the hypotheses in force (``ints.assuming``) and on the version of CuTe, or the DSL.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from cutecheck.model.ints import hypotheses_in_force
from cutecheck.model.version import cute_version, of_the_dsl

F = TypeVar("F", bound=Callable[..., Any])
_ABSENT = object()
MOST = 1 << 14  # results kept a function; then the table starts afresh


def memoised(function: F) -> F:
    """Keep the results of a function of hashable positional arguments. What it raises is not kept."""
    table: dict[Any, Any] = {}

    @wraps(function)
    def wrapper(*args: Any) -> Any:
        key = (args, hypotheses_in_force(), cute_version(), of_the_dsl())
        try:
            found = table.get(key, _ABSENT)
        except TypeError:  # an argument that cannot be a key
            return function(*args)
        if found is _ABSENT:
            found = function(*args)
            if len(table) >= MOST:
                table.clear()
            table[key] = found
        return found

    return cast("F", wrapper)
