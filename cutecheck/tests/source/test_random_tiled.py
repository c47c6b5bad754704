"""Random tiled copies and MMAs against a compiler: every value that is resolved is the one that CuTe prints."""

from pathlib import Path

import pytest

from cutecheck.exec.headers import NoHeaders, find_headers
from cutecheck.tests.precompiled import with_head
from cutecheck.tests.source.random_tiled.compare import differences, facts_of, said
from cutecheck.tests.source.random_tiled.configs import Config
from cutecheck.tests.source.random_tiled.reference import FLAGS, HEAD, Compiler, Shown

FOUND = find_headers()
SHALLOW, DEEP = range(7000, 7006), range(7008, 7009)  # more: scripts/random_tiled.py


@pytest.mark.skipif(isinstance(FOUND, NoHeaders), reason=FOUND.reason if isinstance(FOUND, NoHeaders) else "")
def test_what_is_said_of_random_configurations_is_what_cute_prints(tmp_path: Path) -> None:
    assert not isinstance(FOUND, NoHeaders)
    (tmp_path / "k").mkdir()
    configs = [*(Config(s, 0.0) for s in SHALLOW), *(Config(s, 1.0) for s in DEEP)]
    facts = facts_of(configs, tmp_path / "k")
    assert facts.errors == ()
    compiler = Compiler(FOUND, tmp_path, with_head(FOUND, FLAGS, HEAD))
    compiler.objects = ""  # none of these is refused, or few: that need not be told ahead
    results, known = compiler.run(configs), said(configs, facts)
    right = {"o": 0, "s": 0, "l": 0, "c": 0}
    for config in configs:
        shown = results[config.seed]
        if isinstance(shown, str):
            continue  # CuTe refuses it
        wrong, counts = differences(shown, known)
        assert wrong == [], config.kernel
        assert counts == {"right": len(set(shown))}
        for one in shown:
            right[one.kind] += 1
    assert all(right.values()), right


def test_the_comparison_tells_wrong_values(tmp_path: Path) -> None:
    config = Config(DEEP[0], 1.0)
    known = said([config], facts_of([config], tmp_path))
    ident = min(known)
    kinds = {"o": "TiledMMA", "s": "12345 _8:_1", "l": "_8:_1", "c": "(0,0) _8:_1"}
    for kind, text in kinds.items():
        wrong, counts = differences([Shown(0, 64, ident, kind, text)], known)
        assert len(wrong) == 1 and counts == {"wrong": 1}
    assert differences([Shown(0, 64, ident + 99, "l", "_8:_1")], known) == ([], {"not met": 1})
