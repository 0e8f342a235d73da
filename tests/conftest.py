"""What all tests need."""

import signal

# A shell starts jobs in its background with SIGINT ignored, and programs inherit that: those that
# tests interrupt would run on.
signal.signal(signal.SIGINT, signal.default_int_handler)
