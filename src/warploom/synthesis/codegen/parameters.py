"""What can be tuned in generated code."""

from dataclasses import dataclass

from warploom.core.errors import BadInputError

_WARP = 32
_MOST_THREADS = 1024
_VECTORS = (1, 2, 4, 8, 16)
_MOST_TURNS = 8
_MOST_HELD = 256  # bytes of the registers that a thread has


@dataclass(frozen=True, slots=True)
class TuningParameters:
    """Launch shapes and tiles.

    Neighbors of `vector_bytes` are moved as one, and a thread has `turns` such groups of each
    tensor under way. A block has `element_threads` for elements, `row_threads` at most for each of
    many rows that are reduced and not held (sums have twice as many), and `threads` else (scans,
    columns, whole tensors). Of a row that is read again, each thread holds `held_bytes` in
    registers, and `once_bytes` of one that is read once. A block of a matrix product makes
    `tile_m` x `tile_n`, in steps of `tile_k`, each thread `thread_m` x `thread_n` of it. The
    defaults are those that were fastest on an H200 (docs/synthesize.md).
    """

    threads: int = 256
    element_threads: int = 128
    row_threads: int = 128
    held_bytes: int = 128
    once_bytes: int = 64
    vector_bytes: int = 16
    turns: int = 2
    tile_m: int = 64
    tile_n: int = 64
    tile_k: int = 16
    thread_m: int = 8
    thread_n: int = 4

    def __post_init__(self) -> None:
        for name in ("threads", "element_threads", "row_threads"):
            value = getattr(self, name)
            if not _WARP <= value <= _MOST_THREADS or value % _WARP:
                raise BadInputError(f"{name} must be a multiple of 32 up to 1024, got {value}")
        if self.vector_bytes not in _VECTORS:
            raise BadInputError(f"vector_bytes must be 1, 2, 4, 8 or 16, got {self.vector_bytes}")
        if not 1 <= self.turns <= _MOST_TURNS:
            raise BadInputError(f"turns must be 1 to {_MOST_TURNS}, got {self.turns}")
        for name in ("held_bytes", "once_bytes"):
            if not 0 <= getattr(self, name) <= _MOST_HELD:
                got = getattr(self, name)
                raise BadInputError(f"{name} must be 0 to {_MOST_HELD}, got {got}")
        if self.tile_m % self.thread_m or self.tile_n % self.thread_n:
            raise BadInputError("a thread's part must divide the tile")
        if not _WARP <= self.gemm_threads <= _MOST_THREADS:
            raise BadInputError(f"a tile must have 32 to 1024 threads, got {self.gemm_threads}")
        if any(tile * self.tile_k % self.gemm_threads for tile in (self.tile_m, self.tile_n)):
            raise BadInputError("each thread must load as many elements of a tile as the others")

    @property
    def gemm_threads(self) -> int:
        """Threads of a block of a matrix product."""
        return (self.tile_m // self.thread_m) * (self.tile_n // self.thread_n)
