"""CUT901 comma-drops-coordinate."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Lint
from cutecheck.findings import Finding
from cutecheck.rules.base import Context, Rule


class CommaCoordinate(Rule):
    """A coordinate written as a parenthesised comma expression keeps only its last part.

    What it checks
        The coordinate arguments of ``local_tile``, ``slice``, ``dice``, ``local_partition`` and tensor calls: a plain
        ``(a, b)`` there is C++'s comma operator, not a coordinate.

    Why
        ``(0, _)`` evaluates to ``_``. The code compiles, every index but the last is thrown away, and the result
        has one mode more than intended, so whole rows of tiles are read or written that nobody asked for.

    Example
        local_tile(mA, Shape<_16, _64>{}, (0, _))

    Use instead
        local_tile(mA, Shape<_16, _64>{}, make_coord(0, _))

    Assumptions
        None: the finding follows from the syntax alone.

    Fix
        Write ``make_coord`` before the parenthesis.

    References
        cute/tensor_impl.hpp (local_tile); https://github.com/NVIDIA/cutlass/issues/1876
    """

    code = "CUT901"
    name = "comma-drops-coordinate"
    family = "lint"
    severity = "warning"
    confidence = "proved"
    unasked = "None: it is about how the code is written."
    valid = (
        """
        #include <cute/tensor.hpp>
        using namespace cute;
        inline auto tiles(half_t* A) {
          Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(_64{}, _256{}), make_stride(_256{}, _1{}));
          return local_tile(mA, Shape<_16, _64>{}, make_coord(0, _));
        }
        """,
    )
    invalid = (
        """
        #include <cute/tensor.hpp>
        using namespace cute;
        inline auto tiles(half_t* A) {
          Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(_64{}, _256{}), make_stride(_256{}, _1{}));
          return local_tile(mA, Shape<_16, _64>{}, (0, _));
        }
        """,
    )

    def on_lint(self, lint: Lint, context: Context) -> Iterable[Finding]:
        if lint.kind != "comma-drops-coordinate":
            return
        kept = lint.text.strip("()").rsplit(",", 1)[-1].strip()
        yield self.finding(
            lint.span,
            f"`{lint.text}` is a comma expression: only `{kept}` reaches the call, the rest is discarded",
            label=f"evaluates to `{kept}`",
            help=f"write `make_coord{lint.text}`",
        )
