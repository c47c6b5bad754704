"""``torch.distributed._symmetric_memory``: tensors that several GPUs share, as far as their shapes and types go.

Read by the evaluator in the place of PyTorch's own source, and never imported.
"""

import torch


def empty(*size, dtype=torch.float32, device=None, **kwargs):
    return torch.empty(*size, dtype=dtype, device=device)


class _Handle:
    def get_buffer(self, rank, sizes, dtype, storage_offset=0):
        return torch.empty(tuple(sizes), dtype=dtype, device="cuda")

    get_remote_tensor = get_buffer


def rendezvous(tensor, group=None):
    return _Handle()
