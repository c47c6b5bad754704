"""Facts extracted from sources: the only thing rules see."""

from cutecheck.facts.core import (
    ELEMENT_READ,
    ELEMENT_STORED,
    NOT_WALKED,
    PIPELINE,
    Bindings,
    Bound,
    Call,
    Event,
    Facts,
    Guard,
    Launch,
    Lint,
    Loop,
    Predicate,
    Site,
    SiteKind,
    SiteStatus,
    SmemBuffer,
    SourceError,
)
from cutecheck.facts.hypothesis import Hypothesis
from cutecheck.facts.span import Span, Unknown
from cutecheck.facts.tensor import Provenance, Space, TensorFact

__all__ = [
    "ELEMENT_READ",
    "ELEMENT_STORED",
    "NOT_WALKED",
    "PIPELINE",
    "Bindings",
    "Bound",
    "Call",
    "Event",
    "Facts",
    "Guard",
    "Hypothesis",
    "Launch",
    "Lint",
    "Loop",
    "Predicate",
    "Provenance",
    "Site",
    "SiteKind",
    "SiteStatus",
    "SmemBuffer",
    "SourceError",
    "Space",
    "Span",
    "TensorFact",
    "Unknown",
]
