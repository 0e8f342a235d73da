"""This machine's GPUs as a backend: nvcc's build, the hardware's own times, compute-sanitizer."""

from dataclasses import dataclass, replace
from pathlib import Path

from warploom.backends.protocol import (
    MEASURED,
    OWN_NETWORK,
    Built,
    LaunchForm,
    Order,
    Run,
)
from warploom.core.errors import UnsupportedError
from warploom.core.records import Severity, Verdict
from warploom.emulator import FAILURE_KINDS
from warploom.hardware import (
    TOOLS,
    HardwareBuild,
    HardwareOptions,
    HardwareRun,
    Setup,
    build_executable,
    connect,
    find_setup,
    run_hardware,
    timings,
    wants_network,
)
from warploom.hardware.network import EAGER
from warploom.toolchain.nvcc import find_sanitizer
from warploom.workload.workload import Workload


class CudaBackend:
    """GPUs of this machine, or of those that the workload's launcher names."""

    name = "cuda"
    where = "on the GPU"
    steers = False

    def machine(self, workload: Workload, form: LaunchForm) -> "CudaMachine":
        """Find GPUs, nvcc, NCCL and MPI for a workload; see `Backend.machine`."""
        if workload.shape.processes is not None:
            raise UnsupportedError(
                f"{workload.shape.processes} processes for {workload.shape.ranks} ranks are not "
                "launched on GPUs",
                hint="judge it in the emulator: --backend emulator",
            )
        setup = find_setup(
            workload.shape.ranks,
            form.processes,
            uses_mpi=form.uses_mpi,
            wants_network=wants_network(workload.build_spec(form.nccl)),
            nccl=workload.shape.nccl,
            launcher=workload.launcher,
            node_size=workload.shape.node_size,
        )
        return CudaMachine(workload, form, setup)

    def require_tools(self) -> None:
        """Raise MissingToolError where compute-sanitizer is missing."""
        find_sanitizer()


@dataclass(frozen=True, slots=True)
class CudaMachine:
    """The GPUs that a workload's ranks get, and what stands around them."""

    workload: Workload
    form: LaunchForm
    setup: Setup
    tools: tuple[str, ...] = TOOLS

    @property
    def devices(self) -> tuple[str, ...]:
        """The GPUs, in words."""
        return tuple(gpu.describe() for gpu in self.setup.gpus)

    @property
    def shared(self) -> bool:
        """Whether several ranks have one GPU."""
        return self.setup.shared

    @property
    def own_network(self) -> bool:
        """Whether a program wants a network for which no card is here."""
        return self.setup.network is not None

    @property
    def nccl(self) -> str:
        """The version of NCCL's library and headers."""
        return self.setup.nccl.version

    @property
    def time_source(self) -> str:
        """Measured, but where what is sent goes over a network of ours."""
        return OWN_NETWORK if self.own_network else MEASURED

    @property
    def steady(self) -> str:
        """The timing of our network that holds nothing back."""
        return EAGER

    def timings(self, count: int) -> tuple[str, ...]:
        """Return those of our network; without it they say nothing."""
        return timings(count)

    def serving(self, program: Path) -> "CudaMachine":
        """Return it with our network, if `program` wants one and no card is here, or without."""
        spec = self.workload.build_spec(self.form.nccl, program)
        return replace(self, setup=connect(self.setup, wants_network=wants_network(spec)))

    def build(self, program: Path | None = None) -> HardwareBuild:
        """Build a program with nvcc, for the GPUs' architecture."""
        spec = self.workload.build_spec(self.nccl, program)
        return build_executable(spec, self.setup.arch, self.setup.nccl, self.setup.mpi)

    def run(self, program: Built, order: Order) -> Run:
        """Run it once; without our network every timing is the hardware's own."""
        assert isinstance(program, HardwareBuild)
        task = self.workload
        options = HardwareOptions(
            task.args_for(order.seed), task.limits, order.tool, task.root, order.timing, task.env,
            task.stdin,
        )  # fmt: skip
        return run_of(run_hardware(program, self.setup, options), order)


def run_of(run: HardwareRun, order: Order) -> Run:
    """Return what a run on GPUs did as any backend tells it."""
    said = run.sanitizer
    findings = said.findings if said else run.findings
    errors = {one.kind for one in findings if one.severity is Severity.ERROR}
    # Of a run under a tool its findings count alone: programs end otherwise there.
    verdict = Verdict.OK if run.ok or said else Verdict.FAILED
    if "unsupported" in errors:
        verdict = Verdict.UNSUPPORTED
    elif errors - FAILURE_KINDS:
        verdict = Verdict.DEFECT
    return Run(
        order=replace(order, timing=run.network),
        verdict=verdict,
        state=run.state,
        exit_codes=(run.exit_code,),
        findings=findings,
        readbacks=run.readbacks,
        intervals=run.intervals,
        output=run.output,
        seconds=run.seconds,
        sandbox=run.sandbox,
        steady=run.timed,
        nodes=run.nodes,
        foreign=said.foreign if said else 0,
        note=said.note if said else "",
    )
