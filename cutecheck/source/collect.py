"""Facts of one evaluation, and how those of many become the facts of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from cutecheck.facts import (
    Call,
    Event,
    Launch,
    Lint,
    Loop,
    Predicate,
    Site,
    SmemBuffer,
    SourceError,
    Span,
    SupposedCall,
    Unknown,
)
from cutecheck.facts.replayed import Replay
from cutecheck.source.eval import ir
from cutecheck.source.eval.program import is_cute_header
from cutecheck.source.eval.record import Recorder
from cutecheck.source.eval.record.kinds import kind_by_name
from cutecheck.source.eval.record.library import of_kernels
from cutecheck.source.eval.record.variants import of_both
from cutecheck.source.namesakes import Renaming, aside

MAX_SYNTAX_ERRORS = 1  # lines of a file that says it cannot be read; the first tells where to look


@dataclass(slots=True)
class Collected:
    """Facts by what makes them the same one: of a translation unit, or of a whole run."""

    sites: dict[tuple[object, ...], Site] = field(default_factory=dict)
    events: dict[str, Event] = field(default_factory=dict)
    buffers: dict[tuple[str, str], SmemBuffer] = field(default_factory=dict)
    launches: dict[tuple[object, ...], Launch] = field(default_factory=dict)
    lints: dict[Span, Lint] = field(default_factory=dict)
    predicates: dict[tuple[object, ...], Predicate] = field(default_factory=dict)
    facts: dict[tuple[object, ...], Call] = field(default_factory=dict)
    errors: dict[tuple[str, str], SourceError] = field(default_factory=dict)
    calls: dict[str, tuple[tuple[Span, str], ...]] = field(default_factory=dict)
    inactive: set[Span] = field(default_factory=set)
    active: set[Span] = field(default_factory=set)
    reached: dict[tuple[str, str], dict[Span, Unknown | None]] = field(default_factory=dict)
    reached_open: set[Span] = field(default_factory=set)
    open_kernels: dict[Span, str] = field(default_factory=dict)
    wishes: dict[tuple[str, str], tuple[Span, str]] = field(default_factory=dict)  # by hand; why nothing comes of them
    walked: set[Span] = field(default_factory=set)
    cut: dict[Span, str] = field(default_factory=dict)  # functions that a limit left in the middle
    dropped: dict[str, int] = field(default_factory=dict)
    unrun: dict[str, int] = field(default_factory=dict)  # of scripts whose steps ran out: tests and functions left out
    importers: set[str] = field(default_factory=set)  # scripts that import what changed and were not run
    steps: int = 0  # that the script took
    beside: dict[str, set[Span]] = field(default_factory=dict)  # sites and copies in headers that are not reported
    internals: list[tuple[str, Span | None, str]] = field(default_factory=list)
    defined: dict[str, str] = field(default_factory=dict)  # functions that were walked, with their files
    configured: dict[str, tuple[str, str]] = field(default_factory=dict)  # kernels: without configuration, its digest
    configurations: dict[tuple[str, str], list[str]] = field(default_factory=dict)  # by kernel and architecture
    bound: set[str] = field(default_factory=set)  # kernels that a script launches
    unbound: set[str] = field(default_factory=set)  # those that are looked at with arguments that nothing binds
    supposed: dict[str, SupposedCall] = field(default_factory=dict)  # by what names them in symbols
    given_up: dict[str, str] = field(default_factory=dict)  # what no call could be supposed of, and why
    clock: int = 0  # the last order given away: what one evaluation reached comes after all of the one before


def note_unit(unit: ir.Unit, out: Collected) -> None:
    """What a file says before anything is evaluated: its configuration calls, inactive ones, syntax errors."""
    for path in dict.fromkeys((unit.path, *(span.path for span, _ in unit.calls))):  # a notebook's cells, fragments
        # CuTe's own headers define what is configured, they configure nothing
        out.calls[path] = () if is_cute_header(path) else tuple(c for c in unit.calls if c[0].path == path)
    for note in unit.notes:
        if note.kind == "unread":
            out.errors.setdefault((note.span.path, f"{note.span}"), SourceError(note.span.path, note.text, note.span))
    inactive = {n.span for n in unit.notes if n.kind == "inactive"}
    out.active.update(span for span, _ in unit.calls if span not in inactive)
    out.inactive.update(inactive)
    # of Python, what Python itself refuses is said elsewhere: the grammar is behind the language
    broken = [n for n in unit.notes if n.kind == "error" and unit.language != "dsl"]
    for n in broken[:MAX_SYNTAX_ERRORS]:
        more = f" ({len(broken)} such places in this file)" if len(broken) > 1 else ""
        message = f"syntax that cannot be read here: {n.text}{more}; the rest of the file is read"
        out.errors.setdefault((unit.path, f"{n.span}"), SourceError(unit.path, message, n.span))


def collect(
    recorder: Recorder, reported: frozenset[str], out: Collected, beneath: frozenset[str] = frozenset()
) -> None:
    """What the evaluation of one program recorded, as far as it lies in reported files.

    What a kernel calls in a header ``beneath`` them, which names nothing of CuTe, is a step of it all the same.
    """
    steps = reported | beneath
    for at in (*(s.span for s in recorder.sites.values()), *(e.span for e in recorder.events.values())):
        if at.path not in reported and not is_cute_header(at.path):
            out.beside.setdefault(at.path, set()).add(at)
    for key, site in recorder.sites.items():
        if site.span.path not in reported:
            continue
        full = (*key, site.arch)
        old = out.sites.get(full)
        if old is None or _better(site, old):
            out.sites[full] = site
    for event in recorder.events.values():
        if event.span.path in reported:
            _add_event(event, out)
    for b in recorder.buffer_facts():
        _keep(b, out.buffers)
    for s in recorder.launches.values():
        _add_launch(s, out)
    out.lints.update({s: lint for s, lint in recorder.lints.items() if s.path in reported})
    for key, predicate in recorder.predicates.items():
        if predicate.span.path in reported:
            out.predicates.setdefault((*key, predicate.arch), predicate)
    handed = _handed(recorder, reported)
    for key, fact in recorder.calls.items():
        if fact.span.path in steps:
            _add_call((*key, fact.arch), fact, out)
        elif fact.subject in handed:
            _add_call((*key, fact.arch), _shown(fact, handed[fact.subject]), out)
        elif (own := _own_step(fact, reported)) is not None:
            _add_call((*key, fact.arch), replace(fact, span=own), out)
    _escaped(recorder, steps, out)
    out.clock += recorder.clock
    out.defined.update(recorder.defined)
    for place, values in recorder.reached.items():
        known = {at: v if isinstance(v, Unknown) else None for at, v in values.items()}
        out.reached.setdefault(place, {}).update(known)
    out.reached_open |= recorder.reached_open
    _wished(recorder.wishes, out)
    out.open_kernels.update({at: name for at, name in recorder.open_kernels.items() if at.path in reported})
    for span, why in recorder.unread.items():
        if span.path in reported and not is_cute_header(span.path):
            out.errors.setdefault((span.path, f"{span}"), SourceError(span.path, why, span))
    out.cut.update({span: why for span, why in recorder.cut.items() if span.path in reported})
    out.walked |= {span for span in recorder.walked if span.path in reported}
    out.internals.extend((name, at, repr(error)) for name, at, error in recorder.internals)


def _wished(wishes: Mapping[tuple[str, str], tuple[Span, str]], out: Collected) -> None:
    """What one unit says of the bindings given by hand; another may have what they name."""
    for key, told in wishes.items():
        if key not in out.wishes or out.wishes[key][1]:
            out.wishes[key] = told


def _launch(s: Launch) -> tuple[object, ...]:
    """What makes launches the same one."""
    of = f"{s.kernel} {'' if s.origin == 'attribute' else s.block_threads} {s.smem_bytes}"
    return (s.span, of, s.arch)


def _add_launch(s: Launch, out: Collected) -> None:
    old = out.launches.setdefault(_launch(s), s)
    kept = s if old.unbound and not s.unbound else old
    tried = old.tried and s.tried
    out.launches[_launch(s)] = kept if kept.tried == tried else replace(kept, tried=tried)


def bound_launches(out: Collected) -> list[Launch]:
    """Launches, but for those with arguments that nothing binds of kernels that are launched with others."""
    bound = {(s.kernel, s.arch) for s in out.launches.values() if not s.unbound}
    return [s for s in out.launches.values() if not s.unbound or (s.kernel, s.arch) not in bound]


def _own_step(fact: Call, reported: frozenset[str]) -> Span | None:
    """Where a kernel that was run pass by pass does something in a reported file: it may copy in another one first."""
    run = fact.arguments[0] if fact.function == "replay" and fact.arguments else None
    if not isinstance(run, Replay):
        return None
    every = (*run.steps, *run.tiles, *(s for t in run.threads for s in t.steps))
    return next((s.span for s in every if s.span.path in reported), None)


def _handed(recorder: Recorder, reported: frozenset[str]) -> dict[str, Span]:
    """Pipelines that a kernel of CUTLASS's own makes and hands to a collective of the program's, and what is seen of
    each in reported files: where it is first used, which says what of it is the program's.
    """
    made = {c.subject for c in recorder.calls.values() if c.function.endswith(".create") and of_kernels(c.span)}
    found: dict[str, Span] = {}
    for fact in recorder.calls.values():
        if fact.subject in made and fact.span.path in reported:
            found.setdefault(fact.subject, fact.span)
    loads = {e.signals: e.span for e in recorder.events.values() if e.signals in found and e.span.path in reported}
    return found | loads


def _shown(fact: Call, at: Span) -> Call:
    """A step in CUTLASS's kernel, as it is known: what is wrong with the pipeline is said where the program uses it.

    What holds the block back between its constructor and its first use is CUTLASS's, and right.
    """
    if not fact.function.endswith(".create"):
        return fact
    return replace(fact, span=at, keywords=tuple(k for k in fact.keywords if k[0] != "initialises"))


def _escaped(recorder: Recorder, reported: frozenset[str], out: Collected) -> None:
    """Pipelines that are made where it is reported, and used where it is not: not all of their steps are known."""
    lost = {e.signals for e in recorder.events.values() if e.signals and e.span.path not in reported}
    lost |= {c.subject for c in recorder.calls.values() if c.subject and c.span.path not in reported}
    for key, fact in list(recorder.calls.items()) if lost else ():
        if fact.function.startswith("mbarrier.") and fact.span.path not in reported:
            _add_call((*key, "escapes", fact.arch), replace(fact, function="mbarrier.escapes"), out)
        made = fact.function.startswith("make_") or fact.function.endswith(".create")
        if made and fact.subject in lost and fact.span.path in reported:
            _add_call((*key, "escapes", fact.arch), replace(fact, function="escapes"), out)


def _keep(buffer: SmemBuffer, into: dict[tuple[str, str], SmemBuffer]) -> None:
    """Two allocations of one name and of other sizes are one of a size that is not known.

    Of a kernel that something binds, what was seen of it with arguments that nothing binds does not count.
    """
    old = into.setdefault((buffer.buffer_id, buffer.arch), buffer)
    if old.unbound != buffer.unbound:
        into[buffer.buffer_id, buffer.arch] = buffer if old.unbound else old
    elif old is not buffer:
        into[buffer.buffer_id, buffer.arch] = replace(
            old,
            size_bytes=old.size_bytes if old.size_bytes == buffer.size_bytes else None,
            accesses=tuple(dict.fromkeys((*old.accesses, *buffer.accesses))),
            accesses_complete=old.accesses_complete and buffer.accesses_complete,
            escapes=tuple(dict.fromkeys((*old.escapes, *buffer.escapes))),
        )


def absorb(part: Collected, out: Collected, configures: str = "") -> None:
    """What one translation unit says, added to what those before it said.

    ``configures``: its path, where what it includes means what its own macros say. What other units made of that with
    other macros is of its own, too.
    """
    others = {n: path for n, path in part.defined.items() if out.defined.setdefault(n, path) != path}
    if configures:
        others.update(dict.fromkeys(_otherwise(part, out), configures))
    names = {n: f"{n} ({path})" for n, path in others.items()} | dict(_renumbered(part, out))
    left = _set_aside(part, out, names)
    named = Renaming(names | left)
    kept = named.but(left)  # the memory and launches of these are those of the kernel that is launched
    names |= left
    for place, own in part.sites.items():
        site = named.site(own) if configures or part.configured else own
        key = place if site is own else (*place, configures) if configures else named.key(place)
        old = out.sites.get(key)
        if old is None or _better(site, old):
            out.sites[key] = site
    for event in part.events.values():
        _add_event(named.event(event) if names else event, out)
    for key, call in part.facts.items():
        _add_call(named.key(key) if names else key, named.call(call) if names else call, out)
    out.clock += part.clock
    for b in part.buffers.values():
        _keep(kept.shared(b) if names else b, out.buffers)
    for launch in part.launches.values():
        _add_launch(kept.launch(launch) if names else launch, out)
    for key, known in part.predicates.items():
        predicate = named.predicate(known) if names else known
        out.predicates.setdefault(named.key(key) if names else key, predicate)
    for at, error in part.errors.items():
        out.errors.setdefault(at, error)
    out.lints.update(part.lints)
    out.calls.update(part.calls)
    out.inactive |= part.inactive
    out.active |= part.active
    for place, values in part.reached.items():
        out.reached.setdefault(place, {}).update(values)
    out.reached_open |= part.reached_open
    out.open_kernels.update(part.open_kernels)
    _wished(part.wishes, out)
    out.walked |= part.walked
    out.supposed.update(part.supposed)
    out.given_up.update(part.given_up)
    for span, why in part.cut.items():
        out.cut.setdefault(span, why)
    for kernel, count in part.dropped.items():
        out.dropped[kernel] = out.dropped.get(kernel, 0) + count
    out.importers |= part.importers
    for path, places in part.beside.items():
        out.beside.setdefault(path, set()).update(places)
    for path, count in part.unrun.items():
        out.unrun[path] = max(out.unrun.get(path, 0), count)
    out.internals.extend(part.internals)


def _set_aside(part: Collected, out: Collected, names: Mapping[str, str]) -> dict[str, str]:
    """Kernels that this script looks at with arguments that nothing binds, and others launch: by other names.

    Their pipelines and copies are those of another configuration; a kernel that was looked at before is renamed now.
    """
    bound = {names.get(symbol, symbol) for symbol in part.configured}
    unbound = {x.kernel for x in part.launches.values() if x.unbound} - set(part.configured)
    before = Renaming({symbol: aside(symbol) for symbol in bound & out.unbound - out.bound})
    if before.names:
        events, facts, predicates = out.events, out.facts, out.predicates
        out.events = {e.event_id: e for e in map(before.event, events.values())}
        out.facts = {before.key(key): before.call(call) for key, call in facts.items()}
        out.predicates = {before.key(key): before.predicate(p) for key, p in predicates.items()}
    out.bound |= bound
    out.unbound |= unbound
    return {symbol: aside(symbol) for symbol in unbound & out.bound}


def _renumbered(part: Collected, out: Collected) -> Iterator[tuple[str, str]]:
    """Configurations of a kernel have one number in a run, whichever script launches them."""
    arch = next((launch.arch for launch in part.launches.values()), "")
    for symbol, (kernel, made) in part.configured.items():
        known = out.configurations.setdefault((kernel, arch), [])
        if made not in known:
            known.append(made)
        number = known.index(made) + 1
        name = f"{kernel}<configuration {number}>" if number > 1 else kernel
        if name != symbol:
            yield symbol, name


def _otherwise(part: Collected, out: Collected) -> Iterator[str]:
    """The functions and the sites outside of functions that say something else here than they did."""
    for key, site in part.sites.items():
        old = out.sites.get(key)
        if old is not None and old.status == site.status == "resolved" and old.value != site.value:
            yield site.symbol
    known = {(e.span, e.enclosing, e.arch) for e in out.events.values()}
    for ident, event in part.events.items():
        if ident not in out.events and (event.span, event.enclosing, event.arch) in known:
            yield event.enclosing


def _add_event(event: Event, out: Collected) -> None:
    old = out.events.get(event.event_id)
    if old is None:
        out.events[event.event_id] = replace(event, order=event.order + out.clock, loops=_later(event.loops, out.clock))
    elif old.reason is not None and event.reason is None:
        out.events[event.event_id] = replace(event, order=old.order, loops=old.loops)
    else:
        out.events[event.event_id] = of_both(old, event)


def _add_call(key: tuple[object, ...], call: Call, out: Collected) -> None:
    key = tuple(k + out.clock if type(k) is int else k for k in key)  # barriers are told by when they are reached
    if key not in out.facts:
        out.facts[key] = replace(call, order=call.order + out.clock, loops=_later(call.loops, out.clock))


def _later(loops: tuple[Loop, ...], clock: int) -> tuple[Loop, ...]:
    return tuple(replace(loop, entered=loop.entered + clock) for loop in loops)


_RANK = {"resolved": 0, "symbolic": 1, "unknown": 2, "unbound": 3, "dead": 4}


def _better(new: Site, old: Site) -> bool:
    return _RANK[new.status] < _RANK[old.status]


def uncovered(out: Collected, arch: str) -> None:
    """Places that the name scan found and no site covers: unbound, unknown or dead, each with its reason."""
    covered: dict[str, list[Span]] = {}
    for s in out.sites.values():
        covered.setdefault(s.call_span.path, []).append(s.call_span)
    walked: dict[str, list[Span]] = {}
    for span in out.walked:
        walked.setdefault(span.path, []).append(span)
    for path, calls in out.calls.items():
        spans = covered.get(path, [])
        for span, name in calls:
            if any(c.holds(span) for c in spans):
                continue
            places = out.reached.get((span.path, name), {})
            at, reached = next(((s, v) for s, v in places.items() if s.holds(span)), (span, None))
            if span in out.inactive and span not in out.active:
                status, reason = "dead", "inside a preprocessor branch that is off for every architecture of this run"
            elif isinstance(reached, Unknown):
                status, reason = "unbound" if at in out.reached_open else "unknown", reached.reason
            elif (why := next((w for at, w in out.cut.items() if at.path == path and at.holds(span)), "")) != "":
                status, reason = "unknown", f"the evaluation ended in the function around it: {why}"
            elif any(w.holds(span) for w in walked.get(path, ())):
                status, reason = "unbound", "no instantiation in the scanned files takes the branch around it"
            else:
                status, reason = "unbound", "nothing in the scanned files instantiates or calls the code around it"
            ident = f"{span}:{arch}"
            out.sites[(span, arch)] = Site(
                ident, kind_by_name(name, ""), name, span, span, (), arch, status, None, Unknown(reason, span)  # type: ignore[arg-type]
            )  # fmt: skip


def bound_elsewhere(out: Collected) -> None:
    """A place that a template leaves open which nothing instantiates, and that others bind, is bound."""
    bound: dict[str, set[Span]] = {}
    for site in out.sites.values():
        if site.status in ("resolved", "unknown"):
            bound.setdefault(site.span.path, set()).add(site.span)
    for key in [k for k, site in out.sites.items() if site.status == "unbound"]:
        around = out.sites[key].call_span  # of a variable that is not known: what is passed on to make it is a site
        if any(around.holds(span) for span in bound.get(around.path, ())):
            del out.sites[key]
