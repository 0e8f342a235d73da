"""The reference, in a process of its own: what it computes, traced and evaluated by PyTorch.

Only modules of this room import torch, and only in that process (`worker`).
"""
