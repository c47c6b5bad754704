"""Calls of library functions that write nothing of the program's lose nothing that leaked."""

from pathlib import Path

import pytest

from cutecheck.model.notation import show
from cutecheck.tests.source.test_extract import run

CODE = """
#include <string>
#include <vector>
Thing thing();
void host(char const* name, int* elsewhere, std::vector<int> lengths) {
  %s
  auto any = thing();
  int n = 4;
  std::vector<int*> kept;
  kept.push_back(&n);
  n = 8;
  %s;
  auto after = make_layout(make_shape(n, _2{}));
}
"""


def after(folder: Path, call: str, using: str = "using namespace std;") -> str:
    (site,) = [s for s in run(folder, CODE % (using, call)).sites if s.symbol.endswith("after")]
    return show(site.value)


@pytest.mark.parametrize(
    "call",
    [
        "cudaGetErrorString(cudaGetLastError())", "cudaMemset(elsewhere, 0, 16)", "lengths.size()", "string(name)",
        "std::vector<int> own; own.data()", "int device; cudaGetDevice(&device)", "getenv(name)", "sqrt(2.0)",
    ],
)  # fmt: skip
def test_what_leaked_stays_known(tmp_path: Path, call: str) -> None:
    assert after(tmp_path, call) == "(8,_2):(_1,8)"


@pytest.mark.parametrize(
    "call",
    [
        "unknown()", "any.size()", "thing().data()", "cudaGetDevice(any.pointer)", "cudaLaunchHostFunc(0, any.f, name)",
    ],
)  # fmt: skip
def test_what_may_write_it_loses_it(tmp_path: Path, call: str) -> None:
    assert "8," not in after(tmp_path, call)


def test_a_name_of_the_standard_library_is_its_own_where_that_is_used(tmp_path: Path) -> None:
    assert "8," not in after(tmp_path, "string(name)", "")


def test_what_is_given_an_address_may_write_there(tmp_path: Path) -> None:
    assert "8," not in after(tmp_path, "cudaGetDevice(&n)")
