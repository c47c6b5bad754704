"""Kernels that JAX calls: the tensors that ``cutlass_call`` makes of its arrays, and whose ``jit`` a function has."""

from __future__ import annotations

from pathlib import Path

from cutecheck.tests.source.dsl.run import driver, results

SCRIPT = """
from functools import partial
import cutlass
import cutlass.cute as cute
import cutlass.jax as cjax
import jax
import jax.numpy as jnp
from cutlass.jax import TensorSpec

@cute.jit
def kernel(stream, x: cute.Tensor, y: cute.Tensor, *, factor: cutlass.Constexpr = 1):
    cute.local_tile(x, (32, 64), (0, 0))
    cute.local_tile(y, (32, 64), (0, 0))
    cute.make_layout((factor, x.element_type.width))

@partial(jax.jit, static_argnames=("factor",))
def plain(x, factor):
    call = cjax.cutlass_call(kernel, output_shape_dtype=jax.ShapeDtypeStruct(x.shape, x.dtype), factor=factor)
    return call(x)

@jax.jit
def spec(xs):
    return cjax.cutlass_call(
        lambda stream, xs, y, *, factor: kernel(stream, xs[0], y, factor=factor),
        output_shape_dtype=(jax.ShapeDtypeStruct(xs[0].shape, xs[0].dtype),),
        input_spec=(TensorSpec(layout=(0, 1), mode=(1, 0), divisibility=8), None),
        output_spec=[TensorSpec(static=True)],
        factor=5,
    )(xs)

x = jax.random.normal(jax.random.key(0), (1024, 2048), dtype=jnp.bfloat16)
y = plain(x, factor=3)
(z,) = spec([jnp.ones((512, 256)), y.astype(jnp.float32)])
plain(z, 7)
"""


def test_arrays_of_jax(tmp_path: Path) -> None:
    made = driver(tmp_path, SCRIPT)
    assert not made.cut, made.cut
    lines = SCRIPT.split("\n")
    found = {lines[line - 1].split(",")[0].strip(): values for (line, _), values in results(made).items()}

    def layouts(text: str) -> list[str]:
        return [v["layout"] for v in found[text]]  # type: ignore[index]

    # as the DSL's bridge has them: extents of 32 bits, strides of 64, multiples of what the array has
    strides = ["?{i64 div=2048},1", "?{i64 div=8},1", "?{i64 div=256},1"]
    assert layouts("cute.local_tile(x") == [f"(32,64):({s})" for s in strides]
    assert layouts("cute.local_tile(y")[:2] == ["(32,64):(?{i64 div=2048},1)", "(32,64):(256,1)"]
    assert found["cute.make_layout((factor"] == ["(3,16):(1,3)", "(5,32):(1,5)", "(7,32):(1,7)"]
