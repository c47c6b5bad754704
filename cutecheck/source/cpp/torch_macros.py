"""PyTorch's macros that choose a type, as ATen/Dispatch.h means them: extensions are read where its headers are not.

What is chosen from is a case each; the type of a case is what ``c10::impl::ScalarTypeToCPPTypeT`` says of it.
"""

from __future__ import annotations

_FLOATING = ("Double", "Float")
_REDUCED = ("Half", "BFloat16")
_INTEGRAL = ("Byte", "Char", "Int", "Long", "Short")
_COMPLEX = ("ComplexDouble", "ComplexFloat")
_GROUPS = {
    "FLOATING_TYPES": _FLOATING,
    "FLOATING_TYPES_AND_HALF": (*_FLOATING, "Half"),
    "REDUCED_FLOATING_TYPES": _REDUCED,
    "INTEGRAL_TYPES": _INTEGRAL,
    "ALL_TYPES": (*_INTEGRAL, *_FLOATING),
    "FLOATING_AND_COMPLEX_TYPES": (*_FLOATING, *_COMPLEX),
    "ALL_TYPES_AND_COMPLEX": (*_INTEGRAL, *_FLOATING, *_COMPLEX),
}
_MOST = 5  # types that are named beside those of a group


def _case(hint: str, of: str, run: str = "__VA_ARGS__()") -> str:
    return f"case {of}: {{ using {hint} = c10::impl::ScalarTypeToCPPTypeT<{of}>; return {run}; }}"


def _switch(cases: str) -> str:
    return f"[&] {{ switch (TYPE) {{ {cases} default: TORCH_CHECK(false, NAME); }} }}()"


def _macros() -> dict[str, tuple[tuple[str, ...], str]]:
    """Parameters before the variadic ones, and body."""
    made: dict[str, tuple[tuple[str, ...], str]] = {
        "AT_DISPATCH_SWITCH": (("TYPE", "NAME"), _switch("__VA_ARGS__")),
        "AT_DISPATCH_CASE": (("OF",), _case("scalar_t", "OF")),
        "AT_PRIVATE_CASE_TYPE_USING_HINT": (("OF", "HINT"), _case("HINT", "OF")),
        "AT_PRIVATE_CASE_TYPE": (("NAME", "OF"), _case("scalar_t", "OF")),
        "AT_DISPATCH_INDEX_TYPES": (
            ("TYPE", "NAME"),
            _switch("".join(_case("index_t", f"at::ScalarType::{t}") for t in ("Int", "Long"))),
        ),
    }
    for group, types in _GROUPS.items():
        cases = "".join(_case("scalar_t", f"at::ScalarType::{t}") for t in types)
        made[f"AT_DISPATCH_CASE_{group}"] = ((), cases)
        made[f"AT_DISPATCH_{group}"] = (("TYPE", "NAME"), _switch(cases))
        for count in range(1, _MOST + 1):
            named = tuple(f"OF{i}" for i in range(count))
            name = f"{group}_AND{'' if count == 1 else count}"
            more = cases + "".join(_case("scalar_t", of) for of in named)
            made[f"AT_DISPATCH_CASE_{name}"] = (named, more)
            made[f"AT_DISPATCH_{name}"] = ((*named, "TYPE", "NAME"), _switch(more))
    return made


TORCH_MACROS = _macros()
