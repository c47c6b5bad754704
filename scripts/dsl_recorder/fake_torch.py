"""A ``torch`` of shapes and strides only, so that drivers of DSL kernels reach ``cute.compile`` without one or a GPU.

Tensors have an address that nothing is at; the DSL reads their shape, strides and element type through DLPack. Whatever
else is asked of ``torch`` or of another package that is not installed answers with something that can be called on.
"""

from __future__ import annotations

import ctypes
import importlib.abc
import importlib.machinery
import math
import os
import re
import sys
import types
from collections.abc import Sequence
from typing import Any, ClassVar

_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "bool": 6}
_WIDTHS = {
    "float": ("float", 32), "double": ("float", 64), "half": ("float", 16), "long": ("int", 64), "int": ("int", 32),
    "short": ("int", 16), "bool": ("bool", 8), "bfloat16": ("bfloat", 16),
}  # fmt: skip
_EIGHT = {"float8_e4m3fn": 10, "float8_e4m3fnuz": 11, "float8_e5m2": 12, "float8_e8m0fnu": 14}
_ADDRESS = 0x7F0000000000
_NO_TYPE = re.compile(r"(tfloat|u?int|b?float|boolean)\d*")  # element types that torch lacks
_KEEP: list[Any] = []


class DType:
    """``torch.float16`` ...: the name, and DLPack's code and width."""

    def __init__(self, name: str, code: int, bits: int) -> None:
        self.name, self.code, self.bits = name, code, bits
        self.itemsize = max(1, bits // 8)
        self.is_signed = not name.startswith("uint")
        self.is_floating_point = "float" in name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> Any:
        return self.name


def _dtypes() -> dict[str, DType]:
    out = {}
    for kind in ("int", "uint", "float"):
        for bits in (8, 16, 32, 64):
            if not (kind == "float" and bits == 8):
                out[f"{kind}{bits}"] = DType(f"{kind}{bits}", _CODES[kind], bits)
    for name, (kind, bits) in _WIDTHS.items():
        out[name] = out.get(f"{kind}{bits}") or DType(name, _CODES[kind], bits)
    for name, code in _EIGHT.items():
        out[name] = DType(name, code, 8)
    out["float4_e2m1fn_x2"] = DType("float4_e2m1fn_x2", 17, 8)
    return out


DTYPES = _dtypes()


class Anything:
    """Answers every attribute, call, index and comparison."""

    def __init__(self, name: str = "") -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(f"{self._name}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and isinstance(args[0], (types.FunctionType, type)):
            return args[0]  # a decorator
        return next((a for a in args if isinstance(a, Tensor)), Anything(f"{self._name}()"))

    def __getitem__(self, key: Any) -> Any:
        return self

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *args: Any) -> None:
        return None

    def __iter__(self) -> Any:
        return iter(())

    def __int__(self) -> int:
        return 0

    __index__ = __int__

    def __float__(self) -> float:
        return 0.0

    def __or__(self, other: Any) -> Any:
        return self

    __neg__ = __abs__ = __invert__ = lambda self: self
    __ror__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __or__

    def __format__(self, spec: str) -> str:
        return self._name

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (object,)


class Tensor:
    """Shape and strides in elements."""

    def __init__(
        self, shape: Sequence[int], dtype: DType, strides: Sequence[int] | None = None, device: Any = "cuda"
    ) -> None:
        self.shape = Size(int(s) for s in shape)
        self.strides = tuple(strides) if strides is not None else _compact(self.shape)
        self.dtype = dtype
        self.device = types.SimpleNamespace(type=str(getattr(device, "type", device) or "cpu").split(":")[0], index=0)
        self.is_cuda = self.device.type == "cuda"
        self.ndim = len(self.shape)
        self.requires_grad = False
        self.grad = None

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def stride(self, dim: int | None = None) -> Any:
        return self.strides if dim is None else self.strides[dim]

    def dim(self) -> int:
        return self.ndim

    def numel(self) -> int:
        return math.prod(self.shape)

    nelement = numel

    def __len__(self) -> int:
        return self.shape[0]

    def data_ptr(self) -> int:
        return _ADDRESS

    def element_size(self) -> int:
        return self.dtype.itemsize

    def is_contiguous(self, **_: Any) -> bool:
        return self.strides == _compact(self.shape)

    def dim_order(self) -> tuple[int, ...]:
        return tuple(sorted(range(self.ndim), key=lambda i: (-self.strides[i], i)))

    def item(self) -> Any:
        return 1

    def tolist(self) -> list[Any]:
        return [0] * self.numel() if self.ndim <= 1 else [[0] * self.shape[-1]] * self.shape[0]

    def _with(self, shape: Sequence[int], strides: Sequence[int] | None = None, dtype: DType | None = None) -> Tensor:
        return Tensor(shape, dtype or self.dtype, strides, self.device)

    def permute(self, *order: Any) -> Tensor:
        order = tuple(order[0]) if len(order) == 1 and isinstance(order[0], (tuple, list)) else order
        if len(order) != self.ndim:
            return self
        return self._with([self.shape[i] for i in order], [self.strides[i] for i in order])

    def transpose(self, a: int, b: int) -> Tensor:
        order = list(range(self.ndim))
        order[a], order[b] = order[b], order[a]
        return self.permute(*order)

    mT = property(lambda self: self.transpose(-1, -2))  # noqa: N815
    T = property(lambda self: self.permute(*range(self.ndim)[::-1]))

    def t(self) -> Tensor:
        return self.transpose(0, 1)

    def contiguous(self, **_: Any) -> Tensor:
        return self._with(self.shape)

    def view(self, *shape: Any, dtype: DType | None = None) -> Tensor:
        if dtype is not None or (shape and isinstance(shape[0], DType)):
            return self._as_type(dtype or shape[0])
        return self.reshape(*shape)

    def _as_type(self, dtype: DType) -> Tensor:
        ratio = self.dtype.itemsize / dtype.itemsize
        if ratio == 1 or not self.shape:
            return self._with(self.shape, self.strides, dtype)
        strides = [int(s * ratio) if s != 1 else 1 for s in self.strides]
        return self._with([*self.shape[:-1], int(self.shape[-1] * ratio)], strides, dtype)

    def reshape(self, *shape: Any) -> Tensor:
        wanted = list(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else list(shape)
        if -1 in wanted:
            rest = math.prod(s for s in wanted if s != -1)
            wanted[wanted.index(-1)] = self.numel() // max(1, rest)
        return self._with(wanted)

    def flatten(self, *_: Any, **__: Any) -> Tensor:
        return self._with([self.numel()])

    def unsqueeze(self, dim: int) -> Tensor:
        at = dim if dim >= 0 else dim + self.ndim + 1
        step = self.strides[at] * self.shape[at] if at < self.ndim else 1
        return self._with([*self.shape[:at], 1, *self.shape[at:]], [*self.strides[:at], step, *self.strides[at:]])

    def squeeze(self, dim: int | None = None) -> Tensor:
        drop = [i for i, s in enumerate(self.shape) if s == 1 and dim in (None, i, i - self.ndim)]
        keep = [i for i in range(self.ndim) if i not in drop]
        return self._with([self.shape[i] for i in keep], [self.strides[i] for i in keep])

    def expand(self, *shape: Any) -> Tensor:
        wanted = list(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else list(shape)
        lead = len(wanted) - self.ndim
        modes = zip(self.shape, wanted[lead:], self.strides, strict=True)
        strides = [0] * lead + [0 if s == 1 and w not in (1, -1) else d for s, w, d in modes]
        extents = zip(wanted, [*wanted[:lead], *self.shape], strict=True)
        return self._with([s if w == -1 else w for w, s in extents], strides)

    def as_strided(self, shape: Sequence[int], strides: Sequence[int], *_: Any) -> Tensor:
        return self._with(shape, strides)

    def repeat(self, *times: int) -> Tensor:
        shape = (1,) * (len(times) - self.ndim) + tuple(self.shape)[-len(times) :]
        return self._with([s * t for s, t in zip(shape, times, strict=True)])

    def to(self, *args: Any, **kwargs: Any) -> Tensor:
        dtype = kwargs.get("dtype") or next((a for a in args if isinstance(a, DType)), self.dtype)
        device = kwargs.get("device") or next(
            (a for a in args if not isinstance(a, (DType, bool, Tensor))), self.device
        )
        return Tensor(self.shape, dtype, self.strides if _dense(self) else None, device)

    def type(self, dtype: DType) -> Tensor:
        return self.to(dtype)

    def cuda(self, *_: Any, **__: Any) -> Tensor:
        return self.to(device="cuda")

    def cpu(self) -> Tensor:
        return self.to(device="cpu")

    def float(self) -> Tensor:
        return self.to(DTYPES["float32"])

    def __getitem__(self, key: Any) -> Tensor:
        keys = list(key) if isinstance(key, tuple) else [key]
        if Ellipsis in keys:
            at = keys.index(Ellipsis)
            keys[at : at + 1] = [slice(None)] * (self.ndim - sum(k is not None for k in keys) + 1)
        shape, strides, mode = [], [], 0
        for k in keys:
            if k is None:
                shape.append(1)
                strides.append(1)
                continue
            if mode == self.ndim:
                return self
            if isinstance(k, slice):
                low, high, step = k.indices(self.shape[mode])
                shape.append(max(0, -(-(high - low) // step)))
                strides.append(self.strides[mode] * step)
            mode += 1
        return self._with([*shape, *self.shape[mode:]], [*strides, *self.strides[mode:]])

    def __setitem__(self, key: Any, value: Any) -> None:
        return None

    def __iter__(self) -> Any:
        return (self[i] for i in range(self.shape[0]))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self

    def _same(self, *_: Any) -> Tensor:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __neg__ = __pow__ = (
        _same
    )
    __floordiv__ = __mod__ = __and__ = __or__ = __gt__ = __lt__ = __ge__ = __le__ = __matmul__ = __invert__ = _same

    def __bool__(self) -> bool:
        return True

    def __int__(self) -> int:
        return 0

    __index__ = __int__

    def __float__(self) -> float:
        return 0.0

    def __format__(self, spec: str) -> str:
        return "tensor"

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0) if self.is_cuda else (1, 0)

    def __dlpack__(self, **_: Any) -> Any:
        return _capsule(self)


class Size(tuple[int, ...]):
    def numel(self) -> int:
        return math.prod(self)


def _compact(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(math.prod(s or 1 for s in shape[i + 1 :]) for i in range(len(shape)))


def _dense(t: Tensor) -> bool:
    pairs = sorted((d, s) for d, s in zip(t.strides, t.shape, strict=True) if s != 1)
    at = 1
    for d, s in pairs:
        if d != at:
            return False
        at *= s
    return True


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64), ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
    ]  # fmt: skip


def _capsule(t: Tensor) -> Any:
    """A ``dltensor`` capsule (dlpack.h: DLManagedTensor); it owns nothing."""
    shape, strides = (ctypes.c_int64 * t.ndim)(*t.shape), (ctypes.c_int64 * t.ndim)(*t.strides)
    made = _DLTensor(
        _ADDRESS, *t.__dlpack_device__(), t.ndim, t.dtype.code, t.dtype.bits, 1, shape, strides, 0, None, None
    )
    _KEEP.extend((shape, strides, made))
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return new(ctypes.addressof(made), b"dltensor", None)


def _shape(args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[int, ...]:
    given = kwargs.get("size", args)
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        given = given[0]
    return tuple(int(x) for x in given)


def _made(skip: int = 0, default: str = "float32") -> Any:
    def make(*args: Any, **kwargs: Any) -> Tensor:
        return Tensor(
            _shape(args[skip:], kwargs), kwargs.get("dtype") or DTYPES[default], None, kwargs.get("device") or "cpu"
        )

    return make


def _like(t: Tensor, *_: Any, **kwargs: Any) -> Tensor:
    dense = t.strides if _dense(t) else None
    return Tensor(t.shape, kwargs.get("dtype") or t.dtype, dense, kwargs.get("device") or t.device)


def _full(size: Any, value: Any = 0, **kwargs: Any) -> Tensor:
    return _made()(size, **kwargs)


def _tensor(data: Any = (), **kwargs: Any) -> Tensor:
    shape = []
    at = data
    while isinstance(at, (list, tuple, range)):
        shape.append(len(at))
        at = at[0] if len(at) else None
    default = DTYPES["int64"] if isinstance(at, int) else DTYPES["float32"]
    return Tensor(shape, kwargs.get("dtype") or default, None, kwargs.get("device") or "cpu")


def _arange(*args: Any, **kwargs: Any) -> Tensor:
    return Tensor(
        [len(range(*map(int, args)))], kwargs.get("dtype") or DTYPES["int64"], None, kwargs.get("device") or "cpu"
    )


def _strided(shape: Any, strides: Any, **kwargs: Any) -> Tensor:
    return Tensor(shape, kwargs.get("dtype") or DTYPES["float32"], strides, kwargs.get("device") or "cpu")


def _joined(tensors: Sequence[Tensor], dim: int = 0, **_: Any) -> Tensor:
    shape = list(tensors[0].shape)
    shape[dim] = sum(t.shape[dim] for t in tensors)
    return Tensor(shape, tensors[0].dtype, None, tensors[0].device)


def _stacked(tensors: Sequence[Tensor], dim: int = 0, **_: Any) -> Tensor:
    shape = list(tensors[0].shape)
    shape.insert(dim if dim >= 0 else dim + len(shape) + 1, len(tensors))
    return Tensor(shape, tensors[0].dtype, None, tensors[0].device)


class _Cuda(Anything):
    def is_available(self) -> bool:
        return True

    def device_count(self) -> int:
        return 1

    def get_device_capability(self, *_: Any) -> tuple[int, int]:
        digits = "".join(c for c in os.environ.get("CUTE_DSL_ARCH", "sm_100a") if c.isdigit())
        return int(digits[:-1]), int(digits[-1])

    def _version(self) -> dict[str, int]:
        return dict(zip(("major", "minor"), self.get_device_capability(), strict=True))

    def current_stream(self, *_: Any) -> Any:
        return types.SimpleNamespace(cuda_stream=0, synchronize=lambda: None)

    default_stream = Stream = current_stream

    def get_device_properties(self, *_: Any) -> Any:
        return types.SimpleNamespace(multi_processor_count=148, name="", L2_cache_size=1 << 26, **self._version())


class _Distributed(Anything):
    def is_available(self) -> bool:
        return True

    is_initialized = is_available

    def get_rank(self, *_: Any) -> int:
        return 0

    def get_world_size(self, *_: Any) -> int:
        return 8


class _Context(Anything):
    """What ``torch.autograd.Function`` gives to ``forward``."""

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors


class _Function:
    """``torch.autograd.Function``: ``apply`` is ``forward``."""

    @classmethod
    def apply(cls, *args: Any) -> Any:
        return cls.forward(_Context("ctx"), *args)  # type: ignore[attr-defined]


def _operator(*args: Any, **_: Any) -> Any:
    """``torch.library.custom_op``: the function, which can be told more of itself."""

    def decorate(function: Any) -> Any:
        for name in ("register_fake", "register_kernel", "register_autograd", "register_vmap"):
            setattr(function, name, lambda *_, **__: lambda f: f)
        return function

    return decorate(args[1]) if len(args) > 1 and callable(args[1]) else decorate


class _Module(types.ModuleType):
    """A package that is not installed."""

    __path__: ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or _NO_TYPE.match(name):
            raise AttributeError(name)
        return Anything(f"{self.__name__}.{name}")


def _torch() -> types.ModuleType:
    made = _Module("torch")
    vars(made).update(DTYPES)
    for name in ("empty", "zeros", "ones", "rand", "randn"):
        setattr(made, name, _made())
    for name in ("empty_like", "zeros_like", "ones_like", "randn_like", "rand_like", "full_like", "randint_like"):
        setattr(made, name, _like)

    def randint(*args: Any, **kwargs: Any) -> Tensor:
        given = next((a for a in args if isinstance(a, (tuple, list))), None) or kwargs.pop("size")
        return _made(0, "int64")(given, **{k: v for k, v in kwargs.items() if k in ("dtype", "device")})

    made.dtype, made.Tensor, made.Size, made.cuda = DType, Tensor, Size, _Cuda("torch.cuda")
    made.randint, made.full, made.tensor, made.as_tensor, made.arange = randint, _full, _tensor, _tensor, _arange
    made.cat, made.stack, made.empty_strided, made.concat = _joined, _stacked, _strided, _joined
    made.device = lambda name="cuda", *_: types.SimpleNamespace(type=str(name).split(":")[0], index=0)
    made.permute = lambda t, *order: t.permute(*order)
    made.distributed, made.__version__ = _Distributed("torch.distributed"), "2.9.0"
    made.library, made.autograd = Anything("torch.library"), Anything("torch.autograd")
    made.library.custom_op, made.autograd.Function = _operator, _Function
    made.max = made.min = lambda t, *_, **kwargs: (t, t) if "dim" in kwargs else t
    made.is_tensor = lambda t: isinstance(t, Tensor)
    made.allclose = made.equal = lambda *_, **__: True
    return made


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Packages that are not installed import as something that answers everything."""

    NAMES = (
        "torch", "numpy", "nvshmem", "tvm_ffi", "triton", "jax", "jaxlib", "pandas", "matplotlib", "pytest", "einops",
        "cupy", "tqdm", "scipy", "tabulate", "rich",
    )  # fmt: skip

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.split(".", maxsplit=1)[0] not in self.NAMES and not name.startswith("cuda.core"):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> types.ModuleType:
        if spec.name == "torch":
            return _torch()
        made = _Module(spec.name)
        if spec.name == "torch.library":
            made.custom_op = _operator
        if spec.name == "torch.autograd":
            made.Function = _Function
        if spec.name == "torch.distributed":
            for name in ("get_rank", "get_world_size", "is_initialized", "is_available"):
                setattr(made, name, getattr(_Distributed(), name))
        return made

    def exec_module(self, module: types.ModuleType) -> None:
        return None


def install() -> None:
    """After the packages that are installed: their own versions win. One process of eight, where a driver asks."""
    for name, value in (("LOCAL_RANK", "0"), ("RANK", "0"), ("WORLD_SIZE", "8"), ("LOCAL_WORLD_SIZE", "8")):
        os.environ.setdefault(name, value)
    sys.meta_path.append(Finder())
