"""``check --watch``: the same check again after every change of a source or configuration below the paths."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from cutecheck.cli.output import fail
from cutecheck.source.discover import SUFFIXES

_WATCHED = (*SUFFIXES, ".ipynb", ".toml")


def watch(arguments: argparse.Namespace, check: Callable[[argparse.Namespace], int]) -> int:
    """Check until interrupted; the exit code of the last check."""
    as_json = arguments.output_format == "json"
    try:
        import watchfiles
    except ModuleNotFoundError:
        return fail("--watch needs watchfiles: pip install 'cutecheck[watch]'", as_json)
    folders = [Path(p) for p in (*arguments.paths, *([arguments.tree] if arguments.tree else []))]
    missing = [str(p) for p in folders if not p.exists()]
    if missing:
        return fail(f"{missing[0]}: no such file or folder", as_json)
    code = check(arguments)
    sys.stdout.flush()
    changes = watchfiles.watch(
        *folders, watch_filter=lambda _, path: path.endswith(_WATCHED), raise_interrupt=False, debounce=300
    )
    for changed in changes:
        names = sorted({Path(path).name for _, path in changed})
        sys.stdout.flush()
        print(f"cutecheck: {', '.join(names[:3])}{' and more' if len(names) > 3 else ''} changed", file=sys.stderr)
        code = check(arguments)
        sys.stdout.flush()
    return code
