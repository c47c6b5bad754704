"""Names of architectures, as nvcc has them."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NAME = re.compile(r"sm_\d{2,3}[af]?")
_NUMBER = re.compile(r"(?:sm|compute)?[-_]?(\d{2,3}[af]?)", re.IGNORECASE)


def architectures(texts: Iterable[str]) -> tuple[str, ...]:
    """The names in lists with commas, each once. ValueError for what is none: ``'90a' (did you mean 'sm_90a'?)``."""
    found = tuple(dict.fromkeys(part.strip() for text in texts for part in text.split(",") if part.strip()))
    for name in found:
        if not _NAME.fullmatch(name):
            near = _NUMBER.fullmatch(name)
            hint = f"did you mean 'sm_{near[1].lower()}'?" if near else "sm_80, sm_90a, sm_100a ..."
            raise ValueError(f"no architecture: '{name}' ({hint})")
    return found
