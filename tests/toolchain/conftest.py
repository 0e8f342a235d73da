"""What the tests of the toolchain share."""

import pytest

from warploom.core.errors import MissingToolError
from warploom.toolchain.nccl import find_nccl
from warploom.toolchain.nvcc import find_nvcc


@pytest.fixture
def real_nccl() -> str:
    """Return a version of NCCL whose headers are here, for tests that run the real nvcc."""
    try:
        find_nvcc()
    except MissingToolError as error:
        pytest.skip(error.message)
    found = find_nccl()
    if not found:
        pytest.skip("no NCCL headers; name some in WARPLOOM_NCCL_HOME")
    return found[0].version
