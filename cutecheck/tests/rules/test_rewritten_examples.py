"""The C++ examples of the rules as other authors would write them: what means the same has the same findings."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules import RULES, Rule
from cutecheck.rules.examples import is_python, source

_STATEMENT = re.compile(r"(?m)^(\s*)((?:copy|gemm|clear)\([^;{}]*\);)$")
_MADE = re.compile(r"(?m)^(\s*)(?:Tensor|auto) (\w+) = ([^;{}\[\]]*\)(?:\(.*\))?);$")
_SEVERAL = re.compile(r", \w+ = ")
_CONSTANT = re.compile(r"(?<![\w.])_([1-9]\d*)\b")
_MOVE = """namespace other {
template <class S, class D> __device__ void move(S const& s, D&& d) { cute::copy(s, d); }
template <class C, class S, class D> __device__ void move(C const& c, S const& s, D&& d) { cute::copy(c, s, d); }
}
"""
Rewrite = Callable[[str], str]


def _around(before: str, after: str) -> Rewrite:
    """Copies, products and clears with something around them."""
    return lambda text: _STATEMENT.sub(lambda m: f"{m[1]}{before}{m[2]}{after}", text)


def _moved(text: str) -> str:
    """Copies by a function of the program's own."""
    head, using, body = text.partition("using namespace cute;\n")
    calls = re.sub(r"(?m)^(\s*)copy\(", r"\1other::move(", body)
    return head + using + (_MOVE if calls != body else "") + calls


def _referred(text: str) -> str:
    """Variables that are references to others."""
    return _MADE.sub(
        lambda m: m[0] if _SEVERAL.search(m[3]) else f"{m[1]}auto {m[2]}_made = {m[3]}; auto& {m[2]} = {m[2]}_made;",
        text,
    )


def _in_tuples(text: str) -> str:
    """Variables that are taken from tuples."""
    return _MADE.sub(
        lambda m: m[0] if _SEVERAL.search(m[3]) else f"{m[1]}auto {m[2]} = get<1>(make_tuple(_0{{}}, {m[3]}));", text
    )


REWRITES: dict[str, Rewrite] = {
    "by a function": _moved,
    "by a closure": _around("[&] { ", " }();"),
    "in a block": _around("do { ", " } while (false);"),
    "where it is always so": _around("if constexpr (sizeof(int) == 4) { ", " }"),
    "references": _referred,
    "tuples": _in_tuples,
    "constants": lambda text: _CONSTANT.sub(r"Int<(\1)>", text),
    "line ends": lambda text: text.replace("\n", "\r\n"),
}
EXAMPLES = [
    pytest.param(rule, text, wrong, id=f"{rule.code}-{'invalid' if wrong else 'valid'}{i}")
    for rule in RULES
    for wrong, texts in ((False, rule.valid), (True, rule.invalid))
    for i, text in enumerate(texts)
    if not is_python(text) and "__global__" in text and _STATEMENT.search(source(text))
]


@pytest.mark.parametrize(("rule", "example", "wrong"), EXAMPLES)
def test_what_means_the_same(rule: type[Rule], example: str, wrong: bool, tmp_path: Path) -> None:
    text = source(example)
    for name, rewrite in REWRITES.items():
        again = rewrite(text)
        if again == text:
            continue
        folder = tmp_path / name.replace(" ", "_")
        folder.mkdir()
        (folder / "example.cu").write_bytes(again.encode())
        report = check(inputs([str(folder)]), Settings(arch=rule.arch, select=(rule.code,)))
        assert not report.failures and not report.errors, name
        assert bool(report.findings) == wrong, name
