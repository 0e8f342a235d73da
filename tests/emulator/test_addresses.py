"""Names of functions as people read them."""

from warploom.emulator.building.addresses import _plain_names


def test_functions_of_one_file_have_readable_names():
    symbol = "_ZN12_GLOBAL__N_16kernelEPi$u0"
    plain = "(anonymous namespace)::kernel(int*)"
    assert _plain_names([symbol, "main", "f(int)", symbol]) == {symbol: plain}
    assert _plain_names(["main"]) == {}
