"""A warm run is a cold one: after any edit, what is remembered and what is evaluated give the same facts."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from cutecheck.cache import Store, open_store
from cutecheck.facts import Facts
from cutecheck.source.eval import limits
from cutecheck.source.eval.limits import Limits
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest
from cutecheck.source.translate import Job, Part, Translator
from cutecheck.tests.source.test_workers import tree


def facts(folder: Path, store: Store | None, jobs: int = 1, **more: object) -> Facts:
    given = ExtractRequest((folder / "src",), include_dirs=(folder / "inc",), jobs=jobs, store=store, **more)  # type: ignore[arg-type]
    return extract(given)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "inc").mkdir()
    tree(tmp_path / "src", 5)
    (tmp_path / "src" / "tile.h").write_text(
        '#pragma once\n#include "width.h"\nusing Tile = Layout<Shape<Int<W>, _8>>;\n'
    )
    (tmp_path / "src" / "width.h").write_text("#pragma once\n#define W 16\n")
    (tmp_path / "src" / "deep" / "user.cu").write_text(
        '#include <cute/tensor.hpp>\n#include "../tile.h"\n#include "missing.h"\n#include <far/away.h>\n'
        "using namespace cute;\nusing Here = Tile;\n#ifdef MORE\nusing More = Layout<Shape<_4, Int<W>>>;\n#endif\n"
    )
    return tmp_path


KERNEL = '#include "kernel.cuh"\nvoid f{0}(half_t* p) {{ kernel<8 * {0}, true, false><<<1, 32>>>(p); }}\n'
NEW = '#include "kernel.cuh"\nusing New = Layout<Shape<_{0}, _8>>;\n'


def edits(project: Path, pick: random.Random) -> str:
    """One random change of the tree; what it was."""
    src, n = project / "src", pick.randrange(1, 9)
    unit = src / f"unit{pick.randrange(5)}.cu"
    changes = {
        "macro": lambda: (src / "width.h").write_text(f"#pragma once\n#define W {8 * n}\n"),
        "shadow": lambda: (src / "deep" / "width.h").write_text(f"#define W {n}\n"),
        "beside": lambda: (src / "deep" / "missing.h").write_text(f"#define MORE {n}\n"),
        "on the include path": lambda: _made(project / "inc" / "far" / "away.h", f"#define MORE {n}\n"),
        "in the tree": lambda: _made(src / f"other{n}" / "far" / "away.h", f"#define MORE {n}\n#define N{n}\n"),
        "kernel": lambda: unit.write_text(KERNEL.format(n)),
        "comment in a header": lambda: (src / "kernel.cuh").write_text(
            (src / "kernel.cuh").read_text().replace("half_t* p)", f"half_t* p  // {n}\n)" if n > 4 else "half_t* p )")
        ),
        "comments of a header": lambda: (src / "kernel.cuh").write_text(
            "".join(f"{line} // {n}\n" for line in (src / "kernel.cuh").read_text().splitlines())
        ),
        "a branch that is off": lambda: (src / "tile.h").write_text(
            (src / "tile.h").read_text() + f"#if 0\nusing Off = Layout<Shape<_{n}, _8>>;\n#endif\n"
        ),
        "comment": lambda: unit.write_text(unit.read_text() + f"// {n}\n") if unit.exists() else None,
        "line above": lambda: unit.write_text("\n" + unit.read_text()) if unit.exists() else None,
        "gone": lambda: unit.unlink(missing_ok=True),
        "header gone": lambda: (src / "deep" / pick.choice(("width.h", "missing.h"))).unlink(missing_ok=True),
        "new": lambda: (src / f"new{n}.cu").write_text(NEW.format(n)),
    }  # fmt: skip
    name = pick.choice(sorted(changes))
    changes[name]()
    return name


def _made(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize("seed", range(6))
def test_warm_equals_cold_after_random_edits(project: Path, seed: int) -> None:
    pick, store, done = random.Random(seed), open_store(str(project / "cache")), []
    assert store is not None
    facts(project, store)
    for _ in range(12):
        done += [edits(project, pick) for _ in range(pick.randrange(1, 3))]
        jobs = pick.choice((1, 1, 1, 2))
        file = pick.choice(sorted((project / "src").rglob("*.*")))
        changed = pick.choice((None, None, (file,)))  # the whole tree, or one file of it as the hook does
        warm, cold = facts(project, store, jobs, changed=changed), facts(project, None, changed=changed)
        assert repr(warm) == repr(cold), (done, changed)


def test_only_what_an_edit_reaches_is_evaluated(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(str(project / "cache"))
    evaluate, seen = Translator.run, []

    def run(self: Translator, job: Job, launches: object) -> Part:
        seen.append(job.path)
        return evaluate(self, job, launches)  # type: ignore[arg-type]

    monkeypatch.setattr(Translator, "run", run)
    facts(project, store)
    assert len(set(seen)) == 6
    seen.clear()
    facts(project, store)
    assert seen == []
    (project / "src" / "width.h").write_text("#define W 24\n")
    facts(project, store)
    assert set(seen) == {"deep/user.cu"}


def test_comments_are_not_evaluated(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(str(project / "cache"))
    evaluate, seen = Translator.run, []

    def run(self: Translator, job: Job, launches: object) -> Part:
        seen.append(job.path)
        return evaluate(self, job, launches)  # type: ignore[arg-type]

    before = facts(project, store)
    monkeypatch.setattr(Translator, "run", run)
    header = project / "src" / "kernel.cuh"
    text = header.read_text()
    header.write_text(text.replace("using namespace cute;", "using namespace cute;  // all of it").replace(
        "  copy(s, r);", "  copy(s, r); /* here */"))  # fmt: skip
    assert facts(project, store) == before
    assert seen == []
    header.write_text(text.replace("copy(s, r);", "// copy(s, r);"))
    after = facts(project, store)
    assert seen and len(after.events) < len(before.events)
    header.write_text("// a line more\n" + text)
    assert facts(project, store) == facts(project, None) != before
    header.write_text(text.replace("using Shared", "// cutecheck: instantiate Unused<2>\nusing Shared"))
    assert facts(project, store) == facts(project, None)


CLASSES = """
struct Mine {};
void f() {
  auto mma = make_tiled_mma(SM100_MMA_F8F6F4_SS<Mine, Mine, float, 128, 128, UMMA::Major::K, UMMA::Major::K>{});
  auto rows = logical_divide(make_layout(Shape<_4, _8>{}), make_tuple(Mine{}, make_tuple(Mine{}, _4{})));
  auto data = make_tensor(make_gmem_ptr(static_cast<Mine*>(nullptr)), make_layout(_4{}));
  int x = 0;
  int* to = &x;
  auto part = local_tile(data, make_tuple(to, make_tuple(to)), 0);
}
"""


def test_classes_of_the_tree_in_arguments_do_not_keep_facts_from_being_kept(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(str(project / "cache"))
    unit = project / "src" / "classes.cu"
    unit.write_text("#include <cute/tensor.hpp>\nusing namespace cute;\n" + CLASSES)
    cold = facts(project, store)
    assert {"make_tiled_mma", "logical_divide", "local_tile"} <= {
        c.function for c in cold.calls if c.span.path in str(unit)
    }
    monkeypatch.setattr(Translator, "run", lambda *_: pytest.fail("evaluated again"))
    assert facts(project, store) == cold


def test_requests_do_not_share_what_they_differ_in(project: Path) -> None:
    store = open_store(str(project / "cache"))
    for more in ({}, {"defines": ("MORE",)}, {"archs": ("sm_90a",)}, {"limits": Limits(flag_combinations=4)}):
        for _ in range(2):
            assert facts(project, store, **more) == facts(project, None, **more)


def test_entries_that_are_no_facts_are_not_believed(project: Path) -> None:
    store = open_store(str(project / "cache"))
    assert store is not None
    whole = facts(project, store)
    for text in ("", "[]", "[[],[],null]", '{"a":1}', "[[[1,2]],3,4]"):
        for key in store.keys("units"):
            store.put("units", key, text)
        assert facts(project, store) == whole


def test_limits_that_shrink_with_the_number_of_units_are_part_of_the_question(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(str(project / "cache"))
    idle = "int g(int s) {{ {} Tile t; return s; }}\n".format(" ".join(f"s = s * 3 + {i};" for i in range(6500)))
    user = project / "src" / "deep" / "user.cu"
    user.write_text(user.read_text() + idle)
    assert facts(project, store).errors == ()
    monkeypatch.setattr(limits, "MANY_UNITS", 1)
    less = facts(project, store)
    assert less == facts(project, None) == facts(project, store)
    assert any("more than 30000 evaluation steps" in e.message for e in less.errors)
