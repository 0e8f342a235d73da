"""Constructs that the emulator has no meaning for, and API names in compiler messages.

A construct is replaced by a call that fails the compile with `MARK`, and only if it is compiled
into a program: dead branches and unused templates do no harm.
"""

import re

from warploom.emulator.ptx import UnknownInstructionError, translate
from warploom.emulator.tokens import Kind, TokenStream, newlines
from warploom.source.edits import TextEdit, decode

MARK = "warploom-unsupported:"
"""Starts the message of a compile error that stands for something not emulated."""

_ASM = frozenset((b"asm", b"__asm__", b"__asm"))
_ASM_QUALIFIERS = frozenset((b"volatile", b"__volatile__", b"goto", b"inline"))
# PTX spells types and scopes with dots (`ld.global.u32`) and names registers with `%`; x86 has none
# of the former at the start of an instruction.
_PTX = re.compile(
    r"(?:^|[;{}\\nt\s])\s*(?:@!?%?\w+\s+)?[a-z][a-z0-9]*(?:::?[a-z0-9]+)?\.[a-z][\w.:]*"
    r"|%(?:laneid|smid|warpid|globaltimer|clock|tid|ctaid|lanemask|nsmid|gridid)"
    r"|(?:^|;|\s)(?:trap|brkpt|exit)\s*;"
)

_API = re.compile(
    r"^(?:cuda[A-Z_]\w*|cu[A-Z]\w+|CU[A-Z_]\w*|p?nccl\w+|P?NCCL_\w+|P?MPI_\w+|ompi_\w+"
    r"|(?:cublas|curand|cusparse|cusolver|cufft|cudnn|cutensor|nvshmem|nvtx|nvml|nvrtc|nvJitLink)\w*"
    r"|(?:CUBLAS|CURAND|CUSPARSE|CUFFT|CUDNN|NVSHMEM|NVML|NVTX)\w*"
    r"|__\w+|tex[123]D\w*|texCubemap\w*|surf[123]D\w*|texture|surface|atomic[A-Z]\w*"
    r"|make_[a-z]+\d|(?:nv_)?(?:half|bfloat16)\d*|[hb]2?[a-z]{3,6}2?_\w+"
    r"|(?:u?char|u?short|u?int|u?long|u?longlong|float|double)[1-4]"
    r"|cooperative_groups|cg|cub|thrust|nvcuda|wmma|cutlass|cute|libcudacxx|nvtx3|mma"
    r"|warpSize|clock64|nanosleep|rsqrtf?|sincospif?|norm[34]df?|erfc?invf?|normcdff?)$"
)
_HEADER = re.compile(
    r"(?:^|/)(?:cu\w*|nccl\w*|nv\w*|mpi\w*|mma|device_\w+|math_constants|texture_\w+|surface_\w+"
    r"|sm_\w+|vector_\w+|driver_\w+|helper_\w+|crt)(?:\.(?:h|hpp|cuh))?$"
    r"|^(?:cub|thrust|cuda|cooperative_groups|cutlass|cute|nvtx3|nccl_device|libcudacxx|nvshmem)/"
    r"|^(?:cooperative_groups|cublasLt|omp)\.h$"
)


def is_api_name(name: str) -> bool:
    """Whether `name` belongs to CUDA, NCCL, MPI or a library that comes with them."""
    return any(_API.match(part) for part in re.split(r"::", name.strip(":")) if part)


def is_api_header(name: str) -> bool:
    """Whether a header of that name belongs to CUDA, NCCL, MPI or their libraries."""
    return _HEADER.search(name) is not None


def refusal(what: str, tag: str) -> str:
    """Return a statement that fails the compile with `what`, if it is compiled into code.

    `tag` makes the name of the function that it declares unique.
    """
    safe = re.sub(r"[^\w .,:;%@\[\]{}()<>*+/-]", "", what)
    return (
        f'do {{ extern void wl_refused_{tag}() __attribute__((error("{MARK} {safe}"))); '
        f"wl_refused_{tag}(); }} while (0)"
    )


def asm_edits(stream: TokenStream, tag: str) -> list[TextEdit]:
    """Return edits that turn inline PTX into C++, or refuse what has no meaning here."""
    edits: list[TextEdit] = []
    for at, token in enumerate(stream.tokens):
        if token.kind is not Kind.NAME or token.text not in _ASM:
            continue
        opener = at + 1
        while opener < len(stream) and stream.tokens[opener].text in _ASM_QUALIFIERS:
            opener += 1
        closer = stream.closing(opener) if stream.is_at(opener, b"(") else None
        if closer is None:
            continue
        template = _template_text(stream, opener + 1, closer)
        if not _PTX.search(template):
            continue
        end = stream.tokens[closer].end
        try:
            text = translate(stream, opener, closer)
        except UnknownInstructionError as unknown:
            what = re.sub(r"\s+", " ", unknown.message).strip()
            text = refusal(f"inline PTX: {what[:60]}", f"asm_{tag}_{at}")
        kept = decode(newlines(stream.text[token.start : end]))
        edits.append(TextEdit(token.start, end, text + kept))
    return edits


def _template_text(stream: TokenStream, first: int, closer: int) -> str:
    """Return the string literals before the first `:` of an asm statement, joined."""
    parts: list[str] = []
    for token in stream.tokens[first:closer]:
        if token.text in (b":", b"::"):
            break
        if token.kind is Kind.STRING:
            parts.append(decode(token.text).partition('"')[2].removesuffix('"'))
    return "".join(parts)
