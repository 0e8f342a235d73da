"""Lines that are there only while a text is judged, in text that nobody vouches for.

They are taken out of what is written. So who answers may neither add one nor take one away, and
the rest must be the same text without them: else what is written is not what was judged.
"""

from warploom.evaluation.legality.tokens import scan
from warploom.source import AnalysisReport
from warploom.source.edits import split_lines
from warploom.source.units import ONLY_HERE, own_lines, without_own_lines


def own_lines_problem(original: str, text: str) -> str:
    """Say what is wrong with the lines of ours in a proposal; "" if nothing is.

    Args:
        original: the text that the proposer was given.
        text: what it gave back.
    """
    if own_lines(original) != own_lines(text):
        return f'lines that end in "{ONLY_HERE}" must stay as they are, and no other may end so'
    lines = split_lines(text)
    ours = {number for number, line in enumerate(lines, 1) if own_lines(line)}
    if any(lines[number - 2].rstrip().endswith("\\") for number in ours if number > 1):
        return f'a line that ends in "{ONLY_HERE}" may not go on from the one before it'
    rest = [(t.text, t.directive) for t in scan(text).tokens if t.line not in ours]
    if rest != [(t.text, t.directive) for t in scan(without_own_lines(text)).tokens]:
        return f'the program is another one without the lines that end in "{ONLY_HERE}"'
    return ""


def unwatched_kernels(analysis: AnalysisReport) -> str:
    """Say which kernel nothing may watch, in a program that reads back only what it is sent; or "".

    What a kernel computes before ranks communicate shows in what they send. Of one behind that, or
    in another function, nobody looks at the results.
    """
    calls = [call.site for call in analysis.collectives]
    if not calls:
        return ""
    first = min(calls, key=lambda site: (site.file, site.statement.start))
    for launch in analysis.launches:
        site = launch.site
        same = (site.file, site.function) == (first.file, first.function)
        if not same or site.statement.start > first.statement.start:
            return (
                f"nothing reads what the kernel {launch.kernel} at line {launch.line} computes, so "
                "that no answer of a model or an agent can be judged: name outputs in "
                "workload.toml, or let the program read its results back"
            )
    return ""
