"""The rules proposer: a compiler-like rewriter from host-driven to device-initiated programs."""
