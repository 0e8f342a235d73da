"""Stream capture: what a graph that replays communications needs of a program.

A captured kernel replays with the arguments of its capture. What counts its communications lies on
the device: barriers, signals and their shadows, the counts of messages. Windows must be open before
the capture, since a stream that is captured cannot wait for their set-up.
"""

from collections.abc import Iterator

from warploom.core.errors import Refusal, RefusedError
from warploom.propose.rules.lexing import Mention, find_mentions
from warploom.propose.rules.prelude import CAPTURES
from warploom.source import AnalysisReport, SourceFile
from warploom.source.records import Function


def capture_refusals(file: SourceFile, analysis: AnalysisReport) -> Iterator[Refusal]:
    """Yield why the communications that a program captures cannot be replayed."""
    captures = [m for m in find_mentions(file.text, CAPTURES) if m.called]
    if not captures:
        return
    streams = {c.stream for c in analysis.collectives}
    if len(streams) > 1:
        reason = (
            "stream capture of a program that communicates on several streams: a replay cannot "
        )
        yield Refusal(
            reason + "be ordered behind the others' communications; communicate on one stream",
            analysis.file,
            captures[0].line,
        )
        return
    for launch in find_mentions(file.text, ("cudaGraphLaunch",)):
        stream = _launched_on(file, launch)
        if stream and stream not in streams and _is_among(analysis, launch):
            reason = (
                f"a graph that communicates on {''.join(s or '' for s in streams)} is launched "
            )
            yield Refusal(
                f"{reason}on {stream}: launch it on the stream that was captured",
                analysis.file,
                launch.line,
            )


def refuse_unopened_capture(file: SourceFile, analysis: AnalysisReport) -> None:
    """Raise RefusedError: there is no statement before the capture that every rank comes by."""
    mention = next(m for m in find_mentions(file.text, CAPTURES))
    reason = (
        "stream capture: the windows must be open before it, and no statement there is common to "
        "all ranks; create the communicator and call what captures in one function"
    )
    raise RefusedError.of((Refusal(reason, analysis.file, mention.line),))


def _launched_on(file: SourceFile, launch: Mention) -> str:
    for call in file.nodes("call_expression"):
        arguments = call.child_by_field_name("arguments")
        if call.start_byte == launch.start and arguments is not None:
            named = arguments.named_children
            return file.node_text(named[1]) if len(named) == 2 else ""
    return ""


def _is_among(analysis: AnalysisReport, launch: Mention) -> bool:
    """Whether the function that launches a graph communicates itself: its names are the same."""
    return any(
        _holds(f, launch.start) and any(_holds(f, c.site.call.start) for c in analysis.collectives)
        for f in analysis.functions
        if f.file == analysis.file
    )


def _holds(function: Function, at: int) -> bool:
    return function.body.start <= at < function.body.end
