"""Models one program's time on a packaged machine and on one whose host is slow to call NCCL."""

import tempfile
from pathlib import Path

import warploom
from warploom.emulator import find_topology

EXAMPLE = Path(__file__).parents[1] / "gemm_allgather"
# A profile of one's own gives what differs. `doctor --topology h200-8` lists the keys.
PROFILE = """
base = "h200-8"
description = "H200s with a slow host"
host_nccl_ns = { value = 33600, source = "an example: four times as long" }
"""


def main() -> None:
    """Print the modelled time of the example, judged against itself, on both machines."""
    program = EXAMPLE / "gemm_allgather.cu"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "slow-host.toml"
        path.write_text(PROFILE)
        for name in ("h200-8", str(path)):
            machine = find_topology(name)
            result = warploom.evaluate(
                program, EXAMPLE, level=3, topology=machine, seeds=1, nvcc=False
            )
            print(f"{machine.name}: {result.metrics['time_ms']:.4f} ms ({result.time_source})")


if __name__ == "__main__":
    main()
