"""Facts: what was extracted from the sources. Frozen, with spans, free of syntax."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from cutecheck.facts.hypothesis import Hypothesis
from cutecheck.facts.span import Span, Unknown
from cutecheck.facts.tensor import TensorFact
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Condition, Int
from cutecheck.model.units import Bits, ByteCount
from cutecheck.records import record

SiteKind = Literal["tiled_copy", "tiled_mma", "smem_layout", "layout", "copy_atom", "mma_atom"]
SiteStatus = Literal["resolved", "symbolic", "unknown", "unbound", "dead"]
Bindings = tuple[tuple[str, str], ...]


@record(frozen=True, slots=True)
class Site:
    """A configuration site under one instantiation and architecture.

    ``span`` is of the declared name, ``call_span`` of the expression that builds the value. ``value`` is a model
    object (Layout, ComposedLayout, CopyAtom, MMAAtom, TiledCopy, TiledMMA) when the status is resolved or
    symbolic; otherwise ``reason`` says why not. A call of the Python DSL is a site of its own: ``call`` names the
    function (``cute.make_layout``) and ``result`` is what it gives, as the DSL prints it (text, numbers, fields).
    """

    site_id: str
    kind: SiteKind
    symbol: str
    span: Span
    call_span: Span
    bindings: Bindings
    arch: str
    status: SiteStatus
    value: object | None = None
    reason: Unknown | None = None
    hypotheses: tuple[Hypothesis, ...] = ()
    call: str = ""
    result: object | None = None
    # what a call of the DSL was given: model values and element types; an enumerator as text, an operation or a
    # tensor as its printed fields, Unknown for anything else
    arguments: tuple[object, ...] = ()
    keywords: tuple[tuple[str, object], ...] = ()


@record(frozen=True, slots=True)
class Guard:
    """A run-time condition under which an event happens, as written.

    ``bounds`` are the comparisons of coordinates with limits that hold under it (``negated``: where it is false, as
    after ``if (...) return``), ``complete`` False where it has other parts. ``turns``: the condition is on what the
    loop around it changes, and alike in all threads. ``host``: it stands around the launch of the kernel.
    ``holds``: what it says of numbers, as far as that is followed. ``parts``: threads may answer it
    differently, by a value that is not followed; ``asks``: its value (not turned round where it is ``negated``), where
    that depends on the index of the thread alone. ``alike``: its value is followed, and the same for all threads of a
    block. ``plain``: what an element of a register tensor of bools compares that is no coordinate of a tensor.
    ``fills``: it is the predicate of an instruction that writes zeros where it is false.
    """

    text: str
    span: Span
    negated: bool = False
    bounds: tuple[Bound, ...] = ()
    complete: bool = False
    turns: bool = False
    host: bool = False
    holds: tuple[Condition, ...] = ()
    parts: bool = False
    asks: Expr | None = None
    alike: bool = False
    plain: tuple[Bound, ...] = ()
    fills: bool = False


@record(frozen=True, slots=True)
class Loop:
    """A loop that was walked once; ``trips`` is how often its body runs at most, None where that is not known.

    ``entered``: when, among events and calls; another instantiation enters it again. ``whole``: of threads that begin
    at indices of their own, all come to the first pass. ``step``: what each pass adds to its variable; 0: not known.
    ``item``: the variable that is the same in all threads, which make as many passes, and begins with the least that it
    may be.
    """

    span: Span
    trips: int | None = None
    entered: int = 0
    whole: bool = False
    step: int = 0
    item: str = ""


@record(frozen=True, slots=True)
class Event:
    """A ``copy``/``copy_if``/``gemm`` call in a function body, under one instantiation and architecture.

    ``operands``: for a copy (source, destination); for a gemm (D, A, B, C) or (A, B, C) as written.
    ``tiled`` is the TiledCopy/CopyAtom/TiledMMA given to the call, None for a plain ``copy(a, b)``.
    ``threads`` is the number of threads that run it where known (launch bounds, launch shape or the tiled object).
    ``block``: threads of the launch's block along x, y, z, as far as they are known; empty where nothing is.
    """

    event_id: str
    kind: Literal["copy", "gemm"]
    callee: str
    span: Span
    tiled: object | None
    tiled_span: Span | None
    operands: tuple[TensorFact, ...]
    predicate: TensorFact | None
    predicated: bool
    enclosing: str
    arch: str
    loop_depth: int = 0
    guards: tuple[Guard, ...] = ()
    threads: Int | None = None
    reason: Unknown | None = None
    hypotheses: tuple[Hypothesis, ...] = ()
    order: int = 0  # when it was reached, among events and calls
    loops: tuple[Loop, ...] = ()  # around it, the outermost first
    block: tuple[int | None, ...] = ()
    kernel: str = ""  # the kernel that was walked when it was reached
    signals: str = ""  # the barriers that an asynchronous copy tells, as the ``subject`` of calls; empty: not known
    otherwise: bool = False  # it is also reached under other conditions than ``guards``


ELEMENT_READ, ELEMENT_STORED = "an element is read", "an element is stored"  # of shared memory, the result of a Call
MEMORY_STORED = "an element of global memory is stored"  # by each thread, the result of a Call
GUARDED = "an element of global memory is stored under conditions on its coordinates"  # the result of a Call
STORED = "an element of global memory is stored under no condition on its coordinates"  # the result of a Call
PAST_REGISTERS = "an element that registers do not have"  # is read or stored, the result of a Call
FILLED = "all elements are set"  # of a tensor in shared memory or registers (``clear``, ``fill``): a Call's result
PIPELINE = "a pipeline"  # the result of a Call of a pipeline's method, or of what makes one
BARRIER = "a barrier in shared memory"  # the result of a Call that does something with one that the kernel made itself
BULK_STORE = "a store by TMA"  # the result of a Call of an instruction that makes one, without tensors
MULTICAST = "a mask of blocks"  # the result of a Call for a copy by TMA that was given one
ACROSS = "what other lanes have"  # the result of a Call of shuffles that bring together what threads reduced
REMOTE = "another block's shared memory"  # the result of a Call of assembly that accesses it
CHUNK = "chunk"  # the function of a Call of assembly that reads or stores bytes where each thread says, as an element
UNSEEN = (
    "a function that is not followed"  # of a Call while elements of shared memory are followed: it may hold threads
)
NOT_WALKED = "a function that is not walked"  # the result of a Call of one: it may do anything


@record(frozen=True, slots=True)
class Call:
    """A call of one of CuTe's own functions, or of a barrier, with what it was given and what came out.

    ``function`` is the name without namespaces (``make_tiled_copy``, ``zipped_divide``, ``make_tma_copy`` ...).
    ``arguments`` and ``result`` are model values, a :class:`TensorFact` for a tensor, Unknown for anything else; a
    result that CuTe refuses is an Unknown with ``rejected``. ``subject``: of a method of a pipeline, which barriers it
    has; ``keywords`` are what the call that makes one was given by name.
    """

    function: str
    span: Span
    arguments: tuple[object, ...]
    result: object
    enclosing: str
    arch: str
    bindings: Bindings = ()
    hypotheses: tuple[Hypothesis, ...] = ()
    order: int = 0
    guards: tuple[Guard, ...] = ()
    loop_depth: int = 0
    loops: tuple[Loop, ...] = ()
    kernel: str = ""  # the kernel that was walked when it was reached
    unevaluated: bool = False  # inside decltype or sizeof: it never runs
    subject: str = ""
    keywords: tuple[tuple[str, object], ...] = ()
    block: tuple[int | None, ...] = ()  # as in Event, of single elements of shared memory


@record(frozen=True, slots=True)
class SmemBuffer:
    """One shared-memory allocation; aliasing members of a union are one buffer.

    ``accesses`` are ids of events that touch it. ``accesses_complete`` is False when the buffer escapes into a
    call, raw pointer or asm that was not followed (``escapes``): verdicts then speak of the known accesses only.
    """

    buffer_id: str
    name: str
    span: Span
    arch: str
    enclosing: str
    size_bytes: ByteCount | None
    alignment_bytes: ByteCount | None
    element_bits: Bits | None
    accesses: tuple[str, ...] = ()
    accesses_complete: bool = True
    escapes: tuple[Unknown, ...] = ()
    start_bytes: ByteCount | None = None  # of a member, from the start of its struct
    unbound: bool = False  # of a kernel of the DSL that was looked at with arguments that nothing binds


@record(frozen=True, slots=True)
class Launch:
    """A kernel launch or ``__launch_bounds__``: block size in threads, dynamic shared memory in bytes.

    ``origin`` attribute: ``cudaFuncSetAttribute`` allows the kernel ``smem_bytes`` of dynamic shared memory; the kernel
    is empty where it could not be told. ``guards`` are run-time conditions around the launch, ``grid`` its blocks along
    x, y, z; empty where one of them is not known. ``tried``: each time in a ``try`` of Python, which goes on where
    the DSL or the driver refuses it. ``cluster_shape``: blocks of a cluster along x, y, z, as far as they are known.
    ``numbers``: what run-time extents and strides are in the first launch of this kind, where its host says so.
    """

    kernel: str
    span: Span
    arch: str
    block_threads: Int | None
    smem_bytes: ByteCount | None = None
    cluster: Int | None = None
    origin: Literal["launch", "launch_bounds", "size_check", "attribute"] = "launch"
    guards: tuple[Guard, ...] = ()
    grid: tuple[Int, ...] = ()
    unbound: bool = False  # by code of the DSL that was looked at with arguments that nothing binds
    tried: bool = False
    cluster_shape: tuple[int | None, ...] = ()
    numbers: tuple[tuple[str, int], ...] = ()


@record(frozen=True, slots=True)
class Bound:
    """``value < limit``; ``value`` is, or is computed from, a leaf of ``coordinates``: none of a plain number."""

    value: Int
    limit: Int
    coordinates: tuple[Int, ...]


@record(frozen=True, slots=True)
class Predicate:
    """What is assigned to the elements of a register tensor of bools.

    ``buffer`` is that of the tensor; ``bounds`` must all hold; ``complete`` False where the value has other parts.
    ``element`` is the offset of the element that is assigned, None where it is not known. ``constant``: it is
    assigned ``true`` under no condition, or ``false`` under none or one that all threads answer alike. ``plain``: as in
    Guard.
    """

    buffer: str
    span: Span
    bounds: tuple[Bound, ...]
    complete: bool
    enclosing: str
    arch: str
    element: Int | None = None
    block: tuple[int | None, ...] = ()  # as in Event
    kernel: str = ""  # as in Event
    constant: bool | None = None
    plain: tuple[Bound, ...] = ()


@record(frozen=True, slots=True)
class SourceError:
    """A file or construct that could not be read: one clear line, the other results stand."""

    path: str
    message: str
    span: Span | None = None

    @property
    def internal(self) -> bool:
        """True for a fault of cutecheck itself, which no run passes over."""
        return self.message.startswith("internal error")


@record(frozen=True, slots=True)
class Lint:
    """A purely syntactic observation of the front end (for instance a comma expression as coordinate)."""

    kind: str
    span: Span
    text: str


@record(frozen=True, slots=True)
class SupposedCall:
    """A call that nothing in the tree makes, and that was supposed to be made.

    ``tag`` names it in the symbols of the functions that were walked for it. ``told``: what the program asks of its
    arguments says what they are; else they may be nothing that a caller would give. ``public``: anybody may make it,
    and its arguments are no mere trial.
    """

    tag: str
    text: str
    told: bool
    public: bool = True


@record(frozen=True, slots=True)
class Facts:
    """Everything extracted from one run, in deterministic order."""

    sites: tuple[Site, ...] = ()
    events: tuple[Event, ...] = ()
    buffers: tuple[SmemBuffer, ...] = ()
    launches: tuple[Launch, ...] = ()
    calls: tuple[Call, ...] = ()
    lints: tuple[Lint, ...] = ()
    predicates: tuple[Predicate, ...] = ()
    errors: tuple[SourceError, ...] = ()
    files: int = 0
    files_with_cute: int = 0
    cutlass_version: str = ""
    notes: tuple[str, ...] = field(default=())
    archs: tuple[str, ...] = ()  # asked for by name; empty: guessed from the names in each file
    dropped: tuple[tuple[str, int], ...] = ()  # launched kernels, and their instantiations past the limit
    reported: tuple[str, ...] | None = None  # of a part of a tree: the files that findings may be of
    unfinished: tuple[str, ...] = ()  # of these not all that imports them was run: what is unused there is not known
    supposed: tuple[SupposedCall, ...] = ()
    commented: tuple[str, ...] = ()  # C++ and Python files that may be reported and say `cutecheck:`
