"""Building obligations: stable ids and one object per question."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from cutecheck.model.ints import Condition
from cutecheck.model.prove.obligation import Obligation, ParamDomain
from cutecheck.model.prove.properties import PROPERTY_NAMES, Payload

_INTERNED: dict[Obligation, Obligation] = {}


def _digest(*parts: object) -> str:
    return hashlib.sha256("\x1f".join(map(repr, parts)).encode()).hexdigest()[:16]


def make_obligation(
    payload: Payload,
    subjects: Sequence[str] = (),
    *,
    params: Mapping[str, ParamDomain] | None = None,
    hypotheses: Sequence[Condition] = (),
    assumptions: Sequence[str] = (),
    scope: str = "",
    arch: str = "",
    span: object | None = None,
) -> Obligation:
    """The obligation that ``payload`` holds for all ``params`` meeting ``hypotheses``.

    The id is a hash of the question, its subjects and its place: equal on every run and platform. Equal obligations
    are one object.
    """
    name = PROPERTY_NAMES[type(payload)]
    domains = tuple(sorted((params or {}).items()))
    given = tuple(hypotheses)
    digest = _digest(name, payload, domains, given, arch, tuple(subjects), span)
    obligation = Obligation(
        id=f"{name}-{digest}",
        property=name,
        subjects=tuple(subjects),
        objects=payload,
        params=domains,
        hypotheses=given,
        assumptions=tuple(assumptions),
        scope=scope,
        arch=arch,
        span=span,
    )
    return _INTERNED.setdefault(obligation, obligation)
