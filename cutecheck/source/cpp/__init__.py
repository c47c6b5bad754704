"""C++ and CUDA sources: preprocessing, parsing and lowering to the IR.

``text``, ``lexer``: characters, tokens and places. ``strip``, ``directives``, ``conditions``, ``defines``,
``expand``: the preprocessor. ``cursor`` → ``types`` → ``expressions`` → ``statements`` → ``specifiers`` →
``classes`` → ``declarations``: the parser, one class in layers. ``scan``: names found without parsing.
``unit``: a file from bytes to IR. ``tree``: the files of a run, under the macros of what they include.
"""

from cutecheck.source.cpp.defines import Defines, Macro
from cutecheck.source.cpp.directives import depends_on_arch
from cutecheck.source.cpp.unit import load, lower_expression

__all__ = ["Defines", "Macro", "depends_on_arch", "load", "lower_expression"]
