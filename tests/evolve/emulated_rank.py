"""Stands in place of `warploom.hardware.rank` where there are no GPUs: FOLDER [--look].

It is started by srun as the real one is, with the GPUs that Slurm gave it. The emulator runs the
whole program, the same in each process; noted are the read-backs of the process's own rank only.
"""

import os
import pickle
import sys
from pathlib import Path

from warploom.backends.emulated import run_options
from warploom.core.records import RunSpec, Timing
from warploom.emulator import build, run
from warploom.hardware.handed import Node, Orders, Outcome, leave, taken
from warploom.hardware.launcher import LOG, ORDERS, OUTCOMES
from warploom.toolchain.gpu import Gpu
from warploom.workload.workload import Workload


def main() -> None:
    folder, node = Path(sys.argv[1]), os.environ["SLURMD_NODENAME"]
    rank = int(os.environ["SLURM_PROCID"])
    gpus = [int(index) for index in os.environ["CUDA_VISIBLE_DEVICES"].split(",")]
    if sys.argv[2:] == ["--look"]:
        found = tuple(Gpu(index, "emulated", "sm_90", 1024, "none") for index in gpus)
        leave(folder / OUTCOMES / str(rank), Node(node, found, False, "bubblewrap"))
        return
    orders = taken(folder / ORDERS, Orders)
    *_, program, seed = orders.command
    task = pickle.loads(Path(program).read_bytes())
    assert isinstance(task, Workload)
    built = build(task.build_spec("2.32.3"))
    did = run(built, run_options(task, RunSpec(int(seed), Timing.LAZY), "per_rank"))
    with (
        (folder / LOG / f"{rank}.index").open("w") as index,
        (folder / LOG / f"{rank}.data").open("wb") as data,
    ):
        for one in did.readbacks:
            if one.rank == rank and one.taken is None and one.arrived is None:
                size = len(one.data)
                index.write(f"R 0 {one.seq} {rank} {one.line} {data.tell()} {size}\n")
                data.write(one.data)
    leave(
        folder / OUTCOMES / str(rank), Outcome(rank, node, str(did.sandbox), did.exit_codes[rank])
    )
    sys.exit(did.exit_codes[rank])


if __name__ == "__main__":
    main()
