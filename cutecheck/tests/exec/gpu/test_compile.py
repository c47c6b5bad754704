"""Generated kernels: their text, and cubins of it where a device compiler is present."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.exec.gpu import codegen, counters, devices, gemms
from cutecheck.exec.gpu.compile import Compiler, NoCompiler, compile_units, find_compiler
from cutecheck.exec.gpu.from_facts import probe_of
from cutecheck.exec.gpu.from_facts_copies import NoProbeError
from cutecheck.exec.gpu.probe import CopyProbe
from cutecheck.exec.gpu.tier import finding_result, unavailable
from cutecheck.facts import Facts
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

FIXTURES = Path(__file__).parents[3] / "fixtures" / "cpp"
COMPILER = find_compiler()


@pytest.fixture(scope="module")
def facts() -> Facts:
    return extract(ExtractRequest(paths=(FIXTURES / "ldmatrix_rows.cu",), archs=("sm_90a",)))


def test_a_fixture_becomes_two_kernels(facts: Facts) -> None:
    probes = [probe_of(e) for e in facts.events]
    units = [codegen.unit(p) for p in probes]
    assert len({u.kernel for u in units}) == 2 and all(u.kernel in u.text for u in units)
    assert all("SM75_U32x4_LDSM_N" in u.text and "cutecheck_gpu::load" in u.text for u in units)
    assert [u.text for u in units] == [codegen.unit(p).text for p in probes]


@pytest.mark.skipif(isinstance(COMPILER, NoCompiler), reason=getattr(COMPILER, "reason", ""))
def test_it_compiles_to_a_cubin(facts: Facts, tmp_path: Path) -> None:
    assert isinstance(COMPILER, Compiler)
    probe = probe_of(facts.events[0])
    for arch in ("sm_80", "sm_90a"):
        made = compile_units([codegen.unit(probe)], arch, COMPILER, tmp_path)[0]
        assert made.failure == "" and made.cubin is not None and made.cubin.read_bytes()[:4] == b"\x7fELF"
        assert compile_units([codegen.unit(probe)], arch, COMPILER, tmp_path)[0].cached


def test_events_without_a_reference_kernel_say_why() -> None:
    facts = extract(ExtractRequest(paths=(FIXTURES / "small_destination.cu",), archs=("sm_90a",)))
    with pytest.raises(NoProbeError, match="without a TiledCopy"):
        probe_of(facts.events[0])


def test_without_a_gpu_the_tier_says_unavailable(facts: Facts, tmp_path: Path) -> None:
    assert isinstance(devices.find_bench({"CUTECHECK_CUTLASS": str(tmp_path)}), str)
    report = unavailable(facts, (), "sm_90a", "no CUDA device")
    assert report.evidence == "measured" and not report.contradicted
    assert report.totals()["events"] == {"confirmed": 0, "contradicted": 0, "unavailable": 2}
    assert {r.reason for r in report.events} == {"no CUDA device"}
    assert finding_result  # used by the command line


def test_counters_are_read_from_ncu() -> None:
    text = (
        '==PROF== Connected\n"ID","Kernel Name","a.sum","b.sum"\n"","","",""\n'
        '"0","cc_1(unsigned int)","1,024","n/a"\n"1","cc_2","7","3"\n'
    )
    assert counters.parsed(text, {"x": "a.sum", "y": "b.sum"}) == [("cc_1", {"x": 1024}), ("cc_2", {"x": 7, "y": 3})]
    assert counters.parsed("==ERROR== no", {"x": "a.sum"}) == []


@pytest.mark.parametrize(
    "name", ("half_t", "bfloat16_t", "tfloat32_t", "float_e4m3_t", "float_e5m2_t", "int8_t", "double")
)
def test_small_integers_survive_encoding(name: str) -> None:
    np = pytest.importorskip("numpy")
    values = np.arange(-2, 3, dtype=np.float64)
    assert gemms.decode(name, gemms.encode(name, values)).tolist() == values.tolist()


def test_copy_probes_are_hashable_and_equal_by_value(facts: Facts) -> None:
    first, again = probe_of(facts.events[0]), probe_of(facts.events[0])
    assert isinstance(first, CopyProbe) and {first: 1}[again] == 1
