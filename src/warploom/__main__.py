"""`python -m warploom`."""

import sys

from warploom.cli import main

sys.exit(main())
