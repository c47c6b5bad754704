"""Views of tensors in shared and global memory: element types of all widths, swizzles, tiles, slices, recasts."""

# ruff: noqa: E501
# fmt: off
from __future__ import annotations

from cutecheck.tests.source.random_pieces.writer import Writer
from cutecheck.tests.source.random_tiled.layouts import factors, nested, ordered, spelled, tile

WIDTHS = {
    "uint1b_t": 1, "int2_t": 2, "int4_t": 4, "uint4_t": 4, "float_e2m1_t": 4, "float_e3m2_t": 6, "float_e2m3_t": 6,
    "int8_t": 8, "uint8_t": 8, "float_e4m3_t": 8, "float_e5m2_t": 8, "float_ue8m0_t": 8, "half_t": 16,
    "bfloat16_t": 16, "uint16_t": 16, "float": 32, "tfloat32_t": 32, "int": 32, "double": 64, "uint64_t": 64,
    "uint128_t": 128, "complex<float>": 64,
}  # fmt: skip
ATOMS = ("GMMA", "UMMA")


class Views(Writer):
    """A tensor and a chain of views of it."""

    def smem_layout(self, element: str, modes: int = 2) -> tuple[str, list[int]]:
        """The text of a layout and its extents."""
        rng, width = self.rng, WIDTHS[element]
        rows, columns = rng.choice((16, 32, 64, 128, 96, 48)), rng.choice((16, 32, 64, 128, 96))
        stages = [rng.choice((2, 3, 4))] if modes == 3 else []
        kind = rng.random()
        if kind < 0.45 and width in (4, 8, 16, 32):
            major, span = rng.choice(("K", "MN")), rng.choice((16, 32, 64, 128))
            named = {16: "INTER", 32: "SW32", 64: "SW64", 128: "SW128"}[span]
            along = span * 8 // width
            least = (8, along) if major == "K" else (along, 8)
            extents = [a * rng.choice((1, 2, 2, 3, 4)) for a in least]
            atom = f"{rng.choice(ATOMS)}::Layout_{major}_{named}_Atom<{element}>{{}}"
            shape = ",".join(f"Int<{e}>" for e in [*extents, *stages])
            order = rng.choice(("", "", ",Step<_1,_2>{}", ",Step<_2,_1>{}")) if not stages else rng.choice(
                ("", ",Step<_2,_1,_3>{}", ",Step<_1,_2,_3>{}"))
            if rng.random() < 0.1 and not stages:
                return f"{atom}", list(least)
            return f"tile_to_shape({atom}, Shape<{shape}>{{}}{order})", [*extents, *stages]
        if stages:
            inner = tile(rng, rows, columns)
            if "Swizzle" in inner or "tile_to" in inner:
                return f"tile_to_shape({inner}{{}}, Shape<Int<{rows}>,Int<{columns}>,Int<{stages[0]}>>{{}})", [rows, columns, *stages]
            return f"make_layout({inner}{{}}, make_layout(Int<{stages[0]}>{{}}, cosize({inner}{{}})))", [rows, columns, *stages]
        return f"{tile(rng, rows, columns)}{{}}", [rows, columns]

    def index(self, extent: int) -> str:
        return self.one("_0{}", f"Int<{extent - 1}>{{}}", "0", f"{extent // 2}", f"n % {extent}", f"t % {extent}", f"t / {max(1, 128 // extent)} % {extent}")

    def make_views(self) -> None:
        rng = self.rng
        self.element = rng.choice([*WIDTHS])
        layout, extents = self.smem_layout(self.element, rng.choice((2, 2, 3)))
        space = self.one("smem", "smem", "smem", "gmem")
        base = self.one("s", f"reinterpret_cast<{self.element}*>(raw)") if WIDTHS[self.element] >= 8 else "raw"
        pointer = f"make_{space}_ptr<{self.element}>({base})" if WIDTHS[self.element] < 8 or self.maybe(0.3) else f"make_{space}_ptr({base})"
        name = self.let(f"make_tensor({pointer}, {layout})", "T")
        self.show("seen", name)
        for _ in range(rng.randint(1, 4)):
            found = self.view(name, extents)
            if found is None:
                break
            name, extents = found
            self.show("seen", name)

    def view(self, name: str, extents: list[int]) -> tuple[str, list[int]] | None:
        rng = self.rng
        kind = rng.choice(("slice", "tile", "recast", "divide", "group", "compose", "offset", "partition", "apart", "proj", "like", "flat", "number", "pi", "remade", "atom"))
        rank = len(extents)
        if rank == 0 or rank > 4:
            return None
        if kind == "slice":
            keep = rng.randrange(rank)
            at = [("_" if i == keep or rng.random() < 0.5 else self.index(e)) for i, e in enumerate(extents)]
            left = [e for a, e in zip(at, extents, strict=True) if a == "_"]
            return self.let(f"{name}({','.join(at)})", "T"), left
        if kind == "tile":
            parts = [rng.choice([d for d in (1, 2, 4, 8, 16, 32, 64) if e % d == 0]) for e in extents]
            coords = [rng.choice(("_", self.index(e // p))) for e, p in zip(extents, parts, strict=True)]
            make = self.one("make_shape", "make_tile")
            tiler = f"{make}({','.join(f'Int<{p}>{{}}' for p in parts)})"
            left = [*parts, *(e // p for e, p, c in zip(extents, parts, coords, strict=True) if c == "_")]
            return self.let(f"local_tile({name}, {tiler}, make_coord({','.join(coords)}))", "T"), left
        if kind == "proj" and rank == 2:
            parts = [rng.choice([d for d in (1, 2, 4, 8, 16, 32) if e % d == 0]) for e in extents]
            tiler = [f"Int<{parts[0]}>{{}}", f"Int<{parts[1]}>{{}}"]
            at = rng.randrange(3)
            tiler.insert(at, "Int<24>{}")
            step = ["_1", "_1"]
            step.insert(at, "X")
            coords = [rng.choice(("_", self.index(e // p))) for e, p in zip(extents, parts, strict=True)]
            whole = list(coords)
            whole.insert(at, self.one("_", "n", "3"))
            left = [*parts, *(e // p for e, p, c in zip(extents, parts, coords, strict=True) if c == "_")]
            return self.let(f"local_tile({name}, make_shape({','.join(tiler)}), make_coord({','.join(whole)}), Step<{','.join(step)}>{{}})", "T"), left
        if kind == "recast":
            other = rng.choice([e for e in WIDTHS if e != "uint1b_t"])
            self.show("seen", f"recast<{other}>({name})")
            if self.maybe(0.3):
                self.show("layout", f"recast_layout<{self.element},{other}>({name}.layout())")
            return name, extents
        if kind == "divide":
            how = self.one("logical_divide", "zipped_divide", "tiled_divide", "flat_divide")
            tilers = []
            for e in extents:
                d = rng.choice([d for d in (2, 4, 8, 16) if e % d == 0] or [1])
                tilers.append(self.one(f"Int<{d}>{{}}", f"Layout<Int<{d}>,Int<{rng.choice((1, max(1, e // d)))}>>{{}}", str(ordered(rng, nested(rng, d, 0.9))) + "{}"))
            self.show("seen", f"{how}({name}, make_tile({','.join(tilers)}))")
            return name, extents
        if kind == "group" and rank >= 2:
            low = rng.randrange(rank - 1)
            high = rng.randint(low + 2, rank)
            size = 1
            for e in extents[low:high]:
                size *= e
            return self.let(f"group_modes<{low},{high}>({name})", "T"), [*extents[:low], size, *extents[high:]]
        if kind == "compose":
            rows = [rng.choice([d for d in (2, 4, 8, 16) if e % d == 0] or [1]) for e in extents]
            by_mode = self.maybe(0.5)
            if by_mode:
                parts = ",".join(self.one(f"Int<{r}>{{}}", f"Layout<Int<{r}>,Int<{max(1, e // r)}>>{{}}") for r, e in zip(rows, extents, strict=True))
                return self.let(f"composition({name}, make_tile({parts}))" if self.maybe(0.5) else f"{name}.compose({parts})", "T"), rows
            size = 1
            for e in extents:
                size *= e
            shape = factors(rng, min(size, 512) & -min(size, 512), 2)
            layout = ordered(rng, tuple(nested(rng, f, 0.5) for f in shape), gap=0.0)
            return self.let(f"composition({name}, {layout}{{}})", "T"), list(shape)
        if kind == "offset":
            return self.let(f"domain_offset(make_coord({','.join(self.index(e) for e in extents)}), {name})", "T"), extents
        if kind == "partition" and rank == 2:
            thr = ordered(rng, tuple(rng.choice([d for d in (2, 4, 8) if e % d == 0] or [1]) for e in extents))
            at = self.one("t", "n % 4", "Int<1>{}", "3")
            left = [e // x for e, x in zip(extents, thr.extents, strict=True)]
            call = self.one("local_partition", "outer")
            if call == "outer":
                size = thr.extents[0] * thr.extents[1]
                return self.let(f"outer_partition({name}, {spelled(thr.shape, 'Shape')}{{}}, t % {size})", "T"), left
            return self.let(f"local_partition({name}, {thr}{{}}, {at})", "T"), left
        if kind == "apart":
            self.show("layout", f"get_nonswizzle_portion({name}.layout())")
            self.show("value", f"cosize({name}.layout())")
            self.show("value", f"size<{rng.randrange(rank)}>({name})")
            self.show("value", f"depth({name}.layout())")
            if rank > 1:
                self.show("layout", f"layout<{rng.randrange(rank)}>({name})")
                self.show("seen", f"tensor<{rng.randrange(rank)}>({name})")
            self.show("layout", self.one(f"coalesce({name}.layout())", f"flatten({name}.layout())", f"filter({name}.layout())" , f"filter_zeros({name}.layout())"))
            return name, extents
        if kind == "like":
            self.show("laid", self.one(f"make_tensor_like({name})", f"make_fragment_like({name})", f"make_tensor_like<float>({name})", f"make_fragment_like<uint8_t>({name})",
                                       f"make_tensor<float>(shape({name}))", f"make_tensor<half_t>({name}.shape())", f"make_fragment_like(recast<half_t>({name}))"))
            return name, extents
        if kind == "flat":
            return self.let(f"{self.one('coalesce', 'flatten', 'filter_zeros')}({name})", "T"), []
        if kind == "number":
            u = self.one("8", "16", "32")
            self.show("layout", self.one(f"upcast<{self.one('2', '4', '8')}>({name}.layout())", f"downcast<{self.one('2', '4')}>({name}.layout())",
                      f"recast_layout<uint{u}_t,uint{self.one('8', '16', '64')}_t>({name}.layout())",
                      f"right_inverse({name}.layout())", f"left_inverse({name}.layout())", f"max_common_layout({name}.layout(), Layout<_64>{{}})"))
            self.show("value", self.one(f"max_common_vector({name}, Layout<_64>{{}})".replace(f"{name},", f"{name}.layout(),"), f"max_alignment({name}.layout())",
                                        f"rank({name})", f"size({name})", f"sizeof_bits<typename decltype({name})::value_type>::value", f"sizeof(typename decltype({name})::value_type)"))
            return name, extents
        if kind == "pi":
            return self.let(f"as_position_independent_swizzle_tensor({name})", "T"), extents
        if kind == "remade":
            return self.let(self.one(f"make_tensor({name}.data(), {name}.layout())", f"make_tensor({name}.data() + Int<0>{{}}, {name}.layout())",
                                     f"make_tensor({name}.data() + {self.one('n', '8', 't')}, {name}.layout())"), "T"), extents
        return name, extents
