"""``jax.numpy`` as far as it makes arrays.

Read by the evaluator in the place of JAX's own source, and never imported.
"""

import torch

float16, float32, float64, bfloat16 = torch.float16, torch.float32, torch.float64, torch.bfloat16
int8, int16, int32, int64 = torch.int8, torch.int16, torch.int32, torch.int64
uint8, uint16, uint32, uint64 = torch.uint8, torch.uint16, torch.uint32, torch.uint64
float8_e4m3fn, float8_e5m2, float8_e8m0fnu = torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e8m0fnu
bool_ = torch.bool
ndarray = torch.Tensor


def empty(shape, dtype=float32, **kwargs):
    return torch.empty((shape,) if isinstance(shape, int) else tuple(shape), dtype=dtype, device="cuda")


ones = zeros = empty


def full(shape, fill_value, dtype=float32, **kwargs):
    return empty(shape, dtype)


def empty_like(a, dtype=None, shape=None, **kwargs):
    return empty(a.shape if shape is None else shape, a.dtype if dtype is None else dtype)


ones_like = zeros_like = empty_like


def arange(start, stop=None, step=1, dtype=int32):
    return torch.arange(start, stop, step, dtype=dtype) if stop is not None else torch.arange(start, dtype=dtype)


def asarray(a, dtype=None, **kwargs):
    return a if dtype is None else empty(a.shape, dtype)


array = asarray


def dtype(x):
    return x


def broadcast_to(a, shape):
    return empty(shape, a.dtype)


def transpose(a, axes=None):
    return a.permute(tuple(reversed(range(a.ndim))) if axes is None else axes).contiguous()


def reshape(a, shape):
    return a.reshape(shape)


def where(condition, x, y):
    return x if hasattr(x, "shape") else y
