"""Inline PTX as C++: each emulated instruction, by subject."""
