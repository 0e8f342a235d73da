"""CUDA source into C++ for the shim headers, one construct a file."""
