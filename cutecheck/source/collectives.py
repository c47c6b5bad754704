"""Kernels that CUTLASS's collectives make, in trees that do not hold its headers and are given no ``-I`` to them.

What ``CollectiveBuilder<...>::CollectiveOp`` is stands in CUTLASS alone: without it such a kernel has no configuration
that could be looked at, and a report without findings would say nothing about it. A kernel that includes what
collectives are built by has the sizes of its barriers in shared memory and the atoms of its copies from there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from cutecheck.records import record
from cutecheck.source.files import is_file, read_bytes
from cutecheck.source.vendored import searched

HEADER = Path("cutlass", "gemm", "collective", "collective_builder.hpp")
_USED = re.compile(
    rb"\bCollectiveBuilder\s*<|\bcutlass::\w+::collective::Collective(?:Mma|Conv|Epilogue)\s*<"
    rb"|^[ \t]*#[ \t]*include[ \t]*[<\"]cutlass/\w+/collective/",
    re.MULTILINE,
)


@record(frozen=True, slots=True)
class Library:
    """An include directory with CUTLASS's headers, and the version they say."""

    include: Path
    version: str

    def directories(self) -> tuple[Path, ...]:
        """What is searched: the directory itself, and of a checkout what its examples are compiled with."""
        beside = searched(self.include.parent) if self.include.name == "include" else ()
        return tuple(dict.fromkeys((self.include, *beside)))


@record(frozen=True, slots=True)
class Collectives:
    """``users`` name collectives that neither the tree nor the include path declares; ``read``: from where instead."""

    users: tuple[str, ...] = ()
    read: Library | None = None

    def note(self) -> str:
        """What a report says of them; empty where all are known."""
        if not self.users:
            return ""
        more = "" if len(self.users) == 1 else f" and {len(self.users) - 1} more"
        uses = f"{self.users[0]}{more}: CUTLASS's collectives are used, and {HEADER.as_posix()}"
        where = "is neither in the tree nor on the include path"
        if self.read is None:
            return (
                f"{uses} {where}: the kernels that they make are not known (give CUTLASS's headers by `-I` or "
                "`CUTECHECK_CUTLASS`, or install nvidia-cutlass)"
            )
        return f"{uses} {where}: CUTLASS {self.read.version} is read from {self.read.include} (`-I` chooses another)"


def collectives(
    files: Mapping[str, Path], wanted: Iterable[str], include_dirs: Sequence[Path], installed: Sequence[Library]
) -> Collectives:
    """Which of the wanted files use collectives that nothing declares, and the installed headers that do."""
    name = HEADER.as_posix()
    if any(path.endswith(name) for path in files) or any(is_file(d / HEADER) for d in include_dirs):
        return Collectives()
    users = tuple(path for path in wanted if _uses(files[path]))
    read = next((i for i in installed if is_file(i.include / HEADER)), None) if users else None
    return Collectives(users, read)


def _uses(file: Path) -> bool:
    try:
        return _USED.search(read_bytes(file)) is not None
    except OSError:
        return False
