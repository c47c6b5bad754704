"""Facts of Python files that were kept: each while all that its own run read and looked for is as it was."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from cutecheck.cache import Store, open_store
from cutecheck.facts import Facts
from cutecheck.source import scripts
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

SIZES = "WIDTH = 8\n"
KERNEL = """
import cutlass
import cutlass.cute as cute
from lib.sizes import WIDTH
try:
    from lib.more import HEIGHT
except ImportError:
    HEIGHT = 4

@cute.kernel
def kernel(x: cute.Tensor):
    tile = cute.make_layout((HEIGHT, WIDTH))
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32)
    copy = cute.make_tiled_copy_tv(atom, cute.make_layout(32), cute.make_layout(4))
    cute.copy(copy, x, x)

@cute.jit
def host(x: cute.Tensor):
    kernel(x).launch(grid=[1, 1, 1], block=[32, 1, 1])
"""
DRIVER = """
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack
from lib.kernel import host

# sm_90a: what is imported is not looked through for architectures
host(from_dlpack(torch.zeros({n}, 4)))
"""
OWN = """
import cutlass.cute as cute

@cute.jit
def own(rows: cute.Tensor):
    cute.make_layout(({n}, 4))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    lib = tmp_path / "src" / "lib"
    lib.mkdir(parents=True)
    (lib / "__init__.py").write_text("")
    (lib / "sizes.py").write_text(SIZES)
    (lib / "kernel.py").write_text(KERNEL)
    for n in (1, 2):
        (tmp_path / "src" / f"driver{n}.py").write_text(DRIVER.format(n=8 * n))
        (tmp_path / "src" / f"own{n}.py").write_text(OWN.format(n=n))
    return tmp_path


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were evaluated."""
    paths: list[str] = []
    one = scripts._Work.one
    monkeypatch.setattr(scripts._Work, "one", lambda work, path: paths.append(path) or one(work, path))
    return paths


def facts(folder: Path, store: Store | None, jobs: int = 1, changed: tuple[Path, ...] | None = None) -> Facts:
    return extract(ExtractRequest((folder / "src",), jobs=jobs, store=store, changed=changed))


def edit(folder: Path, pick: random.Random) -> str:
    """One change to the project, and its name."""
    src, n = folder / "src", pick.randrange(2, 30)
    driver = src / f"driver{pick.choice((1, 2))}.py"
    changes = {
        "sizes": lambda: (src / "lib" / "sizes.py").write_text(f"WIDTH = {n}\n"),
        "found now": lambda: (src / "lib" / "more.py").write_text(f"HEIGHT = {n}\n"),
        "gone": lambda: (src / "lib" / "more.py").unlink(missing_ok=True),
        "kernel": lambda: (src / "lib" / "kernel.py").write_text(KERNEL.replace("HEIGHT = 4", f"HEIGHT = {n}")),
        "driver": lambda: driver.write_text(DRIVER.format(n=n)),
        "own": lambda: (src / "own1.py").write_text(OWN.format(n=n)),
        "another": lambda: (src / f"own{n}.py").write_text(OWN.format(n=n)),
        "beside": lambda: (src / "lib" / "cutlass.py").write_text(f"# {n}\n"),
        "package": lambda: (src / "lib" / "__init__.py").write_text(f"N = {n}\n"),
    }  # fmt: skip
    name = pick.choice(sorted(changes))
    changes[name]()
    return name


@pytest.mark.parametrize("seed", range(6))
def test_warm_equals_cold_after_random_edits(project: Path, seed: int) -> None:
    pick, store, done = random.Random(seed), open_store(str(project / "cache")), []
    assert store is not None
    assert facts(project, store).sites
    for _ in range(10):
        done += [edit(project, pick) for _ in range(pick.randrange(1, 3))]
        jobs = pick.choice((1, 1, 2))
        file = pick.choice(sorted((project / "src").rglob("*.py")))
        changed = pick.choice((None, None, (file,)))
        warm, cold = facts(project, store, jobs, changed), facts(project, None, changed=changed)
        assert repr(warm) == repr(cold), (done, changed)


@pytest.mark.parametrize("jobs", [1, 2])
def test_only_what_an_edit_reaches_is_evaluated(project: Path, ran: list[str], jobs: int) -> None:
    store = open_store(str(project / "cache"))
    facts(project, store)
    assert sorted(ran) == ["driver1.py", "driver2.py", "lib/kernel.py", "own1.py", "own2.py"]
    ran.clear()
    facts(project, store, jobs)
    assert ran == []
    (project / "src" / "own1.py").write_text(OWN.format(n=9))
    facts(project, store, jobs)
    assert ran == ["own1.py"]
    ran.clear()
    (project / "src" / "lib" / "sizes.py").write_text("WIDTH = 16\n")
    facts(project, store, 1)
    assert ran == ["driver1.py", "driver2.py", "lib/kernel.py"]


def test_what_another_file_read_first_is_read_by_this_one_too(project: Path, ran: list[str]) -> None:
    """Files are read and parsed once for all: the second driver finds them parsed."""
    store = open_store(str(project / "cache"))
    facts(project, store)
    ran.clear()
    (project / "src" / "driver1.py").write_text(DRIVER.format(n=24))
    (project / "src" / "lib" / "kernel.py").write_text(KERNEL.replace("HEIGHT = 4", "HEIGHT = 2"))
    warm = facts(project, store)
    assert ran == ["driver1.py", "driver2.py", "lib/kernel.py"]
    assert warm == facts(project, None)


def test_a_binding_in_a_file_that_named_nothing_of_cute_before_is_seen(project: Path) -> None:
    store = open_store(str(project / "cache"))
    late = project / "src" / "late.py"
    late.write_text("N = 1\n")
    facts(project, store)
    late.write_text(
        "import cutlass\nimport cutlass.cute as cute\n\n# cutecheck: instantiate bound(rows=16)\n"
        "@cute.jit\ndef bound(rows: cutlass.Constexpr):\n    cute.make_layout((rows, 4))\n"
    )
    cold = facts(project, None)
    assert "(16,4):(1,16)" in repr(cold)
    assert facts(project, store) == cold
