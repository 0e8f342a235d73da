"""Programs that read nothing back: what each communication delivers is read back for the proof.

A result that nobody looks at cannot be compared. So the program is rewritten and judged with lines
behind each communication that copy what it delivers to the host; they are taken out again at the
end. `// warploom: only here` marks them.
"""

import re
from collections.abc import Sequence

from warploom.source import AnalysisReport, TextEdit, apply_edits, parse_source
from warploom.source.records import Collective, Group
from warploom.source.units import ONLY_HERE, is_united, own_lines, without_own_lines

_TYPES = {
    "ncclInt8": "signed char", "ncclChar": "signed char", "ncclUint8": "unsigned char",
    "ncclInt32": "int", "ncclInt": "int", "ncclUint32": "unsigned",
    "ncclInt64": "long long", "ncclUint64": "unsigned long long",
    "ncclFloat32": "float", "ncclFloat": "float", "ncclFloat64": "double", "ncclDouble": "double",
}  # fmt: skip
_ASKED_FOR = re.compile(r"\A\s*#\s*endif[^\n]*\n(.*\n)\s*#\s*if[^\n]*\s*\Z", re.DOTALL)
"""Between the ends of a group that stand in conditionals of their own: not all NCCL has groups."""
_TO_ALL = ("ncclAllGather", "ncclAlltoAll", "ncclGather")
_TO_ROOT = ("ncclReduce", "ncclGather")


def with_results_seen(text: str, analysis: AnalysisReport) -> str | None:
    """Return the program with what its communications deliver read back.

    Args:
        text: the host-driven program, which reads nothing back.
        analysis: of this very text.

    Returns:
        None where some communication stands where no statement can be added, or delivers elements
        of a type that is not known.
    """
    file = parse_source(text, analysis.file)
    edits: list[TextEdit] = []
    for group in analysis.groups:
        calls = [c for c in analysis.collectives if c.group == group.id]
        if not calls:
            continue
        seen = _group(file.text, group, calls) if group.file == analysis.file else None
        if seen is None:
            return None
        edits.append(_after(file.text, group.end.statement.end if group.end else 0, seen))
    for call in analysis.collectives:
        if call.group is None and call.recv is not None:
            seen = _seen(call)
            if seen is None or call.file != analysis.file:
                return None
            edits.append(_after(file.text, call.site.statement.end, [seen]))
    if not edits or not any("warploom_seen" in edit.text for edit in edits):
        return None
    # The first line of several files as one text says that it is one: it stays the first.
    at = file.text.find(b"\n") + 1 if is_united(text) else 0
    return apply_edits(file.text, [TextEdit(at, at, f"#include <vector>  {ONLY_HERE}\n"), *edits])


def without_results_seen(text: str, before: str = "") -> str:
    """Return the program without the lines that were added.

    Several files as one text have such lines of their own: those of `before` stay.
    """
    return without_own_lines(text, own_lines(before))


def _after(text: bytes, at: int, lines: Sequence[str]) -> TextEdit:
    """Return the edit that adds lines behind the statement that ends at `at`."""
    end = text.find(b"\n", at)
    end = len(text) if end < 0 else end + 1
    return TextEdit(end, end, "".join(f"{line}  {ONLY_HERE}\n" for line in lines))


def _group(text: bytes, group: Group, calls: Sequence[Collective]) -> list[str] | None:
    """Return the statements of a group once more, with its calls replaced by reads."""
    if group.end is None:
        return None
    start, end = group.start.statement.end, group.end.statement.start
    edits: list[TextEdit] = []
    for call in calls:
        seen = _seen(call) if call.recv is not None else "{}"
        inside = start <= call.site.statement.start and call.site.statement.end <= end
        if seen is None or not inside:
            return None
        edits.append(
            TextEdit(call.site.statement.start - start, call.site.statement.end - start, seen)
        )
    body = apply_edits(text[start:end], edits)
    body = re.sub(r"//[^\n]*", "", body)
    body = _ASKED_FOR.sub(r"\1", body)
    if "#" in body or "\\\n" in body or "ncclGroup" in body:
        return None
    lines = [line.rstrip() for line in body.split("\n")]
    return ["{", *(line for line in lines if line), "}"]


def _seen(call: Collective) -> str | None:
    """Return a statement that reads back what a call delivers."""
    kind = _TYPES.get((call.dtype or "").strip())
    if kind is None or not call.count or not call.comm or not call.stream:
        return None
    of_all = " * warploom_ranks" if call.name in _TO_ALL else ""
    at_root = f"if (warploom_rank == ({call.root})) " if call.name in _TO_ROOT else ""
    size = f"static_cast<size_t>({call.count}){of_all}"
    return "".join(
        [
            "{ int warploom_rank = 0, warploom_ranks = 1; ",
            f"ncclCommUserRank({call.comm}, &warploom_rank); ",
            f"ncclCommCount({call.comm}, &warploom_ranks); cudaStreamSynchronize({call.stream}); ",
            f"{at_root}{{ std::vector<{kind}> warploom_seen({size}); ",
            f"cudaMemcpy(warploom_seen.data(), {call.recv}, sizeof({kind}) * warploom_seen.size(), "
            "cudaMemcpyDeviceToHost); } }",
        ]
    )
