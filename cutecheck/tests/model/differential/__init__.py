"""Fresh random cases, compiled with CuTe's own headers in one translation unit and compared with the model.

``python -m cutecheck.tests.model.differential --cases 2000 --seed 1`` runs it at scale; the test suite runs a few.
A row is a function, arguments (model values) and template arguments. The model's verdict (text, or CuteError) must be
CuTe's: accepted rows are compiled and run, refused rows are compiled and must fail on their line.
"""

from cutecheck.tests.model.differential.compare import Mismatch, Tally, run
from cutecheck.tests.model.differential.compiling import attribute_errors, compile_rows
from cutecheck.tests.model.differential.generator import Generator
from cutecheck.tests.model.differential.recipes import RECIPES, random_row
from cutecheck.tests.model.differential.spelling import Row, UndefinedError, cpp, describe

__all__ = [
    "RECIPES", "Generator", "Mismatch", "Row", "Tally", "UndefinedError", "attribute_errors", "compile_rows", "cpp",
    "describe", "random_row", "run",
]  # fmt: skip
