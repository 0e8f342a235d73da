"""The tests that every backend passes, and the program that they run.

A test module makes a class of `BackendTests` with a backend of its own:

    class TestMine(BackendTests):
        @pytest.fixture
        def backend(self) -> Backend:
            return MyBackend()
"""

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from warploom.backends import NO_TIME, Backend, LaunchForm, Machine, Order
from warploom.core.errors import BadInputError
from warploom.core.records import Limits, Verdict
from warploom.evaluation import evaluate
from warploom.evaluation.check import check
from warploom.workload.workload import Workload

PROGRAM = r"""
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

// EVOLVE-BLOCK-START scale
__global__ void scale(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * 2.0f;
}
// EVOLVE-BLOCK-END scale

int main(int argc, char** argv) {
  const int n = 48;
  const int seed = argc > 1 ? atoi(argv[1]) : 0;
  const char* what = argc > 2 ? argv[2] : "";
  if (strcmp(what, "fail") == 0) return 3;
  for (volatile int turn = 1; strcmp(what, "hang") == 0; turn = 1 - turn) {
  }
  float host[n], *in, *out;
  for (int i = 0; i < n; ++i) host[i] = static_cast<float>((i * 7 + seed * 13) % 29) - 14.0f;
  if (cudaMalloc(&in, sizeof host) != cudaSuccess) return 1;
  if (cudaMalloc(&out, sizeof host) != cudaSuccess) return 1;
  cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  cudaEventRecord(begin);
  scale<<<2, 32>>>(out, in, n);
  cudaEventRecord(end);
  cudaEventSynchronize(end);
  float ms = 0.0f;
  cudaEventElapsedTime(&ms, begin, end);
  cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
  printf("secret: %s\n", getenv("CONFORMANCE_SECRET") == nullptr ? "none" : "seen");
  cudaFree(in);
  cudaFree(out);
  return 0;
}
"""
"""Doubles 48 values that the seed makes, times itself, reads them back; or fails, or never ends."""
SEED = 5


def results_of(seed: int) -> bytes:
    """Return what the program reads back."""
    return struct.pack("<48f", *(2.0 * ((i * 7 + seed * 13) % 29 - 14) for i in range(48)))


class BackendTests:
    """What a judge relies on."""

    @pytest.fixture
    def program(self, tmp_path: Path) -> Path:
        """The program as a file."""
        path = tmp_path / "scale.cu"
        path.write_text(PROGRAM)
        return path

    def machine(self, backend: Backend, program: Path, *words: str) -> Machine:
        """Return the machine for the program with further arguments."""
        task = replace(
            Workload.from_program(program, ranks=1, args=("{seed}", *words)),
            limits=Limits(seconds=4.0),
        )
        return backend.machine(task, LaunchForm("single", uses_mpi=False, nccl="2.32.3"))

    def test_it_says_what_it_is(self, backend: Backend, program: Path) -> None:
        """It has a name, names its place, and its machine has at least one device."""
        machine = self.machine(backend, program)
        assert backend.name and backend.where
        assert machine.devices and not machine.shared
        assert len(machine.timings(3)) == 3 and machine.steady

    def test_results_are_read_back(self, backend: Backend, program: Path) -> None:
        """The bytes come back, with the line of the copy, and follow the seed."""
        machine = self.machine(backend, program)
        built = machine.build()
        for seed in (SEED, SEED + 1):
            run = machine.run(built, Order(seed, machine.steady))
            assert run.ok and run.verdict is Verdict.OK, run.output
            (one,) = run.readbacks
            assert (one.rank, bytes(one.data)) == (0, results_of(seed))
            line = next(
                n for n, text in enumerate(PROGRAM.splitlines(), 1) if "DeviceToHost" in text
            )
            assert one.line == line and Path(one.file or "").name == program.name

    def test_times_are_taken_by_nobody_else(self, backend: Backend, program: Path) -> None:
        """A steady run has the program's interval, unless the backend has no times."""
        machine = self.machine(backend, program)
        run = machine.run(machine.build(), Order(SEED, machine.steady))
        if machine.time_source == NO_TIME:
            assert not run.intervals
            return
        assert run.steady
        (interval,) = run.intervals
        assert interval.milliseconds > 0 and interval.rank == 0

    def test_the_environment_is_not_the_users(
        self, backend: Backend, program: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """No variable of whoever judges reaches the program."""
        monkeypatch.setenv("CONFORMANCE_SECRET", "canary")
        machine = self.machine(backend, program)
        run = machine.run(machine.build(), Order(SEED, machine.steady))
        assert "secret: none" in run.output

    def test_a_failure_is_one(self, backend: Backend, program: Path) -> None:
        """An exit code that is not 0 fails, and is kept."""
        machine = self.machine(backend, program, "fail")
        run = machine.run(machine.build(), Order(SEED, machine.steady))
        assert not run.ok and run.verdict is Verdict.FAILED and run.exit_codes == (3,)

    def test_a_run_that_does_not_end_is_ended(self, backend: Backend, program: Path) -> None:
        """The limit holds."""
        machine = self.machine(backend, program, "hang")
        run = machine.run(machine.build(), Order(SEED, machine.steady))
        assert run.state == "timeout" and run.verdict is not Verdict.OK

    def test_what_does_not_compile_is_told(self, backend: Backend, program: Path) -> None:
        """A broken text is the user's fault, and names its file."""
        program.write_text(PROGRAM.replace("int main(", "int main(undeclared_type x, "))
        with pytest.raises(BadInputError):
            self.machine(backend, program).build()

    def test_each_tool_says_something(self, backend: Backend, program: Path) -> None:
        """Runs under a tool end, and are clean for a clean program."""
        machine = self.machine(backend, program)
        built = machine.build()
        for tool in machine.tools:
            run = machine.run(built, Order(SEED, machine.steady, tool))
            assert run.order.tool == tool and not run.findings and not run.note, run

    def test_check_takes_it(self, backend: Backend, program: Path) -> None:
        """`check` gives a clean report of it."""
        report = check(Workload.from_program(program, ranks=1, args=("{seed}",)), backend=backend)
        assert report.verdict is Verdict.OK and report.backend == backend.name, report.findings

    def test_eval_takes_it(self, backend: Backend, program: Path) -> None:
        """`eval` takes a right candidate, and no wrong one."""
        task = Workload.from_program(program, ranks=1, args=("{seed}",), seeds=1)
        right, wrong = program.with_name("right.cu"), program.with_name("wrong.cu")
        right.write_text(PROGRAM.replace("in[i] * 2.0f", "in[i] + in[i]"))
        wrong.write_text(PROGRAM.replace("in[i] * 2.0f", "in[i] * 2.5f"))
        passed = evaluate(right, task, backend=backend, nvcc=False, inputs=[SEED])
        assert passed.passed and passed.level_reached == 2, passed.findings
        failed = evaluate(wrong, task, backend=backend, nvcc=False, inputs=[SEED])
        assert not failed.passed and failed.level_reached == 2, failed.findings
