"""What all tests need."""

import os
import signal

from warploom.toolchain.cache import cache_root

# A shell starts jobs in its background with SIGINT ignored, and programs inherit that: those that
# tests interrupt would run on.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Where Python is told to keep no bytecode, each command that a test starts would compile all of us.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    os.environ.setdefault("PYTHONPYCACHEPREFIX", f"{cache_root()}-bytecode")
