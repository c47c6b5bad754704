"""What the instructions of inline assembly do with barriers, as operations on the statement's own operands."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from cutecheck.source.cpp.lower.assembly import LABELS, code_of, operands_of

Place = int | tuple[int, int]  # a literal, or where an operand begins and ends in the text
_ABOUT = re.compile(
    r"mbarrier|\bbar(?:rier)?\.|cp\.async\.c[ag]\.|ldmatrix|stmatrix|shared::cluster\b|elect\.sync|setmaxnreg|\bmapa\b|wgmma\.mma|tcgen05\.|cp\.(?:reduce\.)?async\.bulk\.|prefetch|clusterlaunchcontrol|%%"
)
_INSTRUCTION = re.compile(LABELS + r"(?:@!?(%*\w+)\s+)?([a-z][\w.:]*)\s*(.*)$", re.DOTALL)
_OPERAND = re.compile(r"%(\d+)|%\[(\w+)\]")
_NUMBER = re.compile(r"\d+|0x[\da-fA-F]+")
# what an opcode does, and which of its operands say with what
_KNOWN = tuple(
    (re.compile(pattern + "$"), name, places)
    for pattern, name, places in (
        (r"mbarrier\.init[\w.:]*", "init", (0, 1)),
        (r"mbarrier\.arrive\.expect_tx[\w.:]*", "arrive_expect", (-2, -1)),
        (r"mbarrier\.expect_tx[\w.:]*", "expect", (0, 1)),
        (r"mbarrier\.complete_tx[\w.:]*", "complete", (0,)),
        (r"mbarrier\.arrive(?!_drop|\.noComplete)[\w.:]*", "arrive", (1, 2)),
        (r"mbarrier\.(?:try|test)_wait\.parity[\w.:]*", "wait", (1, 2)),
        (r"mbarrier\.(?:try|test)_wait[\w.:]*", "wait", (1,)),
        (r"cp\.async\.mbarrier\.arrive(?:\.noinc)?[\w:.]*", "copied", (0,)),
        (r"cp\.async\.bulk\.tensor[\w.]*\.shared::c\w+\.global[\w.:]*mbarrier::complete_tx[\w.:]*", "load", (0, 2)),
        (r"cp\.async\.bulk\.shared::c\w+\.global[\w.:]*mbarrier::complete_tx[\w.:]*", "load", (0, 3, 2)),
        (r"clusterlaunchcontrol\.try_cancel[\w.:]*mbarrier::complete_tx[\w.:]*", "load", (0, 1)),
        (r"clusterlaunchcontrol\.query_cancel\.is_canceled[\w.:]*", "canceled", (1,)),
        (r"cp\.(?:reduce\.)?async\.bulk\.tensor[\w.:]*\.global\.shared::cta[\w.:]*", "store", (1,)),
        (r"cp\.(?:reduce\.)?async\.bulk\.global\.shared::cta[\w.:]*", "store", (1, 2)),
        (r"cp\.async\.c[ag]\.shared(?:::cta)?\.global[\w.:]*", "cp_async", (0, 1, 2)),
        (r"ldmatrix[\w.:]*\.shared[\w.:]*", "ldmatrix", (-1,)),
        (r"stmatrix[\w.:]*\.shared[\w.:]*", "stmatrix", (0,)),
        (r"(?:st|red)\.async[\w.:]*shared::cluster[\w.:]*", "remote_told", (-1,)),
        (r"(?:st|ld|red|atom)\.[\w.:]*shared::cluster[\w.:]*", "remote", ()),
        (r"tcgen05\.commit[\w.:]*?mbarrier::arrive::one[\w.:]*", "commit", (0,)),
        (r"bar(?:rier)?(?:\.cta)?\.sync[\w.]*", "sync", (0, 1)),
        (r"bar(?:rier)?(?:\.cta)?\.arrive[\w.]*", "named_arrive", (0, 1)),
        (r"barrier\.cluster\.arrive[\w.]*", "cluster_arrive", ()),
        (r"barrier\.cluster\.wait[\w.]*", "cluster_wait", ()),
        (r"elect\.sync", "elect", ()),
        (r"wgmma\.mma_async(?!\.sp)[\w.:]*", "wgmma", (1, 2)),
        (r"tcgen05\.mma(?!\.sp)[\w.:]*", "umma", (1, 2)),
        (r"tcgen05\.dealloc[\w.:]*", "tmem_free", ()),
        (r"(?:wgmma\.mma_async|tcgen05\.|cp\.(?:reduce\.)?async\.bulk\.|prefetch)[\w.:]*", "other", ()),
        (r"setmaxnreg\.inc[\w.]*", "more_registers", (0,)),
        (r"setmaxnreg\.dec[\w.]*", "fewer_registers", (0,)),
    )
)
# registers of the hardware that say which thread this is
SPECIAL = frozenset(
    {"laneid", "cluster_ctarank", *(f"{n}.{axis}" for n in ("tid", "ctaid", "ntid", "nctaid") for axis in "xyz")}
)
PRODUCTS = ("wgmma", "umma")
REMOTE = ("remote", "remote_told")  # accesses of another block's shared memory, which may tell a barrier there
CHUNKS = ("cp_async", "ldmatrix", "stmatrix")  # some bytes of shared memory at an address of each thread
_HARMLESS = ("mbarrier.inval", "fence.mbarrier_init")
_PASS = ("mov", "cvta", "cvt")  # pass an address on, if they do anything with one
_RESPONSE = 16  # bytes of what says whether a block was cancelled, to do its tile instead


@dataclass(frozen=True, slots=True)
class Instruction:
    """What one does, with its operands (None: not known).

    ``result``: the operand that says whether a wait is over or the thread elected, or that is given an address.
    ``far``: with barriers that may be other blocks' of the cluster. ``maybe``: under a predicate. ``to``: the block
    that the barrier is in, where the statement says so itself.
    """

    name: str
    operands: tuple[Place | None, ...]
    result: tuple[int, int] | None = None
    far: bool = False
    maybe: bool = False
    to: Place | None = None


@dataclass(slots=True)
class _Statement:
    """Operands of a statement, and what registers that it declares itself stand for."""

    own: list[tuple[str, tuple[int, int]]]
    found: list[Instruction] = field(default_factory=list)
    registers: dict[str, Place | None] = field(default_factory=dict)
    ranks: dict[str, Place | None] = field(default_factory=dict)  # the blocks that these are in
    far: set[str] = field(default_factory=set)  # registers with addresses in another block of the cluster
    answers: dict[str, int] = field(default_factory=dict)  # predicates, and the instruction that sets each

    def place(self, token: str) -> Place | None:
        token = token.strip("[] ")
        if _NUMBER.fullmatch(token):
            return int(token, 0)
        if token in self.registers:
            return self.registers[token]
        return self.operand(token)

    def operand(self, token: str) -> tuple[int, int] | None:
        match = _OPERAND.fullmatch(token.strip("[] "))
        if match is None:
            return None
        at = int(match[1]) if match[1] else next((i for i, (n, _) in enumerate(self.own) if n == match[2]), -1)
        return self.own[at][1] if 0 <= at < len(self.own) else None

    def does(self, opcode: str, given: list[str], predicate: str) -> bool:
        """Whether an instruction that may concern barriers is understood."""
        known = next(((name, places) for pattern, name, places in _KNOWN if pattern.match(opcode)), None)
        if known is None:
            self._pass_on(opcode, given, predicate)
            return "mbarrier" not in opcode or opcode.startswith(_HARMLESS)
        name, places = known
        tokens = [given[p] for p in places if -len(given) <= p < len(given)]
        operands = tuple(self.place(token) for token in tokens)
        far = any(token.strip("[] ") in self.far for token in tokens) or "multicast" in opcode
        if name in ("init", "arrive_expect", "expect", "arrive", "complete"):
            far |= "shared::cluster" in opcode
        elif name == "commit":
            far |= "cta_group::2" in opcode
        elif name == "copied" and ".noinc" not in opcode:
            operands = (*operands, 0)  # counts one arrival more, and makes it
        elif name == "load" and opcode.startswith("clusterlaunchcontrol."):
            operands = (*operands, _RESPONSE)
        if name in ("wait", "elect", "canceled") and given:
            self.answers[given[0].rpartition("|")[2].strip()] = len(self.found)
        to = next((self.ranks[t] for t in (token.strip("[] ") for token in tokens) if t in self.ranks), None)
        self.found.append(Instruction(name, operands, None, far, bool(predicate), to))
        return None not in operands[:1] or name in (*PRODUCTS, *CHUNKS, *REMOTE, "store", "canceled")

    def _pass_on(self, opcode: str, given: list[str], predicate: str) -> None:
        """What other instructions do with addresses, and with what waits and elections answer."""
        kind = opcode.partition(".")[0]
        if kind == "mapa" and len(given) == 3:
            of, to = self.place(given[1]), self.operand(given[0])
            self.registers[given[0]], self.ranks[given[0]] = of, self.place(given[2])
            self.far.add(given[0])
            if to is not None:
                self.found.append(Instruction("mapa", (of, self.place(given[2])), to, True, bool(predicate)))
        elif kind == "selp" and len(given) == 4 and given[1:3] == ["1", "0"]:
            self._answer(given[3], given[0])
        elif kind == "mov" and predicate in self.answers and given[1:] == ["1"]:
            self._answer(predicate, given[0])
        elif kind == "mov" and len(given) == 2 and given[1].lstrip("%") in SPECIAL and given[1][0] == "%":
            if (to := self.operand(given[0])) is not None:
                self.found.append(Instruction(given[1].lstrip("%"), (), to))
        elif kind == "ld" and ".b128" in opcode and len(given) == 2:
            self.registers[given[0]] = self.place(given[1])  # a response stands for where it lies
        elif kind in _PASS and len(given) == 2:
            self.registers[given[0]] = self.place(given[1])
            self.far |= {given[0]} if given[1] in self.far else set()

    def _answer(self, predicate: str, to: str) -> None:
        at, place = self.answers.get(predicate), self.operand(to)
        if at is not None and place is not None:
            self.found[at] = replace(self.found[at], result=place)


def instructions(text: str) -> tuple[Instruction, ...] | None:
    """What a statement of assembly does with barriers, in order; None where some of it is not understood."""
    if not _ABOUT.search(text):
        return ()
    statement = _Statement(operands_of(text))
    for line in code_of(text):
        match = _INSTRUCTION.match(line.strip(" {}"))
        if match is None:
            if _ABOUT.search(line):
                return None
        elif not statement.does(match[2], _split(match[3]), match[1] or ""):
            return None
    return tuple(statement.found)


def _split(text: str) -> list[str]:
    """Operands, at the commas outside of brackets and braces."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "[{(") - (char in "]})")
        if char == "," and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return [p.strip() for p in parts if p.strip()]


__all__ = ["CHUNKS", "PRODUCTS", "REMOTE", "SPECIAL", "Instruction", "instructions"]
