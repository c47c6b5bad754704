"""CUT225 element-past-the-end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from cutecheck.facts import Call, TensorFact, Unknown
from cutecheck.facts.core import PAST_REGISTERS
from cutecheck.findings import Finding, Related
from cutecheck.rules.base import Context, Rule

_EXAMPLE = """
        __global__ void __launch_bounds__(32) unpack(uint32_t const* W, float* out) {
          Tensor words = make_tensor<uint32_t>(Shape<_8>{});
          copy(make_tensor(make_gmem_ptr(W + 8 * threadIdx.x), Layout<_8>{}), words);
          float sum = 0.f;
          for (int k = 0; k < 4; ++k) {
            for (int n = 0; n < 2; ++n) sum += float(words(%s * k + n) & 15);
          }
          out[threadIdx.x] = sum;
        }
        """


class ElementPastEnd(Rule):
    """An element of a tensor in registers is read or stored that the tensor does not have.

    What it checks
        Of single elements of tensors that own their registers: the greatest index, over all passes of the loops around,
        is less than the number of elements. Only where the loops make all their passes, and no condition in them may
        leave one out.

    Why
        CuTe checks no index. Behind the end of a fragment lie other registers, or local memory of other variables: what
        is read there is garbage, and what is stored is lost, or changes another value.

    Example
        words(4 * k + n)   // k < 4, n < 2, and 8 words

    Use instead
        words(2 * k + n)

    Assumptions
        None.

    Fix
        Index by the layout that the fragment has, or make it as large as what is stored there.

    References
        cute/tensor_impl.hpp (operator())
    """

    code = "CUT225"
    name = "element-past-the-end"
    family = "coverage"
    severity = "error"
    confidence = "proved"
    unasked = "None: it evaluates one index in every pass."
    valid = (_EXAMPLE % "2",)
    invalid = (_EXAMPLE % "4",)

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        if not isinstance(call.result, Unknown) or call.result.reason != PAST_REGISTERS:
            return
        numbers = dict(call.keywords)
        last, many = cast(int, numbers["last"]), cast(int, numbers["elements"])
        tensor = cast("TensorFact", call.arguments[0])
        yield self.finding(
            call.span,
            f"element {last} is accessed in registers that have {many} elements, in some pass of the loops around",
            label=f"{many} elements, the last is {many - 1}",
            help="index by the layout of the fragment, or make it as large as what lies there",
            related=[Related(tensor.span, f"part of {tensor.layout}")],
            enclosing=call.enclosing,
            arch=call.arch,
        )
