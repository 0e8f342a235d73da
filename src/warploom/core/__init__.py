"""Frozen records, errors and the process runner: what every other layer may import."""
