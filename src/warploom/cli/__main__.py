"""`python -m warploom.cli`."""

import sys

from warploom.cli import main

sys.exit(main())
