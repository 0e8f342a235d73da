"""`warploom transform DIR`: the programs of a build tree."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from warploom.cli.output import out, paint, print_json, progress, short_path
from warploom.cli.transform_ask import config_of
from warploom.cli.transform_command import print_result
from warploom.cli.transform_options import TransformChoices
from warploom.core.errors import BadInputError
from warploom.core.records import Json
from warploom.transform import PipelineResult, PreTransformPipeline
from warploom.transform.build_tree import (
    TreePlan,
    planned,
    tree_patch,
    tree_programs,
)
from warploom.transform.config import choose_api
from warploom.workload.workload import Workload

_SHOWN = 12


def run_transform_tree(ask: TransformChoices, only: Sequence[str], *, every: bool) -> int:
    """Say what a transform would do with each program of a build tree, and do what was asked for.

    Returns the exit code: 0 where all that was asked for is transformed and verified, or nothing
    was asked for and something can be; 1 where something is not verified; 2 where it is refused.
    """
    root = ask.target or Path()
    programs = [replace(p, workload=_shaped(ask, p.workload)) for p in tree_programs(root)]
    config = config_of(ask)
    plans = [planned(p, choose_api(config.api_type, p.workload)[0], root) for p in programs]
    talking = [plan for plan in plans if plan.collectives]
    chosen = talking if every else [_named(name, plans) for name in dict.fromkeys(only)]
    if not ask.as_json:
        out(f"{short_path(root)}: {len(plans)} programs, {len(talking)} call NCCL to move data")
        for plan in talking:
            _print_plan(plan, talking)
    done = {plan.program.name: _transformed(plan, ask, root) for plan in chosen if _can(plan)}
    if ask.as_json:
        made: dict[str, Json] = {name: result.to_json() for name, result in done.items()}
        print_json({"programs": [plan.to_json() for plan in plans], "transformed": made})
    elif not chosen and talking:
        out("transform one of them: --only PROGRAM; all of them: --all")
    if not all(map(_can, chosen or talking)) or not talking:
        return 2
    return max((result.exit_code for result in done.values()), default=0)


def _can(plan: TreePlan) -> bool:
    return bool(plan.collectives) and not plan.refusals


def _shaped(ask: TransformChoices, workload: Workload) -> Workload:
    """Return the workload with the options of the command."""
    return ask.applied_to(workload)


def _named(name: str, plans: Sequence[TreePlan]) -> TreePlan:
    known = {plan.program.name: plan for plan in plans}
    if name not in known:
        near = get_close_matches(name, known, n=1)
        meant = f"did you mean {near[0]}?" if near else f"the programs are {', '.join(known)}"
        raise BadInputError(f"no program of the build tree is {name!r}", hint=meant)
    return known[name]


def _print_plan(plan: TreePlan, others: Sequence[TreePlan]) -> None:
    word = paint("can be transformed", "ok") if _can(plan) else paint("refused", "error")
    out(f"{plan.program.name}: {len(plan.collectives)} calls, {word}")
    for source in plan.program.workload.sources:
        out(f"  with {short_path(source)}")
    for call in plan.collectives[:_SHOWN]:
        out(f"  {short_path(call.file)}:{call.line}: {call.name} becomes a kernel")
    if len(plan.collectives) > _SHOWN:
        out(f"  and {len(plan.collectives) - _SHOWN} more")
    for one in plan.refusals:
        out(f"  {short_path(one.file)}:{one.line}: {one.reason}")
    for other in others:
        shared = sorted(set(plan.files) & set(other.files))
        if other is not plan and shared:
            out(f"  {', '.join(shared)} would be changed for {other.program.name} as well")


def _transformed(plan: TreePlan, ask: TransformChoices, root: Path) -> PipelineResult:
    """Transform one program into a folder of its own, with a patch for the tree beside it."""
    name = plan.program.name
    folder = Path(ask.out or f"{root.resolve().name}-device") / Path(name).with_suffix("")
    with progress(not ask.as_json) as on_progress:
        result = PreTransformPipeline(config_of(ask), on_progress).run(
            plan.program.workload, folder
        )
    if not ask.as_json:
        print_result(result)
    if result.verified:
        patch = folder / "tree.patch"
        patch.write_bytes(tree_patch(plan.program, result, root).encode("utf-8", "surrogateescape"))
        if not ask.as_json:
            out(f"  patch    {short_path(patch)}  (git apply it in {short_path(root)})")
    return result
