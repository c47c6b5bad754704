"""What braces make of CuTe's tuples and layouts; the texts are what ``cute::print`` shows of the same with g++."""

from pathlib import Path

import pytest

from cutecheck.facts import TensorFact
from cutecheck.model.notation import show
from cutecheck.tests.source.test_extract import printed, run

HEAD = """
struct Given { Shape<int, int> shape; Stride<int64_t, _1> stride; Layout<Shape<int, _8>, Stride<_8, _1>> layout; };
using Rows = Layout<Shape<int, _8>, Stride<_8, _1>>;
Shape<int, _4> returned(int m) { return {m, {}}; }
auto passed(Shape<int, _4, int> shape, Stride<int64_t, _1, int64_t> stride) { return make_layout(shape, stride); }
struct Holder { Shape<int, _2> at; Holder(int m) : at{m, {}} {} };
struct Default { Stride<int, _1> stride{5, {}}; Stride<int, _1> other = {6, {}}; int n{3}; };
"""


@pytest.mark.parametrize(
    ("what", "shown"),
    [
        ("make_layout(make_shape(5, 3), Stride<int64_t, _1>{7, {}})", "(5,3):(7,_1)"),
        ("make_layout(Shape<int, int>{5, _64{}}, Stride<_64, _1>{})", "(5,64):(_64,_1)"),
        ("make_layout(Shape<int, Shape<_2, int>>{5, {_2{}, 3}})", "(5,(_2,3)):(_1,(5,10))"),
        ("make_layout(Shape<int, Shape<_2, int>>{5, {{}, _3{}}})", "(5,(_2,3)):(_1,(5,10))"),
        ("make_layout(Shape<Shape<_2, int>>{{_2{}, 3}})", "((_2,3)):((_1,_2))"),
        ("make_layout(Shape<Shape<_2, int>>{Shape<_2, int>{{}, 3}})", "((_2,3)):((_1,_2))"),
        ("make_layout(cute::tuple<int, int>(_1{}, 2))", "(1,2):(_1,1)"),
        ("make_layout(returned(5))", "(5,_4):(_1,5)"),
        ("passed({5, {}, 6}, {7, {}, {}})", "(5,_4,6):(7,_1,0)"),
        ("passed({5, _4{}, _6{}}, {7, _1{}, _0{}})", "(5,_4,6):(7,_1,0)"),
        ("make_layout(Given{{5, _4{}}, {7, {}}, {{6, {}}, {}}}.shape)", "(5,4):(_1,5)"),
        ("make_layout(make_shape(_1{}, _1{}), Given{{5, _4{}}, {7, {}}, {{6, {}}, {}}}.stride)", "(_1,_1):(7,_1)"),
        ("Given{{5, _4{}}, {7, {}}, {{6, {}}, {}}}.layout", "(6,_8):(_8,_1)"),
        ("Rows{make_shape(5, _8{}), {}}", "(5,_8):(_8,_1)"),
        ("Rows{make_shape(5, _8{})}", "(5,_8):(_8,_1)"),
        ("Rows(Rows{{5, {}}, {}})", "(5,_8):(_8,_1)"),
        ("make_layout(Holder(5).at)", "(5,_2):(_1,5)"),
        ("make_layout(make_shape(_2{}, _2{}), Default{}.stride)", "(_2,_2):(5,_1)"),
        ("make_layout(make_shape(Default{}.n, _2{}), Default{}.other)", "(3,_2):(6,_1)"),
    ],
)
def test_parts_have_the_types_that_are_asked_for(tmp_path: Path, what: str, shown: str) -> None:
    assert printed(run(tmp_path, HEAD + f"void host() {{ auto made = {what}; }}"), "made") == shown


def test_a_shape_and_a_stride_that_could_be_a_shape_of_two_modes(tmp_path: Path) -> None:
    """Whether braces or a value of two tuples stand there is not kept."""
    text = """
    using Both = Layout<Shape<Shape<int, _2>, Shape<int, _2>>, Stride<Shape<_1, _8>, Stride<_4, _2>>>;
    Both returned(int m) { return {{{m, {}}, {m, {}}}, {}}; }
    void host() { auto made = returned(5); }
    """
    assert printed(run(tmp_path, text), "made") == "((5,_2),(5,_2)):((_1,_8),(_4,_2))"


def test_braces_are_what_a_kernel_is_launched_with(tmp_path: Path) -> None:
    text = """
    struct Params { half_t* p; Shape<int, int, int> shape; Stride<int64_t, _1, int64_t> stride; };
    __global__ void k(Params params) {
      Tensor all = make_tensor(make_gmem_ptr(params.p), params.shape, params.stride);
      Tensor tile = local_tile(all(_, _, 0), Shape<_8, _64>{}, make_coord(blockIdx.x, 0));
      copy(tile, make_fragment_like(tile));
    }
    void host(half_t* p, int m, int n, int64_t ld) { k<<<1, 32>>>({p, {m, n, 1}, {ld, {}, 0}}); }
    """
    (event,) = run(tmp_path, text).events
    source = event.operands[0]
    assert isinstance(source, TensorFact) and show(source.layout) == "(_8,_64):(ld,_1)"
