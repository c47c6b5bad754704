"""Inline assembly: what it writes by its operands, and what through addresses that it is given or that went before.

Compiled for a host (with `movl $3, (%0)` in the place of the store) each of these programs shows another value.
"""

from pathlib import Path

import pytest

from cutecheck.source.cpp.lower.assembly import outputs, pointed, step, writes_memory
from cutecheck.source.cpp.lower.instructions import instructions
from cutecheck.tests.source.shown import kernel, number

KERNEL = kernel(
    """#include <cute/tensor.hpp>
using namespace cute;
struct Pair { int a = 1, b = 2; };
static int* global;
static int* globals[2];
__device__ void stores(int* p) { asm volatile("st.b32 [%0], 3;" :: "l"(p) : "memory"); }
""",
    "Pair p;",
)
STORE = 'asm volatile("st.b32 [%0], 3;" :: "l"(ADDRESS) : "memory");'


@pytest.mark.parametrize(
    ("body", "address", "shown"),
    [
        ("", "&x", "x"),
        ("", "(unsigned long)(&x)", "x"),
        ("int* q = &x;", "q", "x"),
        ("int* q = &p.b;", "q", "p.b"),
        ("", "&p", "p.b"),
        ("Pair* q = &p;", "&q->b", "p.b"),
        ("int* q = n > 2 ? &x : &y;", "q", "x"),
        ("global = &x;", "global", "x"),
        ("globals[1] = &x;", "globals[1]", "x"),
        ("int* w[2]; w[0] = &x;", "w[0]", "x"),
        ("unsigned long v = reinterpret_cast<unsigned long>(&x);", "v", "x"),
    ],
)
def test_what_assembly_stores_through_an_address_is_not_known(
    tmp_path: Path, body: str, address: str, shown: str
) -> None:
    assert number(tmp_path, KERNEL, body + STORE.replace("ADDRESS", address), shown) is None


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ('asm volatile("mov.b32 %0, 3;" : "=r"(x));', "x"),
        ('asm volatile("add.s32 %0, %0, 3;" : "+r"(x));', "x"),
        ('asm volatile("mov.b32 %0, 3;" : "=r"(p.b));', "p.b"),
        ('int& r = x; asm volatile("mov.b32 %0, 3;" : "=r"(r));', "x"),
        ('int a[2] = {1, 2}; asm volatile("mov.b32 %0, 3;" : "=r"(a[1]));', "a[1]"),
        ('int* q = &x; asm volatile("mov.b32 %0, 3;" : "=r"(*q));', "x"),
        ('Pair* q = &p; asm volatile("mov.b32 %0, 3;" : "=r"(q->b));', "p.b"),
        ('global = &x; asm volatile("mov.b32 %0, 3;" : "=r"(*global));', "x"),
        ("int* q = &x; for (int i = 0; i < 2; ++i) { stores(q); }", "x"),
    ],
)
def test_outputs_of_assembly_are_not_known(tmp_path: Path, body: str, shown: str) -> None:
    assert number(tmp_path, KERNEL, body, shown) is None


@pytest.mark.parametrize(
    ("body", "shown", "value"),
    [
        (STORE.replace("ADDRESS", "&y"), "x", 0),
        ('int* q = &x; asm volatile("ld.b32 %0, [%1];" : "=r"(y) : "l"(q));', "x", 0),
        ('global = &x; asm volatile("cp.async.wait_group 0;" ::: "memory");', "x", 0),
        ('global = &x; asm volatile("{\\n .reg .pred P;\\nLAB:\\n @P bra LAB;\\n}" ::: "memory");', "x", 0),
    ],
)
def test_what_assembly_does_not_write_keeps_its_value(tmp_path: Path, body: str, shown: str, value: int) -> None:
    assert number(tmp_path, KERNEL, body, shown) == value


def test_the_parts_of_assembly() -> None:
    template = '"st.b32 [%1], %2; // ld\\n" "ld.b32 %0, [%1];"'
    text = f'asm volatile({template} : "=r"(A::x), [o] "=f"(d[i]) : "l"(&p->q), "r"(a & b))'
    assert outputs(text) == ("A", "x", "o", "d", "i")
    assert pointed(text) == ("p",)
    assert writes_memory(text)
    assert not writes_memory('asm("@p ld.b32 %0,\\n\\t [%1]; {mma.sync %0, {%1, %2};}\\n" : "=r"(x) : "l"(p))')
    assert not writes_memory('asm volatile("" ::: "memory")')
    assert not writes_memory('asm("{ A: mbarrier.test_wait.parity.b64 P, [%0], %1; @P bra B; B: \\n\\t}")')
    assert writes_memory('asm("movl $3, (%0)" :: "r"(p))')


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('asm volatile("cp.async.commit_group;\\n" ::);', ("cp_async_fence", None)),
        ('asm volatile("cp.async.wait_all;" ::: "memory");', ("cp_async_wait", 0)),
        ('asm volatile("cp.async.wait_group 2;");', ("cp_async_wait_group", 2)),
        ('asm volatile("cp.async.wait_group %0;\\n" ::"n"(N - (1)));', ("cp_async_wait_group", "N - (1)")),
        (
            'asm("cp.async.bulk.wait_group.read %[n];" :: [m] "r"(a), [n] "n"(f(b)) : "memory")',
            ("tma_store_wait", "f(b)"),
        ),
        ('asm("wgmma.wait_group.sync.aligned %0;\\n" ::"n"(0) : "memory")', ("warpgroup_wait", "0")),
        ('asm("fence.proxy.async.shared::cta;" ::: "memory")', ("fence_view_async_shared", None)),
        ('asm("fence.proxy.tensormap::generic.release.gpu;" ::: "memory")', None),
        ('asm("cp.async.wait_group %1;" :: "n"(0))', None),
        ('asm("cp.async.wait_group;")', None),
        (
            'asm("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(a), "r"(n))',
            ("arrive_and_expect_tx", "n"),
        ),
        ('asm("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 64;" ::"r"(a))', ("mbarrier_expect_tx", 64)),
        ('asm("cp.async.commit_group; cp.async.wait_group 0;")', None),  # two steps
    ],
)
def test_a_step_of_assembly(text: str, meant: tuple[str, object] | None) -> None:
    found = step(text)
    if found is not None and isinstance(found[1], tuple):
        found = found[0], text[slice(*found[1])]  # type: ignore[assignment]
    assert found == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('asm("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(a), "r"(n))', [("init", ["a", "n"], False)]),
        ('asm("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(t) : "r"(a))', [("arrive", ["a"], False)]),
        (
            'asm("{.reg .b32 r; mapa.shared::cluster.u32 r, %0, %1; mbarrier.arrive.shared::cluster.b64 _, [r];}"'
            ' :: "r"(a), "r"(c))',
            [("arrive", ["a"], True)],
        ),
        (
            'asm("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" :: "r"(a))',
            [("commit", ["a"], False)],
        ),
        ('asm("cp.async.mbarrier.arrive.shared.b64 [%0];" :: "r"(a))', [("copied", ["a", 0], False)]),
        ('asm("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(a))', [("copied", ["a"], False)]),
        ('asm("bar.sync 1, 128;")', [("sync", [1, 128], False)]),
        ('asm("barrier.cluster.arrive.release.aligned;")', [("cluster_arrive", [], False)]),
        ('asm("mov.u32 %0, %%laneid;" : "=r"(l))', [("laneid", [], False)]),
        ('asm("mbarrier.arrive_drop.shared.b64 _, [%0];" :: "r"(a))', None),
        ('asm("mbarrier.pending_count.b64 %0, %1;" : "=r"(n) : "l"(t))', None),
        ('asm("mbarrier.init.shared.b64 [%0+8], 1;" :: "r"(a))', None),  # an address that is not followed
    ],
)
def test_what_assembly_does_with_barriers(text: str, meant: list[tuple[str, list[object], bool]] | None) -> None:
    known = instructions(text)
    shown = None
    if known is not None:
        shown = [(i.name, [text[slice(*o)] if isinstance(o, tuple) else o for o in i.operands], i.far) for i in known]
    assert shown == meant
