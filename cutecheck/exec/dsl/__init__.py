"""The DSL tier: configurations of the Python DSL traced by the DSL itself, in a child process, and compared."""

from cutecheck.exec.dsl.tier import DslOptions, confirm

__all__ = ["DslOptions", "confirm"]
