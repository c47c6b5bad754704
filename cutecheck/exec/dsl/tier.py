"""From sites of the DSL to confirmations: the recorded call made again, and the value itself, traced by the DSL."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cutecheck.exec import child
from cutecheck.exec.confirmation import Attempt, Confirmation, Difference, Route
from cutecheck.exec.dsl import spell
from cutecheck.exec.dsl.spell import UnspellableError
from cutecheck.facts import Facts, Site

LIMITS = child.Limits(seconds=180.0, memory=16 << 30, file=1 << 30)
_ARCH = re.compile(r"sm_\d+[af]?")
_BEGIN, _END = "\x1e", "\x1d"
_RUN_TIME = re.compile(r"\?\{[^{}]*\}")
_KNOWN = "alike but for the width and the multiples that are known of run-time integers"
_SKIPPED = ("op",)  # compared by the type, which names all of its fields
# the library's own messages on a wrong interpreter
_MISSING = re.compile(r"(?:ModuleNotFoundError|ImportError): (.*)")


@dataclass(frozen=True, slots=True)
class DslOptions:
    """``python``: an interpreter with nvidia-cutlass-dsl."""

    python: str = sys.executable
    limits: child.Limits = field(default_factory=lambda: LIMITS)


@dataclass(frozen=True, slots=True)
class Told:
    """What the DSL gave for an expression, or why nothing."""

    value: object = None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class DslResult:
    """The confirmations in order; ``unavailable`` says why the DSL could not be asked, ``version`` is the DSL's."""

    confirmations: tuple[Confirmation, ...]
    version: str = ""
    unavailable: str = ""


def trace_script() -> Path:
    """The script that an interpreter with the DSL runs; its names are those of all expressions."""
    return Path(__file__).with_name("trace.py")


def confirm(facts: Facts, options: DslOptions | None = None) -> DslResult:
    """Hold every site of the DSL against the DSL itself, in order; sites of C++ are unavailable here.

    Traces and compiles configurations derived from the scanned sources: only for a user who asked for it.
    """
    options = options or DslOptions()
    planned = {id(s): _plan(s) for s in facts.sites}
    wanted: dict[tuple[str, bool], dict[str, None]] = {}
    for site in facts.sites:
        for _, text, found in planned[id(site)]:
            if found:
                wanted.setdefault((site.arch, spell.takes_tensors(text)), {})[text] = None
    told: dict[tuple[str, str], Told] = {}
    version = missing = ""
    for (arch, alone), texts in wanted.items():
        asked = [*texts]
        answers, version, reason = trace(asked, arch, options, not alone)
        missing = missing or reason
        told.update({(arch, t): a for t, a in zip(asked, answers, strict=True)})
    made = tuple(_confirmation(s, planned[id(s)], told, version) for s in facts.sites)
    return DslResult(made, version, missing)


Planned = list[tuple[Route, str, bool]]  # an expression, or why there is none


def _plan(site: Site) -> Planned:
    if not site.span.is_python:
        return [("spelled", "a site of C++: the DSL tier traces Python", False)]
    if site.status != "resolved" or site.result is None:
        return [("spelled", "its value is not resolved", False)]
    if not _ARCH.fullmatch(site.arch):
        return [("spelled", "its architecture is not known", False)]
    out: Planned = []
    if site.call:
        try:
            out.append(("rebuilt", spell.call(site.call, site.arguments, site.keywords), True))
        except UnspellableError as error:
            out.append(("rebuilt", str(error), False))
    if site.value is not None:
        try:
            out.append(("spelled", spell.value(site.value), True))
        except UnspellableError as error:
            out.append(("spelled", str(error), False))
    return out or [("rebuilt", "nothing to build", False)]


def _confirmation(site: Site, planned: Planned, told: Mapping[tuple[str, str], Told], version: str) -> Confirmation:
    attempts = []
    for route, text, found in planned:
        if not found:
            attempts.append(Attempt(route, "unavailable", text))
            continue
        answer = told[site.arch, text]
        if answer.failure:
            attempts.append(Attempt(route, "unavailable", answer.failure))
            continue
        wrong = differences(site.result, answer.value)
        if wrong and not differences(_bare(site.result), _bare(answer.value)):
            # a parameter of the child may be known to be a multiple where the author's integer is not
            attempts.append(Attempt(route, "unavailable", _KNOWN))
            continue
        attempts.append(Attempt(route, "contradicted" if wrong else "confirmed", "", wrong))
    return Confirmation(site, tuple(attempts))


def differences(ours: object, theirs: object) -> tuple[Difference, ...]:
    """Fields in which what we print differs from what the DSL prints; only the fields that we state."""
    if not isinstance(ours, dict):
        return () if _same(ours, theirs) else (Difference("value", _text(ours), _text(theirs)),)
    given = theirs if isinstance(theirs, dict) else {"kind": theirs}
    return tuple(
        Difference(name, _text(value), _text(given.get(name)))
        for name, value in ours.items()
        if name not in _SKIPPED and value is not None and not _same(value, given.get(name))
    )


def _bare(value: object) -> object:
    """A value as it is printed, without what is known of its run-time integers."""
    return json.loads(_RUN_TIME.sub("?", json.dumps(value)))


def _same(a: object, b: object) -> bool:
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def trace(texts: Sequence[str], arch: str, options: DslOptions, compiled: bool = True) -> tuple[list[Told], str, str]:
    """What the DSL gives for each expression, its version, and why it could not be asked at all.

    ``compiled``: what was traced is compiled, too.

    One child traces all of them; one that ends the process is noted and the rest is traced by another.
    """
    answers: dict[int, Told] = {}
    version = ""
    start = 0
    while start < len(texts):
        ended = _child(texts, start, arch, options, compiled)
        got, unfinished, version = parsed(ended.out, version)
        answers.update(got)
        if not version:
            reason = why(ended, options.python)
            return [Told(failure=reason)] * len(texts), "", reason
        if unfinished is None:
            if compiled and ended.failure and f"{_BEGIN}compiled" not in ended.out:
                _blame(texts, answers, start, ended, arch, options)
            break
        answers[unfinished] = Told(failure=f"the DSL was {ended.failure or 'cut short'} by it")
        start = unfinished + 1
    return [answers.get(i, Told(failure="the DSL said nothing of it")) for i in range(len(texts))], version, ""


def _blame(
    texts: Sequence[str], answers: dict[int, Told], start: int, ended: child.Ended, arch: str, options: DslOptions
) -> None:
    """What was traced does not compile: each half is compiled by itself, down to the one that does not."""
    last = [line for line in ended.err.splitlines() if line.strip()][-1:]
    if len(texts) - start == 1:
        answers[start] = Told(failure=" ".join(["does not compile:", *last])[:300])
        return
    middle = start + (len(texts) - start) // 2
    for begin, end in ((start, middle), (middle, len(texts))):
        told, _, _ = trace(texts[begin:end], arch, options)
        answers.update(dict(enumerate(told, begin)))


def _child(texts: Sequence[str], start: int, arch: str, options: DslOptions, compiled: bool) -> child.Ended:
    with tempfile.TemporaryDirectory(prefix="cutecheck-") as name:
        folder = Path(name)
        probes = folder / "probes.json"
        probes.write_text(json.dumps(list(texts)), encoding="utf-8")
        script = folder / "trace.py"
        script.write_bytes(trace_script().read_bytes())
        environment = {"CUTE_DSL_ARCH": arch, "HOME": name, "CUTE_DSL_CACHE_DIR": name}
        environment |= {} if compiled else {"CUTE_DSL_DRYRUN": "1"}
        kept = {k: os.environ[k] for k in ("LD_LIBRARY_PATH", "VIRTUAL_ENV") if k in os.environ}
        command = [options.python, "-I", str(script), str(probes), str(start)]
        return child.run(command, folder, options.limits, {**kept, **environment})


def parsed(output: str, version: str) -> tuple[dict[int, Told], int | None, str]:
    """Finished probes, the number of one that began and did not finish, and the DSL's version."""
    got: dict[int, Told] = {}
    current: int | None = None
    for line in output.split("\n"):
        if line.startswith(f"{_BEGIN}version "):
            version = line.partition(" ")[2] or "?"
        elif line.startswith(_BEGIN) and line[1:].isdecimal():
            current = int(line[1:])
        elif line.startswith(_END) and current is not None:
            said = json.loads(line[1:])
            got[current] = Told(said.get("value"), f"the DSL refuses it: {said['error']}" if "error" in said else "")
            current = None
    return got, current, version


def why(ended: child.Ended, python: str) -> str:
    """Why a child said nothing: the package is not there, or the interpreter's last words."""
    if found := _MISSING.search(ended.err):
        return f"nvidia-cutlass-dsl is not installed for {python}: {found[1]}"[:300]
    last = [line for line in ended.err.splitlines() if line.strip()][-1:]
    return " ".join([f"{python}: {ended.failure or 'said nothing'}", *last])[:300]
