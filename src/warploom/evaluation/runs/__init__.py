"""Emulated runs: which there are, what each did, and what the suspicions of a run are worth."""
