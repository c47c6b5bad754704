"""Compiling and running probes: one precompiled prelude, several probes a translation unit, bad ones set apart."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cutecheck.exec import child
from cutecheck.exec.headers import Headers
from cutecheck.exec.host import precompiled
from cutecheck.exec.host.probes import Probe

_MARK = "cutecheck_probe_"
_NAMED = re.compile(rf"{_MARK}(\d+)")
_CONTEXT = re.compile(r": In |^In file included")
_ERROR = re.compile(r"(?:fatal )?error: (.*)")
_ARCH = re.compile(r"sm_(\d+)[af]?")
_LAUNCH = re.compile(r"<<<.*?>>>", re.DOTALL)
_RUN = child.Limits(seconds=60.0, memory=2 << 30, file=64 << 20)


@dataclass(frozen=True, slots=True)
class Answer:
    """What one probe printed, or why there is nothing."""

    fields: dict[str, str] = field(default_factory=dict)
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Included:
    """The author's file of a translation unit: where it is, and the architecture its guards ask for."""

    file: Path
    arch: str


class Toolchain:
    """A compiler in a private folder. ``options`` are further arguments: ``-I`` and ``-D`` of the user."""

    def __init__(
        self, headers: Headers, folder: Path, options: Sequence[str], limits: child.Limits, chunk: int
    ) -> None:
        self.headers = headers
        self.folder = folder
        self.options = list(options)
        self.limits = limits
        self.chunk = chunk
        self.compilations = 0
        self.prelude = folder
        self._precompiled: str | None = None

    def beside(self, name: str) -> Toolchain:
        """The same toolchain with a folder of its own inside this one, and this one's precompiled prelude."""
        folder = self.folder / name
        folder.mkdir(mode=0o700)
        made = Toolchain(self.headers, folder, self.options, self.limits, self.chunk)
        made.prelude, made._precompiled = self.prelude, self._precompiled
        return made

    def precompile(self) -> str:
        """Compile the prelude once; why it does not compile, empty when it does."""
        if self._precompiled is None:
            prelude = self.folder / "prelude.hpp"
            shutil.copyfile(Path(__file__).with_name("prelude.hpp"), prelude)
            made, read = Path(f"{prelude}.gch"), prelude.with_suffix(".d")
            kept = precompiled.place([*self._command(), *self.headers.arguments()], self.options, prelude, os.environ)
            if kept is not None and precompiled.fetch(kept, made):
                self._precompiled = ""
                return self._precompiled
            ended = self._compile(["-x", "c++-header", str(prelude), "-o", str(made), "-MD", "-MF", str(read)], [])
            self._precompiled = _first_error(ended) if ended.failure else ""
            if kept is not None and not ended.failure:
                precompiled.keep(kept, made, read)
        return self._precompiled

    def ask(self, probes: Sequence[Probe], included: Included | None) -> list[Answer]:
        """The answers of probes that share their includes, in order."""
        broken = self.precompile()
        if broken:
            why = broken if broken == child.STOPPED else f"CuTe's headers do not compile here: {broken}"
            return [Answer(failure=why)] * len(probes)
        answers: dict[int, Answer] = {}
        for start in range(0, len(probes), self.chunk):
            self._some(probes, list(range(start, min(start + self.chunk, len(probes)))), included, answers)
        # what does not need the author's file is not lost with it
        again = [i for i, p in enumerate(probes) if included and p.source is None and answers[i].failure]
        if again:
            self._some(probes, again, None, answers)
        return [answers[i] for i in range(len(probes))]

    def _some(
        self, probes: Sequence[Probe], wanted: list[int], included: Included | None, answers: dict[int, Answer]
    ) -> None:
        """Compile and run some probes; what the compiler names is set aside, what it does not name is halved."""
        while wanted:
            binary, ended = self._build(probes, wanted, included)
            if binary is not None:
                self._run(binary, wanted, answers)
                return
            if ended.interrupted:
                answers.update(dict.fromkeys(wanted, Answer(failure=ended.failure)))
                return
            if ended.code is None:
                failures = dict.fromkeys(wanted, f"the compiler was {ended.failure}") if len(wanted) == 1 else {}
            else:
                failures = {i: m for i, m in blamed(ended.err).items() if i in wanted}
            if not failures and len(wanted) == 1:
                failures = {wanted[0]: f"does not compile: {_first_error(ended)}"}
            for i, message in failures.items():
                answers[i] = Answer(failure=message)
            wanted = [i for i in wanted if i not in failures]
            if failures:
                continue
            if included is not None:
                alone, ended = self._build(probes, [], included)
                if alone is None:
                    reason = f"{included.file.name} does not compile on the host: {_first_error(ended)}"
                    answers.update(dict.fromkeys(wanted, Answer(failure=reason)))
                    return
            half = len(wanted) // 2
            self._some(probes, wanted[:half], included, answers)
            wanted = wanted[half:]

    def _build(
        self, probes: Sequence[Probe], wanted: Sequence[int], included: Included | None
    ) -> tuple[Path | None, child.Ended]:
        source, binary = self.folder / "probes.cpp", self.folder / "probes"
        binary.unlink(missing_ok=True)
        source.write_text(self._unit(probes, wanted, included), encoding="utf-8")
        near = [f"-I{included.file.parent}"] if included is not None else []
        # what device code refers to is never called
        link = ["-Wl,--unresolved-symbols=ignore-all", "-no-pie"]
        ended = self._compile([str(source), "-o", str(binary), *link], near)
        return (binary if not ended.failure and binary.is_file() else None), ended

    def _unit(self, probes: Sequence[Probe], wanted: Sequence[int], included: Included | None) -> str:
        out = ['#include "prelude.hpp"']
        if included is not None:
            out += _inclusion(included, self.folder)
        for i in wanted:
            out += [f'#line 1 "{_MARK}{i}"', f"static void cutecheck_run_{i}() {{", "  using namespace cute;"]
            out += [f"  {probes[i].body}", "}"]
        table = ", ".join(f"{{{i}, cutecheck_run_{i}}}" for i in wanted)
        out += [
            '#line 1 "cutecheck_main"',
            "struct cutecheck_entry { int number; void (*run)(); };",
            f"static cutecheck_entry const cutecheck_table[] = {{{table}{', ' if table else ''}{{-1, nullptr}}}};",
            "int main(int argc, char** argv) {",
            "  for (int i = argc > 1 ? std::atoi(argv[1]) : 0; cutecheck_table[i].run != nullptr; ++i) {",
            r'    std::printf("\n\x1e%d\n", cutecheck_table[i].number); std::fflush(stdout);',
            "    cutecheck_table[i].run();",
            r'    std::printf("\n\x1d\n"); std::fflush(stdout);',
            "  }",
            "  return 0;",
            "}",
        ]
        return "\n".join(out) + "\n"

    def _compile(self, arguments: Sequence[str], near: Sequence[str]) -> child.Ended:
        self.compilations += 1
        cutlass, *cuda = self.headers.arguments()  # the CuTe that is named comes before any other of the options
        includes = [f"-I{self.prelude}", *near, cutlass, *self.options, *cuda]
        return child.run([*self._command(), *includes, *arguments], self.folder, self.limits)

    def _command(self) -> list[str]:
        # -O1 compiles programs of CuTe faster than -O0: most of its functions are inlined away
        return [self.headers.compiler, "-std=c++17", "-O1", "-w", "-fno-diagnostics-show-caret"]

    def _run(self, binary: Path, wanted: Sequence[int], answers: dict[int, Answer]) -> None:
        """Run from the first probe on; one that ends the process is noted and the rest is run again."""
        start = 0
        while start < len(wanted):
            ended = child.run([str(binary), str(start)], self.folder, replace(_RUN, file=self.limits.file))
            got, unfinished = parsed(ended.out)
            answers.update({i: Answer(fields) for i, fields in got.items()})
            if not ended.failure and unfinished is None:
                break
            at = unfinished if unfinished is not None and unfinished in wanted[start:] else wanted[start]
            answers[at] = Answer(failure=f"the probe was {ended.failure or 'cut short'}")
            start = wanted.index(at) + 1
        for i in wanted:
            answers.setdefault(i, Answer(failure="the probe printed nothing"))


def _inclusion(included: Included, folder: Path) -> list[str]:
    """Lines that include the author's file as device code of its architecture, seen by a host compiler.

    A source file is included as a copy without its launch configurations and under another ``main``.
    """
    file = included.file
    if file.suffix not in (".h", ".hpp", ".cuh", ".inl", ".hxx"):
        text = file.read_text(encoding="utf-8", errors="replace")
        copy = folder / "author.inl"
        copy.write_text(_LAUNCH.sub(lambda m: "\n" * m[0].count("\n"), text), encoding="utf-8")
        file = copy
    arch = _ARCH.fullmatch(included.arch)
    lines = [f"#define __CUDA_ARCH__ {int(arch[1]) * 10}"] if arch else []
    # the folder's files come from the user's command line, but a quote or a line break ends an include all the same
    if any(c in '"\n\r\\' for c in str(file)):
        raise ValueError(f"cannot include a file of this name: {str(file)!r}")
    return [*lines, "#define main cutecheck_author_main", f'#include "{file}"', "#undef main"]


def blamed(errors: str) -> dict[int, str]:
    """The probes that the compiler's messages name, each with its first error."""
    out: dict[int, str] = {}
    context: set[int] = set()
    for line in errors.splitlines():
        if _CONTEXT.search(line):
            context = set()
        here = {int(n) for n in _NAMED.findall(line)}
        context |= here
        if match := _ERROR.search(line):
            for i in here or context:
                out.setdefault(i, f"does not compile: {match[1][:300]}")
    return out


def parsed(output: str) -> tuple[dict[int, dict[str, str]], int | None]:
    """Fields by finished probe, and the number of one that began and did not finish."""
    got: dict[int, dict[str, str]] = {}
    current: int | None = None
    fields: dict[str, str] = {}
    for line in output.split("\n"):
        if line.startswith("\x1e") and line[1:].isdecimal():
            current, fields = int(line[1:]), {}
        elif line.startswith("\x1d") and current is not None:
            got[current] = fields
            current = None
        elif line.startswith("\x1f") and current is not None and line.count("\x1f") == 2:
            name, _, value = line[1:].partition("\x1f")
            fields[name] = value
    return got, current


def _first_error(ended: child.Ended) -> str:
    if ended.interrupted:
        return ended.failure
    match = _ERROR.search(ended.err)
    if match:
        return match[1][:300]
    last = [line for line in ended.err.splitlines() if line.strip()]
    return " ".join([ended.failure, *last[-1:]])[:300]
