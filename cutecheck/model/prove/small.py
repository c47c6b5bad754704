"""Counterexamples in numbers that people can check: what is large is made small as long as it shows the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cutecheck.model.expr import Domain
from cutecheck.model.prove.answer import Answer
from cutecheck.model.prove.domains import first_values, variable_domains
from cutecheck.model.prove.obligation import Obligation, Witness
from cutecheck.model.prove.replay import replayed

_LARGE = 4096
_SHOWN = ("wavefronts", "ideal", "excess", "sectors", "least")


def in_small_numbers(obligation: Obligation, answer: Answer, witness: Witness) -> Witness:
    """The witness with each number below 0 or above 4,096 at the smallest one tried that replays at the same cost.

    Engines choose their numbers by what they need: any of a residue class, or one so far off that no two lanes share
    a word. All but the one that is changed stay as they are, so numbers that hypotheses tie together may stay large.
    """
    values = dict(answer.values)
    for name, domain in variable_domains(obligation).items():
        if name in values and not 0 <= values[name] <= _LARGE:
            for smaller in _smaller(domain, values[name]):
                tried = replace(answer, values=tuple({**values, name: smaller}.items()))
                found = replayed(obligation, tried)
                if found is not None and _shown(found) == _shown(witness):
                    values[name], witness = smaller, found
                    break
    return witness


def _smaller(domain: Domain, value: int) -> Iterator[int]:
    """Members of a domain nearer to 0 than ``value``: its first, its step doubled, and ``value`` modulo these."""
    tried = set()
    powers = (domain.step << i for i in range(abs(value).bit_length()))
    for one in (*first_values(domain, 4), *(v for p in powers for v in (p, value % p))):
        if one not in tried and 0 <= one < abs(value):
            tried.add(one)
            yield one


def _shown(witness: Witness) -> tuple[tuple[str, str | int], ...]:
    return tuple((n, v) for n, v in witness.values if n in _SHOWN)
