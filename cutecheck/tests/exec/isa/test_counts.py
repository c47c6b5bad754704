"""Reading PTX and SASS: kinds, widths and counts."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from cutecheck.exec.isa.compile import blamed
from cutecheck.exec.isa.counts import ptx_counts, sass_counts, sass_key, shown

PTX = """
.visible .entry first(
  .param .u32 first_param_0
)
.maxntid 128
{
  ld.param.u64 %rd1, [first_param_2];
  ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];
  @%p1 ld.global.nc.u16 %rs1, [%rd1+2];
  ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%r1, %r2, %r3, %r4}, [%r9];
  ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r1, %r2}, [%r9];
  st.shared.v2.b64 [%r1], {%rd1, %rd2};
  { cp.async.cg.shared.global.L2::128B [%r1], [%rd1], 16; }
  cp.async.ca.shared.global [%r1], [%rd1], 4, %r7;
  ld.local.u32 %r1, [%rd9];
}
.entry second()
{
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f2};
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f2};
  wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%f1}, %rd1, %rd2, p, 1, 1, 0, 0;
  tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r3, p;
  tcgen05.ld.sync.aligned.32x32b.x32.b32 {%r1}, [%r2];
  fma.rn.f32 %f1, %f2, %f3, %f4;
  red.global.add.u32 [%rd1], %r1;
}
"""

SASS = """
        .section        .text.first,"ax",@progbits
        /*0000*/                   LDG.E.128 R4, desc[UR4][R2.64] ;
        /*0010*/               @P0 LDG.E.U16.CONSTANT R4, desc[UR4][R2.64] ;
        /*0020*/                   LDSM.16.M88.4 R4, [R2] ;
        /*0030*/                   LDSM.16.MT88.2 R4, [R2] ;
        /*0040*/                   STS.128 [R2], R4 ;
        /*0050*/                   LDGSTS.E.BYPASS.LTC128B.128 [R2], desc[UR4][R4.64] ;
        /*0060*/                   LDGSTS.E [R2], desc[UR4][R4.64] ;
        /*0070*/              @!PT LDS RZ, [RZ] ;
        /*0080*/                   LDL R1, [R2] ;
        .section        .text.second,"ax",@progbits
        /*0000*/                   HMMA.16816.F32 R4, R4, R8, R12 ;
        /*0010*/                   HMMA.16816.F32.BF16 R4, R4, R8, R12 ;
        /*0020*/                   HGMMA.64x128x16.F32 R24, gdesc[UR4], R24, gsb0 ;
        /*0030*/                   UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR8], tmem[UR10], idesc[UR11], UP0 ;
        /*0040*/                   LDTM.x32 R4, tmem[UR4] ;
        /*0050*/                   FFMA R4, R5, R6, R7 ;
"""


def test_ptx_by_entry() -> None:
    counts = ptx_counts(PTX)
    assert counts["first"] == Counter({
        ("LDG", "128"): 1, ("LDG", "16"): 1, ("LDSM", "4"): 1, ("LDSM", "2"): 1, ("STS", "128"): 1,
        ("LDGSTS", "128"): 1, ("LDGSTS", "32"): 1, ("LDL", "32"): 1,
    })  # fmt: skip
    assert counts["second"] == Counter({
        ("MMA", "m16n8k16"): 2, ("WGMMA", "m64n128k16"): 1, ("UMMA", ""): 1, ("LDTM", "32x32b.x32"): 1, ("FMA", "32"): 1
    })  # fmt: skip


def test_sass_by_kernel_says_the_same() -> None:
    """The same kernels as SASS: an instruction under @!PT never runs and does not count."""
    ptx, sass = ptx_counts(PTX), sass_counts(SASS)
    for name in ("first", "second"):
        assert sass[name] == Counter({sass_key(k): n for k, n in ptx[name].items()})


def test_cuobjdump_is_read_as_nvdisasm_is() -> None:
    """Functions in place of sections, and the encoding of each instruction behind it and on a line of its own."""
    text = re.sub(r"(?m)^\s*\.section\s+\.text\.(\w+).*$", r"\t\tFunction : \1", SASS)
    text = re.sub(r"(?m);[^\n]*$", ";   /* 0x00000a00ff017624 */\n" + " " * 60 + "/* 0x000fe400078e00ff */", text)
    assert "Function : first" in text and sass_counts(text) == sass_counts(SASS) != {}


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (("MMA", "m16n8k16"), ("MMA", "16816")),
        (("WGMMA", "m64n64k16"), ("WGMMA", "64x64x16")),
        (("LDG", "128"), ("LDG", "128")),
        (("LDTM", "32x32b.x1"), ("LDTM", "")),
    ],
)
def test_names_in_sass(key: tuple[str, str], expected: tuple[str, str]) -> None:
    assert sass_key(key) == expected


def test_shown() -> None:
    assert shown({("LDSM", "4"): 2, ("LDG", "128"): 1}) == "1 LDG.128, 2 LDSM.4"
    assert shown({}) == "nothing"


def test_errors_name_their_kernels() -> None:
    text = (
        'cute/atom.hpp(12): error: static assertion failed with "no"\n'
        "          detected during instantiation at line 4 of isa_0123456789abcdef\n"
        "isa_fedcba9876543210(3): error: expected a ;\n"
    )
    assert blamed(text) == {
        "isa_0123456789abcdef": 'static assertion failed with "no"',
        "isa_fedcba9876543210": "expected a ;",
    }
