"""Which NCCL calls stand in one group: `ncclGroupStart` to the matching `ncclGroupEnd`."""

from dataclasses import dataclass, field

from warploom.source.analysis import api
from warploom.source.analysis.sites import Call, site_of
from warploom.source.analysis.trace import Trace
from warploom.source.records import Group


@dataclass(slots=True)
class _Open:
    id: int
    start: Call
    end: Call | None = None
    members: dict[int, Call] = field(default_factory=dict[int, Call])


def find_groups(trace: Trace) -> tuple[dict[int, int], tuple[Group, ...]]:
    """Return the group number of each collective by its call node, and the groups.

    Nested groups count as one, as NCCL treats them. A group opened at one source line is one
    group, however often it runs.
    """
    numbers: dict[int, int] = {}
    known: dict[int, _Open] = {}
    depth, entry = 0, 0
    current: _Open | None = None
    for step in trace.steps:
        if step.entry != entry:
            depth, entry, current = 0, step.entry, None
        name, node = step.call.name, step.call.node
        if name == api.GROUP_START:
            if depth == 0:
                current = known.setdefault(node.id, _Open(len(known) + 1, step.call))
            depth += 1
        elif name in (api.GROUP_END, "ncclGroupSimulateEnd") and depth:
            depth -= 1
            if depth == 0 and current is not None:
                current.end = current.end or step.call
                current = None
        elif name in api.COLLECTIVES and current is not None:
            current.members.setdefault(node.id, step.call)
            numbers.setdefault(node.id, current.id)
    groups = [
        Group(
            id=group.id,
            file=group.start.path,
            line=group.start.line,
            end_line=group.end.line if group.end else None,
            collectives=tuple(call.line for call in group.members.values()),
            start=site_of(trace.program, group.start),
            end=site_of(trace.program, group.end) if group.end else None,
        )
        for group in known.values()
    ]
    return numbers, tuple(groups)
