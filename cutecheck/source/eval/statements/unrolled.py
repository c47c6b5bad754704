"""Loops whose conditions are known, pass by pass: of constexpr functions, and in a kernel that is run pass by pass."""

from __future__ import annotations

from contextlib import nullcontext

from cutecheck.model.identity import once
from cutecheck.source.eval import conversions, ir, leaks
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.mentions import parts_in
from cutecheck.source.eval.record.replay import Replaying
from cutecheck.source.eval.record.rounds import Rounds
from cutecheck.source.eval.record.running import FEW, MORE_PASSES, PASSES
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.statements.done import Done
from cutecheck.source.eval.statements.enumerated import Enumerated
from cutecheck.source.eval.statements.loop_text import is_endless, runs_once
from cutecheck.source.eval.statements.some_threads import parted

_MAY_END = 64  # places where an exact loop may have ended, past which it is walked as one that is not known
_MAY_END_DEAR = 4  # of one on the host whose passes took many steps: what waits for something, or tries again
_MAY_END_ON_HOST = 16  # of a function of C++ for host code: the highest bit of a number that is not known
_DEAR = 10_000
_COUNTED = 4000  # steps of a loop without copies in a kernel that is run pass by pass


def unroll(m: Machine, node: ir.Loop, env: Env, most: int, steps: int | None = None) -> Done | None:
    """Run a loop of a constexpr function, or one that only computes, exactly.

    None when a condition is not known, or after so many iterations or steps (state is restored).
    """
    replay = m.recorder.acts()
    if replay is None:
        return _one_by_one(m, node, env, most, steps, None)
    told = replay.by_tiles(node, env) or _is_flag(node.cond)
    with replay.rounds.inside(id(node), id(node) in m.recorder.eventful, told):
        return _one_by_one(m, node, env, most, steps, replay.rounds)


def _is_flag(asked: ir.Expr | None) -> bool:
    """``tile.valid``, which what goes on to the next tile, a scheduler of the program's own, has set by comparing."""
    while isinstance(asked, ir.Attr):
        asked = asked.base
    return isinstance(asked, ir.Name)


def _one_by_one(
    m: Machine, node: ir.Loop, env: Env, most: int, steps: int | None, rounds: Rounds | None
) -> Done | None:
    mark = m.journal.mark()
    begin = m.budget.used
    loop = Enumerated(m, node.span, env)
    replay = m.recorder.replaying
    known_steps = 0 if replay is None else len(replay.steps)

    def idle() -> bool:
        """A run pass by pass has met no step in a loop that only its body ends."""
        return replay is not None and is_endless(node) and len(replay.steps) == known_steps

    counts = rounds is not None and steps is None and not is_endless(node) and node.step is not None
    for _ in range((max(most, MORE_PASSES) if counts else most) + 1):
        if _ > most and rounds is not None and not rounds.constant():
            _given_up(node, replay, rounds, idle())
            break
        if steps is not None and m.budget.used - begin > steps:
            break
        if _ > FEW and replay is not None and id(node) in replay.endless and idle():
            replay.long = True
            break
        if not (node.kind == "do" and _ == 0):
            with rounds.asking(is_endless(node), id(node)) if rounds is not None else nullcontext():
                asked = conversions.tested(m, node.cond, env) if node.cond is not None else True
                known = m.dialect.truth(asked)
            come = parted(m, node, env, loop) if known is None and steps is None and replay is not None else None
            if come:
                if node.step is not None:
                    m.run(node.step, env)
                continue
            if known is None and come is None and replay is not None and replay.by_tiles(node, env):
                known = _ == 0
            elif known is None and come is None and replay is not None and node.kind == "while" and _is_flag(node.cond):
                known = replay.supposes(node, asked, _, isinstance(node.cond, ir.Attr))
            if known is None and come is None:
                m.journal.undo(mark)
                return None
            if not known:
                return loop.end(Done.NORMAL)
        foresees = replay is not None and replay.foresees and _ > FEW and not _is_left(node)
        if foresees and rounds is not None and replay is not None and _ + rounds.coming(replay.number) > most:
            _given_up(node, replay, rounds, idle())
            break
        if rounds is not None and rounds.enough(id(node), _):
            rounds.too_long(id(node))
            break
        done = loop.walk(node.body)
        if done is not Done.NORMAL:
            return loop.end(done)
        dear = not m.dialect.by_value and m.budget.used - begin > _DEAR
        on_host = m.dialect.by_value and not m.recorder.in_kernel()
        if len(loop.exits.states) > (_MAY_END_DEAR if dear else _MAY_END_ON_HOST if on_host else _MAY_END):
            break
        if node.step is not None:
            m.run(node.step, env)
    else:
        _given_up(node, replay, rounds, idle())
    m.journal.undo(mark)
    return None


@once
def _is_left(node: ir.Loop) -> bool:
    """Whether something in a loop's body leaves it."""
    parts = parts_in(node.body)
    return any(isinstance(at, ir.Return) or (isinstance(at, ir.Jump) and at.kind != "continue") for at in parts)


def _given_up(node: ir.Loop, replay: Replaying | None, rounds: Rounds | None, idle: bool) -> None:
    """A loop has more passes than are run."""
    if replay is not None:
        replay.long = True
        if idle:  # nor will it have one for a thread of another role
            replay.endless.add(id(node))
    if rounds is not None:
        rounds.too_long(id(node))


def counted(m: Machine, node: ir.Loop, env: Env) -> Done | None:
    """Run a loop without steps that sets variables around it, in a kernel run pass by pass, if it is told how often."""
    if node.kind == "foreach" or runs_once(node):
        return None
    mark = m.journal.mark()
    inner = Env(env, "block") if m.dialect.block_scope else env
    if node.init is not None:
        m.run(node.init, inner)
    replay = m.recorder.acts()
    known = len(replay.steps) if replay is not None else 0
    done = unroll(m, node, inner, PASSES, _COUNTED)
    if inner is not env:
        leaks.gone(m, inner)  # before they are no variables of it
    if done is None:
        m.journal.undo(mark)
        if replay is not None:
            del replay.steps[known:]
    return done
