"""TMA copies: tiles, clusters, multicasts, stores, and what their slices take of shared memory and of coordinates."""

# ruff: noqa: E501, UP031
# fmt: off
from __future__ import annotations

from cutecheck.tests.source.random_pieces.views import WIDTHS
from cutecheck.tests.source.random_pieces.writer import Writer

ELEMENTS = ("half_t", "bfloat16_t", "float", "float_e4m3_t", "int8_t", "tfloat32_t", "int4_t", "double", "uint8_t")


class Tma(Writer):
    """A TMA copy and its parts."""

    def make_tma(self) -> None:
        rng = self.rng
        element = self.element = rng.choice(ELEMENTS)
        width = WIDTHS[element]
        major = rng.choice(("K", "K", "MN"))
        spans = {"INTER": 128 // width, "SW32": 256 // width, "SW64": 512 // width, "SW128": 1024 // width}
        rank = rng.choice((2, 2, 2, 3, 3, 4))
        dims = ["M", "K", "L", "P"][:rank]
        extents = {"M": rng.choice((256, 512, 384)), "K": rng.choice((256, 512)), "L": 6, "P": 3}
        first = self.one("M", "K") if major == "X" else ("K" if major == "K" else "M")
        said = [self.one(f"Int<{extents[d]}>{{}}", str(extents[d]), f"n * {max(1, extents[d] // 8)}") for d in dims]
        strides = []
        for d in dims:
            if d == first:
                strides.append("Int<1>{}" if rng.random() < 0.97 else "1")
            else:
                big = {"M": 512, "K": 512, "L": 512 * 512, "P": 512 * 512 * 8}[d]
                strides.append(self.one(f"Int<{big}>{{}}", f"n * {big}", str(big)))
        gmem = f"make_layout(make_shape({','.join(said)}), make_stride({','.join(strides)}))"
        space = "make_gmem_ptr<%s>(raw)" % element
        g = self.let(f"make_tensor({space}, {gmem})", "g")
        rows, depth = rng.choice((64, 128, 64, 256)), rng.choice((32, 64, 128))
        along = depth if major == "K" else rows
        fit = [s for s, e in spans.items() if along % e == 0]
        span = rng.choice(fit or ["INTER"])
        if rng.random() < 0.15:
            smem = rng.choice((f"make_layout(Shape<Int<{rows}>,Int<{depth}>>{{}}, {'LayoutRight' if major == 'K' else 'LayoutLeft'}{{}})",
                               f"make_layout(Shape<Int<{rows}>,Int<{depth}>>{{}})"))
            stages = 0
        else:
            stages = rng.choice((0, 0, 2, 3))
            tail = f",Int<{stages}>" if stages else ""
            order = rng.choice(("", "", f",Step<_2,_1{',_3' if stages else ''}>{{}}"))
            smem = f"tile_to_shape(GMMA::Layout_{major}_{span}_Atom<{element}>{{}}, Shape<Int<{rows}>,Int<{depth}>{tail}>{{}}{order})"
        self.say(f"auto sl = {smem};")
        one_stage = "sl(_,_,Int<0>{})" if stages else "sl"
        cluster = rng.choice((1, 1, 2, 4))
        op = self.one("SM90_TMA_LOAD{}", "SM90_TMA_LOAD{}", "SM90_TMA_STORE{}", "SM90_TMA_REDUCE_ADD{}") if cluster == 1 else "SM90_TMA_LOAD_MULTICAST{}"
        tiler = self.one(f"make_shape(Int<{rows}>{{}},Int<{depth}>{{}})", f"make_tile(Int<{rows}>{{}},Int<{depth}>{{}})", f"Shape<Int<{rows}>,Int<{depth}>>{{}}", "shape(" + one_stage + ")")
        if rng.random() < 0.1:
            tiler = f"make_shape(Int<{rows // 2}>{{}},Int<{depth}>{{}})"
        how = rng.random()
        if how < 0.35:
            made = f"make_tma_copy({op}, {g}, {one_stage}, {tiler}, Int<{cluster}>{{}})"
        elif how < 0.5 and cluster == 1:
            made = f"make_tma_copy({op}, {g}, {one_stage})"
        elif how < 0.6:
            made = f"make_tma_copy<{self.one(element, 'uint8_t', 'half_t')}>({op}, {g}, {one_stage}, {tiler}, Int<{cluster}>{{}})"
        else:
            made = f"make_tma_atom({op}, {g}, {one_stage}, {tiler}, Int<{cluster}>{{}})"
        self.say(f"auto tma = {made};")
        self.show("config", "tma")
        self.say(f"auto s_ = make_tensor(make_smem_ptr<{element}>(raw), sl);")
        self.say(f"auto mt = tma.get_tma_tensor({self.one(f'shape({g})', 'make_shape(' + ','.join(said) + ')')});")
        self.show("coords", "mt")
        more = dims[2:]
        coord = [self.one("_", "n % 3", "1", "0"), self.one("_", "t % 3", "Int<1>{}")]
        tiles = f"flat_divide(mt, make_tile(Int<{rows}>{{}},Int<{depth}>{{}}))" if self.maybe(0.2) else None
        if tiles:
            self.show("coords", tiles)
        pick = ",".join("_" if i < 2 else self.one("0", "n % 2", "Int<1>{}") for i in range(2 + len(more)))
        plane = f"mt({pick})" if more else "mt"
        self.say(f"auto gt = local_tile({plane}, make_shape(Int<{rows}>{{}},Int<{depth}>{{}}), make_coord({','.join(coord)}));")
        self.show("coords", "gt")
        if "make_tma_atom" in made or (self.maybe(0.3)):
            at = self.one("Int<0>{}", f"n % {cluster}", "0", f"t % {cluster}")
            lay = self.one(f"make_layout(Int<{cluster}>{{}})", f"Layout<Int<{cluster}>>{{}}") if cluster > 1 else "Layout<_1>{}"
            self.say(f"auto parts = tma_partition(tma, {at}, {lay}, group_modes<0,2>(s_), group_modes<0,2>(gt));")
            if self.maybe(0.5):
                self.say("auto [tg, ts] = parts;")
            else:
                self.say("auto tg = get<0>(parts); auto ts = get<1>(parts);")
        else:
            self.say(f"auto own = tma.get_slice({self.one('Int<0>{}', '0', f'n % {cluster}')});")
            load = "STORE" not in op and "REDUCE" not in op
            self.say(f"auto tg = own.partition_{'S' if load else 'D'}(gt); auto ts = own.partition_{'D' if load else 'S'}(s_);")
            if self.maybe(0.3):
                self.show("seen", "group_modes<1,rank(ts)>(ts)")
        self.show("coords", "tg")
        self.show("seen", "ts")
        if stages:
            self.show("seen", f"ts({','.join('_' for _ in range(1))},{self.one('0', 'n % 2', '_1{}')})" if "tma_partition" in self.lines[-3] + self.lines[-4] else "ts")
        self.show("value", "sizeof(make_tensor_like(tensor<0>(ts)))" if self.maybe(0.5) else f"size(ts) * sizeof_bits<{element}>::value / 8")
        if self.maybe(0.3):
            self.show("value", f"int(sizeof(ArrayEngine<{element}, decltype(size(filter_zeros(ts)))::value>))" if width >= 8 else "size(filter_zeros(ts))")
        if self.maybe(0.3) and cluster > 1:
            self.say("auto cl = make_layout(Shape<_2,_4,_1>{});")
            self.show("value", f"int(create_tma_multicast_mask<{self.one('0', '1')}>(cl, make_coord(n % 2, t % 4, 0)))")
