"""`check` and `eval` on real GPUs, and times taken there."""
