"""Running a piece of Python through the evaluator."""

from __future__ import annotations

import textwrap
from pathlib import Path

from cutecheck.facts import Event, Site
from cutecheck.source.dsl.drivers import Driver
from cutecheck.source.dsl.library import Library
from cutecheck.source.eval.limits import Limits
from cutecheck.source.eval.values import Value

HEAD = "import cutlass\nimport cutlass.cute as cute\nfrom cutlass.cute.runtime import make_fake_tensor\n"


def driver(tmp_path: Path, text: str, *, arch: str = "sm_80", limits: Limits | None = None, **others: str) -> Driver:
    """The finished run of a script; ``others`` are further modules of the tree by name."""
    for name, other in others.items():
        file = tmp_path / (name.replace("__", "/") + ".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(other))
    (tmp_path / "main.py").write_text(textwrap.dedent(text))
    files = {p.relative_to(tmp_path).as_posix(): p for p in tmp_path.rglob("*.py")}
    made = Driver(Library(files, (tmp_path,), None), arch, limits or Limits())
    made.run(tmp_path / "main.py", "main.py")
    return made


def variables(tmp_path: Path, text: str, **others: str) -> dict[str, Value]:
    """The module's variables after it ran."""
    made = driver(tmp_path, text, **others)
    assert not made.cut, made.cut
    scope = made.machine.functions["dsl modules"]["scopes"]["__main__ main"]
    found: dict[str, Value] = scope.env.vars
    return found


def results(made: Driver) -> dict[tuple[int, str], list[object]]:
    """(line, call) to the resolved results of the script itself."""
    out: dict[tuple[int, str], list[object]] = {}
    for site in made.recorder.sites.values():
        if site.status == "resolved" and site.span.path == "main.py":
            out.setdefault((site.span.line, site.call.rpartition(".")[2]), []).append(site.result)
    return out


def sites(made: Driver) -> list[Site]:
    return list(made.recorder.sites.values())


def events(made: Driver) -> list[Event]:
    return list(made.recorder.events.values())
