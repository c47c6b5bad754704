"""The methods of a class that lead to kernel launches: where its kernels can be reached without its users' host code.

A device-wide operator (CUTLASS's ``GemmUniversalAdapter`` and what projects write like it) is a class that launches a
kernel from a method. What a test or an application does before it calls that method is often long, and says nothing of
CuTe. Which methods lead to a launch is told by their text: they spell one, or the name of another such method.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from cutecheck.source.bystanders import parts_of
from cutecheck.source.eval import ir
from cutecheck.source.eval.machine import Leading
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.values import Value
from cutecheck.source.relevance import Relevance, Words

_LAUNCHES = frozenset({
    "kernel_launch", "launch_kernel_on_cluster", "cudaLaunchKernel", "cudaLaunchKernelEx", "cudaLaunchKernelExC",
    "cudaLaunchCooperativeKernel",
})  # fmt: skip
_HANDED_ON = {"device_kernel", "launch"}  # a kernel as an argument, which what sets its attributes gets as well
_NO_HOST = frozenset({"device", "kernel", "deleted", "defaulted"})


@dataclass(frozen=True, slots=True)
class Entrances:
    """Those of the classes of one translation unit."""

    words: Words
    relevance: Relevance
    _known: dict[int, tuple[Leading, ir.Class]] = field(default_factory=dict)  # with what must stay alive

    def of(self, inst: ClassInst) -> Leading:
        """The methods of a class; none where nothing that the class is made of is of CuTe."""
        found = self._known.get(id(inst.decl))
        if found is None:
            found = self._known[id(inst.decl)] = self._leading(inst), inst.decl
        return found[0] if found[0].launching and self._matters((inst,)) else Leading()

    def _matters(self, values: Iterable[Value]) -> bool:
        return any(part is None or self.relevance.matters(*part) for part in parts_of(values))

    def _leading(self, inst: ClassInst) -> Leading:
        """``first`` are those that no other of them names, with most parameters first.

        Overloads of one name stand together: which of them calls which the text does not say.
        """
        methods = [
            f
            for f in inst.methods()
            if f.body is not None and not f.tparams and not f.flags & _NO_HOST and f.name != inst.decl.name
        ]
        path = {id(f): inst.entry_of(f).unit.path for f in methods}
        spelt = {id(f): self.words.spelled(f, path[id(f)])[0] for f in methods}
        launching = [
            f
            for f in methods
            if spelt[id(f)] & _LAUNCHES or spelt[id(f)] >= _HANDED_ON or self.words.launches(f, path[id(f)])
        ]
        leading = {f.name for f in launching}
        while more := {f.name for f in methods if f.name not in leading and spelt[id(f)] & leading}:
            leading |= more
        inner = {name for f in methods if f.name in leading for name in spelt[id(f)] & leading if name != f.name}
        first = [f for f in methods if f.name in leading and f.name not in inner]
        return Leading(tuple(sorted(first, key=lambda f: -len(f.params))), tuple(launching))
