"""``cutlass.jax``: the kernel that a ``cutlass_call`` compiles, with the tensors that the DSL makes of JAX's arrays.

Read by the evaluator in the place of the DSL's own source, which needs JAX, and never imported.
"""

import cutlass
import torch
from cutlass import cute
from cutlass.cute.runtime import make_fake_stream, make_fake_tensor

_ALIGNMENT = 256
_TYPES = {
    torch.int8: cutlass.Int8, torch.int16: cutlass.Int16, torch.int32: cutlass.Int32, torch.int64: cutlass.Int64,
    torch.uint8: cutlass.Uint8, torch.uint16: cutlass.Uint16, torch.uint32: cutlass.Uint32,
    torch.uint64: cutlass.Uint64, torch.bfloat16: cutlass.BFloat16, torch.float16: cutlass.Float16,
    torch.float32: cutlass.Float32, torch.float64: cutlass.Float64, torch.bool: cutlass.Boolean,
    torch.float8_e4m3fn: cutlass.Float8E4M3FN, torch.float8_e5m2: cutlass.Float8E5M2,
    torch.float8_e8m0fnu: cutlass.Float8E8M0FNU,
}  # fmt: skip


class TensorSpec:
    def __init__(self, layout=None, mode=None, static=None, ptr_assumed_align=_ALIGNMENT, divisibility=None):
        self.layout, self.mode, self.static = layout, mode, static
        self.ptr_assumed_align, self.divisibility = ptr_assumed_align, divisibility


def is_available():
    return True


def jax_to_cutlass_dtype(dtype):
    return _TYPES[dtype]


def cutlass_to_jax_dtype(dtype):
    return {v: k for k, v in _TYPES.items()}[dtype]


def row_major_layout(shaped):
    return tuple(reversed(range(len(getattr(shaped, "shape", shaped)))))


def default_tensor_mode(shaped):
    return tuple(range(len(getattr(shaped, "shape", shaped))))


def default_tensor_spec(shaped):
    return TensorSpec(layout=row_major_layout(shaped), mode=default_tensor_mode(shaped))


def jax_to_cutlass_layout_order(layout):
    return None if layout is None else tuple(len(layout) - 1 - list(layout).index(i) for i in range(len(layout)))


def cutlass_to_jax_layout_order(layout):
    return None if layout is None else tuple(sorted(range(len(layout)), key=lambda i: layout[i], reverse=True))


def _tensor(array, spec, static):
    """A compact tensor whose extents are run-time numbers, multiples of those that the array has."""
    spec = TensorSpec(mode=tuple(spec)) if isinstance(spec, (tuple, list)) else spec or TensorSpec()
    shape, order = tuple(array.shape), spec.layout or row_major_layout(array)
    static = static if spec.static is None else spec.static
    given = spec.divisibility
    if isinstance(given, int):
        given = tuple(given if place == 0 else None for place in order)
    multiples = [own if own else extent for own, extent in zip(given or (None,) * len(shape), shape)]  # noqa: B905
    extents, strides = [], []
    for own, place in zip(multiples, order):  # noqa: B905
        inner = 1
        for other, at in zip(shape if static else multiples, order):  # noqa: B905
            inner = inner * other if at < place else inner
        extents.append(own if static else cute.sym_int(divisibility=own))
        strides.append(inner if static or place == 0 else cute.sym_int64(divisibility=inner))
    extents = list(shape) if static else extents
    mode = spec.mode or default_tensor_mode(array)
    return make_fake_tensor(
        _TYPES[array.dtype],
        tuple(extents[i] for i in mode),
        stride=tuple(strides[i] for i in mode),
        assumed_align=spec.ptr_assumed_align,
    )


def _tensors(tree, specs, static):
    if isinstance(tree, dict):
        return {k: _tensors(v, specs, static) for k, v in tree.items()}
    if isinstance(tree, (tuple, list)):
        return type(tree)([_tensors(v, specs, static) for v in tree])
    return None if tree is None else _tensor(tree, specs.pop(0) if specs else None, static)


def _specs(given):
    if given is None or isinstance(given, TensorSpec) or (given and all(isinstance(i, int) for i in given)):
        return [given]
    return [spec for part in (given.values() if isinstance(given, dict) else given) for spec in _specs(part)]


def cutlass_call(
    fn, *, output_shape_dtype=None, input_spec=None, output_spec=None, input_mode=None, output_mode=None,
    input_output_aliases=None, allow_cuda_graph=True, ffi_call_target=None, compile_options=None, compile_key=None,
    use_static_tensors=False, **kwargs,
):  # fmt: skip
    several = isinstance(output_shape_dtype, (tuple, list))
    results = tuple(output_shape_dtype) if several else (output_shape_dtype,)
    aliased = [o for o in (input_output_aliases or {}).values() if isinstance(o, int)]

    def call(*arrays):
        inputs = _tensors(arrays, _specs(input_spec or input_mode), use_static_tensors)
        outputs = _tensors(results, _specs(output_spec or output_mode), use_static_tensors)
        outputs = tuple(o for i, o in enumerate(outputs) if i not in aliased)
        cute.compile(fn, make_fake_stream(), *inputs, *outputs, **kwargs)
        return _empty(results) if several else _empty(results)[0]

    return call


def _empty(tree):
    if isinstance(tree, dict):
        return {k: _empty(v) for k, v in tree.items()}
    if isinstance(tree, (tuple, list)):
        return tuple(_empty(v) for v in tree)
    return None if tree is None else torch.empty(tuple(tree.shape), dtype=tree.dtype, device="cuda")
