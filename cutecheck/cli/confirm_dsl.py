"""The DSL tier: what it says of every site of the Python DSL."""

from __future__ import annotations

import sys

from cutecheck.cli.confirm_host import site_outcome
from cutecheck.cli.confirm_tiers import Request, TierOutcome
from cutecheck.exec.headers import program


def outcome(request: Request) -> TierOutcome:
    """Trace the sites' configurations with the installed DSL."""
    from cutecheck.exec.dsl import DslOptions, confirm

    python = interpreter(request)
    made = confirm(request.facts, DslOptions(python))
    tool = f"dsl tier unavailable: {made.unavailable}" if made.unavailable else f"dsl tier: {python}"
    if made.version:
        tool += f", nvidia-cutlass-dsl {made.version}"
    head = {"python": python, "dsl_version": made.version or None}
    return site_outcome("dsl", made.confirmations, tool, head)


def interpreter(request: Request) -> str:
    """The interpreter that has the DSL: ``--dsl-python``, else this one. Raises ValueError where there is no such."""
    given = request.arguments.dsl_python
    python = program(given) if given else sys.executable
    if python is None:
        raise ValueError(f"--dsl-python: no program {given}")
    return python
