"""What one block did with shared memory when its kernel was run once more, pass by pass, at numbers of its own."""

from __future__ import annotations

from cutecheck.facts.span import Span
from cutecheck.facts.touch import Touch
from cutecheck.records import record

REPLAY = "a kernel run pass by pass"  # the result of a Call that has a Replay as its argument
# functions of steps that store single elements of shared memory, of an array or of a tensor
BY_HAND, OF_TENSOR = "by hand", "by hand, of a tensor"
COMPUTED = "computed with"  # of one that has an element of registers in an expression
AS_VALUE = "as a value"  # the function of a step that reads all elements of a tensor, which computes with them
BY_ELEMENT = "by element"  # of a step that reads one element of a stage that TMA may fill, in the run of a thread
PASSED = "passed on"  # of a read of what was loaded and is stored as it is, where results were to be
ANY_BARRIER = -1  # the offset of an ``init`` of which it is not known which barrier of the buffer it is of


@record(frozen=True, slots=True)
class Along:
    """Of a tile that TMA takes, along one mode of its tensor: where it starts (as text where that is not known), how
    far it goes, and how many elements there are, as a number and as text.

    ``read``: the buffers in global memory with numbers that say where it starts, as a page table does. ``beside``:
    where it starts in the next block of the cluster, if that makes the same steps.
    """

    start: int | str
    span: int
    many: int
    extent: str
    read: tuple[str, ...] = ()
    beside: int | None = None


@record(frozen=True, slots=True)
class Place:
    """Where an operand starts for the first thread: elements from the start of a buffer, and the stage it is of.

    ``root``: where the tensor with the stages starts in its buffer, and where it ends; ``bits``: so its stage. An end
    that is not known is less than the start. ``view``: which layout it has. ``source`` partitioned the operand.
    ``past``: a coordinate that it was sliced at and the extent of that mode, where there is no such coordinate.
    ``whole``: the variable in shared memory that the buffer is a member of, and the bits before it there.
    ``column``: of a tensor of two modes the bits of the last mode's coordinate, where all threads have the same.
    ``touch``: what each thread has of it, where that is known. ``walk``: of coordinates of TMA the tile that they are.
    """

    name: str
    span: Span
    space: str
    buffer: str
    offset: int
    root: tuple[int, int] = (0, 0)
    bits: tuple[int, int] = (0, 0)
    view: int = 0
    source: object | None = None
    past: tuple[int, int] | None = None
    whole: tuple[str, int] | None = None
    column: tuple[int, int] | None = None
    touch: Touch | None = None
    walk: tuple[Along, ...] | None = None


@record(frozen=True, slots=True)
class Step:
    """A copy, a product, or a call that waits, commits or holds threads back (``function``, with its ``number``).

    ``maybe``: under a condition that threads answer differently. ``caller``: where the function around it was called.
    A ``load`` whose barrier is known has the buffer of that as its function, and its offset there as its number.
    ``adds``: whether a product is added to its accumulators (WGMMA, UMMA), or a store by TMA to what is there; None
    where that is not known.
    ``arrives``: how often the thread arrives at a barrier; None where that is not known. Asynchronous: once its MMAs
    are done (``tcgen05.commit``). A barrier's ``init`` has the arrivals that it counts as its ``number``, if
    these and the barrier are known; ``maybe``: other threads initialise others of its array so.
    """

    kind: str
    span: Span
    enclosing: str
    function: str
    number: int | None = None
    places: tuple[Place, ...] = ()
    asynchronous: bool = False
    maybe: bool = False
    caller: Span | None = None
    adds: bool | None = None
    arrives: int | None = None
    masked: bool = False


@record(frozen=True, slots=True)
class Thread:
    """What one thread does, by its number in the block; ``counts``: how many threads of the block it stands for.

    ``decided``: the run-time numbers that its conditions were decided by; None where some were by the block's index.
    """

    number: int
    steps: tuple[Step, ...]
    complete: bool
    counts: int = 0
    decided: tuple[str, ...] | None = None


@record(frozen=True, slots=True)
class Replay:
    """The steps in their order; ``complete`` where they go on to the kernel's end, else what was met before an end.

    ``threads``: those of some threads instead, one for each role, where what a kernel does is told by barriers.
    ``sure``: these threads do all that threads of the block do, and nothing that may hold them back is unknown.
    ``seen``: so it is up to where their runs were cut, as in a loop of many passes.
    ``missed``: a tile of a buffer, by its coordinate and the extent of its mode, that is not sliced as the others are.
    ``whole``: buffers of global memory of which all tiles along a mode are sliced, by what decides how many there are.
    ``counted``: each thread of the block does as one of these, so that their arrivals can be counted.
    ``more``: the run at other numbers, at which a block has several tiles.
    ``partial``: threads of some roles were not run, which may do anything, as saying that a stage is free.
    ``pointed``: buffers that threads may write by other means than copies; "": any.
    ``files``: of steps of the Python DSL, those that are the program's and no library's.
    ``moved``: accumulators in tensor memory that may start elsewhere in some pass.
    ``in_turn``: how many tiles the block takes one after another, by the size of the grid.
    ``tiles``: copies of global memory, and products, of a kernel of which the other steps are not all known.
    """

    steps: tuple[Step, ...]
    complete: bool
    threads: tuple[Thread, ...] = ()
    missed: tuple[tuple[str, int, int], ...] = ()
    sure: bool = True
    more: Replay | None = None
    counted: bool = False
    tiles: tuple[Step, ...] = ()
    partial: bool = False
    seen: bool = False
    pointed: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    files: frozenset[str] = frozenset()
    moved: tuple[str, ...] = ()
    in_turn: int = 0
