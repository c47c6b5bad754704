"""Kernels that were run pass by pass: shared memory as it is filled, waited for, read and multiplied, step by step.

A tile is what was copied to a stage between two reads of it; it is named by where it comes from. Groups of ``cp.async``
are a queue. What one thread has waited for the others see after the next barrier.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from typing import cast

from cutecheck.facts import Call, Span
from cutecheck.facts.core import CHUNK
from cutecheck.facts.replayed import BY_HAND, OF_TENSOR, Place, Replay, Step
from cutecheck.rules.base import Context
from cutecheck.rules.derive.accumulators import by_one_path
from cutecheck.rules.derive.astray import astray
from cutecheck.rules.derive.carried import carried
from cutecheck.rules.derive.doubled import doubled
from cutecheck.rules.derive.faults import Fault, Kind
from cutecheck.rules.derive.fills import (
    FEW,
    Fill,
    Held,
    Key,
    Part,
    Root,
    Tile,
    by_others,
    holds,
    key_of,
    may_meet,
    may_overlap,
    of_others,
    one_slice,
    overlap,
)
from cutecheck.rules.derive.groups import COMMITS, name_of
from cutecheck.rules.derive.k_slices import Slices
from cutecheck.rules.derive.landing import landing
from cutecheck.rules.derive.left_out import before_the_start, missed, past_the_ends, unwritten
from cutecheck.rules.derive.loaded_over import loaded_over
from cutecheck.rules.derive.outside import outside
from cutecheck.rules.derive.parts import crosses, staged
from cutecheck.rules.derive.roles import faults_of_roles
from cutecheck.rules.derive.schemes import Pair, of_all, starts_again
from cutecheck.rules.derive.slices_left import slices_left
from cutecheck.rules.derive.unfilled_slices import unfilled_slices
from cutecheck.rules.derive.uses import holds_others
from cutecheck.rules.derive.warpgroups import by_other_warpgroups

_WAITS = ("cp_async_wait", "cp_async_wait_group")
_WGMMA = "wgmma"
_SAID_BY: dict[Kind, Kind] = {"shifted": "doubled"}  # the same mistake, where it comes from
_FENCES = re.compile(r"fence_proxy|fence_view_async|proxy_fence|fence_async|async_fence")


class _Run:
    def __init__(self, replay: Replay) -> None:
        self.replay = replace(replay, steps=staged(replay.steps))
        self.faults: list[Fault] = []
        self.now: dict[Key, Fill] = {}
        self.fills: dict[tuple[str, Root], list[Fill]] = defaultdict(list)
        self.held: dict[tuple[str, int], Held | tuple[str, int] | None] = {}
        self.products: dict[tuple[str, int], dict[tuple[Tile, Part, Tile, Part], Step]] = defaultdict(dict)
        self.pairs: list[Pair] = []  # of tiles that were multiplied
        self.slices = Slices()
        self.made: dict[int, int] = {}  # when products were computed, by the identity of their steps
        self.committed = self.done = self.seen = 0
        self.waited_all = self.seen_all = self.barrier = -1
        self.met = -1  # the last barrier of more than a warpgroup
        self.fenced = -1  # the last fence between the proxies
        self.set: set[str] = set()  # registers that were given values
        self.begins: dict[tuple[Key, int], int] = {}  # where the stage was filled from, the first time
        self.parted: set[tuple[str, Root]] = set()  # buffers of which parts of a stage are filled
        self.by_hand: set[str] = set()  # buffers of which single elements are read or stored
        self.stored: list[tuple[Key, str]] = []  # bits that have been stored by single elements, and how
        self.in_parts = {  # buffers of which not all that is read is a step
            p.buffer for s in self.replay.steps if s.function == CHUNK for p in s.places if p.space == "smem"
        }
        self.cleared: list[Key] = []  # bits that were given values without a copy
        self.blank: dict[Key, tuple[Step, Place]] = {}  # stages that were read before anything was copied there
        self.trusts = True  # no function that is not walked may have done so
        self.crossing: dict[Key, list[Key]] = defaultdict(list)  # tensors that lie over parts of one another
        self.multiplied: dict[tuple[str, Root], set[tuple[str, int]]] = {}  # what tiles of a tensor are made of
        self.wrong: list[Fault] = []  # products of tiles that do not belong together

    def run(self) -> list[Fault]:
        for at, step in enumerate(self.replay.steps):
            if step.kind == "call":
                if not self._is_helper(step, at):
                    self._call(step, at)
            elif step.kind == "copy" and len(step.places) == 2:
                self._copy(step, at)
            elif step.kind == "gemm" and len(step.places) in (3, 4):
                self._product(step, at)
            elif step.kind == "element" and step.function in (BY_HAND, OF_TENSOR):
                self.stored.append((key_of(step.places[0]), step.function))
            elif step.kind == "cleared":
                self.cleared += [key_of(p) for p in step.places]
            elif step.kind == "element":
                self.by_hand.update(p.buffer for p in step.places)
            elif step.kind == "unknown" and not step.places:
                self.trusts = self.trusts and step.function == "library"
            else:
                for place in step.places:
                    self._renew(place)
        if self.by_hand:  # what single elements of a buffer are is not followed
            self.faults = [f for f in self.faults if f.place.buffer not in self.by_hand]
            self.wrong.clear()
        if self.parted:  # a stage is filled part by part: which part is read is not told apart
            return [f for f in self.faults if (f.place.buffer, f.place.root) not in self.parted]
        if not self.faults:
            self._never_read()
            self._left_unread()
            self.faults += [f for f in self.wrong if not self._is_meant(f)][:1]
            apart = self.slices.shifted() if not self.faults else None
            self.faults += [Fault("shifted", apart, apart.places[-2])] if apart is not None else []
        return self.faults

    def _is_meant(self, fault: Fault) -> bool:
        return (fault.kind == "twice" and starts_again(self.pairs)) or (fault.kind == "mixed" and of_all(self.pairs))

    def _renew(self, place: Place) -> None:
        """Registers get values that are computed."""
        self.set.add(place.buffer)
        for key in [k for k in self.products if k[0] == place.buffer]:
            del self.products[key]
        for held in [k for k in self.held if k[0] == place.buffer]:
            self.held[held] = None

    def _is_helper(self, step: Step, at: int) -> bool:
        """The call of a function whose own wait, commit or barrier comes next, which is what counts.

        A program's own ``cp_async_wait<0>`` may be ``cp.async.wait_group 0``, which waits for no copy of no group.
        """
        after = next(iter(self.replay.steps[at + 1 : at + 2]), None)
        if after is None or after.kind != "call" or name_of(after.enclosing) != step.function:
            return False
        return step.function not in COMMITS[:-1] and (step.function not in _WAITS or after.function in _WAITS)

    def _call(self, step: Step, at: int) -> None:
        if step.function in COMMITS:
            self.committed += 1
        elif _FENCES.search(step.function):
            self.fenced = at
        elif step.function in _WAITS:
            left = step.number
            if left is not None:
                self.done = max(self.done, self.committed - left)
            if left is None or (left == 0 and step.function == "cp_async_wait"):
                self.done, self.waited_all = self.committed, at
        elif holds_others(step.function):
            self.barrier, self.seen, self.seen_all = at, self.done, self.waited_all
            self.met = self.met if "warpgroup" in step.function else at
        elif "wait" in step.function:
            self.done, self.waited_all = self.committed, at  # of another kind: for whatever it is

    def _copy(self, step: Step, at: int) -> None:
        source, target = step.places
        what = self._read(step, source, at)
        if target.space == "smem":
            self._written(step, source, target, at, what)
        elif target.space == "rmem":
            self.set.add(target.buffer)
            self.held[(target.buffer, target.offset)] = what
            for key in [k for k in self.products if k[0] == target.buffer]:
                del self.products[key]
        if source.space == "rmem":  # results that are stored: the next product is another sum
            for key in [k for k in self.products if k[0] == source.buffer]:
                del self.products[key]

    def _read(self, step: Step, place: Place, at: int) -> Held | tuple[str, int] | None:
        """What is read there, after whether it may be."""
        if place.space == "gmem" or not place.buffer:
            return (place.buffer, place.offset) if place.buffer else None
        if place.space == "rmem":
            return self.held.get((place.buffer, place.offset))
        self._torn(step, place)
        fill = self.now.get(key_of(place))
        if fill is None and step.span.is_python and not step.maybe:
            self._read_blank(step, place)
        if fill is None or (step.function == CHUNK and not may_meet(fill.wrote, place.touch)):
            return None
        parts = fill.parts.values()
        by_groups = step.function == _WGMMA and self.trusts and by_other_warpgroups(fill.writers, step, place)
        by_threads = step.function != _WGMMA  # a WGMMA comes after what all warps of its warpgroup have waited for
        if not any(self._arrived(group, when) for group, when, _ in parts):
            self._note(Fault("early", step, place, fill.step, fill.number))
        elif not by_threads and any(g is None and when > self.fenced for g, when, _ in parts) and self.trusts:
            if not step.span.is_python:
                self._note(Fault("unfenced", step, place, fill.step, fill.number))
        elif not any(self._visible(group, when) for group, when, _ in parts) and (
            by_others(fill, place) if by_threads else by_groups
        ):
            self._note(Fault("unseen", step, place, fill.step, fill.number))
        fill.read = step
        if by_groups:
            fill.groups_at = at
        if by_threads:
            fill.read_at = at
            fill.reads.append((at, place.touch))
        if step.function != CHUNK:
            fill.readers.add(place.source)
        return fill, (place.offset - min(fill.parts), place.view)

    def _read_blank(self, step: Step, place: Place) -> None:
        """A stage is read to which nothing has been copied yet, as it has been to others of its tensor.

        One that nothing is ever copied to may be read ahead, and not used.
        """
        key = key_of(place)
        others = self.fills.get((place.buffer, place.root), [])
        if place.bits == place.root or place.bits[1] <= place.bits[0] or place.root[1] <= place.root[0]:
            return
        if not others or any(may_overlap(k, key) for k in self.cleared):
            return
        if not any(overlap(f.key, key) for fills in self.fills.values() for f in fills):
            self.blank.setdefault(key, (step, place))

    def _laid_over(self, of: Key) -> None:
        """Which other tensors lie over a part of this one, and go on outside of it, as this one does."""
        for other in self.fills:
            if other != of and overlap(other, of) and not holds(other[1], of[1]) and not holds(of[1], other[1]):
                self.crossing[of].append(other)
                self.crossing[other].append(of)

    def _torn(self, step: Step, place: Place) -> None:
        """A tile is read of which another tensor's copy has overwritten a part since."""
        of, key = (place.buffer, place.root), key_of(place)
        if of not in self.crossing:
            return
        mine = next((f for f in reversed(self.fills[of]) if f.key == key), None)
        others = (f for other in self.crossing[of] for f in reversed(self.fills[other]) if overlap(f.key, key))
        newer = next((f for f in others if mine is not None and f.at > mine.at and not f.maybe), None)
        if mine is not None and newer is not None:
            self._note(Fault("torn", step, place, newer.step, mine.number))

    def _arrived(self, group: int | None, when: int) -> bool:
        return group is None or group < self.done or when <= self.waited_all

    def _visible(self, group: int | None, when: int) -> bool:
        if group is None:
            return when < self.barrier
        return group < self.seen or when <= self.seen_all

    def _written(self, step: Step, source: Place, target: Place, at: int, what: Held | tuple[str, int] | None) -> None:
        key = key_of(target)
        under_way = landing(step, target, self.now.values(), self._arrived, self._visible) if self.trusts else None
        if under_way is not None and not any(f.kind == "early" for f in self.faults):  # that was said where it is read
            self._note(under_way)
        fill = self.now.get(key)
        if fill is None or fill.read is not None or target.offset in fill.parts:
            if self.begins.setdefault((key, target.view), target.offset) != target.offset:
                self.parted.add((target.buffer, target.root))
            busy = fill is not None and (fill.read_at > self.barrier or fill.groups_at > self.met)
            if fill is not None and fill.read is not None and busy and self._read_by_others(fill, step, target):
                self._note(Fault("overwritten", step, target, fill.read, fill.number))
            every = self.fills[(target.buffer, target.root)]
            fill = Fill(key, (target.buffer, target.root), len(every), step)
            if not every:
                self._laid_over(fill.of)
            every.append(fill)
            for gone in [k for k in self.now if overlap(k, key)]:
                del self.now[gone]
            self.now[key] = fill
        if key in self.blank and not step.maybe:
            self._note(Fault("blank", *self.blank.pop(key), step))
        origin = (what[0], what[1]) if what is not None and isinstance(what[0], str) else None
        group = self.committed if step.asynchronous else None
        fill.parts[target.offset] = (group, at, origin)
        fill.at = at
        fill.writers.add(target.source)
        fill.wrote.append(target.touch)
        fill.maybe &= step.maybe

    def _read_by_others(self, fill: Fill, step: Step, target: Place) -> bool:
        """Threads have read, since the last barrier, what others overwrite."""
        plain = step.function != CHUNK and fill.read is not None and fill.read.function != CHUNK
        if plain and None not in fill.readers:
            return of_others(fill.readers, target.source)
        since = [touch for when, touch in fill.reads if when > self.barrier]
        return target.touch is not None and any(t is not None and crosses(t, target.touch) for t in since)

    def _product(self, step: Step, at: int) -> None:
        *_, a, b, c = step.places
        sums = step.places[0] if len(step.places) == 4 else c
        if step.function == _WGMMA and step.adds is not True:
            self.set.add(sums.buffer)  # it begins another sum, or may do so
            for key in [k for k in self.products if k[0] == sums.buffer]:
                del self.products[key]
        if (
            (step.function != _WGMMA or step.adds is True)
            and {sums.space, c.space} == {"rmem"}
            and c.buffer == sums.buffer
            and sums.buffer not in self.set
            and self.trusts
        ):
            self._note(Fault("unset", step, sums))
            self.set.add(sums.buffer)
        held = [self._read(step, p, at) for p in (a, b)]
        if sums.space != "rmem" or any(h is None or isinstance(h[0], str) for h in held):
            return
        (first, low), (second, high) = cast("list[Held]", held)
        one, other = first.tile, second.tile
        if one is None or other is None or first.of == second.of:
            return
        self.multiplied.setdefault(first.of, set()).update(one)
        self.multiplied.setdefault(second.of, set()).update(other)
        known = self.products[(sums.buffer, sums.offset)]
        before = known.get((one, low, other, high))
        go_on = self._goes_on(first) and self._goes_on(second)
        if before is not None and go_on:
            self.wrong.append(Fault("twice", step, a, before, first.number))
        elif go_on and any(
            (x[0] == one) != (x[2] == other) and self.made[id(s)] < self.barrier for x, s in known.items()
        ):
            self.wrong.append(Fault("mixed", step, a, second.step, first.number))
        elif self.trusts and (self._stays(known, (one, low), (other, high), first, second)):
            self.wrong.append(Fault("stale", step, b, second.step, second.number))
        elif self.trusts and (self._stays(known, (other, high), (one, low), second, first, True)):
            self.wrong.append(Fault("stale", step, a, first.step, first.number))
        elif self.trusts and (alone := one_slice(known, (one, low, other, high))) is not None:
            self.wrong.append(Fault("unpaired", step, (a, b)[alone[0]], alone[1]))
        self.slices.meet(sums, (one, low), (other, high), step)
        self.pairs.append((one, other, first.number, second.number))
        self.made[id(known.setdefault((one, low, other, high), step))] = at

    def _stays(
        self, known: dict[tuple[Tile, Part, Tile, Part], Step], new: tuple[Tile, Part], old: tuple[Tile, Part],
        filled: Fill, stays: Fill, swapped: bool = False,
    ) -> bool:  # fmt: skip
        """In one sum the same part of a tile meets that of several tiles of the other buffer, which is filled anew.

        An operand that stays for the whole kernel has other sums for the other one's tiles, or another part for each.
        """
        if self._goes_on(stays) or not self._goes_on(filled):
            return False
        met = {(x[2:] if swapped else x[:2]) for x in known if (x[:2] if swapped else x[2:]) == old}
        return len({tile for tile, part in met if part == new[1]} | {new[0]}) >= FEW

    def _goes_on(self, fill: Fill) -> bool:
        """The buffer has had several tiles by now, each from another place."""
        return len(self.fills[fill.of]) >= FEW

    def _never_read(self) -> None:
        """Tiles that are overwritten and never read, as others of their buffer are; the last ones may be too many."""
        for fills in self.fills.values():
            used = {f.tile for f in fills if f.read is not None}
            if len(fills) < FEW or not used - {None} or fills[0].key[0] in self.in_parts:
                continue
            for fill in fills:
                gone = fill.read is None and not fill.maybe and self.now.get(fill.key) is not fill
                again = any(f.tile == fill.tile for f in fills[fill.number + 1 :])
                if gone and fill.tile is not None and fill.tile not in used and not again:
                    self._note(Fault("lost", fill.step, fill.step.places[1], None, fill.number))
                    break

    def _left_unread(self) -> None:
        """Of tiles that all are to be used one is copied, as often as it may be, and never read, or never multiplied as
        the others are: a loop ends early."""
        if self.faults or not self.replay.complete:
            return
        for of, fills in self.fills.items():
            if of[0] in self.by_hand:
                continue
            read = {source for f in fills if f.read is not None for source in f.tile or ()}
            used = self.multiplied.get(of, read)  # the first part of a tile may be read ahead, for the next pass
            known = all(f.tile is not None for f in fills) and fills[0].key[0] not in self.in_parts
            of_one = len({matrix for f in fills for matrix, _ in f.tile or ()}) == 1  # else one lies over the other
            if not known or not of_one or len(used) < FEW:
                continue
            for fill in fills:
                left = [s for s in fill.tile or () if s not in used]
                if left and left[0][0] in self.replay.whole:
                    self._note(Fault("unused", fill.step, fill.step.places[1], None, fill.number))
                    break

    def _note(self, fault: Fault) -> None:
        pieces = CHUNK in (fault.step.function, fault.other.function if fault.other is not None else "")
        if any(may_overlap(key, key_of(fault.place)) and (pieces or how == OF_TENSOR) for key, how in self.stored):
            return  # what is there now is not followed
        if not any((f.kind, f.step.span) == (fault.kind, fault.step.span) for f in self.faults):  # once a place
            self.faults.append(fault)


def _before_wgmma(replay: Replay, told: set[tuple[Kind, Span]]) -> list[Fault]:
    """What goes wrong before the first WGMMA: what comes later may fill the stages in parts, which hides it."""
    first = next((i for i, s in enumerate(replay.steps) if s.function == _WGMMA), 0)
    found = _Run(replace(replay, steps=replay.steps[:first], complete=False)).run() if first else []
    return [f for f in found if f.kind in ("unseen", "overwritten") and (f.kind, f.step.span) not in told]


def faults_of(call: Call, context: Context) -> list[Fault]:
    """What goes wrong in a kernel that was run; nothing of other calls."""
    replay = call.arguments[0] if call.function == "replay" and call.arguments else None
    if not isinstance(replay, Replay):
        return []
    found = cast("dict[int, list[Fault]]", context.memo.setdefault("replays", {}))
    if id(replay) not in found:
        made = faults_of_roles(replay) if replay.threads else []
        more = carried(replay.threads, replay.in_turn) if not made else None
        made += [more] if more is not None else []
        made += _Run(replay).run() if replay.steps or not replay.threads else []
        made += _before_wgmma(replay, {(f.kind, f.step.span) for f in made})
        made += [] if replay.threads else [Fault(*wrong) for wrong in by_one_path(replay.steps)]
        if replay.more is not None:
            told = {(f.kind, f.step.span) for f in made}
            made += [f for f in _Run(replay.more).run() if (f.kind, f.step.span) not in told]
        unset = [f for f in unwritten(replay) if (f.kind, f.step.span) not in {(g.kind, g.step.span) for g in made}]
        found[id(replay)] = [*made, *unset, *past_the_ends(replay), *missed(replay), *doubled(replay)]
        found[id(replay)] += [*loaded_over(replay), *unfilled_slices(replay, call, context)]
        found[id(replay)] += outside(replay, call, context)
        found[id(replay)] += [*before_the_start(replay), *astray(replay), *slices_left(replay, call, context)]
        kinds = {f.kind for f in found[id(replay)]}
        found[id(replay)] = [f for f in found[id(replay)] if _SAID_BY.get(f.kind) not in kinds]
    return found[id(replay)]
