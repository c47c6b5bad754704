"""What a user can raise, and the words that only messages about time and memory say."""

from __future__ import annotations

from dataclasses import replace

from cutecheck.records import record

TIME_IS_UP = "raise `file-timeout`"
MEMORY_IS_UP = "raise `max-memory`"
FILES_SHARE = 3
MANY_UNITS = 300
SOME_UNITS = 24
_FEW_UNITS = 8
_HUNDREDS = 150
_OF_HUNDREDS = 200  # how much fewer are alike there: two of each kind in each part of a folder
_BARREN = 8


@record(frozen=True, slots=True)
class Limits:
    """What a user can raise. Steps are evaluated nodes; instantiations are walked kernels a declaration,
    ``flag_combinations`` those that differ in boolean template arguments alone (each value of each is walked once),
    or with ``twins`` in element types of one width as well;
    ``idle_steps`` those at a stretch that find nothing of CuTe; ``alike`` are walked kernels, and calls of host
    templates by what starts the evaluation, whose arguments are made of the same class templates
    (source/eval/alike.py), in a neighbourhood of files; after ``barren_iterations`` in a row over known items on the
    host (of loops in loops together) that did much and met nothing new, the others are left out; ``seconds_per_file``
    are of CPU time, ``mebibytes`` of memory of the process; 0 is no limit.

    A file may take ``FILES_SHARE`` times the steps of a root: many roots that each run out are soon left alone."""

    steps_per_root: int = 2_000_000
    idle_steps: int = 60_000
    depth: int = 400
    call_depth: int = 60
    instantiations: int = 400
    flag_combinations: int = 2
    alike: int = 400
    loop_iterations: int = 4096
    seconds_per_file: int = 600
    mebibytes: int = 4096
    shared: bool = False  # what units instantiate of one kernel: a few in all are run pass by pass
    twins: bool = False  # of kernels that differ in element types of one width, too, so few are walked
    lone: bool = False  # such runs are of one instantiation a kernel
    by_kind: bool = False  # or of one of a kind, where some units stand for many
    many: bool = False  # translation units: then launches of kernels without CuTe are left out
    barren: int = 0  # these iterations, where `alike` is less than was asked for
    coarse: bool = False  # kinds: of so many units that only classes with sites or copies tell them apart

    @property
    def barren_iterations(self) -> int:
        """Iterations on the host that did much and met nothing new: after them the rest is left out."""
        return self.barren or max(1, min(_BARREN, self.alike // 2))

    @property
    def a_class(self) -> int:
        """Where kinds are coarse: walks of a class with sites or copies of its own, in a neighbourhood."""
        return 2 * self.alike

    @property
    def a_value(self) -> int:
        """Of many files that only instantiate: how many are evaluated for each value (source/representatives.py)."""
        return -(-self.flag_combinations // 2)

    def over(self, units: int, left_out: int = 0) -> Limits:
        """The limits of a run over so many translation units: the more there are, the less each may take.

        For ``left_out`` of them others stand: they count as far as to make them many.

        In few steps, so that a new file rarely changes the limits of all others.
        """
        units = max(units - left_out, min(units, SOME_UNITS + 1))
        share = 1 if units <= MANY_UNITS else 2 if units <= 2 * MANY_UNITS else 4
        steps, idle = max(1, self.steps_per_root // share), max(1, self.idle_steps // min(share, 2))
        hundreds = units > _HUNDREDS and share <= 2
        return replace(
            self,
            steps_per_root=steps,
            idle_steps=idle,
            alike=max(1, self.alike // (_OF_HUNDREDS if hundreds else share**4)),
            barren=self.barren_iterations if hundreds else self.barren,
            flag_combinations=self.flag_combinations if units <= SOME_UNITS else self.a_value,
            shared=self.shared or units > _FEW_UNITS,
            twins=self.twins or units > SOME_UNITS,
            lone=self.lone or (units > SOME_UNITS and not left_out),
            by_kind=self.by_kind or left_out > 0,
            many=self.many or share > 1,
            coarse=self.coarse or share > 2,
        )

    def by_units(self) -> tuple[int, ...]:
        """Those that depend on how many units there are, and change what is walked of one."""
        runs = (int(self.twins), int(self.shared), int(self.lone), int(self.by_kind))
        return (self.steps_per_root, self.idle_steps, self.flag_combinations, *runs)
