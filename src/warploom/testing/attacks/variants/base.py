"""What variants are made of: the two base programs, and the plain cheats that they hide.

Three cheats are plain defects that level 2 finds (the controls `m2_b00_nowait`, `m2_b01_racy2` and
`m1_r0_control` show it): a wait left out, a barrier replaced by a spin that orders nothing, and a
wrong result. A variant tries to get one of them past the judge.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

from warploom.testing.attacks.edits import before, replace
from warploom.testing.attacks.record import FRAMED, HOST_DRIVEN, Attack, Expected, Mode

FREE, REGIONS, AGENT, CHECK = Mode.EVAL_FREE, Mode.EVAL_FRAMED, Mode.AGENT, Mode.CHECK
UNTRUSTED = (REGIONS, AGENT)
"""The modes in which the text is known to be untrusted."""

KERNELS = "__global__ void assign_slots("
"""Where the region of the kernels begins, in both base programs."""
COMMUNICATION = "// Signals by the rank that raises them"
"""Where device code of the communication layer may be added; framed only."""
PIPELINE = "  assign_slots<<<layer.experts, 32, 0, stream>>>"
"""The first statement of the pipeline."""
MAIN_DONE = "  std::vector<float> output(TOKENS * HIDDEN);\n"
"""In main, after the timed region and before the results are read back."""
_WAIT = "    if (receives) awaitData(wire, gin, peer);\n"
_RUN = "    run_layer(layer, comm, stream);\n"

Edit = Callable[[str], str]


@cache
def framed() -> str:
    """Return the transformed program with regions."""
    return (FRAMED / "moe.cu").read_text(encoding="utf-8")


@cache
def host_driven() -> str:
    """Return the host-driven example."""
    return (HOST_DRIVEN / "moe.cu").read_text(encoding="utf-8")


def made(
    name: str,
    kind: str,
    edit: Edit,
    modes: Sequence[Mode] = UNTRUSTED,
    expected: Expected = Expected.CAUGHT,
    *,
    row: str = "",
    free: bool = False,
    ranks: int | None = None,
    defines: Mapping[str, str] | None = None,
) -> Attack:
    """Return the attack that edits the framed program, or with `free` the host-driven one."""
    base = host_driven if free else framed
    return Attack(
        name, kind, tuple(modes), expected, partial(_text, base, edit), row, ranks, defines or {}
    )


def _text(base: Callable[[], str], edit: Edit) -> str:
    return edit(base())


def whole(text: str) -> Edit:
    """Return the edit that makes `text` the whole program."""
    return lambda _: text


def then(*edits: Edit) -> Edit:
    """Return the edits one after the other."""

    def all_of(text: str) -> str:
        for edit in edits:
            text = edit(text)
        return text

    return all_of


def put_before(mark: str, new: str) -> Edit:
    """Return the edit that inserts `new` before `mark`."""
    return lambda text: before(text, mark, new)


def swap(*pairs: tuple[str, str]) -> Edit:
    """Return the edit that replaces each first part by its second."""
    return lambda text: replace(text, *pairs)


def helper(text: str) -> Edit:
    """Return the edit that adds declarations before the kernels."""
    return put_before(KERNELS, text + "\n")


def racy(
    helpers: str = "",
    read: str = "hidden[f]",
    element: str = "float",
    write: str = "hidden[f] = fmaxf(sum, 0.0f);",
) -> Edit:
    """Return the edit that takes the barrier of expert_mlp away and reads by `read`.

    Threads spin until the others have written, which orders nothing: a race on `hidden`, unless the
    judge does not see the reads (or the writes).
    """
    spin = "  done[threadIdx.x] = 1;\n  for (int w = 0; w < 32; ++w) while (!done[w]) {}\n"
    return then(
        helper(helpers),
        swap(
            (
                "  __shared__ float hidden[FFN];\n",
                f"  __shared__ {element} hidden[FFN];\n"
                "  __shared__ volatile int done[32];\n  done[threadIdx.x] = 0;\n",
            ),
            (
                "    hidden[f] = fmaxf(sum, 0.0f);\n  }\n  __syncthreads();\n",
                f"    {write}\n  }}\n{spin}",
            ),
            ("sum += w[f] * hidden[f];", f"sum += w[f] * ({read});"),
        ),
    )


def no_wait(helpers: str = "", condition: str = "false") -> Edit:
    """Return the edit that waits for data only if `condition` holds: on a GPU it would not."""
    return then(
        put_before(COMMUNICATION, helpers + "\n"),
        swap((_WAIT, f"    if (receives && ({condition})) awaitData(wire, gin, peer);\n")),
    )


def noted_wait(note: str) -> Edit:
    """Return the edit that puts a comment behind the wait for data."""
    return swap((_WAIT, _WAIT.rstrip("\n") + f"  {note}\n"))


def in_pipeline(text: str) -> Edit:
    """Return the edit that begins the pipeline with `text`."""
    return put_before(PIPELINE, text + "\n")


def instead_of_layer(text: str) -> Edit:
    """Return the edit that replaces the call of run_layer in main."""
    return swap((_RUN, text + "\n"))


def allocated_anew(text: str) -> str:
    """Free and allocate the output in each iteration of the host-driven program."""
    anew = (
        "    CUDA_CHECK(cudaFree(layer.output));\n"
        "    CUDA_CHECK(cudaMalloc(&layer.output, TOKENS * HIDDEN * sizeof(float)));\n"
    )
    return replace(text, (_RUN, anew + _RUN))


def at_end(text: str) -> Edit:
    """Return the edit that adds `text` to main, before the results are read back."""
    return put_before(MAIN_DONE, text + "\n")


def headers(*names: str) -> Edit:
    """Return the edit that includes further headers."""
    return put_before("#include <cmath>\n", "".join(f"#include <{name}>\n" for name in names))
