"""The MCP server: analyze, design_space, check, evaluate, transform and doctor as tools.

They answer in text by default, as short as the command line's: a host cuts what is long, and a
model reads all of it. The JSON, ten times as long, is there for who asks for it.
"""

import json
import tempfile
from pathlib import Path
from typing import Annotated, Literal, Unpack

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from warploom.core.records import Json
from warploom.core.version import VERSION
from warploom.mcp.commands import CommandResult, run_command
from warploom.workload.run_shape import ShapeChange

SKILL = Path(__file__).with_name("SKILL.md")

_MAX_FINDINGS = 20  # of a result: an agent mends the first ones and checks again
_MAX_TEXT = 16_000  # characters: some 4,000 tokens, below what the hosts that we know cut
_BAD = (2, 3)  # exit codes of a command that answers with an error
_READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
_WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)

Target = Annotated[
    str, Field(description="Path of a CUDA program with a main, or of a workload file or folder.")
]
Program = Annotated[str, Field(description="Path of a CUDA program.")]
Ranks = Annotated[
    int | None, Field(description="Number of ranks; default: the workload's, or 4.", ge=1, le=256)
]
Defines = Annotated[dict[str, str] | None, Field(description="Macros: name to value.")]
Includes = Annotated[list[str] | None, Field(description="Further include folders.")]
LsaSize = Annotated[
    int | None, Field(description="Ranks that share memory (an LSA team); default: all.", ge=1)
]
NodeSize = Annotated[
    int | None, Field(description="Ranks whose GPUs are in one machine; default: all.", ge=1)
]
Processes = Annotated[
    int | None,
    Field(description="Processes that share the devices equally; default: as the program has it."),
]
Nccl = Annotated[str | None, Field(description="NCCL version whose rules hold, such as 2.30.7.")]
Arguments = Annotated[list[str] | None, Field(description="Arguments of the program.")]
Form = Annotated[
    Literal["text", "json"],
    Field(description="text: short, for reading; json: every detail, ten times as long."),
]

server = MCPServer(
    "warploom",
    title="warploom",
    description="Checks, transforms and judges CUDA programs that communicate through NCCL.",
    instructions=SKILL.read_text(encoding="utf-8"),
    version=VERSION,
    log_level="WARNING",
)


@server.tool(annotations=_READS)
async def analyze(
    program: Program,
    context: Context,
    defines: Defines = None,
    include_dirs: Includes = None,
    form: Form = "text",
) -> CallToolResult:
    """Say what a program communicates, allocates, launches and waits for, line by line.

    Reads the source only; runs nothing. Use it first on an unknown program.
    """
    words = ["analyze", _path(program), *_program_options(defines, include_dirs)]
    words += ["--llm"] if form == "text" else []
    return await _answer(words, context, form)


@server.tool(annotations=_READS)
async def design_space(
    target: Target,
    context: Context,
    ranks: Ranks = None,
    defines: Defines = None,
    include_dirs: Includes = None,
    lsa_size: LsaSize = None,
    nccl: Nccl = None,
    form: Form = "text",
) -> CallToolResult:
    """List what is open to choose for each host collective, and what is ruled out and why.

    Dimensions: backend (GIN, LSA), placement, sync scope, issuer, chunk size. Runs nothing.
    """
    words = ["analyze", _path(target), "--design-space", *_program_options(defines, include_dirs)]
    return await _answer(
        [*words, *_shape_options(ranks=ranks, lsa_size=lsa_size, nccl=nccl)], context, form
    )


@server.tool(annotations=_READS)
async def check(
    target: Target,
    context: Context,
    ranks: Ranks = None,
    defines: Defines = None,
    include_dirs: Includes = None,
    lsa_size: LsaSize = None,
    node_size: NodeSize = None,
    processes: Processes = None,
    nccl: Nccl = None,
    effort: Annotated[
        Literal["quick", "normal", "thorough"],
        Field(description="quick: one run; normal: all timings and 3 seeds; thorough: until dry."),
    ] = "normal",
    replay: Annotated[
        str | None,
        Field(description="SEED:TIMING of a finding: make this run only, with what led to it."),
    ] = None,
    arguments: Arguments = None,
    form: Form = "text",
) -> CallToolResult:
    """Run a program in the emulator under adverse schedules and report every defect.

    Finds missing waits, races, wrong windows, deadlocks and the like, with line, rank, kernel and
    thread; no GPU is needed. The verdict "ok" means that nothing was found and the program
    succeeded.
    """
    words = ["check", _path(target), *_program_options(defines, include_dirs)]
    words += _shape_options(
        ranks=ranks, lsa_size=lsa_size, node_size=node_size, processes=processes, nccl=nccl
    )
    words += [f"--replay={replay}"] if replay else ["--effort", effort]
    words += ["--", *arguments] if arguments else []
    return await _answer(words, context, form)


@server.tool(annotations=_READS)
async def evaluate(
    candidate: Annotated[str, Field(description="Path of the program to judge.")],
    target: Annotated[
        str, Field(description="The trusted program, or the workload that names it.")
    ],
    context: Context,
    ranks: Ranks = None,
    defines: Defines = None,
    include_dirs: Includes = None,
    lsa_size: LsaSize = None,
    node_size: NodeSize = None,
    processes: Processes = None,
    nccl: Nccl = None,
    level: Annotated[
        int, Field(description="How far: 0 legality, 1 build, 2 verify.", ge=0, le=2)
    ] = 2,
    form: Form = "text",
) -> CallToolResult:
    """Judge a candidate against a trusted program: legality, build, same results on every rank.

    Only mutable regions (EVOLVE-BLOCK) may differ where the trusted program has them. What the
    candidate prints is recorded and not believed.
    """
    words = ["eval", _path(candidate), _path(target), "--level", str(level)]
    words += _program_options(defines, include_dirs)
    words += _shape_options(
        ranks=ranks, lsa_size=lsa_size, node_size=node_size, processes=processes, nccl=nccl
    )
    return await _answer(words, context, form)


@server.tool(annotations=_WRITES)
async def transform(
    target: Target,
    output_dir: Annotated[
        str, Field(description="Folder for the program, its diff and report.json.")
    ],
    context: Context,
    api: Annotated[
        Literal["gin", "lsa", "auto"], Field(description="Which part of the NCCL device API.")
    ] = "auto",
    ranks: Ranks = None,
    defines: Defines = None,
    include_dirs: Includes = None,
    lsa_size: LsaSize = None,
    node_size: NodeSize = None,
    processes: Processes = None,
    nccl: Nccl = None,
    form: Form = "text",
) -> CallToolResult:
    """Make a host-driven NCCL program device-initiated by rules, and prove that it is the same.

    Writes to `output_dir` only. A program beyond the rules is refused with every reason and line.
    """
    folder = _path(output_dir)
    _require_writable(Path(folder))
    words = ["transform", _path(target), "--api", api, f"--out={folder}", "--proposer", "rules"]
    words += _program_options(defines, include_dirs)
    words += _shape_options(
        ranks=ranks, lsa_size=lsa_size, node_size=node_size, processes=processes, nccl=nccl
    )
    return await _answer(words, context, form)


@server.tool(annotations=_READS)
async def doctor(context: Context, form: Form = "text") -> CallToolResult:
    """Say what this machine has and lacks: compiler, nvcc, NCCL headers, GPUs, sandbox."""
    return await _answer(["doctor"], context, form, fails=())


def serve() -> None:
    """Serve on standard input and output until the client goes away."""
    server.run("stdio")


async def _answer(
    words: list[str], context: Context, form: str, fails: tuple[int, ...] = _BAD
) -> CallToolResult:
    """Run a command and return what it printed; raise its error, which exit codes `fails` tell."""
    if any("\0" in word for word in words):
        raise ToolError("no path, name or argument may hold a NUL byte")

    async def relay(done: int, total: int, stage: str) -> None:
        await context.report_progress(done, total, stage)

    result = await run_command(words, relay, as_json=form == "json")
    if form == "json":
        if "error" in result.data or not result.data:
            raise ToolError(_error(result))
        return _as_json(result.data)
    if result.exit_code in fails or not result.text:
        raise ToolError(_said(result))
    return CallToolResult(content=[TextContent(type="text", text=_short(result.text))])


def _path(text: str) -> str:
    """Return a path as the command line takes it: one that begins with `-` is no option."""
    if not text.strip():
        raise ToolError("a path must not be empty")
    return f"./{text}" if text.startswith("-") else text


def _require_writable(folder: Path) -> None:
    """Refuse an output folder that cannot be written before anything is built."""
    try:
        place = next(path for path in (folder, *folder.parents) if path.exists())
        with tempfile.TemporaryFile(dir=place):
            return
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ToolError(
            f"output_dir must be a folder that can be written, but {folder} cannot: {reason}"
        ) from None


def _short(text: str) -> str:
    """Cut a text that a host would cut: its beginning and its end, where the verdict stands."""
    if len(text) <= _MAX_TEXT:
        return text
    half = _MAX_TEXT // 2
    left = len(text) - 2 * half
    return f"{text[:half]}\n[... {left} characters left out ...]\n{text[-half:]}"


def _said(result: CommandResult) -> str:
    """Return the error of a command that printed text."""
    said = result.said.strip().removeprefix("error: ")
    return said or result.text or f"warploom ended with exit code {result.exit_code}"


def _program_options(defines: Defines, include_dirs: Includes) -> list[str]:
    words = [word for name, value in (defines or {}).items() for word in ("-D", f"{name}={value}")]
    return words + [word for folder in include_dirs or () for word in ("-I", folder)]


def _shape_options(**shape: Unpack[ShapeChange]) -> list[str]:
    """Return the options of the command line that say what the shape of the run is to be."""
    given = {name: value for name, value in shape.items() if value is not None}
    return [f"--{name.replace('_', '-')}={value}" for name, value in given.items()]


def _as_json(data: dict[str, Json]) -> CallToolResult:
    """Return what a command printed as JSON, its findings cut to the first ones."""
    findings = data.get("findings")
    if isinstance(findings, list) and len(findings) > _MAX_FINDINGS:
        data = {**data, "findings": findings[:_MAX_FINDINGS], "findings_in_all": len(findings)}
    text = json.dumps(data, separators=(",", ":"))
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=data)


def _error(result: CommandResult) -> str:
    error = result.data.get("error")
    if not isinstance(error, dict):
        return f"warploom ended with exit code {result.exit_code}: {result.said}".strip()
    where = f"{error.get('file')}:{error.get('line') or 1}: " if error.get("file") else ""
    refusals = error.get("refusals")
    lines = [f"{where}{error.get('message')}"]
    lines += [
        f"{item.get('file')}:{item.get('line')}: {item.get('reason')}"
        for item in (refusals if isinstance(refusals, list) else [])
        if isinstance(item, dict)
    ]
    if error.get("hint"):
        lines.append(f"hint: {error.get('hint')}")
    return "\n".join(lines)
