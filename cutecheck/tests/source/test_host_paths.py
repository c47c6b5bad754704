"""From a program's ``main`` to its kernels: overloads, recursion and depth on the way."""

from pathlib import Path

from cutecheck.facts import Facts
from cutecheck.source.eval.limits import Limits
from cutecheck.tests.source.test_extract import run

COPY = """
template <class T> __global__ void kernel(T* p) {
  Tensor g = make_tensor(make_gmem_ptr(p), Layout<Shape<_8>>{});
  Tensor r = make_tensor<T>(Layout<Shape<_8>>{});
  copy(g, r);
}
"""


def elements(facts: Facts) -> set[str]:
    return {e.operands[0].dtype.name for e in facts.events if e.operands[0].dtype is not None}


def test_a_null_stream_is_no_parameter_structure(tmp_path: Path) -> None:
    """CUTLASS's device adapters: a static overload over ``Params``, one over arguments, one over a stream."""
    facts = run(
        tmp_path,
        COPY
        + """
struct Arguments { float* pointer; int n; };
template <class K> struct Adapter {
  struct Params { K* pointer; };
  Params params_;
  static int run(Params& params, cudaStream_t stream = nullptr) { kernel<K><<<1, 32>>>(params.pointer); return 0; }
  int run(Arguments const& args, void* workspace = nullptr, cudaStream_t stream = nullptr) {
    params_ = Params{args.pointer};
    return run(params_, stream);
  }
  int run(cudaStream_t stream = nullptr) { return run(params_, stream); }
};
struct Both {
  struct Params { Adapter<float> one; };
  static int run(Params& params, cudaStream_t stream) { return params.one.run(stream); }
};
int main() { Both::Params p; Both::run(p, nullptr); }
""",
    )
    assert [s.kernel for s in facts.launches] == ["kernel<float>"]
    (event,) = facts.events
    assert "params_.pointer" in str(event.operands[0]), "the pointer is that of the adapter's own parameters"


def test_a_class_with_a_constructor_takes_what_it_is_made_of(tmp_path: Path) -> None:
    facts = run(
        tmp_path,
        COPY
        + """
struct Stream { Stream(int) {} };
struct Other { float x; };
template <class T> struct Go {
  static void go(Other o) { kernel<double><<<1, 32>>>(nullptr); }
  static void go(Stream s) { kernel<float><<<1, 32>>>(nullptr); }
};
int main() { Go<int>::go(3); }
""",
    )
    assert elements(facts) == {"float"}


def test_a_main_that_calls_itself_is_followed_once_more(tmp_path: Path) -> None:
    facts = run(
        tmp_path,
        COPY
        + """
template <class T> int single(int argc, char const** args) { kernel<T><<<1, 32>>>(nullptr); return 0; }
int main(int argc, char const** args) {
  bool recursed = false;
  for (int i = 1; i < argc; ++i) {
    std::vector<char const*> next;
    for (;;) { main(argc, next.data()); if (i > 3) break; }
    recursed = true;
  }
  if (!recursed) single<float>(argc, args);
}
""",
        limits=Limits(steps_per_root=4000),
    )
    assert elements(facts) == {"float"}
    assert not facts.errors


def test_recursion_on_a_known_number_is_followed_to_its_end(tmp_path: Path) -> None:
    facts = run(
        tmp_path,
        """
constexpr int log2_of(int n) { return n <= 1 ? 0 : 1 + log2_of(n / 2); }
constexpr int count(int n) { if (n == 0) return 0; return 1 + count(n - 1); }
using A = Layout<Shape<Int<log2_of(1024)>, Int<count(20)>>>;
struct Down { int n; int left() { if (n == 0) return 7; n = n - 1; return left(); } };
""",
    )
    assert [str(s.value) for s in facts.sites] == ["(_10,_20):(_1,_10)"]


def test_types_asked_for_at_the_end_of_a_deep_chain_are_known(tmp_path: Path) -> None:
    """What a limit of nesting cuts must not be remembered as the value of the type it was asked of."""
    depth = 45
    chain = "".join(
        f"template <class T> void f{i}(int n) {{ if (n > {i}) {{ {{ if (n < 99) {{ f{i + 1}<T>(n); }} }} }} }}\n"
        for i in reversed(range(depth))
    )
    facts = run(
        tmp_path,
        COPY
        + "struct Traits { using Tile = Layout<Shape<_8, _4>>; using Element = cute::half_t; };\n"
        + f"template <class T> void f{depth}(int n) {{ kernel<typename T::Element><<<1, 32>>>(nullptr); }}\n"
        + chain
        + "int main(int argc, char** argv) { f0<Traits>(argc); }",
    )
    assert elements(facts) == {"half_t"}


def test_a_value_cut_by_a_limit_of_nesting_is_found_where_less_is_nested(tmp_path: Path) -> None:
    deep = "struct D0 { using type = Layout<Shape<_8>>; };\n" + "".join(
        f"struct D{i} {{ using type = typename D{i - 1}::type; }};\n" for i in range(1, 200)
    )
    text = deep + "using Far = typename D199::type;\nusing Near = typename D150::type;\n"
    facts = run(tmp_path, text, limits=Limits(depth=300))
    found = {s.symbol: s.status for s in facts.sites if s.symbol in ("Near", "Far")}
    assert found["Near"] == "resolved"


def test_a_variable_takes_the_reference_that_can_be_written_through(tmp_path: Path) -> None:
    facts = run(
        tmp_path,
        COPY
        + """
struct P { float x; };
template <class T> struct Go {
  P held;
  static void run(P const& p, void* space = nullptr, cudaStream_t s = nullptr) { kernel<double><<<1, 32>>>(nullptr); }
  static void run(P& p, cudaStream_t s = nullptr) { kernel<float><<<1, 32>>>(nullptr); }
  void again(cudaStream_t s) { run(held, s); }
  static void temporary(P const& p) { kernel<half_t><<<1, 32>>>(nullptr); }
  static void temporary(P& p) { kernel<int><<<1, 32>>>(nullptr); }
};
int main() { Go<int> g; g.again(nullptr); Go<int>::temporary(P{}); }
""",
    )
    assert elements(facts) == {"float", "half_t"}


def test_a_loop_over_calls_that_only_get_copies_is_not_walked_to_find_what_it_changes(tmp_path: Path) -> None:
    body = "".join(f"int v{i} = n + {i}; (void)v{i};\n" for i in range(300))
    facts = run(
        tmp_path,
        COPY
        + f"template <class T> void launch(int n) {{ {body} kernel<T><<<1, 32>>>(nullptr); }}\n"
        + "int main(int argc, char** argv) {\n"
        + "  for (int i = 0; i < argc; ++i) { for (int j = 0; j < i; ++j) { launch<float>(argc); } }\n"
        + "}",
        limits=Limits(steps_per_root=3000),
    )
    assert elements(facts) == {"float"}
    assert not facts.errors


def test_a_pipeline_state_that_advances_often_does_not_double(tmp_path: Path) -> None:
    """Stage and phase of CUTLASS's pipelines, advanced thirty times under conditions of others."""
    advance = "if (++stage == n) { stage = 0; phase = phase ^ n; }\n"
    facts = run(
        tmp_path,
        "__global__ void k(float* p, int n, int stage, int phase) {\n"
        + advance * 30
        + "Tensor g = make_tensor(make_gmem_ptr(p + 4 * phase), Layout<Shape<_8>>{});\n"
        + "Tensor r = make_tensor<float>(Layout<Shape<_8>>{}); copy(g, r); }",
    )
    (event,) = facts.events
    assert len(str(event)) < 20_000


def test_what_stands_behind_the_place_where_a_limit_ended_the_walk_is_unknown(tmp_path: Path) -> None:
    work = "".join(f"int v{i} = n + {i};\n" for i in range(200))
    facts = run(
        tmp_path,
        "template <class T> __global__ void k(T* p, int n) {\n"
        + "if (n > 3) {\n"
        + work
        + "}\nauto far = make_tiled_copy(Copy_Atom<UniversalCopy<T>, T>{}, Layout<Shape<_32>>{}); }\n"
        + "template <class T> void n() { auto c = make_tiled_copy(Copy_Atom<UniversalCopy<T>, T>{}, Layout<_8>{}); }\n"
        + "int main(int argc, char** argv) { k<float><<<1, 32>>>(nullptr, argc); }",
        limits=Limits(steps_per_root=150),
    )
    assert facts.errors
    last = max(s.span.line for s in facts.sites)
    (far,) = [s for s in facts.sites if s.span.line == last - 1 and s.kind == "tiled_copy"]
    (never,) = [s for s in facts.sites if s.span.line == last and s.kind == "tiled_copy"]
    assert far.status == "unknown" and "ended in the function around it" in str(far.reason)
    assert never.status == "unbound"


def test_an_offset_of_each_thread_stays_what_it_is_where_stages_take_turns(tmp_path: Path) -> None:
    """A long text (a swizzle) of the thread's index, moved by a stage under a condition: no number of its own."""
    swizzle = "o = o ^ ((o / 8) % 8) * 8;\n"
    facts = run(
        tmp_path,
        "__global__ void k(float* p, int n, int c) {\n  int o = threadIdx.x * 8;\n"
        + swizzle * 4
        + "  if (c > 0) { o = o + 64 * n; }\n"
        + "Tensor g = make_tensor(make_gmem_ptr(p + o), Layout<Shape<_8>>{});\n"
        + "Tensor r = make_tensor<float>(Layout<Shape<_8>>{}); copy(g, r); }",
    )
    (event,) = facts.events
    assert "threadIdx.x" in str(event.operands[0].offset) and "~" not in str(event.operands[0].offset)


def test_members_that_nothing_initialises_are_told_apart_where_their_class_says_others(tmp_path: Path) -> None:
    facts = run(
        tmp_path,
        """
struct Matrix { int tile = 8; int rows; };
struct Params { Matrix a, b; };
__global__ void kernel(Params p) {
  extern __shared__ float s[];
  Tensor t = make_tensor(make_smem_ptr(s), make_layout(make_shape(p.a.rows, p.b.rows, p.a.tile)));
  copy(t, t);
}
int main() { Params p; kernel<<<1, 32>>>(p); }
""",
    )
    layouts = {str(e.operands[0].layout) for e in facts.events}
    assert layouts == {"(Params.a.rows,Params.b.rows,8):(_1,Params.a.rows,{Params.a.rows*Params.b.rows})"}


def test_a_stream_that_is_0_by_default_is_passed_on(tmp_path: Path) -> None:
    """Its value looks like an ``int`` of 0, which no variable of type ``int`` could give to a pointer."""
    facts = run(
        tmp_path,
        COPY
        + """
struct CUstream_st; typedef CUstream_st* cudaStream_t;
template <class T> void inner(T* p, cudaStream_t stream = 0) { kernel<T><<<1, 32, 0, stream>>>(p); }
template <class T> void outer(T* p, cudaStream_t stream = 0) { inner(p, stream); }
int main() { float* p; outer(p); }
""",
    )
    assert elements(facts) == {"float"}
