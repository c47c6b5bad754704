"""Arrays of torch on the host: shape, strides and element type, as torch 2.14.1 has them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from cutecheck.facts import Unknown
from cutecheck.model.dtype import DType
from cutecheck.model.ints import Sym
from cutecheck.model.units import Bits
from cutecheck.source.dsl.torch import DTYPES
from cutecheck.source.dsl.values import HostTensor, TorchType
from cutecheck.source.eval.values import Extern, ScalarType
from cutecheck.tests.source.dsl.run import driver, sites, variables

GIVEN = """
import torch
import torch.nn.functional as F
x = torch.empty(128, 64, dtype=torch.bfloat16)
qkv = torch.empty(2, 5, 3 * 96, dtype=torch.float16)
b4 = torch.empty(2, 3, 4, 5)
i = torch.arange(7)
"""
SHORT = {
    "bfloat16": "bf16", "float16": "f16", "float32": "f32", "float64": "f64", "float8_e4m3fn": "e4m3",
    "int8": "i8", "uint8": "u8", "int16": "i16", "int32": "i32", "int64": "i64",
}  # fmt: skip
KINDS = {cutlass: SHORT.get(torch, torch) for torch, cutlass in reversed(DTYPES.items())}
# an expression, the element type that it has, its extents and its strides
ARRAYS = """
x.new_empty(3, 4)  # bf16 3,4:4,1
x.new_empty((3, 4))  # bf16 3,4:4,1
x.new_zeros([3, 4])  # bf16 3,4:4,1
x.new_full((3, 4), 7.0)  # bf16 3,4:4,1
x.new_ones(5, dtype=torch.int32)  # i32 5:1
torch.zeros_like(x)  # bf16 128,64:64,1
x.new_empty(*x.shape[:-1], 9)  # bf16 128,9:9,1
x.new_empty(x.size())  # bf16 128,64:64,1
x.new_empty(x.shape[:-1] + (5,), dtype=torch.float32)  # f32 128,5:5,1
torch.full(x.shape, 3.0)  # f32 128,64:64,1
torch.tensor([[1, 2], [3, 4]])  # i64 2,2:2,1
torch.tensor([True, False])  # bool 2:1
torch.as_tensor([1, 2, 3], dtype=torch.int32)  # i32 3:1
torch.linspace(0, 1, 11)  # f32 11:1
torch.eye(4)  # f32 4,4:4,1
torch.stack([x, x, x])  # bf16 3,128,64:8192,64,1
torch.stack([x, x], dim=-1)  # bf16 128,64,2:128,2,1
torch.cat([x, x], dim=-1)  # bf16 128,128:128,1
x.unflatten(0, (4, -1))  # bf16 4,32,64:2048,64,1
x.repeat_interleave(2, dim=0)  # bf16 256,64:64,1
x.repeat_interleave(2)  # bf16 16384:1
x.expand(3, -1, -1)  # bf16 3,128,64:0,64,1
F.pad(x, (0, 3))  # bf16 128,67:67,1
F.pad(x, (1, 3, 2, 2))  # bf16 132,68:68,1
x.flatten()  # bf16 8192:1
b4.flatten(1, 2)  # f32 2,12,5:60,5,1
b4.flatten(-2)  # f32 2,3,20:60,20,1
b4.transpose(1, 2).flatten(2)  # f32 2,4,15:60,15,1
b4.transpose(1, 2).flatten(0, 1)  # f32 8,3,5:15,5,1
x[None, :, ::2]  # bf16 1,128,32:8192,64,2
x.chunk(2, dim=1)[0]  # bf16 128,32:64,1
x.chunk(3)  # bf16 43,64:64,1 | bf16 43,64:64,1 | bf16 42,64:64,1
x.split(16, dim=0)[1]  # bf16 16,64:64,1
x.split(48)  # bf16 48,64:64,1 | bf16 48,64:64,1 | bf16 32,64:64,1
torch.split(x, [100, 28])[1]  # bf16 28,64:64,1
torch.split(qkv, 96, dim=-1)  # f16 2,5,96:1440,288,1 | f16 2,5,96:1440,288,1 | f16 2,5,96:1440,288,1
qkv.split([96, 192], dim=-1)  # f16 2,5,96:1440,288,1 | f16 2,5,192:1440,288,1
x.unbind(0)[0]  # bf16 64:1
qkv[..., :96].view(2, 5, 2, 48)  # f16 2,5,2,48:1440,288,48,1
qkv[:, :, 96:].reshape(10, 192)  # f16 10,192:288,1
qkv[..., :96].reshape(-1, 48)  # f16 20,48:48,1
qkv.transpose(0, 1).reshape(10, -1)  # f16 10,288:288,1
qkv.transpose(0, 1).contiguous()  # f16 5,2,288:576,288,1
x.T @ x  # bf16 64,64:64,1
x @ x.T  # bf16 128,128:128,1
torch.matmul(torch.empty(2, 3, 4), torch.empty(4, 6))  # f32 2,3,6:18,6,1
torch.matmul(torch.empty(4), torch.empty(4, 6))  # f32 6:1
torch.matmul(torch.empty(3, 4), torch.empty(4))  # f32 3:1
torch.matmul(torch.empty(7, 1, 3, 4), torch.empty(5, 4, 6))  # f32 7,5,3,6:90,18,6,1
torch.bmm(torch.empty(2, 3, 4), torch.empty(2, 4, 6))  # f32 2,3,6:18,6,1
torch.einsum("ij,kj->ik", x, x)  # bf16 128,128:128,1
torch.einsum("bsh, bth -> bst", qkv, qkv)  # f16 2,5,5:25,5,1
torch.einsum("ij,jk", x, x.T)  # bf16 128,128:128,1
x.view(torch.uint8)  # u8 128,128:128,1
x.view(torch.int32)  # i32 128,32:32,1
x.view(torch.int16)  # i16 128,64:64,1
x[:, :32].view(torch.int32)  # i32 128,16:32,1
x.permute(1, 0).contiguous()  # bf16 64,128:128,1
x.permute((1, 0))  # bf16 64,128:1,64
torch.permute(b4, (3, 0, 1, 2))  # f32 5,2,3,4:1,60,20,5
b4.permute(0, -1, 1, 2)  # f32 2,5,3,4:60,1,20,5
x.mT  # bf16 64,128:1,64
b4.mT  # f32 2,3,5,4:60,20,1,5
x.T  # bf16 64,128:1,64
torch.arange(0, 10, 3)  # i64 4:1
torch.arange(5, dtype=torch.int32)  # i32 5:1
x.sum(dim=-1, keepdim=True)  # bf16 128,1:1,1
x.sum()  # bf16 :
x.amax(-1)  # bf16 128:1
x.amax(dim=(0, 1))  # bf16 :
x.float().abs().max()  # f32 :
x.max(dim=-1)  # bf16 128:1 | i64 128:1
b4.mean(dim=1)  # f32 2,4,5:20,5,1
b4.mean((1, 2), keepdim=True)  # f32 2,1,1,5:5,5,5,1
b4.argmax(dim=-1)  # i64 2,3,4:12,4,1
torch.randperm(12)  # i64 12:1
x.narrow(0, 5, 10)  # bf16 10,64:64,1
torch.randint(0, 5, (3, 4))  # i64 3,4:4,1
torch.randint(5, (3, 4), dtype=torch.int32)  # i32 3,4:4,1
torch.nn.Parameter(x)  # bf16 128,64:64,1
torch.empty(x.numel() // 2, dtype=torch.int32)  # i32 4096:1
torch.broadcast_to(x, (2, 128, 64))  # bf16 2,128,64:0,64,1
x.transpose(-2, -1)  # bf16 64,128:1,64
b4.movedim(0, 1)  # f32 3,2,4,5:20,60,5,1
b4.movedim((0, 1), (2, 3))  # f32 4,5,2,3:5,1,60,20
x.squeeze().unsqueeze(-1)  # bf16 128,64,1:64,1,1
x[:, :1].squeeze(-1)  # bf16 128:64
x[:, :1].squeeze()  # bf16 128:64
x.unsqueeze(0)  # bf16 1,128,64:8192,64,1
x.unsqueeze(1)  # bf16 128,1,64:64,64,1
torch.topk(x, 5, dim=-1)  # bf16 128,5:5,1 | i64 128,5:5,1
b4.topk(3, dim=1)  # f32 2,3,4,5:60,20,5,1 | i64 2,3,4,5:60,20,5,1
torch.empty_strided((3, 4), (8, 1))  # f32 3,4:8,1
torch.as_strided(x, (3, 4), (8, 1))  # bf16 3,4:8,1
x.to("cpu", torch.float32)  # f32 128,64:64,1
torch.softmax(x, -1)  # bf16 128,64:64,1
torch.softmax(x.float(), dim=-1)  # f32 128,64:64,1
torch.randn_like(x, dtype=torch.float32)  # f32 128,64:64,1
x.detach().requires_grad_()  # bf16 128,64:64,1
torch.tril(torch.ones(8, 8))  # f32 8,8:8,1
torch.ones(8, 8).triu(1)  # f32 8,8:8,1
x.index_select(0, i)  # bf16 7,64:64,1
x[i]  # bf16 7,64:64,1
b4[:, i[:2]]  # f32 2,2,4,5:40,20,5,1
torch.cumsum(x, 0)  # bf16 128,64:64,1
torch.where(x > 0, x, x)  # bf16 128,64:64,1
torch.where(x > 0, x, 0.0)  # bf16 128,64:64,1
torch.tensor([1.0])  # f32 1:1
torch.tensor(3)  # i64 :
x.float().half().to(x)  # bf16 128,64:64,1
torch.normal(0, 1, size=(3, 4))  # f32 3,4:4,1
torch.empty((3, 4)).uniform_(-1, 1)  # f32 3,4:4,1
torch.vstack([x, x])  # bf16 256,64:64,1
x.tile(2, 1)  # bf16 256,64:64,1
x.repeat(2, 3)  # bf16 256,192:192,1
x.repeat(2, 1, 1)  # bf16 2,128,64:8192,64,1
F.one_hot(i, 10)  # i64 7,10:10,1
torch.zeros(3).long()  # i64 3:1
torch.sort(x, dim=-1)  # bf16 128,64:64,1 | i64 128,64:64,1
F.normalize(x, dim=-1)  # bf16 128,64:64,1
F.linear(x, torch.empty(7, 64, dtype=torch.bfloat16))  # bf16 128,7:7,1
x.swapaxes(0, 1)  # bf16 64,128:1,64
torch.zeros(x.shape[0], 3)  # f32 128,3:3,1
torch.ones_like(x[..., 0])  # bf16 128:1
x * 2  # bf16 128,64:64,1
x / 3  # bf16 128,64:64,1
x * torch.empty(128, 1, dtype=torch.bfloat16)  # bf16 128,64:64,1
torch.empty(128, 1, dtype=torch.bfloat16) * x  # bf16 128,64:64,1
x + torch.empty(64)  # f32 128,64:64,1
i / 2  # f32 7:1
i * 2  # i64 7:1
i * 1.5  # f32 7:1
i % 3  # i64 7:1
i // 2  # i64 7:1
x > 0  # bool 128,64:64,1
i == i  # bool 7:1
~(i > 3)  # bool 7:1
-x  # bf16 128,64:64,1
x ** 2  # bf16 128,64:64,1
2 ** i  # i64 7:1
1.0 / i  # f32 7:1
torch.empty(4, 1) + torch.empty(1, 6)  # f32 4,6:6,1
torch.maximum(torch.empty(4, 1), torch.empty(6))  # f32 4,6:6,1
b4.gather(1, torch.zeros(2, 1, 4, 5, dtype=torch.long))  # f32 2,1,4,5:20,20,5,1
[y for y in torch.empty(3, 4)]  # f32 4:1 | f32 4:1 | f32 4:1
len(b4)  # 2
b4.dim()  # 4
b4.shape[-1]  # 5
b4.nelement()  # 120
b4.is_contiguous()  # True
b4.transpose(0, 1).is_contiguous()  # False
b4.stride(-1)  # 1
x.is_floating_point()  # True
x.element_size()  # 2
x.itemsize  # 2
torch.zeros((4, 4), dtype=torch.float8_e4m3fn)  # e4m3 4,4:4,1
torch.empty(16, 32).to(torch.float8_e4m3fn).view(torch.uint8)  # u8 16,32:32,1
torch.logsumexp(x, dim=-1)  # bf16 128:1
x.norm(dim=-1)  # bf16 128:1
x.std(dim=0)  # bf16 64:1
(x > 0).all()  # bool :
(x > 0).any(dim=1)  # bool 128:1
x.clamp(min=0)  # bf16 128,64:64,1
x.clamp(-1, 1)  # bf16 128,64:64,1
torch.clamp(x, min=0, max=6)  # bf16 128,64:64,1
x.masked_fill(x > 0, 0)  # bf16 128,64:64,1
x.type_as(b4)  # f32 128,64:64,1
b4.expand(4, -1, -1, -1, -1)  # f32 4,2,3,4,5:0,60,20,5,1
torch.empty(1, 3, 1).expand(5, 3, 7)  # f32 5,3,7:0,1,0
x.view(-1)  # bf16 8192:1
x.view(8, -1, 64)  # bf16 8,16,64:1024,64,1
x.reshape(8, 16, 8, 8).permute(0, 2, 1, 3)  # bf16 8,8,16,8:1024,8,64,1
x.reshape(8, 16, 8, 8).permute(0, 2, 1, 3).reshape(64, 128)  # bf16 64,128:128,1
x.t().reshape(-1)  # bf16 8192:1
x.t().view(64, 8, 16)  # bf16 64,8,16:1,1024,64
torch.empty(4, 0, 3)  # f32 4,0,3:3,3,1
torch.empty(4, 0, 3).sum(1)  # f32 4,3:3,1
torch.empty(2, 3).half()  # f16 2,3:3,1
torch.empty(2, 3).type(torch.int8)  # i8 2,3:3,1
torch.cat((qkv, qkv), 1)  # f16 2,10,288:2880,288,1
torch.concat([i, i])  # i64 14:1
torch.hstack([x, x])  # bf16 128,128:128,1
torch.empty(3)[:, None] * torch.empty(4)[None, :]  # f32 3,4:4,1
torch.addmm(torch.empty(6), torch.empty(3, 4), torch.empty(4, 6))  # f32 3,6:6,1
x[3]  # bf16 64:1
x[-1, 5]  # bf16 :
x[3:7, None, ::4]  # bf16 4,1,16:64,64,4
x[..., -1]  # bf16 128:64
b4[0, ..., 2:]  # f32 3,4,3:20,5,1
b4[1, :, 2]  # f32 3,5:20,1
x[x > 0].dim()  # 1
torch.nn.functional.silu(x) * x  # bf16 128,64:64,1
torch.sigmoid(x.float())  # f32 128,64:64,1
torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)  # f32 128,1:1,1
torch.is_tensor(x)  # True
torch.full((2, 3), 1)  # i64 2,3:3,1
torch.full((2, 3), 1, dtype=torch.int8)  # i8 2,3:3,1
torch.full_like(x, 3)  # bf16 128,64:64,1
torch.empty(5, dtype=torch.long)  # i64 5:1
torch.rand(2, 3, device="cpu", dtype=torch.half)  # f16 2,3:3,1
torch.empty(size=(2, 3))  # f32 2,3:3,1
torch.roll(x, 1, 0)  # bf16 128,64:64,1
x.flip(0)  # bf16 128,64:64,1
b4.sum((0, 2))  # f32 3,5:5,1
torch.nn.functional.layer_norm(x, (64,))  # bf16 128,64:64,1
torch.nn.functional.rms_norm(x, (64,))  # bf16 128,64:64,1
torch.nn.functional.scaled_dot_product_attention(b4, b4, b4)  # f32 2,3,4,5:60,20,5,1
torch.zeros_like(b4.transpose(1, 2))  # f32 2,4,3,5:60,5,20,1
torch.empty_like(qkv[..., :96])  # f16 2,5,96:480,96,1
qkv[..., :96] + 1  # f16 2,5,96:480,96,1
b4.transpose(1, 3) * 2  # f32 2,5,4,3:60,1,5,20
b4.transpose(1, 3) + b4.transpose(1, 3)  # f32 2,5,4,3:60,1,5,20
b4.transpose(1, 3).float()  # f32 2,5,4,3:60,1,5,20
b4.transpose(1, 3).half()  # f16 2,5,4,3:60,1,5,20
b4.transpose(1, 3).clone()  # f32 2,5,4,3:60,1,5,20
qkv[..., :96].clone()  # f16 2,5,96:480,96,1
qkv[..., :96].float()  # f32 2,5,96:480,96,1
qkv[..., :96].to(torch.float32)  # f32 2,5,96:480,96,1
x[:, :32].to(torch.float8_e4m3fn)  # e4m3 128,32:32,1
x[::2].contiguous()  # bf16 64,64:64,1
x.expand(2, 128, 64).clone()  # bf16 2,128,64:8192,64,1
x.expand(2, 128, 64) * 2  # bf16 2,128,64:8192,64,1
x.expand(2, 128, 64).contiguous()  # bf16 2,128,64:8192,64,1
str(x.dtype)  # torch.bfloat16
f"{qkv.dtype} {torch.long!r}"  # torch.float16 torch.int64
str((1, torch.half))  # (1, torch.float16)
f"{'a'}{'a'!r}{repr('a')}{('a',)}"  # a'a''a'('a',)
isinstance(x.dtype, torch.dtype)  # True
isinstance(torch.float8_e4m3fn, (str, type))  # False
isinstance("float16", torch.dtype)  # False
x.dtype is torch.half  # False
x.dtype in (torch.float16, torch.bfloat16)  # True
{torch.half: 1, torch.bfloat16: 2}[x.dtype]  # 2
x.dtype.itemsize  # 2
"""
ROWS = [line.split("  # ") for line in ARRAYS.strip().splitlines()]


def _shown(v: Any) -> str:
    if isinstance(v, (list, tuple)):
        return " | ".join(_shown(x) for x in v)
    if isinstance(v, HostTensor):
        assert isinstance(v.dtype, ScalarType)
        return _array(KINDS[v.dtype.dtype.name], v.shape, v.strides)
    return str(v)


def _array(kind: str, shape: Any, strides: Any) -> str:
    return f"{kind} {','.join(map(str, shape))}:{','.join(map(str, strides))}"


def test_arrays_are_as_torch_has_them(tmp_path: Path) -> None:
    found = variables(tmp_path, GIVEN + "\n".join(f"r{n} = {text}" for n, (text, _) in enumerate(ROWS)))
    assert [(text, _shown(found[f"r{n}"])) for n, (text, _) in enumerate(ROWS)] == [tuple(row) for row in ROWS]


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_torch_has_them_so() -> None:
    import torch

    def shown(v: Any) -> str:
        if isinstance(v, torch.Tensor):
            name = str(v.dtype).partition(".")[2]
            return _array(SHORT.get(name, name), v.shape, v.stride())
        return " | ".join(shown(x) for x in v) if isinstance(v, (list, tuple)) else str(v)

    space: dict[str, Any] = {}
    exec(GIVEN, space)
    assert [(text, shown(eval(text, space))) for text, _ in ROWS] == [tuple(row) for row in ROWS]


def test_element_types_of_torch_are_not_those_of_the_dsl(tmp_path: Path) -> None:
    found = variables(tmp_path, """
    import cutlass, torch
    import cutlass.torch as cutlass_torch
    from cutlass.cute.runtime import from_dlpack

    def by_any_name(kind):
        if isinstance(kind, torch.dtype):
            kind = str(kind).split(".")[-1]
        return {"float16": cutlass.Float16, "bfloat16": cutlass.BFloat16}[kind]

    same = torch.float16 == cutlass.Float16
    a, b = by_any_name("float16"), by_any_name(torch.bfloat16)
    x = from_dlpack(torch.empty(4, 8, dtype=torch.half))
    made = x.element_type is a
    back = cutlass_torch.dtype(cutlass.TFloat32)
    named = f"{cutlass.Float8E4M3FN} {(cutlass.Int8,)}"
    """)  # fmt: skip
    assert found["same"] is False and found["made"] is True
    assert (found["a"], found["b"]) == (
        ScalarType(DType("half_t", Bits(16))),
        ScalarType(DType("bfloat16_t", Bits(16))),
    )
    assert found["back"] == TorchType(DType("float", Bits(32)))
    assert found["named"] == "Float8E4M3FN (<class 'cutlass.base_dsl.typing.Int8'>,)"  # as 4.8.1 writes them


def test_extents_that_are_not_known_are_kept(tmp_path: Path) -> None:
    found = variables(tmp_path, """
    import random, torch
    n = random.randint(1, 4)
    x = torch.empty(n, 96, 128)
    flat = x.view(-1, 128)
    heads = x.reshape(n, 96, 8, 16)
    part = x[..., :64].reshape(n, -1)
    mixed = x.transpose(0, 1).float()
    taken = x[:, torch.arange(5)]
    masked = x[x > 0]
    filled = torch.empty(3, 4).fill_(1)
    turned = torch.empty(3, 4).t_()
    kind = x.__class__
    refused = torch.empty(3, 4) @ torch.empty(3, 4)
    """)  # fmt: skip
    assert found["filled"].shape == (3, 4)
    assert not isinstance(found["turned"], HostTensor) and isinstance(found["kind"], Extern)
    n = found["x"].shape[0]
    assert isinstance(n, Sym)
    assert found["flat"].shape[1] == 128 and str(found["flat"].shape[0]) == str(n * 96)
    assert found["heads"].shape == (n, 96, 8, 16) and found["heads"].strides == (96 * 128, 128, 16, 1)
    assert found["part"].shape == (n, 96 * 64) and found["part"].strides == (96 * 64, 1)  # a copy
    assert found["mixed"].strides == (128, 96 * 128, 1)
    assert found["taken"].shape == (n, 5, 128)
    assert len(found["masked"].shape) == 1 and not isinstance(found["masked"].shape[0], int)
    assert isinstance(found["refused"], Unknown) and found["refused"].rejected


def test_modules_have_their_parameters_and_call_forward(tmp_path: Path) -> None:
    found = variables(tmp_path, """
    import torch
    from torch import nn
    import torch.nn.functional as F

    class Scaled(nn.Linear):
        def __init__(self, n, m, **kw):
            super().__init__(n, m, bias=False, **kw)
            self.register_buffer("scale", torch.ones(m, dtype=torch.int32))

        def forward(self, x):
            return F.silu(F.linear(x, self.weight)) * self.scale

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.up = Scaled(16, 64, device="cuda")
            self.layers = nn.ModuleList([nn.Linear(64, 64) for _ in range(3)])
            self.head = nn.Sequential(nn.LayerNorm(64), nn.Linear(64, 7))
            self.table = nn.Parameter(torch.empty(5, 6))

        def forward(self, x):
            x = self.up(x)
            for layer in self.layers:
                x = layer(x)
            return self.head(x)

    net = Net().cuda().to(torch.bfloat16).eval()
    with torch.no_grad():
        y = net(torch.empty(2, 3, 16, dtype=torch.bfloat16))
    up, scale, table, head = net.up.weight, net.up.scale, net.table, net.head[1].bias
    names = [name for name, _ in net.named_parameters() if "layers" in name]
    """)  # fmt: skip
    assert [_shown(found[name]) for name in ("y", "up", "scale", "table", "head")] == [
        "bf16 2,3,7:21,7,1", "bf16 64,16:16,1", "i32 64:1", "bf16 5,6:6,1", "bf16 7:1",
    ]  # fmt: skip
    assert found["names"][:2] == ["layers.0.weight", "layers.0.bias"] and len(found["names"]) == 6


def test_bytes_of_elements_and_parts_of_pairs(tmp_path: Path) -> None:
    text = """
    import torch
    import cutlass.cute as cute

    packed = torch.empty(64, 32, dtype=torch.float4_e2m1fn_x2)
    wide = torch.ones(3, dtype=torch.complex64)
    best = torch.topk(torch.ones(4, 16), 2)
    cute.make_layout((packed.element_size(), packed.itemsize + 1, wide.element_size()))
    cute.make_layout((*best.values.shape, *best.indices.shape))
    """
    made = driver(tmp_path, text)
    assert {str(s.result).partition(":")[0] for s in sites(made)} == {"(1,2,8)", "(4,2,4,2)"}
