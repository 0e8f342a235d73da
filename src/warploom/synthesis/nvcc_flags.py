"""How nvcc compiles a kernel, wherever it is verified, measured or used."""

NVCC_FLAGS = ("-std=c++17", "-fmad=false")
"""`-fmad=false`: a product and a sum are rounded each, as in the emulator. Left to itself nvcc
makes one multiply-add of them where it sees fit, and `x * x - y * y` of equal numbers is not always
0 then. A kernel asks for a multiply-add by `fmaf`."""
