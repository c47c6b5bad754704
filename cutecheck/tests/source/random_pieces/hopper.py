"""WGMMA of all types and majors: operands, descriptors, accumulators, and the copies that are made of them."""

# ruff: noqa: E501, UP031
# fmt: off
from __future__ import annotations

from cutecheck.tests.source.random_pieces.views import WIDTHS
from cutecheck.tests.source.random_pieces.writer import Writer

FP8 = {"E4M3": "float_e4m3_t", "E5M2": "float_e5m2_t"}
SIGNED = {"S8": "int8_t", "U8": "uint8_t"}


def atom_of(major: str, span: str, element: str) -> str:
    return f"GMMA::Layout_{major}_{span}_Atom<{element}>{{}}"


class Hopper(Writer):
    """A tiled MMA of Hopper's, with what it partitions."""

    def operation(self) -> tuple[str, str, str, str, int, int, str, str]:
        """The text, elements of A, B, C; n, k; majors."""
        rng = self.rng
        n = rng.choice((8, 16, 32, 64, 96, 128, 256, 24, 80, 192))
        where = rng.choice(("SS", "SS", "RS"))
        kind = rng.random()
        if kind < 0.5:
            a, c = rng.choice((("F16F16F16", "half_t"), ("F32F16F16", "float"), ("F32BF16BF16", "float")))
            element = "bfloat16_t" if "BF16" in a else "half_t"
            major_a = "K" if where == "RS" else rng.choice(("K", "MN"))
            major_b = rng.choice(("K", "MN"))
            text = f"SM90_64x{n}x16_{a}_{where}<GMMA::Major::{major_a},GMMA::Major::{major_b}>"
            if rng.random() < 0.3:
                text = f"SM90::GMMA::MMA_64x{n}x16_{a}_{where}<GMMA::Major::{major_a},GMMA::Major::{major_b}>"
            return text, element, element, c, n, 16, major_a, major_b
        if kind < 0.65:
            return f"SM90_64x{n}x8_F32TF32TF32_{where}_TN<>", "tfloat32_t", "tfloat32_t", "float", n, 8, "K", "K"
        if kind < 0.85:
            a, b, (c, ct) = rng.choice((*FP8,)), rng.choice((*FP8,)), rng.choice((("F16", "half_t"), ("F32", "float")))
            return f"SM90_64x{n}x32_{c}{a}{b}_{where}_TN<>", FP8[a], FP8[b], ct, n, 32, "K", "K"
        a, b = rng.choice((*SIGNED,)), rng.choice((*SIGNED,))
        n = rng.choice((8, 16, 32, 64, 96, 128, 256))
        sat = rng.choice(("", "_SATURATE"))
        return f"SM90_64x{n}x32_S32{a}{b}_{where}_TN{sat}", SIGNED[a], SIGNED[b], "int", n, 32, "K", "K"

    def smem(self, element: str, major: str, rows: int, depth: int, stages: int) -> str:
        """A layout of shared memory, canonical most of the time."""
        rng = self.rng
        width = WIDTHS[element]
        spans = {"INTER": 128 // width, "SW32": 256 // width, "SW64": 512 // width, "SW128": 1024 // width}
        along = depth if major == "K" else rows
        fit = [s for s, e in spans.items() if along % e == 0]
        span = rng.choice(fit or ["INTER"])
        if rng.random() < 0.05:
            span = rng.choice([*spans])
        if rng.random() < 0.04:
            major = {"K": "MN", "MN": "K"}[major]
        tail = f",Int<{stages}>" if stages else ""
        order = ""
        if rng.random() < 0.3:
            order = ",Step<_1,_2,_3>{}" if stages else ",Step<_1,_2>{}"
        elif major == "MN" and rng.random() < 0.6:
            order = ",Step<_2,_1,_3>{}" if stages else ",Step<_2,_1>{}"
        return f"tile_to_shape({atom_of(major, span, element)}, Shape<Int<{rows}>,Int<{depth}>{tail}>{{}}{order})"

    def make_hopper(self) -> None:
        rng = self.rng
        text, a, b, c, n, k, major_a, major_b = self.operation()
        groups = rng.choice(("", "", ", Layout<Shape<_2,_1,_1>>{}", ", Layout<Shape<_1,_2,_1>>{}"))
        permutation = rng.choice(("", "", "", f", Tile<Int<{256 if '_2,_1' in groups else 128}>,Int<{n * (2 if '_1,_2' in groups else 1)}>,Int<{k * 2}>>{{}}")) if groups else ""
        self.threads = 256 if groups else 128
        atom = rng.choice((f"{text}{{}}", f"MMA_Atom<{text}>{{}}"))
        self.say(f"auto mma = make_tiled_mma({atom}{groups}{permutation});")
        self.show("config", "mma")
        m = (128 if "_2,_1" in groups else 64) * rng.choice((1, 1, 2))
        if permutation:
            m = max(m, 256 if "_2,_1" in groups else 128)
        whole_n = n * (2 if "_1,_2" in groups else 1) * rng.choice((1, 1, 2))
        depth = k * rng.choice((1, 2, 4, 4))
        if permutation:
            depth = max(depth, 2 * k)
        if rng.random() < 0.05:
            depth += k // 2
        stages = rng.choice((0, 0, 2, 3, 4))
        for name in ("tile_size<0>(mma)", "tile_size<1>(mma)", "tile_size<2>(mma)", "size(mma)", "size<0>(typename decltype(mma)::AtomShape_MNK{})"):
            if self.maybe(0.4):
                self.show("value", name)
        self.say("auto thr = mma.get_thread_slice(t);" if self.maybe(0.5) else "auto thr = mma.get_slice(t);")
        at = self.one("0", "Int<0>{}", "n % 2", "1") if stages else ""
        for x, element, major, rows in (("A", a, major_a, m), ("B", b, major_b, whole_n)):
            name = f"s{x}"
            self.say(f"auto {name} = make_tensor(make_smem_ptr(reinterpret_cast<{element}*>(raw + {'0' if x == 'A' else '65536'})), {self.smem(element, major, rows, depth, stages)});")
            part = self.let(f"thr.partition_{x}({name})", f"tCs{x}")
            self.show("seen", part)
            if x == "A" and "_RS" in text:
                self.say(f"auto rA = thr.partition_fragment_A({'sA(_,_,0)' if stages else 'sA'});")
                self.show("laid", "rA")
                if self.maybe(0.5):
                    op = self.one("SM75_U32x4_LDSM_N", "DefaultCopy", "UniversalCopy<uint32_t>", "SM75_U16x8_LDSM_T")
                    self.say(f"auto copyA = make_tiled_copy_A(Copy_Atom<{op},{element}>{{}}, mma);")
                    self.show("config", "copyA")
                    self.say("auto thrA = copyA.get_thread_slice(t);")
                    self.show("seen", "thrA.partition_S(as_position_independent_swizzle_tensor(sA))" if self.maybe(0.6) else "thrA.partition_S(sA)")
                    self.show("laid", "thrA.retile_D(rA)")
                continue
            frag = self.let(f"thr.make_fragment_{x}({part})" if self.maybe(0.6) else f"thr.partition_fragment_{x}({name})", f"tCr{x}")
            self.show("laid", frag)
            self.show("laid", f"{frag}(_,_,{self.one('0', 'Int<0>{}')}{',' + at if stages else ''})")
        self.accumulators(c, m, whole_n)

    def accumulators(self, c: str, m: int, n: int) -> None:
        rng = self.rng
        self.show("coords", f"thr.partition_C(make_identity_tensor(make_shape(Int<{m}>{{}},Int<{n}>{{}})))")
        self.say(f"auto acc = partition_fragment_C(mma, Shape<Int<{m}>,Int<{n}>>{{}});")
        self.show("laid", "acc")
        if self.maybe(0.3):
            self.show("layout", f"make_layout(partition_shape_C(mma, Shape<Int<{m}>,Int<{n}>>{{}}))")
        if self.maybe(0.3):
            self.show("layout", f"make_layout(partition_shape_A(mma, Shape<Int<{m}>,Int<{64}>>{{}}))")
        if self.maybe(0.5):
            self.show("layout", "thr.partition_C(make_tensor(make_gmem_ptr<float>(nullptr), make_layout(make_shape(Int<%d>{},Int<%d>{}), make_stride(n, Int<1>{})))).layout()" % (m, n))
        d = rng.choice(("half_t", "half_t", "float", "bfloat16_t", "int8_t"))
        if self.maybe(0.6):
            op = self.one("SM90_U32x4_STSM_N", "SM90_U32x2_STSM_N", "SM90_U16x8_STSM_T", "SM90_U16x4_STSM_T", "AutoVectorizingCopy", "UniversalCopy<uint32_t>", "DefaultCopy")
            how = self.maybe(0.5)
            if how:
                self.say(f"auto r2s = make_tiled_copy_C(Copy_Atom<{op},{d}>{{}}, mma);")
            else:
                self.say(f"auto catom = make_tiled_copy_C_atom(Copy_Atom<{self.one('SM90_U32x4_STSM_N', 'SM90_U32x2_STSM_N')},half_t>{{}}, mma);")
                self.show("config", "catom")
                self.say(f"auto r2s = make_tiled_copy_S(Copy_Atom<{op},{d}>{{}}, catom);")
            self.show("config", "r2s")
            self.say("auto thrR = r2s.get_slice(t);")
            self.show("laid", "thrR.retile_S(acc)")
            self.say(f"auto sD = make_tensor(make_smem_ptr(reinterpret_cast<{d}*>(raw)), {self.smem(d, self.one('K', 'MN'), m, n, 0)});")
            self.show("seen", "thrR.partition_D(sD)")
            self.show("seen", "thrR.partition_D(as_position_independent_swizzle_tensor(sD))")
            if self.maybe(0.4):
                self.say(f"auto s2r = make_tiled_copy_D(Copy_Atom<{self.one('SM75_U32x4_LDSM_N', 'SM75_U16x8_LDSM_T', 'DefaultCopy')},{d}>{{}}, r2s);")
                self.show("config", "s2r")
                self.show("seen", "s2r.get_slice(t).partition_S(sD)")
                self.say(f"auto rD = make_tensor<{d}>(shape(thrR.partition_S(make_identity_tensor(make_shape(Int<{m}>{{}},Int<{n}>{{}})))));")
                self.show("laid", "rD")
                self.show("laid", "s2r.get_slice(t).retile_D(rD)")
