"""Where the package of the Python DSL is."""

from __future__ import annotations

import os
from pathlib import Path


def find_cutlass(roots: tuple[Path, ...]) -> Path | None:
    """The folder with the package ``cutlass`` of the DSL: installed, or in the checkout of the scanned sources."""
    import importlib.util

    given = os.environ.get("CUTECHECK_CUTLASS_DSL")
    if given:
        return Path(given)
    try:
        spec = importlib.util.find_spec("cutlass")
    except (ImportError, ValueError):
        spec = None
    if spec is not None and spec.origin and (Path(spec.origin).parent / "cute").is_dir():
        return Path(spec.origin).parent.parent
    for root in roots:
        for at in (root.resolve(), *root.resolve().parents):
            if (at / "python" / "CuTeDSL" / "cutlass" / "cute").is_dir():
                return at / "python" / "CuTeDSL"
    return None
