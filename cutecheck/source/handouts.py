"""Which translation units a process is given next: neighbours stay together, and processes start far apart.

Units next to each other in a folder instantiate the same kernels, and each asks which of their flags those before it
walked. Two processes that start side by side both walk what only the first of them would have.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from cutecheck.source.eval.launches import Walks
from cutecheck.source.translate import Job

_SHARE = 12  # units handed out at once: neighbours share headers, and kernels
_NEIGHBOURS = 4  # that are not taken apart while every process has a share: twins of other element types and flags
_LIGHT, _LIGHTER = "sm_80", 8  # units of this architecture take an eighth of the time of others, and less

Share = deque[int]  # positions of jobs


class Handouts:
    """Shares of the jobs of a run that no process has yet, and single jobs to evaluate again.

    Of many jobs the shares are those whose answers depend on each other, and the longest is given first: no process is
    left alone with one at the end. Of few they go on from where a process is, or start in the middle of what is left.
    """

    def __init__(self, jobs: Sequence[Job], processes: int, walks: Walks) -> None:
        fair = max(1, 2 * len(jobs) // (processes * 3))
        size = min(_SHARE, max(1, fair // 2, min(_NEIGHBOURS, fair)))
        self._apart = not walks.limits.many
        if self._apart:
            shares = [deque(range(i, min(i + size, len(jobs)))) for i in range(0, len(jobs), size)]
        else:
            shares = _of_many(jobs, size, walks)
        self._left = dict(enumerate(shares))
        self._first: deque[Share] = deque()  # what goes before these

    def __bool__(self) -> bool:
        return bool(self._first or self._left)

    def urge(self, share: Share, soon: bool = True) -> None:
        """To be given before all others; ``soon`` False: after those that are to be given so already."""
        if soon:
            self._first.appendleft(share)
        else:
            self._first.append(share)

    def take(self, last: int | None) -> tuple[Share, int | None]:
        """The next share for a process, and what to ask with the next time, where ``last`` is what this told then."""
        if self._first:
            return self._first.popleft(), last
        index = self._next(last)
        return self._left.pop(index), index

    def _next(self, last: int | None) -> int:
        if not self._apart:
            return next(iter(self._left))
        if last is not None and last + 1 in self._left:
            return last + 1
        runs: list[list[int]] = []
        for index in sorted(self._left):
            if runs and runs[-1][-1] == index - 1:
                runs[-1].append(index)
            else:
                runs.append([index])
        longest = max(runs, key=len)
        return longest[0] if longest[0] == 0 else longest[len(longest) // 2]


def _of_many(jobs: Sequence[Job], size: int, walks: Walks) -> list[Share]:
    places: dict[tuple[str, str], Share] = {}
    for i, job in enumerate(jobs):
        places.setdefault(walks.key(job.arch, job.path), deque()).append(i)
    shares: list[Share] = []
    for share in reversed(places.values()):
        if shares and len(shares[-1]) + len(share) <= size:
            shares[-1] += share
        else:
            shares.append(share)
    return sorted(shares, key=lambda share: -sum(1 if jobs[i].arch == _LIGHT else _LIGHTER for i in share))
