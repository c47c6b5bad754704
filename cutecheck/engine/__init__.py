"""Select, extract, check, suppress: the thin layer between the command line and the rooms."""

from cutecheck.engine.check import check_facts
from cutecheck.engine.status import Exit, exit_code

__all__ = ["Exit", "check_facts", "exit_code"]
