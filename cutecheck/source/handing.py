"""Files that hand on: whose functions call functions of other files, and whose instantiations name templates of others.

Libraries split the instantiations of a kernel over many such files. Whatever these calls come to stands elsewhere, so a
run that reports no more than such a file has nothing to say of it, and need not follow them to know.
"""

from __future__ import annotations

from dataclasses import fields

from cutecheck.facts.span import Span
from cutecheck.source.eval import ir
from cutecheck.source.vocabulary import NAMES

_PLAIN = (
    ir.Namespace, ir.Using, ir.Instantiate, ir.Function, ir.TParam, ir.Param, ir.Block, ir.ExprStmt, ir.Return, ir.Call,
    ir.Arg, ir.Name, ir.Scoped, ir.Lit, ir.TypeMod, ir.Auto,
)  # fmt: skip
_THREADS = frozenset({"kernel", "device"})


def hands_on(unit: ir.Unit) -> bool:
    """True only where the evaluation of a file leaves no fact whose place is in it, and no launch."""
    return not unit.calls and _plain(unit.decls, frozenset())


def _plain(node: object, given: frozenset[str]) -> bool:
    """Nothing but names, literals and calls of functions by names that are not CuTe's.

    ``given``: the parameters of the function around, which may be tensors or closures: what calls them is not plain.
    """
    if isinstance(node, tuple):
        return all(_plain(part, given) for part in node)
    if isinstance(node, ir.Lazy):
        return _plain(node.get(), given)
    if node is None or isinstance(node, (str, int, float, frozenset, Span)):
        return True
    if not isinstance(node, _PLAIN):
        return False
    if isinstance(node, (ir.Name, ir.Scoped)) and node.ident in NAMES:
        return False
    if isinstance(node, ir.Call) and not (
        node.launch is None
        and (isinstance(node.fn, ir.Scoped) or (isinstance(node.fn, ir.Name) and node.fn.ident not in given))
    ):
        return False
    if isinstance(node, ir.Function):
        if node.flags & _THREADS:
            return False
        given = frozenset([p.name for p in node.params] + [p.name for p in node.tparams or ()])
    return all(_plain(getattr(node, f.name), given) for f in fields(node))


__all__ = ["hands_on"]
