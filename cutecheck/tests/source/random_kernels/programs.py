"""Random programs: integers, objects with state, references, pointers, lambdas, helpers, tensors; loops and branches.

Every program ends, does not read what was never written, and shows integers and tensors by ``seen(Int<N>{}, tensor)``:
where the tensor starts in ``s`` and its layout. What a program shows is the same for a compiler and for cutecheck.
"""

# fmt: off
from __future__ import annotations

from cutecheck.tests.source.random_kernels.flow import FlowStatements
from cutecheck.tests.source.random_kernels.indirect import IndirectStatements
from cutecheck.tests.source.random_kernels.library import TYPES
from cutecheck.tests.source.random_kernels.missing import ARRAYS, MissingStatements
from cutecheck.tests.source.random_kernels.objects import ObjectStatements
from cutecheck.tests.source.random_kernels.rare import RareStatements
from cutecheck.tests.source.random_kernels.variables import VariableStatements


class Program(
    ObjectStatements, VariableStatements, FlowStatements, RareStatements, IndirectStatements, MissingStatements
):
    """One random program: the text of its namespace. ``features`` limits it to some kinds of statements."""

    def __init__(self, seed: int, features: frozenset[str] | None = None, size: int = 9) -> None:
        super().__init__(seed, features)
        self.emit("int x = 0; int y = 8; int const tid = threadIdx.x;")
        self.statements(size)
        for name in ("x", "y"):
            self.show(name)
        self.kernel = "\n".join(self.lines)

    def text(self) -> str:
        return (
            f"namespace p{self.seed} {{\n{TYPES}{ARRAYS}\nint global_count = 4;\n"
            "__global__ void k(int n, int m) {\n  alignas(128) __shared__ half_t s[65536];\n  START\n"
            "  auto S = make_tensor(make_smem_ptr(s), make_layout(make_shape(Int<8>{}, Int<4>{})));\n"
            f"{self.kernel}\n}}\n}}\n"
        )
