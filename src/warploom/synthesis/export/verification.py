"""VERIFICATION.md: what was verified, how, and what was not."""

from pathlib import Path

from warploom.core.version import VERSION
from warploom.synthesis.nvcc_flags import NVCC_FLAGS
from warploom.synthesis.records import ON_GPU, CorrectnessReport, KernelSpec
from warploom.synthesis.result import SynthesisResult

MEANING = {
    "legality": "the text holds kernels and their launches only",
    "build": "it builds for the emulator",
    "nvcc": "the CUDA compiler takes it",
    "private-seeds": "the reference's own example inputs, from seeds that nobody knew",
    "odd-sizes": "odd sizes that are no squares",
    "even-sizes": "multiples of four and of a warp",
    "named-sizes": "sizes that the kernel's text names, and one more",
    "sizes-of-zero": "sizes of zero",
    "sizes-of-one": "sizes of one",
    "sizes-at-ends": "the least and the most that the conditions on sizes allow",
    "long": "long dimensions",
    "accumulation": "long sums of numbers of one sign",
    "magnitudes": "large, small and nearly equal numbers",
    "special-values": "NaN, infinities, zeros of both signs, subnormal numbers, whole ones, halves",
    "ties": "equal values, of which the first counts",
    "misaligned": "tensors that begin one to three elements off any alignment",
    "aliasing": "inputs that share memory",
    "inputs-unchanged": "inputs are as they were",
    "surroundings-unchanged": "words around the tensors are as they were",
    "deterministic": "another schedule gives the same bits",
    "memory-and-races": "no access out of bounds, no read of what nobody wrote, no race",
    "launches": "each size beyond the 65,535 blocks that a grid has in y and z: kernels were "
    "launched there, not run",
    "every-way": "each way of each condition was taken in a compared call, or fails openly; a "
    "bound that no call reached was moved, and the results stayed right",
    ON_GPU: "the same trial on a GPU, twice, and under compute-sanitizer's tools",
}
"""What each check of a report means."""


_NO_GPU = (
    "- **No GPU has run this kernel here.** Races and bounds were checked by the emulator; "
    "times are modelled, not measured."
)


def verification_text(result: SynthesisResult, *, has_host: bool) -> str:
    """Return the text for a verified kernel."""
    report, spec = result.correctness, result.spec
    assert report is not None
    assert spec is not None
    lines = [
        f"# What was verified of {spec.name}", "",
        f"By warploom {VERSION}, run {result.run}, against the reference "
        f"`{Path(result.reference).name}` in "
        "double precision, on its CPU emulator of CUDA: "
        f"{report.cases} cases, each under two schedules.", "",
        "| check | times | what it means |", "|---|---|---|",
        *(f"| {c.name} | {c.times} | {MEANING.get(c.name, c.name)} |" for c in report.checks), "",
        *_conditions(spec),
        "Tolerances, owned by the harness:", "",
        *(
            f"- `{t.name}` ({t.dtype}): {rule.rtol:.3g} of the value, and {rule.room:.3g} + n/2 "
            f"times what a rounding of each input moves it, n = {rule.reduction}"
            for t, rule in zip(spec.outputs, spec.tolerances, strict=True)
        ), "",
        f"Builds (nvcc with `{' '.join(NVCC_FLAGS)}`, as the package has it):", "",
        *_builds(report), "", "## What was not", "",
        *([] if any(check.name == ON_GPU for check in report.checks) else [_NO_GPU]),
        *(f"- Not tried: {words}" for words in report.skipped),
        "- Inputs that are not dense are copied by the binding before the kernel sees them.",
        "- There is no backward: the operator has no gradient.",
        "- Sizes beyond those of the cases follow from the code, not from a run.", _host(has_host),
        "",
    ]  # fmt: skip
    if result.performance is not None:
        time = result.performance
        lines += [
            "## Time", "",
            f"{time.time_ms * 1e3:.2f} us, **{time.time_source}** on {time.machine} at "
            f"{dict(time.sizes)}.", "",
        ]  # fmt: skip
    return "\n".join(lines)


def _conditions(spec: KernelSpec) -> list[str]:
    """Return what sizes must meet; nothing where all are verified alike."""
    if not spec.conditions:
        return []
    named = ", ".join(f"{s.name} = {spec.inputs[s.input].name}.shape[{s.dim}]"
                      for s in spec.symbols)  # fmt: skip
    return [
        "Only for some sizes: elsewhere the reference does something else, or fails, and the "
        f"operator refuses them ({named}):", "",
        *(f"- `{text}`" for text in spec.conditions), "",
    ]  # fmt: skip


def _builds(report: CorrectnessReport) -> list[str]:
    found: list[str] = []
    for build in report.builds:
        word = f"not run: {build.note}" if build.ok is None else "ok" if build.ok else "failed"
        found.append(f"- {build.tool}: {word}")
    return found


def _host(has_host: bool) -> str:
    if has_host:
        return (
            "- The package's tests on the CPU compile the same text by the C++ compiler with "
            "`host_cuda.h`, one block after the other: they show what it computes, not that a GPU "
            "does it without races."
        )
    return "- The kernel has no form for CPU tensors: the package's tests need a GPU."
