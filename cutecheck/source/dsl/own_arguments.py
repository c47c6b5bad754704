"""``sys.argv`` of a program that is started without arguments, as those of ``argparse`` have their defaults.

``int(sys.argv[1]) if len(sys.argv) > 1 else 4096`` is 4096, ``sys.argv[1:] or ["all"]`` is ``["all"]``. Where a program
gives up without arguments (``if len(sys.argv) < 2: usage(); return``) their number is not known: it would show nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.source.eval import ir

if TYPE_CHECKING:
    from tree_sitter import Node

    from cutecheck.source.dsl.source import Source

ARGV, ENVIRON = "sys.argv", "os.environ"
_LEAVES = ("return", "raise", "sys.exit", "exit(", "quit(", "os._exit", "usage", "print_help", "parser.error")


def sliced(s: Source, node: Node, value: Node) -> ir.Expr | None:
    """``sys.argv[1:]``: no argument is there."""
    part = node.child_by_field_name("subscript")
    if part is None or part.type != "slice" or s.text(value) != ARGV:
        return None
    first = part.children[0] if part.children else None
    if first is None or first.type != "integer" or s.text(first) == "0":
        return None
    return ir.Sequence_("list", (), s.span(node))


def counted(s: Source, node: Node) -> ir.Expr | None:
    """``len(sys.argv)``: the program's name alone."""
    given = node.child_by_field_name("arguments")
    if given is None or s.text(given) != f"({ARGV})" or s.text(node) != f"len({ARGV})" or _gives_up(s, node):
        return None
    return ir.Lit(1, "py", s.span(node))


def searched(s: Source, op: str, node: Node) -> ir.Expr | None:
    """``"--check" in sys.argv``; of ``os.environ`` nothing is known where the program gives up without a variable."""
    if op in ("in", "not in") and s.text(node) == ENVIRON and _gives_up(s, node):
        return ir.Opaque("the variables that the program is started with", s.span(node))
    if op not in ("in", "not in") or s.text(node) not in (ARGV, f"{ARGV}[1:]") or _gives_up(s, node):
        return None
    return ir.Sequence_("list", (), s.span(node))


def _gives_up(s: Source, node: Node) -> bool:
    """Whether the statement that asks leaves the program in one of its branches, or asserts."""
    at: Node | None = node
    while at is not None and not at.type.endswith("_statement"):
        at = at.parent
    if at is None or at.type == "assert_statement":
        return at is not None
    if at.type != "if_statement":
        return False
    branches = [c for c in at.children if c.type in ("block", "elif_clause", "else_clause")]
    return any(word in s.text(b) for b in branches for word in _LEAVES)
