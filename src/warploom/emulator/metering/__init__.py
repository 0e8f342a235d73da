"""Counts the arithmetic of device code, for modelled time."""
