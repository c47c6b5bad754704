"""Obligations over model objects: properties, engines, verdicts.

``make_obligation(payload, ...)`` states a question, ``prove(obligation)`` answers it with an ``Outcome``. Modules:
``properties`` (what can be asked), ``obligation`` (verdicts and evidence), ``scheduler`` (which engines, how their
answers combine), ``engines/`` (one file each), ``replay`` (plain-integer confirmation of counterexamples),
``suggest`` (swizzles, paddings and XOR layouts for a whole buffer).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cutecheck.model.prove.answer import Options
    from cutecheck.model.prove.canonical import question
    from cutecheck.model.prove.make import make_obligation
    from cutecheck.model.prove.obligation import (
        EngineRun,
        FiniteSet,
        Multiple,
        Obligation,
        Outcome,
        ParamDomain,
        Range,
        Verdict,
        Witness,
    )
    from cutecheck.model.prove.scheduler import prove

__all__ = [
    "EngineRun",
    "FiniteSet",
    "Multiple",
    "Obligation",
    "Options",
    "Outcome",
    "ParamDomain",
    "Range",
    "Verdict",
    "Witness",
    "make_obligation",
    "prove",
    "question",
]

_WHERE = {"Options": "answer", "make_obligation": "make", "question": "canonical", "prove": "scheduler"}


def __getattr__(name: str) -> object:
    """Read when asked for: whoever only reads verdicts needs no engines."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_WHERE.get(name, 'obligation')}"), name)
