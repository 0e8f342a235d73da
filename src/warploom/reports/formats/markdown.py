"""A run's report in Markdown."""

from warploom.core.version import VERSION
from warploom.reports.html.charts import short
from warploom.reports.html.run_report import RunStory

_SPECIAL = "\\`*_[]<>|&~"
_AT_THE_START = "#+-=>"


def words(text: str) -> str:
    """Return `text` for a line of Markdown: nothing in it is markup or HTML."""
    flat = " ".join(text.split())
    first = "\\" if flat[:1] and flat[0] in _AT_THE_START else ""
    return first + "".join(f"\\{char}" if char in _SPECIAL else char for char in flat)


def fenced(text: str, language: str = "") -> list[str]:
    """Return a code block whose fence is longer than any run of backticks in `text`."""
    longest = run = 0
    for char in text:
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *text.splitlines(), fence]


def run_markdown(story: RunStory) -> str:
    """Return the report as Markdown."""
    view = story.overview
    lines = [
        f"# {words(story.title)}: what the search found",
        "",
        f"A search by warploom {VERSION}, {story.state}. Workload: {words(story.workload)}",
        "",
        f"- programs judged: {view.attempts}, correct: {view.correct}",
        f"- best: {_best(story)}",
        *([f"- times are {view.time_source}, of {words(view.scored)}"] if view.scored else []),
        f"- turned away as known: {view.rejections} proposals",
        f"- wall time: {view.seconds / 60:.1f} min; models: ${view.cost:.2f}",
        "",
        "## From the seed to the best",
        "",
        "| program | by | what was changed | ms | score |",
        "|---|---|---|---|---|",
    ]
    for one in story.path:
        time, score = one.outcome.time_ms, one.outcome.score
        lines.append(
            f"| {one.number} | {words(one.lineage.operator)} | "
            f"{words('; '.join(one.lineage.changes)) or '-'} | "
            f"{'-' if time is None else short(time)} | {'-' if score is None else short(score)} |"
        )
    lines += ["", "## What failed", "", "| failure | attempts |", "|---|---|"]
    lines += [f"| {words(one.kind)} | {one.count} |" for one in story.failures]
    lines += ["", "## Who proposed what", "", "| operator | attempts | correct | better | cost |",
              "|---|---|---|---|---|"]  # fmt: skip
    lines += [
        f"| {words(one.name)} | {one.attempts} | {one.correct} | {one.better} | ${one.cost:.4f} |"
        for one in (*story.operators, *story.models)
    ]
    if story.summary is not None:
        lines += ["", "## What was learned", "", words(story.summary.summary), ""]
        lines += [f"- {words(idea)}" for idea in story.summary.recommendations]
    if story.diff:
        lines += ["", "## The whole change", "", *fenced(story.diff, "diff")]
    return "\n".join(lines) + "\n"


def _best(story: RunStory) -> str:
    view = story.overview
    if view.champion is None:
        return "no program has passed a second judgment yet"
    if view.champion_ms is None:
        return f"program {view.champion}, score {short(view.champion_score or 0.0)}"
    speed = "" if view.speedup is None else f", {short(view.speedup)} times as fast as the original"
    return (
        f"program {view.champion}, {short(view.champion_ms)} ms ({view.time_source}){speed}, "
        "in a second judgment; times below are of the first one"
    )
