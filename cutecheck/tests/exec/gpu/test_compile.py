"""Generated kernels: their text, and cubins of it where a device compiler is present."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.exec import child
from cutecheck.exec.gpu import codegen, counters, devices, gemms, measure
from cutecheck.exec.gpu.compile import Compiled, Compiler, NoCompiler, Refusal, compile_units, find_compiler, refusals
from cutecheck.exec.gpu.from_facts import probe_of
from cutecheck.exec.gpu.from_facts_copies import NoProbeError
from cutecheck.exec.gpu.measure import values
from cutecheck.exec.gpu.nvrtc import without_unused
from cutecheck.exec.gpu.probe import CopyProbe
from cutecheck.exec.gpu.results import Bench, Measured
from cutecheck.exec.gpu.sources import by_source
from cutecheck.exec.gpu.tier import FindingResult, by_site, coverage, finding_result, site_probe, unavailable
from cutecheck.facts import Facts
from cutecheck.findings import Finding
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
    with pytest.raises(NoProbeError, match="different sizes"):
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


LOG = """/include/cute/atom/copy_atom.hpp(206): error: static assertion failed with "too few"
    CUTE_STATIC_ASSERT_V(x, "too few");
    ^
          detected during:
            instantiation of class "cute::TiledCopy<...>" at line 414
            instantiation of "auto make" at line 11 of probe.cu

probe.cu(30): error: identifier "x" is undefined
    y = x;
        ^

2 errors detected in the compilation of "probe.cu".
"""


def test_errors_name_the_lines_of_the_source_that_caused_them() -> None:
    assert list(refusals(LOG, "probe.cu")) == [
        Refusal('static assertion failed with "too few"', (11,)),
        Refusal('identifier "x" is undefined', (30,)),
    ]


@pytest.mark.skipif(isinstance(COMPILER, NoCompiler), reason=getattr(COMPILER, "reason", ""))
def test_a_compiler_that_does_not_work_refuses_nothing(facts: Facts, tmp_path: Path) -> None:
    assert isinstance(COMPILER, Compiler)
    (no_library := tmp_path / "library").touch()
    probe = probe_of(facts.events[0])
    (tmp_path / "none/cute").mkdir(parents=True)
    (tmp_path / "none/cute/tensor.hpp").write_text("#error headers of another kind\n")
    for broken, why in (
        (replace(COMPILER, include=(str(tmp_path), *COMPILER.include[1:])), "cute/tensor.hpp"),
        (replace(COMPILER, include=(str(tmp_path / "none"), *COMPILER.include[1:])), "headers of another kind"),
        (replace(COMPILER, path=str(no_library)), ""),
    ):
        done, running = values([probe], Bench(broken, "sm_90a", cache=tmp_path))
        assert done[probe].outcome == "unavailable" and why in done[probe].reason and not running


@pytest.mark.parametrize(("code", "refused"), [(None, 0), (-9, 0), (1, 2)])
def test_a_compiler_that_is_stopped_refuses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int | None, refused: int
) -> None:
    monkeypatch.setattr(child, "run", lambda *_: child.Ended(code, "", LOG, 1.0))
    (tmp_path / "library").touch()
    compiler = Compiler("nvrtc", str(tmp_path / "library"), ("none",), "4.7.0")
    (made,) = compile_units([codegen.Unit("probe", "")], "sm_90a", compiler, tmp_path)
    assert made.cubin is None and made.failure and len(made.errors) == refused


def test_a_kernel_whose_compiler_was_stopped_is_not_refused(facts: Facts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        measure, "compile_units", lambda units, *_: [Compiled(None, "stopped after 240 s") for _ in units]
    )
    monkeypatch.setattr(measure, "headers_failure", lambda *_: "")
    probe = probe_of(facts.events[0])
    done, running = values([probe], Bench(Compiler("nvcc", "/nvcc", (), "4.7.0"), "sm_90a"))
    assert (done[probe].outcome, done[probe].reason) == ("unavailable", "not compiled: stopped after 240 s")
    assert not running


def test_a_file_that_is_not_found_is_no_refusal() -> None:
    log = 'probe.cu(3): catastrophic error: cannot open source file "cute/tensor.hpp"\n  #include <cute/tensor.hpp>\n'
    assert not list(refusals(log, "probe.cu"))
    assembler = "ptxas application ptx input, line 36; error   : Instruction 'wgmma.fence' not supported on .target\n"
    assert [r.message for r in refusals(assembler, "probe.cu")] == [
        "Instruction 'wgmma.fence' not supported on .target"
    ]
    assert list(refusals(LOG + log, "probe.cu")) == list(refusals(LOG, "probe.cu"))


def test_unused_variables_leave_the_symbols_of_a_cubin() -> None:
    """A small ELF file by hand: sections null, .strtab, .symtab with relocations; `k` is used, `a` only declared."""
    names = b"\0a\0k\0f\0"
    symbols = [(0, 0), (1, 1), (3, 1), (5, 2)]  # name, type: nothing, objects a and k, function f
    table = b"".join(struct.pack("<IBBHQQ", name, kind, 0, 1, 7, 8) for name, kind in symbols)
    relocations = b"".join(struct.pack("<QQq", 8 * n, n << 32 | 2, 0) for n in (1, 2, 3))
    places, body = [], b""
    for data in (names, table, relocations):
        places.append((64 + len(body), len(data)))
        body += data
    kinds = [(3, 0), (2, 1), (4, 2)]
    headers = bytes(64) + b"".join(
        struct.pack("<IIQQQQIIQQ", 0, kind, 0, 0, at, size, link, 0, 8, 24)
        for (kind, link), (at, size) in zip(kinds, places, strict=True)
    )
    start = b"\x7fELF\x02\x01".ljust(0x28, b"\0") + struct.pack("<Q", 64 + len(body))
    cubin = (start.ljust(0x3A, b"\0") + struct.pack("<HH", 64, 4)).ljust(64, b"\0") + body + headers
    declared = b".global .align 4 .b8 a[4] = {3};\n.global .align 4 .b8 k[4] = {1};\n\n"
    ptx = declared + b".entry f() { ld.global.u32 %r1, [k]; }\n"
    out = without_unused(cubin, ptx)
    at = places[1][0]
    kept = [out[at + 24 * n : at + 24 * (n + 1)] for n in range(4)]
    assert kept[1] == bytes(24) and kept[2:] == [table[48:72], table[72:96]]
    assert len(out) == len(cubin)
    assert struct.unpack_from("<Q", out, 64 + len(body) + 3 * 64 + 32) == (48,)
    assert out[places[2][0] : places[2][0] + 48] == relocations[24:]
    assert without_unused(b"no ELF", ptx) == b"no ELF"


def checked(name: str) -> tuple[Facts, tuple[Finding, ...]]:
    report = check(inputs([str(FIXTURES / name)]), replace(Settings(), arch=("sm_90a",)))
    return report.facts, report.findings


def test_a_finding_is_confirmed_by_an_error_at_its_lines_only() -> None:
    finding = next(f for f in checked("atom_values.cu")[1] if f.code == "CUT301")
    result = FindingResult(finding, "unavailable", "nothing runs it")
    refusal = Refusal("too few", (finding.span.line,))
    assert by_source(result, Compiled(None, errors=(refusal,))).status == "confirmed"
    elsewhere = Refusal("too few", (finding.span.end_line + 1,))
    assert by_source(result, Compiled(None, errors=(elsewhere,))) == result
    assert by_source(result, None) == result


def test_coverage_without_a_copy_is_counted_on_one_tile() -> None:
    facts, findings = checked("coverage.cu")
    found = [f for f in findings if f.code == "CUT201"]
    probes = [site_probe(f, facts.sites) for f in found]
    assert len(found) == 2 and all(probes)
    assert "16 missed" in coverage(probes[0])
    result = FindingResult(found[0], "unavailable", "nothing runs it")
    assert by_site(result, probes[0], Measured("equal")).status == "confirmed"
    assert by_site(result, probes[0], Measured("wrong")) == result
