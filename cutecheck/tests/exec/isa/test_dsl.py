"""The ISA tier by the DSL's own compiler: what it is given, what is read of it, and the real DSL where there is one."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from cutecheck.cli.app import run as cutecheck
from cutecheck.exec.dsl import DslOptions
from cutecheck.exec.isa import dsl_tier
from cutecheck.exec.isa.compile import find_disassembler
from cutecheck.exec.isa.dsl_calls import kernel
from cutecheck.exec.isa.dsl_compile import DslBench, DslKernel, emitted
from cutecheck.exec.isa.dsl_tier import by_dsl
from cutecheck.exec.isa.from_facts import call_of
from cutecheck.exec.isa.probe import CopyCall, Side
from cutecheck.exec.isa.tier import IsaOptions, IsaResult, confirm
from cutecheck.facts import Facts
from cutecheck.model.dtype import dtype
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Dyn
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle
from cutecheck.source.extract import ExtractRequest, extract

FIXTURES = Path(__file__).parents[3] / "fixtures" / "dsl"
HALF = dtype("half_t")
assert HALF is not None
# answers each call with one ldmatrix, or does what its "how" says
FAKE = """#!{python}
import json, os, pathlib, sys
calls, start, kept = json.load(open(sys.argv[-3])), int(sys.argv[-2]), pathlib.Path(sys.argv[-1])
print("\\n\\x1eversion 9.9", flush=True)
for i, call in list(enumerate(calls))[start:]:
    print(f"\\n\\x1e{{i}}", flush=True)
    if call.get("how") == "crash":
        os.kill(os.getpid(), 8)
    if call.get("how") == "refused":
        print("\\n\\x1d" + json.dumps({{"error": "no"}}), flush=True)
        continue
    (kept / str(i)).mkdir()
    text = ".visible .entry k(\\n)\\n{{\\n\\tldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r1}}, [%r2];\\n}}\\n"
    (kept / str(i) / "k.sm_80.ptx").write_text(text)
    print("\\n\\x1d" + json.dumps({{}}), flush=True)
"""


@pytest.fixture
def fake(tmp_path: Path) -> DslBench:
    program = tmp_path / "python"
    program.write_text(FAKE.format(python=sys.executable))
    program.chmod(0o755)
    return DslBench(DslOptions(str(program)), None)


def facts_of(name: str) -> Facts:
    return extract(ExtractRequest(paths=(FIXTURES / name,)))


def without_cuda(facts: Facts) -> tuple[IsaResult, ...]:
    return confirm(facts, "no NVRTC here")


def test_a_call_of_the_dsl_by_hand() -> None:
    event = next(e for e in facts_of("ldmatrix_rows.py").events if e.span.line > 30)
    made = json.loads(kernel(call_of(event, numbers=False)).text)
    # Sw<3,3,3> of two-byte elements is Sw<3,4,3> of bytes, and the pointer's
    assert made["src"] == {
        "space": "smem", "element": "element('Float16')", "swizzle": "cute.make_swizzle(3, 4, 3)",
        "layout": "cute.make_layout(((8, 1, ), 2, 4, ), stride=((1, 0, ), 2048, 16, ))",
    }  # fmt: skip
    assert made["kind"] == "copy" and made["threads"] == 128 and made["align"] == 16
    assert made["how"].startswith("cute.make_tiled_copy(cute.make_copy_atom(operation(")


def test_run_time_integers_are_parameters_of_the_kernel() -> None:
    rows = Dyn.named("rows", Domain(lo=8, step=8))
    call = CopyCall(None, HALF, Side("gmem", Layout((8, 4), (1, rows))), Side("rmem", Layout((8, 4), (1, 8))), 128)
    made = json.loads(kernel(call).text)
    assert made["how"] == "" and made["align"] == 16
    assert made["src"]["layout"] == "cute.make_layout((8, 4, ), stride=(1, cute.assume(i[0], divby=8), ))"


def test_a_swizzle_below_the_element_is_bytes_all_the_same() -> None:
    inner = Layout((8, 8), (8, 1))
    for width, base in (("uint8_t", 3), ("half_t", 3), ("float", 3), ("double", 3)):
        element = dtype(width)
        assert element is not None
        side = Side("smem", ComposedLayout(Swizzle(1, base, 3), 0, inner))
        made = json.loads(kernel(CopyCall(None, element, side, Side("rmem", inner), 128)).text)
        assert made["src"]["swizzle"] == f"cute.make_swizzle(1, {base + {8: 0, 16: 1, 32: 2, 64: 3}[element.bits]}, 3)"


def test_a_crash_or_a_refusal_hides_no_other(fake: DslBench) -> None:
    made = emitted([DslKernel(json.dumps({"how": how})) for how in ("a", "crash", "refused", "b")], "sm_80", fake)
    assert made.version == "9.9" and made.unavailable == ""
    assert [k.failure for k in made.kernels] == [
        "", "the DSL was ended by signal SIGFPE by it", "the DSL refuses it: no", "",
    ]  # fmt: skip
    assert made.kernels[0] == made.kernels[3] and dict(made.kernels[0].ptx) == {("LDSM", "4"): 1}


def test_other_counts_are_contradicted(fake: DslBench) -> None:
    """One ldmatrix where a tile is one is right; where a call is eight it is a contradiction."""
    facts = facts_of("ldmatrix_rows.py")
    made = by_dsl(without_cuda(facts), fake, IsaOptions(("sm_80",)))
    sites = {r.fact.kind: r.status for r in made.results[: len(facts.sites)]}
    assert sites["tiled_copy"] == "confirmed" and sites["tiled_mma"] == "contradicted"
    events = made.results[len(facts.sites) :]
    assert {r.status for r in events} == {"contradicted"}
    assert "sm_80 (DSL): predicted 8 LDSM.4; PTX has 1 LDSM.4" in events[0].reason


def test_cpp_is_not_asked_and_a_missing_package_is_said(tmp_path: Path) -> None:
    cpp = without_cuda(extract(ExtractRequest(paths=(FIXTURES.parent / "cpp/ldmatrix_rows.cu",), archs=("sm_80",))))
    assert by_dsl(cpp, DslBench(DslOptions("/no/such/python"), None)).results == cpp
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho \"ModuleNotFoundError: No module named 'cutlass'\" >&2\nexit 1\n")
    program.chmod(0o755)
    made = by_dsl(without_cuda(facts_of("ldmatrix_rows.py")), DslBench(DslOptions(str(program)), None))
    assert "nvidia-cutlass-dsl is not installed" in made.unavailable
    assert "confirmed" not in {r.status for r in made.results}


def test_the_command_names_both_compilers(
    tmp_path: Path, fake: DslBench, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import jsonschema

    monkeypatch.setattr("cutecheck.exec.isa.compile.find_bench", lambda *_: "no NVRTC here")
    command = ["confirm", "--isolated", "--no-cache", "--tier", "isa", "--isa-arch", "sm_80", "--dsl-python"]
    command += [fake.options.python, str(FIXTURES / "ldmatrix_rows.py")]
    assert cutecheck([*command, "--output-format", "json"]) == 5
    document = json.loads(capsys.readouterr().out)
    schema = Path(__file__).parents[4] / "docs/schema/confirm.schema.json"
    jsonschema.validate(document, json.loads(schema.read_text(encoding="utf-8")))
    assert document["dsl_version"] == "9.9" and {"dsl"} == {
        a["compiler"] for r in document["results"] for a in r["archs"]
    }
    assert cutecheck(command) == 5
    out = capsys.readouterr().out
    assert "isa tier unavailable: no NVRTC here; " in out and "nvidia-cutlass-dsl 9.9" in out
    assert "SASS not read" in out


def test_cuobjdump_is_taken_where_there_is_no_nvdisasm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutecheck.exec.isa.compile.packages", lambda _name: iter(()))
    monkeypatch.setenv("PATH", str(tmp_path))
    environ = {"CUDA_HOME": str(tmp_path / "none")}
    for name in ("cuobjdump", "nvdisasm"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
        assert find_disassembler(environ) == str(tmp_path / name)


# ---------------------------------------------------------------- with the real DSL

DSL = os.environ.get("CUTECHECK_DSL_PYTHON", sys.executable if find_spec("nvidia_cutlass_dsl") else "")
REAL = pytest.mark.skipif(not DSL, reason="nvidia-cutlass-dsl is not installed (set CUTECHECK_DSL_PYTHON)")


@REAL
def test_the_dsl_emits_what_is_predicted_and_a_mutation_is_contradicted(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = DslBench(DslOptions(DSL), find_disassembler())
    for name in ("ldmatrix_rows.py", "wgmma_tiles.py"):
        results = [r for r in without_cuda(facts_of(name)) if r.predicted]
        made = by_dsl(results, bench, IsaOptions(("sm_80", "sm_90a")))
        assert made.unavailable == "" and {r.status for r in made.results} == {"confirmed"}
    monkeypatch.setattr(dsl_tier, "_plan", _one_more(dsl_tier._plan))
    assert {r.status for r in by_dsl(results, bench, IsaOptions(("sm_90a",))).results} == {"contradicted"}


def _one_more(plan):  # type: ignore[no-untyped-def]
    def mutated(fact):  # type: ignore[no-untyped-def]
        made = plan(fact)
        return replace(made, predicted=Counter({k: n + 1 for k, n in made.predicted.items()}))

    return mutated
