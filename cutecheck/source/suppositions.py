"""Calls that nothing in the tree makes: supposed where a library of the DSL is checked without what calls it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cutecheck.facts import Span, SupposedCall
from cutecheck.records import record
from cutecheck.source.collect import Collected, absorb
from cutecheck.source.project import most_left
from cutecheck.source.request import ExtractRequest
from cutecheck.source.scripts import forget_unbound, recalled_suppositions
from cutecheck.timing import phase

BINDING = "supposed"  # of sites: the call that is supposed
_SHOWN = 8  # of what is given up
TAG = "<supposed "  # in the names of functions that are walked for one


@record(frozen=True, slots=True)
class Supposed:
    """``calls``: what was supposed; ``note``: what a run says of it; ``left``: what of that which no call suits."""

    calls: tuple[SupposedCall, ...] = ()
    note: str = ""
    left: str = ""


def suppose(
    scripts: Mapping[str, Path], cute: Sequence[str], request: ExtractRequest, about: str, out: Collected
) -> Supposed:
    """Call what nothing calls as a driver might: in files that launch no kernel, of a tree most of whose configurations
    nothing binds. Facts of ``out`` gain what that comes to.
    """
    if not request.suppose or request.changed is not None or not _are_folders(request.paths):
        return Supposed()
    files = _uncalled(out, cute)
    if not files:
        return Supposed()
    with phase("  of this: suppositions"):
        part = recalled_suppositions(scripts, files, cute, request, about, frozenset(out.walked))
    calls = tuple(part.supposed[tag] for tag in sorted(part.supposed))
    left = _left(part)
    if not calls:
        return Supposed(left=left)
    before = _resolved(out)
    absorb(_alone(part), out)
    forget_unbound(out)
    more = len(_resolved(out) - before)
    others = f" and {len(calls) - 1} more" if len(calls) > 1 else ""
    what = "1 configuration is" if more == 1 else f"{more} configurations are"
    note = (
        f"{what} known under supposed calls alone, which nothing here makes: `{calls[0].text}`{others} "
        "(`suppose = false` or `--no-suppose` leaves them out)"
    )
    return Supposed(calls, note, left)


def _left(part: Collected) -> str:
    """What stays unbound since no call of it could be supposed, with the reason of each."""
    names = [n for n in part.given_up if f"supposed {n}" not in part.supposed]
    if not names:
        return ""
    shown = "; ".join(f"`{n}`: {part.given_up[n]}" for n in names[:_SHOWN])
    others = f"; and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"no call could be supposed of {shown}{others} (`--instantiate '{names[0]}(...)'` binds one)"


def _are_folders(paths: Sequence[Path]) -> bool:
    """Whether folders are named, and besides them files in these at most."""
    folders = {p.resolve() for p in paths if p.is_dir()}
    return bool(folders) and all(p.is_dir() or not folders.isdisjoint(p.resolve().parents) for p in paths)


def _uncalled(out: Collected, cute: Sequence[str]) -> list[str]:
    """The files that launch no kernel, where most configurations are bound by nothing."""
    if not most_left(out):
        return []
    launched = {x.span.path for x in out.launches.values() if not x.unbound and x.origin == "launch"}
    return [path for path in cute if path.endswith(".py") and path not in launched]


def _resolved(out: Collected) -> set[Span]:
    return {s.span for s in out.sites.values() if s.status in ("resolved", "symbolic") and s.span.is_python}


def _alone(part: Collected) -> Collected:
    """What the calls that are supposed came to, without what their modules do of themselves."""
    kept = Collected()
    kept.sites = {
        k: s
        for k, s in part.sites.items()
        if s.status in ("resolved", "symbolic") and any(name == BINDING for name, _ in s.bindings)
    }
    kept.events = {k: e for k, e in part.events.items() if TAG in e.enclosing}
    kept.buffers = {k: b for k, b in part.buffers.items() if TAG in b.buffer_id}
    kept.launches = {k: x for k, x in part.launches.items() if TAG in x.kernel}
    kept.predicates = {k: p for k, p in part.predicates.items() if TAG in p.enclosing}
    kept.facts = {k: c for k, c in part.facts.items() if TAG in c.enclosing}
    kept.defined = {n: path for n, path in part.defined.items() if TAG in n}
    kept.clock = part.clock
    return replace(kept)


__all__ = ["BINDING", "TAG", "Supposed", "suppose"]
