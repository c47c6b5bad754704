"""What may be written into code: type names, and nothing that could be anything else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecheck.exec.names import NotATypeError, checked


@pytest.mark.parametrize(
    "text",
    [
        "Traits",
        "ns::Traits<128, -1, true, cutlass::half_t>::SmemLayoutQ",
        "::ns::A<B<C<1>>, unsigned int>::type",
        "cute::SM90::GMMA::MMA_64x64x16_F32F16F16_SS<cute::SM90::GMMA::Major::K, cute::SM90::GMMA::Major::MN>",
        "long unsigned int",
        "Config<>",
    ],
)
def test_type_names_pass_unchanged(text: str) -> None:
    assert checked(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a::",
        "a b",
        "a<1",
        "a<1>>",
        "a<,>",
        "f()",
        "a; system",
        'a<"x">',
        "a\n#include <x>",
        "a<1+1>",
        "a<asm>",
        "decltype<x>",
        "operator",
        "a::template b<1>",
        "Tensor<gmem,(_8,_4):(_1,_8)>",
        "ａ",
        "a//b",
        "a\\b",
    ],
)
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(NotATypeError):
        checked(text)


@given(st.text(alphabet="ab1_<>,: \n;(){}\"'\\#/-+*&=.", max_size=24))
def test_nothing_that_passes_can_end_a_declaration(text: str) -> None:
    try:
        passed = checked(text)
    except NotATypeError:
        return
    assert not set(passed) & set(";(){}\"'\\#/+*&=.")
    assert passed.count("<") == passed.count(">")
