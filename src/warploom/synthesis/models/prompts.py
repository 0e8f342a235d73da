"""What a model is told: what the kernel must do, how it is called, what it may use."""

from warploom.core.records import Finding, Severity
from warploom.synthesis.correctness.frame import HEADERS, first_line_of_body
from warploom.synthesis.correctness.legality import ALLOWED_CALLS
from warploom.synthesis.records import CorrectnessReport, KernelSpec, PerformanceReport, TensorArg

SYSTEM = """You write CUDA kernels for one GPU. A harness that you cannot see judges every kernel:
it compiles it, runs it on inputs of many sizes and kinds (odd sizes, sizes of 0 and 1, NaN,
infinities, pointers that are aligned to their elements only), checks every access, and compares
every output with the reference in double precision. Tolerances are the harness's and cannot be
changed. Both ways of each condition must be taken by some of these inputs: write no branch that
none reaches (a path for sizes beyond 32 bits, say), but one that ends in `return 1;` of the entry
point. Bounds by min and max that none reaches must not matter: results stay right where they are
tighter. Some thread must take a second turn of each loop, there too: bound a grid by min, do not
fix it. In y and z a grid has at most 65,535 blocks. nvcc makes no multiply-add of a
product and a sum by itself (-fmad=false): write fmaf. Only the code block of your reply is read."""

_SHOWN = 12


def task_text(spec: KernelSpec, reference: str) -> str:
    """Return the description of a task."""
    lines = [f"# Task\n\n{spec.prompt}\n\nTarget: {spec.target}.", "## Inputs and outputs"]
    lines += [f"- inputs[{at}]: {_tensor(t)}" for at, t in enumerate(spec.inputs)]
    lines += [f"- outputs[{at}]: {_tensor(t)}" for at, t in enumerate(spec.outputs)]
    lines += [
        f"- sizes[{at}]: {s.name}, dimension {s.dim} of {spec.inputs[s.input].name}"
        for at, s in enumerate(spec.symbols)
    ]
    calls = ", ".join(sorted(ALLOWED_CALLS))
    lines.append(
        "All tensors are dense, row after row. Each size may be anything from 0 on"
        f"{_conditions(spec)}.\n\n"
        "## Form\n\n"
        'The file defines\nextern "C" int warploom_forward(void* const* inputs, '
        "void* const* outputs, const long long* sizes, void* stream_handle);\n"
        "which launches its kernels on static_cast<cudaStream_t>(stream_handle) and returns 0. It "
        f"has no #include: {', '.join(HEADERS)} are there. Of the CUDA runtime it may use "
        f"{calls}; no libraries.\n\n"
        f"## Reference\n\n```python\n{reference}\n```"
    )
    return "\n".join(lines)


def _conditions(spec: KernelSpec) -> str:
    """Return under which conditions sizes are so, as the rest of a sentence."""
    words = " and ".join(f"`{text}`" for text in spec.conditions)
    return f", with {words}" if words else ""


ANSWER = """## How to answer

Reply with the whole file in one block fenced by ```cuda and ```."""


def repair_text(body: str, report: CorrectnessReport) -> str:
    """Return what is wrong with a kernel, for who mends it."""
    told = [_told(f) for f in report.findings if f.severity is Severity.ERROR]
    return (
        "## Your last kernel was refused\n\n" + "\n".join(told[:_SHOWN]) + f"\n\n```cuda\n{body}```"
    )


def _told(finding: Finding) -> str:
    where = ""
    if finding.line and finding.line >= first_line_of_body():
        where = f" (line {finding.line - first_line_of_body() + 1})"  # of the model's own text
    hint = f" ({finding.hint})" if finding.hint else ""
    return f"- {finding.kind}{where}: {finding.message}{hint}"


def faster_text(body: str, report: PerformanceReport) -> str:
    """Return what to make of a kernel that is right."""
    return (
        "## This kernel is right: make it faster\n\n"
        f"It takes {report.time_ms * 1e3:.2f} us ({report.time_source} on {report.machine}); "
        f"moving its data takes {report.floor_ms * 1e3:.3f} us. "
        f"Held back by: {report.bottleneck}.\n\n"
        f"```cuda\n{body}```"
    )


def _tensor(tensor: TensorArg) -> str:
    lowest = f"-{tensor.index_of}" if (tensor.low or 0) < 0 else "0"
    index = f", integers from {lowest} to {tensor.index_of} - 1" if tensor.index_of else ""
    besides = "".join(f" or {word}" for word in tensor.besides)
    return f"{tensor.name}, {tensor.dtype}[{', '.join(tensor.shape)}]{index}{besides}"
