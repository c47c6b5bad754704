"""Numbers, their types and sizes, as g++ 12 prints them."""

from pathlib import Path

import pytest

from cutecheck.tests.source.shown import kernel, number

KERNEL = kernel("""#include <cute/tensor.hpp>
using namespace cute;
""")


@pytest.mark.parametrize(
    ("body", "shown", "value"),
    [
        (r"int c = '\101' + '\x10';", "c", 81),
        (r"int c = '\0' + '\12' + '\n';", "c", 20),
        (r"int c = '\x80';", "c + 200", 72),
        ("", 'sizeof("abc")', 4),
        ("", "sizeof(x++) + x", 4),
        ("int q = sizeof(y = 3);", "y * 10 + q", 84),
        ("decltype(++x) q = y; q = 5;", "x * 10 + y", 5),
    ],
)
def test_the_number_that_a_compiled_program_prints(tmp_path: Path, body: str, shown: str, value: int) -> None:
    assert number(tmp_path, KERNEL, body, shown) == value
