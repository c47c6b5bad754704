"""Which CuTe the model follows.

The reference is CUTLASS 4.7; older ones differ where ``docs/cute-versions.md`` says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Version = tuple[int, int]

REFERENCE: Version = (4, 7)
OLDEST: Version = (3, 5)

_VERSION: ContextVar[Version] = ContextVar("cute_version", default=REFERENCE)


_DSL: ContextVar[bool] = ContextVar("of the DSL", default=False)


def parse_version(text: str) -> Version:
    """``4.2``, ``4.2.0`` or ``4.2.0.0`` as a version; ValueError for anything else and for what is not modelled."""
    parts = text.strip().removeprefix("v").split(".")
    if not 2 <= len(parts) <= 4 or not all(p.isdecimal() for p in parts):
        raise ValueError(f"not a CUTLASS version: {text!r}")
    version = (int(parts[0]), int(parts[1]))
    if version < OLDEST:
        raise ValueError(f"CUTLASS {text} is older than {OLDEST[0]}.{OLDEST[1]}, the oldest version modelled")
    return version


def cute_version() -> Version:
    """The version in force."""
    return _VERSION.get()


@contextmanager
def using_cute(version: str | Version) -> Iterator[None]:
    """Follow another version of CuTe inside the block."""
    token = _VERSION.set(parse_version(version) if isinstance(version, str) else version)
    try:
        yield
    finally:
        _VERSION.reset(token)


def of_the_dsl() -> bool:
    """Whether layouts come out as the compiler of the Python DSL has them, where C++ has others."""
    return _DSL.get()


@contextmanager
def following_dsl() -> Iterator[None]:
    """Follow the compiler of the Python DSL inside the block: ``docs/cute-versions.md`` says where it differs."""
    token = _DSL.set(True)
    try:
        yield
    finally:
        _DSL.reset(token)
