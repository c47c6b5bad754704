"""What the body of a device loop changes has no fixed value inside of it."""

from __future__ import annotations

from pathlib import Path

from cutecheck.tests.source.dsl.run import HEAD, driver, events, results, variables

STATE = (
    HEAD
    + """
    class State:
        def __init__(self, index, coords):
            self.index = index
            self.coords = coords

        def advance(self):
            self.index = self.index + 1

    def advance_deep(state):
        state.advance()

    @cute.kernel
    def kernel(n):
        called, deep, made, kept = State(0, (0, (0, 0))), State(0, 0), State(0, (4, (0, 0))), State(7, 0)
        for i in cutlass.range(n):
            cute.make_layout((called.index, 2))    # 20
            cute.make_layout((deep.index, 3))
            cute.make_layout((made.coords[0], made.coords[1][1], 5))
            cute.make_layout((kept.index, 6))
            called.advance()
            advance_deep(deep)
            made = State(made.index, (made.coords[0] + 1, (n, 1)))
        if n > 3:
            kept = State(9, 0)
        cute.make_layout((kept.index, 8))

    @cute.jit
    def host(n):
        kernel(n).launch(grid=(1, 1, 1), block=(32, 1, 1))

    cute.compile(host, cutlass.Int32(5))
    """
)


def test_fields_that_a_loop_changes_are_open(tmp_path: Path) -> None:
    found = results(driver(tmp_path, STATE))
    text = STATE.split("\n")
    start = next(i for i, line in enumerate(text, 1) if line.endswith("# 20"))
    shapes = {line - start: value[0] for (line, _), value in found.items()}
    assert shapes[0] == "(?,2):(1,?)"
    assert shapes[1] == "(?,3):(1,?)"
    assert shapes[2] == "(?,?,5):(1,?,?)"
    assert shapes[3] == "(7,6):(1,7)"  # not changed in the loop
    assert shapes[9] == "(?,8):(1,?)"  # 7 or 9


def test_a_tensor_that_a_loop_moves_keeps_its_layout_and_alignment(tmp_path: Path) -> None:
    made = driver(tmp_path, HEAD + """
    @cute.kernel
    def kernel(g: cute.Tensor, n):
        r = cute.make_rmem_tensor((8,), cutlass.Float16)
        for i in cutlass.range(n):
            cute.autovec_copy(g, r)
            g = cute.domain_offset((8,), g)

    @cute.jit
    def host(g, n):
        kernel(g, n).launch(grid=(1, 1, 1), block=(32, 1, 1))

    cute.compile(host, make_fake_tensor(cutlass.Float16, (8,), stride=(1,), assumed_align=16), cutlass.Int32(5))
    """)  # fmt: skip
    (event,) = events(made)
    source = event.operands[0]
    assert str(source.layout) == "(_8):(_1)" and not isinstance(source.offset, int)
    assert event.reason is None


def test_a_tiled_mma_that_a_loop_assigns_stays_what_it_is(tmp_path: Path) -> None:
    made = driver(tmp_path, HEAD + """
    from cutlass.cute.nvgpu import warp

    def prepared(mma):
        return mma

    @cute.kernel
    def kernel(mma: cute.TiledMma, n):
        for i in cutlass.range(n):
            atom = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), cutlass.Float16)
            copy = cute.make_tiled_copy_A(atom, mma)
            mma = prepared(mma)

    @cute.jit
    def host(n):
        op = warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
        kernel(cute.make_tiled_mma(op), n).launch(grid=(1, 1, 1), block=(32, 1, 1))

    cute.compile(host, cutlass.Int32(5))
    """)  # fmt: skip
    assert any(call == "make_tiled_copy_A" for _, call in results(made))


def test_an_import_inside_a_branch_stays(tmp_path: Path) -> None:
    found = variables(
        tmp_path,
        """
        def first(flag):
            if flag:
                import other
                return other.VALUE
            return 0

        def run(flag):
            first(flag)
            import other
            return other.VALUE

        import os
        value = run(os.environ.get("FLAG") == os.getpid())
        """,
        other="VALUE = 3\n",
    )
    assert found["value"] == 3


def test_partitions_of_four_stages(tmp_path: Path) -> None:
    """PIPE = 4, as the DSL partitions it."""
    made = driver(tmp_path, HEAD + """
    from cutlass.cute.nvgpu import warp

    @cute.kernel
    def kernel(mma: cute.TiledMma):
        memory = cutlass.utils.SmemAllocator()
        atom = cute.make_composed_layout(cute.make_swizzle(2, 4, 3), 0, cute.make_layout((8, 32), stride=(32, 1)))
        staged = cute.tile_to_shape(atom, (128, 32, 4), (0, 1, 2))
        s = memory.allocate_tensor(cutlass.Float16, staged.outer, 1024, staged.inner)
        t, _, _ = cute.arch.thread_idx()
        a, b = mma.get_slice(t).partition_A(s), mma.get_slice(t).partition_B(s)
        cute.make_layout(a.shape, stride=a.stride)
        cute.make_layout(b.shape, stride=b.stride)

    @cute.jit
    def host():
        op = warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
        mma = cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)), (32, 32, 16))
        kernel(mma).launch(grid=(1, 1, 1), block=(128, 1, 1))

    cute.compile(host)
    """)  # fmt: skip
    found = [v for (_, call), values in results(made).items() if call == "make_layout" for v in values]
    assert "((2,2,2),4,2,(1,4)):((1,256,8),1024,16,(0,4096))" in found
    assert "((2,2),8,2,(1,4)):((1,8),512,16,(0,4096))" in found


CYCLE = (
    HEAD
    + """
    class State:
        def __init__(self, owner):
            self.count, self.owner, self.me = 0, owner, (self, owner)

        def advance(self):
            self.count = self.count + 1
            self.owner.last = self

    class Owner:
        pass

    @cute.kernel
    def kernel(n):
        owner = Owner()
        state = State(owner)
        other = state
        for i in cutlass.range(n):
            state.advance()
            other = State(owner)
            cute.make_layout((state.count, 2))
        cute.make_layout((3, 5))

    @cute.jit
    def host(n):
        kernel(n).launch(grid=(1, 1, 1), block=(32, 1, 1))

    cute.compile(host, cutlass.Int32(5))
    """
)


def test_objects_that_hold_one_another_may_change_in_a_loop(tmp_path: Path) -> None:
    made = driver(tmp_path, CYCLE)
    assert not made.cut
    found = [r for of_line in results(made).values() for r in of_line]
    assert "(3,5):(1,3)" in found and any("?" in str(r) for r in found), found


def test_an_integer_that_a_loop_reads_from_elsewhere_stays_an_integer(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
    @cute.kernel
    def kernel(n):
        before = cutlass.Int32(0)
        found = n > 3
        while found and before < n:
            before = cute.arch.some_shuffle(before)
            found = before > 2
        cute.make_layout((before, 4))

    @cute.jit
    def host(n):
        kernel(n).launch(grid=(1, 1, 1), block=(32, 1, 1))

    cute.compile(host, cutlass.Int32(5))
    """
    )
    assert ["(?,4):(1,?)"] in results(driver(tmp_path, text)).values()


def test_items_of_a_dictionary_may_change_in_a_loop(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
    class State:
        def __init__(self):
            self.n = 0

    @cute.kernel
    def kernel(n):
        held = {3: State(), (1, 2): 4, "last": State()}
        for i in cutlass.range(n):
            held[3] = State()
            held[1, 2] = held[1, 2] + 1
            held["last"].n = held["last"].n + 1
            cute.make_layout((held[1, 2], held["last"].n + 8))

    @cute.jit
    def host(n):
        kernel(n).launch(grid=(1, 1, 1), block=(32, 1, 1))

    cute.compile(host, cutlass.Int32(5))
    """
    )
    made = driver(tmp_path, text)
    assert not made.cut
    assert ["(?,?):(1,?)"] in results(made).values(), results(made)


def test_buffers_of_several_configurations_are_several(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
    class Rows:
        def __init__(self, rows):
            self.rows = rows

        @cute.kernel
        def kernel(self):
            smem = cutlass.utils.SmemAllocator()
            tile = smem.allocate_tensor(cutlass.Float16, cute.make_layout((self.rows, 64)), byte_alignment=16)
            atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128)
            threads = cute.make_layout((self.rows // 8, 8), stride=(8, 1))
            copy = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 8)))
            tidx, _, _ = cute.arch.thread_idx()
            part = copy.get_slice(tidx).partition_S(tile)
            cute.copy(copy, part, cute.make_rmem_tensor_like(part))

        @cute.jit
        def __call__(self):
            self.kernel().launch(grid=(1, 1, 1), block=(self.rows, 1, 1))

    for rows in (32, 128, 32):
        made = Rows(rows)
        made()
        made()
    """
    )
    made = driver(tmp_path, text)
    assert sorted(int(b.fact.size_bytes) for b in made.recorder.buffers.values()) == [4096, 16384]
    assert len({b.fact.enclosing for b in made.recorder.buffers.values()}) == 2


def test_an_annotation_converts_nothing_but_what_the_host_hands_over(tmp_path: Path) -> None:
    """nvidia-cutlass-dsl 4.8.1: a device function called on the device is traced with what it is given."""
    made = driver(
        tmp_path,
        HEAD
        + """
@cute.jit
def inner(n: cutlass.Int32, m: cutlass.Int64 = 2, *, k: cutlass.Int32 = 8):
    a = cute.make_layout((n, m, k))

@cute.kernel
def kernel(n: cutlass.Int32):
    inner(4)
    inner(4, k=5)
    inner(cutlass.Int32(4))
    inner(n, 3)

@cute.jit
def host():
    kernel(4).launch(grid=[1, 1, 1], block=[32, 1, 1])

host()
""",
    )
    (found,) = results(made).values()
    assert [str(x) for x in found] == [
        "(4,2,8):(1,4,8)", "(4,2,5):(1,4,8)", "(?,2,8):(1,?,?)", "(?,3,8):(1,?,?)",
    ]  # fmt: skip


def test_a_while_loop_of_constants_runs_when_the_kernel_is_traced(tmp_path: Path) -> None:
    made = driver(tmp_path, HEAD + """
    @cute.kernel
    def kernel(n):
        i, size = 0, 1
        while cutlass.const_expr(i < 3):
            size *= 4
            i += 1
        cute.make_layout((size, i))
        while n < 8:
            n += 1
            size = 2 * size
        cute.make_layout((size, 3))

    @cute.jit
    def host(n):
        kernel(n).launch(grid=(1, 1, 1), block=(32, 1, 1))

    cute.compile(host, cutlass.Int32(5))
    """)  # fmt: skip
    assert [found[0] for found in results(made).values()] == ["(64,3):(1,64)", "(?,3):(1,?)"]


def test_a_loop_changes_no_variable_of_the_module_or_the_enclosing_function(tmp_path: Path) -> None:
    """Where a function assigns to a name it is its own, but for what it declares as another's."""
    made = driver(tmp_path, HEAD + """
    rows, tiles = 64, 8

    def make(columns):
        depth = 4

        @cute.kernel
        def kernel(n):
            global tiles
            for i in cutlass.range(n):
                rows = n + i
                columns, depth = rows, i
                tiles = i

        @cute.jit
        def host(n):
            kernel(n).launch(grid=(1, 1, 1), block=(32, 1, 1))
            cute.make_layout((rows, columns, depth))
            cute.make_layout((tiles, 3))

        return host

    cute.compile(make(16), cutlass.Int32(5))
    """)  # fmt: skip
    found = [value for values in results(made).values() for value in values]
    assert "(64,16,4):(1,64,1024)" in found
    assert "(?,3):(1,?)" in found
