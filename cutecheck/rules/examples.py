"""The examples of the rules: whole sources, but for what every C++ source of CuTe begins with."""

from __future__ import annotations

import inspect

PREAMBLE = """#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

"""


def is_python(example: str) -> bool:
    """True for an example in the Python DSL."""
    return inspect.cleandoc(example).startswith("import ")


def source(example: str) -> str:
    """The example as a file that can be checked; its own indentation and the class's are removed."""
    text = inspect.cleandoc(example) + "\n"
    return text if is_python(example) or "#include" in text else PREAMBLE + text


def file_name(example: str) -> str:
    """A name whose suffix tells the front end which language it is."""
    return "example.py" if is_python(example) else "example.cu"
