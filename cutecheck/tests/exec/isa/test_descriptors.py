"""Operands of WGMMA: a host compiler prints any layout, a device compiler refuses those that no descriptor states."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from cutecheck.exec.gpu.compile import NoCompiler, find_compiler
from cutecheck.exec.headers import NoHeaders, find_headers
from cutecheck.exec.host import confirm as on_host
from cutecheck.exec.isa import tier
from cutecheck.exec.isa.compile import Bench, Emitted
from cutecheck.exec.isa.from_facts import NoCallError, call_of, is_descriptor
from cutecheck.exec.isa.probe import FragmentCall
from cutecheck.facts import Call, Facts, Unknown
from cutecheck.source.extract import ExtractRequest, extract

FIXTURES = Path(__file__).parents[3] / "fixtures/cpp"
FOUND, HEADERS = find_compiler(), find_headers()
ASSERTED = 'does not compile: static assertion failed with "Not a canonical GMMA_K Layout"'


@pytest.fixture(scope="module")
def facts() -> Facts:
    return extract(ExtractRequest(paths=(FIXTURES / "wgmma_tiles.cu",), archs=("sm_90a",)))


def descriptors(facts: Facts) -> list[Call]:
    return [c for c in facts.calls if is_descriptor(c)]


def test_what_is_asked(facts: Facts) -> None:
    calls = [call_of(c) for c in descriptors(facts)]
    assert all(isinstance(c, FragmentCall) and c.operand == "A" for c in calls)
    assert [bool(getattr(c, "refused", "")) for c in calls] == [False, True, False]
    open_one = replace(descriptors(facts)[0], result=Unknown("not followed"))
    with pytest.raises(NoCallError, match="not followed"):
        call_of(open_one)


@pytest.mark.parametrize(
    ("refused", "failure", "status"),
    [
        ("", "", "confirmed"),
        ("not canonical", ASSERTED, "confirmed"),
        ("not canonical", 'does not compile: no instance of function template "cute::SM90::GMMA::layout_type" matches',
         "confirmed"),
        ("", ASSERTED, "contradicted"),
        ("not canonical", "", "contradicted"),
        ("not canonical", "does not compile: expected a ;", "unavailable"),
        ("", "the compiler has no sm_90a", "unavailable"),
    ],
)  # fmt: skip
def test_either_answer_can_be_wrong(facts: Facts, refused: str, failure: str, status: str) -> None:
    call = call_of(descriptors(facts)[0])
    assert isinstance(call, FragmentCall)
    one = Emitted(failure=failure)
    assert tier.judged("sm_90a", replace(call, refused=refused), Counter(), one).status == status


@pytest.mark.skipif(isinstance(FOUND, NoCompiler), reason=getattr(FOUND, "reason", "compiler found"))
@pytest.mark.skipif(isinstance(HEADERS, NoHeaders), reason=getattr(HEADERS, "reason", "headers found"))
def test_gxx_takes_what_the_device_compiler_refuses(facts: Facts, tmp_path: Path) -> None:
    """The element-wise swizzle is a layout like any other to g++; as an operand of WGMMA it does not compile."""
    assert not isinstance(FOUND, NoCompiler) and not isinstance(HEADERS, NoHeaders)
    element_wise = tuple(s for s in facts.sites if s.symbol == "ElementWise")
    printed = on_host(replace(facts, sites=element_wise), HEADERS, lambda path: FIXTURES / path)
    assert {c.status for c in printed} == {"confirmed"}
    calls = tuple(descriptors(facts))
    # and the other way round: each is said to be what it is not
    lies = tuple(
        replace(c, result=Unknown("CuTe rejects it", rejected=True) if _fine(c) else c.arguments[1]) for c in calls
    )
    everything = Facts(calls=(*calls, *lies))
    results = tier.confirm(everything, Bench(FOUND, None, tmp_path, 1), tier.IsaOptions(("sm_80", "sm_90a")))
    assert [r.status for r in results] == ["confirmed"] * 3 + ["contradicted"] * 3
    assert [[run.arch for run in r.runs] for r in results] == [["sm_90a"]] * 6
    assert "a layout that descriptors state" in results[0].reason and "refused: " in results[1].reason


def _fine(call: Call) -> bool:
    return not isinstance(call.result, Unknown)
