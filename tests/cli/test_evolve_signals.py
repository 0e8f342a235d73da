"""What ends a search from outside, other than Ctrl-C."""

import os
import signal
import time

import pytest

from warploom.cli.evolve_command import _ended_in_order  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_search_that_is_told_to_end_is_interrupted(number: signal.Signals) -> None:
    before = signal.signal(number, signal.SIG_DFL)  # whoever runs the tests may ignore it
    try:
        with pytest.raises(KeyboardInterrupt), _ended_in_order():
            os.kill(os.getpid(), number)
            time.sleep(10)
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)


def test_a_search_without_its_terminal_goes_on() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with _ended_in_order():
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
