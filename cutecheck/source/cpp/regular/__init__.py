"""Length-preserving rewriting of preprocessed C++ so that tree-sitter-cuda reads what the compiler would read."""

from __future__ import annotations

from cutecheck.source.cpp.regular.result import Blank, Regular
from cutecheck.source.cpp.regular.rules import regularise

__all__ = ["Blank", "Regular", "regularise"]
