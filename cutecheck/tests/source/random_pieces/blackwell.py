"""UMMA of one and two SMs, tensor memory and its copies."""

# ruff: noqa: E501
# fmt: off
from __future__ import annotations

from cutecheck.tests.source.random_pieces.views import WIDTHS
from cutecheck.tests.source.random_pieces.writer import Writer

NARROW = ("float_e4m3_t", "float_e5m2_t", "float_e2m1_t", "float_e3m2_t", "float_e2m3_t")
UNPACKED = {"float_e2m1_t": "detail::float_e2m1_unpacksmem_t"}


class Blackwell(Writer):
    """A tiled MMA of Blackwell's, its operands, its accumulators in tensor memory, and the copies of these."""

    def operation(self) -> tuple[str, str, str, str, int, int, int, str, str, bool]:
        rng = self.rng
        two = rng.random() < 0.4
        m = rng.choice((128, 256)) if two else rng.choice((64, 128, 128))
        n = rng.choice((32, 64, 96, 128, 256)) if two or m == 128 else rng.choice((8, 16, 24, 32, 64, 128, 256))
        pair = "_2x1SM" if two else ""
        majors = [rng.choice(("K", "K", "MN")) for _ in "AB"]
        where = rng.choice(("SS", "SS", "SS", "TS"))
        if where == "TS":
            majors[0] = "K"
        kind = rng.random()
        if kind < 0.5:
            a = rng.choice(("half_t", "bfloat16_t"))
            c = rng.choice(("float", "half_t")) if a == "half_t" else "float"
            name, k, b = "F16BF16", 16, a
        elif kind < 0.65:
            a = b = "tfloat32_t"
            c, name, k = "float", "TF32", 8
        elif kind < 0.8:
            a = b = rng.choice(("int8_t", "uint8_t"))
            c, name, k = "int32_t", "S8", 32
        else:
            a, b = rng.choice(NARROW[:2]), rng.choice(NARROW[:2])
            c, name, k = rng.choice(("float", "half_t")), "F8F6F4", 32
        args = f"{a},{b},{c},{m},{n},UMMA::Major::{majors[0]},UMMA::Major::{majors[1]}"
        if name == "F8F6F4" and where == "SS" and not two:
            text = rng.choice((f"SM100_MMA_{name}{pair}_{where}<{args}>", f"SM100_MMA_{name}{pair}_{where}<{args}>"))
        else:
            text = f"SM100_MMA_{name}{pair}_{where}<{args}>"
        return text, a, b, c, m, n, k, majors[0], majors[1], two

    def make_blackwell(self) -> None:
        rng = self.rng
        text, a, b, c, m, n, k, major_a, major_b, two = self.operation()
        self.threads = 128
        atoms = rng.choice(("", "", "", ", Layout<Shape<_1,_1>>{}"))
        self.say(f"auto mma = make_tiled_mma({text}{{}}{atoms});")
        self.show("config", "mma")
        ctas = 2 if two else 1
        rows, columns, depth = m * rng.choice((1, 1, 2)), n * rng.choice((1, 1, 2)), k * rng.choice((1, 2, 4, 4))
        stages = rng.choice((0, 2, 3))
        tail = f",Int<{stages}>{{}}" if stages else ""
        cluster = rng.choice(("Shape<_2,_1,_1>", "Shape<_2,_2,_1>", "Shape<_4,_1,_1>", "Shape<_4,_4,_1>", "Shape<_2,_4,_1>", "Shape<_1,_1,_1>" if not two else "Shape<_4,_2,_1>"))
        self.say(f"auto cluster = tiled_divide(make_layout({cluster}{{}}), make_tile(typename decltype(mma)::AtomThrID{{}}));")
        self.show("layout", "cluster")
        self.show("value", "size(typename decltype(mma)::AtomThrID{})")
        v = self.one(f"t % {ctas}", "Int<0>{}", "0", f"n % {ctas}")
        self.say(f"auto thr = mma.get_slice({v});")
        for x, element, major, size, other in (("A", a, major_a, rows, m), ("B", b, major_b, columns, n)):
            self.say(f"auto shape{x} = partition_shape_{x}(mma, make_shape(Int<{size}>{{}},Int<{depth}>{{}}{tail}));")
            self.show("layout", f"make_layout(shape{x})")
            width = WIDTHS[element]
            along = depth if major == "K" else other // (ctas if x == "A" or two else 1)
            spans = {"INTER": 128 // width, "SW32": 256 // width, "SW64": 512 // width, "SW128": 1024 // width}
            fit = [s for s, e in spans.items() if along % e == 0]
            atom = f"UMMA::Layout_{major}_{rng.choice(fit or ['INTER'])}_Atom<{element}>{{}}"
            order = rng.choice(("", "", ",Step<_1,_2,_3>{}" if not stages else ",Step<_2,_1,_3>{}"))
            self.say(f"auto layout{x} = UMMA::tile_to_mma_shape({atom}, shape{x}{order});")
            self.say(f"auto s{x} = make_tensor(make_smem_ptr(reinterpret_cast<{element}*>(raw + {0 if x == 'A' else 65536})), layout{x});")
            self.show("seen", f"s{x}")
            tensor_memory = x == "A" and "_TS<" in text
            self.show("coords", f"thr.partition_{x}(make_identity_tensor(make_shape(Int<{size}>{{}},Int<{depth}>{{}})))")
            if tensor_memory:
                self.show("laid", "mma.make_fragment_A(shapeA)")
            else:
                frag = self.let(self.one(f"mma.make_fragment_{x}(s{x})", f"thr.make_fragment_{x}(s{x})"), f"frag{x}")
                self.show("laid", frag)
                at = self.one("0", "n % 2", "Int<1>{}")
                self.show("laid", f"{frag}(_,_,0{',' + at if stages else ''})")
            if self.maybe(0.3):
                self.show("laid", f"make_tensor(make_smem_ptr(raw), mma.get_layout{x}_TV())")
        self.tensor_memory(c, rows, columns, two)

    def tensor_memory(self, c: str, rows: int, columns: int, two: bool) -> None:
        shape = f"make_shape(Int<{rows}>{{}},Int<{columns}>{{}})"
        strides = self.one("make_stride(n, Int<1>{})", "make_stride(Int<1>{}, n)")
        self.say(f"auto gC = make_tensor(make_gmem_ptr(reinterpret_cast<float*>(raw)), make_layout({shape}, {strides}));")
        self.say("auto tCgC = thr.partition_C(gC);")
        self.show("seen", "tCgC")
        how = self.one("thr.make_fragment_C(tCgC)", f"partition_fragment_C(mma, {shape})", f"mma.make_fragment_C(partition_shape_C(mma, {shape}))",
                       f"mma.make_fragment_C(append(partition_shape_C(mma, {shape}), Int<2>{{}}))")
        self.say(f"auto acc = {how};")
        self.show("laid", "acc")
        staged = "append" in how
        if staged:
            self.show("laid", "acc(_,_,_,0)")
        part = "acc(_,_,_,0)" if staged else "acc"
        op = self.one("SM100_TMEM_LOAD_32dp32b1x", "SM100_TMEM_LOAD_32dp32b8x", "SM100_TMEM_LOAD_32dp32b32x", "SM100_TMEM_LOAD_16dp256b1x",
                      "SM100_TMEM_LOAD_16dp256b4x", "SM100_TMEM_LOAD_16dp128b2x", "SM100_TMEM_LOAD_16dp64b4x", "SM100_TMEM_LOAD_32dp32b16x_16b", "SM100_TMEM_LOAD_16dp32b8x",
                      "SM100_TMEM_STORE_32dp32b8x", "SM100_TMEM_STORE_16dp256b2x")
        self.say(f"auto whole = {part};")
        view = self.one("whole(make_coord(_,_),0,0)", "whole(make_coord(_,_),_0{},_0{})", "whole", "whole")
        self.say(f"auto view = {view};")
        self.show("laid", "view")
        self.say(f"auto t2r = make_tmem_copy({op}{{}}, view);")
        self.show("config", "t2r")
        self.say("auto own = t2r.get_slice(t);")
        load = "LOAD" in op
        self.show("laid", f"own.partition_{'S' if load else 'D'}(view)")
        target = "tCgC(make_coord(_,_),0,0)" if "make_coord" in view else "tCgC"
        self.say(f"auto there = own.partition_{'D' if load else 'S'}({target});")
        self.show("seen", "there")
        self.say(f"auto regs = make_tensor<{c}>(shape(there));")
        self.show("laid", "regs")
        if self.maybe(0.3):
            self.show("laid", "make_tensor(make_smem_ptr(raw), t2r.get_layoutS_TV())")
        if self.maybe(0.3) and load:
            tiler = self.one("Shape<_128,_32>", "Shape<_128,_16>", "Shape<_128,_64>")
            self.say(f"auto epi = zipped_divide(view, {tiler}{{}});") if "make_coord" in view else self.say("auto epi = view;")
            self.show("laid", "epi")
        if self.maybe(0.4):
            self.say(f"auto r2s = make_tiled_copy_D(Copy_Atom<{self.one('UniversalCopy<uint128_t>', 'DefaultCopy', 'SM90_U32x4_STSM_N', 'SM90_U16x8_STSM_T')},half_t>{{}}, t2r);")
            self.show("config", "r2s")
            self.show("laid", "r2s.get_slice(t).retile_S(regs)")
