"""What host code states of a run-time number before it launches a kernel, and what it only seems to state."""

import re
from pathlib import Path

import pytest

from cutecheck.tests.source.test_extract import run

KERNEL = """
__global__ void k(float* p, int lda) {
  Tensor g = make_tensor(make_gmem_ptr(p), make_layout(lda));
  Tensor r = make_tensor<float>(Layout<Shape<_8>>{});
  copy(g, r);
}
void launch(float* p, int lda) { LAUNCH; }
template <class K> void launch_it(K* kernel, float* p, int lda) { kernel<<<1, 128>>>(p, lda); }
bool aligned(void const* q, int ld, int n) { return reinterpret_cast<uintptr_t>(q) % 16 == 0 && ld % n == 0; }
bool can(int lda) { return lda % 8 == 0; }
bool can_too(int lda) { bool ok = true; ok = ok && lda % 8 == 0; if (!ok) { printf("x"); } return ok; }
bool can_three(int lda) { if (lda % 8 != 0) return false; if (lda < 0) return false; return true; }
int status(int lda) { if (lda % 8 != 0) return 1; return 0; }
enum class State { Ok, Stride, Sign };
State state(int lda) { if (lda % 8 != 0) return State::Stride; if (lda < 0) return State::Sign; return State::Ok; }
State flaw(int lda, int n) { if (n == 3) return State::Ok; if (lda % 8 != 0) return State::Stride; return State::Ok; }
void checked(int lda) { TORCH_CHECK(lda % 8 == 0); }
void checked_at_times(int lda, int n) { if (n > 3) return; TORCH_CHECK(lda % 8 == 0); }
bool checks(int lda) { TORCH_CHECK(lda % 8 == 0); return true; }
void ends(bool holds) { if (!holds) { printf("x"); exit(1); } }
struct Gemm {
  bool can_implement(int lda) { return lda % 8 == 0; }
  int run(float* p, int lda) { if (!can_implement(lda)) return 1; launch(p, lda); return 0; }
};
#define CHECK(c) do { if (!(c)) { printf("x"); std::abort(); } } while (0)
void host(float* p, int lda, int n) { BODY }
"""
OWN = "struct Own { void exit(int) {} void run(float* p, int lda) { if (lda % 8) { exit(1); } launch(p, lda); } };\n"

STATED = [
    "if (!aligned(p, lda, 8)) return; launch(p, lda);",
    "if (reinterpret_cast<uintptr_t>(p) % 16 != 0 || lda % 8 != 0) return; launch(p, lda);",
    "if (lda % 8 == 0 && reinterpret_cast<uintptr_t>(p) % 16 == 0) launch(p, lda);",
    "if (lda % 8) { throw std::runtime_error(); } launch(p, lda);",
    "if (lda % 8) { printf(); exit(1); } launch(p, lda);",
    "CHECK(lda % 8 == 0); launch(p, lda);",
    "if (!can(lda)) return; launch(p, lda);",
    "if (!can_too(lda)) return; launch(p, lda);",
    "if (can_three(lda)) launch(p, lda);",
    "TORCH_CHECK(can(lda)); launch(p, lda);",
    "TORCH_CHECK(can_three(lda)); launch(p, lda);",
    "if (status(lda) != 0) return; launch(p, lda);",
    "int s = status(lda); if (s) return; launch(p, lda);",
    "if (state(lda) != State::Ok) return; launch(p, lda);",
    "if (auto s = state(lda); s != State::Ok) return; launch(p, lda);",
    "auto s = state(lda); if (State::Ok == s) launch(p, lda);",
    "if (1 > status(lda)) launch(p, lda);",
    "bool ok = lda % 8 == 0; TORCH_CHECK(ok); launch(p, lda);",
    "bool ok = lda % 8 == 0 && n > 3; if (!ok) return; launch(p, lda);",
    "bool a = lda % 8 == 0; bool b = n > 3; if (a && b) launch(p, lda);",
    "bool bad = lda % 8 != 0 || n > 3; if (!bad) launch(p, lda);",
    "checked(lda); launch(p, lda);",
    "{ TORCH_CHECK(lda % 8 == 0); } launch(p, lda);",
    "ends(lda % 8 == 0); launch(p, lda);",
    "Gemm g; g.run(p, lda);",
    "auto test = [&](int x) { TORCH_CHECK(x % 8 == 0); }; test(lda); launch(p, lda);",
    "lda % 8 == 0 && (launch(p, lda), true);",
    "(lda % 8 != 0) || [&] { launch(p, lda); return true; }();",
    "lda % 8 == 0 ? launch(p, lda) : void();",
    "lda % 8 ? void() : launch(p, lda);",
    "lda = 8; if (n > 3) lda = atoi(text); if (lda % 8) return; launch(p, lda);",
    "lda = 512; for (int i = 1; i < n; ++i) { if (i == n - 2) lda = atoi(text); } if (lda % 8) return; launch(p, lda);",
    "for (int i = 1; i < n; ++i) { if (i == 2) lda = std::stoi(text); } TORCH_CHECK(lda % 8 == 0); launch(p, lda);",
    "if (n > 3) { TORCH_CHECK(lda % 24 == 0); } else { TORCH_CHECK(lda % 16 == 0); } launch(p, lda);",
    "if (n > 3) { checked(lda); } else { checked(lda); printf(); } launch(p, lda);",
]

NOT_STATED = [
    "if (aligned(p, lda, 8)) return; launch(p, lda);",
    "if (reinterpret_cast<uintptr_t>(p) % 16 == 0 || lda % 8 == 0) launch(p, lda);",
    "if (reinterpret_cast<uintptr_t>(p) % 16 != 0 && lda % 8 != 0) return; launch(p, lda);",
    "lda % 8 == 0 || (launch(p, lda), true);",
    "lda % 8 ? launch(p, lda) : void();",
    "(n > 3 && lda % 8 == 0) ? void() : launch(p, lda);",
    "bool x = lda % 8 == 0 && n > 3; launch(p, lda);",
    "launch(p, lda);",
    "if (status(lda) == 0) return; launch(p, lda);",
    "if (state(lda) == State::Ok) return; launch(p, lda);",
    "if (state(lda) == State::Sign) return; launch(p, lda);",
    "if (flaw(lda, n) != State::Ok) return; launch(p, lda);",
    "if (can(lda)) { printf(); } launch(p, lda);",
    "TORCH_CHECK(!can_three(lda)); launch(p, lda);",
    "bool ok = lda % 8 == 0 || n > 3; if (!ok) return; launch(p, lda);",
    "bool bad = lda % 8 != 0 && n > 3; if (!bad) launch(p, lda);",
    "bool a = lda % 8 == 0; a = n > 3; if (a) launch(p, lda);",
    "bool a = lda % 8 == 0; lda = n; if (a) launch(p, lda);",
    "checked_at_times(lda, n); launch(p, lda);",
    "try { checked(lda); } catch (...) { } launch(p, lda);",
    "try { TORCH_CHECK(lda % 8 == 0); } catch (...) { } launch(p, lda);",
    "bool x = n > 3 && checks(lda); launch(p, lda);",
    "bool x = n > 3 ? checks(lda) : false; launch(p, lda);",
    "for (int i = 0; i < n; ++i) { TORCH_CHECK(lda % 8 == 0); } launch(p, lda);",
    "for (int i = 0; i < n; ++i) { checked(lda); } launch(p, lda);",
    "do { if (lda % 8) break; printf(); } while (0); launch(p, lda);",
    "do { if (n > 3) break; TORCH_CHECK(lda % 8 == 0); } while (0); launch(p, lda);",
    "switch (n) { case 1: TORCH_CHECK(lda % 8 == 0); break; default: break; } launch(p, lda);",
    "auto test = [&] { if (lda % 8) return; printf(); }; test(); launch(p, lda);",
    "if (n > 3) { checked(lda); } launch(p, lda);",
    "if (n > 3) { TORCH_CHECK(lda % 8 == 0); } else { TORCH_CHECK(lda % 4 == 0); } launch(p, lda);",
    "if (lda % 8 == 0) { printf(); } else { printf(); } launch(p, lda);",
    "if (lda % 8 == 0) { } else { } launch(p, lda);",
    "Own o; o.run(p, lda);",
]


PLAIN = "k<<<1, 128>>>(p, lda)"


@pytest.mark.parametrize(
    "how", ["launch_it(k, p, lda)", "launch_it(&k, p, lda)", "launch_it<void(float*, int)>(k, p, lda)"]
)
def test_the_kernel_is_a_pointer_to_what_is_deduced(tmp_path: Path, how: str) -> None:
    test_what_is_stated_before_a_launch(tmp_path, "if (lda % 8) return; launch(p, lda);", True, how)
    test_what_is_stated_before_a_launch(tmp_path, "launch(p, lda);", False, how)


@pytest.mark.parametrize(("body", "states"), [*((b, True) for b in STATED), *((b, False) for b in NOT_STATED)])
def test_what_is_stated_before_a_launch(tmp_path: Path, body: str, states: bool, how: str = PLAIN) -> None:
    kernel = KERNEL.replace("#define", f"{OWN}#define") if "Own" in body else KERNEL
    kernel = kernel.replace("LAUNCH", how)
    facts = run(tmp_path, kernel.replace("BODY", body))
    found = [{re.sub(r"#\d+", "", str(h.condition)) for h in e.hypotheses} for e in facts.events]
    assert found
    if "lda = n" in body:
        assert all("n % 8 == 0" not in conditions for conditions in found)
    else:
        assert all(("lda % 8 == 0" in conditions) is states for conditions in found), found


@pytest.mark.parametrize(
    ("body", "length", "states"),
    [
        ("TORCH_CHECK(lda % 8 == 0 && (lda = n)); launch(p, lda);", "n", "lda % 8 == 0"),
        ("TORCH_CHECK((lda = n)); TORCH_CHECK(lda % 8 == 0); launch(p, lda);", "n", "n % 8 == 0"),
        ("TORCH_CHECK(can(lda) && add(lda)); launch(p, lda);", "lda + 1", "lda % 8 == 0"),
        ("TORCH_CHECK(can(lda)); assert(!add_to(&lda)); launch(p, lda);", "lda + 1", "lda % 8 == 0"),
        ("TORCH_CHECK(add(lda) || n > 3); TORCH_CHECK(can(lda)); launch(p, lda);", "lda + 1", "(lda + 1) % 8 == 0"),
        ("TORCH_CHECK(lda % 8 == 0 && can(n)); launch(p, lda);", "lda", "lda % 8 == 0"),
    ],
)
def test_what_an_assertion_changes_is_changed(tmp_path: Path, body: str, length: str, states: str) -> None:
    kernel = KERNEL[: KERNEL.index("template <class K>")].replace("LAUNCH", PLAIN)
    own = "bool add(int& x) { x += 1; return true; }\nbool add_to(int* x) { *x += 1; return false; }\n"
    can = "bool can(int x) { return x % 8 == 0; }\n"
    text = f"{kernel}{own}{can}void host(float* p, int lda, int n) {{ {body} }}\n"
    events = run(tmp_path, text).events
    assert {re.sub(r"#\d+|[{}]", "", str(e.operands[0].layout)) for e in events} == {f"{length}:_1"}
    assert all(states in {re.sub(r"#\d+", "", str(h.condition)) for h in e.hypotheses} for e in events)


@pytest.mark.parametrize(
    ("body", "states"),
    [
        ("while (lda % 8) ++lda;", True),
        ("do { lda += 3; } while (lda % 8 != 0);", True),
        ("for (; lda % 8; ++lda) { if (lda == n) return; }", True),
        ("while (lda % 8) { if (lda == n) break; ++lda; }", False),
        ("for (int lda = n; lda % 8; ++lda) { }", False),
        ("while (lda % 8 && n > 3) ++lda;", False),
        ("while (lda % 8 == 0) ++lda;", False),
    ],
)
def test_what_a_loop_went_on_for_is_so_behind_it(tmp_path: Path, body: str, states: bool) -> None:
    kernel = KERNEL[: KERNEL.index("void launch")]
    events = run(tmp_path, f"{kernel}void host(float* p, int lda, int n) {{ {body} {PLAIN}; }}\n").events
    assert events
    for event in events:
        stated = {re.sub(r"#\d+", "", str(h.condition)) for h in event.hypotheses}
        assert any("iterations" in c and c.endswith(" % 8 == 0") for c in stated) is states, stated


@pytest.mark.parametrize(
    ("body", "states"),
    [
        ("if (lda % 16 != 8) return;", {"lda % 8 == 0", "(lda - 8) % 16 == 0"}),
        ("if ((lda & 31) != 12) return;", {"lda % 4 == 0", "(lda - 12) % 32 == 0"}),
        ("TORCH_CHECK(lda % 24 == 9);", {"(lda % 24) == 9", "lda % 3 == 0", "(lda - 9) % 24 == 0"}),
        ("if (lda != 72) return;", {"lda % 72 == 0", "lda == 72"}),
        ("if (lda % 8 != 1) return;", {"(lda - 1) % 8 == 0"}),
        ("if (lda % 8 != -4) return;", {"(lda % 8) % 4 == 0"}),
        ("if (lda % 16 == 8) return;", set()),
    ],
)
def test_what_a_remainder_says_of_a_number(tmp_path: Path, body: str, states: set[str]) -> None:
    kernel = KERNEL[: KERNEL.index("void launch")]
    events = run(tmp_path, f"{kernel}void host(float* p, int lda, int n) {{ {body} {PLAIN}; }}\n").events
    assert events
    assert all({re.sub(r"#\d+", "", str(h.condition)) for h in e.hypotheses} == states for e in events)


@pytest.mark.parametrize(
    ("body", "states"),
    [
        ("if (n > 3) { lda = 2 * n; TORCH_CHECK(lda % 8 == 0); } else { lda = 0; }", True),
        ("if (n > 3) { lda = 2 * n; checked(lda); } else if (n) { lda = 24; } else { return; }", True),
        ("if (n > 3) { lda = 2 * n; checked(lda); } else { lda = m; checked(lda); }", True),
        ("if (n > 3) { lda = 2 * n; TORCH_CHECK(lda % 8 == 0); } else { lda = 4; }", False),
        ("if (n > 3) { lda = 2 * n; TORCH_CHECK(lda % 8 == 0); } else { lda = 2 * n; }", False),
        ("if (n > 3) { TORCH_CHECK(lda % 8 == 0); lda = n; } else { TORCH_CHECK(lda % 8 == 0); lda = 3; }", False),
    ],
)
def test_what_both_branches_check_is_so_behind_them(tmp_path: Path, body: str, states: bool) -> None:
    kernel = KERNEL[: KERNEL.index("void launch")]
    checks = "void checked(int x) { TORCH_CHECK(x % 8 == 0); }\n"
    text = f"{kernel}{checks}void host(float* p, int lda, int n, int m) {{ {body} {PLAIN}; }}\n"
    (event,) = run(tmp_path, text).events
    length = re.sub(r"[{}]|:_1", "", str(event.operands[0].layout))
    assert (f"{length} % 8 == 0" in {str(h.condition) for h in event.hypotheses}) is states
