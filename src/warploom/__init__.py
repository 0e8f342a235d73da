"""warploom turns slow, host-driven CUDA into fast, verified CUDA."""

__version__ = "0.1.0"
