"""What the analyzer says of a program: frozen records, each with file and line."""

from dataclasses import dataclass

from warploom.source.syntax import LineRange


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Bytes `start` up to, not including, `end` of the file's text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a call as written."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class CallSite:
    """Where a call stands in the text.

    `call` spans the call expression, `statement` the full statement around it (with its check
    macro, its semicolon, or the declaration or condition that it is part of). `checked` says that
    the status of the call is looked at or passed on. `conditions` are the preprocessor conditions
    around it, outermost first.
    """

    file: str
    line: int
    end_line: int
    function: str
    function_span: Span
    call: Span
    statement: Span
    arguments: tuple[Argument, ...]
    checked: bool
    in_loop: bool
    conditions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Declaration:
    """A variable, parameter or field: its type as written, and where it is declared.

    `type` is the base type; `pointers` counts its stars, `dims` holds its array sizes as written.
    `span` covers the whole declaration statement, which may declare other variables too.
    """

    name: str
    type: str
    pointers: int
    dims: tuple[str, ...]
    file: str
    line: int
    function: str
    parameter: bool
    span: Span
    declarator: Span


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory that a pointer expression leads to, as far as it can be followed.

    `name` is the expression of its owner, such as `d_out` or `ctx.send`; `allocations` are the
    lines of the calls that allocate it.
    """

    name: str
    allocations: tuple[int, ...]
    declaration: Declaration | None


@dataclass(frozen=True, slots=True)
class BufferUse:
    """One step in the life of a collective's buffer.

    `role` is `producer` (writes what is sent) or `consumer` (reads what arrived). `kind` is
    `kernel`, `copy`, `fill`, `library`, `collective`, or `call` (code in another file).
    """

    role: str
    kind: str
    name: str
    buffer: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Collective:
    """One NCCL data call in the source.

    `send`, `recv`, `count` and the like are the arguments as written, None where the call has
    none. `group` numbers the outermost group around it, from 1. `producers` and `consumers` name
    what makes the data that is sent and uses what arrived; `flow` adds lines and collectives.
    """

    name: str
    file: str
    line: int
    send: str | None
    recv: str | None
    count: str | None
    dtype: str | None
    op: str | None
    root: str | None
    peer: str | None
    comm: str | None
    stream: str | None
    group: int | None
    producers: tuple[str, ...]
    consumers: tuple[str, ...]
    send_roots: tuple[str, ...]
    recv_roots: tuple[str, ...]
    in_place: bool
    window: str | None
    window_offset: str | None
    signal: str | None
    flow: tuple[BufferUse, ...]
    send_buffers: tuple[Buffer, ...]
    recv_buffers: tuple[Buffer, ...]
    site: CallSite


@dataclass(frozen=True, slots=True)
class Group:
    """An outermost group of NCCL calls: `ncclGroupStart` to `ncclGroupEnd`."""

    id: int
    file: str
    line: int
    end_line: int | None
    collectives: tuple[int, ...]
    start: CallSite
    end: CallSite | None


@dataclass(frozen=True, slots=True)
class HelperCall:
    """A call of the program's own function, template or constructor that allocates `name`."""

    name: str
    file: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Allocation:
    """Memory that is allocated; `bytes` is its size as written.

    `kind` is where it lives, as `analysis.api.ALLOCATIONS` has it. `element` is the type pointed
    to. `roots` are the buffers that it becomes, where a helper allocates for its callers, and
    `calls` are the calls of that helper.
    """

    name: str
    call: str
    bytes: str
    file: str
    line: int
    kind: str
    element: str
    roots: tuple[str, ...]
    declaration: Declaration | None
    site: CallSite
    calls: tuple[HelperCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Free:
    """Memory that is given back."""

    name: str
    call: str
    file: str
    line: int
    roots: tuple[str, ...]
    site: CallSite


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel launch; expressions as written, defaults as CUDA has them.

    `api` is `<<<>>>` or the call's name. `roots` has the buffers that each argument leads to.
    """

    kernel: str
    file: str
    line: int
    grid: str
    block: str
    shared: str
    stream: str
    api: str
    cooperative: bool
    arguments: tuple[str, ...]
    roots: tuple[tuple[str, ...], ...]
    template_arguments: str
    site: CallSite


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy or fill; `direction` is such as host_to_device, device_to_host, peer, fill."""

    call: str
    file: str
    line: int
    dst: str
    src: str | None
    bytes: str
    direction: str
    stream: str | None
    dst_roots: tuple[str, ...]
    src_roots: tuple[str, ...]
    site: CallSite


@dataclass(frozen=True, slots=True)
class Readback:
    """A device-to-host copy: what a program can know of its results.

    An MPI call that receives into `host` is one where a device sends: `device` is "".

    `dtype` is the element type of the host side as declared ("" where it is not found).
    """

    file: str
    line: int
    end_line: int
    host: str
    device: str
    bytes: str
    dtype: str
    host_roots: tuple[str, ...]
    device_roots: tuple[str, ...]
    site: CallSite


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream that the program creates; `destroyed` are the lines where it ends."""

    name: str
    call: str
    file: str
    line: int
    destroyed: tuple[int, ...]
    site: CallSite


@dataclass(frozen=True, slots=True)
class Event:
    """One act on a CUDA event: create, record, wait, elapsed or destroy."""

    name: str
    action: str
    stream: str | None
    file: str
    line: int
    site: CallSite


@dataclass(frozen=True, slots=True)
class Sync:
    """A point where somebody waits; `kind` as `analysis.api.SYNCS` has it."""

    call: str
    kind: str
    target: str
    file: str
    line: int
    site: CallSite


@dataclass(frozen=True, slots=True)
class Communicator:
    """A communicator's life: how it is created, and the lines where it is destroyed."""

    name: str
    call: str
    file: str
    line: int
    rank: str | None
    nranks: str | None
    unique_id: str | None
    destroyed: tuple[int, ...]
    site: CallSite


@dataclass(frozen=True, slots=True)
class Setup:
    """How the ranks come to be.

    `style`: `mpi` (a process per rank), `mpi_multi_device` (several devices per process),
    `init_all` (one process, `ncclCommInitAll`), `single_process` (one process, a rank per device
    in a group), `threads` (a thread per device), `file` (a unique id passed through a file),
    `unknown`, or `none`.
    """

    style: str
    reason: str
    uses_mpi: bool
    uses_threads: bool
    id_through_file: bool
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """A registered window of symmetric memory."""

    name: str
    buffer: str
    bytes: str
    comm: str
    flags: str
    file: str
    line: int
    roots: tuple[str, ...]
    site: CallSite


@dataclass(frozen=True, slots=True)
class DeviceCommunicator:
    """A device communicator, created from `comm` to the requirements `requirements`."""

    name: str
    comm: str
    requirements: str
    file: str
    line: int
    site: CallSite


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function; `reads` and `writes` tell what the function does through it."""

    name: str
    type: str
    reads: bool
    writes: bool


@dataclass(frozen=True, slots=True)
class Function:
    """A function; `kind` is global, device or host. `span` includes its template header."""

    name: str
    kind: str
    file: str
    line: int
    end_line: int
    span: Span
    body: Span
    parameters: tuple[Parameter, ...]
    calls: tuple[str, ...]
    device_api: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Warn:
    """What makes a program hard to verify."""

    kind: str
    file: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class IgnoredStatus:
    """A host call of CUDA or NCCL whose status nobody looks at."""

    call: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class SkippedLines:
    """Lines that could not be read."""

    file: str
    lines: tuple[LineRange, ...]


@dataclass(frozen=True, slots=True)
class ReportData:
    """Everything that the analyzer found in a program and the headers beside it."""

    file: str
    files: tuple[str, ...]
    main: Function | None
    setup: Setup
    collectives: tuple[Collective, ...]
    groups: tuple[Group, ...]
    communicators: tuple[Communicator, ...]
    allocations: tuple[Allocation, ...]
    frees: tuple[Free, ...]
    launches: tuple[Launch, ...]
    copies: tuple[Copy, ...]
    readbacks: tuple[Readback, ...]
    arrivals: tuple[Readback, ...]
    streams: tuple[Stream, ...]
    events: tuple[Event, ...]
    syncs: tuple[Sync, ...]
    windows: tuple[Window, ...]
    device_communicators: tuple[DeviceCommunicator, ...]
    functions: tuple[Function, ...]
    kernels: tuple[Function, ...]
    warnings: tuple[Warn, ...]
    ignored_statuses: tuple[IgnoredStatus, ...]
    skipped: tuple[SkippedLines, ...]
