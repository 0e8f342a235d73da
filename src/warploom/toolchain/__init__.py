"""Compilers, NCCL headers, the sandbox and the cache: what we find on the machine."""
