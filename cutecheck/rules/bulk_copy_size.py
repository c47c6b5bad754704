"""CUT801 bulk-copy-odd-size."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cutecheck.facts import Site
from cutecheck.findings import Finding
from cutecheck.model import expr as ex
from cutecheck.model.algebra import size
from cutecheck.model.ints import Condition, Rel, as_expr, known_value
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Holds
from cutecheck.model.tiled import TiledCopy
from cutecheck.rules.base import Context
from cutecheck.rules.derive.accesses import atom_of
from cutecheck.rules.derive.tiles import usable
from cutecheck.rules.rejected import Rejected


class BulkCopySize(Rejected):
    """A bulk copy whose size is not a multiple of 16 bytes.

    What it checks
        The size of every ``cp.async.bulk`` atom is a whole number of 16 bytes.

    Why
        The instruction moves 16-byte units only.

    Example
        Copy_Atom<Copy_Traits<SM90_BULK_COPY_G2S, Int<20 * 16>>, half_t>

    Use instead
        Copy_Atom<Copy_Traits<SM90_BULK_COPY_G2S, Int<24 * 16>>, half_t>

    Assumptions
        None.

    Fix
        Round the number of elements up to 16 bytes.

    References
        PTX ISA, cp.async.bulk; cute/atom/copy_traits_sm90_tma.hpp
    """

    code = "CUT801"
    name = "bulk-copy-odd-size"
    family = "tma-limits"
    unasked = "No public tree has a bulk copy (``SM90_BULK_COPY``) whose size is known."
    pattern = re.compile(r"Bulk Copy requires|align to 16B")
    advice = "round the size up to a multiple of 16 bytes"
    valid = (
        """
        using Elem = half_t;
        using Bulk = Copy_Atom<Copy_Traits<SM90_BULK_COPY_G2S, Int<24 * sizeof_bits_v<Elem>>>, Elem>;
        static constexpr int kElems = Bulk::NumValSrc;
        """,
    )
    invalid = (
        """
        using Elem = half_t;
        using Bulk = Copy_Atom<Copy_Traits<SM90_BULK_COPY_G2S, Int<20 * sizeof_bits_v<Elem>>>, Elem>;
        static constexpr int kElems = Bulk::NumValSrc;
        """,
    )

    def explain(self, gist: str) -> str:
        found = re.search(r"SM90_BULK_COPY\w*, (\d+)$", gist)
        return f"{found[1]} bits: {int(found[1]) // 8} % 16 = {int(found[1]) // 8 % 16} bytes" if found else ""

    def on_site(self, site: Site, context: Context) -> Iterable[Finding]:
        yield from super().on_site(site, context)
        atom = atom_of(site.value)
        if not usable(site) or isinstance(site.value, TiledCopy) or atom is None or not context.leads(site):
            return
        if not atom.op.startswith("SM90_BULK_COPY") or "AUTO" in atom.op:
            return
        bits = size(atom.src_bits, 1)
        condition = Condition(Rel.DIVIDES, ex.const(128), as_expr(bits))
        hypotheses = [h.condition for h in site.hypotheses]
        outcome = context.prove(
            make_obligation(Holds((condition,), "size of the bulk copy"), (site.site_id,), hypotheses=hypotheses,
                            arch=site.arch, span=site.span)
        )  # fmt: skip
        total = known_value(bits)
        if outcome.verdict is Verdict.REFUTED and total is not None:
            yield self.finding(
                site.span,
                f"{atom.op} of {total // 8} bytes: a bulk copy moves whole units of 16 bytes",
                label=f"{total // 8} % 16 = {total // 8 % 16}",
                help=self.advice,
                arch=site.arch,
            )
