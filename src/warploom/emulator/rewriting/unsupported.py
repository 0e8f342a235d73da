"""Constructs that the emulator has no meaning for, and API names in compiler messages.

A construct is replaced by a call that fails the compile with `MARK`, and only if it is compiled
into a program: dead branches and unused templates do no harm.
"""

import contextlib
import json
import re

from warploom.emulator.ptx.template import (
    Texts,
    UnknownInstructionError,
    choices,
    literal,
    template_of,
)
from warploom.emulator.ptx.translate import template_tokens, translate
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
    r"^(?:cuda[A-Z_]\w*|cu[A-Z]\w+|CU[A-Z_][A-Z0-9_]*(?:_v\d)?(?:_st)?"
    r"|p?nccl\w+|P?NCCL_\w+|P?MPI_\w+|ompi_\w+"
    r"|(?:cublas|curand|cusparse|cusolver|cufft|cudnn|cutensor|nvshmem|nvtx|nvml|nvrtc|nvJitLink)\w*"
    r"|(?:CUBLAS|CURAND|CUSPARSE|CUFFT|CUDNN|NVSHMEM|NVML|NVTX)\w*"
    r"|__\w+|tex[123]D\w*|texCubemap\w*|surf[123]D\w*|texture|surface|atomic[A-Z]\w*"
    r"|make_[a-z]+\d|(?:nv_)?(?:half|bfloat16)\d*|[hb]2?[a-z]{3,6}2?_\w+"
    r"|(?:u?char|u?short|u?int|u?long|u?longlong|float|double)[1-4]"
    r"|cooperative_groups|cg|cub|thrust|nvcuda|wmma|cutlass|cute|libcudacxx|nvtx3|mma|MPI"
    r"|warpSize|clock64|nanosleep|rsqrtf?|sincospif?|norm[34]df?|erfc?invf?|normcdff?)$"
)
_HEADER = re.compile(
    r"(?:^|/)(?:cu(?:da|blas|rand|solver|sparse|fft|dnn|tensor|file|pti|vid|dss|Complex)\w*|cu"
    r"|nccl\w*|nv\w*|mpi\w*|mma|math_constants|math_functions|texture_\w+|surface_\w+|sm_\w+"
    r"|device_(?:functions|types|launch_parameters|atomic_functions|double_functions)"
    r"|(?:vector|driver)_(?:types|functions)|crt)(?:\.(?:h|hpp|cuh))?$"
    r"|^(?:cub|thrust|cuda|cooperative_groups|cutlass|cute|nvtx3|nccl_device|libcudacxx|nvshmem)/"
    r"|^(?:cooperative_groups|omp)\.h$"
)


# Libraries with headers of their own, by what their includes look like.
_LIBRARIES = [
    (re.compile(pattern), name)
    for pattern, name in (
        (r"^(?:nvshmem\w*/|(?:.*/)?nvshmemx?\w*\.(?:h|cuh)$)", "NVSHMEM"),
        (r"^rdma/fi_\w+\.h$|^rdma/fabric\.h$|^ofi\w*\.h$", "libfabric (OFI)"),
        (r"^infiniband/|^rdma/", "verbs of libibverbs (RDMA)"),
        (r"^(?:psm2\w*|portals4)\.h$", "interfaces of network cards (PSM2, Portals)"),
        (r"^sharp/|^hcoll/", "collectives of the network (SHARP, HCOLL)"),
        (r"^doca_\w+\.h$|^doca/", "DOCA"),
        (r"^gdrapi\.h$", "GDRCopy"),
        (r"^mscclpp/", "MSCCL++"),
        (r"^cutlass/", "CUTLASS"),
        (r"^cute/", "CuTe (of CUTLASS)"),
        (r"^(?:ucp|ucs|uct|ucm)/", "UCX"),
        (r"^ucc/", "UCC"),
        (r"^(?:torch|ATen|c10|c10d|caffe2)/|^(?:torch|torch_\w+)\.h$", "PyTorch"),
        (r"^pybind11/|^nanobind/", "Python bindings"),
        (r"^(?:Python|numpy/\w+)\.h$", "Python's own headers"),
        (r"^tensorflow/|^xla/", "TensorFlow and XLA"),
        (r"^tvm/|^dlpack/|^triton/", "machine-learning compilers' headers"),
        (r"^rmm/|^raft/|^cudf/|^cuml/", "RAPIDS"),
        (r"^kokkos|^Kokkos|^RAJA/|^alpaka/", "portability layers over CUDA (Kokkos, RAJA, alpaka)"),
        (r"^hip/|^rccl|^roc(?:blas|prim|thrust)|^hip(?:blas|cub|rand)", "HIP and ROCm"),
        (r"^sycl/|^CL/", "SYCL and OpenCL"),
        (r"^(?:rocshmem|roc_shmem)(?:/|\w*\.hp?p?$)", "rocSHMEM"),
        (r"^nixl\w*\.h$", "NIXL"),
        (r"^nvcomp(?:/|\w*\.hp?p?$)", "nvCOMP"),
        (r"^dcgm_\w+\.h$", "DCGM"),
        (r"^shmemx?\.h$", "OpenSHMEM"),
        (r"^gaspi|^GASPI", "GASPI"),
        (r"^upcxx/|^gasnet", "UPC++ and GASNet"),
        (r"^oneapi/", "oneAPI"),
        (r"^(?:GL|GLFW|EGL|vulkan)/|^cuda_gl_interop\.h$|^cuda_egl_interop\.h$", "graphics"),
        (r"^cudnn\w*\.h$", "cuDNN"),
        (r"^cudss\.h$", "cuDSS"),
        (r"^cutensor\w*\.h$|^cutensor/", "cuTENSOR"),
        (r"^cufile\.h$", "cuFile (GPUDirect Storage)"),
        (r"^cufftdx|^cublasdx|^cusolverdx", "NVIDIA's device extensions (cuFFTDx and the like)"),
        (
            r"^cufftMp\w*\.h$|^cublasmp\.h$|^cusolverMp\.h$|^cal\.h$",
            "NVIDIA's multi-process libraries",
        ),
        (r"^cupti\w*\.h$|^nvperf", "CUPTI"),
        (r"^nvml\.h$", "NVML"),
        (r"^nvrtc\.h$|^nvJitLink\.h$|^nvPTXCompiler\.h$", "compilers at run time (NVRTC)"),
        (r"^npp\w*\.h$", "NPP"),
        (r"^nvjpeg\w*\.h$|^nvjpeg2k", "nvJPEG"),
        (r"^Nv(?:Infer|Onnx)\w*\.h$", "TensorRT"),
        (r"^crt/", "nvcc's own headers"),
        (r"^cooperative_groups/details/", "inner headers of cooperative groups"),
        (r"^cuda_fp[46]\.h(?:pp)?$", "4- and 6-bit floats"),
    )
]


# The same by their functions, where a header is installed and no library is linked.
_FUNCTIONS = [
    (re.compile(pattern), name)
    for pattern, name in (
        (r"^nvshmemx?_", "NVSHMEM"),
        (r"^(?:ibv|rdma|mlx5dv)_[a-z]", "verbs of libibverbs (RDMA)"),
        (r"^(?:ucp|uct|ucs)_[a-z]", "UCX"),
        (r"^ucc_[a-z]", "UCC"),
        (r"^shmem_[a-z]", "OpenSHMEM"),
        (r"^gdr_(?:open|pin_buffer|map|copy)", "GDRCopy"),
        (r"^cudnn[A-Z]", "cuDNN"),
        (r"^cuFile[A-Z]", "cuFile (GPUDirect Storage)"),
        (r"^doca_[a-z]", "DOCA"),
        (r"^fi_(?:getinfo|freeinfo|fabric|strerror|version|dupinfo)$", "libfabric (OFI)"),
        (r"^dcgm[A-Z]", "DCGM"),
        (r"^nvcomp[A-Z]", "nvCOMP"),
        (r"^nvml[A-Z]", "NVML"),
        (r"^nvrtc[A-Z]", "compilers at run time (NVRTC)"),
        (r"^npp[is]\w*_", "NPP"),
        (r"^(?:Py|_Py)[A-Z]", "Python's own headers"),
        (r"^hip[A-Z]", "HIP and ROCm"),
    )
]


def library_of(name: str) -> str | None:
    """Return the library that a header (`<nvshmem.h>`) or a function belongs to, if one we know."""
    known = _LIBRARIES if name.startswith("<") else _FUNCTIONS
    found = name.strip("<>")
    return next((library for pattern, library in known if pattern.search(found)), None)


def is_api_name(name: str) -> bool:
    """Whether `name` belongs to CUDA, NCCL, MPI or a library that comes with them."""
    if library_of(name):
        return True
    return any(_API.match(part) for part in re.split(r"::", name.strip(":")) if part)


def is_api_header(name: str) -> bool:
    """Whether a header of that name belongs to CUDA, NCCL, MPI or their libraries."""
    return _HEADER.search(name) is not None or library_of(f"<{name}>") is not None


def refusal(what: str, tag: str) -> str:
    """Return a statement that fails the compile with `what`, if it is compiled into code.

    `tag` makes the name of the function that it declares unique.
    """
    safe = re.sub(r"[^\w .,:;%@\[\]{}()<>*+/-]", "", what)
    return (
        f'do {{ extern void wl_refused_{tag}() __attribute__((error("{MARK} {safe}"))); '
        f"wl_refused_{tag}(); }} while (0)"
    )


def asm_edits(stream: TokenStream, tag: str, macros: Texts) -> list[TextEdit]:
    """Return edits that turn inline PTX into C++, or refuse what has no meaning here.

    `macros` are those that stand for text, in this file and those read before it.
    """
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
        hidden = stream.macro_parameters(at)  # what a use of the macro gives, whatever they are
        known = {name: text for name, text in macros.items() if name not in hidden}
        template = _shown_text(stream, opener + 1, closer, known)
        if not _PTX.search(template):
            continue
        end = stream.tokens[closer].end
        text = _translated(stream, opener, closer, known, f"asm_{tag}_{at}")
        kept = decode(newlines(stream.text[token.start : end]))
        edits.append(TextEdit(token.start, end, text + kept))
    return edits


def _translated(stream: TokenStream, opener: int, closer: int, macros: Texts, tag: str) -> str:
    """Return C++ for an asm statement; where its template names macros, for each text of these.

    Which of them it is the compiler says, whatever the conditions around the definitions are.
    """
    words = template_tokens(stream, opener, closer)
    try:
        if not any(word.kind is Kind.NAME for word in words):
            return translate(stream, opener, closer, macros)
        ways = [(template_of(words, way), way) for way in choices(words, macros)]
        if not ways:
            template_of(words, macros)  # says which one is not known
        # On one line: a raw literal may have several, and lines are counted.
        texts = (decode(word.text) for word in words)
        written = " ".join(
            json.dumps(literal(text)) if word.kind is Kind.STRING else text
            for word, text in zip(words, texts, strict=True)
        )
        tests = [
            f"if constexpr (::warploom::ptx::same_text({written}, {json.dumps(text)})) "
            f"{{ {translate(stream, opener, closer, way)}; }} else "
            for text, way in ways
        ]
    except UnknownInstructionError as unknown:
        what = re.sub(r"\s+", " ", unknown.message).strip()
        return refusal(f"inline PTX: {what[:60]}", tag)
    other = refusal("inline PTX: a macro that stands for another text", tag)
    return f"do {{ {''.join(tests)}{{ {other}; }} }} while (0)"


def _shown_text(stream: TokenStream, first: int, closer: int, macros: Texts) -> str:
    """Return what is known of an asm statement's template: enough to tell PTX from other code."""
    found = ""
    for token in stream.tokens[first:closer]:
        if token.text in (b":", b"::"):
            break
        for way in choices((token,), macros) or [macros]:
            with contextlib.suppress(UnknownInstructionError):  # refused where the rest is PTX
                found += template_of((token,), way)
    return found
