"""Kernels in strings are not read, and the report says where they are."""

from pathlib import Path

import pytest

from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

KERNEL = "#include <cute/tensor.hpp>\n__global__ void k() {}\n"


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.py", f'import torch\nsource = r"""\n{KERNEL}"""\n', 2),
        ("a.py", f"one = '''x'''\nmod = cupy.RawModule(code='''{KERNEL}''')\n", 2),
        ("a.cpp", f'\nchar const* s = R"cuda(\n{KERNEL})cuda";\n', 2),
        ("a.py", 'import cutlass.cute as cute\n"""As `__global__` of C++, in words."""\n', 0),
        ("a.py", f"import cutlass.cute as cute\n# {KERNEL.replace(chr(10), '; ')}\n", 0),
        ("a.cu", KERNEL, 0),
    ],
)
def test_a_kernel_in_a_string_is_a_line_of_the_report(tmp_path: Path, name: str, text: str, line: int) -> None:
    (tmp_path / name).write_text(text)
    notes = extract(ExtractRequest((tmp_path,))).notes
    said = (f"{name}:{line}: CUDA C++ in a string is not checked (put it into a file of its own)",)
    assert notes == (said if line else ())
