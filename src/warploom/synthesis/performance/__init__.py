"""Stage 4: how long a kernel takes, and the search over what can be tuned."""

from warploom.synthesis.performance.modelled import model_time
from warploom.synthesis.performance.search import settings

__all__ = ["model_time", "settings"]
