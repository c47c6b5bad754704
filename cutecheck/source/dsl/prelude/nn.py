"""The modules of ``torch.nn`` as far as kernels are configured by them: parameters, submodules, calls of ``forward``.

Read by the evaluator in the place of torch's own source, and never imported.
"""

import torch


def Parameter(data=None, requires_grad=True):  # noqa: N802
    return data


class Module:
    training = True

    def __init__(self, *args, **kwargs):
        pass

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def register_buffer(self, name, tensor, persistent=True):
        setattr(self, name, tensor)

    def register_parameter(self, name, param):
        setattr(self, name, param)

    def add_module(self, name, module):
        setattr(self, name, module)

    register_module = add_module

    def _apply(self, fn):
        for name, value in list(vars(self).items()):
            if isinstance(value, Module):
                value._apply(fn)
            elif isinstance(value, torch.Tensor):
                setattr(self, name, fn(value))
        return self

    def to(self, *args, **kwargs):
        return self._apply(lambda t: t.to(*args, **kwargs) if t.is_floating_point() else t)

    def half(self):
        return self.to(torch.float16)

    def bfloat16(self):
        return self.to(torch.bfloat16)

    def float(self):
        return self.to(torch.float32)

    def _same(self, *args, **kwargs):
        return self

    cuda = cpu = eval = train = requires_grad_ = compile = _same

    def parameters(self, recurse=True):
        return [v for _, v in self.named_parameters()]

    def named_parameters(self, prefix="", recurse=True):
        found = []
        for name, value in vars(self).items():
            if isinstance(value, Module):
                found += value.named_parameters(f"{prefix}{name}.")
            elif isinstance(value, torch.Tensor):
                found.append((f"{prefix}{name}", value))
        return found

    def state_dict(self):
        return dict(self.named_parameters())

    def load_state_dict(self, given, strict=True):
        pass

    def zero_grad(self, set_to_none=True):
        pass

    def extra_repr(self):
        return ""


class Linear(Module):
    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        self.in_features = in_features
        self.out_features = out_features
        self.weight = torch.empty(out_features, in_features, dtype=dtype or torch.float32)
        self.bias = torch.empty(out_features, dtype=dtype or torch.float32) if bias else None

    def forward(self, input):
        return torch.nn.functional.linear(input, self.weight, self.bias)


class Embedding(Module):
    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, device=None, dtype=None):
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.weight = torch.empty(num_embeddings, embedding_dim, dtype=dtype or torch.float32)

    def forward(self, input):
        return self.weight.new_empty(*input.shape, self.embedding_dim)


class LayerNorm(Module):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape = shape
        self.eps = eps
        self.weight = torch.empty(shape, dtype=dtype or torch.float32) if elementwise_affine else None
        self.bias = torch.empty(shape, dtype=dtype or torch.float32) if elementwise_affine and bias else None

    def forward(self, input):
        return torch.empty_like(input)


class RMSNorm(LayerNorm):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__(normalized_shape, eps, elementwise_affine, False, device, dtype)


class ModuleList(Module):
    def __init__(self, modules=()):
        self.held = list(modules)

    def __iter__(self):
        return iter(self.held)

    def __len__(self):
        return len(self.held)

    def __getitem__(self, index):
        return self.held[index]

    def append(self, module):
        self.held.append(module)
        return self

    def _apply(self, fn):
        for module in self.held:
            module._apply(fn)
        return self

    def named_parameters(self, prefix="", recurse=True):
        found = []
        for i, module in enumerate(self.held):
            found += module.named_parameters(f"{prefix}{i}.")
        return found


class Sequential(ModuleList):
    def __init__(self, *modules):
        self.held = list(modules)

    def forward(self, input):
        for module in self.held:
            input = module(input)
        return input


class _Elementwise(Module):
    def forward(self, input):
        return torch.empty_like(input)


class Identity(Module):
    def forward(self, input):
        return input


class ReLU(_Elementwise):
    pass


class SiLU(_Elementwise):
    pass


class GELU(_Elementwise):
    pass


class Sigmoid(_Elementwise):
    pass


class Tanh(_Elementwise):
    pass


class Softmax(_Elementwise):
    pass


class Dropout(_Elementwise):
    pass
