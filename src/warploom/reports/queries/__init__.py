"""Reads runs: which there are, their programs by page, what views show of them. Writes nothing."""
