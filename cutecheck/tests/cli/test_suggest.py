"""``cutecheck suggest`` and the options of ``check`` that concern proofs."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cutecheck.cli import main
from cutecheck.model.expr import Domain, var
from cutecheck.model.layout import Swizzle
from cutecheck.rules.derive.buffers import unswizzled

SCHEMA = Path(__file__).parents[3] / "docs" / "schema" / "suggest.schema.json"
HEADER = "#include <cute/tensor.hpp>\nusing namespace cute;\n"
KERNEL = """
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
using Smem = decltype({layout});
__global__ void kernel(half_t const* src) {{
  __shared__ half_t buf[cosize_v<Smem>];
  Tensor s = make_tensor(make_smem_ptr(buf), Smem{{}});
  Mma mma;
  auto load = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{{}}, mma);
  auto thr = load.get_slice(threadIdx.x);
  Tensor from = thr.partition_S(s);
  Tensor to = make_fragment_like(from);
  copy(load, from, to);
}}
"""
ROWS = "Layout<Shape<_64, _64>, Stride<_64, _1>>{}"
PADDED = "Layout<Shape<_64, _64>, Stride<_72, _1>>{}"
SWIZZLED = "tile_to_shape(composition(Swizzle<3,3,3>{}, Layout<Shape<_8,_64>, Stride<_64,_1>>{}), Shape<_64,_64>{})"
COPY, ARRAY, NOTHING = 14, 7, 1


def source(folder: Path, layout: str) -> str:
    file = folder / "k.cu"
    file.write_text(HEADER + KERNEL.format(layout=layout), encoding="utf-8")
    return str(file)


def suggested(place: str, capsys: pytest.CaptureFixture[str]) -> Any:
    assert main(["suggest", place, "--output-format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert len(document["buffers"]) == 1
    (only,) = document["buffers"][0]["suggestions"]
    return only


@pytest.mark.parametrize("line", (COPY, ARRAY))
def test_a_swizzle_is_proved_for_the_buffer(line: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = suggested(f"{source(tmp_path, ROWS)}:{line}", capsys)
    assert found["kind"] == "swizzle" and found["swizzle"] == [3, 3, 3] and found["safe"]
    assert found["as_written"] == {"conflicts": 1, "undecided": 0}
    assert [p["verdict"] for p in found["proofs"]] == ["proved"]
    assert len({e["engine"] for p in found["proofs"] for e in p["engines"] if e["answer"] == "holds"}) >= 2


def test_the_swizzle_in_place_is_taken_off_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = suggested(f"{source(tmp_path, SWIZZLED)}:{COPY}", capsys)
    assert found["swizzle"] == [3, 3, 3] and found["as_written"] == {"conflicts": 0, "undecided": 0}


def test_a_layout_without_conflicts_needs_no_swizzle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = suggested(f"{source(tmp_path, PADDED)}:{COPY}", capsys)
    assert found["kind"] == "plain" and found["swizzle"] is None and found["proofs"]


def test_findings_offer_the_proved_layout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = source(tmp_path, ROWS)
    (finding,) = [f for f in check(file, capsys)["findings"] if f["code"] == "CUT101"]
    assert "Swizzle<3,3,3> frees it for the one known access, proved" in finding["help"]
    assert "Layout<Shape<_8,_64>, Stride<_64,_1>>" in finding["help"]


def test_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suggest", f"{source(tmp_path, ROWS)}:{COPY}"]) == 0
    out = capsys.readouterr().out
    assert "Swizzle<3,3,3> frees it for the one known access, proved" in out and "unsafe" not in out
    assert "1 known accesses: 1 with conflicts" in out


def test_an_escaping_buffer_is_unsafe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(source(tmp_path, ROWS))
    file.write_text(file.read_text().replace("  Mma mma;", "  Mma mma; not_followed(buf);"), encoding="utf-8")
    assert main(["suggest", f"{file}:{COPY}"]) == 0
    assert "unsafe: Swizzle<3,3,3>" in capsys.readouterr().out


def test_bad_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = source(tmp_path, ROWS)
    for place, text in ((f"{file}:{NOTHING}", "no shared memory"), (file, "not FILE:LINE"), ("none.cu:3", "no such")):
        assert main(["suggest", place]) == 2
        assert text in capsys.readouterr().err


@pytest.mark.parametrize("swizzle", (Swizzle(3, 3, 3), Swizzle(2, 1, 4), Swizzle(1, 3, 3)))
def test_unswizzled_is_the_inverse(swizzle: Swizzle) -> None:
    period = 1 << (swizzle.bits + swizzle.base + swizzle.shift)
    x, far = var("x", Domain(0, period - 1)), var("far", Domain(0))
    undone = unswizzled(x, swizzle)
    assert undone is not None
    assert all(undone.evaluate({"x": swizzle(n)}) == n for n in range(period))
    assert unswizzled(far, swizzle) is None  # may leave the period: nothing is known of its bits


def check(file: str, capsys: pytest.CaptureFixture[str], *more: str) -> Any:
    main(["check", file, "--output-format", "json", *more])
    document = json.loads(capsys.readouterr().out)
    for obligation in document["obligations"]:
        for engine in obligation["engines"]:
            engine["milliseconds"] = 0
    return document


def test_the_same_verdicts_on_every_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = source(tmp_path, ROWS)
    first = check(file, capsys, "--dump-smt", str(tmp_path / "one"))
    assert first["obligations"] and first == check(file, capsys, "--dump-smt", str(tmp_path / "two"))
    one, two = (sorted((p.name, p.read_text()) for p in (tmp_path / d).iterdir()) for d in ("one", "two"))
    assert one == two


def test_one_engine_proves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = source(tmp_path, SWIZZLED)
    both = check(file, capsys)["obligations"]
    alone = check(file, capsys, "--engine", "z3-bv", "--dump-smt", str(tmp_path / "smt"))["obligations"]
    assert "proved" in {o["verdict"] for o in both} and "proved" not in {o["verdict"] for o in alone}
    assert {o["question"] for o in both} and all(o["question"] for o in both)
    assert any("one engine only" in o["reason"] for o in alone)
    queries = list((tmp_path / "smt").glob("*.smt2"))
    assert queries and all("(check-sat)" in q.read_text() for q in queries)
    assert main(["check", file, "--engine", "oracle"]) == 2
    assert "no engine 'oracle'" in capsys.readouterr().err


NARROW = """
using Smem = Layout<Shape<_64, _64>, Stride<_64, _1>>;
using G2S = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint32_t>, half_t>{{}},
                                     Layout<Shape<_4, _32>, Stride<_32, _1>>{{}}, Layout<Shape<_1, _2>>{{}}));
__global__ void __launch_bounds__(128) put(half_t const* g, int lda) {{
  __shared__ alignas({align}) half_t smem[cosize_v<Smem>];
  {assume}
  Tensor s = make_tensor(make_smem_ptr(smem), Smem{{}});
  Tensor gT = make_tensor(make_gmem_ptr(g), make_shape(_64{{}}, _64{{}}), make_stride({stride}, _1{{}}));
  G2S cp;
  auto t = cp.get_slice(threadIdx.x);
  copy(cp, t.partition_S(gT), t.partition_D(s));
}}
"""


def copies(folder: Path, line: int, capsys: pytest.CaptureFixture[str], **words: str) -> Any:
    file = folder / "v.cu"
    text = HEADER + NARROW.format(**{"align": "128", "assume": "", "stride": "lda", **words})
    file.write_text(text, encoding="utf-8")
    assert main(["suggest", f"{file}:{line}", "--output-format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, json.loads(SCHEMA.read_text(encoding="utf-8")))
    return document["copies"]


@pytest.mark.parametrize("line", (14, 5))
def test_wider_vectors_are_proved_for_a_copy(line: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = copies(tmp_path, line, capsys)
    assert (found["now_bits"], found["vector_bits"]) == (32, 128)
    assert (found["threads"], found["values"], found["tiler"]) == ("(_16,_8):(_8,_1)", "(_1,_8):(_0,_1)", [16, 64])
    assert found["conditions"] == ["lda % 8 == 0"] and found["conflicts"] == []
    verdicts = {p["property"]: p["verdict"] for p in found["proofs"]}
    assert verdicts["covers-tile-once"] == verdicts["bank-conflict-free"] == verdicts["coalesced"] == "proved"
    for proof in found["proofs"]:
        if proof["verdict"] == "proved":
            assert len({e["engine"] for e in proof["engines"] if e["answer"] == "holds"}) >= 2
    text = f"{tmp_path / 'v.cu'}:{line}"
    assert main(["suggest", text]) == 0
    assert "unsafe: vectors of 16 bytes (uint128_t) instead of 4" in capsys.readouterr().out


def test_a_contract_or_a_static_stride_needs_no_condition(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = copies(tmp_path, 14, capsys, assume="// cutecheck: assume lda % 8 == 0")
    assert found["vector_bits"] == 128 and found["conditions"] == []
    (narrower,) = copies(tmp_path, 14, capsys, stride="Int<68>{}")  # rows of 136 bytes: eight at most
    assert narrower["vector_bits"] == 64
    assert copies(tmp_path, 14, capsys, stride="Int<66>{}") == []


def test_wider_vectors_are_what_cute_makes_of_the_layouts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The suggestion, written into the source, is checked like any other: aligned, coalesced, no findings."""
    (found,) = copies(tmp_path, 14, capsys, assume="// cutecheck: assume lda % 8 == 0")
    text = HEADER + NARROW.format(align="128", assume="// cutecheck: assume lda % 8 == 0", stride="lda")
    text = text.replace("uint32_t", "uint128_t").replace(
        "Shape<_4, _32>, Stride<_32, _1>", "Shape<_16, _8>, Stride<_8, _1>"
    )
    text = text.replace("Layout<Shape<_1, _2>>", "Layout<Shape<_1, _8>>")
    assert (found["threads"], found["values"]) == ("(_16,_8):(_8,_1)", "(_1,_8):(_0,_1)")
    file = tmp_path / "w.cu"
    file.write_text(text, encoding="utf-8")
    assert main(["check", str(file), "--arch", "sm_80", "--output-format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["findings"] == []
    assert {o["verdict"] for o in report["obligations"] if o["property"] == "vector-aligned"} == {"proved"}
