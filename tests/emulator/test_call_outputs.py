"""What calls of the interfaces give the host is an access of the host's, with all its bytes."""

from pathlib import Path

import pytest
from host_program import kinds_found


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        (
            "look<<<1, 1>>>(pinned, out); cudaMemGetInfo((size_t*)pinned, (size_t*)pinned + 1);",
            "data_race",
        ),
        ("cudaMemGetInfo((size_t*)device, (size_t*)device + 1);", "host_dereference"),
        ("int n; MPI_Get_processor_name(page() + 4095, &n);", "emulator_access"),
        ("int n; MPI_Error_string(0, page() + 4090, &n);", "emulator_access"),
        ("MPI_Dims_create(4, 2, (int*)(page() + 4092));", "emulator_access"),
        (
            "MPI_Request all[4] = {}; MPI_Waitall(4, all, (MPI_Status*)(page() + 4096) - 1);",
            "emulator_access",
        ),
        (
            "MPI_Request all[4] = {}; int done;"
            " MPI_Testall(4, all, &done, (MPI_Status*)(page() + 4096) - 1);",
            "emulator_access",
        ),
        # As many as the program says, however many that are.
        (
            "cudaGraph_t g; cudaGraphCreate(&g, 0); size_t n = 3;"
            " cudaGraphGetNodes(g, (cudaGraphNode_t*)(page() + 4080), &n);",
            "emulator_access",
        ),
        (
            "cudaGraph_t g; cudaGraphCreate(&g, 0); size_t n = (1ul << 30) + 1;"
            " cudaGraphGetRootNodes(g, (cudaGraphNode_t*)page(), &n);",
            "emulator_access",
        ),
        (
            "cudaGraph_t g; cudaGraphCreate(&g, 0); size_t n = ~0ul;"
            " cudaGraphGetNodes(g, (cudaGraphNode_t*)page(), &n);",
            "out_of_bounds",
        ),
    ],
)
def test_outputs_are_looked_at(tmp_path: Path, statement: str, kind: str) -> None:
    assert kind in kinds_found(tmp_path, statement)


def test_outputs_in_memory_of_the_hosts_own_are_fine(tmp_path: Path) -> None:
    statement = """
  size_t* sizes = (size_t*)pinned;
  cudaMemGetInfo(sizes, sizes + 1);
  static char name[MPI_MAX_PROCESSOR_NAME];
  int n, dims[3] = {}, done;
  MPI_Get_processor_name(name, &n);
  MPI_Dims_create(8, 3, dims);
  MPI_Request all[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses[2];
  MPI_Waitall(2, all, statuses);
  MPI_Waitall(2, all, MPI_STATUSES_IGNORE);
  MPI_Testall(2, all, &done, statuses);
  cudaDeviceGetPCIBusId(name, 16, 0);
  // The count lies among the nodes that it counts.
  cudaGraph_t graph;
  cudaGraphNode_t nodes[4] = {}, made;
  cudaGraphCreate(&graph, 0);
  cudaGraphAddEmptyNode(&made, graph, nullptr, 0);
  *(size_t*)&nodes[0] = 2;
  cudaGraphGetNodes(graph, nodes, (size_t*)&nodes[0]);
  if (*(size_t*)&nodes[0] != 1 || nodes[1] || nodes[2]) *(char*)device = 1;
  *out = 0;"""
    wrong = {"data_race", "emulator_access", "host_dereference", "foreign_memory", "out_of_bounds"}
    assert not wrong & kinds_found(tmp_path, statement)
