"""Level 0: what untrusted text may hold, as the compiler sees it, and what its object may."""
