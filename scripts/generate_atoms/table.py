"""Turns printed records into the rows of the committed table."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from generate_atoms.emit import Instance, print_traits
from generate_atoms.fit import fit
from generate_atoms.samples import BITS, Assignment, assignments, instantiate
from generate_atoms.scan import Operation, Scan, Spec, split_list

_FUNDAMENTAL = [
    ("unsigned char", "uint8_t"),
    ("signed char", "int8_t"),
    ("short unsigned int", "uint16_t"),
    ("long unsigned int", "uint64_t"),
    ("unsigned int", "uint32_t"),
    ("short int", "int16_t"),
    ("long int", "int64_t"),
]
MMA_FIELDS = ("ThrID", "Shape_MNK", "ALayout", "BLayout", "CLayout", "ValTypeA", "ValTypeB", "ValTypeC", "ValTypeD")
COPY_FIELDS = ("ThrID", "SrcLayout", "DstLayout", "RefLayout")


def _subbyte(m: re.Match[str]) -> str:
    return f"{'int' if m[2] == 'true' else 'uint'}{m[1]}{'b' if m[1] == '1' else ''}_t"


def plain_type(text: str) -> str:
    """A printed type as sources write it: ``cutlass::half_t`` becomes ``half_t``."""
    for long, short in _FUNDAMENTAL:
        text = re.sub(rf"\b{long}\b", short, text)
    text = re.sub(r"\bint\b", "int32_t", text)
    text = re.sub(r"cutlass::integer_subbyte<(\d+), (true|false)>", _subbyte, text)
    text = text.replace("cutlass::detail::", "detail::").replace("cutlass::", "").replace("cute::", "")
    text = re.sub(r"\bSM90::GMMA::(Major|ScaleIn|ScaleOut|SparseSel)\b", r"GMMA::\1", text)
    text = re.sub(r"\(UMMA::(\w+)\)(\d+)", r"UMMA::\1(\2)", text)
    return re.sub(r"\s*,\s*", ",", text).replace(" >", ">")


@dataclass(frozen=True, slots=True)
class Row:
    """One case of one specialisation; ``when`` fixes parameters or their widths."""

    name: str
    kind: str
    guards: str  # comma-separated macros
    ptx: str  # comma-separated instructions, without operands
    declared: str  # template parameters of the operation: "TS,TD=TS"
    pattern: str  # arguments the specialisation matches, operation's then traits'
    when: str
    asserts: str  # "condition => message", separated by " ## "
    fields: tuple[tuple[str, str], ...]


def _declared(params: str) -> str:
    names = []
    for p in split_list(params):
        head, _, default = p.partition("=")
        name = head.split()[-1].replace("...", "")
        names.append(f"{name}={plain_type(default.strip())}" if default else name)
    return ";".join(names)


def _mark(pattern: str, params: set[str]) -> str:
    """``complex<ab_vtype>`` becomes ``complex<{ab_vtype}>``, so that parameters differ from literal types."""
    return re.sub(r"\b([A-Za-z_]\w*)\b(\.\.\.)?", lambda m: f"{{{m[0]}}}" if m[1] in params else m[0], pattern)


def _resolve(scan: Scan, name: str) -> Operation | None:
    """The operation of a name as traits write it: qualified, through a using directive, or an alias."""
    if name in scan.operations:
        return scan.operations[name]
    if name in scan.aliases:
        return _resolve(scan, scan.aliases[name][0].split("<")[0].strip())
    found = [o for n, o in scan.operations.items() if n.endswith("::" + name)]
    return found[0] if len(found) == 1 else None


def instructions(scan: Scan, op: Operation, seen: frozenset[str] = frozenset()) -> tuple[list[str], list[str]]:
    """(instructions, guards) of an operation, through what it calls and inherits."""
    ptx, guards = list(op.instructions), list(op.guards)
    for other in (*op.calls, *op.bases):
        target = _resolve(scan, other)
        if target is not None and target.name not in seen:
            more, also = instructions(scan, target, seen | {op.name})
            ptx += [i for i in more if i not in ptx and (".prefetch" in i) <= ("PREFETCH" in op.name)]
            guards += [g for g in also if g not in guards]
    return ptx, guards


def _specialised_ptx(scan: Scan, op: Operation, a: Assignment, args: Sequence[str]) -> tuple[list[str], list[str]]:
    """Instructions of the operation's own specialisation for these arguments, where it has any."""
    ptx, guards = instructions(scan, op)
    if ptx:
        return ptx, guards
    values = [a.get(x, x) for x in args]
    for name, other in scan.operations.items():
        if name.startswith(op.name + "<"):
            own = split_list(name[len(op.name) + 1 : -1])
            fixed = [x for x in own if x not in a]
            if len(own) == len(values) and all(x == v or x in a for x, v in zip(own, values, strict=True)) and fixed:
                found, more = instructions(scan, other)
                if a.get("VS") and len(found) > 1:
                    found = [i for i in found if _vector(i, a["sf_type"]) in (None, int(a["VS"]))]
                return found, more
    return ptx, guards


def _vector(instruction: str, scale: str) -> int | None:
    m = re.search(r"scale_vec::(\d)X", instruction)
    return None if not m else {4: 16, 2: 32, 1: 32}[int(m[1])]


@dataclass(frozen=True, slots=True)
class Planned:
    spec: Spec
    assignment: Assignment
    instance: Instance


def plan(scan: Scan, count: int, seed: int, keep: Callable[[Spec], bool] = lambda s: True) -> list[Planned]:
    """What to instantiate: every plain specialisation once, templated ones ``count`` times (GMMA twice)."""
    rng = random.Random(seed)
    out = []
    for spec in filter(keep, scan.specs):
        few = 2 if all(k.startswith("GMMA") for k, _ in spec.params) else count
        for a in assignments(spec, rng, few) if spec.params else [{}]:
            out.append(Planned(spec, a, Instance(spec.kind, instantiate(spec, a))))
    return out


def rows(scan: Scan, planned: Sequence[Planned], compiler: str, includes: Sequence[Path]) -> list[Row]:
    records = print_traits([p.instance for p in planned], compiler, includes)
    grouped: dict[int, list[tuple[Planned, dict[str, str]]]] = {}
    for i, p in enumerate(planned):
        grouped.setdefault(id(p.spec), []).append((p, records[i]))
    out: list[Row] = []
    for members in grouped.values():
        out += _rows_of(scan, members)
    return out


def _rows_of(scan: Scan, members: Sequence[tuple[Planned, dict[str, str]]]) -> list[Row]:
    spec = members[0][0].spec
    name = plain_type(members[0][1]["op"]).split("<")[0]
    op = scan.operations.get(name) or _resolve(scan, spec.op)
    if op is None:
        raise ValueError(f"operation of {spec.op} not found")
    guards: list[str] = []
    samples = []
    for p, record in members:
        ptx, more = _specialised_ptx(scan, op, p.assignment, spec.op_args or [])
        guards += [g for g in more if g not in guards]
        fields = {k: plain_type(v) if "Type" in k else v for k, v in record.items() if k != "op"}
        fields["ptx"] = ",".join(ptx)
        samples.append(({k: plain_type(v) for k, v in p.assignment.items()}, fields))
    names = {n for _, n in spec.params}
    pattern = ";".join(_mark(plain_type(x), names) for x in [*(spec.op_args or []), *spec.extra])
    checks = dict.fromkeys(c for c in (*op.asserts, *spec.asserts) if "dependent_false" not in c[0])
    asserts = " ## ".join(f"{plain_type(condition)} => {message}" for condition, message in checks)
    out = []
    for when, fields in fit(samples, BITS):
        ptx = fields.pop("ptx")
        condition = ";".join(f"{k}={v}" for k, v in when.items())
        declared = _declared(op.params)
        found = tuple(fields.items())
        out.append(Row(name, spec.kind, ",".join(guards), ptx, declared, pattern, condition, asserts, found))
    return out


def aliases(scan: Scan, known: Mapping[str, object]) -> dict[str, str]:
    """Alternative spellings: alias templates of the headers and names visible through using directives."""
    out: dict[str, str] = {}
    for alias, (target, _) in scan.aliases.items():
        op = _resolve(scan, target.split("<")[0].strip())
        literal = target if "<" in target and not scan.aliases[alias][1] else None
        if op is not None and op.name in known and alias != op.name:
            out[alias] = plain_type(literal) if literal else op.name
    for name in known:
        short = name.rsplit("::", 1)[-1]
        if "::" in name and short not in known and short.startswith("SM"):
            out.setdefault(short, name)
    return out
