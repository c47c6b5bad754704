"""The DSL tier: configurations of the Python DSL traced by the DSL itself, in a child process, and compared."""

from cutecheck.exec.dsl.tier import DslOptions, confirm, trace_script

__all__ = ["DslOptions", "confirm", "trace_script"]
