"""Kernels in strings are translation units whose lines and columns are those of the program around them."""

from __future__ import annotations

import ast
import json
import re
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.facts import Facts
from cutecheck.report.data import Report
from cutecheck.source.embedded.launches import Launch, written
from cutecheck.source.embedded.strings import of_python
from cutecheck.source.embedded.units import MOST, embedded
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

HEAD = "#include <cute/tensor.hpp>\nusing namespace cute;\n"
KERNEL = (
    HEAD
    + """\
template <int N>
__global__ void __launch_bounds__(128) fill(half_t const* in) {
  __shared__ half_t smem[N * 64];
  auto tile = make_tensor(make_smem_ptr(smem), Layout<Shape<Int<N>, _64>, Stride<_64, _1>>{});
  auto from = make_tensor(make_gmem_ptr(in), Layout<Shape<Int<N>, _64>, Stride<_64, _1>>{});
  auto tiled = make_tiled_copy(Copy_Atom<UniversalCopy<cute::uint128_t>, half_t>{},
                               Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{});
  auto mine = tiled.get_slice(threadIdx.x);
  copy(tiled, mine.partition_S(from), mine.partition_D(tile));
}
"""
)
LAUNCH = "void run(half_t const* in) { fill<64><<<1, 128>>>(in); }\n"
INLINE = "from torch.utils.cpp_extension import load_inline\n"


def facts(folder: Path) -> Facts:
    return extract(ExtractRequest((folder,), archs=("sm_80",)))


def reported(folder: Path) -> Report:
    return check(inputs([str(folder)]), Settings(arch=("sm_80",)))


def test_a_kernel_of_load_inline_is_read_where_it_stands(tmp_path: Path) -> None:
    text = INLINE + f'source = r"""\n{KERNEL}{LAUNCH}"""\nload_inline("m", cuda_sources=source)\n'
    (tmp_path / "a.py").write_text(text)
    (tmp_path / "b.cu").write_text(KERNEL + LAUNCH)
    found = facts(tmp_path)
    inside, outside = ([s for s in found.sites if s.span.file == name] for name in ("a.py", "b.cu"))
    assert [s.value for s in inside] == [s.value for s in outside]
    assert [s.span.line for s in inside] == [s.span.line + 2 for s in outside]
    assert [s.span.column for s in inside] == [s.span.column for s in outside]
    for site in inside:
        assert text.split("\n")[site.span.line - 1][site.span.column - 1 :].startswith("tiled")
        assert not site.span.is_python
        assert str(site.span).startswith("a.py:")
    assert len(found.events) == 2
    assert (found.files, found.files_with_cute) == (2, 2)
    assert not found.notes


def test_fields_of_an_f_string_have_the_values_of_constants(tmp_path: Path) -> None:
    body = (KERNEL + LAUNCH).replace("{", "{{").replace("}", "}}").replace("fill<64>", "fill<{ROWS}>")
    text = INLINE + f'HALF = 16\nROWS = 2 * HALF\nload_inline("m", cuda_sources=f"""\n{body}""")\n'
    (tmp_path / "a.py").write_text(text)
    assert {dict(s.bindings)["N"] for s in facts(tmp_path).sites} == {"32"}


@pytest.mark.parametrize(
    ("before", "source"),
    [
        ("", "SOURCE.format(rows=32)"),
        ("rows = 32\n", "SOURCE.format(rows=rows)"),
        ("import string\n", "string.Template(OTHER).substitute(rows=32)"),
        ("", "PLAIN.replace('ROWS', str(32))"),
        ("", "PLAIN.replace('@ROWS@', '32')"),
    ],
)
def test_templates_are_filled_where_the_filling_is_known(tmp_path: Path, before: str, source: str) -> None:
    name = source.partition(".")[0] if not source.startswith("string") else "OTHER"
    body = KERNEL + LAUNCH
    if name == "SOURCE":
        body = body.replace("{", "{{").replace("}", "}}").replace("fill<64>", "fill<{rows}>")
    elif name == "OTHER":
        body = body.replace("fill<64>", "fill<$rows>")
        source = "TEMPLATE.substitute(rows=32)"
        before += f'TEMPLATE = string.Template("""\n{body}""")\n'
        name = ""
    else:
        body = body.replace("fill<64>", "fill<@ROWS@>" if "@" in source else "fill<ROWS>")
    given_text = f'{name} = """\n{body}"""\n' if name else ""
    (tmp_path / "a.py").write_text(INLINE + before + given_text + f"load_inline('m', cuda_sources={source})\n")
    assert {dict(s.bindings)["N"] for s in facts(tmp_path).sites} == {"32"}


@pytest.mark.parametrize(("flag", "rows"), [('"-DROWS=32"', "32"), ('f"-DROWS={N // 2}"', "16"), ('"-UROWS"', None)])
def test_macros_of_flags(tmp_path: Path, flag: str, rows: str | None) -> None:
    body = (KERNEL + LAUNCH).replace("fill<64>", "fill<ROWS>")
    text = (
        f'{INLINE}N = 32\nsource = r"""\n{body}"""\nload_inline("m", cuda_sources=source, extra_cuda_cflags=[{flag}])\n'
    )
    (tmp_path / "a.py").write_text(text)
    found = {dict(s.bindings)["N"] for s in facts(tmp_path).sites}
    assert found == {rows} if rows else not found & {"16", "32"}


def test_what_a_program_fills_with_something_else_each_time_is_not_known(tmp_path: Path) -> None:
    body = (KERNEL + LAUNCH).replace("{", "{{").replace("}", "}}").replace("fill<64>", "fill<{rows}>")
    text = INLINE + f'for rows in (16, 32):\n    load_inline("m", cuda_sources=f"""\n{body}""")\n'
    (tmp_path / "a.py").write_text(text)
    assert not {dict(s.bindings)["N"] for s in facts(tmp_path).sites} & {"16", "32"}


def test_instances_that_a_program_names_are_bound(tmp_path: Path) -> None:
    text = f'import cupy\nm = cupy.RawModule(code=r"""\n{KERNEL}""", name_expressions=["fill<32>"])\n'
    (tmp_path / "a.py").write_text(text)
    assert {dict(s.bindings)["N"] for s in facts(tmp_path).sites} == {"32"}


@pytest.mark.parametrize(
    "lines",
    [
        'cupy.RawModule(code=SOURCE, name_expressions=["fill<32>"]).get_function("fill<32>")((2,), (THREADS,), (x,))',
        'k = cupy.RawModule(code=SOURCE).get_function(f"fill<{16 * 2}>")\nk((n, 1), (THREADS, 1), (x,), shared_mem=0)',
        'k = pycuda.SourceModule(SOURCE).get_function("fill<32>")\nk(x, block=(THREADS, 1, 1), grid=(n, 1))',
        'm = cuda.core.Program(SOURCE).compile("cubin", name_expressions=("fill<32>",))\n'
        'k = m.get_kernel("fill<32>")\nc = LaunchConfig(grid=n, block=THREADS)\nlaunch(stream, c, k, x)',
    ],
)
def test_launches_of_the_program_are_those_of_its_kernels(tmp_path: Path, lines: str) -> None:
    for threads, codes in ((128, set()), (64, {"CUT701"})):
        text = f'import cupy\nTHREADS = {threads}\nSOURCE = r"""\n{KERNEL}"""\n{lines}\n'
        (tmp_path / "a.py").write_text(text)
        found = facts(tmp_path)
        assert {dict(s.bindings)["N"] for s in found.sites} == {"32"}
        [launch] = [s for s in found.launches if s.origin == "launch"]
        assert (launch.block_threads, launch.span.line) == (threads, text.count("\n"))
        assert {f.code for f in reported(tmp_path).findings} == codes


ROWS = (
    HEAD
    + """\
__global__ void move(half_t const* in, half_t* out, int m) {
  auto tiled = make_tiled_copy(Copy_Atom<UniversalCopy<cute::uint128_t>, half_t>{},
                               Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{});
  auto mine = tiled.get_slice(threadIdx.x);
  auto rows = make_layout(make_shape(m, _64{}), LayoutRight{});
  auto from = local_tile(make_tensor(make_gmem_ptr(in), rows), Shape<_64, _64>{}, make_coord(blockIdx.x, 0));
  auto to = local_tile(make_tensor(make_gmem_ptr(out), rows), Shape<_64, _64>{}, make_coord(blockIdx.x, 0));
  auto held = make_fragment_like(mine.partition_S(from));
  copy(tiled, mine.partition_S(from), held);
  copy(tiled, held, mine.partition_D(to));
}
"""
)


@pytest.mark.parametrize("grid", ["grid_of(m)", "(blocks,)", "(blocks, m)"])
def test_a_grid_that_is_not_known_says_nothing_of_its_axes(tmp_path: Path, grid: str) -> None:
    lines = f'cupy.RawModule(code=SOURCE).get_function("move")({grid}, (128,), (x, y, m))'
    (tmp_path / "a.py").write_text(f'import cupy\nSOURCE = r"""\n{ROWS}"""\n{lines}\n')
    assert [s.block_threads for s in facts(tmp_path).launches if s.origin == "launch"] == [128]
    assert not reported(tmp_path).findings


def test_a_launch_whose_block_is_not_known_is_none(tmp_path: Path) -> None:
    lines = 'm.get_function("fill<32>")((2,), (threads,), (x,))'
    (tmp_path / "a.py").write_text(f'import cupy\nm = cupy.RawModule(code=r"""\n{KERNEL}""")\n{lines}\n')
    assert not [s for s in facts(tmp_path).launches if s.origin == "launch"]


@pytest.mark.parametrize(
    ("template", "kernel", "parameters", "written_as"),
    [
        ("", "k", "float* p", "k<<<dim3(2), dim3(64), 0>>>(p);"),
        ("template <class T, int N>", "k<half_t, 8>", "T const* p, Array<N> x", "(half_t const* p, Array<8> x)"),
        ("template <class T, int N = 4>", "k<half_t>", "T const* p", "(half_t const* p)"),
        ("template <class T, int N = 4>", "k<half_t>", "T const* p, Array<N> a", None),
        ("", "k", "float*", None),
        ("", "other", "float* p", None),
    ],
)
def test_a_launch_is_written_with_the_parameters_of_its_kernel(
    template: str, kernel: str, parameters: str, written_as: str | None
) -> None:
    text = f"{template}\n__global__ void __launch_bounds__(64) k({parameters}) {{}}\n"
    made = written(Launch(kernel, (2,), (64,), 0, 1), text, 1)
    assert made is None if written_as is None else made is not None and written_as in made


def test_two_kernels_of_one_name_are_of_two_units_and_what_names_nothing_of_both(tmp_path: Path) -> None:
    own = KERNEL.removeprefix(HEAD) + LAUNCH
    text = INLINE + f'HEAD = """{HEAD}"""\nONE = r"""{own}"""\nTWO = r"""{own.replace("fill<64>", "fill<32>")}"""\n'
    (tmp_path / "a.py").write_text(text)
    found = facts(tmp_path)
    assert {(s.span.line > 20, dict(s.bindings)["N"]) for s in found.sites} == {(False, "64"), (True, "32")}
    assert {s.status for s in found.sites} == {"resolved"}


def test_findings_and_suppressions_are_of_the_program(tmp_path: Path) -> None:
    wrong = (KERNEL + LAUNCH).replace(", Stride<_64, _1>>{});\n  auto from", ">{});\n  auto from")
    text = INLINE + f'source = r"""\n{wrong}"""\nload_inline("m", cuda_sources=source)\n'
    (tmp_path / "a.py").write_text(text)
    report = reported(tmp_path)
    assert {f.code for f in report.findings} >= {"CUT401"}
    assert {f.span.file for f in report.findings} == {"a.py"}
    assert all(not f.fixes for f in report.findings)
    quiet = re.sub(r"^(  copy\()", r"  // cutecheck: ignore measured to be harmless\n\1", text, flags=re.MULTILINE)
    (tmp_path / "a.py").write_text(quiet)
    assert not reported(tmp_path).findings
    (tmp_path / "a.py").write_text("# cutecheck: ignore-file of another language\n" + text)
    assert {f.code for f in reported(tmp_path).findings} >= {"CUT401", "CUT002"}


def test_cells_of_a_notebook(tmp_path: Path) -> None:
    cells = [
        ["%%writefile fill.cu\n", *(KERNEL + LAUNCH).splitlines(keepends=True)],
        [INLINE, f'load_inline("m", cuda_sources=r"""\n{KERNEL}{LAUNCH}""")\n'],
    ]
    book = {"cells": [{"cell_type": "code", "source": c} for c in cells], "metadata": {}}
    (tmp_path / "a.ipynb").write_text(json.dumps(book))
    found = facts(tmp_path)
    assert {s.span.file for s in found.sites} == {"a.ipynb:cell 1", "a.ipynb:cell 2"}
    assert {(s.span.file, s.span.line) for s in found.sites} >= {("a.ipynb:cell 1", 9), ("a.ipynb:cell 2", 10)}
    assert len(found.events) == 2
    assert (found.files, found.files_with_cute) == (1, 1)


@pytest.mark.parametrize("name", ["a.py", "a.ipynb"])
def test_a_changed_header_reports_the_programs_that_include_it(tmp_path: Path, name: str) -> None:
    source = f'#include "parts.h"\n{LAUNCH}'
    lines = [INLINE, f'load_inline("m", cuda_sources=r"""\n{source}""")\n']
    (tmp_path / "parts.h").write_text(KERNEL.replace(", Stride<_64, _1>>{});\n  auto from", ">{});\n  auto from"))
    book = json.dumps({"cells": [{"cell_type": "code", "source": lines}], "metadata": {}})
    (tmp_path / name).write_text("".join(lines) if name == "a.py" else book)
    report = check(inputs([str(tmp_path / "parts.h")], tree=str(tmp_path)), Settings(arch=("sm_80",)))
    assert [(f.code, f.span.file) for f in report.findings] == [("CUT401", "parts.h")]


def test_a_program_that_compiles_what_another_holds(tmp_path: Path) -> None:
    (tmp_path / "sources.py").write_text(f'SOURCE = r"""\n{KERNEL}{LAUNCH}"""\n')
    (tmp_path / "a.py").write_text(INLINE + "from sources import SOURCE\nload_inline('m', cuda_sources=SOURCE)\n")
    assert {s.status for s in facts(tmp_path).sites} == {"resolved"}
    (tmp_path / "a.py").write_text(INLINE)
    found = facts(tmp_path)
    assert not found.sites
    assert "sources.py:1: CUDA C++ in a string" in found.notes[0]


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.py", f'import torch\nsource = r"""\n{KERNEL}"""\n', 2),
        ("a.cpp", f'\nchar const* s = R"cuda(\n{KERNEL})cuda";\n', 2),
        ("a.py", 'import cutlass.cute as cute\n"""As `__global__` of C++, in words."""\n', 0),
        ("a.py", f"import cutlass.cute as cute\n# {KERNEL.replace(chr(10), '; ')}\n", 0),
        ("a.cu", KERNEL, 0),
    ],
)
def test_a_kernel_that_nothing_compiles_is_a_line_of_the_report(
    tmp_path: Path, name: str, text: str, line: int
) -> None:
    (tmp_path / name).write_text(text)
    notes = [n for n in facts(tmp_path).notes if "a kernel template that nothing" not in n]
    said = f"{name}:{line}: CUDA C++ in a string is not checked: nothing here compiles it"
    assert [n.startswith(said) for n in notes] == ([True] if line else [])


def test_a_kernel_of_nvrtc_in_a_raw_string(tmp_path: Path) -> None:
    text = f'#include <nvrtc.h>\nchar const* s = R"cuda(\n{KERNEL}{LAUNCH})cuda";\nauto made = nvrtcCreateProgram;\n'
    (tmp_path / "a.cpp").write_text(text)
    found = facts(tmp_path)
    assert {(s.span.file, s.status) for s in found.sites} == {("a.cpp", "resolved")}


def test_fields_of_a_format_string_of_cpp_are_names(tmp_path: Path) -> None:
    fields = ", ".join(["{}"] * 12)
    (tmp_path / "fill.cuh").write_text("#include <cute/tensor.hpp>\ntemplate <int... N> __global__ void fill() {}\n")
    text = f'auto s = std::format(R"(\n#include "fill.cuh"\nvoid f() {{{{ auto p = &fill<{fields}>; }}}}\n)", 1);\n'
    (tmp_path / "a.cpp").write_text(f"#include <nvrtc.h>\n{text}auto made = nvrtcCreateProgram;\n")
    assert not facts(tmp_path).errors


_QUOTES = ('"', "'", '"""', "'''")
_BITS = ["\\", "n", "t", "#", "/", '"', "'", "a", " ", "\n", "é", "\\n\n", "// ", "\\n"]
_TEXT = st.lists(st.sampled_from(_BITS), max_size=24).map("".join)


@given(_TEXT, st.sampled_from(_QUOTES), st.sampled_from(["", "r", "b", "u"]), st.booleans())
def test_the_text_of_a_string_is_what_python_reads(body: str, quote: str, prefix: str, twice: bool) -> None:
    literal = f"{prefix}{quote}{body}{quote}"
    if twice:
        literal += f" \\\n  {literal}"
    program = f"x = {literal}\n"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = ast.literal_eval(ast.parse(program).body[0].value)  # type: ignore[attr-defined]
    except (SyntaxError, ValueError):
        return
    value = value.decode() if isinstance(value, bytes) else value
    for piece in [*of_python(program)][:1]:
        taken = program[piece.start :][: len(piece.text)]
        assert [c == "\n" for c in piece.text] == [c == "\n" for c in taken]
        assert _cpp(piece.text) == _cpp(value)


def _cpp(text: str) -> list[str]:
    """What C++ reads of a text: words of code, and directives with their lines, without comments at line ends."""
    lines = [re.sub("//.*", "", line) for line in text.replace("\\\n", "").split("\n")]
    out: list[str] = []
    for line in lines:
        if line.lstrip().startswith("#"):
            out.append("".join(line.split()))
            out.append("")
        else:
            out[len(out) :] = [*line] if line.strip() else []
    return [c for c in out if not c.isspace()]


def test_a_file_has_no_more_than_so_many_units() -> None:
    many = b"import nvrtc\n" + (b'S = """\n' + KERNEL.encode() + b'"""\n') * (MOST + 3)
    found = embedded(many, python=True)
    assert (len(found.units), len(found.unread)) == (MOST, 3)


def test_pieces_of_two_sides_are_no_text_of_their_own() -> None:
    assert not embedded(b'A = "x" + f(1)\nimport nvrtc\n', python=True).units


@pytest.mark.parametrize(
    ("flags", "rows"),
    [
        ('{"-DROWS=32", "-std=c++20"}', "32"),
        ('{"-D ROWS=32"}', "32"),
        ('{few ? "-DROWS=32" : "-DROWS=64"}', None),
        ('{"-DROWS=" + std::to_string(rows)}', None),
        ('{"-DROWS=3"s + "2"}', None),
        ('{std::format("-DROWS={}", rows)}', None),
    ],
)
def test_flags_of_a_program_of_cpp_define(flags: str, rows: str | None, tmp_path: Path) -> None:
    code = KERNEL + LAUNCH.replace("64", "ROWS")
    text = f'#include <nvrtc.h>\nchar const* s = R"cuda(\n{code})cuda";\nauto made = build(s, {flags});\n'
    (tmp_path / "a.cpp").write_text(text)
    assert {dict(s.bindings).get("N") for s in facts(tmp_path).sites if s.status == "resolved"} == {rows or "?"}


def test_a_field_in_turn_is_no_integer_of_cute(tmp_path: Path) -> None:
    code = "#define ROWS {}\n#define MORE {}\n" + (KERNEL + LAUNCH).replace("{", "{{").replace("}", "}}")
    text = f'auto s = std::format(R"(\n{code.replace("Int<N>", "Int<MORE>")})");\n'
    (tmp_path / "a.cpp").write_text(f"#include <nvrtc.h>\n{text}auto made = nvrtcCreateProgram;\n")
    found = facts(tmp_path)
    assert [e.reason is None for e in found.events] == [False]
