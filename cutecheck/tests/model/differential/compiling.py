"""Rows in one translation unit: what each prints, or the first error of its own."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from cutecheck.exec.headers import Headers
from cutecheck.tests.precompiled import with_cute

PROLOGUE = r"""
#include <cstdio>
#include <cute/tensor.hpp>
using namespace cute;
template <class T> struct ends_in_swizzle : false_type {};
template <class A, class O, int B, int M, int S>
struct ends_in_swizzle<ComposedLayout<A, O, Swizzle<B, M, S>>> : true_type {};
template <class T> static void describe(T const& r) {
  if constexpr (std::is_same<T, bool>::value) { printf("_%d", int(r)); }
  else { print(r); }
  if constexpr (is_layout<T>::value && !ends_in_swizzle<T>::value) {
    if constexpr (rank(decltype(shape(r)){}) > 0) {
      int n = size(r);
      printf("|%d|", n); print(cosize(r)); printf("|"); print(rank(r)); printf("|"); print(depth(r)); printf("|");
      for (int i = 0; i < n && i < 40; ++i) {
        if (i) printf(";");
        if constexpr (is_std_integral<decltype(r(1))>::value) { print(int(r(i))); }  // a recast offset is unsigned
        else { print(r(i)); }
      }
      if constexpr (is_std_integral<decltype(r(1))>::value || is_static<decltype(r(1))>::value
                    && is_integral<decltype(r(1))>::value && !is_scaled_basis<decltype(r(1))>::value) {
        long long h = 0;
        for (int i = 0; i < n; ++i) h += (long long)(int)(r(i)) * (i % 1000 + 1);
        h %= 1000000007LL; if (h < 0) h += 1000000007LL;
        printf("|%lld", h);
      }
    }
  }
}
"""


class Spelled(Protocol):
    def cpp(self) -> str: ...


CRASHED = "<crashed>"  # a division by zero that the compiler lets pass


def translation_unit(rows: Sequence[tuple[int, Spelled]], prologue: str = PROLOGUE) -> tuple[str, dict[int, int]]:
    """Source text, and which line belongs to which row."""
    lines = prologue.splitlines()
    owner = {}
    for key, row in rows:
        lines.append(f"static void row_{key}() {{ auto r = {row.cpp()}; describe(r); }}")
        owner[len(lines)] = key
    lines.append("int main() {")
    for key, _ in rows:
        lines.append(f'printf("\\n#{key} "); fflush(stdout); row_{key}(); fflush(stdout);')
        owner[len(lines)] = key
    lines.append("}")
    return "\n".join(lines) + "\n", owner


def compile_rows(
    headers: Headers, rows: Sequence[tuple[int, Spelled]], link: bool, prologue: str = PROLOGUE
) -> tuple[dict[int, str], dict[int, str]]:
    """Outputs of the rows (when linked), and error text of those that do not compile."""
    source, owner = translation_unit(rows, prologue)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "rows.cpp"
        path.write_text(source)
        program = Path(directory) / "rows"
        command = [*with_cute(headers), "-fmax-errors=0", "-ftemplate-backtrace-limit=0", str(path)]
        command += ["-o", str(program)] if link else ["-fsyntax-only"]
        built = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
        if built.returncode != 0:
            errors = attribute_errors(built.stderr, owner)
            if not errors:
                raise RuntimeError(built.stderr[-3000:])
            return {}, errors
        if not link:
            return {}, {}
        ran = subprocess.run([str(program)], capture_output=True, text=True, timeout=600, check=False)
        outputs: dict[int, str] = {}
        current = -1
        for line in ran.stdout.replace("\0", "").splitlines():  # CUTLASS 3.5 prints a NUL after every bracket
            if line.startswith("#"):
                key, _, text = line.partition(" ")
                current = int(key[1:])
                outputs[current] = text
            elif line and current >= 0:  # a tiled copy has many lines
                outputs[current] += "\n" + line
        if ran.returncode != 0:
            last = list(outputs)[-1]
            outputs[last] = CRASHED
            rest = [(k, r) for k, r in rows if k not in outputs]
            return outputs | (compile_rows(headers, rest, link, prologue)[0] if rest else {}), {}
        return outputs, {}


def attribute_errors(stderr: str, owner: dict[int, int]) -> dict[int, str]:
    """The first error of each row, from the compiler's messages (rows named by ``row_N`` or by their line)."""
    errors: dict[int, str] = {}
    context: set[int] = set()
    complete = False
    for line in stderr.splitlines():
        if re.search(r": In |: error:|required from|rows\.cpp:", line) is None:
            continue
        if complete and ("error:" not in line) and "note:" not in line:
            context, complete = set(), False
        context |= {int(k) for k in re.findall(r"row_(\d+)\(\)", line)}
        context |= {owner[int(n)] for n in re.findall(r"rows\.cpp:(\d+)", line) if int(n) in owner}
        message = re.search(r"error: (.*)", line)
        if message:
            complete = True
            for key in context:
                errors.setdefault(key, message.group(1))
    return errors
