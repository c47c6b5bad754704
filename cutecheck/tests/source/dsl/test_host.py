"""Arrays and numbers of drivers, as far as kernels are configured by them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.facts import Unknown
from cutecheck.model.ints import Sym
from cutecheck.source.dsl.values import HostCute, HostTensor
from cutecheck.source.eval.values import Pointer, ScalarType
from cutecheck.tests.source.dsl.run import HEAD, driver, results, variables


def test_elementwise_functions_keep_the_shape(tmp_path: Path) -> None:
    found = variables(tmp_path, """
    import torch
    import torch.nn.functional as F
    a = torch.empty(3, 4).permute(1, 0)
    b = -torch.exp(F.softplus(a - 4))
    """)  # fmt: skip
    assert isinstance(found["b"], HostTensor) and found["b"].strides == (1, 4)


def test_extents_that_are_drawn_or_read_are_open(tmp_path: Path) -> None:
    found = variables(tmp_path, """
    import random, torch
    n = 16 * random.randint(1, 4)
    drawn = torch.empty(n, 8)
    read = torch.empty(torch.max(torch.empty(5)), 8)
    item = torch.empty(torch.empty(5)[0].item(), 8)
    past = torch.empty(5)[0, 1, 2]
    """)  # fmt: skip
    for name in ("drawn", "read", "item"):
        assert isinstance(found[name], HostTensor) and isinstance(found[name].shape[0], Sym), name
        assert found[name].strides == (8, 1)
    assert found["read"].shape != found["item"].shape
    assert not isinstance(found["past"], HostTensor) or isinstance(found["past"], Unknown)


def test_pointers_and_types_of_tensors_of_the_host(tmp_path: Path) -> None:
    found = variables(tmp_path, HEAD + """
    import torch
    from cutlass.cute.runtime import from_dlpack
    t = from_dlpack(torch.empty(4, 8), assumed_align=32, force_tf32=True)
    pointer = t.iterator
    """)  # fmt: skip
    assert isinstance(found["t"], HostCute) and found["t"].dtype.dtype.name == "tfloat32_t"
    pointer = found["pointer"]
    assert isinstance(pointer, Pointer) and pointer.align == 32 and pointer.space == "gmem"
    assert isinstance(pointer.type, ScalarType)


def test_an_idle_swizzle_stays_and_no_layout_has_no_bytes(tmp_path: Path) -> None:
    made = driver(tmp_path, HEAD + """
    @cute.jit
    def host():
        idle = cute.make_composed_layout(cute.make_swizzle(0, 4, 3), 0, cute.make_layout((8, 4, 2)))
        cute.select(idle, mode=[0, 1])
        cute.make_layout((8 + cute.size_in_bytes(cutlass.Float16, None), 4))

    host()
    """)  # fmt: skip
    found = {call: value for (_, call), value in results(made).items()}
    assert found["select"] == ["S<0,4,3> o 0 o (8,4):(1,8)"]
    assert "(8,4):(1,8)" in found["make_layout"]


@pytest.mark.parametrize(
    ("text", "expected"),  # as nvidia-cutlass-dsl 4.8.1 has it
    [
        ("cute.wrap(3), cute.wrap((1, 2)), cute.unwrap((((1, 2),),))", ((3,), (1, 2), (1, 2))),
        ("cute.tuple_cat(1, (2, 3), (4,)), cute.core.repeat_as_tuple(None, 3)", ((1, 2, 3, 4), (None, None, None))),
        ("cute.transform_leaf(lambda a, b: a * b, t, t)", ((4, 9), (16, (1, 25)))),
        ("cute.unflatten([1, 2, 3, 4, 5], t)", ((1, 2), (3, (4, 5)))),
        ("cute.transform_apply(t, t, f=lambda a, b: a + b, g=lambda *x: sum(x))", 30),
        ("cute.filter_tuple(t, f=lambda x: (x,) if x % 2 else ())", (3, 1, 5)),
        ("cute.find(t, 1), cute.find((3, 4), 4), cute.find(t, 9), cute.find(t, 5, False)", ((1, 1, 0), 1, None, 1)),
        ("cute.find_if(t, pred_fn=lambda v, p: v > 3)", (1, 0)),
        ("cute.is_integer(3), cute.is_integer((3,)), cute.is_int_tuple(t)", (True, False, True)),
    ],
)
def test_functions_of_nested_tuples(tmp_path: Path, text: str, expected: object) -> None:
    assert variables(tmp_path, f"import cutlass.cute as cute\nt = ((2, 3), (4, (1, 5)))\nr = {text}")["r"] == expected


def test_host_code_sees_the_numbers_of_a_marked_tensor(tmp_path: Path) -> None:
    found = variables(
        tmp_path,
        """
        import torch
        import cutlass
        import cutlass.cute as cute
        from cutlass.cute.runtime import from_dlpack, make_fake_tensor

        marked = from_dlpack(torch.empty(256, 512)).mark_layout_dynamic()
        compact = from_dlpack(torch.empty(256, 512)).mark_compact_shape_dynamic(mode=0)
        shapes = (marked.shape, marked.stride, compact.shape, compact.stride)

        @cute.jit
        def host(t: cute.Tensor):
            cute.make_layout(t.shape, stride=t.stride)

        host(marked)
        """,
    )
    assert found["shapes"] == ((256, 512), (512, 1), (256, 512), (512, 1))
