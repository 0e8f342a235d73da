"""`warploom doctor`."""

from warploom.cli.output import out, paint, print_json, say
from warploom.core.records import to_json
from warploom.emulator.running.topology import find_topology, topology_names
from warploom.llm.keys import Keys
from warploom.llm.status import ModelsReport, ProviderState, examine_models
from warploom.toolchain.doctor import DoctorReport, ToolState, examine
from warploom.toolchain.nccl import fetch_nccl

_MIB = 1 << 20


def run_doctor(fetch: str | None, *, as_json: bool) -> int:
    """Say what this machine has and lacks; 3 where something required is missing."""
    if fetch is not None:
        headers = fetch_nccl(fetch)
        say(f"NCCL {headers.version}: headers in {headers.include}")
    report, models = examine(), examine_models(Keys.load())
    if as_json:
        data = to_json(report)
        assert isinstance(data, dict)
        print_json({**data, "models": to_json(models), "ok": report.ok})
    else:
        _print(report)
        _print_models(models)
        _print_agents(report)
    return 0 if report.ok else 3


def show_topology(name: str, *, as_json: bool) -> int:
    """Print the numbers of a topology profile, with the source of each."""
    topology = find_topology(name)
    if as_json:
        print_json(to_json(topology))
        return 0
    out(f"{topology.name}: {topology.description}")
    for key, value in topology.values.items():
        out(f"{key:24} {value:>10g}  {topology.sources[key]}")
    return 0


def _print(report: DoctorReport) -> None:
    out(f"Python {report.python}, {report.platform}")
    out(f"{report.processors} processors, {report.memory_mb} MiB of memory free")
    for tool in report.tools:
        _print_tool(tool)
    versions = ", ".join(f"{item.version} ({item.origin})" for item in report.nccl)
    out(f"NCCL headers: {versions or 'none; warploom doctor --fetch-nccl 2.30.7 gets them'}")
    out(f"GPUs: {'; '.join(report.gpus) or 'none (none is needed)'}")
    size = sum(report.cache_bytes.values()) / _MIB
    out(f"cache: {report.cache} ({size:.0f} MiB)")
    out(f"topologies for modelled time: {', '.join(topology_names())}")
    out("packages: " + ", ".join(f"{n} {v}" for n, v in report.packages.items() if v))


def _print_tool(tool: ToolState) -> None:
    if tool.found is not None:
        out(f"{paint('ok', 'ok')}       {tool.name}: {tool.found}")
        return
    word = paint("missing", "error" if tool.required else "warning")
    out(f"{word}  {tool.name}, needed for {tool.needed_for}")
    if tool.cure:
        out(f"         {tool.cure}")


def _print_models(report: ModelsReport) -> None:
    table = report.price_table
    prices = f"prices of genai-prices {table}" if table else "pip install 'warploom[llm]'"
    out(f"language models, for --proposer llm ({prices}; nothing was sent):")
    for state in report.providers:
        _print_provider(state)


def _print_agents(report: DoctorReport) -> None:
    out("coding agents, for --proposer agent --agent ... (docs/agents):")
    out(f"  {paint('ok', 'ok')}  warploom's own, on any model: own")
    for state in report.coding_agents:
        word = paint("ok", "ok") if state.runs else "--"
        place = state.program or state.acp_program
        runs = f" ({place}): {' or '.join(state.runs)}" if state.runs else ""
        lacks = f"; {'; '.join(state.missing)}" if state.missing else ""
        out(f"  {word}  {state.title}{runs}{lacks}")
    if not report.agents.get("npx"):
        out("  npm is not here: it brings these agents, and npx runs what is not installed")


def _print_provider(state: ProviderState) -> None:
    word = paint("ok", "ok") if state.ready else "--"
    if state.package is not None:
        told = f"needs the package {state.package}"
    elif state.key is not None:
        told = f"key in {state.key}"
    else:
        names = " or ".join(state.keys)
        told = f"no key: set {names}" if state.key_needed else f"no {names}, which may be right"
        told = told if names else "needs no key"
    prices = f", {state.prices} prices" if state.prices else ", give a price or a cap in tokens"
    out(f"  {word}  {state.prefix}: {told}{prices if state.package is None else ''}")
