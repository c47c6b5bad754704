"""Functions that one file defines and others call: what every caller checks holds in it, and nothing else does."""

from pathlib import Path

import pytest

from cutecheck.cache import open_store
from cutecheck.engine.check import check_facts
from cutecheck.facts import Facts
from cutecheck.model.prove import prove
from cutecheck.rules import RULES
from cutecheck.source.cpp.tree import Tree
from cutecheck.source.extract import extract
from cutecheck.source.linking import links
from cutecheck.source.request import ExtractRequest

PARAMS = """#pragma once
struct Rows { long lda; int m; bool half; };
struct Params { void* p; Rows rows; long stride; float scale; };
template <class T, int N> void launch(Params& params, cudaStream_t stream);
void plain(half_t* p, int lda);
namespace deep { void call(Params const& params); }
"""
KERNELS = """
#include <cute/tensor.hpp>
#include "params.h"
using namespace cute;
template <class T, int N> __global__ void kernel(T* p, int64_t lda) {
  __shared__ T s[64 * N];
  auto tc = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, T>{},
                            Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{});
  auto t = tc.get_slice(threadIdx.x);
  auto g = make_tensor(make_gmem_ptr(p), make_shape(_64{}, Int<N>{}), make_stride(lda, _1{}));
  auto to = make_tensor(make_smem_ptr(s), make_layout(Shape<_64, Int<N>>{}, Stride<Int<N>, _1>{}));
  copy(tc, t.partition_S(g), t.partition_D(to));
}
"""
INSTANTIATED = """
template <class T, int N> void launch(Params& params, cudaStream_t stream) {
  kernel<T, N><<<1, 128, 0, stream>>>(static_cast<T*>(params.p), params.rows.lda);
}
#define MAKE(T, N) template void launch<T, N>(Params&, cudaStream_t);
template void launch<half_t, 64>(Params& params, cudaStream_t stream);
"""
SPECIALISED = """
template <> void launch<half_t, 64>(Params& params, cudaStream_t stream) {
  kernel<half_t, 64><<<1, 128, 0, stream>>>(static_cast<half_t*>(params.p), params.rows.lda);
}
"""
PLAIN = "void plain(half_t* p, int lda) { kernel<half_t, 64><<<1, 128>>>(p, lda); }"
CHAIN = """#include "params.h"
namespace deep { void call(Params const& params) { plain((half_t*)params.p, params.stride); } }
"""
API = '#include "params.h"\n'
SET = "Params params{}; params.p = x.data_ptr(); params.rows.lda = x.stride(0); params.stride = x.stride(0);"
CALL = "launch<cutlass::half_t, 64>(params, 0);"
CHECKED = f"void checked(at::Tensor x) {{ TORCH_CHECK(x.stride(0) % 8 == 0); {SET} {CALL} }}\n"
OPEN = f"void open(at::Tensor y) {{ {SET} {CALL} }}\n".replace("x.", "y.")
TWICE = f"void twice(at::Tensor z) {{ TORCH_CHECK(z.stride(0) % 16 == 0); {SET} {CALL} }}\n".replace("x.", "z.")
CONSTANT = f"void constant(half_t* p) {{ Params params; params.p = p; params.rows.lda = 512; {CALL} }}\n"
FLAGS = f"void fill(Params& params, at::Tensor x) {{ {SET[16:]} }}\n" + (
    "void flags(at::Tensor x, bool a) { TORCH_CHECK(x.stride(0) % 8 == 0); Params params; fill(params, x);"
    "[&] { if (a) { constexpr int N = 64; " + CALL.replace("64", "N") + " } else { constexpr int N = 128; "
    + CALL.replace("64", "N") + " } }(); }\n"
)  # fmt: skip
RETURNED = OPEN.replace("launch<", "if (y.size(0)) return launch<")
# behind a macro that ends like the body of a function, and in a branch that is left out where its dispatch says so
CHECKS = "#define CHECK_LAUNCH(x)  \\\n  do {                   \\\n    if (x) exit(1);      \\\n  } while (0)\n"
DISPATCHED = (
    "#define SWITCH(x, N, ...) [&] { if (x) { constexpr static bool N = true; return __VA_ARGS__(); } "
    "else { constexpr static bool N = false; return __VA_ARGS__(); } }()\n"
    f"void dispatched(at::Tensor x, bool a) {{ TORCH_CHECK(x.stride(0) % 8 == 0); {SET} "
    f"SWITCH(a, kOn, [&] {{ if constexpr (kOn) {{ {CALL} }} }}); }}\n"
)
LEFT_OPEN = f"template <bool A> void left(at::Tensor x) {{ {SET} if constexpr (A) {{ {CALL} }} }}\n" + (
    "void right(at::Tensor x) { left<false>(x); }\n"
)
BOUND = 'PYBIND11_MODULE(x, m) { m.def("f", &launch<cutlass::half_t, 64>); }'
MANY = f"template <class T> void many(at::Tensor x) {{ {SET} {CALL.replace('cutlass::half_t', 'T')} }}\n"


def facts(folder: Path, files: dict[str, str], **more: object) -> Facts:
    for name, text in {"params.h": PARAMS, **files}.items():
        (folder / name).write_text(text)
    return extract(ExtractRequest((folder,), ("sm_80",), **more))  # type: ignore[arg-type]


def open_rows(found: Facts) -> int:
    assert not found.errors and all(e.reason is None for e in found.events) and found.events
    outcomes = check_facts(found, RULES, prove, lambda _: None).outcomes
    return sum(o.verdict.value == "unknown" for o in outcomes if o.obligation.property == "vector-aligned")


@pytest.mark.parametrize("defined", [INSTANTIATED, SPECIALISED, f"{CHECKS}{INSTANTIATED}MAKE(half_t, 128)\n"])
@pytest.mark.parametrize(
    ("callers", "states"),
    [
        ({"api.cpp": API + CHECKED}, True),
        ({"api.cpp": API + OPEN}, False),
        ({"api.cpp": API + CHECKED + OPEN}, False),
        ({"api.cpp": API + CHECKED, "more.cpp": API + OPEN}, False),
        ({"api.cpp": API + CHECKED, "more.cpp": API + TWICE}, True),
        ({"api.cpp": API + CHECKED + TWICE + CONSTANT}, True),
        ({"api.cpp": API + CONSTANT}, True),
        ({"api.cpp": API + FLAGS}, True),
        ({"api.cpp": API + MANY + "template void many<cutlass::half_t>(at::Tensor x);"}, False),
        ({"api.cpp": API + DISPATCHED}, True),
        ({"api.cpp": API + CHECKED + LEFT_OPEN}, False),  # another file may instantiate the other branch
        ({"api.cpp": API + CHECKED + MANY}, False),  # of whatever type, which nobody knows
        ({"api.cpp": API + CHECKED + "auto* address = &launch<cutlass::half_t, 64>;"}, False),
        ({"api.cpp": API + CHECKED, "more.cpp": API + BOUND}, False),
        ({"api.cpp": API + CHECKED, "more.cpp": API + RETURNED}, False),
        ({"api.cpp": API + CHECKED, "wide.cu": KERNELS + SPECIALISED.replace("64", "32") + OPEN}, False),
        ({"api.cpp": API + CHECKED, "other.h": f"#pragma once\n{API}{OPEN.replace('void', 'inline void')}"}, True),
        ({"api.cpp": API + CHECKED, "other.h": f"#pragma once\n{API}{OPEN.replace('void', 'inline void')}",
          "more.cc": '#include "other.h"\nint main() { at::Tensor x; open(x); }'}, False),
    ],
)  # fmt: skip
def test_what_all_callers_check_holds(tmp_path: Path, defined: str, callers: dict[str, str], states: bool) -> None:
    found = facts(tmp_path, {"kernels.cu": KERNELS + defined, **callers})
    others = [e for e in found.events if ",64>" not in e.enclosing and FLAGS not in callers["api.cpp"]]
    assert len([e for e in found.events if ",64>" in e.enclosing]) == 1 and len(others) <= 2
    assert open_rows(found) == (not states) + len(others)


def test_a_function_that_is_called_through_another_file(tmp_path: Path) -> None:
    api = API + "void checked(at::Tensor x) { CHECK " + SET + " deep::call(params); }\n"
    files = {"kernels.cu": KERNELS + PLAIN, "between.cpp": CHAIN}
    assert (
        open_rows(facts(tmp_path, {**files, "api.cpp": api.replace("CHECK", "TORCH_CHECK(x.stride(0) % 8 == 0);")}))
        == 0
    )
    assert open_rows(facts(tmp_path, {**files, "api.cpp": api.replace("CHECK", "")})) == 1


@pytest.mark.parametrize(
    ("bound", "states"),
    [
        ("at::Tensor call(at::Tensor x) { BODY return x; }", True),  # by which Python has it
        ("namespace own { at::Tensor call(at::Tensor x) { BODY return x; } auto* kept = &call; }\n"
         "at::Tensor call(at::Tensor x) { return own::call(x); }", True),
        ("using namespace deep; at::Tensor call(at::Tensor x) { BODY return x; }", False),
        ("auto* kept = &deep::call; at::Tensor call(at::Tensor x) { BODY return x; }", False),
        ("namespace deep { auto* kept = &call; }\nat::Tensor call(at::Tensor x) { BODY return x; }", False),
    ],
)  # fmt: skip
def test_a_binding_that_has_the_name_of_what_it_calls(tmp_path: Path, bound: str, states: bool) -> None:
    body = f"TORCH_CHECK(x.stride(0) % 8 == 0); {SET} deep::call(params);"
    api = f'{API}{bound.replace("BODY", body)}\nPYBIND11_MODULE(x, m) {{ m.def("call", &call); }}\n'
    found = facts(tmp_path, {"kernels.cu": KERNELS + PLAIN, "between.cpp": CHAIN, "api.cpp": api})
    assert open_rows(found) == (not states)


@pytest.mark.parametrize(
    ("bound", "states"),
    [
        ("void call(at::Tensor x);", True),  # the binding's own, which its file declares and another defines
        ("namespace deep { void call(at::Tensor x); }", False),
        ('using namespace deep;\n#include "params.h"\nvoid call(at::Tensor x);', False),
    ],
)
def test_a_binding_in_another_file(tmp_path: Path, bound: str, states: bool) -> None:
    called = f"void call(at::Tensor x) {{ TORCH_CHECK(x.stride(0) % 8 == 0); {SET} deep::call(params); }}\n"
    within = "namespace deep { auto* kept = &call; }" if "namespace deep {" in bound else ""
    bindings = f'{bound}\n{within}\nPYBIND11_MODULE(x, m) {{ m.def("call", &call); }}\n'
    files = {"kernels.cu": KERNELS + PLAIN, "between.cpp": CHAIN, "api.cpp": API + called, "bindings.cpp": bindings}
    assert open_rows(facts(tmp_path, files)) == (not states)


FILL = """#include "params.h"
#include "fill.h"
static long double_of(long n) { return 2 * n; }
void fill(Params& params, at::Tensor const& x) { params.p = x.data_ptr(); params.rows.lda = double_of(x.stride(0)); }
Params filled(at::Tensor const& x) { Params p{}; fill(p, x); return p; }
"""
TORCH = """void torch(at::Tensor const& x) {
  kernel<half_t, 64><<<1, 128>>>((half_t*)x.data_ptr(), x.stride(0));
}
"""
FILLED = "void checked(at::Tensor x) {{ TORCH_CHECK(x.stride(0) % {} == 0); Params params = filled(x); {} }}\n"


@pytest.mark.parametrize(
    ("more", "by", "states"),
    [
        ("", 4, True),
        ("", 2, False),
        ("static long double_of(long n) { return 3 * n; }", 4, False),  # another than that of the other file
        ("using Own = int; struct Two { int n; };", 4, True),
    ],
)
def test_parameters_that_another_file_fills(tmp_path: Path, more: str, by: int, states: bool) -> None:
    api = f'{API}#include "fill.h"\n{more}\n' + FILLED.format(by, CALL)
    files = {"fill.h": "#pragma once\nParams filled(at::Tensor const& x);\n", "fill.cpp": FILL, "api.cpp": api}
    assert open_rows(facts(tmp_path, {"kernels.cu": KERNELS + INSTANTIATED, **files})) == (not states)
    store = open_store(str(tmp_path.parent / f"{tmp_path.name}.cache"))
    for text in (FILL, FILL.replace("2 * n", "n"), FILL):
        found = facts(tmp_path, {"fill.cpp": text}, store=store)
        assert found == facts(tmp_path, {"fill.cpp": text})


def test_functions_that_call_each_other_are_open(tmp_path: Path) -> None:
    ping = API + "void ping(Params& p); void pong(Params& p) { TORCH_CHECK(p.stride % 8 == 0); ping(p); }\n"
    kernels = (
        KERNELS + PLAIN + "void pong(Params& p); void ping(Params& p) { plain((half_t*)p.p, p.stride); pong(p); }\n"
    )
    assert open_rows(facts(tmp_path, {"kernels.cu": kernels, "api.cpp": ping})) == 1


def test_a_caller_that_changes_is_read_again(tmp_path: Path) -> None:
    """With the cache, too, and where the kernels alone are asked for."""
    (tmp_path / "tree").mkdir()
    store = open_store(str(tmp_path / "cache"))
    files = {"kernels.cu": KERNELS + INSTANTIATED}
    for text, states in ((CHECKED, True), (OPEN, False), (CHECKED + TWICE, True), (CHECKED, True)):
        for more in ({}, {"changed": (tmp_path / "tree" / "kernels.cu",)}, {"jobs": 2}):
            warm = facts(tmp_path / "tree", {**files, "api.cpp": API + text}, store=store, **more)
            assert warm == facts(tmp_path / "tree", {}, **more)
            assert open_rows(warm) == (not states)


OWN_TYPES = """#pragma once
enum class Mode { one, two };
struct Rows { long lda; };
struct Params { void* p; Rows* rows; Mode mode; long lda; };
void launch(Params const& params, Mode mode, Rows* rows);
"""
OWN_RUN = """
void launch(Params const& params, Mode mode, Rows* rows) {
  kernel<half_t, 64><<<1, 128>>>(static_cast<half_t*>(params.p), params.lda);
}
"""


@pytest.mark.parametrize(
    "more",
    [
        "params.rows = nullptr;",
        "params.mode = static_cast<Mode>(mode);",
        "params.mode = Mode::two;",
        "m = Mode(mode + 1);",
    ],
)
def test_what_callers_pass_of_types_of_the_program_is_cached(tmp_path: Path, more: str) -> None:
    (tmp_path / "tree").mkdir()
    store = open_store(str(tmp_path / "cache"))
    body = "TORCH_CHECK(x.stride(0) % 8 == 0); "
    body += f"Params params{{}}; params.p = x.data_ptr(); params.lda = x.stride(0); Mode m = Mode::one; {more}"
    files = {
        "params.h": OWN_TYPES,
        "kernels.cu": KERNELS + OWN_RUN,
        "api.cpp": API + f"void api(at::Tensor x, int mode) {{ {body} launch(params, m, nullptr); }}\n",
    }
    cold = facts(tmp_path / "tree", files, store=store)
    assert open_rows(cold) == 0
    assert facts(tmp_path / "tree", files, store=store) == cold == facts(tmp_path / "tree", files)


API_H = '#include "params.h"\nvoid run(Params&);\n'
CHECKS = f"void api(at::Tensor x) {{ TORCH_CHECK(x.stride(0) % 8 == 0); {SET} RUN }}\n"
FILLS = "TORCH_CHECK(x.stride(0) % 8 == 0); params.p = x.data_ptr(); params.rows.lda = x.stride(0);"
UNCHECKED = CHECKS.replace("api", "other").replace("TORCH_CHECK(x.stride(0) % 8 == 0);", "")
BODY = "(Params& params) { kernel<half_t, 64><<<1, 128>>>((half_t*)params.p, params.rows.lda); }\n"
TABLE = "void (*table[])(Params&) = {&run};\n"
OP = "struct Op { Params params; VIRTUAL void run(Params&); void both(); static void make(Params&); };\n"
OF = "template <class T, int N = 64> struct Of { static void run(Params&); };\n"
OF_INL = """template <class T, int N> void Of<T, N>::run(Params& params) {
  kernel<T, N><<<1, 128>>>((T*)params.p, params.rows.lda);
}
"""
MACRO = "#define MAKE(T, N) template void launch<T, N>(Params&, cudaStream_t);\n"


def called(more: str, run: str, defined: str, *others: str) -> dict[str, str]:
    """The trees: ``run`` is what a caller that checks does, ``others`` are further files."""
    return {
        "params.h": PARAMS + more,
        "api.h": API_H,
        "api.cpp": '#include "api.h"\n' + CHECKS.replace("RUN", run),
        "kernels.cu": KERNELS + defined,
        **{f"other{i}.cpp": '#include "api.h"\n' + text for i, text in enumerate(others)},
    }


@pytest.mark.parametrize(
    ("files", "unknown"),
    [
        (called("", "run(params);", f"void run{BODY}"), 0),
        # functions that only have the name of another file's
        (called("", "run(params);", f"namespace {{ void run{BODY} }}\n{TABLE}"), 1),
        (called("", "run(params);", f"static void run(Params&); void run{BODY}{TABLE}"), 1),
        (called("", "run(params);", f"namespace other {{ void run{BODY} }}"), 1),
        (called("void run(float* p, long lda); void run(half_t* p, long lda);",
                "run((float*)x.data_ptr(), x.stride(0));",
                "void run(half_t* p, long lda) { kernel<half_t, 64><<<1, 128>>>(p, lda); }"), 1),
        (called("struct Op { void run(Params&) const; void run(Params&); };", "Op op; op.run(params);",
                f"void Op::run{BODY.replace(')', ') const', 1)}"), 1),
        # calls that are not where the definition stands, or not to be seen
        (called("", "run(params);", f"void run{BODY}{TABLE}"), 1),
        (called("", "run(params);", f"void run{BODY}",
                "#define CALL(x) r##x\n" + UNCHECKED.replace("RUN", "CALL(un)(params);")), 1),
        (called("void plain(half_t* p, int lda = 4);", "plain((half_t*)x.data_ptr(), x.stride(0));", PLAIN,
                UNCHECKED.replace("RUN", "plain((half_t*)x.data_ptr());")), 1),
        (called(OF, "Of<cutlass::half_t, 64>::run(params);", f"{OF_INL}template struct Of<half_t>;",
                UNCHECKED.replace("RUN", "Of<cutlass::half_t>::run(params);")), 1),
        # methods
        (called(OP, "Op op; op.run(params);", f"void Op::run{BODY}"), 0),
        (called(OP, "Op::make(params);", f"void Op::make{BODY}"), 0),
        (called(OP, "Op op{params}; op.both();", f"void Op::run{BODY}", "void Op::both() { run(params); }"), 0),
        (called(OP.replace("VIRTUAL", "virtual"), "Op op; op.run(params);", f"void Op::run{BODY}"), 1),
        (called(OP, "Op op; op.run(params);", f"void Op::run{BODY}", "auto address = &Op::run;"), 1),
        (called(OF, "Of<cutlass::half_t, 64>::run(params);", f"{OF_INL}template struct Of<half_t>;"), 0),
        # what a macro of another file defines
        ({**called(MACRO, CALL, f"{INSTANTIATED.partition('#define')[0]}MAKE(half_t, 64)")}, 0),
        # tensors of a library
        (called("void torch(at::Tensor const& x);", "torch(x);",
                TORCH), 0),
        (called("void torch(at::Tensor const& x);", "torch(x);",
                TORCH, UNCHECKED.replace("RUN", "torch(x);")), 1),
    ],
)  # fmt: skip
def test_which_function_of_another_file_is_called(tmp_path: Path, files: dict[str, str], unknown: int) -> None:
    assert open_rows(facts(tmp_path, files)) == unknown


def test_a_function_of_an_anonymous_namespace_takes_nothing_from_the_one_of_that_name(tmp_path: Path) -> None:
    files = called("", "run(params);", f"void run{BODY}")
    files["own.cu"] = f"{KERNELS}namespace {{ void run{BODY} }}\n{TABLE}"
    assert open_rows(facts(tmp_path, files)) == 1
    fill = f"namespace {{ void fill(Params& params, at::Tensor const& x) {{ {FILLS} }} }}"
    api = API + "void api(at::Tensor x) { Params params{}; fill(params, x); run(params); }"
    files = {**called("void fill(Params&, at::Tensor const&);", "", f"void run{BODY}", fill), "api.cpp": api}
    (tmp_path / "own.cu").unlink()
    assert open_rows(facts(tmp_path, files)) == 1


TOOLKIT = """extern "C" int cudaFuncSetAttribute(const void* kernel, int which, int bytes);
void fill(Params& params);
template <class T> static inline int cudaFuncSetAttribute(T* kernel, int which, int bytes) {
  return ::cudaFuncSetAttribute((const void*)kernel, which, bytes);
}
"""


@pytest.mark.parametrize(
    ("other", "lends"),
    [("", True), (TOOLKIT, False), ("static void fill(Params& params) {}", False), ("namespace std {}", False)],
)
def test_what_has_functions_of_the_libraries_lends_none(tmp_path: Path, other: str, lends: bool) -> None:
    """What a compiler writes between its passes has all that the headers had: CUDA's functions would be its own."""
    helper = other if "static void" in other else f"{other}\nvoid fill(Params& params) {{ params.rows.lda = 64; }}\n"
    files = {"kernels.cu": KERNELS + "void fill(Params& params);\n", "helper.cpp": helper}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    found = links(Tree({name: tmp_path / name for name in files}), ["kernels.cu"])
    assert ("fill" in found.helpers) == lends
