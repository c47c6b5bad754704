"""Questions that differ in the numbers of names alone are one question, answered with the names of each."""

from __future__ import annotations

from cutecheck.model.expr import ANY, Domain, add, const, mul, var
from cutecheck.model.ints import Condition, Rel
from cutecheck.model.layout import Layout
from cutecheck.model.prove import Obligation, Options, Outcome, Verdict, make_obligation, prove, question
from cutecheck.model.prove import properties as p
from cutecheck.model.prove.canonical import canonical, renamed, restated, unnumbered
from cutecheck.model.units import Bits, Bytes


def aligned(*names: str, factors: tuple[int, ...] = (8, 4), divided: str = "") -> Obligation:
    offset = const(0)
    for name, factor in zip(names, factors, strict=True):
        offset = add(offset, mul(const(factor), var(name)))
    payload = p.Alignment(Bits(16), Bytes(16), offset, Bytes(16), Layout(4, 16))
    given = [Condition(Rel.DIVIDES, const(2), var(divided))] if divided else []
    return make_obligation(payload, [f"of {names}"], hypotheses=given)


def test_numbers_of_names_are_no_part_of_the_question() -> None:
    cache: dict[str, Outcome] = {}
    one = prove(aligned("i#7", "k~?3"), Options(cache=cache))
    two = prove(aligned("i#12", "k~?41"), Options(cache=cache))
    assert len(cache) == 1 and one.verdict is two.verdict is Verdict.REFUTED
    assert one.witness is not None and two.witness is not None
    assert dict(one.witness.values)["k~?3"] == dict(two.witness.values)["k~?41"]
    assert "#7" not in str(two.witness) and "k~?41" in two.scope and "k~?3" in one.scope


def test_an_answer_does_not_depend_on_who_asked_first() -> None:
    others = [aligned("i#7", "k#100"), aligned("i#12", "k#13")]
    alone = [prove(o, Options(cache={})) for o in others]
    for order in (others, others[::-1]):
        cache: dict[str, Outcome] = {}
        together = {o.id: prove(o, Options(cache=cache)) for o in order}
        for o, expected in zip(others, alone, strict=True):
            found = together[o.id]
            assert (found.witness, found.scope, found.reason) == (expected.witness, expected.scope, expected.reason)


def test_other_questions_keep_their_answers() -> None:
    base = question(aligned("i#7", "k#9", divided="k#9"))
    assert base == question(aligned("i#70", "k#90", divided="k#90"))
    assert base != question(aligned("i#7", "k#9", divided="i#7"))
    assert base != question(aligned("i#7", "k#9"))
    assert base != question(aligned("i#7", "k~9", divided="k~9"))
    assert base != question(aligned("i#7", "j#9", divided="j#9"))
    assert question(aligned("i#7", "i#9")) != question(aligned("i#7", "i#9", factors=(4, 8)))
    assert prove(aligned("i#7", "k#9", divided="k#9"), Options(cache={})).verdict is Verdict.PROVED
    assert prove(aligned("i#7", "k#9", divided="i#7"), Options(cache={})).verdict is Verdict.REFUTED


def test_all_ends_are_replaced_at_once() -> None:
    swapped = {"#1": "#2", "#2": "#1"}
    a, b = var("x#1", Domain(0, 3)), var("x#2", ANY)
    e = add(mul(const(5), a), b)
    found = renamed((e, "x#1 and x#2, x#12"), swapped)
    assert found == (add(mul(const(5), var("x#2", Domain(0, 3))), var("x#1", ANY)), "x#2 and x#1, x#12")
    assert renamed(found, swapped) == (e, "x#1 and x#2, x#12")


def test_a_question_without_numbers_is_its_own() -> None:
    plain = aligned("lda", "k")
    assert restated(canonical(plain)) is plain and not canonical(plain).names


def test_data_without_numbers_and_back() -> None:
    e = add(mul(const(5), var("x#71")), var("y~8"))
    found, names = unnumbered((e, "of x#71"))
    assert found == (add(mul(const(5), var("x#001")), var("y~000")), "of x#001")
    assert renamed(found, names) == (e, "of x#71")
