"""Turns a verified kernel into a package that can be installed."""
