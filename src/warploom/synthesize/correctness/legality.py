"""What a candidate's text may hold: kernels, and of the host's interfaces little but launches.

Beside the rules for mutable regions (`evaluate/legality.py`), which refuse files, processes, clocks
and new meanings for names of the frame.
"""

import re
from collections.abc import Iterator

from warploom.core.records import Finding, Severity
from warploom.evaluate.tokens import scan
from warploom.synthesize.correctness.frame import first_line_of_body

ALLOWED_CALLS = frozenset(
    {
        "cudaStream_t", "cudaError_t", "cudaSuccess", "cudaGetLastError", "cudaPeekAtLastError",
        "cudaMallocAsync", "cudaFreeAsync", "cudaMemsetAsync", "cudaFuncSetAttribute",
        "cudaFuncAttributeMaxDynamicSharedMemorySize", "cudaErrorInvalidValue",
    }
)  # fmt: skip
"""Of the CUDA runtime's names, those that a kernel's launch needs."""
_API = re.compile(r"(?:cuda|cu|nv|nvrtc|nvml|cublas|cudnn|nccl|MPI_)[A-Z]\w*\Z")
_REFUSED = frozenset({"thread", "async", "jthread", "pthread_create", "asm", "__asm__",
                      "main"})  # fmt: skip


def candidate_findings(body: str, name: str) -> list[Finding]:
    """Return what the text of a candidate holds that no kernel needs."""
    return list(_findings(body, name))


def _findings(body: str, name: str) -> Iterator[Finding]:
    def refused(kind: str, message: str, line: int, hint: str = "") -> Finding:
        return Finding(kind, Severity.ERROR, message, hint, name, line + first_line_of_body() - 1)

    entry = False
    for token in scan(body).tokens:
        if token.kind == "directive" and token.text not in ("define", "undef", "pragma", "if",
                                                            "ifdef", "ifndef", "else", "elif",
                                                            "endif"):  # fmt: skip
            yield refused(
                "forbidden-include" if token.text == "include" else "forbidden-directive",
                f"#{token.text} is refused: what a kernel may use is included already",
                token.line,
            )
        if token.text == "##":
            yield refused("hidden-text", "names must be written out, not pasted together",
                          token.line)  # fmt: skip
        if token.kind != "name":
            continue
        entry = entry or token.text == "warploom_forward"
        if _API.match(token.text) and token.text not in ALLOWED_CALLS:
            yield refused(
                "forbidden-call",
                f"{token.text} is no part of a kernel or its launch",
                token.line,
                f"of the CUDA runtime a kernel file may use: {', '.join(sorted(ALLOWED_CALLS))}",
            )
        elif token.text in _REFUSED:
            yield refused("forbidden-call", f"{token.text} is refused in a kernel file",
                          token.line)  # fmt: skip
    if not entry:
        yield refused("no-entry", 'the file must define extern "C" int warploom_forward(...)', 1)
