"""Finds how the printed fields of a templated specialisation depend on its parameters.

A field is text with numbers and type names. Numbers become products of parameters (``{M}``, ``{256/bits(a_type)}``),
type names become ``{a_type}``. Where no single formula fits all samples they are split by a parameter's value.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

Record = dict[str, str]
Sample = tuple[Mapping[str, str], Record]  # assignment, printed fields
_NUMBER = re.compile(r"\d+")


def features(a: Mapping[str, str], bits: Mapping[str, int]) -> dict[str, int]:
    """The numbers a formula may use: integer parameters and widths of type parameters."""
    out = {}
    for name, value in a.items():
        if re.fullmatch(r"\d+", value):
            out[name] = int(value)
        elif m := re.fullmatch(r"Int<(\d+)>", value):
            out[name] = int(m[1])
        elif value in bits:
            out[f"bits({name})"] = bits[value]
    return out


def fit_number(values: Sequence[int], feats: Sequence[Mapping[str, int]]) -> str | None:
    """A constant, or ``p*X/q`` style product of at most two features (exponents -1, 0, 1); None if none fits."""
    if len(set(values)) == 1:
        return str(values[0])
    names = [n for n in feats[0] if len({f[n] for f in feats}) > 1 and all(f[n] for f in feats)]
    for size in (1, 2):
        for chosen in itertools.combinations(names, size):
            for signs in itertools.product((1, -1), repeat=size):
                powers = list(zip(chosen, signs, strict=True))
                ratio = {
                    Fraction(v) / math.prod((Fraction(f[n]) ** s for n, s in powers), start=Fraction(1))
                    for v, f in zip(values, feats, strict=True)
                }
                if len(ratio) == 1:
                    r = ratio.pop()
                    upper = [str(r.numerator)] * (r.numerator != 1) + [n for n, s in powers if s > 0]
                    lower = [str(r.denominator)] * (r.denominator != 1) + [n for n, s in powers if s < 0]
                    return "*".join(upper or ["1"]) + "".join(f"/{d}" for d in lower)
    return None


def _fit_layout(texts: Sequence[str], feats: Sequence[Mapping[str, int]]) -> str | None:
    if len({_NUMBER.sub("#", t) for t in texts}) > 1:
        return None
    numbers = [list(map(int, _NUMBER.findall(t))) for t in texts]
    slots = []
    for column in zip(*numbers, strict=True):
        formula = fit_number(column, feats)
        if formula is None:
            return None
        slots.append(formula if formula.isdigit() else f"{{{formula}}}")
    filled = iter(slots)
    return _NUMBER.sub(lambda _: next(filled), texts[0])


def _arguments(text: str) -> tuple[str, list[str]]:
    if not text.endswith(">"):
        return text, []
    head, inner = text.split("<", 1)
    parts, depth, start = [], 0, 0
    inner = inner[:-1]
    for i, c in enumerate(inner):
        depth += (c == "<") - (c == ">")
        if c == "," and depth == 0:
            parts.append(inner[start:i].strip())
            start = i + 1
    return head, [*parts, inner[start:].strip()]


def _fit_type(
    texts: Sequence[str], samples: Sequence[Mapping[str, str]], feats: Sequence[Mapping[str, int]]
) -> str | None:
    if len(set(texts)) == 1:
        return texts[0]
    for name in samples[0]:
        if all(t == s[name] for t, s in zip(texts, samples, strict=True)):
            return f"{{{name}}}"
    if all(re.fullmatch(r"\d+", t) for t in texts):
        formula = fit_number(list(map(int, texts)), feats)
        return None if formula is None else f"{{{formula}}}"
    split = [_arguments(t) for t in texts]
    if len({(h, len(p)) for h, p in split}) != 1 or not split[0][1]:
        return None
    inner = [_fit_type([p[i] for _, p in split], samples, feats) for i in range(len(split[0][1]))]
    if any(i is None for i in inner):
        return None
    return f"{split[0][0]}<{','.join(map(str, inner))}>"


def ptx_name(type_name: str) -> str:
    """How PTX calls an element type: ``float_e4m3_t`` is ``e4m3``."""
    return type_name.removeprefix("float_").removesuffix("_t")


def _fit_ptx(texts: Sequence[str], samples: Sequence[Mapping[str, str]]) -> str | None:
    if len(set(texts)) == 1:
        return texts[0]
    parts = [t.split(".") for t in texts]
    if len({len(p) for p in parts}) != 1:
        return None
    out = []
    for column in zip(*parts, strict=True):
        names = [n for n in samples[0] if all(ptx_name(s[n]) == c for s, c in zip(samples, column, strict=True))]
        # several parameters can match when their values coincide; columns come in the order A, B
        unused = [n for n in names if f"{{ptx({n})}}" not in out] or names
        if len(set(column)) == 1:
            out.append(column[0])
        elif unused:
            out.append(f"{{ptx({unused[0]})}}")
        else:
            return None
    return ".".join(out)


def _fit_all(samples: Sequence[Sample], bits: Mapping[str, int]) -> Record:
    """The fields for which one formula fits all samples."""
    feats = [features(a, bits) for a, _ in samples]
    if len({tuple(r) for _, r in samples}) != 1:
        return {}
    out: Record = {}
    for key in samples[0][1]:
        texts = [r[key] for _, r in samples]
        if key == "ptx":
            fitted = _fit_ptx(texts, [a for a, _ in samples])
        elif "Type" in key:
            fitted = _fit_type(texts, [a for a, _ in samples], feats)
        else:
            fitted = _fit_layout(texts, feats)
        if fitted is not None:
            out[key] = fitted
    return out


def fit(samples: Sequence[Sample], bits: Mapping[str, int], depth: int = 2) -> list[tuple[dict[str, str], Record]]:
    """Cases ``(condition, fields)`` that reproduce every sample; the condition fixes parameters (or their bits).

    Raises ValueError when no split of at most ``depth`` parameters works.
    """
    whole = _fit_all(samples, bits)
    order = list(samples[0][1])
    if len(whole) == len(order):
        return [({}, whole)]
    if depth == 0:
        raise ValueError(f"no formula fits {samples[0][1]}")
    keys = list(features(samples[0][0], bits)) + list(samples[0][0])
    best: list[tuple[dict[str, str], Record]] | None = None
    for key in dict.fromkeys(keys):
        groups: dict[str, list[Sample]] = {}
        for a, r in samples:
            value = str(features(a, bits).get(key, a.get(key)))
            groups.setdefault(value, []).append((a, r))
        if len(groups) < 2:
            continue
        try:
            cases = [({key: v, **c}, r) for v, g in groups.items() for c, r in fit(g, bits, depth - 1)]
        except ValueError:
            continue
        if best is None or len(cases) < len(best):
            best = cases
    if best is None:
        raise ValueError(f"no formula fits {samples[0][1]}")
    # a formula over all samples is better than the numbers of one case
    merged = [(when, {**record, **whole}) for when, record in best]
    return [(when, {key: record[key] for key in order if key in record}) for when, record in merged]
