"""Fixes as edits of the sources: proposed from findings, tried in memory, kept only where the check then agrees.

``text`` and ``spelling`` read and edit source text, ``bench`` finds where names are defined, ``remedies/`` propose,
``trial`` makes edits in memory and ``judge`` says whether they may stay, ``apply`` tries them in rounds, ``write``
puts them on disk or prints their difference.
"""

from cutecheck.engine.fixes.apply import Applied, FixRun, fix_all
from cutecheck.engine.fixes.attach import with_fixes
from cutecheck.engine.fixes.write import RefusedError, difference, write_all

__all__ = ["Applied", "FixRun", "RefusedError", "difference", "fix_all", "with_fixes", "write_all"]
