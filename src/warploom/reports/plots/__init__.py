"""`warploom plot`: pictures of a run for print and screen, and a player of its path."""
