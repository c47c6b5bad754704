"""What a declared type says of writing: references and constants."""

from __future__ import annotations

from cutecheck.source.eval import ir


def is_reference(t: ir.Expr | None) -> bool:
    return isinstance(t, ir.TypeMod) and t.kind in ("ref", "rref")


def refers(t: ir.Expr | None) -> bool:
    """The type of a variable that stands for another: ``T&``, ``auto const&``, ``auto&&``."""
    while isinstance(t, ir.TypeMod) and t.kind in ("const", "volatile"):
        t = t.inner
    return is_reference(t)


def constant(t: ir.Expr | None) -> bool:
    """A type with ``const`` in it."""
    return isinstance(t, ir.TypeMod) and (t.kind == "const" or constant(t.inner))


def settled(t: ir.Expr | None) -> bool:
    """What has this type is not written by its name: a constant, or a reference to one."""
    if isinstance(t, ir.TypeMod) and t.kind in ("ref", "rref"):
        t = t.inner
        while isinstance(t, ir.TypeMod) and t.kind == "array":
            t = t.inner
    return isinstance(t, ir.TypeMod) and t.kind == "const"


def never_written(decl: ir.Variable) -> bool:
    """A constant, or an array of them."""
    t = decl.type
    while isinstance(t, ir.TypeMod) and t.kind == "array":
        t = t.inner
    if "constexpr" in decl.flags or (isinstance(t, ir.TypeMod) and t.kind == "const"):
        return True
    return "const" in decl.flags and not (isinstance(t, ir.TypeMod) and t.kind in ("ptr", "ref", "rref"))


def is_auto(t: ir.Expr) -> bool:
    """True for ``auto`` with any of const, reference and pointer around it."""
    while isinstance(t, ir.TypeMod) and t.kind in ("const", "volatile", "ref", "rref", "ptr"):
        t = t.inner
    return isinstance(t, ir.Auto)
