"""Headers of libraries that are not emulated are refused by the library's name, file and line."""

import pytest

from warploom.core.errors import SourceError, UnsupportedError
from warploom.core.records import BuildSpec
from warploom.emulator.rewriting.rewrite import rewrite


@pytest.mark.parametrize(
    ("header", "library"),
    [
        ("infiniband/no_such_verbs.h", "libibverbs"),
        ("nvshmem.h", "NVSHMEM"),
        ("nvshmemx.h", "NVSHMEM"),
        ("device/nvshmem_defines.h", "NVSHMEM"),
        ("mscclpp/core.hpp", r"MSCCL\+\+"),
        ("cutlass/gemm/device/gemm.h", "CUTLASS"),
        ("cute/tensor.hpp", "CuTe"),
        ("ucp/api/ucp.h", "UCX"),
        ("torch/extension.h", "PyTorch"),
        ("ATen/ATen.h", "PyTorch"),
        ("pybind11/pybind11.h", "Python"),
        ("cudnn.h", "cuDNN"),
        ("hip/hip_runtime.h", "HIP"),
        ("rccl/rccl.h", "HIP and ROCm"),
        ("rccl.h", "HIP and ROCm"),
        ("gdrapi.h", "GDRCopy"),
        ("cufile.h", "cuFile"),
        ("rdma/fi_endpoint.h", "libfabric"),
        ("rdma/fabric.h", "libfabric"),
        ("sharp/api/sharp_coll.h", "SHARP"),
        ("psm2.h", "PSM2"),
        ("rocshmem/rocshmem.hpp", "rocSHMEM"),
        ("nixl.h", "NIXL"),
        ("nvcomp/lz4.h", "nvCOMP"),
        ("dcgm_agent.h", "DCGM"),
    ],
)
def test_a_library_is_named(programs, header: str, library: str):
    code = f"#include <cuda_runtime.h>\n#include <{header}>\nint main() {{ return 0; }}\n"
    with pytest.raises(UnsupportedError, match=f"uses .*{library}.*not emulated") as caught:
        programs.build(code)
    assert caught.value.line == 2 and caught.value.file.endswith("prog.cu")
    assert f"<{header}>" in str(caught.value) and "WARPLOOM_EMULATOR" in caught.value.hint


def test_several_are_all_named(programs):
    code = """#ifdef NO_SUCH_MACRO
#include <cutlass/cutlass.h>
#endif
#include "nvshmem.h"
int main() { return 0; }
"""
    with pytest.raises(UnsupportedError, match="uses NVSHMEM") as caught:
        programs.build(code)
    assert caught.value.line == 4
    assert "CUTLASS" not in str(caught.value)


def test_whether_a_library_is_installed_does_not_matter(programs):
    """An installed header may compile or not: what includes it cannot run here."""
    code = """#include <cuda_runtime.h>
#include <cudnn.h>  // it's there
#if __has_include(<nvml.h>)
#include <nvml.h>
#endif
int main() {}
"""
    made = rewrite(BuildSpec(programs.write(code)))
    (text,) = made.texts.values()
    assert made.headers == ("cuda_runtime.h",), "what is compiled ahead of the program"
    assert b"<cudnn.h>  //" in text and b"#include <cudnn.h>" not in text and b"#if 0" in text
    with pytest.raises(UnsupportedError, match=r"uses cuDNN.*\(<cudnn.h>\)") as caught:
        programs.build(code)
    assert caught.value.line == 2


@pytest.mark.parametrize(
    "header", ["mylib/torch_like.hpp", "cutlas.h", "curve.h", "helper_cuda.h", "common.h"]
)
def test_a_header_of_the_users_that_is_not_there_is_the_users_error(programs, header: str):
    with pytest.raises(SourceError, match="must compile") as caught:
        programs.build(f'#include "{header}"\nint main() {{ return 0; }}\n')
    assert caught.value.line == 1


@pytest.mark.parametrize(
    ("declared", "called", "library"),
    [
        ('extern "C" int ibv_fork_init();', "ibv_fork_init()", "libibverbs"),
        ('extern "C" int ucp_cleanup(int);', "ucp_cleanup(1)", "UCX"),
        ('extern "C" int nvshmem_my_pe();', "nvshmem_my_pe()", "NVSHMEM"),
        ('extern "C" int cuFileDriverOpen();', "cuFileDriverOpen()", "cuFile"),
        ('extern "C" int doca_dev_close(int);', "doca_dev_close(1)", "DOCA"),
        ('extern "C" int fi_version();', "fi_version()", "libfabric"),
    ],
)
def test_where_a_header_is_installed_its_functions_name_the_library(
    programs, declared: str, called: str, library: str
):
    code = f"#include <cuda_runtime.h>\n{declared}\nint main() {{\n  return {called};\n}}\n"
    with pytest.raises(UnsupportedError, match=f"uses .*{library}") as caught:
        programs.build(code)
    assert caught.value.line in (2, 4)
